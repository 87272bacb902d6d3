// This file owns the moving of the live vectors together, while writers and
// searches go on. It must not know how vectors are searched.

package vector

import "math"

// nowhere is the new position of a vector that is dropped.
const nowhere = math.MaxUint32

// move is the live vectors of a view on their way to new positions.
type move struct {
	to     View
	places map[uint64]uint32
	moved  []uint32 // old position -> new position, or nowhere
}

// compact replaces the index's vectors by copies of those that live. building is
// held. Nothing happens if the index was emptied meanwhile.
func (x *Index) compact(start *View) {
	m := move{
		to:     View{space: space{dimensions: start.dimensions, coded: start.coded}},
		places: make(map[uint64]uint32, start.live),
	}
	m.copy(start)
	if start.graph != nil && start.live >= x.graphMin/2 {
		m.to.graph = start.graph.repaired(&m.to.space, m.moved)
		x.measure(&m.to)
	}
	for v := x.View(); v.count-len(m.moved) > catchUpMax; v = x.View() {
		if v.generation != start.generation {
			return
		}
		m.copy(v)
	}

	x.mu.Lock()
	defer x.mu.Unlock()
	if x.now.generation != start.generation {
		return
	}
	m.copy(&x.now)
	x.now.dead.Added(start.dead, m.kill)
	m.to.generation = start.generation + 1
	x.now, x.places, x.shared, x.view = m.to, m.places, false, nil
}

// copy copies the live vectors of v from where the last copy ended.
func (m *move) copy(v *View) {
	for old := len(m.moved); old < v.count; old++ {
		if v.dead.Has(old) {
			m.moved = append(m.moved, nowhere)
			continue
		}
		position := uint32(m.to.addFrom(&v.space, old))
		m.to.live++
		m.moved = append(m.moved, position)
		m.places[v.id(old)] = position
	}
}

// kill does what happened to the vector at an old position after it was copied.
func (m *move) kill(old int) {
	position := m.moved[old]
	if position == nowhere {
		return
	}
	m.to.dead = m.to.dead.With(int(position))
	m.to.live--
	if id := m.to.id(int(position)); m.places[id] == position {
		delete(m.places, id)
	}
}
