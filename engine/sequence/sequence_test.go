package sequence

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"reminis/engine/table"
)

// blockModel is a block as the slice that a sequence is compared with has it.
type blockModel struct {
	key   uint64
	count int
	bytes []byte
}

// tester makes random changes of a sequence and of a slice.
type tester struct {
	t    *testing.T
	rand *rand.Rand
	seq  *Sequence
	want []blockModel
}

func newTester(t *testing.T, seed uint64) *tester {
	t.Helper()
	pool := table.NewPool(table.Options{})
	x := &tester{t: t, rand: rand.New(rand.NewPCG(seed, 0)), seq: New(pool)}
	t.Cleanup(func() {
		x.seq.Clear()
		if used := pool.Stats().UsedBytes; used != 0 {
			t.Errorf("seed %d: %d bytes are still in use after Clear", seed, used)
		}
		pool.Close()
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return x
}

// place is that of block i, nowhere for -1.
func (x *tester) place(i int) Place {
	p := Place{}
	if i >= 0 {
		p = x.seq.First()
	}
	for range i {
		p = x.seq.Next(p)
	}
	return p
}

func (x *tester) bytes(most int) []byte {
	b := make([]byte, x.rand.IntN(most+1))
	for i := range b {
		b[i] = byte(x.rand.Uint32())
	}
	return b
}

// keyAt is a key that block i may have.
func (x *tester) keyAt(i int) uint64 {
	low, high := uint64(0), uint64(1<<16)
	if i > 0 {
		low = x.want[i-1].key
	}
	if i+1 < len(x.want) {
		high = x.want[i+1].key
	}
	if x.rand.IntN(3) == 0 {
		return low
	}
	return low + x.rand.Uint64N(high-low+1)
}

func (x *tester) insert(i int) {
	x.want = slices.Insert(x.want, i, blockModel{count: x.rand.IntN(100), bytes: x.bytes(300)})
	b := &x.want[i]
	b.key = x.keyAt(i)
	p := x.seq.Insert(x.place(i-1), b.key, b.count, b.bytes)
	if !bytes.Equal(x.seq.Block(p), b.bytes) || x.seq.Key(p) != b.key {
		x.t.Fatalf("the place that Insert returned is another's")
	}
}

func (x *tester) delete(i int) {
	x.want = slices.Delete(x.want, i, i+1)
	p := x.seq.Delete(x.place(i))
	if p.None() != (i == len(x.want)) || !p.None() && !bytes.Equal(x.seq.Block(p), x.want[i].bytes) {
		x.t.Fatalf("the place that Delete of block %d returned is not the one behind", i)
	}
}

func (x *tester) splice(i int) {
	b := &x.want[i]
	offset := x.rand.IntN(len(b.bytes) + 1)
	removed, added := x.rand.IntN(len(b.bytes)-offset+1), x.bytes(100)
	if x.rand.IntN(50) == 0 {
		added = x.bytes(100_000)
	}
	b.bytes = slices.Replace(slices.Clone(b.bytes), offset, offset+removed, added...)
	b.count = x.rand.IntN(100)
	x.seq.Splice(x.place(i), offset, removed, added, b.count)
}

func (x *tester) step(growing bool) {
	n := len(x.want)
	switch do := x.rand.IntN(10); {
	case n == 0 || growing && do < 6 || do < 2:
		x.insert([]int{x.rand.IntN(n + 1), 0, n}[x.rand.IntN(3)])
	case !growing && do < 7 || do < 8:
		x.delete([]int{x.rand.IntN(n), 0, n - 1}[x.rand.IntN(3)])
	case do < 9:
		x.splice(x.rand.IntN(n))
	default:
		i := x.rand.IntN(n)
		x.want[i].key = x.keyAt(i)
		x.seq.Rekey(x.place(i), x.want[i].key)
	}
}

func (x *tester) check() {
	x.t.Helper()
	if err := x.seq.Check(); err != nil {
		x.t.Fatal(err)
	}
	i, elements := 0, 0
	for p := x.seq.First(); !p.None(); p = x.seq.Next(p) {
		b := &x.want[i]
		if x.seq.Key(p) != b.key || x.seq.Count(p) != b.count || !bytes.Equal(x.seq.Block(p), b.bytes) {
			x.t.Fatalf("block %d is not what it was made", i)
		}
		if rank := x.seq.Rank(p); rank != elements {
			x.t.Fatalf("block %d has rank %d, want %d", i, rank, elements)
		}
		elements += b.count
		i++
	}
	if i != len(x.want) || x.seq.Blocks() != i || x.seq.Len() != elements {
		x.t.Fatalf("%d blocks walked, %d counted, %d elements; want %d and %d", i, x.seq.Blocks(), x.seq.Len(), len(x.want), elements)
	}
	for p := x.seq.Last(); !p.None(); p = x.seq.Prev(p) {
		i--
		if !bytes.Equal(x.seq.Block(p), x.want[i].bytes) {
			x.t.Fatalf("block %d is another when walked to from the end", i)
		}
	}
	x.checkAt(elements)
	x.checkFind()
}

// checkAt finds elements by their index, and none beyond the ends.
func (x *tester) checkAt(elements int) {
	for range 20 {
		index := x.rand.IntN(elements+10) - 5
		p, within := x.seq.At(index)
		if outside := index < 0 || index >= elements; outside != p.None() {
			x.t.Fatalf("element %d of %d: nowhere is %v", index, elements, p.None())
		} else if !outside && (x.seq.Rank(p)+within != index || within >= x.seq.Count(p)) {
			x.t.Fatalf("element %d is %d of a block of %d with rank %d", index, within, x.seq.Count(p), x.seq.Rank(p))
		}
	}
}

// checkFind finds blocks by key, and among those of one key by their bytes.
func (x *tester) checkFind() {
	for range 20 {
		key := x.rand.Uint64N(1 << 16)
		if n := len(x.want); n > 0 && x.rand.IntN(4) > 0 {
			key = x.want[x.rand.IntN(n)].key
		}
		beyond := sort.Search(len(x.want), func(i int) bool { return x.want[i].key > key })
		x.same(x.seq.Find(key, nil), beyond-1)
		first := sort.Search(len(x.want), func(i int) bool { return x.want[i].key >= key })
		last := first + x.rand.IntN(beyond-first+1)
		accepted := map[string]bool{}
		for i := first; i < last; i++ {
			accepted[string(x.want[i].bytes)] = true
		}
		for i := last; i < beyond; i++ {
			if accepted[string(x.want[i].bytes)] {
				return // two equal blocks: which one is asked for cannot be told
			}
		}
		x.same(x.seq.Find(key, func(block []byte) bool { return accepted[string(block)] }), last-1)
	}
	x.checkSearch()
}

// checkSearch finds the last of the first blocks by their bytes alone.
func (x *tester) checkSearch() {
	last := x.rand.IntN(len(x.want) + 1)
	accepted := map[string]bool{}
	for i := range last {
		accepted[string(x.want[i].bytes)] = true
	}
	for last < len(x.want) && accepted[string(x.want[last].bytes)] {
		last++ // equal to a block before it
	}
	for i := last; i < len(x.want); i++ {
		if accepted[string(x.want[i].bytes)] {
			return // equal blocks apart: no number of the first is what is asked for
		}
	}
	x.same(x.seq.Search(func(block []byte) bool { return accepted[string(block)] }), last-1)
}

func (x *tester) same(p Place, i int) {
	x.t.Helper()
	if p != x.place(i) {
		x.t.Fatalf("found another block than %d", i)
	}
}

// TestAgainstSlice makes the same random changes of a sequence and of a slice,
// through growing to several levels and shrinking to nothing.
func TestAgainstSlice(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x := newTester(t, seed)
			steps := 1500
			for round := range 2 {
				for i := range steps {
					x.step(true)
					if i%100 == 0 {
						x.check()
					}
				}
				x.check()
				for len(x.want) > 0 {
					x.step(false)
					if x.rand.IntN(100) == 0 {
						x.check()
					}
				}
				x.check()
				steps /= 4 * (round + 1)
			}
		})
	}
}

