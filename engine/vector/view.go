// This file owns what is asked of a view, the scan that answers it exactly, and
// when a walk through the graph does instead. It must not know of locks, keys or
// rights.

package vector

import (
	"cmp"
	"fmt"
	"slices"

	"reminis/engine/bitset"
)

// View is the index at one moment. It never changes and needs no lock.
type View struct {
	space
	dead       bitset.Set // positions
	live       int
	graph      *graph // of the first positions, nil while there is none
	generation uint64 // changes when positions change their meaning
}

// Query says what to look for.
type Query struct {
	// Vector has the index's dimensions and is finite; its length is of no
	// account.
	Vector []float32
	// Limit is how many hits are wanted; none come without it.
	Limit int
	// Accept says which vectors the asker may and wants to see, nil: all. It may
	// be asked about an id more than once and must not change its mind.
	Accept func(id uint64) bool
	// Fetch answers the vector that was added with an id, nil if it cannot. With
	// it, an Int8 index answers the scores that a full one would. It is asked
	// about a few times as many vectors as are wanted.
	Fetch func(id uint64) []float32
}

// Hit is a vector found.
type Hit struct {
	ID    uint64
	Score float64 // the cosine, -1 to 1; 0 if either vector is zero
}

// Result is what a search found.
type Result struct {
	Hits    []Hit // highest score first, then highest ID
	Scanned int   // vectors that the query was compared with
}

// Len is the number of vectors in the view.
func (v *View) Len() int { return v.live }

// Dimensions is how many numbers each vector has.
func (v *View) Dimensions() int { return v.dimensions }

// Search answers the vectors most like the query's. A large view is searched by
// its graph, and may miss some.
func (v *View) Search(q Query) Result { return v.search(q, (*search).find) }

// SearchExactly answers the vectors most like the query's, whatever it takes.
func (v *View) SearchExactly(q Query) Result { return v.search(q, (*search).scanAll) }

// graphed is how many positions the graph has.
func (v *View) graphed() int {
	if v.graph == nil {
		return 0
	}
	return v.graph.count
}

// sparse tells whether so many vectors are dead that the others should move
// together.
func (v *View) sparse() bool {
	return v.count >= compactMin && (v.count-v.live)*compactShare > v.count
}

// search is one search in progress.
type search struct {
	view      *View
	accept    func(id uint64) bool // nil: all
	selective bool                 // accept refuses most
	target    target
	best      bestCandidates
	scanned   int
}

// search has collect offer candidates, and answers those that are best by their
// exact scores.
func (v *View) search(q Query, collect func(*search)) Result {
	if len(q.Vector) != v.dimensions {
		panic(fmt.Sprintf("vector: a query of %d dimensions in an index of %d", len(q.Vector), v.dimensions))
	}
	if q.Limit <= 0 || v.live == 0 {
		return Result{}
	}
	s := search{view: v, accept: q.Accept, target: v.newTarget(q.Vector)}
	s.selective = s.isSelective()
	wanted := min(q.Limit, v.live)
	if v.coded {
		wanted *= coarseFactor
	}
	s.best.limit = min(wanted+rescoreSlack, v.live)
	collect(&s)

	hits := make([]Hit, len(s.best.candidates))
	for i, c := range s.best.candidates {
		hits[i] = Hit{ID: c.id, Score: s.exactScore(c, q.Fetch)}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.ID, a.ID))
	})
	return Result{Hits: hits[:min(len(hits), q.Limit)], Scanned: s.scanned}
}

// exactScore scores a candidate as a full index does, if its vector can be had.
func (s *search) exactScore(c candidate, fetch func(id uint64) []float32) float64 {
	if !s.view.coded || fetch == nil {
		return s.view.exactScore(&s.target, int(c.position))
	}
	original := fetch(c.id)
	if len(original) != s.view.dimensions {
		return s.view.exactScore(&s.target, int(c.position))
	}
	return unit(dotExact(s.target.numbers, normalised(original)))
}

// isSelective asks accept about vectors all over the view.
func (s *search) isSelective() bool {
	if s.accept == nil || s.view.count < 4*sampleVectors {
		return false
	}
	accepted := 0
	for i := range sampleVectors {
		position := i * s.view.count / sampleVectors
		if !s.view.dead.Has(position) && s.accept(s.view.id(position)) {
			accepted++
		}
	}
	return accepted < sampleVectors/selectiveShare
}

// find walks where that pays, and scans what the graph does not have, or all if
// it did not find enough.
func (s *search) find() {
	g := s.view.graph
	if g == nil || g.width == 0 || s.selective {
		s.scanAll()
		return
	}
	width := max(g.width, widthFactor*s.best.limit)
	if width > max(g.width, g.count/walkShare) {
		s.scanAll()
		return
	}
	s.walk(width)
	s.scan(g.count, s.view.count)
	if !s.best.full() {
		s.best.reset(s.best.limit)
		s.scanAll()
	}
}

// walk offers what the graph has near the target.
func (s *search) walk(width int) {
	v := s.view
	if v.graph.top == noLevel {
		return
	}
	w := newWalker(&v.space, v.graph)
	start := []candidate{w.descend(&s.target, 0)}
	w.walk(&s.target, 0, width, start, func(c candidate) bool {
		return !v.dead.Has(int(c.position)) && (s.accept == nil || s.accept(c.id))
	})
	s.scanned += w.scanned
	for _, c := range w.best.candidates {
		if !s.best.refuses(c) {
			s.best.offer(c)
		}
	}
}

func (s *search) scanAll() { s.scan(0, s.view.count) }

// scan offers every vector from first to before limit.
func (s *search) scan(first, limit int) {
	v := s.view
	for first < limit {
		c, begin := v.at(first)
		end := min(begin+limit-first, len(c.ids))
		for i := begin; i < end; i++ {
			position := first + i - begin
			if v.dead.Has(position) || s.selective && !s.accept(c.ids[i]) {
				continue
			}
			s.scanned++
			found := candidate{score: v.scoreIn(&s.target, c, i), id: c.ids[i], position: uint32(position)}
			if s.best.refuses(found) || !s.selective && s.accept != nil && !s.accept(found.id) {
				continue
			}
			s.best.offer(found)
		}
		first += end - begin
	}
}
