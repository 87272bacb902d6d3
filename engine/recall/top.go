// This file owns the heaps of a search. It must not know where scores come
// from.

package recall

import (
	"cmp"
	"slices"
)

// candidate is a document and its own score.
type candidate struct {
	score    float64
	position uint32
}

// candidateHeap gives candidates, the highest score first; equal scores come in
// any order.
type candidateHeap []candidate

func (h candidateHeap) init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

func (h *candidateHeap) pop() candidate {
	old := *h
	best := old[0]
	last := len(old) - 1
	old[0] = old[last]
	*h = old[:last]
	h.sink(0)
	return best
}

func (h candidateHeap) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].score > h[child].score {
			child++
		}
		if h[i].score >= h[child].score {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// bestScores keeps the best scores offered, up to a limit. It is a heap with the
// lowest first.
type bestScores struct {
	scores []float64
	limit  int
}

func (b *bestScores) reset(limit int) { b.scores, b.limit = b.scores[:0], limit }

// floor is the limit-th best score, 0 while there is room.
func (b *bestScores) floor() float64 {
	if len(b.scores) < b.limit {
		return 0
	}
	return b.scores[0]
}

// offer takes a score, which must be above floor.
func (b *bestScores) offer(score float64) {
	h := b.scores
	if len(h) < b.limit {
		h = append(h, score)
		b.scores = h
		for i := len(h) - 1; i > 0 && h[i] < h[(i-1)/2]; i = (i - 1) / 2 {
			h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		}
		return
	}
	h[0] = score
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if child >= len(h) || h[i] <= h[child] {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// topHits keeps the best hits offered, up to a limit. It is a heap with the
// worst hit first.
type topHits struct {
	hits  []Hit
	limit int
	least float64 // of a score
}

func (t *topHits) reset(limit int, least float64) { t.hits, t.limit, t.least = nil, limit, least }

// floor is the score below which an offer is refused.
func (t *topHits) floor() float64 {
	if len(t.hits) < t.limit {
		return t.least
	}
	return t.hits[0].Score
}

func (t *topHits) offer(hit Hit) {
	if hit.Score < t.least {
		return
	}
	if len(t.hits) < t.limit {
		t.hits = append(t.hits, hit)
		for i := len(t.hits) - 1; i > 0; {
			parent := (i - 1) / 2
			if compareHits(t.hits[i], t.hits[parent]) <= 0 {
				break
			}
			t.hits[i], t.hits[parent] = t.hits[parent], t.hits[i]
			i = parent
		}
		return
	}
	if compareHits(hit, t.hits[0]) >= 0 {
		return
	}
	t.hits[0] = hit
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(t.hits) {
			return
		}
		if child+1 < len(t.hits) && compareHits(t.hits[child+1], t.hits[child]) > 0 {
			child++
		}
		if compareHits(t.hits[i], t.hits[child]) >= 0 {
			return
		}
		t.hits[i], t.hits[child] = t.hits[child], t.hits[i]
		i = child
	}
}

// compareHits orders hits: the highest score first, then the highest ID.
func compareHits(a, b Hit) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return cmp.Compare(b.ID, a.ID)
}

// sorted answers the hits in order and hands them over.
func (t *topHits) sorted() []Hit {
	slices.SortFunc(t.hits, compareHits)
	return t.hits
}
