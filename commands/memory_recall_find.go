package commands

import (
	"bytes"
	"slices"

	"reminis/engine"
	"reminis/engine/memory"
	"reminis/engine/recall"
	"reminis/engine/vector"
)

// This file owns the candidates of a recall: which owners are looked at, and which
// of their records pass the filters. It must not know which candidate is better.

// source is one owner in a scope that is recalled from, at the moment of the
// command.
type source struct {
	view   *engine.OwnerView
	scope  memory.Scope
	except *memory.Scope // a scope whose records come from another source

	// among are the documents, ascending, that the filter may hold of; narrowed says
	// that these are not all.
	among    []uint64
	narrowed bool
}

// sources are the owners of a scope. Where except is given, they are shared.
func (r *recalling) sources(scope memory.Scope, except *memory.Scope) (list []source, err error) {
	for _, name := range ownersIn(r.tx, scope) {
		view, ok := r.viewOf(name)
		if !ok {
			continue
		}
		if view, err = r.asOf(view); err != nil {
			return nil, err
		}
		from := source{view: view, scope: scope, except: except}
		if r.need != nil {
			from.among, from.narrowed = view.Narrow(r.need)
		}
		list = append(list, from)
	}
	return list, nil
}

// viewOf is an owner as the snapshot has it; without one, as it is now.
func (r *recalling) viewOf(owner string) (view *engine.OwnerView, ok bool) {
	if r.snapshot != nil {
		view, ok = r.snapshot[owner]
		return view, ok
	}
	return r.tx.OwnerView([]byte(owner))
}

// asOf is a view at the moment that is recalled: the newest of all its owners.
func (r *recalling) asOf(view *engine.OwnerView) (*engine.OwnerView, error) {
	if !r.params.at.Set {
		return view, nil
	}
	past, err := view.AsOf(r.params.at, len(r.params.query) > 0)
	if err == nil {
		r.nowMs = max(r.nowMs, past.NowMs())
	}
	return past, err
}

// withShared adds the owners of the shared scope, but for what is in the own one.
func (r *recalling) withShared(list []source, own *memory.Scope) ([]source, error) {
	if r.params.shared == nil {
		return list, nil
	}
	shared, err := r.tx.Layout().ParseScope(r.params.shared)
	if err != nil {
		return nil, err
	}
	others, err := r.sources(shared, own)
	return append(list, others...), err
}

func (r *recalling) accepts(from *source, s *engine.Stored) bool {
	return from.scope.Contains(s.Key) && (from.except == nil || !from.except.Contains(s.Key)) && r.admits(from, s)
}

// gather adds the candidates of a source.
func (r *recalling) gather(from *source) {
	if len(r.params.query) > 0 || r.vector != nil {
		r.search(from)
		return
	}
	consider := func(part engine.Stored, _ uint64) bool {
		r.scanned++
		if r.accepts(from, &part) {
			r.add(from, part, recall.Hit{}, 0)
		}
		return true
	}
	switch {
	case r.newest > 0:
		r.gatherNewest(from, consider)
		return
	case from.narrowed:
		for _, doc := range from.among {
			// A list is not recalled whole, but by its items.
			if s, ok := from.view.ByDoc(doc); ok && (s.Item != 0 || !s.IsList()) {
				consider(s, doc)
			}
		}
		return
	}
	eachRecord(from.view, from.scope, nil, func(s engine.Stored, doc uint64) bool {
		from.view.Parts(s, doc, consider)
		return true
	})
}

// newestWalk is how many records and items a recall without a query passes over
// for each that it wants, when it wants the newest ones.
const newestWalk = 100

// gatherNewest considers the newest records of the kinds wanted.
func (r *recalling) gatherNewest(from *source, consider func(engine.Stored, uint64) bool) {
	wanted, walk := r.newest, newestWalk*r.newest
	from.view.Newest(func(s engine.Stored, doc uint64) bool {
		if r.kinds[s.Kind] {
			consider(s, doc)
			wanted--
		}
		walk--
		return wanted > 0 && walk > 0
	})
}

// search adds what the text and the vector asked for find. A record that only one
// of them finds counts for the other what it has: a cosine is computed, and the
// text's share is nothing.
func (r *recalling) search(from *source) {
	first := len(r.found)
	accept := r.acceptor(from)
	if len(r.params.query) > 0 {
		r.searchText(from, accept)
	}
	if r.vector != nil {
		r.searchVectors(from, accept, first)
	}
	if r.params.budget > 0 {
		r.addPinned(from, first)
	}
}

// acceptor says which documents may be hits.
func (r *recalling) acceptor(from *source) func(doc uint64) bool {
	return func(doc uint64) bool {
		if from.narrowed && !from.has(doc) {
			return false
		}
		s, ok := from.view.ByDoc(doc)
		return ok && r.accepts(from, &s)
	}
}

// classes says which documents of a source may be hits whatever is in them: none of
// kinds that are not wanted, and all of others where nothing more is asked and all
// stand.
func (r *recalling) classes(from *source) (verdicts [recall.ClassMax + 1]recall.Verdict) {
	whole := r.unfiltered && from.except == nil && string(from.scope.Text()) == from.view.Name
	for kind := memory.Working; kind <= memory.Semantic; kind++ {
		switch {
		case r.someKinds && !r.kinds[kind]:
			verdicts[kind] = recall.No
		case whole && from.view.AllStand(kind):
			verdicts[kind] = recall.Yes
		}
	}
	return verdicts
}

