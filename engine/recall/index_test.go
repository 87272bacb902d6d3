// This file owns the tests of the index's life: snapshots, concurrency, merging,
// hostile texts, and what it all costs.

package recall

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestViewDoesNotMove(t *testing.T) {
	x := NewIndex()
	for i := range 300 {
		x.Add(Doc{ID: uint64(i), Text: fmt.Sprintf("tree leaf%d", i%10), Group: uint64(i / 50), Order: int64(i)})
	}
	q := Query{Text: "tree leaf3", Limit: 100, Neighbours: 1}
	early := x.View() // its documents are not indexed yet
	for i := range 100 {
		x.Remove(uint64(i))
		x.Add(Doc{ID: uint64(1000 + i), Text: "tree tree leaf3"})
	}
	late := x.View()
	wantLate := late.Search(q).Hits
	x.Build()
	indexed := x.View()
	for i := 100; i < 300; i++ {
		x.Remove(uint64(i))
	}
	x.Build()

	reference := NewIndex()
	for i := range 300 {
		reference.Add(Doc{ID: uint64(i), Text: fmt.Sprintf("tree leaf%d", i%10), Group: uint64(i / 50), Order: int64(i)})
	}
	sameHits(t, "view before the writes", early.Search(q).Hits, reference.View().Search(q).Hits)
	sameHits(t, "view after the writes, again", late.Search(q).Hits, wantLate)
	sameHits(t, "view after Build", indexed.Search(q).Hits, wantLate)
	if early.Len() != 300 || late.Len() != 300 || x.View().Len() != 100 {
		t.Errorf("views of %d, %d and %d documents", early.Len(), late.Len(), x.View().Len())
	}
}