// TestDeep grows a sequence to three levels at one place, then takes most of it
// away at one place.
func TestDeep(t *testing.T) {
	const blocks = 20_000
	for _, test := range []struct {
		name          string
		insert, erase func(s *Sequence) Place
	}{
		{"append, drop the first", (*Sequence).Last, (*Sequence).First},
		{"prepend, drop the last", func(*Sequence) Place { return Place{} }, (*Sequence).Last},
		{"insert behind the first, drop from the middle", (*Sequence).First, func(s *Sequence) Place {
			p, _ := s.At(s.Len() / 2)
			return p
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTester(t, 0).seq
			check := func(want, nodesMost int) {
				t.Helper()
				if err := s.Check(); err != nil {
					t.Fatal(err)
				}
				if s.Blocks() != want || s.nodes > nodesMost {
					t.Errorf("%d blocks take %d nodes, want %d in at most %d", s.Blocks(), s.nodes, want, nodesMost)
				}
			}
			for range blocks {
				s.Insert(test.insert(s), 5, 1, []byte("block"))
			}
			check(blocks, 3*blocks/fanout)
			for range blocks - 400 {
				s.Delete(test.erase(s))
			}
			check(400, 6*400/fanout)
		})
	}
}

// TestSparse deletes most blocks all over a sequence: nodes are merged.
func TestSparse(t *testing.T) {
	x := newTester(t, 1)
	for range 20_000 {
		x.seq.Insert(x.seq.Last(), 0, 1, nil)
	}
	for p, i := x.seq.First(), 0; !p.None(); i++ {
		if i%40 == 0 {
			p = x.seq.Next(p)
		} else {
			p = x.seq.Delete(p)
		}
	}
	if err := x.seq.Check(); err != nil {
		t.Fatal(err)
	}
	if most := 6 * x.seq.Blocks() / fanout; x.seq.Blocks() != 500 || x.seq.nodes > most {
		t.Errorf("%d blocks take %d nodes, want 500 in at most %d", x.seq.Blocks(), x.seq.nodes, most)
	}
}

