package vector

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// modes are the ways of keeping vectors.
var modes = []struct {
	name    string
	options Options
}{
	{"float32", Options{}},
	{"int8", Options{Int8: true}},
}

func ids(hits []Hit) []uint64 {
	var all []uint64
	for _, h := range hits {
		all = append(all, h.ID)
	}
	return all
}

func TestSearch(t *testing.T) {
	all := model{
		1: {1, 0, 0}, 2: {0.9, 0.1, 0}, 3: {0, 5, 0}, 4: {-1, 0, 0},
		5: {0, 0.01, 0}, 6: {0, 0, 0}, 7: {3e-39, 0, 0}, 8: {3e38, 3e38, 3e38},
	}
	for _, c := range []struct {
		name   string
		query  []float32
		limit  int
		accept func(uint64) bool
		want   []uint64
	}{
		{"the nearest; of equals the newest", []float32{1, 0, 0}, 3, nil, []uint64{7, 1, 2}},
		{"lengths do not count", []float32{0, 1e-9, 0}, 2, nil, []uint64{5, 3}},
		{"a vector of zeros is like nothing, but is there", []float32{1, 0, 0}, 9, nil, []uint64{7, 1, 2, 8, 6, 5, 3, 4}},
		{"nothing is like a query of zeros", []float32{0, 0, 0}, 2, nil, []uint64{8, 7}},
		{"accepted only", []float32{1, 0, 0}, 2, func(id uint64) bool { return id%2 == 0 }, []uint64{2, 8}},
		{"nothing accepted", []float32{1, 0, 0}, 2, func(uint64) bool { return false }, nil},
		{"none wanted", []float32{1, 0, 0}, 0, nil, nil},
		{"fewer than none", []float32{1, 0, 0}, -1, nil, nil},
	} {
		for _, mode := range modes {
			x := NewIndex(3, mode.options)
			for id := uint64(1); id <= 8; id++ {
				x.Add(id, all[id])
			}
			q := Query{Vector: c.query, Limit: c.limit, Accept: c.accept, Fetch: all.fetch}
			got := x.View().Search(q)
			if !slices.Equal(ids(got.Hits), c.want) {
				t.Errorf("%s, %s: %v, want %v", c.name, mode.name, got.Hits, c.want)
			}
			if want := all.search(q); !slices.Equal(got.Hits, want) {
				t.Errorf("%s, %s: %v, the model has %v", c.name, mode.name, got.Hits, want)
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	x := NewIndex(2, Options{})
	q := Query{Vector: []float32{1, 1}, Limit: 5}
	if got := x.View().Search(q); len(got.Hits) != 0 || got.Scanned != 0 {
		t.Errorf("an empty index answers %v", got)
	}
	if x.Remove(1) {
		t.Error("what was never there is removed")
	}
	x.Add(1, []float32{1, 0})
	before := x.View()
	if !x.Remove(1) || x.Remove(1) {
		t.Error("a vector is removed once")
	}
	if got := x.View().Search(q); len(got.Hits) != 0 {
		t.Errorf("an emptied index answers %v", got)
	}
	if got := before.Search(q); len(got.Hits) != 1 {
		t.Errorf("the view from before answers %v", got)
	}
	if stats := x.Stats(); stats != (Stats{}) {
		t.Errorf("an emptied index keeps %+v", stats)
	}
}

// TestAddCopies holds Add to leaving the caller its slice.
func TestAddCopies(t *testing.T) {
	x := NewIndex(2, Options{})
	v := []float32{3, 4}
	x.Add(1, v)
	if !slices.Equal(v, []float32{3, 4}) {
		t.Errorf("Add changed its argument to %v", v)
	}
	v[0], v[1] = -4, 3
	if got := x.View().Search(Query{Vector: []float32{3, 4}, Limit: 1}).Hits; got[0].Score < 0.999999 {
		t.Errorf("the index has its caller's memory: %v", got)
	}
}

func TestWrongDimensions(t *testing.T) {
	x := NewIndex(2, Options{})
	x.Add(1, []float32{1, 0})
	for name, call := range map[string]func(){
		"add":    func() { x.Add(2, []float32{1, 2, 3}) },
		"search": func() { x.View().Search(Query{Vector: []float32{1}, Limit: 1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes a vector of other dimensions", name)
				}
			}()
			call()
		}()
	}
}

// TestScanned counts what an exact search compares: all that is accepted
// where that is asked first, all that lives elsewhere.
func TestScanned(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	x := NewIndex(4, Options{})
	for id := range uint64(4000) {
		x.Add(id, randomVector(rng, 4))
	}
	x.Remove(17)
	q := Query{Vector: randomVector(rng, 4), Limit: 10}
	if got := x.View().Search(q).Scanned; got != 3999 {
		t.Errorf("compared with %d, want 3999", got)
	}
	q.Accept = func(id uint64) bool { return id%100 == 0 }
	if got := x.View().Search(q).Scanned; got != 40 {
		t.Errorf("compared with %d, want the 40 accepted", got)
	}
}

// TestCompaction checks that memory of the dead comes back.
func TestCompaction(t *testing.T) {
	for _, mode := range modes {
		rng := rand.New(rand.NewPCG(3, 3))
		x := NewIndex(32, mode.options)
		for range 20 {
			for id := range uint64(100) {
				x.Add(id, randomVector(rng, 32))
			}
		}
		full := x.Stats()
		if full.Vectors != 100 || full.Dead != 1900 || !x.NeedsBuild() {
			t.Errorf("%s: before: %+v", mode.name, full)
		}
		x.Build()
		stats := x.Stats()
		if stats.Vectors != 100 || stats.Dead != 0 || stats.SizeBytes > full.SizeBytes/10 || x.NeedsBuild() {
			t.Errorf("%s: %+v after %+v", mode.name, stats, full)
		}
	}
}

// TestModel adds, removes, views and builds by chance and compares every view
// with the model's state at its moment, also long after.
func TestModel(t *testing.T) {
	seeds := 15
	if testing.Short() {
		seeds = 3
	}
	for _, mode := range modes {
		for seed := range uint64(seeds) {
			testModel(t, mode.options, seed)
		}
	}
}

// frozen is a view and what it must answer for ever.
type frozen struct {
	view *View
	want model
}

func testModel(t *testing.T, options Options, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 4))
	dimensions := 1 + rng.IntN(40)
	span := uint64(1 + rng.IntN(400)) // of ids
	x, m := NewIndex(dimensions, options), model{}
	x.graphMin, x.graphStep = 40, 30
	var views []frozen
	for range 1500 {
		id := rng.Uint64N(span)
		switch rng.IntN(20) {
		case 0:
			views = append(views, frozen{x.View(), m.clone()})
		case 1:
			x.Build()
		case 2, 3, 4, 5, 6, 7:
			_, want := m[id]
			if got := x.Remove(id); got != want {
				t.Fatalf("%+v, seed %d: Remove(%d) = %v", options, seed, id, got)
			}
			delete(m, id)
		default:
			v := randomVector(rng, dimensions)
			if rng.IntN(4) == 0 { // a tie
				v = m[rng.Uint64N(span)]
			}
			if v == nil {
				continue
			}
			x.Add(id, v)
			m[id] = v
		}
	}
	for _, f := range append(views, frozen{x.View(), m}) {
		what := fmt.Sprintf("%+v, seed %d", options, seed)
		f.check(t, rng, what)
		f.checkWalk(t, rng, what)
	}
}

func (f frozen) check(t *testing.T, rng *rand.Rand, what string) {
	t.Helper()
	if f.view.Len() != len(f.want) {
		t.Fatalf("%s: %d vectors, want %d", what, f.view.Len(), len(f.want))
	}
	q := Query{Vector: randomVector(rng, f.view.Dimensions()), Limit: rng.IntN(30), Fetch: f.want.fetch}
	if modulus := 1 + rng.Uint64N(5); modulus > 1 {
		q.Accept = func(id uint64) bool { return id%modulus == 0 }
	}
	got, want := f.view.Search(q).Hits, f.want.search(q)
	if len(got) != len(want) {
		t.Fatalf("%s: %d hits, want %d", what, len(got), len(want))
	}
	for i := range got {
		switch {
		case f.view.coded && got[i].Score != cosine(q.Vector, f.want[got[i].ID]):
			t.Fatalf("%s: hit %d is %v, but the score is %g", what, i, got[i], cosine(q.Vector, f.want[got[i].ID]))
		case f.view.coded && got[i].Score < want[i].Score-0.02, !f.view.coded && got[i] != want[i]:
			t.Fatalf("%s: hit %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// checkWalk has the graph answer alone, if there is one: all that it answers must
// be right, though it need not be all.
func (f frozen) checkWalk(t *testing.T, rng *rand.Rand, what string) {
	t.Helper()
	if f.view.graph == nil {
		return
	}
	checkGraph(t, f.view, what)
	q := Query{
		Vector: randomVector(rng, f.view.Dimensions()),
		Limit:  1 + rng.IntN(30),
		Accept: func(id uint64) bool { return id%3 > 0 },
		Fetch:  f.want.fetch,
	}
	got := f.view.search(q, func(s *search) { s.walk(s.best.limit) })
	for i, h := range got.Hits {
		v, ok := f.want[h.ID]
		if !ok || !q.Accept(h.ID) || h.Score != cosine(q.Vector, v) {
			t.Fatalf("%s: hit %d of a walk is %v", what, i, h)
		}
		if i > 0 && (got.Hits[i-1].Score < h.Score || got.Hits[i-1] == h) {
			t.Fatalf("%s: a walk answers %v", what, got.Hits)
		}
	}
}

// TestConcurrent searches views while vectors come and go and builds run: for
// the race detector, and for what compaction copies late.
func TestConcurrent(t *testing.T) {
	const dimensions, rounds, span = 8, 40, 300
	rng := rand.New(rand.NewPCG(5, 5))
	x, m := NewIndex(dimensions, Options{}), model{}
	x.graphMin, x.graphStep = 100, 50
	var work sync.WaitGroup
	for round := range rounds {
		for range 150 {
			id := rng.Uint64N(span)
			if rng.IntN(3) == 0 {
				x.Remove(id)
				delete(m, id)
				continue
			}
			v := randomVector(rng, dimensions)
			x.Add(id, v)
			m[id] = v
		}
		f := frozen{x.View(), m.clone()}
		work.Go(x.Build)
		work.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(round), 6))
			for range 20 {
				f.check(t, rng, fmt.Sprintf("round %d", round))
			}
		})
	}
	work.Wait()
	frozen{x.View(), m}.check(t, rng, "at the end")
}