// has says whether a document is among those that the filter may hold of.
func (s *source) has(doc uint64) bool {
	_, ok := slices.BinarySearch(s.among, doc)
	return ok
}

func (r *recalling) searchText(from *source, accept func(doc uint64) bool) {
	result := r.searcher.Search(from.view.Index(), recall.Query{Text: string(r.params.query),
		Limit: r.limit, AtLeast: r.atLeast, Neighbours: int(r.params.neighbours), Accept: accept, Classes: r.classes(from)})
	r.scanned += result.Scanned
	for _, hit := range result.Hits {
		if s, ok := from.view.ByDoc(hit.ID); ok {
			r.add(from, s, hit, hit.Score/result.Ceiling)
		}
	}
	if n := len(result.Hits); n == r.limit {
		r.unseen.text = max(r.unseen.text, result.Hits[n-1].Score/result.Ceiling)
	}
	r.unseen.text = max(r.unseen.text, r.atLeast)
}

// searchVectors adds the records whose vectors are most like the one asked for to
// those of the source that were found by text, from a place on.
func (r *recalling) searchVectors(from *source, accept func(doc uint64) bool, first int) {
	vectors := from.view.Vectors()
	if vectors == nil {
		return
	}
	if err := memory.CheckDimensions(len(r.vector), vectors.Dimensions()); err != nil {
		if len(r.params.vector) > 0 {
			r.err = err
		}
		return // the owner's vectors are not the embedder's
	}
	result := vectors.Search(vector.Query{Vector: r.vector, Limit: r.limit, Accept: accept})
	r.scanned += result.Scanned
	for _, hit := range result.Hits {
		if hit.Score <= 0 {
			break
		}
		at := r.place(first, hit.ID)
		if s, ok := from.view.ByDoc(hit.ID); ok && at < 0 {
			r.add(from, s, recall.Hit{ID: hit.ID}, 0)
			at = len(r.found) - 1
		}
		if at >= 0 && !r.found[at].hasVector {
			// The vector was made for the record, so it is not in the record.
			r.found[at].hasVector, r.found[at].cosine = true, hit.Score
		}
	}
	if n := len(result.Hits); n == r.limit {
		r.unseen.cosine = max(r.unseen.cosine, result.Hits[n-1].Score)
	}
}

// isFound says whether a document is among the candidates from a place on.
func (r *recalling) isFound(first int, doc uint64) bool { return r.place(first, doc) >= 0 }

// place is where it is among them, -1 when it is not.
func (r *recalling) place(first int, doc uint64) int {
	at := slices.IndexFunc(r.found[first:], func(c candidate) bool { return c.hit.ID == doc })
	if at < 0 {
		return -1
	}
	return first + at
}

// addPinned adds the pinned records of a source that were not found.
func (r *recalling) addPinned(from *source, first int) {
	from.view.Pinned(func(s engine.Stored, doc uint64) bool {
		from.view.Parts(s, doc, func(part engine.Stored, doc uint64) bool {
			r.scanned++
			if !r.isFound(first, doc) && r.accepts(from, &part) {
				r.add(from, part, recall.Hit{}, 0)
			}
			return true
		})
		return true
	})
}

// admits says whether a record stands and passes the filters.
func (r *recalling) admits(from *source, s *engine.Stored) bool {
	p, rec := r.params, &r.record
	if from.view.Past(s.DeadlineMs) || r.someKinds && !r.kinds[s.Kind] {
		return false
	}
	if r.unfiltered && s.Lasting {
		return true
	}
	s.Decode(rec)
	return rec.ValidAt(r.nowMs) && rec.Confidence >= p.minConfidence &&
		(!p.hasFrom || rec.UpdatedMs >= p.from) && (!p.hasTo || rec.UpdatedMs <= p.to) &&
		(p.tagMatch == 0 || p.tagged(rec)) &&
		(len(p.schema) == 0 || p.shaped(rec)) &&
		(r.filter == nil || r.fits(from.view.Policy(s.Key), rec))
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

// fits says whether the filter holds of what may be shown of a record.
func (r *recalling) fits(policy *memory.Policy, rec *memory.Record) bool {
	if r.err != nil {
		return false
	}
	policy.HideEncrypted(rec)
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
func (r *recalling) add(from *source, s engine.Stored, hit recall.Hit, text float64) {
	r.found = append(r.found, r.candidate(from, s, hit, text))
}

func (r *recalling) candidate(from *source, s engine.Stored, hit recall.Hit, text float64) candidate {
	signals := s.Signals()
	c := candidate{stored: s, hit: hit, text: text, updatedMs: signals.UpdatedMs,
		confidence: signals.Confidence, pinned: signals.Pinned, tier: r.tier(from, s.Key)}
	if r.vector == nil || s.Item != 0 {
		return c
	}
	mustDecode(s.Bytes, &r.record)
	if blob := r.record.Vector; len(blob) == 4*len(r.vector) {
		c.hasVector, c.cosine = true, max(0, vector.Cosine(blob, r.vector))
	}
	return c
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
