// This file owns how a record's signals become one score, and how a budget is
// filled: pure functions over small values. It must not know of indexes.

package recall

import "math"

// Weights says how much each signal counts; only their ratios matter.
type Weights struct{ Relevance, Recency, Confidence float64 }

// DefaultWeights lets what was asked for decide, and age and confidence choose
// between records that fit about equally well.
func DefaultWeights() Weights { return Weights{Relevance: 0.75, Recency: 0.15, Confidence: 0.10} }

// Valid tells whether every weight is finite and not negative, and one is not 0.
func (w Weights) Valid() bool {
	sum := 0.0
	for _, weight := range [3]float64{w.Relevance, w.Recency, w.Confidence} {
		if !(weight >= 0) {
			return false
		}
		sum += weight
	}
	return sum > 0 && !math.IsInf(sum, 0)
}

// Tier is whose knowledge a record is, seen from the asker; nearer ones win
// between records that are otherwise equal.
type Tier uint8

const (
	TierSession Tier = iota // of the session at hand
	TierOwn                 // the owner's, from other sessions
	TierShared              // of another scope
)

// factor is what is left of a score in that tier.
func (t Tier) factor() float64 {
	switch t {
	case TierSession:
		return 1
	case TierOwn:
		return 0.95
	}
	return 0.85
}

// Signals are what is known of one candidate.
type Signals struct {
	Relevance  float64 // Hit.Score, or 0 if it was not found by text
	AgeMs      int64   // now less the record's time; the future counts as now
	HalfLifeMs int64   // the age at which its recency has halved; 0: never
	Confidence float64 // 0..1
	Tier       Tier
}

// Ranking turns the signals of one recall's candidates into scores.
type Ranking struct {
	Weights Weights // must be Valid
	// RelevanceMax is the highest Signals.Relevance of all candidates, 0 if
	// nothing was asked for: then recency and confidence decide alone.
	RelevanceMax float64
}

// Score is a candidate's score and its parts, all from 0 to 1.
type Score struct {
	Total      float64 // the weighted mean of the parts, times the tier's factor
	Relevance  float64 // share of the best candidate's relevance
	Recency    float64 // 1 now, 0.5 after a half-life, 0.25 after two
	Confidence float64
}

// Score computes the score of a candidate. It depends on its arguments only.
func (r Ranking) Score(s Signals) Score {
	score := Score{Confidence: clamp(s.Confidence), Recency: recency(s.AgeMs, s.HalfLifeMs)}
	w := r.Weights
	if r.RelevanceMax > 0 {
		score.Relevance = clamp(s.Relevance / r.RelevanceMax)
	} else {
		w.Relevance = 0
		if w.Recency == 0 && w.Confidence == 0 {
			w = Weights{Recency: 1}
		}
	}
	// Each product is rounded by itself (no fused multiply-add), so that all
	// machines agree.
	sum := float64(w.Relevance*score.Relevance) + float64(w.Recency*score.Recency) +
		float64(w.Confidence*score.Confidence)
	score.Total = clamp(sum / (w.Relevance + w.Recency + w.Confidence) * s.Tier.factor())
	return score
}

// LeastRelevance is what a candidate's relevance must be more than for a score of that
// total, whatever else speaks for it; 0 when it need not be anything.
func (r Ranking) LeastRelevance(total float64) float64 {
	w := r.Weights
	if r.RelevanceMax <= 0 || w.Relevance == 0 {
		return 0
	}
	share := (total*(w.Relevance+w.Recency+w.Confidence) - w.Recency - w.Confidence) / w.Relevance
	const rounding = 1e-9 // less than that comes of it
	return max(0, share-rounding) * r.RelevanceMax
}

func recency(ageMs, halfLifeMs int64) float64 {
	if ageMs <= 0 || halfLifeMs <= 0 {
		return 1
	}
	return math.Exp2(-float64(ageMs) / float64(halfLifeMs))
}

// clamp brings v into 0..1; NaN becomes 0.
func clamp(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	return min(v, 1)
}

// Item is a candidate for a budget.
type Item struct {
	Tokens int // its cost, at least 0
	Pinned bool
}

// Pack chooses from items, which come in score order, those that fit into a
// budget of tokens: the pinned ones first, then the others, whole ones only; an
// item that does not fit is left out and the next is tried. It answers the
// places of the chosen items in that order, and what they cost together.
func Pack(items []Item, budget int) (chosen []int, tokens int) {
	for _, pinned := range [2]bool{true, false} {
		for i, item := range items {
			if item.Pinned == pinned && item.Tokens <= budget-tokens {
				chosen = append(chosen, i)
				tokens += item.Tokens
			}
		}
	}
	return chosen, tokens
}
