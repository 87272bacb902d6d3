package commands

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns the order of a recall's candidates, and how many are taken. It
// must not know how text is scored (package recall), nor how a hit is shown.

// rank scores the candidates and puts them in order: by score, then the newest,
// then by key and the newest item.
func (r *recalling) rank() {
	r.ranks = r.ranking()
	r.ranked = r.ranked[:0]
	for i := range r.found {
		c := &r.found[i]
		c.score = r.score(c)
		r.ranked = append(r.ranked, c)
	}
	r.order()
}

func (r *recalling) score(c *candidate) recall.Score {
	return r.ranks.Score(recall.Signals{Relevance: c.relevance, AgeMs: r.nowMs - c.updatedMs,
		HalfLifeMs: r.halfLifeMs(c), Confidence: c.confidence, Tier: c.tier})
}

func (r *recalling) order() {
	slices.SortFunc(r.ranked, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score.Total, a.score.Total), cmp.Compare(b.updatedMs, a.updatedMs),
			bytes.Compare(a.stored.Key, b.stored.Key), cmp.Compare(b.stored.Item, a.stored.Item))
	})
}

// halfLifeMs is how fast a candidate ages: as the command says, else a policy, else
// its kind.
func (r *recalling) halfLifeMs(c *candidate) int64 {
	if r.params.halfLife > 0 {
		return r.params.halfLife * 1000
	}
	if r.tx.Rules().Policies().Len() > 0 {
		if ms, ok := r.tx.Policy(c.stored.Key).HalfLifeMs(c.stored.Kind); ok {
			return ms
		}
	}
	return c.stored.Kind.Rule().HalfLifeMs
}

// Text and vector count alike: neither is known to be better for what is asked.
// Each is taken as a share of the best candidate's, so that it does not matter in
// what its scores are counted. Rejected: reciprocal ranks, which forget how much
// better the first is than the second.
const (
	textWeight   = 0.5
	vectorWeight = 0.5
)

// unseen is what no hit that was not asked for has more of.
type unseen struct{ text, cosine float64 }

// ranking weighs what the candidates were found by, and sets their relevance.
func (r *recalling) ranking() recall.Ranking {
	ranking := r.params.ranking()
	most := unseen{}
	for i := range r.found {
		most.text, most.cosine = max(most.text, r.found[i].text), max(most.cosine, r.found[i].cosine)
	}
	for i := range r.found {
		c := &r.found[i]
		c.relevance = r.fuse(c.text, c.cosine, c.hasVector, most)
		ranking.RelevanceMax = max(ranking.RelevanceMax, c.relevance)
	}
	r.unseenRelevance = r.fuse(r.unseen.text, r.unseen.cosine, r.unseen.cosine > 0, most)
	return ranking
}

// fuse is the relevance of a candidate. Who has no vector is judged by text alone.
func (r *recalling) fuse(text, cosine float64, hasVector bool, most unseen) float64 {
	switch {
	case r.vector == nil:
		return text
	case len(r.params.query) == 0:
		return cosine
	}
	share := 0.0
	if most.text > 0 {
		share = text / most.text
	}
	if !hasVector || most.cosine == 0 {
		return share
	}
	return float64(textWeight*share) + float64(vectorWeight*(cosine/most.cosine))
}

// settled says whether no hit that was not asked for could be among the chosen:
// not even if it were of this moment and beyond doubt.
func (r *recalling) settled(chosen []*candidate) bool {
	if r.unseenRelevance == 0 {
		return true
	}
	if len(chosen) < int(r.params.topK) {
		return r.collapsed == collapsedMax
	}
	best := r.ranks.Score(recall.Signals{Relevance: r.unseenRelevance, Confidence: 1, Tier: recall.TierSession})
	return chosen[len(chosen)-1].score.Total > best.Total
}

// widen has more hits asked for: where text alone decides, all that could be among
// the chosen; else, or while not enough were chosen, twice as many.
func (r *recalling) widen(chosen []*candidate) {
	switch {
	case r.vector == nil && len(chosen) == int(r.params.topK):
		r.limit, r.atLeast = math.MaxInt, r.ranks.LeastRelevance(chosen[len(chosen)-1].score.Total)
	case r.atLeast > 0:
		r.atLeast = 0 // too many say the same: all there are
	default:
		r.limit *= 2
	}
}

// putPinnedFirst puts pinned records before others where a BUDGET is filled.
func (r *recalling) putPinnedFirst() {
	if r.params.budget > 0 {
		slices.SortStableFunc(r.ranked, func(a, b *candidate) int { return int(flagByte(b.pinned)) - int(flagByte(a.pinned)) })
	}
}

// collapsedMax is how many candidates that say what others say a recall leaves out
// before it looks no further.
const collapsedMax = 1000

// best takes the first TOPK candidates, of those that say the same the better one.
func (r *recalling) best() []*candidate {
	chosen, limit := r.chosen[:0], int(r.params.topK)
	r.collapsed = 0
	r.distinct.Reset()
	for _, c := range r.ranked {
		if len(chosen) == limit || r.collapsed == collapsedMax {
			break
		}
		if c.stored.Decode(&r.record); !r.distinct.Add(r.record.Value) {
			r.collapsed++
			continue
		}
		chosen = append(chosen, c)
	}
	r.chosen = chosen
	return chosen
}

// pack takes of the chosen what BUDGET has room for, pinned ones first.
func (r *recalling) pack(chosen []*candidate) []*candidate {
	p := r.params
	if p.budget == 0 && !p.explain {
		return chosen
	}
	items := make([]recall.Item, len(chosen))
	for i, c := range chosen {
		c.tokens = r.tokens(c)
		items[i] = recall.Item{Tokens: c.tokens, Pinned: c.pinned}
	}
	if p.budget == 0 {
		return chosen
	}
	budget := int(p.budget)
	if p.format == recallPrompt {
		budget -= recall.Estimate([]byte(memory.PromptHeader))
	}
	places, _ := recall.Pack(items, budget)
	packed := make([]*candidate, len(places))
	for i, place := range places {
		packed[i] = chosen[place]
	}
	return packed
}
