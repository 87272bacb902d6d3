package main

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"reminis/commands"
	"reminis/engine"
	"reminis/persistence"
	"reminis/server"
	"reminis/server/embed"
)

// This file owns the test that records and questions meet through an embedder.

func TestEmbedderSettings(t *testing.T) {
	for _, s := range []server.Settings{
		{MemEmbedderURL: "http://127.0.0.1:1", MemEmbedderFile: "x"}, {MemEmbedderURL: "no url"}, {MemEmbedderFile: t.TempDir() + "/none"},
	} {
		if e, _, err := openEmbedder(&s); err == nil || e != nil && s.MemEmbedderFile != "" {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if e, _, err := openEmbedder(&server.Settings{}); e != nil || err != nil {
		t.Error(e, err)
	}
}

// What MEM.STATS has of vectors, in front of the numbers.
var (
	waitingFigure  = bulk("waiting_embedder")
	embeddedFigure = bulk("embedded")
)

// TestRecallByMeaning: a record without one word of the query is found, because
// the table has the words close together.
func TestRecallByMeaning(t *testing.T) {
	words, err := embed.ReadWords(strings.NewReader("car 1 0 0.1\nautomobile 0.9 0.1 0\ntea 0 1 0\nmilk 0 0.2 1\n"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.Open(engine.Options{})
	m := newEmbedding(e, words, "words")
	client := &testClient{resumed: make(chan func([]byte) []byte, 1), id: 1}
	client.session = commands.NewCore(e, commands.DefaultTable()).NewSession(client)
	for key, text := range map[string]string{"ai:u:s:a": "automobile", "ai:u:s:b": "tea", "ai:u:s:c": "milk"} {
		if got := client.do("MEM.SET", key, text, "TEXT", "KIND", "semantic"); got != ":1\r\n" {
			t.Fatal(got)
		}
	}
	figures := func() string { return client.do("MEM.STATS", "ai:u") + client.do("MEM.STATS") }
	if got := figures(); strings.Count(got, waitingFigure+number(3)) != 2 || strings.Count(got, embeddedFigure+number(0)) != 2 {
		t.Errorf("before any vector is made: %q", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); m.queue.Run(ctx) }()
	for m.queue.Waiting() > 0 {
		runtime.Gosched()
	}
	cancel()
	<-done
	if got := figures(); strings.Count(got, waitingFigure+number(0)) != 2 || strings.Count(got, embeddedFigure+number(3)) != 2 {
		t.Errorf("after all vectors are made: %q", got)
	}
	if got := client.do("MEM.RECALL", "ai:u", "QUERY", "car", "TOPK", "1", "FORMAT", "PROMPT"); !strings.Contains(got, "automobile") {
		t.Errorf("%q", got)
	}
}

// counting is an embedder that remembers for what it was asked.
type counting struct{ asked []string }

func (c *counting) Embed(_ context.Context, texts []string) ([][]float32, error) {
	c.asked = append(c.asked, texts...)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{float32(len(text)), 1, 0.5}
	}
	return vectors, nil
}

// TestVectorsOutliveTheProcess: after a restart, from rows and from the journal, the
// embedder is asked for nothing that it made, and what was erased is gone.
func TestVectorsOutliveTheProcess(t *testing.T) {
	disk, of, clock := newTestDisk(), newSetting(persistence.Always), clockAt(testStartMs)
	embedder := &counting{}
	run := func(fs vfs.FS, clean bool, act func(c *testClient)) {
		t.Helper()
		embedder.asked = nil
		w := mustOpenWorld(t, fs, of, clock)
		m := newEmbedding(w.engine, embedder, "counting")
		w.engine.OfferAll()
		act(w.connect())
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); m.queue.Run(ctx) }()
		for m.queue.Waiting() > 0 {
			runtime.Gosched()
		}
		cancel()
		<-done
		if err := w.store.Sync(); err != nil {
			t.Fatal(err)
		}
		if clean {
			if err := w.close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	asked := func(want ...string) {
		t.Helper()
		slices.Sort(embedder.asked)
		if !slices.Equal(embedder.asked, want) {
			t.Errorf("asked for %q, want %q", embedder.asked, want)
		}
	}
	say := func(c *testClient, want string, words ...string) {
		t.Helper()
		if got := c.do(words...); want != "" && got != want {
			t.Errorf("%q: %q", words, got)
		}
	}
	run(disk, true, func(c *testClient) {
		say(c, ":1\r\n", "MEM.SET", "ai:u:s:a", "tea", "TEXT")
		say(c, ":1\r\n", "MEM.SET", "ai:u:s:b", "milk", "TEXT", "KIND", "semantic")
		say(c, ":1\r\n", "MEM.APPEND", "ai:u:s:turns", "KIND", "session", "EX", "9999", "ITEMS", "2", `"one"`, `"two"`)
	})
	asked("milk", "one", "tea", "two")
	figures := ""
	run(disk, true, func(c *testClient) { // from rows
		figures = c.do("MEM.STATS", "ai:u")
		say(c, ":2\r\n", "MEM.SET", "ai:u:s:a", "green tea", "TEXT")
		say(c, ":2\r\n", "MEM.APPEND", "ai:u:s:turns", "MAXLEN", "2", "ITEMS", "1", `"three"`)
	})
	if !strings.Contains(figures, embeddedFigure+number(4)) {
		t.Errorf("after a restart: %q", figures)
	}
	asked("green tea", "three")
	run(disk, false, func(c *testClient) {
		say(c, "", "MEM.ERASE", "ai:u:s:b")
		say(c, ":1\r\n", "MEM.SET", "ai:u:s:c", "coffee", "TEXT")
	})
	asked("coffee")
	run(disk.afterCrash(0, nil), true, func(c *testClient) { // the process died: from rows and the journal
		figures = c.do("MEM.STATS", "ai:u")
	})
	if !strings.Contains(figures, embeddedFigure+number(4)) {
		t.Errorf("after a crash: %q", figures)
	}
	asked()
}
