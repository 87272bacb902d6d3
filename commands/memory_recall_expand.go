package commands

import (
	"reminis/engine"
	"reminis/engine/recall"
)

// This file owns EXPAND: what the links of hits add to a recall, and what they take
// away. It must not know how links are kept.
//
// The best TOPK candidates are the hits. What a hit leads to is a candidate too,
// with half of the hit's score times the link's weight for each step, or its own
// score if that is more. The relation `excludes` takes what it leads to out of the
// recall, unless that stands before it; what was taken out leads nowhere. Rights,
// scope and filters hold for what links lead to as for anything else.

const (
	// linkDecay is what is left of a score after a step.
	linkDecay = 0.5
	// linksFollowed bounds the links that one recall follows.
	linksFollowed = 1000
	// relationExcludes is the one relation that does not add.
	relationExcludes = "excludes"
)

// expanding is an EXPAND on its way.
type expanding struct {
	*recalling
	sources  []source
	byKey    map[string]*candidate // whole records among the candidates
	excluded map[string]bool
	left     int // links that may be followed
}

func (r *recalling) expand(sources []source) {
	if r.params.expand == 0 {
		return
	}
	e := expanding{recalling: r, sources: sources, byKey: map[string]*candidate{}, excluded: map[string]bool{}, left: linksFollowed}
	for _, c := range r.ranked {
		if c.stored.Item == 0 {
			e.byKey[string(c.stored.Key)] = c
		}
	}
	frontier := r.ranked[:min(len(r.ranked), int(r.params.topK))]
	passed := map[string]bool{}
	for range r.params.expand {
		var next []*candidate
		for _, c := range frontier {
			if key := string(c.stored.Key); !e.excluded[key] && !passed[key] {
				passed[key] = true
				next = e.follow(c, passed, next)
			}
		}
		frontier = next
	}
	kept := r.ranked[:0]
	for _, c := range r.ranked {
		if !e.excluded[string(c.stored.Key)] {
			kept = append(kept, c)
		}
	}
	r.ranked = kept
	r.order()
}

// follow follows the links of a candidate, and adds what they lead to that was not
// passed yet.
func (e *expanding) follow(c *candidate, passed map[string]bool, next []*candidate) []*candidate {
	from := e.sourceOf(c)
	from.view.Links(c.stored.Key, func(link engine.Link) bool {
		key := string(link.To)
		switch {
		case passed[key]:
		case string(link.Relation) == relationExcludes:
			e.excluded[key] = true
		case link.Weight > 0 && !e.excluded[key]:
			if to := e.reach(from, link, c.score.Total*linkDecay*link.Weight); to != nil {
				next = append(next, to)
			}
		}
		e.left--
		return e.left > 0
	})
	return next
}

// sourceOf is where a candidate came from.
func (e *expanding) sourceOf(c *candidate) *source {
	ownerLen := e.tx.Layout().OwnerLen(c.stored.Key)
	for i := range e.sources {
		if e.sources[i].view.Name == string(c.stored.Key[:ownerLen]) {
			return &e.sources[i]
		}
	}
	panic("commands: a candidate of no source")
}

// reach makes what a link leads to a candidate with at least that score; nil when
// it may not be recalled.
func (e *expanding) reach(from *source, link engine.Link, score float64) *candidate {
	to := e.byKey[string(link.To)]
	if to == nil {
		if to = e.unasked(from.view.Name, link.To); to == nil {
			return nil
		}
		e.byKey[string(link.To)] = to
		e.ranked = append(e.ranked, to)
	}
	if score > to.score.Total {
		to.score.Total, to.linked = score, score
	}
	return to
}

// unasked makes a record of an owner a candidate that no query found; nil when no
// source has it.
func (e *expanding) unasked(owner string, key []byte) *candidate {
	for i := range e.sources {
		from := &e.sources[i]
		if from.view.Name != owner {
			continue
		}
		s, ok := from.view.Get(key)
		if e.scanned++; ok && e.accepts(from, &s) {
			c := e.candidate(from, s, recall.Hit{}, 0)
			c.score = e.score(&c)
			c.score.Total = 0
			return &c
		}
	}
	return nil
}
