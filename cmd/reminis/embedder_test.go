package main

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"reminis/commands"
	"reminis/engine"
	"reminis/server"
	"reminis/server/embed"
)

// This file owns the test that records and questions meet through an embedder.

func TestEmbedderSettings(t *testing.T) {
	for _, s := range []server.Settings{
		{MemEmbedderURL: "http://127.0.0.1:1", MemEmbedderFile: "x"}, {MemEmbedderURL: "no url"}, {MemEmbedderFile: t.TempDir() + "/none"},
	} {
		if e, err := openEmbedder(&s); err == nil || e != nil && s.MemEmbedderFile != "" {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if e, err := openEmbedder(&server.Settings{}); e != nil || err != nil {
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
	m := newEmbedding(e, words)
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
