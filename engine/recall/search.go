// This file owns the search of a view: the query's terms, BM25, and the pruning
// that leaves its result unchanged. It must not know of locks, keys or rights.

package recall

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// BM25's parameters, the usual ones: how fast repetition saturates, and how much
// a long text is discounted.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// charWeight is what one character of an unspaced script counts against a pair:
// pairs carry the meaning, but 住址 and 地址 share only a character.
const charWeight = 0.3

// boundSlack widens bounds over what rounding may have taken from them.
const boundSlack = 1 + 1e-9

// What finding a document's neighbourhood costs, in postings: alone, and for
// each neighbour on a side.
const (
	windowCost    = 4
	neighbourCost = 28
)

// DefaultNeighbours is what Query.Neighbours should be unless the user says
// otherwise: a question, its answer and what is said to that belong together.
const DefaultNeighbours = 2

// neighbourWeight is what a turn lends the turn beside it, of its own score; the
// one after that gets the square, and so on.
const neighbourWeight = 0.5

// Query says what to look for.
type Query struct {
	Text string
	// Limit is how many hits are wanted; none come without it.
	Limit int
	// AtLeast is the share of Result.Ceiling that a hit scores at least.
	AtLeast float64
	// Neighbours is how many turns on each side lend a turn relevance, 0 none.
	Neighbours int
	// Accept says which documents the asker may and wants to see, nil: all. It
	// is called once at most for each document, and only for those that may
	// matter for the result. What is not accepted is no hit and lends nothing.
	Accept func(id uint64) bool
	// Classes says by Doc.Class what Accept would say, where that is known.
	Classes [ClassMax + 1]Verdict
}

// Verdict is what is known of all documents of a class.
type Verdict uint8

const (
	Ask Verdict = iota // nothing: Accept is asked
	Yes
	No
)

// Hit is a document found.
type Hit struct {
	ID    uint64
	Score float64 // Own + Lent, > 0
	Own   float64 // BM25 of its own text
	Lent  float64 // what the best neighbouring turn lends it
}

// Result is what a search found.
type Result struct {
	Hits    []Hit    // highest score first, then highest ID
	Terms   []string // what was looked for, in order of appearance
	Scanned int      // documents that were scored
	// Ceiling is more than any document of the view could score of its own, had
	// it all of the query: shares of it compare between owners, scores do not.
	Ceiling float64
}

// Search answers the q.Limit best documents of v exactly: the same live
// documents give the same hits and scores, whatever was added, removed, merged
// and recovered before.
func (v *View) Search(q Query) Result {
	var s Searcher
	return s.Search(v, q)
}

// Searcher does searches one after the other, reusing its memory (some 10 bytes
// per document of the largest view). The zero value is ready. Not for concurrent
// use: one per worker.
type Searcher struct {
	analyser analyser
	view     *View
	query    Query
	reach    int     // neighbours on each side
	weight   float64 // the most that a neighbour lends, of its own score
	ceiling  float64 // the terms' scales, summed
	least    float64 // what a hit scores at least
	all      bool    // every document may be a hit

	parts []part
	bases []uint32 // by part: the position of its first document
	terms []queryTerm
	lists []postingList // by term, then part
	keys  []float64     // by norm: BM25's length term

	// By position: part's base + ordinal.
	scores  []float64
	marks   []mark
	touched []uint32 // positions with a score
	marked  []uint32 // positions with a mark

	best      bestScores
	heap      candidateHeap
	top       topHits
	spans     []span
	groups    map[uint64]spanRange
	window    []uint32
	positions []uint32 // ascending: what prune marked as wanted
}

// mark is what is known of a document in this search.
type mark uint8

const (
	asked     mark = 1 << iota // Accept was called
	accepted                   // … and said yes
	evaluated                  // its final score was computed
	wanted                     // the terms left to do matter for it
)

type queryTerm struct {
	text     []byte
	weight   float64 // occurrences in the query, times charWeight for chars
	lists    []postingList
	docs     int     // live documents that have it
	postings int     // documents that have it, dead ones too
	scale    float64 // its score is below this, whatever the document
	bound    float64 // … and at most this in the view's documents
}

