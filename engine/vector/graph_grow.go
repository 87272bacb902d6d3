// This file owns how vectors get into a graph. It must not know of views or
// locks.

package vector

import (
	"slices"

	"reminis/engine/bitset"
)

// grower inserts vectors into a graph that is its own.
type grower struct {
	*walker
	found    [levelMax + 1][]candidate // per level, near what is inserted
	selected []candidate
	rivals   []candidate
}

// grown answers a copy of g (nil: of none) that has the vectors of s up to before
// limit, but for the dead. s must have them all.
func (g *graph) grown(s *space, dead bitset.Set, limit int) *graph {
	larger := g.copyFor(limit)
	w := &grower{walker: newWalker(s, larger)}
	for position := larger.count; position < limit; position++ {
		if !dead.Has(position) {
			w.insert(uint32(position))
		}
	}
	larger.count = limit
	return larger
}

// copyFor answers a copy with room for so many positions.
func (g *graph) copyFor(limit int) *graph {
	larger := &graph{
		top:   noLevel,
		base:  make([]uint32, limit*baseList),
		twins: make([]uint32, limit),
		above: make([]uint32, limit),
	}
	if g != nil {
		larger.count, larger.entry, larger.top = g.count, g.entry, g.top
		larger.width, larger.measured = g.width, g.measured
		copy(larger.base, g.base)
		copy(larger.twins, g.twins)
		copy(larger.above, g.above)
		larger.upper = slices.Clone(g.upper)
	}
	return larger
}

// reserve makes room for a node's lists above level 0.
func (g *graph) reserve(position uint32, level int) {
	if level == 0 {
		return
	}
	g.upper = append(g.upper, uint32(level))
	g.above[position] = uint32(len(g.upper))
	g.upper = append(g.upper, make([]uint32, level*upperList)...)
}

// insert makes the vector at a position a node, or the twin of one.
func (w *grower) insert(position uint32) {
	g := w.graph
	level := levelOf(w.space.id(int(position)))
	if g.top == noLevel {
		g.reserve(position, level)
		g.entry, g.top = position, level
		return
	}
	t := w.space.targetAt(int(position))
	w.search(&t, min(level, g.top))
	if twin, ok := w.twin(&t); ok {
		g.twins[position] = g.twins[twin]
		g.twins[twin] = position + 1
		return
	}
	g.reserve(position, level)
	for at := min(level, g.top); at >= 0; at-- {
		w.link(position, at, w.choose(w.found[at], upperLinks))
	}
	if level > g.top {
		g.entry, g.top = position, level
	}
}

// search fills found for the levels from level to 0.
func (w *grower) search(t *target, level int) {
	start := append(w.rivals[:0], w.descend(t, level))
	for at := level; at >= 0; at-- {
		w.walk(t, at, insertWidth, start, nil)
		w.found[at] = append(w.found[at][:0], w.best.candidates...)
		slices.SortFunc(w.found[at], compareCandidates)
		start = w.found[at]
	}
}

// twin answers a node that has the vector t.
func (w *grower) twin(t *target) (uint32, bool) {
	const look = 4 // scores of others may round to the same
	for _, c := range w.found[0][:min(look, len(w.found[0]))] {
		if w.space.same(t, int(c.position)) {
			return c.position, true
		}
	}
	return 0, false
}

// choose answers which of the candidates, the nearest first, a node links to: one
// that is nearer to a chosen one than to the node is reached through that one,
// and the link is kept for another direction.
func (w *grower) choose(candidates []candidate, limit int) []candidate {
	w.selected = w.selected[:0]
next:
	for _, c := range candidates {
		if len(w.selected) == limit {
			break
		}
		t := w.space.targetAt(int(c.position))
		for _, s := range w.selected {
			if w.space.score(&t, int(s.position)) > c.score {
				continue next
			}
		}
		w.selected = append(w.selected, c)
	}
	return w.selected
}

// link links a node on a level to those selected, and them to it.
func (w *grower) link(position uint32, level int, selected []candidate) {
	w.write(position, level, selected)
	for _, to := range w.graph.list(position, level) {
		room := w.graph.room(to, level)
		n := room[0]
		if slices.Contains(room[1:1+n], position) {
			continue
		}
		if int(n) < len(room)-1 {
			room[1+n] = position
			room[0]++
			continue
		}
		w.rivals = w.rivals[:0]
		t := w.space.targetAt(int(to))
		w.rivals = append(w.rivals, w.candidate(&t, position))
		for _, link := range room[1:] {
			w.rivals = append(w.rivals, w.candidate(&t, link))
		}
		slices.SortFunc(w.rivals, compareCandidates)
		w.write(to, level, w.choose(w.rivals, len(room)-1))
	}
}

// write sets the list of a node on a level.
func (w *grower) write(position uint32, level int, links []candidate) {
	room := w.graph.room(position, level)
	room[0] = uint32(len(links))
	for i, c := range links {
		room[1+i] = c.position
	}
}
