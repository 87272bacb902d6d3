// This file owns an owner's vectors: which of them live, and what the next view
// sees. It must not know how they are searched.

package vector

import (
	"fmt"
	"slices"
	"sync"
)

// Options are fixed for an index's life.
type Options struct {
	// Int8 keeps a byte per dimension instead of four. Candidates are then
	// chosen by the bytes, and scored exactly if the query can fetch their
	// vectors.
	Int8 bool
}

// Index holds the vectors of one owner. All methods may be called from any
// goroutine.
type Index struct {
	dimensions int
	options    Options
	graphMin   int // these are for tests to lower; see limits.go
	graphStep  int
	measureMin int

	mu     sync.Mutex        // held briefly, never while vectors are compared
	now    View              // what lives; its dead change only while not shared
	places map[uint64]uint32 // id -> position of the live vector
	shared bool              // a snapshot holds now.dead: copy before changing it
	view   *View             // the current snapshot, nil after a change

	building sync.Mutex // held by Build; taken before mu
}

// NewIndex answers an empty index for vectors of so many dimensions.
func NewIndex(dimensions int, options Options) *Index {
	x := &Index{dimensions: dimensions, options: options}
	x.graphMin, x.graphStep, x.measureMin = graphMin, graphStep, measureMin
	x.reset()
	return x
}

// reset forgets all vectors. Snapshots keep theirs.
func (x *Index) reset() {
	x.now = View{
		space:      space{dimensions: x.dimensions, coded: x.options.Int8},
		generation: x.now.generation + 1,
	}
	x.places = map[uint64]uint32{}
	x.shared = false
}

// Dimensions is how many numbers each vector has.
func (x *Index) Dimensions() int { return x.dimensions }

// Add makes a copy of v findable by id, in place of what that id had. All of v
// must be finite. It takes constant time.
func (x *Index) Add(id uint64, v []float32) {
	if len(v) != x.dimensions {
		panic(fmt.Sprintf("vector: %d dimensions in an index of %d", len(v), x.dimensions))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if position, ok := x.places[id]; ok {
		x.kill(int(position))
	}
	x.places[id] = uint32(x.now.add(id, v))
	x.now.live++
	x.view = nil
}

// Remove takes the vector of that id out and answers whether there was one.
func (x *Index) Remove(id uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	position, ok := x.places[id]
	if !ok {
		return false
	}
	x.kill(int(position))
	delete(x.places, id)
	if x.now.live == 0 {
		x.reset()
	}
	x.view = nil
	return true
}

func (x *Index) kill(position int) {
	if x.shared {
		x.now.dead, x.shared = slices.Clone(x.now.dead), false
	}
	x.now.dead = x.now.dead.With(position)
	x.now.live--
}

// View answers a snapshot of what lives now, in constant time.
func (x *Index) View() *View {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.view == nil {
		view := x.now
		x.view, x.shared = &view, true
	}
	return x.view
}

// NeedsBuild tells whether Build would find work.
func (x *Index) NeedsBuild() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.now.sparse() || x.lags(&x.now)
}

// Build does one step of what makes searches faster and memory less, of a second
// or so: it is for a background goroutine, as long as NeedsBuild says so.
// Searches are right without it. Writers and searches go on meanwhile.
func (x *Index) Build() {
	x.building.Lock()
	defer x.building.Unlock()
	switch v := x.View(); {
	case v.sparse():
		x.compact(v)
	case x.lags(v):
		x.extend(v)
	}
}

// lags tells whether so many vectors wait for a graph that they should be in it.
// One that was of no use is given another chance at twice its size.
func (x *Index) lags(v *View) bool {
	g := v.graph
	if g == nil {
		return v.live >= x.graphMin
	}
	useless := g.measured > 0 && g.width == 0
	return v.count-g.count >= x.graphStep && !(useless && v.count < 2*g.measured)
}

// extend puts the vectors that wait longest into the graph. building is held.
func (x *Index) extend(v *View) {
	next := *v
	next.graph = v.graph.grown(&v.space, v.dead, min(v.count, v.graphed()+x.graphStep))
	x.measure(&next)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.now.generation == v.generation {
		x.now.graph, x.view = next.graph, nil
	}
}

// Stats says what an index holds.
type Stats struct {
	Vectors   int // that live
	Dead      int // that compaction will drop
	Waiting   int // that are scanned because no graph has them, dead or not
	SizeBytes int
}

// Stats answers what the index holds now.
func (x *Index) Stats() Stats {
	const placeBytes = 24 // of a map with a quarter of its room free
	x.mu.Lock()
	defer x.mu.Unlock()
	return Stats{
		Vectors:   x.now.live,
		Dead:      x.now.count - x.now.live,
		Waiting:   x.now.count - x.now.graphed(),
		SizeBytes: x.now.sizeBytes() + x.now.graph.sizeBytes() + len(x.now.dead)*8 + len(x.places)*placeBytes,
	}
}