// Search is View.Search with the memory of s.
func (s *Searcher) Search(v *View, q Query) Result {
	s.view, s.query, s.positions = v, q, s.positions[:0]
	s.all = q.Accept == nil && !slices.Contains(q.Classes[:], No)
	s.reach = min(max(q.Neighbours, 0), NeighboursMax)
	s.weight = 0
	if s.reach > 0 {
		s.weight = neighbourWeight
	}
	result := Result{Terms: s.parse(q.Text)}
	if q.Limit > 0 && v.live > 0 && len(s.terms) > 0 {
		s.parts = v.all()
		s.prepare()
		s.lookUp()
		s.least = q.AtLeast * s.ceiling
		s.score()
		result.Hits = s.collect()
		result.Scanned = len(s.touched)
		result.Ceiling = s.ceiling
	}
	s.reset()
	return result
}

// parse fills s.terms from the query's text and answers those that count fully.
func (s *Searcher) parse(text string) []string {
	s.analyser.limit = 16 * QueryTermsMax
	tokens := s.analyser.analyse(text)
	only := stopToken
	for _, t := range tokens {
		if t.kind != stopToken {
			only = wordToken
			break
		}
	}
	s.terms = s.terms[:0]
	var names []string
	places := make(map[string]int)
	for _, t := range tokens {
		if (t.kind == stopToken) != (only == stopToken) {
			continue
		}
		weight := 1.0
		if t.kind == charToken {
			weight = charWeight
		}
		term := s.analyser.term(t)
		if place, ok := places[string(term)]; ok {
			s.terms[place].weight += weight
			continue
		}
		if len(s.terms) == QueryTermsMax {
			continue
		}
		places[string(term)] = len(s.terms)
		s.terms = append(s.terms, queryTerm{text: bytes.Clone(term), weight: weight})
		if t.kind != charToken {
			names = append(names, string(term))
		}
	}
	return names
}

// prepare sizes the memory for the view and computes the length terms.
func (s *Searcher) prepare() {
	s.bases = s.bases[:0]
	total := 0
	lengths := int64(0)
	for i := range s.parts {
		s.bases = append(s.bases, uint32(total))
		total += len(s.parts[i].segment.docs)
		lengths += s.parts[i].lengths
	}
	if len(s.scores) < total {
		s.scores = make([]float64, total+total/8)
		s.marks = make([]mark, total+total/8)
	}
	average := max(float64(lengths)/float64(s.view.live), 1)
	if s.keys == nil {
		s.keys = make([]float64, 256)
	}
	for norm := range s.keys {
		relative := float64(lengthOf(byte(norm))) / average
		s.keys[norm] = bm25K1 * (1 - bm25B + float64(bm25B*relative))
	}
}

// lookUp finds the terms' lists and puts the terms in the order in which they
// are scored: rare ones first. The order depends on the live documents only, so
// that a document's sum is always rounded in the same way.
func (s *Searcher) lookUp() {
	s.lists = slices.Grow(s.lists[:0], len(s.terms)*len(s.parts))
	for i := range s.terms {
		t := &s.terms[i]
		first := len(s.lists)
		for p := range s.parts {
			list := s.parts[p].segment.list(t.text)
			s.lists = append(s.lists, list)
			t.postings += list.count
			t.docs += s.parts[p].countLive(list)
		}
		t.lists = s.lists[first:]
	}
	s.ceiling = 0
	for i := range s.terms {
		t := &s.terms[i]
		n, df := float64(s.view.live), float64(t.docs)
		t.scale = t.weight * math.Log1p((n-df+0.5)/(df+0.5)) * (bm25K1 + 1)
		s.ceiling += t.scale
	}
	s.terms = slices.DeleteFunc(s.terms, func(t queryTerm) bool { return t.docs == 0 })
	for i := range s.terms {
		t := &s.terms[i]
		for _, list := range t.lists {
			if list.count > 0 {
				t.bound = max(t.bound, s.impact(t, list.frequency, list.norm))
			}
		}
		t.bound *= boundSlack
	}
	slices.SortFunc(s.terms, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(a.docs, b.docs), bytes.Compare(a.text, b.text))
	})
}

// countLive answers how many of the list's documents are live.
func (p *part) countLive(list postingList) int {
	if p.live == len(p.segment.docs) {
		return list.count
	}
	var buf [blockDocs]posting
	n := 0
	for list.left > 0 {
		for _, posting := range list.block(&buf) {
			if !p.dead.Has(int(posting.ordinal)) {
				n++
			}
		}
	}
	return n
}