func TestClone(t *testing.T) {
	x := newTester(t, 2)
	for range 500 {
		x.step(true)
	}
	source := x.seq
	x.seq = source.Clone()
	source.Clear()
	x.check()
}

// TestRoom bounds what blocks take beyond their bytes while they grow and after
// they were cut.
func TestRoom(t *testing.T) {
	x := newTester(t, 3)
	s := x.seq
	for range 500 {
		s.Insert(s.Last(), 0, 1, make([]byte, 100))
	}
	bytesOf := func(size int) {
		t.Helper()
		stats := s.blocks.Stats()
		// The head of a record, its number, padding.
		if most := int64(500 * (size + max(size/4, 64) + 24)); stats.LiveBytes > most {
			t.Errorf("500 blocks of %d bytes take %d, want at most %d", size, stats.LiveBytes, most)
		}
	}
	for size := 100; size < 2000; size += 20 {
		for p := s.First(); !p.None(); p = s.Next(p) {
			s.Splice(p, size/2, 0, make([]byte, 20), 1)
		}
		bytesOf(size + 20)
	}
	for p := s.First(); !p.None(); p = s.Next(p) {
		s.Splice(p, 0, 1000, nil, 1)
	}
	bytesOf(1000)
}

// TestAllocations holds reads, and edits within a block's room, to none.
func TestAllocations(t *testing.T) {
	x := newTester(t, 4)
	s := x.seq
	for i := range 10_000 {
		s.Insert(s.Last(), uint64(i), 2, make([]byte, 100))
	}
	added := []byte("12345678")
	if n := testing.AllocsPerRun(200, func() {
		i := x.rand.IntN(20_000)
		p, _ := s.At(i)
		if s.Find(uint64(i/2), func([]byte) bool { return true }) != p || s.Rank(p) != i&^1 {
			t.Fatalf("element %d is not found by its block's key", i)
		}
		s.Splice(p, 8, 0, added, 2)
		s.Splice(p, 8, 8, nil, 2)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
