// This file owns the tests of searching: results equal the oracle's, whatever
// the history.

package recall

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// sameHits fails the test unless the hits agree to the last bit.
func sameHits(t *testing.T, what string, got, want []Hit) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		var g, w Hit
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("%s: hit %d of %d is %+v, want %+v (of %d)", what, i, len(got), g, w, len(want))
		}
	}
}

// history does random writes to an index and, beside it, to an oracle.
type history struct {
	random *rand.Rand
	words  vocabulary
	x      *Index
	live   oracle
	nextID uint64
	groups uint64
}

func newHistory(seed, words, groups uint64) *history {
	return &history{random: rand.New(rand.NewPCG(seed, 1)), words: newVocabulary(seed, words), x: NewIndex(), live: newOracle(), groups: groups}
}

func (h *history) add() {
	h.nextID += 1 + h.random.Uint64N(3)
	doc := Doc{
		ID:    h.nextID,
		Text:  h.words.text(h.random.IntN(24)),
		Group: h.random.Uint64N(h.groups),
		Order: h.random.Int64N(500),
		Class: uint8(h.random.IntN(ClassMax + 1)),
	}
	h.x.Add(doc)
	h.live.docs[doc.ID] = doc
}

func (h *history) remove(t *testing.T) {
	id := h.random.Uint64N(h.nextID + 1)
	_, there := h.live.docs[id]
	if got := h.x.Remove(id); got != there {
		t.Fatalf("Remove(%d) = %v, want %v", id, got, there)
	}
	delete(h.live.docs, id)
}

func (h *history) query() Query {
	q := Query{
		Text:       h.words.text(1 + h.random.IntN(7)),
		Limit:      1 + h.random.IntN(30),
		Neighbours: h.random.IntN(4),
	}
	switch h.random.IntN(3) {
	case 0:
		divisor := 2 + h.random.Uint64N(4)
		q.Accept = func(id uint64) bool { return id%divisor == 0 }
	case 1:
		q.Accept = func(id uint64) bool { return id%2 == 1 }
	}
	if h.random.IntN(3) == 0 {
		q.Limit, q.AtLeast = 1+h.random.IntN(1000), h.random.Float64()
	}
	if h.random.IntN(2) == 0 {
		for class := range q.Classes {
			q.Classes[class] = Verdict(h.random.IntN(3))
		}
	}
	return q
}

func TestSearchEqualsOracleAfterRandomHistories(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			h := newHistory(seed, 300, 12)
			for step := range 700 {
				switch n := h.random.IntN(100); {
				case n < 60:
					h.add()
				case n < 90:
					h.remove(t)
				case n < 92:
					h.x.Build()
				default:
					q := h.query()
					what := fmt.Sprintf("step %d, %d documents, %+v", step, len(h.live.docs), q)
					sameHits(t, what, h.x.View().Search(q).Hits, h.live.search(q))
				}
			}
			if got := h.x.Stats().Docs; got != len(h.live.docs) {
				t.Fatalf("Stats say %d documents, want %d", got, len(h.live.docs))
			}
		})
	}
}

// TestPruningChangesNothing uses lists of many blocks, deleted documents and
// few wanted hits, so that most queries are pruned.
func TestPruningChangesNothing(t *testing.T) {
	for seed := range uint64(2) {
		h := newHistory(seed, 3000, 400)
		for range 12_000 {
			h.add()
			if h.random.IntN(40) == 0 {
				h.x.View().Search(Query{Text: "w9x", Limit: 1})
			}
			if h.random.IntN(4) == 0 {
				h.remove(t)
			}
		}
		var s Searcher
		pruned := 0
		for range 25 {
			q := h.query()
			q.Limit = 1 + q.Limit/6
			q.Text = fmt.Sprintf("w%dx w%dx w4x", 400+h.random.IntN(400), 400+h.random.IntN(400))
			got := s.Search(h.x.View(), q)
			if len(s.positions) > 0 {
				pruned++
			}
			sameHits(t, fmt.Sprintf("seed %d, %+v", seed, q), got.Hits, h.live.search(q))
		}
		if pruned < 5 {
			t.Errorf("seed %d: only %d of 25 queries were pruned; the test shows nothing", seed, pruned)
		}
	}
}

// TestScoresDependOnLiveDocumentsOnly builds the same documents in different
// ways: in order, shuffled, with others deleted before and between, in one
// segment and in many.
func TestScoresDependOnLiveDocumentsOnly(t *testing.T) {
	const seed = 11
	random := rand.New(rand.NewPCG(seed, 2))
	words := newVocabulary(seed, 400)
	var docs []Doc
	for i := range 600 {
		docs = append(docs, Doc{ID: uint64(10 * i), Text: words.text(5 + i%9), Group: uint64(i / 40), Order: int64(i * 7 % 40)})
	}
	ways := map[string]func(x *Index){
		"in order": func(x *Index) {
			for _, doc := range docs {
				x.Add(doc)
			}
		},
		"shuffled, built now and then": func(x *Index) {
			for i, at := range random.Perm(len(docs)) {
				x.Add(docs[at])
				if i%97 == 0 {
					x.Build()
				}
			}
		},
		"among others that go": func(x *Index) {
			for i, doc := range docs {
				x.Add(Doc{ID: doc.ID + 1, Text: words.text(30), Group: doc.Group, Order: doc.Order})
				x.Add(doc)
				if i%50 == 0 {
					x.View().Search(Query{Text: "w9x", Limit: 1})
				}
			}
			for _, doc := range docs {
				x.Remove(doc.ID + 1)
			}
		},
		"removed and added again": func(x *Index) {
			for _, doc := range docs {
				x.Add(Doc{ID: doc.ID, Text: "something else"})
			}
			x.Build()
			for _, doc := range docs {
				x.Remove(doc.ID)
				x.Add(doc)
			}
		},
	}
	queries := make([]Query, 60)
	for i := range queries {
		queries[i] = Query{Text: words.text(4), Limit: 40, Neighbours: i % 3}
	}
	var first []Result
	for name, way := range ways {
		x := NewIndex()
		way(x)
		for _, build := range []bool{false, true} {
			if build {
				x.Build()
			}
			var results []Result
			for _, q := range queries {
				results = append(results, x.View().Search(q))
			}
			if first == nil {
				first = results
			}
			for i := range results {
				sameHits(t, fmt.Sprintf("seed %d, %s, built %v, %q", seed, name, build, queries[i].Text), results[i].Hits, first[i].Hits)
			}
		}
	}
}

