// This file owns an owner's index: what is live, what was indexed so far, and
// when segments are merged. It must not know how documents are scored.

package recall

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"reminis/engine/bitset"
)

// Doc is a document to be found: one record, one turn of a conversation.
type Doc struct {
	// ID is the caller's number. No two live documents have the same, and
	// documents of equal score are answered newest (highest) ID first.
	ID uint64
	// Text is what it is found by. The index keeps it until it is indexed.
	Text string
	// Group says which conversation it is a turn of, 0: of none.
	Group uint64
	// Order is its place or time in its group; equal orders go by ID.
	Order int64
	// Class is what Query.Classes knows it by, at most ClassMax.
	Class uint8
}

// Index holds the documents of one owner. The zero value is an empty index.
// All methods may be called from any goroutine.
type Index struct {
	mu    sync.Mutex // held briefly, never while text is analysed or segments merged
	parts []part     // what is indexed
	raw   rawDocs    // what is not yet
	live  int        // documents
	view  *View      // the current snapshot, nil after a change

	merging sync.Mutex // held by who merges; taken before mu
}

// part is a segment, and which of its documents are gone.
type part struct {
	source
	lengths int64 // of the live documents, summed
	shared  bool  // a snapshot holds dead: copy before changing it
}

// rawDocs are documents in the order of their arrival.
type rawDocs struct {
	docs       []Doc
	dead       bitset.Set
	live       int
	textBytes  int    // of all docs, dead ones too
	generation uint64 // changes when places in docs change their meaning
	unsorted   bool   // IDs do not ascend
	shared     bool   // a snapshot holds docs and dead
}

// NewIndex answers an empty index.
func NewIndex() *Index { return &Index{} }

// Add makes doc findable. It takes constant time: the text is analysed by the
// next search, or by Build.
func (x *Index) Add(doc Doc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	raw := &x.raw
	if n := len(raw.docs); n > 0 && raw.docs[n-1].ID >= doc.ID {
		raw.unsorted = true
	}
	raw.docs = append(raw.docs, doc)
	raw.live++
	raw.textBytes += len(doc.Text)
	x.live++
	x.view = nil
}

// Remove takes the document with that ID out and answers whether there was one.
func (x *Index) Remove(id uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.raw.remove(id) && !x.removeIndexed(id) {
		return false
	}
	x.live--
	x.view = nil
	return true
}

func (x *Index) removeIndexed(id uint64) bool {
	for i := range x.parts {
		p := &x.parts[i]
		first, limit := p.segment.find(id)
		for ordinal := first; ordinal < limit; ordinal++ {
			if p.dead.Has(ordinal) {
				continue
			}
			p.remove(ordinal)
			if p.live == 0 {
				x.parts = slices.Delete(x.parts, i, i+1)
			}
			return true
		}
	}
	return false
}

func (p *part) remove(ordinal int) {
	if p.shared {
		p.dead, p.shared = slices.Clone(p.dead), false
	}
	p.dead = p.dead.With(ordinal)
	p.live--
	p.lengths -= int64(lengthOf(p.segment.norms[ordinal]))
}

func newPart(s *segment) part {
	p := part{source: source{segment: s, live: len(s.docs)}}
	for _, norm := range s.norms {
		p.lengths += int64(lengthOf(norm))
	}
	return p
}

// remove takes the document out and drops the dead when they are the majority.
func (r *rawDocs) remove(id uint64) bool {
	if r.unsorted {
		r.rewrite()
	}
	i, _ := slices.BinarySearchFunc(r.docs, id, func(doc Doc, id uint64) int { return cmp.Compare(doc.ID, id) })
	for ; i < len(r.docs) && r.docs[i].ID == id; i++ {
		if r.dead.Has(i) {
			continue
		}
		if r.shared {
			r.dead, r.shared = slices.Clone(r.dead), false
		}
		r.dead = r.dead.With(i)
		r.live--
		if len(r.docs) > 64 && r.live < len(r.docs)/2 {
			r.rewrite()
		}
		return true
	}
	return false
}

