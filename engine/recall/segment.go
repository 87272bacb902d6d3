// This file owns segments: immutable indexes over some of an owner's documents,
// and how they are built from text. It must not know of locks or scores.

package recall

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// segment is an index over up to segmentDocsMax documents, written once.
// An ordinal is a document's place in docs. No field holds pointers per
// document or per term: the collector sees nine slices.
type segment struct {
	docs  []docHead // ascending by id
	norms []byte    // by ordinal: the length, coded (normOf)
	// classes are the documents', by ordinal.
	classes []uint8

	turns  []uint16    // ordinals by group, order, id
	ranks  []uint16    // by ordinal: its place in turns
	groups []groupHead // ascending by group; the last one is a sentinel

	terms    []termHead // ascending by term; the last one is a sentinel
	dict     []byte     // the terms, one after the other
	postings []byte     // their lists
}

type docHead struct {
	id    uint64
	group uint64
	order int64
}

type groupHead struct {
	group uint64
	first uint32 // place of its first turn in turns
}

type termHead struct {
	dict     uint32 // where the term begins in dict
	postings uint32 // where its list begins in postings
}

// sizeBytes is what the segment occupies.
func (s *segment) sizeBytes() int {
	return len(s.docs)*24 + len(s.norms) + len(s.classes) + len(s.turns)*4 + len(s.groups)*16 +
		len(s.terms)*8 + len(s.dict) + len(s.postings)
}

// list answers the postings of term, an empty list if no document has it.
func (s *segment) list(term []byte) postingList {
	count := len(s.terms) - 1
	i := sort.Search(count, func(i int) bool { return bytes.Compare(s.term(i), term) >= 0 })
	if i == count || !bytes.Equal(s.term(i), term) {
		return postingList{}
	}
	return readPostings(s.postings[s.terms[i].postings:])
}

func (s *segment) term(i int) []byte { return s.dict[s.terms[i].dict:s.terms[i+1].dict] }

// span answers which places of turns the group has, an empty span if none.
func (s *segment) span(group uint64) (first, limit int) {
	count := len(s.groups) - 1
	i := sort.Search(count, func(i int) bool { return s.groups[i].group >= group })
	if i == count || s.groups[i].group != group {
		return 0, 0
	}
	return int(s.groups[i].first), int(s.groups[i+1].first)
}

// find answers the ordinals that have id: more than one only if a dead document
// had it before.
func (s *segment) find(id uint64) (first, limit int) {
	first = sort.Search(len(s.docs), func(i int) bool { return s.docs[i].id >= id })
	limit = first
	for limit < len(s.docs) && s.docs[limit].id == id {
		limit++
	}
	return first, limit
}

// arrange fills turns, ranks and groups from docs.
func (s *segment) arrange() {
	s.turns = make([]uint16, len(s.docs))
	s.ranks = make([]uint16, len(s.docs))
	for i := range s.turns {
		s.turns[i] = uint16(i)
	}
	slices.SortFunc(s.turns, func(a, b uint16) int { return s.docs[a].compareTurn(s.docs[b]) })
	groups := 0
	for place, ordinal := range s.turns {
		s.ranks[ordinal] = uint16(place)
		if place == 0 || s.docs[ordinal].group != s.docs[s.turns[place-1]].group {
			groups++
		}
	}
	s.groups = make([]groupHead, 0, groups+1)
	for place, ordinal := range s.turns {
		if place == 0 || s.docs[ordinal].group != s.docs[s.turns[place-1]].group {
			s.groups = append(s.groups, groupHead{group: s.docs[ordinal].group, first: uint32(place)})
		}
	}
	s.groups = append(s.groups, groupHead{first: uint32(len(s.turns))})
}

// compareTurn orders the turns of conversations: by group, order, id.
func (d docHead) compareTurn(other docHead) int {
	return cmp.Or(cmp.Compare(d.group, other.group), cmp.Compare(d.order, other.order), cmp.Compare(d.id, other.id))
}

// buildSegments indexes docs, which must be ascending by id, into as few
// segments as the limits allow.
func buildSegments(docs []Doc) []*segment {
	var segments []*segment
	b := builder{numbers: make(map[string]uint32)}
	textBytes := 0
	for i := range docs {
		if len(b.segment.docs) == segmentDocsMax || textBytes > segmentTextMax {
			segments = append(segments, b.finish())
			textBytes = 0
		}
		b.add(&docs[i])
		textBytes += len(docs[i].Text)
	}
	if len(b.segment.docs) > 0 {
		segments = append(segments, b.finish())
	}
	return segments
}

