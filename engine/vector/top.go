// This file owns the choice of the best candidates. It must not know where
// scores come from.

package vector

import "cmp"

// candidate is a vector and its rounded score.
type candidate struct {
	id       uint64
	score    float32
	position uint32
}

// compareCandidates orders candidates: the highest score first, then the highest
// id.
func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id))
}

// bestCandidates keeps the best candidates offered, up to a limit of at least
// one. It is a heap with the worst first.
type bestCandidates struct {
	candidates []candidate
	limit      int
}

func (b *bestCandidates) full() bool { return len(b.candidates) >= b.limit }

// refuses tells whether offering c would change nothing.
func (b *bestCandidates) refuses(c candidate) bool {
	if !b.full() {
		return false
	}
	worst := &b.candidates[0]
	return c.score < worst.score || c.score == worst.score && c.id < worst.id
}

// offer takes a candidate that is not refused.
func (b *bestCandidates) offer(c candidate) {
	h := b.candidates
	if !b.full() {
		h = append(h, c)
		b.candidates = h
		for i := len(h) - 1; i > 0; {
			parent := (i - 1) / 2
			if compareCandidates(h[i], h[parent]) <= 0 {
				break
			}
			h[i], h[parent] = h[parent], h[i]
			i = parent
		}
		return
	}
	h[0] = c
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && compareCandidates(h[child+1], h[child]) > 0 {
			child++
		}
		if compareCandidates(h[i], h[child]) >= 0 {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
