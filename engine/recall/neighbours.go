// This file owns which turns lie beside each other. It must not know of scores.

package recall

import "sort"

// span is where a group's turns lie in one part.
type span struct {
	part         int
	first, limit int // places in the segment's turns
}

// spanRange is a group's share of Searcher.spans.
type spanRange struct{ first, limit int }

// windowOf answers the positions of the live turns around a position, up to
// reach on each side in the conversation's order, itself included at window[at].
// A document of no group is alone. The window is valid until the next call.
func (s *Searcher) windowOf(position uint32, reach int) (window []uint32, at int) {
	s.window = s.window[:0]
	p, ordinal := s.locate(position)
	doc := s.parts[p].segment.docs[ordinal]
	if reach == 0 || doc.group == 0 {
		s.window = append(s.window, position)
		return s.window, 0
	}
	spans := s.spansOf(doc.group)
	s.walk(spans, p, ordinal, -1, reach)
	for i, j := 0, len(s.window)-1; i < j; i, j = i+1, j-1 {
		s.window[i], s.window[j] = s.window[j], s.window[i]
	}
	at = len(s.window)
	s.window = append(s.window, position)
	s.walk(spans, p, ordinal, +1, reach)
	return s.window, at
}

// walk appends up to reach live turns of the spans that precede (step -1) or
// follow (step +1) the given one, the nearest first.
func (s *Searcher) walk(spans []span, p int, ordinal uint16, step, reach int) {
	if len(spans) == 1 {
		s.walkPart(spans[0], ordinal, step, reach)
		return
	}
	doc := s.parts[p].segment.docs[ordinal]
	var placesBuf [16]int
	places := placesBuf[:0] // by span: the next turn to take
	for _, sp := range spans {
		segment := s.parts[sp.part].segment
		if sp.part == p {
			places = append(places, int(segment.ranks[ordinal])+step)
			continue
		}
		after := sp.first + sort.Search(sp.limit-sp.first, func(i int) bool {
			return segment.docs[segment.turns[sp.first+i]].compareTurn(doc) > 0
		})
		if step < 0 {
			after--
		}
		places = append(places, after)
	}
	for range reach {
		nearest := -1
		var nearestDoc docHead
		for i, sp := range spans {
			part := &s.parts[sp.part]
			turns := part.segment.turns
			for places[i] >= sp.first && places[i] < sp.limit && part.dead.Has(int(turns[places[i]])) {
				places[i] += step
			}
			if places[i] < sp.first || places[i] >= sp.limit {
				continue
			}
			candidate := part.segment.docs[turns[places[i]]]
			if nearest < 0 || candidate.compareTurn(nearestDoc)*step < 0 {
				nearest, nearestDoc = i, candidate
			}
		}
		if nearest < 0 {
			return
		}
		sp := spans[nearest]
		s.window = append(s.window, s.bases[sp.part]+uint32(s.parts[sp.part].segment.turns[places[nearest]]))
		places[nearest] += step
	}
}

// walkPart is walk for a conversation that lies in one part, as most do.
func (s *Searcher) walkPart(sp span, ordinal uint16, step, reach int) {
	part := &s.parts[sp.part]
	base := s.bases[sp.part]
	turns := part.segment.turns
	whole := part.live == len(part.segment.docs)
	for place := int(part.segment.ranks[ordinal]) + step; reach > 0 && place >= sp.first && place < sp.limit; place += step {
		if whole || !part.dead.Has(int(turns[place])) {
			s.window = append(s.window, base+uint32(turns[place]))
			reach--
		}
	}
}

// spansOf answers the parts that hold turns of the group.
func (s *Searcher) spansOf(group uint64) []span {
	r, known := s.groups[group]
	if !known {
		if s.groups == nil {
			s.groups = make(map[uint64]spanRange)
		}
		r.first = len(s.spans)
		for p := range s.parts {
			if first, limit := s.parts[p].segment.span(group); first < limit {
				s.spans = append(s.spans, span{part: p, first: first, limit: limit})
			}
		}
		r.limit = len(s.spans)
		s.groups[group] = r
	}
	return s.spans[r.first:r.limit]
}
