// This file owns the slow, obvious scorer: it knows no segments, no postings and
// no pruning, and computes everything from the live documents.

package recall

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// oracle is an owner's live documents.
type oracle struct {
	docs    map[uint64]Doc
	counted map[string]countedText // by text, so that it need not be read again
}

type countedText struct {
	counts map[string]int
	length int
}

func newOracle() oracle {
	return oracle{docs: map[uint64]Doc{}, counted: map[string]countedText{}}
}

func (o oracle) count(text string) countedText {
	if _, ok := o.counted[text]; !ok {
		o.counted[text] = countTerms(text)
	}
	return o.counted[text]
}

func (o oracle) search(q Query) []Hit {
	ids := make([]uint64, 0, len(o.docs))
	for id := range o.docs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	counts := map[uint64]map[string]int{} // id -> term -> occurrences
	documents := map[string]int{}         // term -> documents
	lengths := map[uint64]int{}
	sum := 0
	for _, id := range ids {
		counted := o.count(o.docs[id].Text)
		counts[id] = counted.counts
		lengths[id] = lengthOf(normOf(counted.length))
		sum += lengths[id]
		for term := range counts[id] {
			documents[term]++
		}
	}
	weights := queryWeights(q.Text)
	terms := make([]string, 0, len(weights))
	for term := range weights {
		if documents[term] > 0 {
			terms = append(terms, term)
		}
	}
	slices.SortFunc(terms, func(a, b string) int {
		return cmp.Or(cmp.Compare(documents[a], documents[b]), strings.Compare(a, b))
	})
	average := max(float64(sum)/float64(len(ids)), 1)
	own := map[uint64]float64{}
	for _, id := range ids {
		key := 1.2 * (1 - 0.75 + 0.75*(float64(lengths[id])/average))
		for _, term := range terms {
			if f := float64(min(counts[id][term], 255)); f > 0 {
				n, df := float64(len(ids)), float64(documents[term])
				own[id] += weights[term] * math.Log1p((n-df+0.5)/(df+0.5)) * (1.2 + 1) * f / (f + key)
			}
		}
	}
	ceiling := 0.0
	for term, weight := range weights {
		n, df := float64(len(ids)), float64(documents[term])
		ceiling += weight * math.Log1p((n-df+0.5)/(df+0.5)) * (1.2 + 1)
	}
	hits := slices.DeleteFunc(o.all(q, ids, own), func(h Hit) bool { return h.Score < q.AtLeast*ceiling })
	return hits[:min(len(hits), q.Limit)]
}

// all are all hits, best first.
func (o oracle) all(q Query, ids []uint64, own map[uint64]float64) []Hit {
	accept := func(id uint64) bool {
		switch q.Classes[o.docs[id].Class] {
		case Yes:
			return true
		case No:
			return false
		}
		return q.Accept == nil || q.Accept(id)
	}
	conversations := map[uint64][]uint64{}
	for _, id := range ids {
		group := o.docs[id].Group
		conversations[group] = append(conversations[group], id)
	}
	var hits []Hit
	for group, turns := range conversations {
		slices.SortStableFunc(turns, func(a, b uint64) int { return cmp.Compare(o.docs[a].Order, o.docs[b].Order) })
		for at, id := range turns {
			if !accept(id) {
				continue
			}
			hit := Hit{ID: id, Own: own[id]}
			for other, neighbour := range turns {
				distance := max(at-other, other-at)
				if group != 0 && distance > 0 && distance <= q.Neighbours && accept(neighbour) {
					hit.Lent = max(hit.Lent, math.Pow(0.5, float64(distance))*own[neighbour])
				}
			}
			hit.Score = hit.Own + hit.Lent
			if hit.Score > 0 {
				hits = append(hits, hit)
			}
		}
	}
	slices.SortFunc(hits, compareHits)
	return hits
}

func countTerms(text string) countedText {
	var a analyser
	counted := countedText{counts: map[string]int{}}
	for _, t := range a.analyse(text) {
		counted.counts[string(a.term(t))]++
		if t.kind == wordToken || t.kind == pairToken {
			counted.length++
		}
	}
	return counted
}

func queryWeights(text string) map[string]float64 {
	var a analyser
	content, stops := map[string]float64{}, map[string]float64{}
	for _, t := range a.analyse(text) {
		switch t.kind {
		case stopToken:
			stops[string(a.term(t))]++
		case charToken:
			content[string(a.term(t))] += 0.3
		default:
			content[string(a.term(t))]++
		}
	}
	if len(content) > 0 {
		return content
	}
	return stops
}

// vocabulary makes texts whose words are as unevenly frequent as in a language.
type vocabulary struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newVocabulary(seed uint64, words uint64) vocabulary {
	random := rand.New(rand.NewPCG(seed, 7))
	return vocabulary{random, rand.NewZipf(random, 1.1, 3, words-1)}
}

func (v vocabulary) text(words int) string {
	var b strings.Builder
	for range words {
		switch n := v.zipf.Uint64(); {
		case n < 3:
			b.WriteString([]string{"the ", "is ", "what "}[n])
		case n%11 == 0:
			fmt.Fprintf(&b, "%c%c ", rune(0x4E00+n%40), rune(0x4E00+n%17))
		default:
			fmt.Fprintf(&b, "w%dx ", n)
		}
	}
	return b.String()
}
