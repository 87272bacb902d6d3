package engine

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"reminis/engine/memory"
)

// TestTidy: what records were before is no longer in memory once the archive has it,
// in whatever order they came.
func TestTidy(t *testing.T) {
	for _, records := range []int{10, 5000} {
		e := Open(Options{Archive: newShelf(1)})
		put := func(n, version int) weak.Pointer[byte] {
			key, err := e.Layout().ParseKey(fmt.Appendf(nil, "ai:user:s:%05d", n))
			if err != nil {
				t.Fatal(err)
			}
			tx := e.Begin()
			defer tx.Done()
			defer tx.Commit()
			tx.LockRecords([][]byte{key.Text}, 0)
			r := memory.Record{Value: fmt.Appendf(nil, "version %d", version), Text: true, Kind: memory.Profile, Version: uint64(version), Confidence: 1}
			event := tx.NewEvent()
			event.Op, event.Key, event.Version = memory.OpSet, key.Text, r.Version
			tx.PutRecord(key, &r, &event, Retention{Versions: 1})
			made, _, _ := tx.Record(key.Text)
			return weak.Make(&made.Bytes[0])
		}
		var first []weak.Pointer[byte]
		for n := range records {
			first = append(first, put(n, 1))
		}
		for n := range records {
			if n%10 != 0 {
				put(n, 2)
			}
		}
		e.Checkpointed(^uint64(0))
		e.Tidy()
		runtime.GC()
		runtime.GC()
		for n, old := range first {
			if stands := n%10 == 0; (old.Value() != nil) != stands {
				t.Fatalf("of %d records, version 1 of number %d is in memory: %t", records, n, !stands)
			}
		}
		if err := e.checkRecords(); err != nil {
			t.Fatal(err)
		}
		runtime.KeepAlive(e)
	}
}