// impact is what a term adds to the score of a document.
func (s *Searcher) impact(t *queryTerm, frequency, norm byte) float64 {
	f := float64(frequency)
	return t.scale * f / (f + s.keys[norm])
}

// score adds up the terms' impacts, each over all its documents, until what is
// left can no longer lift a new document into the result; from there on only
// for documents that may still be in it.
func (s *Searcher) score() {
	left := 0 // postings of the terms to come
	for i := range s.terms {
		left += s.terms[i].postings
	}
	for i := range s.terms {
		if i > 0 && s.worthPruning(left) && s.prune(s.terms[i:]) {
			for j := i; j < len(s.terms); j++ {
				s.addWanted(&s.terms[j])
			}
			return
		}
		s.add(&s.terms[i])
		left -= s.terms[i].postings
	}
}

// add adds the term's impact to all its live documents.
func (s *Searcher) add(t *queryTerm) {
	var buf [blockDocs]posting
	for p := range s.parts {
		list := t.lists[p]
		if list.count == 0 {
			continue
		}
		part := &s.parts[p]
		base := s.bases[p]
		whole := part.live == len(part.segment.docs)
		for list.left > 0 {
			for _, posting := range list.block(&buf) {
				if !whole && part.dead.Has(int(posting.ordinal)) {
					continue
				}
				position := base + uint32(posting.ordinal)
				if s.scores[position] == 0 {
					s.touched = append(s.touched, position)
				}
				s.scores[position] += s.impact(t, posting.frequency, part.segment.norms[posting.ordinal])
			}
		}
	}
}

// worthPruning weighs the postings left against what finding out costs.
func (s *Searcher) worthPruning(left int) bool {
	return (len(s.touched) >= s.query.Limit || s.least > 0) && left > 4*len(s.touched)+1024
}

// prune tells whether documents that have none of the terms done so far, only of
// those to come, cannot be in the result. If so, it marks the documents whose
// scores are wanted.
//
// A document can be a hit only if its own score or a neighbour's reaches
// floor = (the Limit-th best score so far) / (1 + the neighbours' weight):
// call it strong. Hits are strong or beside a strong one, and their scores
// need the documents one neighbourhood further.
func (s *Searcher) prune(toCome []queryTerm) bool {
	bound, left := 0.0, 0
	for i := range toCome {
		bound += toCome[i].bound
		left += toCome[i].postings
	}
	floor := s.kthBest() / (1 + s.weight)
	if bound*boundSlack >= floor {
		return false
	}
	strong := 0
	for _, position := range s.touched {
		if (s.scores[position]+bound)*boundSlack >= floor {
			strong++
		}
	}
	if strong*(windowCost+neighbourCost*s.reach) > left {
		return false // looking at all postings is cheaper
	}
	for _, position := range s.touched {
		if (s.scores[position]+bound)*boundSlack < floor {
			continue
		}
		window, _ := s.windowOf(position, 2*s.reach)
		for _, near := range window {
			if s.marks[near]&wanted == 0 {
				s.setMark(near, wanted)
				s.positions = append(s.positions, near)
			}
		}
	}
	slices.Sort(s.positions)
	return true
}

// kthBest answers the Limit-th best score so far of an accepted document, or what a
// hit has at least, if there are not as many or that is more.
func (s *Searcher) kthBest() float64 {
	if len(s.touched) <= s.query.Limit {
		return s.least
	}
	s.best.reset(s.query.Limit)
	for _, position := range s.touched {
		if score := s.scores[position]; score > s.best.floor() && s.accepts(position) {
			s.best.offer(score)
		}
	}
	return max(s.best.floor(), s.least)
}

// addWanted adds the term's impact to the wanted documents that have it.
func (s *Searcher) addWanted(t *queryTerm) {
	var buf [blockDocs]posting
	at := 0
	for p := range s.parts {
		base := s.bases[p]
		limit := at
		end := base + uint32(len(s.parts[p].segment.docs))
		for limit < len(s.positions) && s.positions[limit] < end {
			limit++
		}
		list := t.lists[p]
		var block []posting
		for ; at < limit && list.count > 0; at++ {
			position := s.positions[at]
			ordinal := uint16(position - base)
			for len(block) > 0 && block[len(block)-1].ordinal < ordinal {
				block = nil
			}
			if len(block) == 0 {
				list.skipTo(int(ordinal))
				if list.left == 0 {
					break
				}
				block = list.block(&buf)
			}
			i := 0
			for i < len(block) && block[i].ordinal < ordinal {
				i++
			}
			block = block[i:]
			if len(block) > 0 && block[0].ordinal == ordinal {
				if s.scores[position] == 0 {
					s.touched = append(s.touched, position)
				}
				s.scores[position] += s.impact(t, block[0].frequency, s.parts[p].segment.norms[ordinal])
			}
		}
		at = limit
	}
}