// builder collects the documents of one segment after the other.
type builder struct {
	analyser analyser
	segment  segment
	numbers  map[string]uint32 // term -> its number, in order of appearance
	names    []string          // by number
	counts   []uint32          // by number: documents that have it
	latest   []uint32          // by number: 1 + place in found of its latest posting
	found    []foundPosting    // ascending by ordinal
}

type foundPosting struct {
	term      uint32
	ordinal   uint16
	frequency byte
}

func (b *builder) add(doc *Doc) {
	ordinal := uint16(len(b.segment.docs))
	length := 0
	for _, t := range b.analyser.analyse(doc.Text) {
		if t.kind == wordToken || t.kind == pairToken {
			length++
		}
		b.count(b.analyser.term(t), ordinal)
	}
	b.segment.docs = append(b.segment.docs, docHead{id: doc.ID, group: doc.Group, order: doc.Order})
	b.segment.norms = append(b.segment.norms, normOf(length))
	b.segment.classes = append(b.segment.classes, doc.Class)
}

func (b *builder) count(term []byte, ordinal uint16) {
	number, known := b.numbers[string(term)]
	if !known {
		number = uint32(len(b.names))
		name := string(term)
		b.numbers[name] = number
		b.names = append(b.names, name)
		b.counts = append(b.counts, 0)
		b.latest = append(b.latest, 0)
	}
	if place := b.latest[number]; place > 0 && b.found[place-1].ordinal == ordinal {
		if f := &b.found[place-1]; f.frequency < frequencyMax {
			f.frequency++
		}
		return
	}
	b.found = append(b.found, foundPosting{term: number, ordinal: ordinal, frequency: 1})
	b.latest[number] = uint32(len(b.found))
	b.counts[number]++
}

// finish answers the segment of what was added and empties the builder.
func (b *builder) finish() *segment {
	w := newSegmentWriter(b.segment.docs, b.segment.norms, b.segment.classes, len(b.names))
	sorted := make([]uint32, len(b.names)) // numbers by term
	for i := range sorted {
		sorted[i] = uint32(i)
	}
	slices.SortFunc(sorted, func(i, j uint32) int { return cmp.Compare(b.names[i], b.names[j]) })

	starts := make([]uint32, len(b.names)) // by number: where its postings begin
	next := uint32(0)
	for _, number := range sorted {
		starts[number] = next
		next += b.counts[number]
	}
	ordinals := make([]uint16, len(b.found))
	frequencies := make([]byte, len(b.found))
	for _, f := range b.found {
		place := starts[f.term]
		ordinals[place], frequencies[place] = f.ordinal, f.frequency
		starts[f.term]++
	}
	for _, number := range sorted {
		limit := starts[number] // moved past its postings by the loop above
		first := limit - b.counts[number]
		w.add(b.names[number], ordinals[first:limit], frequencies[first:limit])
	}
	b.segment = segment{}
	clear(b.numbers)
	b.names, b.counts, b.latest, b.found = b.names[:0], b.counts[:0], b.latest[:0], b.found[:0]
	return w.finish()
}

// segmentWriter puts a segment together, terms ascending.
type segmentWriter struct{ segment segment }

// newSegmentWriter takes over docs (ascending by id), norms and classes.
func newSegmentWriter(docs []docHead, norms []byte, classes []uint8, terms int) *segmentWriter {
	w := &segmentWriter{segment{docs: slices.Clip(docs), norms: slices.Clip(norms), classes: slices.Clip(classes)}}
	w.segment.terms = make([]termHead, 0, terms+1)
	return w
}

func (w *segmentWriter) add(term string, ordinals []uint16, frequencies []byte) {
	s := &w.segment
	s.terms = append(s.terms, termHead{dict: uint32(len(s.dict)), postings: uint32(len(s.postings))})
	s.dict = append(s.dict, term...)
	s.postings = appendPostings(s.postings, ordinals, frequencies, s.norms)
}

func (w *segmentWriter) finish() *segment {
	s := &w.segment
	s.terms = append(s.terms, termHead{dict: uint32(len(s.dict)), postings: uint32(len(s.postings))})
	s.terms, s.dict, s.postings = slices.Clone(s.terms), slices.Clone(s.dict), slices.Clone(s.postings)
	s.arrange()
	return s
}
