package commands

import (
	"bytes"
	"slices"

	"reminis/engine"
	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns the candidates of a recall: which owners are looked at, and which
// of their records pass the filters. It must not know which candidate is better.

// source is one owner in a scope that is recalled from, at the moment of the
// command.
type source struct {
	view   *engine.OwnerView
	scope  memory.Scope
	except *memory.Scope // a scope whose records come from another source
}

// sources are the owners of a scope. Where except is given, they are shared.
func (r *recalling) sources(scope memory.Scope, except *memory.Scope) (list []source) {
	for _, name := range ownersIn(r.tx, scope) {
		if view, ok := r.tx.OwnerView([]byte(name)); ok {
			list = append(list, source{view, scope, except})
		}
	}
	return list
}

func (r *recalling) accepts(from *source, s *engine.Stored) bool {
	return from.scope.Contains(s.Key) && (from.except == nil || !from.except.Contains(s.Key)) && r.admits(s)
}

// gather adds the candidates of a source.
func (r *recalling) gather(from *source) {
	if len(r.params.query) > 0 {
		r.search(from)
		return
	}
	eachRecord(r.tx, from.view, from.scope, nil, func(s engine.Stored, doc uint64) bool {
		from.view.Parts(s, doc, func(part engine.Stored, _ uint64) bool {
			r.scanned++
			if r.accepts(from, &part) {
				r.add(from, part, recall.Hit{}, 0)
			}
			return true
		})
		return true
	})
}

func (r *recalling) search(from *source) {
	p := r.params
	query := recall.Query{Text: string(p.query), Limit: r.limit, Neighbours: int(p.neighbours)}
	if !r.unfiltered || from.view.Perishable > 0 || from.except != nil || string(from.scope.Text()) != from.view.Name {
		query.Accept = func(doc uint64) bool {
			s, ok := from.view.ByDoc(doc)
			return ok && r.accepts(from, &s)
		}
	}
	result := r.searcher.Search(from.view.Index(), query)
	r.scanned += result.Scanned
	for _, hit := range result.Hits {
		if s, ok := from.view.ByDoc(hit.ID); ok {
			r.add(from, s, hit, hit.Score/result.Ceiling)
		}
	}
	if n := len(result.Hits); n == r.limit {
		r.unseen = max(r.unseen, result.Hits[n-1].Score/result.Ceiling)
	}
	if p.budget == 0 {
		return
	}
	from.view.Pinned(func(s engine.Stored, doc uint64) bool {
		from.view.Parts(s, doc, func(part engine.Stored, doc uint64) bool {
			isHit := slices.ContainsFunc(result.Hits, func(h recall.Hit) bool { return h.ID == doc })
			r.scanned++
			if !isHit && r.accepts(from, &part) {
				r.add(from, part, recall.Hit{}, 0)
			}
			return true
		})
		return true
	})
}

// admits says whether a record stands and passes the filters.
func (r *recalling) admits(s *engine.Stored) bool {
	p, rec := r.params, &r.record
	if r.tx.Past(s.DeadlineMs) {
		return false
	}
	if r.unfiltered && s.Lasting {
		return true
	}
	s.Decode(rec)
	return rec.ValidAt(r.tx.NowMs()) && rec.Confidence >= p.minConfidence &&
		(len(p.kinds) == 0 || r.kinds[rec.Kind]) &&
		(!p.hasFrom || rec.UpdatedMs >= p.from) && (!p.hasTo || rec.UpdatedMs <= p.to) &&
		(p.tagMatch == 0 || p.tagged(rec)) &&
		(len(p.schema) == 0 || p.shaped(rec)) &&
		(r.filter == nil || r.fits(rec))
}

// shaped says whether a record has the schema asked for, in any version unless one
// is named.
func (p *memRecallParams) shaped(rec *memory.Record) bool {
	name, version := rec.Schema, bytes.LastIndexByte(rec.Schema, '@')
	if version >= 0 && bytes.IndexByte(p.schema, '@') < 0 {
		name = name[:version]
	}
	return bytes.Equal(name, p.schema)
}

// fits says whether the filter holds.
func (r *recalling) fits(rec *memory.Record) bool {
	if r.err != nil {
		return false
	}
	yes, err := r.filter.Accepts(rec.Value, rec.Text)
	r.err = err
	return yes
}

func (p *memRecallParams) tagged(rec *memory.Record) bool {
	for _, tag := range p.tags {
		if rec.HasTag(tag) != (p.tagMatch == tagsAll) {
			return p.tagMatch == tagsAny
		}
	}
	return p.tagMatch == tagsAll
}

// add makes a record a candidate.
func (r *recalling) add(from *source, s engine.Stored, hit recall.Hit, relevance float64) {
	rec := &r.record
	s.Decode(rec)
	r.found = append(r.found, candidate{stored: s, hit: hit, relevance: relevance, updatedMs: rec.UpdatedMs,
		confidence: rec.Confidence, halfLifeMs: r.halfLifeMs(s.Key, rec.Kind), pinned: rec.Pinned, tier: r.tier(from, s.Key)})
}

func (r *recalling) tier(from *source, key []byte) recall.Tier {
	switch {
	case from.except != nil:
		return recall.TierShared
	case r.params.session == nil, bytes.Equal(memory.Key{Text: key, OwnerLen: len(from.view.Name)}.Session(), r.params.session):
		return recall.TierSession
	}
	return recall.TierOwn
}