// collect answers the hits. Documents that are not strong (see prune) are left
// out first: they are most. The others are taken in the order of their own
// scores, each with its neighbours, until even a document with such a score and
// such neighbours would not be a hit.
func (s *Searcher) collect() []Hit {
	s.top.reset(s.query.Limit, s.least)
	s.heap = s.heap[:0]
	floor := s.kthBest() / (1 + s.weight)
	for _, position := range s.touched {
		if score := s.scores[position]; score*boundSlack >= floor {
			s.heap = append(s.heap, candidate{score, position})
		}
	}
	s.heap.init()
	for len(s.heap) > 0 {
		best := s.heap.pop()
		if best.score*(1+s.weight)*boundSlack < s.top.floor() {
			break
		}
		if !s.accepts(best.position) {
			continue
		}
		window, at := s.windowOf(best.position, 2*s.reach)
		for i := max(at-s.reach, 0); i <= min(at+s.reach, len(window)-1); i++ {
			s.evaluate(window, i)
		}
	}
	return s.top.sorted()
}

// evaluate computes the final score of window[at] and offers it as a hit.
func (s *Searcher) evaluate(window []uint32, at int) {
	position := window[at]
	if s.marks[position]&evaluated != 0 {
		return
	}
	s.setMark(position, evaluated)
	if !s.accepts(position) {
		return
	}
	lent, weight := 0.0, s.weight
	for distance := 1; distance <= s.reach; distance++ {
		for _, i := range [2]int{at - distance, at + distance} {
			if i < 0 || i >= len(window) {
				continue
			}
			if offer := weight * s.scores[window[i]]; offer > lent && s.accepts(window[i]) {
				lent = offer
			}
		}
		weight *= neighbourWeight
	}
	own := s.scores[position]
	if own+lent > 0 {
		s.top.offer(Hit{ID: s.doc(position).id, Score: own + lent, Own: own, Lent: lent})
	}
}

// accepts says whether a document may be a hit or lend; the query's filter is asked
// once.
func (s *Searcher) accepts(position uint32) bool {
	if s.all {
		return true
	}
	if s.marks[position]&asked == 0 {
		answer := asked
		p, ordinal := s.locate(position)
		segment := s.parts[p].segment
		switch s.query.Classes[segment.classes[ordinal]] {
		case Yes:
			answer |= accepted
		case Ask:
			if s.query.Accept == nil || s.query.Accept(segment.docs[ordinal].id) {
				answer |= accepted
			}
		}
		s.setMark(position, answer)
	}
	return s.marks[position]&accepted != 0
}

func (s *Searcher) setMark(position uint32, m mark) {
	if s.marks[position] == 0 {
		s.marked = append(s.marked, position)
	}
	s.marks[position] |= m
}

// locate answers the part and ordinal of a position.
func (s *Searcher) locate(position uint32) (p int, ordinal uint16) {
	low, high := 0, len(s.bases)
	for high-low > 1 {
		if middle := (low + high) / 2; s.bases[middle] <= position {
			low = middle
		} else {
			high = middle
		}
	}
	return low, uint16(position - s.bases[low])
}

func (s *Searcher) doc(position uint32) docHead {
	p, ordinal := s.locate(position)
	return s.parts[p].segment.docs[ordinal]
}

// reset forgets the search, so that the next one starts clean and the view's
// memory can go.
func (s *Searcher) reset() {
	for _, position := range s.touched {
		s.scores[position] = 0
	}
	for _, position := range s.marked {
		s.marks[position] = 0
	}
	s.touched, s.marked = s.touched[:0], s.marked[:0]
	clear(s.terms)
	clear(s.lists)
	clear(s.groups)
	s.spans = s.spans[:0]
	s.view, s.parts, s.query = nil, nil, Query{}
}
