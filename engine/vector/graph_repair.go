// This file owns how the dead leave a graph. It must not know of views or locks.

package vector

import (
	"slices"

	"reminis/engine/bitset"
)

// repair is a graph on its way to new positions.
type repair struct {
	*grower
	from *graph
	// renamed is the new position per old node: its own, or that of a twin if
	// only that lives, or nowhere.
	renamed []uint32
	near    []uint32 // new positions that a node may link to, after its own
}

// repaired answers g without the dead: moved has the new position, or nowhere,
// per old one, in order, and s the vectors at the new ones. A node that linked to
// a dead one links to the best of what it and the dead one linked to.
func (g *graph) repaired(s *space, moved []uint32) *graph {
	var none *graph
	living := 0
	for _, position := range moved[:g.count] {
		if position != nowhere {
			living++
		}
	}
	r := &repair{from: g, grower: &grower{walker: newWalker(s, none.copyFor(living))}}
	r.rename(moved)
	var lost []uint32
	for old, position := range r.renamed {
		if position == nowhere {
			continue
		}
		level := g.level(uint32(old))
		r.graph.reserve(position, level)
		for at := range level + 1 {
			r.relink(uint32(old), at)
		}
		switch {
		case len(r.graph.list(position, 0)) == 0:
			lost = append(lost, position)
		case level > r.graph.top:
			r.graph.entry, r.graph.top = position, level
		}
	}
	r.graph.count = living
	if r.graph.top == noLevel {
		return none.grown(s, nil, living)
	}
	for _, position := range lost {
		r.reconnect(position)
	}
	return r.graph
}

// rename finds who lives of each node and its twins: the first is the node.
func (r *repair) rename(moved []uint32) {
	isTwin := make(bitset.Set, r.from.count/64+1)
	for _, next := range r.from.twins[:r.from.count] {
		if next > 0 {
			isTwin = isTwin.With(int(next - 1))
		}
	}
	r.renamed = make([]uint32, r.from.count)
	for old := range r.renamed {
		r.renamed[old] = nowhere
		if isTwin.Has(old) {
			continue
		}
		last := uint32(nowhere)
		for next := uint32(old) + 1; next > 0; next = r.from.twins[next-1] {
			position := moved[next-1]
			switch {
			case position == nowhere:
				continue
			case last == nowhere:
				r.renamed[old] = position
			default:
				r.graph.twins[last] = position + 1
			}
			last = position
		}
	}
}

// relink writes the list of an old node on a level.
func (r *repair) relink(old uint32, level int) {
	position := r.renamed[old]
	r.near = r.near[:0]
	r.meet(position)
	whole := true
	for _, link := range r.from.list(old, level) {
		if r.renamed[link] != nowhere {
			r.meet(r.renamed[link])
			continue
		}
		whole = false
		for _, beyond := range r.from.list(link, level) {
			r.meet(r.renamed[beyond])
		}
	}
	for _, met := range r.near {
		r.seen[met>>6] = 0
	}
	links := r.near[1:]
	if whole {
		room := r.graph.room(position, level)
		room[0] = uint32(copy(room[1:], links))
		return
	}
	t := r.space.targetAt(int(position))
	r.rivals = r.rivals[:0]
	for _, link := range links {
		r.rivals = append(r.rivals, r.candidate(&t, link))
	}
	slices.SortFunc(r.rivals, compareCandidates)
	r.write(position, level, r.choose(r.rivals, len(r.graph.room(position, level))-1))
}

// meet notes a new position once.
func (r *repair) meet(position uint32) {
	if position != nowhere && !r.seen.Has(int(position)) {
		r.seen = r.seen.With(int(position))
		r.near = append(r.near, position)
	}
}

// reconnect links a node that has no link left.
func (r *repair) reconnect(position uint32) {
	t := r.space.targetAt(int(position))
	r.search(&t, 0)
	found := slices.DeleteFunc(r.found[0], func(c candidate) bool { return c.position == position })
	r.link(position, 0, r.choose(found, upperLinks))
}
