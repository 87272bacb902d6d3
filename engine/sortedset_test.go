package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reminis/engine/table"
)

// This file tests sorted sets against a sorted slice, in each of their forms.

type scored struct {
	member string
	score  float64
}

// scoredModel is a sorted set as a slice in order.
type scoredModel []scored

func (m scoredModel) place(x scored) (int, bool) {
	return slices.BinarySearchFunc(m, x, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.member, b.member))
	})
}

func (m *scoredModel) set(x scored) {
	m.remove(x.member)
	i, _ := m.place(x)
	*m = slices.Insert(*m, i, x)
}

func (m *scoredModel) remove(member string) {
	*m = slices.DeleteFunc(*m, func(x scored) bool { return x.member == member })
}

// sortedSetForms are sizes and members for which a sorted set has each form.
var sortedSetForms = []struct {
	name         string
	members      int
	longest      int
	scores       int // how many different ones
	wide, packed bool
}{
	{"packed", 60, 30, 20, false, true},
	{"packed, one score", 60, 30, 1, false, true},
	{"wide", 20, 100, 20, true, true},
	{"large", 3000, 30, 100_000, false, false},
	{"large, few scores", 3000, 60, 5, false, false},
	{"large, one score", 3000, 100, 1, false, false},
}

func memberNamed(i, longest int) string {
	name := fmt.Sprintf("m%d", i)
	return name + strings.Repeat("x", i*7%longest)
}

func TestSortedSetAgainstSlice(t *testing.T) {
	for _, form := range sortedSetForms {
		t.Run(form.name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			tx := openTx(t)
			var m scoredModel
			for round := range 4 {
				edit, err := tx.EditSortedSet([]byte("z"))
				if err != nil {
					t.Fatal(err)
				}
				for range 2 * form.members {
					x := scored{memberNamed(r.IntN(form.members), form.longest), float64(r.IntN(form.scores)-form.scores/2) / 8}
					_, there := edit.Find([]byte(x.member))
					if r.IntN(6) > round {
						m.set(x)
						edit.Put(x.score)
						continue
					}
					m.remove(x.member)
					if there {
						edit.Take()
					}
				}
				edit.Close()
				if err := tx.e.shardCheck(tx); err != nil {
					t.Fatal(err)
				}
				z, _ := tx.SortedSet([]byte("z"))
				if z.wide != form.wide || (z.pack != nil) != form.packed {
					t.Fatalf("the set is packed: %v, wide: %v", z.pack != nil, z.wide)
				}
				checkSortedSet(t, r, z, m, form.longest)
			}
		})
	}
}

func checkSortedSet(t *testing.T, r *rand.Rand, z SortedSet, m scoredModel, longest int) {
	t.Helper()
	if z.Len() != len(m) {
		t.Fatalf("%d members, want %d", z.Len(), len(m))
	}
	for i, x := range m {
		if rank, ok := z.Rank([]byte(x.member)); !ok || rank != i {
			t.Fatalf("%q has rank %d, %v, want %d", x.member, rank, ok, i)
		}
		if score, ok := z.Score([]byte(x.member)); !ok || score != x.score {
			t.Fatalf("%q has score %v, %v, want %v", x.member, score, ok, x.score)
		}
	}
	if _, ok := z.Rank([]byte("nobody")); ok {
		t.Error("who is not there has a rank")
	}
	for range 200 {
		from := r.IntN(len(m) + 1)
		to := from + r.IntN(len(m)+1-from)
		checkRange(t, z, m, from, to)
		checkScoreSpan(t, r, z, m)
		checkMemberSpan(t, r, z, m, longest)
	}
}

func checkRange(t *testing.T, z SortedSet, m scoredModel, from, to int) {
	t.Helper()
	for _, reverse := range []bool{false, true} {
		want := slices.Clone(m[from:to])
		if reverse {
			slices.Reverse(want)
		}
		var have scoredModel
		z.Range(from, to, reverse, func(member []byte, score float64) bool {
			have = append(have, scored{string(member), score})
			return true
		})
		if !slices.Equal(have, want) {
			t.Fatalf("ranks %d to %d, reverse %v:\n%v\nwant\n%v", from, to, reverse, have, want)
		}
	}
}

func checkScoreSpan(t *testing.T, r *rand.Rand, z SortedSet, m scoredModel) {
	t.Helper()
	bound := func() float64 {
		switch r.IntN(6) {
		case 0:
			return math.Inf(2*r.IntN(2) - 1)
		case 1:
			return float64(r.IntN(100)) / 16
		}
		return m[r.IntN(len(m))].score
	}
	b := ScoreRange{bound(), bound(), r.IntN(2) == 0, r.IntN(2) == 0}
	from, to := z.SpanOfScores(b)
	for i, x := range m {
		within := (x.score > b.Min || !b.MinOpen && x.score == b.Min) && (x.score < b.Max || !b.MaxOpen && x.score == b.Max)
		if within != (i >= from && i < to) {
			t.Fatalf("scores %+v have the ranks %d to %d; rank %d has %v", b, from, to, i, x.score)
		}
	}
}

