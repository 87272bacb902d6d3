package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file tests exports: that they are of one moment, and what waits for them.

// collector is an exporter that keeps what it gets.
type collector struct {
	*toy
	visit func(e *effect.Effect) error
	done  map[string]bool // keys whose effects have ended
	last  string
}

func newCollector(visit func(e *effect.Effect) error) *collector {
	return &collector{toy: newToy(), visit: visit, done: map[string]bool{}}
}

func (c *collector) Row(e *effect.Effect) error {
	if name := fmt.Sprintf("%d %s", e.DB, e.Key); name != c.last {
		if c.done[name] {
			return fmt.Errorf("the effects of key %q come in two places", name)
		}
		c.done[c.last], c.last = true, name
	}
	if err := c.toy.Row(e, 1, 1); err != nil {
		return err
	}
	return c.visit(e)
}

// plainText shows the plain keys of a state.
func plainText(s *toy) string {
	var out strings.Builder
	for line := range strings.Lines(s.keysText()) {
		if !strings.HasPrefix(line, "command") && !strings.HasPrefix(line, "facet") && !strings.Contains(line, fmt.Sprintf(" kind %d ", keyRecord)) {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestAnExportIsOfOneMoment(t *testing.T) {
	seed := rand.Uint64()
	w := newWorld(t, seed, vfs.NewCrashableMem(), testOptions(t))
	for range 6 {
		for range 60 {
			w.append()
		}
		want, seq, records := plainText(w.toy), w.seq, 0
		for _, keys := range w.keys {
			for _, k := range keys {
				if k.kind == keyRecord {
					records++
				}
			}
		}
		rows := 0
		c := newCollector(func(*effect.Effect) error {
			// The store goes on meanwhile, with all that it does.
			if rows++; rows%5 == 0 {
				w.append()
			}
			if rows%20 == 0 && !w.s.state.purging {
				return w.s.Checkpoint()
			}
			return nil
		})
		done, err := w.s.Export(c)
		w.must(err)
		if got := plainText(c.toy); got != want {
			t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, got, want)
		}
		if done.Seq != seq || done.Records != records {
			t.Fatalf("seed %d: exported %+v, want batch %d and %d records left out", seed, done, seq, records)
		}
	}
	w.verify("after exports")
	mustClose(t, w.s)
}

func TestAnExportEndsWithItsExporterOrTheStore(t *testing.T) {
	w := newWorld(t, 3, vfs.NewCrashableMem(), testOptions(t))
	for range 60 {
		w.append()
	}
	stop := errors.New("stop")
	if _, err := w.s.Export(newCollector(func(*effect.Effect) error { return stop })); !errors.Is(err, stop) {
		t.Fatalf("the exporter's error: %v", err)
	}
	closed := make(chan error)
	begun := false
	_, err := w.s.Export(newCollector(func(*effect.Effect) error {
		if !begun {
			begun = true
			go func() { closed <- w.s.Close() }()
			for !w.s.closed.Load() {
				runtime.Gosched()
			}
		}
		return nil
	}))
	if !errors.Is(err, ErrClosed) {
		t.Fatalf("the store was closed: %v", err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if _, err := w.s.Export(newCollector(func(*effect.Effect) error { return nil })); !errors.Is(err, ErrClosed) {
		t.Fatalf("of a closed store: %v", err)
	}
}

// What was erased may be in what an export reads, so its files stay until the end.
func TestErasingWaitsForExports(t *testing.T) {
	s := mustOpen(t, vfs.NewCrashableMem(), "store", testOptions(t))
	if err := s.Recover(newToy()); err != nil {
		t.Fatal(err)
	}
	var b effect.Batch
	s.Append(setBatch(&b, "key", "value", 1))
	b.Reset()
	b.TimeMs = 2
	b.Add(&effect.Effect{Kind: effect.RecordPut, Key: []byte("a:b:c"), OwnerLen: 3, Number: 1, Value: []byte("secret")})
	s.Append(&b)
	purged := make(chan error)
	var ended atomic.Bool
	_, err := s.Export(newCollector(func(*effect.Effect) error {
		var b effect.Batch
		b.TimeMs = 3
		b.Add(&effect.Effect{Kind: effect.Erase, Key: []byte("a:b"), OwnerLen: 3})
		seq, _ := s.Append(&b)
		begun := make(chan struct{})
		go func() {
			close(begun)
			err := s.Purge(seq)
			if !ended.Load() {
				err = errors.Join(err, errors.New("it was purged while it was read"))
			}
			purged <- err
		}()
		<-begun
		for range 1000 {
			runtime.Gosched()
		}
		ended.Store(true)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := <-purged; err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
}