// rewrite keeps the live documents only, by ID, in slices that no snapshot has.
func (r *rawDocs) rewrite() {
	r.set(sortedLive(r.docs, r.dead))
}

func (r *rawDocs) set(docs []Doc) {
	*r = rawDocs{docs: docs, live: len(docs), generation: r.generation + 1}
	for i := range docs {
		r.textBytes += len(docs[i].Text)
	}
}

func sortedLive(docs []Doc, dead bitset.Set) []Doc {
	live := make([]Doc, 0, len(docs))
	for i := range docs {
		if !dead.Has(i) {
			live = append(live, docs[i])
		}
	}
	slices.SortStableFunc(live, func(a, b Doc) int { return cmp.Compare(a.ID, b.ID) })
	return live
}

// View is the index at one moment. It never changes and needs no lock.
type View struct {
	index      *Index
	parts      []part
	raw        []Doc
	rawDead    bitset.Set
	generation uint64
	live       int

	scan    sync.Once
	scanned []part // what raw holds; written once, by the first search
}

// View answers a snapshot of what is live now, in time proportional to the
// number of segments. Documents not yet indexed are analysed by the view's
// first search, which leaves the result to the index.
func (x *Index) View() *View {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.view != nil {
		return x.view
	}
	for i := range x.parts {
		x.parts[i].shared = true
	}
	x.raw.shared = true
	x.view = &View{
		index:      x,
		parts:      slices.Clone(x.parts),
		raw:        x.raw.docs,
		rawDead:    x.raw.dead,
		generation: x.raw.generation,
		live:       x.live,
	}
	return x.view
}

// Len is the number of documents in the view.
func (v *View) Len() int { return v.live }

// all answers the view's parts, indexing first what was not. The index adopts
// the result if the same documents are still waiting.
func (v *View) all() []part {
	if len(v.raw) == 0 {
		return v.parts
	}
	v.scan.Do(func() {
		for _, s := range buildSegments(sortedLive(v.raw, v.rawDead)) {
			v.scanned = append(v.scanned, newPart(s))
		}
		v.scanned = append(slices.Clip(v.parts), v.scanned...)
		v.index.adopt(v, v.scanned[len(v.parts):])
		v.index.tidy()
	})
	return v.scanned
}

// adopt replaces the raw documents that v saw by the parts made of them.
func (x *Index) adopt(v *View, parts []part) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.raw.generation != v.generation {
		return // another view's parts came first
	}
	var gone []uint64
	x.raw.dead.Added(v.rawDead, func(i int) {
		if i < len(v.raw) {
			gone = append(gone, v.raw[i].ID)
		}
	})
	var rest []Doc
	for i, doc := range x.raw.docs[len(v.raw):] {
		if !x.raw.dead.Has(len(v.raw) + i) {
			rest = append(rest, doc)
		}
	}
	unsorted := x.raw.unsorted && len(rest) > 0
	x.raw.set(rest)
	x.raw.unsorted = unsorted
	x.install(parts, gone)
}

// install adds parts, less what went while they were made. mu is held.
func (x *Index) install(parts []part, gone []uint64) {
	for _, p := range parts {
		p.shared = true // the maker's view holds it
		for _, id := range gone {
			first, limit := p.segment.find(id)
			for ordinal := first; ordinal < limit; ordinal++ {
				if !p.dead.Has(ordinal) {
					p.remove(ordinal)
					break
				}
			}
		}
		if p.live > 0 {
			x.parts = append(x.parts, p)
		}
	}
	x.view = nil
}

// Build indexes what was added before the call and merges segments until they
// are few. It is for a background goroutine: searches are exact without it,
// but slower. Writers and searches go on meanwhile.
func (x *Index) Build() {
	x.View().all()
	x.merging.Lock()
	defer x.merging.Unlock()
	for x.mergeOnce(segmentDocsMax) {
	}
}

