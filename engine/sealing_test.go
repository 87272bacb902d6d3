package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns the tests of sealing: nothing of what an owner says is to be
// read in a batch, everything comes back, and what was changed or whose key is
// gone does not.

// sealedWorld is an engine whose batches are kept, and the keys of its owners.
type sealedWorld struct {
	t     *testing.T
	tape  tape
	keys  memoryKeyring
	clock fakeClock
	e     *Engine
}

func newSealedWorld(t *testing.T) *sealedWorld {
	w := &sealedWorld{t: t, clock: fakeClock{ms: 1000}}
	w.open()
	return w
}

func (w *sealedWorld) open() {
	w.e = Open(Options{Journal: &w.tape, Clock: &w.clock, Memory: MemoryOptions{Keys: &w.keys}})
}

// replay recovers the batches into another engine.
func (w *sealedWorld) replay() error {
	w.open()
	for _, b := range w.tape.batches {
		r, err := effect.NewReader(b)
		if err == nil {
			err = w.e.Batch(&r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// do runs one transaction on the owner's keys.
func (w *sealedWorld) do(key string, change func(tx *Tx, key memory.Key)) {
	w.t.Helper()
	parsed, err := w.e.Layout().ParseKey([]byte(key))
	if err != nil {
		w.t.Fatal(err)
	}
	tx := w.e.Begin()
	tx.LockRecords([][]byte{[]byte(key)}, 0)
	change(tx, parsed)
	tx.Commit()
	tx.Done()
}

// canary is what must not be read.
const canary = "the canary sings"

// fill writes a canary wherever an owner's payload can be.
func (w *sealedWorld) fill(owner string) {
	w.t.Helper()
	w.do(owner+":s:k", func(tx *Tx, key memory.Key) {
		text := []byte(canary)
		r := memory.Record{Value: text, Text: true, Kind: memory.Profile, Version: 1, Confidence: 1,
			Source: text, Tags: [][]byte{text}, Anchor: text, Operator: text, Trace: text, Reason: text, Meta: []byte(`"` + canary + `"`)}
		event := tx.NewEvent()
		event.Op, event.Key, event.Version = memory.OpInit, key.Text, 1
		event.Operator, event.Caller, event.Trace, event.Reason = text, text, text, text
		tx.PutRecord(key, &r, &event, Retention{Versions: 10})
		tx.MarkDone(key.Owner(), memory.DigestID(key.Owner(), []byte("id")), memory.DigestPayload(text), 1, true)
		tx.SetFacet(key.Owner(), []byte("about"), text, nil)
	})
}

// value is the record's value, "" when it is not there.
func (w *sealedWorld) value(key string) (value string) {
	w.t.Helper()
	w.do(key, func(tx *Tx, key memory.Key) {
		stood, ok, err := tx.Record(key.Text)
		if err != nil {
			w.t.Fatal(err)
		}
		var r memory.Record
		if ok && memory.Decode(stood.Bytes, &r) == nil {
			value = string(r.Value)
		}
	})
	return value
}

func TestBatchesShowNoPayload(t *testing.T) {
	w := newSealedWorld(t)
	w.fill("p:u0")
	digest := memory.DigestPayload([]byte(canary))
	for _, b := range w.tape.batches {
		if bytes.Contains(b, []byte(canary)) || bytes.Contains(b, digest[:]) {
			t.Fatalf("%q", b)
		}
	}
	if err := w.replay(); err != nil {
		t.Fatal(err)
	}
	if got := w.value("p:u0:s:k"); got != canary {
		t.Fatalf("%q came back", got)
	}
	w.do("p:u0:s:k", func(tx *Tx, key memory.Key) {
		if got := tx.Facet(key.Owner(), []byte("about")); string(got) != canary {
			t.Errorf("facet %q", got)
		}
		if _, verdict := tx.CommandDone(key.Owner(), memory.DigestID(key.Owner(), []byte("id")), digest); verdict != memory.Duplicated {
			t.Errorf("verdict %d", verdict)
		}
	})
}

// TestChangedPayloadIsRefused changes each byte of a batch: it is refused, or
// what it says is no payload.
func TestChangedPayloadIsRefused(t *testing.T) {
	w := newSealedWorld(t)
	w.fill("p:u0")
	refused := 0
	batch := w.tape.batches[0]
	for at := range batch {
		batch[at] ^= 1
		func() {
			defer func() { _ = recover() }() // a batch has no checksum here: its form may be broken
			if err := w.replay(); errors.Is(err, memory.ErrSealed) {
				refused++
			}
		}()
		batch[at] ^= 1
	}
	if refused < len(batch)/2 {
		t.Errorf("%d of %d bytes were missed", len(batch)-refused, len(batch))
	}
}

func TestDestroyedOwnerIsLeftOut(t *testing.T) {
	w := newSealedWorld(t)
	w.fill("p:u0")
	w.fill("p:u1")
	head := w.e.owners.find(0, []byte("p:u0")).link
	if err := w.keys.Destroy(w.e.owners.find(0, []byte("p:u0")).keyNumber); err != nil {
		t.Fatal(err)
	}
	if err := w.replay(); err != nil {
		t.Fatal(err)
	}
	if got := w.value("p:u0:s:k"); got != "" {
		t.Errorf("%q came back", got)
	}
	if got := w.value("p:u1:s:k"); got != canary {
		t.Errorf("of another owner %q came back", got)
	}
	owner := w.e.owners.find(0, []byte("p:u0"))
	if owner.link != head || !owner.destroyed {
		t.Errorf("the chain has another head: %x, was %x", owner.link, head)
	}
}

func TestMissingKeyIsAnError(t *testing.T) {
	w := newSealedWorld(t)
	w.fill("p:u0")
	w.keys = memoryKeyring{}
	if err := w.replay(); err == nil || !strings.Contains(err.Error(), "the key of owner") {
		t.Error(err)
	}
}

// TestManyOwnersKeepFewCiphers: what an owner costs in memory does not include a
// cipher.
func TestManyOwnersKeepFewCiphers(t *testing.T) {
	w := newSealedWorld(t)
	for i := range cipherMax + 10 {
		w.fill(fmt.Sprintf("p:u%d", i))
	}
	kept := 0
	for _, owner := range w.e.owners.under(0, "") {
		if owner.cipher.Load() != nil {
			kept++
		}
	}
	if kept != cipherMax {
		t.Errorf("%d ciphers", kept)
	}
	if got := w.value("p:u0:s:k"); got != canary {
		t.Errorf("%q", got)
	}
}

// BenchmarkPutRecord is one write of a record with its event.
func BenchmarkPutRecord(b *testing.B) {
	e := Open(Options{})
	key, err := e.Layout().ParseKey([]byte("p:u0:s:k"))
	if err != nil {
		b.Fatal(err)
	}
	value := bytes.Repeat([]byte("v"), 200)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tx := e.Begin()
		tx.LockRecords([][]byte{key.Text}, 0)
		r := memory.Record{Value: value, Text: true, Kind: memory.Profile, Version: uint64(i + 1), Confidence: 1}
		event := tx.NewEvent()
		event.Op, event.Key, event.Version = memory.OpSet, key.Text, r.Version
		tx.PutRecord(key, &r, &event, Retention{Versions: 10})
		tx.Commit()
		tx.Done()
	}
}
