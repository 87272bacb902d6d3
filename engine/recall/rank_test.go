// This file owns the tests of fusion and packing.

package recall

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestScoreParts(t *testing.T) {
	equal := Weights{Relevance: 1, Recency: 1, Confidence: 1}
	tables := []struct {
		name    string
		ranking Ranking
		signals Signals
		want    Score
	}{
		{"the best of all", Ranking{equal, 8}, Signals{8, 0, 1000, 1, TierSession}, Score{1, 1, 1, 1}},
		{"nothing speaks for it", Ranking{equal, 8}, Signals{0, math.MaxInt64, 1, 0, TierSession}, Score{0, 0, 0, 0}},
		{"half of everything", Ranking{equal, 8}, Signals{4, 1000, 1000, 0.5, TierSession}, Score{0.5, 0.5, 0.5, 0.5}},
		{"two half-lives", Ranking{equal, 8}, Signals{0, 2000, 1000, 0, TierSession}, Score{0.25 / 3, 0, 0.25, 0}},
		{"one half-life", Ranking{Weights{0, 1, 0}, 1}, Signals{0, 1000, 1000, 1, TierSession}, Score{0.5, 0, 0.5, 1}},
		{"no half-life", Ranking{equal, 8}, Signals{8, math.MaxInt64, 0, 1, TierSession}, Score{1, 1, 1, 1}},
		{"from the future", Ranking{equal, 8}, Signals{8, -5, 1000, 1, TierSession}, Score{1, 1, 1, 1}},
		{"nothing asked", Ranking{equal, 0}, Signals{0, 1000, 1000, 0.5, TierSession}, Score{0.5, 0, 0.5, 0.5}},
		{"nothing asked, relevance alone weighted", Ranking{Weights{1, 0, 0}, 0}, Signals{0, 1000, 1000, 1, TierSession}, Score{0.5, 0, 0.5, 1}},
		{"only ratios matter", Ranking{Weights{20, 10, 10}, 8}, Signals{4, 0, 1000, 0, TierSession}, Score{0.5, 0.5, 1, 0}},
		{"an own record of another session", Ranking{equal, 8}, Signals{8, 0, 1000, 1, TierOwn}, Score{0.95, 1, 1, 1}},
		{"a shared record", Ranking{equal, 8}, Signals{8, 0, 1000, 1, TierShared}, Score{0.85, 1, 1, 1}},
		{"NaN is nothing", Ranking{equal, 8}, Signals{math.NaN(), 0, 1000, math.NaN(), TierSession}, Score{1.0 / 3, 0, 1, 0}},
	}
	for _, test := range tables {
		got := test.ranking.Score(test.signals)
		for i, pair := range [][2]float64{{got.Total, test.want.Total}, {got.Relevance, test.want.Relevance},
			{got.Recency, test.want.Recency}, {got.Confidence, test.want.Confidence}} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("%s: part %d is %v, want %v", test.name, i, pair[0], pair[1])
			}
		}
	}
}

func TestWeightsValid(t *testing.T) {
	tables := []struct {
		weights Weights
		want    bool
	}{
		{DefaultWeights(), true},
		{Weights{1, 0, 0}, true},
		{Weights{0, 0, 0}, false},
		{Weights{-1, 2, 0}, false},
		{Weights{math.NaN(), 1, 1}, false},
		{Weights{math.Inf(1), 1, 1}, false},
		{Weights{math.MaxFloat64, math.MaxFloat64, 0}, false},
	}
	for _, test := range tables {
		if got := test.weights.Valid(); got != test.want {
			t.Errorf("%+v: valid %v, want %v", test.weights, got, test.want)
		}
	}
}

func TestPack(t *testing.T) {
	tables := []struct {
		name   string
		items  []Item
		budget int
		want   []int
		tokens int
	}{
		{"nothing to choose from", nil, 100, nil, 0},
		{"all fit", []Item{{10, false}, {20, false}}, 30, []int{0, 1}, 30},
		{"what does not fit is skipped, not cut", []Item{{10, false}, {25, false}, {15, false}}, 30, []int{0, 2}, 25},
		{"pinned first", []Item{{20, false}, {20, true}, {5, false}}, 30, []int{1, 2}, 25},
		{"pinned keep their order", []Item{{1, true}, {1, false}, {1, true}}, 3, []int{0, 2, 1}, 3},
		{"a pinned one that is too long", []Item{{50, true}, {20, false}}, 30, []int{1}, 20},
		{"empty items are free", []Item{{0, false}, {5, false}}, 0, []int{0}, 0},
		{"no budget", []Item{{1, false}}, -1, nil, 0},
		{"no overflow", []Item{{math.MaxInt, false}, {math.MaxInt, false}}, math.MaxInt, []int{0}, math.MaxInt},
	}
	for _, test := range tables {
		got, tokens := Pack(test.items, test.budget)
		if !slices.Equal(got, test.want) || tokens != test.tokens {
			t.Errorf("%s: %v of %d tokens, want %v of %d", test.name, got, tokens, test.want, test.tokens)
		}
	}
}

// TestLeastRelevance: with less no candidate scores as much, with a little more the
// best does.
func TestLeastRelevance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	needed := 0
	for range 10_000 {
		ranking := Ranking{Weights: Weights{r.Float64(), r.Float64(), r.Float64()}, RelevanceMax: 1 + r.Float64()*50}
		total := r.Float64()
		least := ranking.LeastRelevance(total)
		best := func(relevance float64) float64 {
			return ranking.Score(Signals{Relevance: relevance, Confidence: 1, Tier: TierSession}).Total
		}
		if least == 0 {
			if best(0) < total-1e-6 {
				t.Fatalf("%+v: %v without any relevance, not %v", ranking, best(0), total)
			}
			continue
		}
		needed++
		if best(least) >= total || least < ranking.RelevanceMax && best(least*(1+1e-6)+1e-6) < total {
			t.Fatalf("%+v: %v for a total of %v, it gives %v", ranking, least, total, best(least))
		}
	}
	if needed < 1000 {
		t.Errorf("%d of 10,000 need relevance", needed)
	}
}
