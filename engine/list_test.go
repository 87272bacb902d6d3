package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reminis/engine/effect"
)

// This file tests lists against slices: every change, through all forms, and what
// replay makes of the effects.

// listRig is an engine with one list, the slice that it should be, and its
// journal.
type listRig struct {
	t    *testing.T
	r    *rand.Rand
	tape *tape
	e    *Engine
	want []string
}

var listKey = []byte("list")

func newListRig(t *testing.T, seed uint64) *listRig {
	t.Helper()
	g := &listRig{t: t, r: rand.New(rand.NewPCG(seed, 7)), tape: &tape{}}
	g.e = g.open()
	return g
}

func (g *listRig) open() *Engine {
	return Open(Options{Databases: 1, Journal: g.tape, Clock: &fakeClock{ms: 1_000_000}})
}

func (g *listRig) do(f func(tx *Tx)) {
	tx := g.e.Begin()
	tx.LockKeys([][]byte{listKey})
	if _, err := tx.List(listKey); err != nil {
		g.t.Fatal(err)
	}
	f(tx)
	tx.Commit()
	tx.Done()
}

// step changes list and slice alike; growth is out of ten how many steps add.
func (g *listRig) step(growth, longest int) {
	change, want := listChange(g.t, g.r, g.want, growth, longest)
	g.do(func(tx *Tx) { change(tx, listKey) })
	g.want = want
}

// listChange draws a change of a list and what the list is after it. growth is out
// of ten how many changes add, longest the length of some elements.
func listChange(t *testing.T, r *rand.Rand, list []string, growth, longest int) (change func(tx *Tx, key []byte), after []string) {
	n := len(list)
	if r.IntN(10) >= growth && n > 0 {
		first := pickEnd(r, n)
		count := 1 + r.IntN(min(n-first, 1+r.IntN(20)))
		return func(tx *Tx, key []byte) {
			if left := tx.ListRemove(key, tx.listOf(key), first, count); left != n-count {
				t.Fatalf("ListRemove answers %d, want %d", left, n-count)
			}
		}, slices.Concat(list[:first], list[first+count:])
	}
	value := listValue(r, longest)
	switch op := r.IntN(8); {
	case op < 4 || n == 0:
		front := op%2 == 0
		values := make([][]byte, 1+r.IntN(1+r.IntN(40)))
		for i := range values {
			values[i] = []byte(listValue(r, longest))
			if front {
				list = slices.Concat([]string{string(values[i])}, list)
			} else {
				list = slices.Concat(list, []string{string(values[i])})
			}
		}
		return func(tx *Tx, key []byte) {
			if have := tx.ListPush(key, tx.listOf(key), front, values); have != n+len(values) {
				t.Fatalf("ListPush answers %d, want %d", have, n+len(values))
			}
		}, list
	case op < 6:
		at := r.IntN(n + 1)
		return func(tx *Tx, key []byte) { tx.ListInsert(key, at, []byte(value)) }, slices.Concat(list[:at], []string{value}, list[at:])
	}
	at := r.IntN(n)
	return func(tx *Tx, key []byte) { tx.ListSet(key, at, []byte(value)) }, slices.Concat(list[:at], []string{value}, list[at+1:])
}

// listValue draws integers, short and long texts; few are larger than a block.
func listValue(r *rand.Rand, longest int) string {
	switch r.IntN(12) {
	case 0, 1, 2:
		return strconv.FormatInt(r.Int64()>>r.IntN(64), 10)
	case 3:
		return strings.Repeat("y", r.IntN(longest+1))
	case 4:
		return ""
	}
	return fmt.Sprintf("value %d", r.IntN(1000))
}

// pickEnd is an index, often the first or the last.
func pickEnd(r *rand.Rand, n int) int {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return n - 1
	}
	return r.IntN(n)
}

// check reads the list in every way.
func (g *listRig) check(e *Engine) {
	g.t.Helper()
	if err := e.Check(); err != nil {
		g.t.Fatal(err)
	}
	tx := e.Begin()
	tx.LockKeys([][]byte{listKey})
	defer func() {
		tx.Commit()
		tx.Done()
	}()
	l, err := tx.List(listKey)
	if err != nil || l.Len() != len(g.want) {
		g.t.Fatalf("%d elements, %v; want %d", l.Len(), err, len(g.want))
	}
	n := len(g.want)
	text := func(x Element) string { return string(x.AppendTo(nil)) }
	first := g.r.IntN(n + 1)
	count := g.r.IntN(n - first + 1)
	var forward, back []string
	l.Range(first, count, func(x Element) { forward = append(forward, text(x)) })
	l.RangeBack(first+count-1, count, func(x Element) { back = append(back, text(x)) })
	slices.Reverse(back)
	if !slices.Equal(forward, g.want[first:first+count]) || !slices.Equal(back, forward) {
		g.t.Fatalf("range of %d from %d:\nhave %.200q\nback %.200q\nwant %.200q", count, first, forward, back, g.want[first:first+count])
	}
	all := forward[:0]
	l.Range(0, n, func(x Element) { all = append(all, text(x)) })
	if !slices.Equal(all, g.want) {
		g.t.Fatalf("all:\nhave %.300q\nwant %.300q", all, g.want)
	}
	if n == 0 {
		return
	}
	index := g.r.IntN(n)
	if x, ok := l.Get(index); !ok || text(x) != g.want[index] {
		g.t.Fatalf("element %d is %q, want %q", index, text(x), g.want[index])
	}
	g.checkMatches(l, g.want[index], 1+g.r.IntN(n))
}

