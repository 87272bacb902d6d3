// This file owns the making of one segment from several. It must not know of
// locks; when to merge is the index's choice.

package recall

import (
	"bytes"
	"slices"

	"reminis/engine/bitset"
)

// source is a segment and which of its documents are gone.
type source struct {
	segment *segment
	dead    bitset.Set
	live    int
}

// mergeSegments answers a segment of all live documents of the sources, nil if
// there are none. The result does not depend on how the documents were spread.
func mergeSegments(sources []source) *segment {
	m := merger{sources: sources}
	m.numberDocs()
	if len(m.docs) == 0 {
		return nil
	}
	return m.mergeTerms()
}

type merger struct {
	sources []source
	moved   [][]int32 // per source, by ordinal: the new ordinal, -1 for the dead
	docs    []docHead
	norms   []byte
	classes []uint8

	gathered    []uint32 // ordinal<<8 | frequency of the term at hand
	ordinals    []uint16
	frequencies []byte
}

// numberDocs gives the live documents their new ordinals, by id.
func (m *merger) numberDocs() {
	total := 0
	for _, s := range m.sources {
		total += s.live
		m.moved = append(m.moved, make([]int32, len(s.segment.docs)))
	}
	m.docs = make([]docHead, 0, total)
	m.norms = make([]byte, 0, total)
	m.classes = make([]uint8, 0, total)
	places := make([]int, len(m.sources))
	for {
		lowest := -1
		for i := range m.sources {
			s := &m.sources[i]
			for places[i] < len(s.segment.docs) && s.dead.Has(places[i]) {
				m.moved[i][places[i]] = -1
				places[i]++
			}
			if places[i] < len(s.segment.docs) && (lowest < 0 ||
				s.segment.docs[places[i]].id < m.sources[lowest].segment.docs[places[lowest]].id) {
				lowest = i
			}
		}
		if lowest < 0 {
			return
		}
		s, place := m.sources[lowest].segment, places[lowest]
		m.moved[lowest][place] = int32(len(m.docs))
		m.docs = append(m.docs, s.docs[place])
		m.norms = append(m.norms, s.norms[place])
		m.classes = append(m.classes, s.classes[place])
		places[lowest]++
	}
}

func (m *merger) mergeTerms() *segment {
	termsMax := 0
	for _, s := range m.sources {
		termsMax = max(termsMax, len(s.segment.terms)-1)
	}
	w := newSegmentWriter(m.docs, m.norms, m.classes, termsMax)
	places := make([]int, len(m.sources))
	for {
		var lowest []byte
		for i, s := range m.sources {
			if places[i] == len(s.segment.terms)-1 {
				continue
			}
			if term := s.segment.term(places[i]); lowest == nil || bytes.Compare(term, lowest) < 0 {
				lowest = term
			}
		}
		if lowest == nil {
			return w.finish()
		}
		m.gathered = m.gathered[:0]
		for i, s := range m.sources {
			if places[i] < len(s.segment.terms)-1 && bytes.Equal(s.segment.term(places[i]), lowest) {
				m.gather(i, readPostings(s.segment.postings[s.segment.terms[places[i]].postings:]))
				places[i]++
			}
		}
		m.write(w, lowest)
	}
}

// gather collects the live postings of one list of source i.
func (m *merger) gather(i int, list postingList) {
	var buf [blockDocs]posting
	for {
		block := list.block(&buf)
		if len(block) == 0 {
			return
		}
		for _, p := range block {
			if ordinal := m.moved[i][p.ordinal]; ordinal >= 0 {
				m.gathered = append(m.gathered, uint32(ordinal)<<8|uint32(p.frequency))
			}
		}
	}
}

func (m *merger) write(w *segmentWriter, term []byte) {
	if len(m.gathered) == 0 {
		return // only dead documents had it
	}
	if !slices.IsSorted(m.gathered) {
		slices.Sort(m.gathered)
	}
	m.ordinals, m.frequencies = m.ordinals[:0], m.frequencies[:0]
	for _, g := range m.gathered {
		m.ordinals = append(m.ordinals, uint16(g>>8))
		m.frequencies = append(m.frequencies, byte(g))
	}
	w.add(string(term), m.ordinals, m.frequencies)
}
