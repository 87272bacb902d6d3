// This file owns the graph of a large view and the walk through it (HNSW, Malkov
// and Yashunin, 2016). It must not know which vectors live, nor how the graph
// came to be.

package vector

import (
	"math/bits"

	"reminis/engine/bitset"
)

// graph links vectors to others like them, by position, on levels: all nodes are
// on level 0, one of 16 on level 1, and so on. It never changes once a view has
// it. A vector that is the same as a node's is no node but its twin: identical
// vectors would link to each other only, and to nothing else.
type graph struct {
	count int      // positions before it are in the graph, or were dead
	entry uint32   // a node of the top level
	top   int      // -1 while there is no node
	base  []uint32 // per position, the list of level 0: its length, then links
	twins []uint32 // per position, the next of the same vector, plus one
	above []uint32 // per position, where in upper its lists begin, plus one
	upper []uint32 // per node above level 0: its level, then a list per level

	width    int // of walks that find enough; 0: a scan is better, or not measured
	measured int // count when width was determined, 0: never
}

const (
	baseList  = 1 + baseLinks
	upperList = 1 + upperLinks

	noLevel = -1
)

// list is the links of a node on a level.
func (g *graph) list(position uint32, level int) []uint32 {
	room := g.room(position, level)
	return room[1 : 1+room[0]]
}

// room is where the list of a node on a level is kept: its length, then links.
func (g *graph) room(position uint32, level int) []uint32 {
	if level == 0 {
		first := int(position) * baseList
		return g.base[first : first+baseList]
	}
	first := int(g.above[position]) + (level-1)*upperList
	return g.upper[first : first+upperList]
}

// level is the highest level of a node.
func (g *graph) level(position uint32) int {
	if at := g.above[position]; at > 0 {
		return int(g.upper[at-1])
	}
	return 0
}

// levelOf draws the level of a vector: the same whenever it is drawn.
func levelOf(id uint64) int {
	// The finalizer of SplitMix64, so that numbers in a row have nothing in common.
	id += 0x9e3779b97f4a7c15
	id = (id ^ id>>30) * 0xbf58476d1ce4e5b9
	id = (id ^ id>>27) * 0x94d049bb133111eb
	return min(bits.TrailingZeros64(id^id>>31)/upperBits, levelMax)
}

func (g *graph) sizeBytes() int {
	if g == nil {
		return 0
	}
	return 4 * (cap(g.base) + cap(g.twins) + cap(g.above) + cap(g.upper))
}

// walker walks through a graph, many times with the same memory.
type walker struct {
	space   *space
	graph   *graph
	seen    bitset.Set
	open    openCandidates
	best    bestCandidates // what the last walk found
	scanned int            // vectors compared, all walks together
}

func newWalker(s *space, g *graph) *walker {
	return &walker{space: s, graph: g, seen: make(bitset.Set, len(g.twins)/64+1)}
}

func (w *walker) candidate(t *target, position uint32) candidate {
	w.scanned++
	return candidate{id: w.space.id(int(position)), score: w.space.score(t, int(position)), position: position}
}

// descend goes from the entry to a node of the level that is near t: on each
// level above, from node to nearer node while there is one.
func (w *walker) descend(t *target, level int) candidate {
	near := w.candidate(t, w.graph.entry)
	for above := w.graph.top; above > level; above-- {
		for moved := true; moved; {
			moved = false
			for _, link := range w.graph.list(near.position, above) {
				if c := w.candidate(t, link); c.score > near.score {
					near, moved = c, true
				}
			}
		}
	}
	return near
}

// walk puts into w.best the wanted vectors on a level that are nearest to t, of
// those that keep (nil: all), as far as a search by nearness from start finds
// them: it ends when what it could go on from is less near than all of them.
func (w *walker) walk(t *target, level, wanted int, start []candidate, keep func(candidate) bool) {
	clear(w.seen)
	w.open = w.open[:0]
	w.best.reset(wanted)
	for _, c := range start {
		w.meet(c, keep)
	}
	for len(w.open) > 0 {
		from := w.open.pop()
		if w.best.refuses(from) {
			return
		}
		for _, link := range w.graph.list(from.position, level) {
			if w.seen.Has(int(link)) {
				continue
			}
			w.meet(w.candidate(t, link), keep)
		}
	}
}

// meet notes a node to go on from, and offers it and its twins.
func (w *walker) meet(c candidate, keep func(candidate) bool) {
	w.seen[c.position>>6] |= 1 << (c.position & 63)
	if w.best.refuses(c) {
		return
	}
	w.open.push(c)
	if keep == nil {
		w.best.offer(c)
		return
	}
	for {
		if !w.best.refuses(c) && keep(c) {
			w.best.offer(c)
		}
		next := w.graph.twins[c.position]
		if next == 0 {
			return
		}
		c.position = next - 1
		c.id = w.space.id(int(c.position))
	}
}
