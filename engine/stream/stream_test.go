package stream

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// modelEntry is an entry as text.
type modelEntry struct {
	id      ID
	deleted bool
	pairs   []string
}

func (e modelEntry) String() string {
	return fmt.Sprintf("%d-%d %v %q", e.id.Ms, e.id.Seq, e.deleted, e.pairs)
}

func entryOf(w *Walker) modelEntry {
	e := modelEntry{id: w.ID, deleted: w.Deleted}
	w.Each(func(field, value []byte) { e.pairs = append(e.pairs, string(field), string(value)) })
	return e
}

func seeded(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func drawPairs(r *rand.Rand) (pairs [][]byte) {
	texts := []string{"f", "g", "", "12", "-1", "007", "9223372036854775807", "\x00\xff", strings.Repeat("x", 70), strings.Repeat("y", 5000)}
	if r.IntN(2) == 0 {
		return [][]byte{[]byte("f"), []byte(texts[r.IntN(len(texts))])}
	}
	for range 1 + r.IntN(4) {
		pairs = append(pairs, []byte(texts[r.IntN(len(texts))]), []byte(texts[r.IntN(len(texts))]))
	}
	return pairs
}

// TestBlockAgainstModel adds and marks entries and reads the block in both
// directions, and as the node that it is in Redis.
func TestBlockAgainstModel(t *testing.T) {
	r := seeded(t)
	for range 200 {
		first := ID{uint64(r.IntN(100)), uint64(r.IntN(3))}
		id := first
		var block []byte
		var model []modelEntry
		for range 1 + r.IntN(40) {
			pairs := drawPairs(r)
			block = Append(block, first, id, pairs)
			e := modelEntry{id: id}
			for _, text := range pairs {
				e.pairs = append(e.pairs, string(text))
			}
			model = append(model, e)
			if r.IntN(2) == 0 {
				id.Seq += uint64(1 + r.IntN(200))
			} else {
				id = ID{id.Ms + 1 + uint64(r.IntN(1e6)), uint64(r.IntN(2))}
			}
		}
		deleted := 0
		at := 0
		for w := Forward(block, first); w.Next(); at++ {
			if r.IntN(3) == 0 {
				offset, mark := w.Marked()
				block[offset] = mark
				model[at].deleted = true
				deleted++
			}
		}
		checkBlock(t, block, first, model, deleted)
		node := AppendNode(nil, block, len(model), deleted)
		if len(node) != NodeBytes(block, len(model), deleted) {
			t.Fatalf("a node of %d bytes, not %d", len(node), NodeBytes(block, len(model), deleted))
		}
		again, entries, dead, err := FromNode(node)
		if err != nil || entries != len(model) || dead != deleted || !bytes.Equal(again, block) {
			t.Fatalf("read back: %d entries, %d deleted, %v\n%x\n%x", entries, dead, err, again, block)
		}
	}
}

func checkBlock(t *testing.T, block []byte, first ID, model []modelEntry, deleted int) {
	t.Helper()
	at := 0
	for w := Forward(block, first); w.Next(); at++ {
		if have, want := entryOf(&w).String(), model[at].String(); have != want {
			t.Fatalf("entry %d: %s, not %s", at, have, want)
		}
	}
	if at != len(model) {
		t.Fatalf("%d entries of %d", at, len(model))
	}
	for w := Back(block, first); w.Next(); {
		at--
		if have, want := entryOf(&w).String(), model[at].String(); have != want {
			t.Fatalf("entry %d, going back: %s, not %s", at, have, want)
		}
	}
	if at != 0 {
		t.Fatalf("going back, %d entries are left", at)
	}
	if entries, dead := Count(block, first, 0); entries != len(model) || dead != deleted {
		t.Fatalf("counted %d and %d deleted of %d and %d", entries, dead, len(model), deleted)
	}
}

// TestSameFields shows that an entry with the master's fields does not repeat them.
func TestSameFields(t *testing.T) {
	long := []byte(strings.Repeat("field", 10))
	block := Append(nil, ID{1, 1}, ID{1, 1}, [][]byte{long, []byte("v")})
	same := len(AppendEntry(nil, block, ID{1, 1}, ID{1, 2}, [][]byte{long, []byte("v")}))
	other := len(AppendEntry(nil, block, ID{1, 1}, ID{1, 2}, [][]byte{long[1:], []byte("v")}))
	if same >= len(long) || other <= len(long) {
		t.Errorf("%d bytes with the same field, %d with another", same, other)
	}
}

// TestIDs shows the order of ids, and what is next to each.
func TestIDs(t *testing.T) {
	ids := []ID{{}, {0, 1}, {0, math.MaxUint64}, {1, 0}, {1, 5}, {math.MaxUint64, 0}, Max}
	for i, a := range ids {
		for j, b := range ids {
			x, y := a.Binary(), b.Binary()
			if a.Compare(b) != bytes.Compare(x[:], y[:]) || a.Less(b) != (i < j) {
				t.Errorf("%v and %v: %d, %v", a, b, a.Compare(b), a.Less(b))
			}
		}
		if b := a.Binary(); FromBinary(b[:]) != a {
			t.Errorf("%v: read %v", a, FromBinary(b[:]))
		}
		next, ok := a.Next()
		if back, backOK := next.Previous(); back != a || ok != (a != Max) || backOK != ok {
			t.Errorf("%v: next %v %v, back %v %v", a, next, ok, back, backOK)
		}
	}
	if text := string(Max.AppendText(nil)); text != "18446744073709551615-18446744073709551615" {
		t.Error(text)
	}
}

// TestBounds shows when a number of entries can be told.
func TestBounds(t *testing.T) {
	b := Bounds{Length: 3, Added: 5, First: ID{3, 0}, Last: ID{5, 0}}
	withHole := b
	withHole.MaxDeleted = ID{4, 0}
	empty := Bounds{Added: 5, Last: ID{5, 0}}
	for _, test := range []struct {
		name string
		b    Bounds
		id   ID
		want int64
	}{
		{"before the first", b, ID{1, 0}, 2},
		{"the first", b, ID{3, 0}, 3},
		{"between", b, ID{4, 0}, Unknown},
		{"the last", b, ID{5, 0}, 5},
		{"beyond", b, ID{6, 0}, Unknown},
		{"before the first, with a hole", withHole, ID{1, 0}, Unknown},
		{"the last, with a hole", withHole, ID{5, 0}, 5},
		{"of an empty stream", empty, ID{2, 0}, 5},
		{"beyond an empty stream", empty, ID{6, 0}, Unknown},
		{"of a new stream", Bounds{}, ID{6, 0}, 0},
	} {
		if have := test.b.Distance(test.id); have != test.want {
			t.Errorf("%s: %d, not %d", test.name, have, test.want)
		}
	}
	for _, test := range []struct {
		last  ID
		read  int64
		lag   int64
		known bool
	}{{ID{3, 0}, 3, 0, false}, {ID{4, 1}, 4, 1, true}, {ID{5, 0}, Unknown, 0, true}, {ID{4, 1}, Unknown, 0, false}} {
		if lag, known := withHole.Lag(test.last, test.read); known != test.known || known && lag != test.lag {
			t.Errorf("%v, read %d: %d %v", test.last, test.read, lag, known)
		}
	}
}

// FuzzNode shows that what FromNode takes can be walked, whoever made it.
func FuzzNode(f *testing.F) {
	block := Append(nil, ID{1, 1}, ID{1, 1}, [][]byte{[]byte("f"), []byte("v")})
	block = Append(block, ID{1, 1}, ID{1, 2}, [][]byte{[]byte("g"), []byte("w"), []byte("1"), []byte("2")})
	f.Add(AppendNode(nil, block, 2, 0))
	f.Fuzz(func(t *testing.T, node []byte) {
		block, entries, deleted, err := FromNode(node)
		if err != nil {
			return
		}
		var ids []ID
		for w := Forward(block, ID{}); w.Next(); {
			w.Each(func(_, _ []byte) {})
			ids = append(ids, w.ID)
		}
		var back []ID
		for w := Back(block, ID{}); w.Next(); {
			back = append(back, w.ID)
		}
		slices.Reverse(back)
		if len(ids) != entries || !slices.Equal(ids, back) {
			t.Fatalf("%x: %v forward, %v back, %d entries", node, ids, back, entries)
		}
		again, entriesAgain, deletedAgain, err := FromNode(AppendNode(nil, block, entries, deleted))
		if err != nil || entriesAgain != entries || deletedAgain != deleted || !bytes.Equal(again, block) {
			t.Fatalf("%x: written and read as %x, %v", node, again, err)
		}
	})
}