// checkMemberSpan looks at ranges in order. In a set of several scores it holds
// them only to what is the same in all orders: the whole, and nothing.
func checkMemberSpan(t *testing.T, r *rand.Rand, z SortedSet, m scoredModel, longest int) {
	t.Helper()
	bound := func() MemberBound {
		if m[0].score != m[len(m)-1].score || r.IntN(6) == 0 {
			return MemberBound{Edge: 2*r.IntN(2) - 1}
		}
		return MemberBound{Member: []byte(memberNamed(r.IntN(2*len(m)), longest)), Open: r.IntN(2) == 0}
	}
	b := MemberRange{bound(), bound()}
	reverse, skip := r.IntN(2) == 0, 0
	if r.IntN(2) == 0 {
		skip = r.IntN(len(m))
	}
	from, to := z.SpanOfMembers(b, reverse, skip)
	if from == to && skip > 0 {
		return // what is skipped is checked where something is left
	}
	if reverse {
		to += skip
	} else {
		from -= skip
	}
	for i, x := range m {
		low, high := bytes.Compare([]byte(x.member), b.Min.Member), bytes.Compare([]byte(x.member), b.Max.Member)
		within := (b.Min.Edge < 0 || b.Min.Edge == 0 && (low > 0 || !b.Min.Open && low == 0)) &&
			(b.Max.Edge > 0 || b.Max.Edge == 0 && (high < 0 || !b.Max.Open && high == 0))
		if within != (i >= from && i < to) {
			t.Fatalf("members %+v have the ranks %d to %d; rank %d is %q", b, from, to, i, x.member)
		}
	}
}

// openTx is a transaction with all locks on an engine of its own.
func openTx(t *testing.T) *Tx {
	t.Helper()
	e := Open(Options{Databases: 1, Journal: &tape{}, Clock: &fakeClock{ms: 1_000_000}})
	tx := e.Begin()
	tx.LockAll()
	t.Cleanup(func() {
		tx.Commit()
		tx.Done()
	})
	return tx
}

// shardCheck is Check under the locks that tx has.
func (e *Engine) shardCheck(tx *Tx) error {
	for i := range e.shards {
		if ks := e.shards[i].space(tx.DB); ks != nil {
			if err := ks.check(i, tx.DB); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestKindsOfLongMembers shows that long members, which blocks refer to by hash and
// kind, are told apart by their kinds where the hash is not enough: a set that
// finds kinds taken uses the next.
func TestKindsOfLongMembers(t *testing.T) {
	tx := openTx(t)
	s := newSortedSet(tx.e)
	defer s.drop()
	long := []byte(strings.Repeat("m", inlineMax+1))
	s.set(long, 1)
	s.set(long[1:], 2)
	for member, kind := range map[string]uint8{string(long): 1, string(long[1:]): 0} {
		x, ok := s.scores.get([]byte(member))
		if !ok || x.Kind() != kind {
			t.Errorf("a member of %d bytes has kind %d, want %d", len(member), x.Kind(), kind)
		}
	}
	if kind := s.freeKind(table.Hash(long), long); kind != 2 {
		t.Errorf("another member of the hash would have kind %d, want 2", kind)
	}
}

// TestZeroKeepsItsSignWhereRedisKeepsIt: a listpack has no -0, a skip list has.
func TestZeroKeepsItsSignWhereRedisKeepsIt(t *testing.T) {
	negative := math.Copysign(0, -1)
	for _, test := range []struct {
		members int
		signed  bool
	}{{1, false}, {200, true}} {
		tx := openTx(t)
		edit, _ := tx.EditSortedSet([]byte("z"))
		for i := range test.members - 1 {
			edit.Find(fmt.Appendf(nil, "m%d", i))
			edit.Put(1)
		}
		edit.Find([]byte("zero"))
		edit.Put(negative)
		edit.Close()
		z, _ := tx.SortedSet([]byte("z"))
		if score, _ := z.Score([]byte("zero")); score != 0 || math.Signbit(score) != test.signed {
			t.Errorf("of %d members, -0 became %v", test.members, score)
		}
	}
}

// TestSortedSetAllocations holds reads to none.
func TestSortedSetAllocations(t *testing.T) {
	for _, members := range []int{50, 5000} {
		tx := openTx(t)
		edit, _ := tx.EditSortedSet([]byte("z"))
		for i := range members {
			edit.Find(fmt.Appendf(nil, "m%d", i))
			edit.Put(float64(i) / 4)
		}
		edit.Close()
		key, member := []byte("z"), []byte("m17")
		if n := testing.AllocsPerRun(100, func() {
			z, _ := tx.SortedSet(key)
			rank, _ := z.Rank(member)
			from, to := z.SpanOfScores(ScoreRange{Min: 4.25, Max: 4.25})
			z.Range(from, to, true, func(m []byte, score float64) bool { return score == 4.25 })
			if score, _ := z.Score(member); score != 4.25 || rank != from || to != from+1 {
				t.Fatalf("member 17 has score %v and rank %d", score, rank)
			}
		}); n > 0 {
			t.Errorf("%d members: %v allocations", members, n)
		}
	}
}