// NeedsBuild tells whether Build would find work.
func (x *Index) NeedsBuild() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.raw.docs) > 0 || len(x.planMerge(segmentDocsMax)) > 0
}

// Waiting is how many documents the next search has to index, and their text.
func (x *Index) Waiting() (docs, textBytes int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.raw.docs), x.raw.textBytes
}

// tidy does the small merges that keep single writes from piling up.
func (x *Index) tidy() {
	if !x.merging.TryLock() {
		return
	}
	defer x.merging.Unlock()
	for x.mergeOnce(searchMergeMax) {
	}
}

// mergeOnce merges one set of at most docsMax documents and tells whether there
// was one. merging is held.
func (x *Index) mergeOnce(docsMax int) bool {
	x.mu.Lock()
	plan := x.planMerge(docsMax)
	sources := make([]source, 0, len(plan))
	for _, i := range plan {
		x.parts[i].shared = true
		sources = append(sources, x.parts[i].source)
	}
	x.mu.Unlock()
	if len(plan) == 0 {
		return false
	}
	merged := mergeSegments(sources)

	x.mu.Lock()
	defer x.mu.Unlock()
	var gone []uint64
	for _, s := range sources {
		now := x.takePart(s.segment)
		if now.segment == nil { // all its documents went meanwhile
			for ordinal, doc := range s.segment.docs {
				if !s.dead.Has(ordinal) {
					gone = append(gone, doc.id)
				}
			}
			continue
		}
		now.dead.Added(s.dead, func(ordinal int) { gone = append(gone, s.segment.docs[ordinal].id) })
	}
	if merged != nil {
		x.install([]part{newPart(merged)}, gone)
	}
	x.view = nil
	return true
}

// takePart removes and answers the part of that segment, an empty one if it is
// no longer there.
func (x *Index) takePart(s *segment) part {
	for i, p := range x.parts {
		if p.segment == s {
			x.parts = slices.Delete(x.parts, i, i+1)
			return p
		}
	}
	return part{}
}

// planMerge answers which parts to merge next: mergeFanout of one size class
// (fewer when the size limits say so), or one that is a quarter dead.
func (x *Index) planMerge(docsMax int) []int {
	const classes = 17 // of 4^n documents each
	var byClass [classes][]int
	for i := range x.parts {
		p := &x.parts[i]
		if total := len(p.segment.docs); total >= 16 && total-p.live > total/4 && p.live <= docsMax {
			return []int{i}
		}
		class := bits.Len(uint(p.live)) / 2
		byClass[class] = append(byClass[class], i)
	}
	for _, members := range byClass {
		if len(members) < mergeFanout {
			continue
		}
		slices.SortStableFunc(members, func(i, j int) int { return cmp.Compare(x.parts[i].live, x.parts[j].live) })
		docs, sizeBytes, fit := 0, 0, 0
		for _, i := range members {
			docs += x.parts[i].live
			sizeBytes += x.parts[i].segment.sizeBytes()
			if docs > docsMax || sizeBytes > segmentSizeMax {
				break
			}
			fit++
		}
		if fit == len(members) || fit >= mergeFanout || docsMax == segmentDocsMax && fit >= 2 {
			return members[:fit]
		}
	}
	return nil
}

// Stats says what an index holds.
type Stats struct {
	Docs      int // live documents
	Tail      int // of them, not yet indexed
	Segments  int
	SizeBytes int // of the segments and of the texts not yet indexed
}

// Stats answers what the index holds now.
func (x *Index) Stats() Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	stats := Stats{Docs: x.live, Tail: x.raw.live, Segments: len(x.parts), SizeBytes: x.raw.textBytes}
	for i := range x.parts {
		stats.SizeBytes += x.parts[i].segment.sizeBytes() + len(x.parts[i].dead)*8
	}
	return stats
}
