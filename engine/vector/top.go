// This file owns the heaps of a search. It must not know where scores come from.

package vector

// candidate is a vector and its rounded score.
type candidate struct {
	id       uint64
	score    float32
	position uint32
}

// before orders candidates: the highest score first, then the highest id.
func (c candidate) before(d candidate) bool {
	return c.score > d.score || c.score == d.score && c.id > d.id
}

// compareCandidates is the same order for sorting.
func compareCandidates(a, b candidate) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}

// bestCandidates keeps the best candidates offered, up to a limit of at least
// one. It is a heap with the worst first.
type bestCandidates struct {
	candidates []candidate
	limit      int
}

func (b *bestCandidates) reset(limit int) { b.candidates, b.limit = b.candidates[:0], limit }

func (b *bestCandidates) full() bool { return len(b.candidates) >= b.limit }

// refuses tells whether offering c would change nothing.
func (b *bestCandidates) refuses(c candidate) bool {
	return b.full() && b.candidates[0].before(c)
}

// offer takes a candidate that is not refused.
func (b *bestCandidates) offer(c candidate) {
	h := b.candidates
	if !b.full() {
		h = append(h, c)
		b.candidates = h
		for i := len(h) - 1; i > 0; {
			parent := (i - 1) / 2
			if !h[parent].before(h[i]) {
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
		if child+1 < len(h) && h[child].before(h[child+1]) {
			child++ // the worse of the two
		}
		if !h[i].before(h[child]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// openCandidates gives the candidates put in, the best first.
type openCandidates []candidate

func (o *openCandidates) push(c candidate) {
	h := append(*o, c)
	*o = h
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (o *openCandidates) pop() candidate {
	h := *o
	best := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	*o = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return best
		}
		if child+1 < last && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(h[i]) {
			return best
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