func TestNeighboursLend(t *testing.T) {
	x := NewIndex()
	for i, text := range []string{"where did you buy the telescope", "in Lisbon", "nice", "goodbye"} {
		x.Add(Doc{ID: uint64(i + 1), Text: text, Group: 5, Order: int64(i)})
	}
	x.Add(Doc{ID: 9, Text: "in another conversation", Group: 6, Order: 1})
	x.Add(Doc{ID: 10, Text: "in none", Group: 0, Order: 1})

	tables := []struct {
		neighbours int
		accept     func(uint64) bool
		want       []uint64
	}{
		{0, nil, []uint64{1}},
		{1, nil, []uint64{1, 2}},
		{2, nil, []uint64{1, 2, 3}},
		{99, nil, []uint64{1, 2, 3, 4}},
		{1, func(id uint64) bool { return id != 2 }, []uint64{1}},
		{2, func(id uint64) bool { return id != 1 }, nil}, // what may not be seen lends nothing
	}
	for _, test := range tables {
		var got []uint64
		result := x.View().Search(Query{Text: "telescope", Limit: 10, Neighbours: test.neighbours, Accept: test.accept})
		for _, hit := range result.Hits {
			got = append(got, hit.ID)
			if hit.Score != hit.Own+hit.Lent {
				t.Errorf("%+v: the score is not the sum of its parts", hit)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("neighbours %d: hits %v, want %v", test.neighbours, got, test.want)
		}
	}

	x.Remove(2) // 3 moves beside 1
	hits := x.View().Search(Query{Text: "telescope", Limit: 10, Neighbours: 1}).Hits
	if len(hits) != 2 || hits[1].ID != 3 || hits[1].Lent != hits[0].Own/2 {
		t.Errorf("after removing a turn: %+v", hits)
	}
}

func TestAcceptIsAskedOnceAndRarely(t *testing.T) {
	x := NewIndex()
	for i := range 5000 {
		x.Add(Doc{ID: uint64(i), Text: fmt.Sprintf("common topic%d", i%50), Group: uint64(1 + i/20), Order: int64(i)})
	}
	calls := map[uint64]int{}
	x.View().Search(Query{Text: "topic7 topic9", Limit: 5, Neighbours: 1, Accept: func(id uint64) bool {
		calls[id]++
		return true
	}})
	for id, n := range calls {
		if n > 1 {
			t.Fatalf("asked %d times about %d", n, id)
		}
	}
	if len(calls) == 0 || len(calls) > 1000 {
		t.Errorf("asked about %d documents", len(calls))
	}
}

func TestSearchOfNothing(t *testing.T) {
	x := NewIndex()
	if got := x.View().Search(Query{Text: "word", Limit: 10}); len(got.Hits) != 0 {
		t.Errorf("empty index: %+v", got)
	}
	x.Add(Doc{ID: 1, Text: "word"})
	x.Add(Doc{ID: 2, Text: ""})
	for _, q := range []Query{{Text: "", Limit: 10}, {Text: "?!", Limit: 10}, {Text: "absent", Limit: 10}, {Text: "word"}, {Text: "word", Limit: -1}} {
		if got := x.View().Search(q); len(got.Hits) != 0 {
			t.Errorf("%+v: %+v", q, got.Hits)
		}
	}
	x.Remove(1)
	x.Remove(2)
	if got := x.View().Search(Query{Text: "word", Limit: 10}); len(got.Hits) != 0 {
		t.Errorf("emptied index: %+v", got)
	}
	if stats := x.Stats(); stats.Docs != 0 || stats.Segments != 0 {
		t.Errorf("emptied index: %+v", stats)
	}
}

func TestLongQueryIsCut(t *testing.T) {
	x := NewIndex()
	text := ""
	for i := range 2 * QueryTermsMax {
		text += fmt.Sprintf("q%dz ", i)
	}
	x.Add(Doc{ID: 1, Text: "q0z"})
	x.Add(Doc{ID: 2, Text: fmt.Sprintf("q%dz", QueryTermsMax-1)})
	x.Add(Doc{ID: 3, Text: fmt.Sprintf("q%dz", QueryTermsMax)})
	result := x.View().Search(Query{Text: text, Limit: 10})
	if len(result.Terms) != QueryTermsMax || len(result.Hits) != 2 {
		t.Errorf("%d terms, hits %+v", len(result.Terms), result.Hits)
	}
}