// TestConcurrentUse has writers, searches and builds at once. Each writer keeps
// exactly one document of its word alive at any moment: it adds the new one
// before it removes the old one, so that a view has one or two of them.
func TestConcurrentUse(t *testing.T) {
	const writers, rounds = 3, 150
	x := NewIndex()
	id := func(writer, round int) uint64 { return uint64(round*writers + writer + 1) }
	for writer := range writers {
		x.Add(Doc{ID: id(writer, 0), Text: fmt.Sprintf("word%d at 0", writer), Group: 1, Order: 0})
	}
	done := make(chan struct{})
	var writing, reading sync.WaitGroup
	for writer := range writers {
		writing.Go(func() {
			for round := 1; round <= rounds; round++ {
				x.Add(Doc{ID: id(writer, round), Text: fmt.Sprintf("word%d at %d", writer, round), Group: uint64(1 + round/10), Order: int64(round)})
				if !x.Remove(id(writer, round-1)) {
					t.Errorf("document %d was gone", id(writer, round-1))
				}
			}
		})
	}
	for reader := range 3 {
		reading.Go(func() {
			var s Searcher
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if reader == 0 && n%8 == 0 {
					x.Build()
				}
				view := x.View()
				for writer := range writers {
					hits := s.Search(view, Query{Text: fmt.Sprintf("word%d", writer), Limit: 10}).Hits
					if len(hits) != 1 && len(hits) != 2 {
						t.Errorf("a view has %d documents of writer %d", len(hits), writer)
						return
					}
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	x.Build()
	if stats := x.Stats(); stats.Docs != writers || stats.Tail != 0 || stats.Segments > 3 || x.NeedsBuild() {
		t.Errorf("in the end: %+v, needs build: %v", stats, x.NeedsBuild())
	}
	for writer := range writers {
		hits := x.View().Search(Query{Text: fmt.Sprintf("word%d", writer), Limit: 10}).Hits
		if len(hits) != 1 || hits[0].ID != id(writer, rounds) {
			t.Errorf("writer %d: %+v", writer, hits)
		}
	}
}

func TestSegmentsStayFew(t *testing.T) {
	x := NewIndex()
	var s Searcher
	for i := range 3000 {
		x.Add(Doc{ID: uint64(i), Text: fmt.Sprintf("note %d", i)})
		if hits := s.Search(x.View(), Query{Text: fmt.Sprint(i), Limit: 1}).Hits; len(hits) != 1 || hits[0].ID != uint64(i) {
			t.Fatalf("document %d is not found right after Add: %+v", i, hits)
		}
	}
	if stats := x.Stats(); stats.Segments > 24 || stats.Tail != 0 {
		t.Errorf("after searches between writes: %+v", stats)
	}
	x.Build()
	if stats := x.Stats(); stats.Segments > 3*7 {
		t.Errorf("after Build: %+v", stats)
	}
	for i := range 2990 {
		x.Remove(uint64(i))
	}
	x.Build()
	if stats := x.Stats(); stats.Docs != 10 || stats.SizeBytes > 4000 {
		t.Errorf("after removing nearly all: %+v", stats)
	}
}

// TestOverwritesDoNotPileUp writes one record again and again without a search.
func TestOverwritesDoNotPileUp(t *testing.T) {
	x := NewIndex()
	text := strings.Repeat("x", 1000)
	for i := range uint64(10_000) {
		x.Add(Doc{ID: i + 1, Text: text})
		x.Remove(i)
	}
	if stats := x.Stats(); stats.Docs != 1 || stats.SizeBytes > 200_000 {
		t.Errorf("%+v", stats)
	}
}

func TestOwnersOfManySegments(t *testing.T) {
	x := NewIndex()
	const docs = segmentDocsMax + 5000
	for i := range docs {
		x.Add(Doc{ID: uint64(docs - i), Text: fmt.Sprintf("n%d", i%1000), Group: uint64(1 + i%3), Order: int64(i)})
	}
	x.Build()
	if stats := x.Stats(); stats.Segments < 2 || stats.Docs != docs {
		t.Fatalf("%+v", stats)
	}
	hits := x.View().Search(Query{Text: "n7", Limit: 1000, Neighbours: 1}).Hits
	own := slices.DeleteFunc(slices.Clone(hits), func(hit Hit) bool { return hit.Own == 0 })
	if want := docs/1000 + 1; len(own) != want || len(hits) != 3*want {
		t.Errorf("%d hits, %d by their own text, want %d", len(hits), len(own), docs/1000+1)
	}
}

func TestHostileTexts(t *testing.T) {
	texts := map[string]string{
		"one word of a megabyte":   strings.Repeat("a", 1<<20),
		"8 MiB of words":           strings.Repeat("lorem ipsum ", 8<<20/12),
		"8 MiB of different words": differentWords(8 << 20),
		"8 MiB of invalid bytes":   strings.Repeat("\xff\xfe", 4<<20),
		"a megabyte of Han":        strings.Repeat("漢字", 1<<20/6),
		"a megabyte of accents":    "e" + strings.Repeat("\u0301", 1<<19),
		"a megabyte of jamo":       strings.Repeat("\u1100\u1161\u11A8", 1<<20/9),
		"zeros":                    strings.Repeat("\x00", 1<<16),
		"apostrophes":              strings.Repeat("'", 1<<16) + strings.Repeat("l'", 1<<16),
		"commas between digits":    strings.Repeat("1,000", 1<<16),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			x := NewIndex()
			x.Add(Doc{ID: 1, Text: text, Group: 1})
			x.Add(Doc{ID: 2, Text: "needle", Group: 1, Order: 1})
			if hits := x.View().Search(Query{Text: "needle", Limit: 9}).Hits; len(hits) != 1 || hits[0].ID != 2 {
				t.Errorf("the needle is not found: %+v", hits)
			}
			x.View().Search(Query{Text: text, Limit: 9, Neighbours: 1})
			x.Remove(1)
			x.Build()
			if stats := x.Stats(); stats.Docs != 1 {
				t.Errorf("%+v", stats)
			}
		})
	}
}

func differentWords(sizeBytes int) string {
	var b strings.Builder
	for i := 0; b.Len() < sizeBytes; i++ {
		fmt.Fprintf(&b, "%x ", i)
	}
	return b.String()
}

// conversation is what the costs below are measured on: turns of about 20 words.
func conversation(docs int) []Doc {
	words := newVocabulary(5, 20_000)
	all := make([]Doc, docs)
	for i := range all {
		all[i] = Doc{ID: uint64(i + 1), Text: words.text(20), Group: uint64(1 + i/30), Order: int64(i)}
	}
	return all
}

func TestBudgets(t *testing.T) {
	docs := conversation(5000)
	x := NewIndex()
	perAdd := testing.AllocsPerRun(len(docs)-2, func() {
		x.Add(docs[x.Stats().Docs])
	})
	if perAdd > 0 { // amortised growth is below half an allocation
		t.Errorf("Add allocates %v times", perAdd)
	}
	x.Build()
	if stats := x.Stats(); stats.SizeBytes > 110*stats.Docs {
		t.Errorf("%d bytes a document, want at most 110", stats.SizeBytes/stats.Docs)
	}
	view := x.View()
	var s Searcher
	perSearch := testing.AllocsPerRun(100, func() {
		s.Search(view, Query{Text: "what is w40x w70x w900x", Limit: 50, Neighbours: 1})
	})
	if perSearch > 30 {
		t.Errorf("a search allocates %v times, want at most 30", perSearch)
	}
	runtime.KeepAlive(x)
}

func BenchmarkSearch(b *testing.B) {
	x := NewIndex()
	for _, doc := range conversation(10_000) {
		x.Add(doc)
	}
	x.Build()
	view := x.View()
	var s Searcher
	for name, text := range map[string]string{
		"rare":   "w900x w2000x w5000x",
		"mixed":  "what is w40x w70x w900x w3000x",
		"common": "w4x w5x w6x w7x w8x",
		"stops":  "what is the",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.Search(view, Query{Text: text, Limit: 50, Neighbours: 1})
			}
		})
	}
}

func BenchmarkAddThenSearch(b *testing.B) {
	docs := conversation(10_000)
	x := NewIndex()
	for _, doc := range docs {
		x.Add(doc)
	}
	x.Build()
	var s Searcher
	next := uint64(len(docs))
	for b.Loop() {
		next++
		doc := docs[next%uint64(len(docs))]
		doc.ID = next
		x.Add(doc)
		x.Remove(next - uint64(len(docs)))
		s.Search(x.View(), Query{Text: "what is w40x w70x w900x", Limit: 50, Neighbours: 1})
	}
}

func BenchmarkBuild(b *testing.B) {
	docs := conversation(10_000)
	for b.Loop() {
		x := NewIndex()
		for _, doc := range docs {
			x.Add(doc)
		}
		x.Build()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(docs)), "ns/doc")
}