func (g *listRig) checkMatches(l List, text string, limit int) {
	g.t.Helper()
	n := len(g.want)
	var forward, back, wantForward, wantBack []int
	l.Match([]byte(text), limit, func(index int) bool { forward = append(forward, index); return true })
	l.MatchBack([]byte(text), limit, func(index int) bool { back = append(back, index); return true })
	for i := range limit {
		if g.want[i] == text {
			wantForward = append(wantForward, i)
		}
		if g.want[n-1-i] == text {
			wantBack = append(wantBack, n-1-i)
		}
	}
	if !slices.Equal(forward, wantForward) || !slices.Equal(back, wantBack) {
		g.t.Fatalf("%.40q among %d: %v and %v, want %v and %v", text, limit, forward, back, wantForward, wantBack)
	}
}

// replay is the list as the journal makes it.
func (g *listRig) replay() *Engine {
	g.t.Helper()
	e := g.open()
	for _, batch := range g.tape.batches {
		r, err := effect.NewReader(batch)
		if err != nil {
			g.t.Fatal(err)
		}
		if err := e.Batch(&r); err != nil {
			g.t.Fatal(err)
		}
	}
	return e
}

func TestListAgainstSlice(t *testing.T) {
	for _, test := range []struct{ growth, longest, steps int }{
		{5, 30, 2000}, {7, 30, 1500}, {6, 300, 1500}, {7, 5000, 600}, {4, 100, 1000},
	} {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		g := newListRig(t, seed)
		for i := range test.steps {
			growth := test.growth
			if i > test.steps*3/4 {
				growth = 2
			}
			g.step(growth, test.longest)
			if i%20 == 0 {
				g.check(g.e)
			}
		}
		g.check(g.e)
		g.check(g.replay())
	}
}

// TestListNamesRunOut inserts at one place of a long list until blocks there have
// no names left between them, again and again.
func TestListNamesRunOut(t *testing.T) {
	for name, place := range map[string]func(n int) int{
		"one place": func(int) int { return 700 },
		"the front": func(int) int { return 1 },
		"the back":  func(n int) int { return n - 500 },
	} {
		g := newListRig(t, 1)
		long := strings.Repeat("v", 300)
		renames := 0
		for i := range 4000 {
			at, value := place(len(g.want)), long+strconv.Itoa(i)
			if i < 1200 {
				at, value = len(g.want), "short"
			}
			dropped := 0
			if at == len(g.want) {
				g.do(func(tx *Tx) { tx.ListPush(listKey, tx.listOf(listKey), false, [][]byte{[]byte(value)}) })
			} else {
				g.do(func(tx *Tx) { tx.ListInsert(listKey, at, []byte(value)) })
			}
			eachEffect(t, g.tape.batches[len(g.tape.batches)-1], func(x *effect.Effect) {
				if x.Kind == effect.ListDrop {
					dropped++
				}
			})
			if renames += dropped; dropped > 64 {
				t.Fatalf("%s: an insertion named %d blocks anew", name, dropped)
			}
			g.want = slices.Insert(g.want, at, value)
		}
		if renames == 0 || renames > 4000 {
			t.Errorf("%s: %d blocks got other names: the test shows nothing, or they are too many", name, renames)
		}
		g.check(g.e)
		g.check(g.replay())
	}
}

func eachEffect(t *testing.T, batch []byte, visit func(x *effect.Effect)) {
	t.Helper()
	r, err := effect.NewReader(batch)
	if err != nil {
		t.Fatal(err)
	}
	var x effect.Effect
	for {
		more, err := r.Next(&x)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
		visit(&x)
	}
}

// TestListWritesLittle holds each change of one element of a large list to what a
// block takes in the journal.
func TestListWritesLittle(t *testing.T) {
	g := newListRig(t, 2)
	values := make([][]byte, 100_000)
	for i := range values {
		values[i] = fmt.Appendf(nil, "value %d", i)
	}
	g.do(func(tx *Tx) { tx.ListPush(listKey, List{}, false, values) })
	total := 0
	for range 3000 {
		before := len(g.tape.batches)
		g.do(func(tx *Tx) {
			l := tx.listOf(listKey)
			n := l.Len()
			switch at := g.r.IntN(n); g.r.IntN(5) {
			case 0:
				tx.ListPush(listKey, tx.listOf(listKey), true, values[:1])
			case 1:
				tx.ListInsert(listKey, at, values[at%1000])
			case 2:
				tx.ListSet(listKey, at, values[at%1000])
			case 3:
				tx.ListRemove(listKey, tx.listOf(listKey), at, 1)
			case 4:
				tx.ListRemove(listKey, tx.listOf(listKey), 0, 1)
			}
		})
		size := 0
		for _, batch := range g.tape.batches[before:] {
			size += len(batch)
		}
		if total += size; size > 4096 {
			t.Fatalf("a change of one element takes %d bytes in the journal", size)
		}
	}
	if total/3000 > 200 {
		t.Errorf("%d bytes in the mean for a change of one element", total/3000)
	}
}

// TestListMemory holds lists to the bytes that their elements take when packed,
// and few more, whether elements come one by one or together.
func TestListMemory(t *testing.T) {
	values := make([][]byte, 200_000)
	packed := 0
	for i := range values {
		values[i] = fmt.Appendf(nil, "value:%06d", i)
		packed += len(values[i]) + 2
	}
	for _, c := range []struct {
		front bool
		count int
	}{{false, 1}, {true, 1}, {false, 100}, {true, 100}, {false, len(values)}} {
		g := newListRig(t, 3)
		for some := range slices.Chunk(values, c.count) {
			g.do(func(tx *Tx) { tx.ListPush(listKey, tx.listOf(listKey), c.front, some) })
		}
		size := int64(0)
		g.do(func(tx *Tx) { size, _ = tx.UsageBytes(listKey) })
		if size > int64(packed)*117/100 {
			t.Errorf("%+v: %d bytes for elements of %d", c, size, packed)
		}
	}
}
