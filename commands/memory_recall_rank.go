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
	ranking := r.ranking()
	r.ranked = r.ranked[:0]
	for i := range r.found {
		c := &r.found[i]
		c.score = ranking.Score(recall.Signals{
			Relevance: c.relevance, AgeMs: r.tx.NowMs() - c.updatedMs, Confidence: c.confidence, Tier: c.tier, HalfLifeMs: c.halfLifeMs})
		r.ranked = append(r.ranked, c)
	}
	slices.SortFunc(r.ranked, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score.Total, a.score.Total), cmp.Compare(b.updatedMs, a.updatedMs),
			bytes.Compare(a.stored.Key, b.stored.Key), cmp.Compare(b.stored.Item, a.stored.Item))
	})
}

// halfLifeMs is a record's own by its policy, where the command states none.
func (r *recalling) halfLifeMs(key []byte, kind memory.Kind) int64 {
	if r.params.halfLife != 0 {
		return 0
	}
	ms, ok := r.tx.Policy(key).HalfLifeMs(kind)
	if ok && ms == 0 {
		return math.MaxInt64 // it never fades
	}
	return ms
}

func (r *recalling) ranking() recall.Ranking {
	ranking := r.params.ranking()
	for i := range r.found {
		ranking.RelevanceMax = max(ranking.RelevanceMax, r.found[i].relevance)
	}
	return ranking
}

// settled says whether no hit that was not asked for could be among the best: not
// even if it were of this moment and beyond doubt.
func (r *recalling) settled() bool {
	k := int(r.params.topK)
	if r.unseen == 0 || len(r.ranked) < k {
		return true
	}
	best := r.ranking().Score(recall.Signals{Relevance: r.unseen, Confidence: 1, Tier: recall.TierSession})
	return r.ranked[k-1].score.Total > best.Total
}

// choose takes the best, as many as TOPK and BUDGET allow.
func (r *recalling) choose() []*candidate {
	p := r.params
	chosen := r.ranked
	if p.budget > 0 {
		slices.SortStableFunc(chosen, func(a, b *candidate) int { return int(flagByte(b.pinned)) - int(flagByte(a.pinned)) })
	}
	chosen = chosen[:min(int(p.topK), len(chosen))]
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
		budget -= recall.Estimate(memory.PromptHeader)
	}
	places, _ := recall.Pack(items, budget)
	packed := make([]*candidate, len(places))
	for i, place := range places {
		packed[i] = chosen[place]
	}
	return packed
}
