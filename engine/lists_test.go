package engine

import (
	"fmt"
	"testing"

	"reminis/engine/memory"
)

// This file owns what appending to a list costs.

// grower appends to one list of an engine with a tape.
func grower(t *testing.T, count int) (e *Engine, log *tape, grow func(tx *Tx, texts ...[]byte)) {
	log = &tape{}
	e = Open(Options{Journal: log, Clock: &fakeClock{ms: 1000}, Archive: newShelf(16)})
	key, err := e.Layout().ParseKey([]byte("ai:user_123:session_456:turns"))
	if err != nil {
		t.Fatal(err)
	}
	version := uint64(0)
	grow = func(tx *Tx, texts ...[]byte) {
		tx.LockRecords([][]byte{key.Text}, 0)
		version++
		r := memory.Record{Kind: memory.Session, Version: version, Confidence: 1, CreatedMs: 1000, UpdatedMs: 1000}
		added, err := tx.Grow(key, &r, texts, 1000, 0)
		if err != nil {
			t.Fatal(err)
		}
		event := tx.NewEvent()
		event.Op, event.Key, event.Version, event.OldVersion = memory.OpAppend, key.Text, version, version-1
		tx.AppendRecord(key, &r, added, &event, Retention{Versions: 50})
		tx.Commit()
	}
	tx := e.Begin()
	defer tx.Done()
	texts := make([][]byte, count)
	for i := range texts {
		texts[i] = fmt.Appendf(nil, `{"role":"user","content":"turn %d"}`, i)
	}
	grow(tx, texts...)
	return e, log, grow
}

// TestAppendWritesOnlyWhatItAdds: a turn costs a turn, however long the
// conversation is.
func TestAppendWritesOnlyWhatItAdds(t *testing.T) {
	turn := []byte(`{"role":"user","content":"one more turn"}`)
	cost := func(count int) (sizeBytes int, allocs float64) {
		e, log, grow := grower(t, count)
		tx := e.Begin()
		defer tx.Done()
		grow(tx, turn)
		sizeBytes = len(log.batches[len(log.batches)-1])
		// The fewest of several runs: trees and lists grow now and then.
		allocs = 1e9
		for range 50 {
			allocs = min(allocs, testing.AllocsPerRun(1, func() { grow(tx, turn) }))
		}
		return sizeBytes, allocs
	}
	fewBytes, fewAllocs := cost(10)
	manyBytes, manyAllocs := cost(10_000)
	if manyBytes > 1000 || manyBytes > fewBytes+20 {
		t.Errorf("an append to 10,000 items writes %d bytes, to 10 items %d", manyBytes, fewBytes)
	}
	if manyAllocs > fewAllocs+10 {
		t.Errorf("an append to 10,000 items allocates %.0f times, to 10 items %.0f", manyAllocs, fewAllocs)
	}
	t.Logf("%d bytes, %.0f allocations", manyBytes, manyAllocs)
}
