// This file owns the decision whether a graph is of use, and how wide walks
// through it are: it is measured on the vectors themselves. It must not know how
// graphs are made.

package vector

// measure sets how wide walks through v's graph are, once it has caught up with
// v, and again when it is a good deal larger. v's own vectors are the queries:
// their neighbours are scanned for, then walked for in growing widths. A graph
// that finds too few, or only by comparing about as many vectors as a scan, is
// left alone: the scan is exact.
func (x *Index) measure(v *View) {
	g := v.graph
	isBehind := v.count-g.count >= x.graphStep
	if isBehind || g.count < x.measureMin || g.measured > 0 && g.count < g.measured+g.measured/measureShare {
		return
	}
	g.measured, g.width = g.count, 0
	queries, want := v.samples()
	if len(want) == 0 {
		return
	}
	for width := searchWidth; width <= searchWidthMax; width *= 2 {
		found, wanted, scanned := 0, 0, 0
		for i, q := range queries {
			got := v.search(q, func(s *search) { s.walk(width) })
			scanned += got.Scanned
			// The first is the query itself, and easily found.
			found += reaching(got.Hits, want[i]) - 1
			wanted += len(want[i]) - 1
		}
		if scanned*scanGain > len(queries)*g.count {
			return
		}
		if found*recallScale >= wanted*recallMin {
			g.width = width
			return
		}
	}
}

// samples answers queries and what an exact search in the graph's part of v
// finds for them.
func (v *View) samples() (queries []Query, want [][]Hit) {
	for i := range measureQueries {
		position := i * v.graph.count / measureQueries
		if v.dead.Has(position) {
			continue
		}
		q := Query{Vector: v.vector(position), Limit: measureLimit + 1}
		exact := v.search(q, func(s *search) { s.scan(0, v.graph.count) })
		if len(exact.Hits) > 1 {
			queries, want = append(queries, q), append(want, exact.Hits)
		}
	}
	return queries, want
}

// reaching counts the hits that are as good as those wanted: of vectors equally
// near, any will do.
func reaching(hits, want []Hit) int {
	n := 0
	for _, h := range hits {
		if h.Score >= want[len(want)-1].Score {
			n++
		}
	}
	return max(n, 1)
}
