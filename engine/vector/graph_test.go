package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"reminis/engine/bitset"
)

// skipIfShort skips what has a graph of its own to build and one goroutine only:
// the race detector makes it slow and finds nothing in it.
func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a graph")
	}
}

// checkGraph holds a view's graph to its invariants.
func checkGraph(t *testing.T, v *View, what string) {
	t.Helper()
	g := v.graph
	if g.count > v.count || len(g.base) != g.count*baseList || len(g.twins) != g.count || len(g.above) != g.count {
		t.Fatalf("%s: a graph of %d positions has arrays for %d, %d, %d", what, g.count, len(g.base)/baseList, len(g.twins), len(g.above))
	}
	isTwin := bitset.Set{}
	for position, next := range g.twins {
		if next == 0 {
			continue
		}
		if isTwin.Has(int(next - 1)) {
			t.Fatalf("%s: %d is the twin of two", what, next-1)
		}
		isTwin = isTwin.With(int(next - 1))
		if target := v.targetAt(position); !v.same(&target, int(next-1)) {
			t.Fatalf("%s: %d is no twin of %d", what, next-1, position)
		}
	}
	if g.top != noLevel && (isTwin.Has(int(g.entry)) || g.level(g.entry) != g.top) {
		t.Fatalf("%s: the entry %d is no node of level %d", what, g.entry, g.top)
	}
	for position := range uint32(g.count) {
		for level := range g.level(position) + 1 {
			links := g.list(position, level)
			sorted := slices.Clone(links)
			slices.Sort(sorted)
			if len(slices.Compact(sorted)) < len(links) || slices.Contains(links, position) {
				t.Fatalf("%s: %d links to %v on level %d", what, position, links, level)
			}
			for _, link := range links {
				if int(link) >= g.count || isTwin.Has(int(link)) || g.level(link) < level {
					t.Fatalf("%s: %d links to %d on level %d", what, position, link, level)
				}
			}
		}
	}
}

// recallAt10 is the share of the ten nearest that search finds, over all queries.
func recallAt10(v *View, queries [][]float32, collect func(*search)) (recall float64, scanned int) {
	found, wanted := 0, 0
	for _, vector := range queries {
		q := Query{Vector: vector, Limit: 10}
		want := v.SearchExactly(q).Hits
		got := v.search(q, collect)
		for _, h := range got.Hits {
			if h.Score >= want[len(want)-1].Score {
				found++
			}
		}
		wanted += len(want)
		scanned += got.Scanned
	}
	return float64(found) / float64(wanted), scanned / len(queries)
}

// built answers an index of the vectors, by number, whose graph is complete and
// not measured, unless it is for least.
func built(vectors [][]float32, options Options, least int) *Index {
	x := NewIndex(len(vectors[0]), options)
	x.graphMin, x.graphStep, x.measureMin = 500, 100, least
	for i, v := range vectors {
		x.Add(uint64(i), v)
	}
	buildAll(x)
	return x
}

const unmeasured = math.MaxInt

func buildAll(x *Index) {
	for x.NeedsBuild() {
		x.Build()
	}
}

// walkNarrowly walks as a search of a large graph does, but less widely, so that
// a small one does not look good because all of it is compared.
func walkNarrowly(s *search) {
	s.walk(searchWidth / 2)
	s.scan(s.view.graph.count, s.view.count)
}

// TestGraphRecall walks small graphs that are new, have lost half of their
// vectors, and have got them back.
func TestGraphRecall(t *testing.T) {
	skipIfShort(t)
	const n, dimensions = 3000, 24
	for _, mode := range modes {
		rng := rand.New(rand.NewPCG(7, 7))
		vectors := mixture(rng, n+50, dimensions, 60, 1)
		vectors, queries := vectors[:n], vectors[n:]
		x := built(vectors, mode.options, unmeasured)
		check := func(when string) {
			t.Helper()
			v := x.View()
			checkGraph(t, v, when)
			recall, scanned := recallAt10(v, queries, walkNarrowly)
			if recall < 0.97 || scanned > v.count/2+v.count-v.graph.count {
				t.Errorf("%s, %s: recall is %.3f for %d scanned of %d", mode.name, when, recall, scanned, v.count)
			}
		}
		check("new")
		for i := 0; i < n; i += 2 {
			x.Remove(uint64(i))
		}
		buildAll(x)
		if stats := x.Stats(); stats.Vectors != n/2 || stats.Dead != 0 || stats.Waiting > 100 {
			t.Errorf("%s: half of %d vectors: %+v", mode.name, n, stats)
		}
		check("half")
		for i := 0; i < n; i += 2 {
			x.Add(uint64(i), vectors[i])
		}
		check("given back, not built")
		buildAll(x)
		check("given back")
		for i := 0; i < n; i += 5 { // not enough for a compaction
			x.Remove(uint64(i))
		}
		check("with dead")
	}
}

// TestGraphMeasured has a graph find out that it is of use.
func TestGraphMeasured(t *testing.T) {
	skipIfShort(t)
	const n, dimensions = 8000, 16
	vectors := mixture(rand.New(rand.NewPCG(11, 11)), n+50, dimensions, 200, 1)
	v := built(vectors[:n], Options{}, 4000).View()
	if v.graph.width == 0 || v.graph.measured < n*3/4 {
		t.Fatalf("a graph of %d: width %d, measured at %d", v.graph.count, v.graph.width, v.graph.measured)
	}
	recall, scanned := recallAt10(v, vectors[n:], (*search).find)
	if recall < 0.97 || scanned > n/scanGain+n-v.graph.count {
		t.Errorf("recall is %.3f for %d scanned of %d", recall, scanned, n)
	}
}

