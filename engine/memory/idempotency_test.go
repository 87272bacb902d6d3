package memory

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestDigests(t *testing.T) {
	if DigestID([]byte("a:b"), []byte("1")) == DigestID([]byte("a:c"), []byte("1")) {
		t.Error("two owners share an id")
	}
	if DigestPayload([]byte("ab"), []byte("c")) == DigestPayload([]byte("a"), []byte("bc")) {
		t.Error("parts run together")
	}
	if DigestPayload([]byte("ab")) == DigestPayload([]byte("ab"), nil) {
		t.Error("an empty part is no part")
	}
	if [16]byte(DigestID(nil, nil)) == [16]byte(DigestPayload(nil, nil)) {
		t.Error("ids and payloads share digests")
	}
}

func TestJudge(t *testing.T) {
	done := Done{Payload: PayloadDigest{1}, TimeMs: 1000}
	for _, c := range []struct {
		payload PayloadDigest
		nowMs   int64
		want    Verdict
	}{
		{PayloadDigest{1}, 1000, Duplicated},
		{PayloadDigest{1}, 1099, Duplicated},
		{PayloadDigest{1}, 1100, Fresh},
		{PayloadDigest{2}, 1099, Conflict},
		{PayloadDigest{2}, 1100, Fresh},
	} {
		if got := done.Judge(c.payload, c.nowMs, 100); got != c.want {
			t.Errorf("%v at %d: %v", c.payload, c.nowMs, got)
		}
	}
	if message(ErrConflict([]byte("x\n"))) != `ERR command id 'x\n' was already used for another change` {
		t.Error(ErrConflict([]byte("x\n")))
	}
	if size := unsafe.Sizeof(Done{}); size > 48 {
		t.Errorf("a row has %d bytes", size)
	}
}

// The window against a plain list of rows.
func TestWindowModel(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var window Window
	var model []Done
	dropped, nowMs := uint64(0), int64(0)
	const windowMs = 50
	for step := range 20000 {
		limit := 1 + r.IntN(40)
		nowMs += r.Int64N(4)
		switch r.IntN(10) {
		case 0:
			n := 0
			for len(model) > 0 && nowMs-model[0].TimeMs >= windowMs {
				model, n = model[1:], n+1
			}
			if got := window.Expire(nowMs, windowMs); got != n {
				t.Fatalf("step %d: expired %d, want %d", step, got, n)
			}
		case 1, 2, 3, 4:
			var id IDDigest
			binary.BigEndian.PutUint64(id[:], uint64(r.IntN(60)))
			var want *Done
			for i := range model {
				if model[i].ID == id {
					want = &model[i]
				}
			}
			got, ok := window.Find(id)
			if ok != (want != nil) || ok && got != *want {
				t.Fatalf("step %d: found %v %v, want %v", step, got, ok, want)
			}
		default:
			row := Done{TimeMs: nowMs, Version: uint64(step)}
			binary.BigEndian.PutUint64(row.ID[:], uint64(r.IntN(60)))
			for len(model) >= limit {
				model = model[1:]
				dropped++
			}
			model = append(model, row)
			window.Add(row, limit)
		}
		if window.Len() != len(model) || window.Dropped() != dropped {
			t.Fatalf("step %d: %d rows, %d dropped; want %d, %d", step, window.Len(), window.Dropped(), len(model), dropped)
		}
	}
	newest := map[IDDigest]Done{}
	for _, row := range model {
		newest[row.ID] = row
	}
	last := int64(-1)
	window.All(func(row Done) {
		if newest[row.ID] != row || row.TimeMs < last {
			t.Errorf("All gives %v", row)
		}
		last = row.TimeMs
		delete(newest, row.ID)
	})
	if len(newest) != 0 {
		t.Errorf("All misses %v", newest)
	}
	window.Expire(nowMs+windowMs, windowMs)
	if window.Len() != 0 || fmt.Sprint(window.rows == nil, window.slots == nil) != "true true" {
		t.Error("an empty window keeps memory")
	}
}