// TestGraphOfNoUse gives a graph what it cannot search: it finds out by itself,
// grows no more, and searches stay exact.
func TestGraphOfNoUse(t *testing.T) {
	skipIfShort(t)
	const n, dimensions = 3000, 200
	vectors := randomVectors(rand.New(rand.NewPCG(8, 8)), n+20, dimensions)
	x := built(vectors[:n], Options{}, 1000)
	v := x.View()
	if v.graph.width != 0 || v.graph.measured != n {
		t.Fatalf("a graph of %d: width %d, measured at %d", v.graph.count, v.graph.width, v.graph.measured)
	}
	for i := n; i < 2*n; i++ {
		if i+1 < 2*n && x.NeedsBuild() {
			t.Fatalf("a graph of no use is to grow at %d", i)
		}
		x.Add(uint64(i), vectors[i-n])
	}
	if !x.NeedsBuild() {
		t.Fatal("a graph of no use gets no other chance at twice its size")
	}
	recall, scanned := recallAt10(v, vectors[n:], (*search).find)
	if recall != 1 || scanned != n {
		t.Errorf("recall is %.3f for %d scanned", recall, scanned)
	}
}

// TestTwins has many vectors be the same: those that are equally near come
// newest first, and the others are found as if the many were one.
func TestTwins(t *testing.T) {
	skipIfShort(t)
	const n, dimensions = 2400, 16
	rng := rand.New(rand.NewPCG(9, 9))
	vectors := mixture(rng, n, dimensions, 40, 1)
	common := vectors[0]
	for i := 0; i < n; i += 3 {
		vectors[i] = common
	}
	x := built(vectors, Options{}, unmeasured)
	check := func(want []uint64) {
		t.Helper()
		v := x.View()
		checkGraph(t, v, "twins")
		q := Query{Vector: common, Limit: 5}
		got := v.search(q, walkNarrowly)
		if !slices.Equal(ids(got.Hits), want) {
			t.Errorf("the walk answers %v, want %v", ids(got.Hits), want)
		}
		queries := [][]float32{vectors[1], vectors[2], vectors[n/2+1], vectors[n-1]}
		if recall, _ := recallAt10(v, queries, walkNarrowly); recall < 0.97 {
			t.Errorf("recall of the others is %.3f", recall)
		}
	}
	check([]uint64{2397, 2394, 2391, 2388, 2385})
	for i := range n { // the first and newest of the many go, and many others
		if i < n/4 || i >= n-100 {
			x.Remove(uint64(i))
		}
	}
	check([]uint64{2298, 2295, 2292, 2289, 2286})
	buildAll(x)
	if dead := x.Stats().Dead; dead > 0 {
		t.Fatalf("%d are dead", dead)
	}
	check([]uint64{2298, 2295, 2292, 2289, 2286})
}

// TestGraphFilter searches a graph for what a few, many and none accept.
func TestGraphFilter(t *testing.T) {
	skipIfShort(t)
	const n, dimensions = 3000, 24
	rng := rand.New(rand.NewPCG(10, 10))
	vectors := mixture(rng, n+30, dimensions, 60, 1)
	v := built(vectors[:n], Options{}, unmeasured).View()
	v.graph.width = searchWidth / 2 // as if it had been measured
	for _, c := range []struct {
		name    string
		accept  func(id uint64) bool
		atLeast float64
	}{
		{"half", func(id uint64) bool { return id%2 == 0 }, 0.97},
		{"one of 50", func(id uint64) bool { return id%50 == 0 }, 1},
		{"the first 400, alike or not", func(id uint64) bool { return id < 400 }, 0.97},
		{"eight", func(id uint64) bool { return id >= n/2 && id < n/2+8 }, 1},
		{"none", func(uint64) bool { return false }, 1},
	} {
		found, wanted := 0, 0
		for _, vector := range vectors[n:] {
			q := Query{Vector: vector, Limit: 10, Accept: c.accept}
			want := v.SearchExactly(q).Hits
			for _, h := range v.Search(q).Hits {
				if !c.accept(h.ID) {
					t.Fatalf("%s: %d is not accepted", c.name, h.ID)
				}
				if slices.Contains(want, h) {
					found++
				}
			}
			wanted += len(want)
		}
		if float64(found) < c.atLeast*float64(wanted) {
			t.Errorf("%s: %d of %d found", c.name, found, wanted)
		}
	}
}

// TestLevels holds the draw of levels to its odds.
func TestLevels(t *testing.T) {
	const n = 1 << 16
	var count [levelMax + 1]int
	for id := range uint64(n) {
		count[levelOf(id)]++
	}
	for level, want := range []int{n * 15 / 16, n * 15 / 256, n * 15 / 4096} {
		if got := count[level]; got < want*8/10 || got > want*12/10 {
			t.Errorf("%d of %d are drawn for level %d, want about %d", got, n, level, want)
		}
	}
}
