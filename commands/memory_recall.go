package commands

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns MEM.RECALL: the best records for this moment. It gathers
// candidates, filters them and shows what package recall made of them; it must
// not know how text is scored.

type memRecallParams struct {
	scope         []byte
	query         []byte
	kinds         [][]byte
	tagMatch      tagMatch
	tags          [][]byte
	from, to      int64
	hasFrom       bool
	hasTo         bool
	minConfidence float64
	session       []byte
	shared        []byte
	topK          int64
	budget        int64
	halfLife      int64 // seconds
	weights       []float64
	neighbours    int64
	format        recallFormat
	explain       bool
}

// tagMatch is ANY or ALL, by the place of the word.
type tagMatch uint8

const (
	tagsAny tagMatch = iota + 1
	tagsAll
)

// recallFormat is FORMAT, by the place of its word.
type recallFormat uint8

const (
	recallRows recallFormat = iota + 1
	recallPrompt
	recallJSON
)

// The limits of a recall.
const (
	recallTopKDefault = 10
	recallTopKMax     = 1000       // mem-recall-topk: longer results are what MEM.NS LIST is for
	recallBudgetMax   = 10_000_000 // tokens; more than any model reads
	recallHalfLifeMax = 1 << 32    // seconds, 136 years
)

// memRecallCommand: pinned records come first where a BUDGET is to be filled,
// whether the query finds them or not; elsewhere they have no preference.
func memRecallCommand() *Command {
	pool := &sync.Pool{New: func() any { return new(recallMemory) }}
	return onData(memoryDeclaration(Declaration{
		Name: "mem.recall", Complexity: "O(P) where P is the number of the query's postings in the index; without a query O(N), the records in the scope",
		Summary: "Find the best memory records for this moment",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.OneOf(reply.ArrayOf(hitShape()), reply.Verbatim(), reply.Bulk()),
	}), grammar.Compile[memRecallParams](
		scopeNode("scope", func(p *memRecallParams) *[]byte { return &p.scope }),
		grammar.Options(append(recallFilters(), recallShape()...)...),
		grammar.Check(checkRecall),
	), func(tx *engine.Tx, p *memRecallParams, w *reply.Writer) error {
		m := pool.Get().(*recallMemory)
		defer pool.Put(m)
		defer m.forget()
		return runMemRecall(tx, p, m, w)
	})
}

// recallFilters say which records may be recalled.
func recallFilters() []grammar.Node {
	return []grammar.Node{
		textNode("query", "QUERY", memory.LimitAnchor(), func(p *memRecallParams) *[]byte { return &p.query }),
		grammar.Counted("numkinds", "kind", func(p *memRecallParams) *[][]byte { return &p.kinds }).After("KIND").Sample("1", "profile"),
		grammar.Block("tags",
			grammar.Enum("match", func(p *memRecallParams) *tagMatch { return &p.tagMatch }, "ANY", "ALL"),
			grammar.Counted("numtags", "tag", func(p *memRecallParams) *[][]byte { return &p.tags }),
		).After("TAGS"),
		timeNode("from", "FROM", func(p *memRecallParams) *int64 { return &p.from }).
			Present(grammar.BoolOf(func(p *memRecallParams) *bool { return &p.hasFrom })),
		timeNode("to", "TO", func(p *memRecallParams) *int64 { return &p.to }).
			Present(grammar.BoolOf(func(p *memRecallParams) *bool { return &p.hasTo })),
		parsed("confidence", "MINCONFIDENCE", memory.ParseConfidence, func(p *memRecallParams) *float64 { return &p.minConfidence }).Sample("0.5"),
		grammar.Bytes("segment", func(p *memRecallParams) *[]byte { return &p.session }).After("SESSION"),
		grammar.Bytes("scope", func(p *memRecallParams) *[]byte { return &p.shared }).After("SHARED").Typed(grammar.TypePattern),
		unsupported[*memRecallParams]("VECTOR"), unsupported[*memRecallParams]("SCHEMA"), unsupported[*memRecallParams]("FILTER"),
		unsupported[*memRecallParams]("AT"), unsupported[*memRecallParams]("EXPAND"),
	}
}

// recallShape says how many there are, in which order and form.
func recallShape() []grammar.Node {
	return []grammar.Node{
		grammar.Int("topk", func(p *memRecallParams) *int64 { return &p.topK }).After("TOPK").
			Range(1, recallTopKMax).Default(recallTopKDefault).Fail(grammar.OutOfRange, "ERR TOPK is not from 1 to 1000, limit mem-recall-topk"),
		grammar.Int("tokens", func(p *memRecallParams) *int64 { return &p.budget }).After("BUDGET").Range(1, recallBudgetMax),
		grammar.Int("seconds", func(p *memRecallParams) *int64 { return &p.halfLife }).After("HALFLIFE").Range(1, recallHalfLifeMax),
		grammar.Floats("weight", func(p *memRecallParams) *[]float64 { return &p.weights }, func(*memRecallParams) int64 { return 3 }).After("WEIGHTS"),
		grammar.Int("turns", func(p *memRecallParams) *int64 { return &p.neighbours }).After("NEIGHBOURS").
			Range(0, recall.NeighboursMax).Default(recall.DefaultNeighbours),
		grammar.Enum("format", func(p *memRecallParams) *recallFormat { return &p.format }, "ROWS", "PROMPT", "JSON").
			After("FORMAT").Fail(grammar.Syntax, string(ErrFormat)),
		grammar.Token("EXPLAIN", func(p *memRecallParams) *bool { return &p.explain }),
	}
}

func checkRecall(p *memRecallParams) *grammar.Error {
	if p.explain && p.format == recallPrompt {
		return grammar.Fail(grammar.Other, string(ErrExplainPrompt))
	}
	if len(p.weights) > 0 && !p.ranking().Weights.Valid() {
		return grammar.Fail(grammar.Other, string(ErrWeights))
	}
	return nil
}

func (p *memRecallParams) ranking() recall.Ranking {
	r := recall.Ranking{Weights: recall.DefaultWeights(), HalfLifeMs: p.halfLife * 1000}
	if len(p.weights) == 3 {
		r.Weights = recall.Weights{Relevance: p.weights[0], Recency: p.weights[1], Confidence: p.weights[2]}
	}
	return r
}

// candidate is a record that may be recalled, with what it is ranked by. The
// record is decoded again where it is shown: candidates may be many.
type candidate struct {
	stored     engine.Stored
	hit        recall.Hit
	relevance  float64 // the hit's score as a share of its owner's ceiling
	updatedMs  int64
	confidence float64
	pinned     bool
	tier       recall.Tier
	score      recall.Score
	tokens     int
}

// recalling is one MEM.RECALL on its way.
type recalling struct {
	tx     *engine.Tx
	params *memRecallParams
	*recallMemory
	kinds      [8]bool
	unfiltered bool          // every record that stands is wanted
	limit      int           // hits asked of each owner's index
	record     memory.Record // of the candidate that is looked at
	unseen     float64       // no hit that was not asked for is more relevant
	scanned    int
}

// recallMemory is what one recall leaves to the next: memory alone.
type recallMemory struct {
	searcher recall.Searcher
	found    []candidate
	ranked   []*candidate // found, the best first
	fields   []memory.Field
}

// forget lets go of records, and of the memory of a large recall.
func (m *recallMemory) forget() {
	clear(m.found)
	clear(m.ranked)
	clear(m.fields[:cap(m.fields)])
	m.found, m.ranked = m.found[:0], m.ranked[:0]
	if cap(m.found) > 4096 {
		m.found, m.ranked = nil, nil
	}
}

// surplus is how many more hits than wanted are asked of an index at first: age
// and confidence may change their order.
const surplus = 64

func runMemRecall(tx *engine.Tx, p *memRecallParams, m *recallMemory, w *reply.Writer) error {
	r := recalling{tx: tx, params: p, recallMemory: m, limit: int(p.topK) + surplus}
	r.unfiltered = len(p.kinds) == 0 && p.tagMatch == 0 && !p.hasFrom && !p.hasTo && p.minConfidence == 0
	own, err := tx.Layout().ParseScope(p.scope)
	if err != nil {
		return err
	}
	for _, name := range p.kinds {
		kind, err := memory.ParseKind(name)
		if err != nil {
			return err
		}
		r.kinds[kind] = true
	}
	sources := r.sources(own, nil)
	if p.shared != nil {
		shared, err := tx.Layout().ParseScope(p.shared)
		if err != nil {
			return err
		}
		sources = append(sources, r.sources(shared, &own)...)
	}
	for {
		r.found, r.unseen, r.scanned = r.found[:0], 0, 0
		for i := range sources {
			r.gather(&sources[i])
		}
		if r.rank(); r.settled() {
			return r.show(r.choose(), w)
		}
		r.limit *= 4
	}
}

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
	eachRecord(r.tx, from.view, from.scope, nil, func(s engine.Stored, _ uint64) bool {
		r.scanned++
		if r.accepts(from, &s) {
			r.add(from, s, recall.Hit{}, 0)
		}
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
		isHit := slices.ContainsFunc(result.Hits, func(h recall.Hit) bool { return h.ID == doc })
		r.scanned++
		if !isHit && r.accepts(from, &s) {
			r.add(from, s, recall.Hit{}, 0)
		}
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
	mustDecode(s.Bytes, rec)
	return rec.ValidAt(r.tx.NowMs()) && rec.Confidence >= p.minConfidence &&
		(len(p.kinds) == 0 || r.kinds[rec.Kind]) &&
		(!p.hasFrom || rec.UpdatedMs >= p.from) && (!p.hasTo || rec.UpdatedMs <= p.to) &&
		(p.tagMatch == 0 || p.tagged(rec))
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
	mustDecode(s.Bytes, rec)
	r.found = append(r.found, candidate{stored: s, hit: hit, relevance: relevance, updatedMs: rec.UpdatedMs,
		confidence: rec.Confidence, pinned: rec.Pinned, tier: r.tier(from, s.Key)})
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

// rank scores the candidates and puts them in order: by score, then the newest,
// then by key.
func (r *recalling) rank() {
	ranking := r.ranking()
	r.ranked = r.ranked[:0]
	for i := range r.found {
		c := &r.found[i]
		c.score = ranking.Score(recall.Signals{
			Relevance: c.relevance, AgeMs: r.tx.NowMs() - c.updatedMs, Confidence: c.confidence, Tier: c.tier})
		r.ranked = append(r.ranked, c)
	}
	slices.SortFunc(r.ranked, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score.Total, a.score.Total), cmp.Compare(b.updatedMs, a.updatedMs), bytes.Compare(a.stored.Key, b.stored.Key))
	})
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

// tokens is what a candidate costs in the reply: its line of the prompt, or its
// value.
func (r *recalling) tokens(c *candidate) int {
	mustDecode(c.stored.Bytes, &r.record)
	if r.params.format == recallPrompt {
		return recall.Estimate(string(r.promptLine(nil, c)))
	}
	return recall.Estimate(string(r.record.Value))
}

func (r *recalling) show(chosen []*candidate, w *reply.Writer) error {
	switch r.params.format {
	case recallPrompt:
		text := []byte(memory.PromptHeader)
		for _, c := range chosen {
			mustDecode(c.stored.Bytes, &r.record)
			text = r.promptLine(text, c)
		}
		w.Verbatim("txt", string(text))
	case recallJSON:
		text := []byte{'['}
		for i, c := range chosen {
			if i > 0 {
				text = append(text, ',')
			}
			r.fields = r.appendHit(r.fields[:0], c)
			text = memory.AppendJSON(text, r.fields)
		}
		w.Bulk(append(text, ']'))
	default:
		w.Array(len(chosen))
		for _, c := range chosen {
			r.fields = r.appendHit(r.fields[:0], c)
			writeMap(w, r.fields)
		}
	}
	return nil
}

// promptLine appends the line of a candidate, whose record is decoded.
func (r *recalling) promptLine(dst []byte, c *candidate) []byte {
	rec, key := &r.record, c.stored.Key
	return memory.AppendPromptItem(dst, &memory.PromptItem{
		TimeMs: rec.UpdatedMs, Kind: rec.Kind, Name: key[r.tx.Layout().OwnerLen(key)+1:],
		Confidence: rec.Confidence, Value: rec.Value, Text: rec.Text}, time.UTC)
}

func (r *recalling) appendHit(dst []memory.Field, c *candidate) []memory.Field {
	rec := &r.record
	mustDecode(c.stored.Bytes, rec)
	h := memory.Hit{Key: c.stored.Key, Value: rec.Value, Text: rec.Text, Kind: rec.Kind,
		TimeMs: rec.UpdatedMs, Source: rec.Source, Score: c.score.Total}
	if r.params.explain {
		h.Explain = r.explain(c)
	}
	return memory.AppendHitFields(dst, &h)
}

// explain shows every part of a score, and how many candidates were looked at.
func (r *recalling) explain(c *candidate) []memory.Field {
	double := func(name string, value float64) memory.Field {
		return memory.Field{Name: name, Kind: memory.FieldDouble, Double: value}
	}
	return []memory.Field{
		double("relevance", c.score.Relevance), double("recency", c.score.Recency), double("confidence", c.score.Confidence),
		double("text", c.hit.Own), double("neighbour", c.hit.Lent),
		{Name: "tier", Kind: memory.FieldText, Bytes: []byte([...]string{"session", "own", "shared"}[c.tier])},
		{Name: "tokens", Kind: memory.FieldInteger, Integer: int64(c.tokens)},
		{Name: "scanned", Kind: memory.FieldInteger, Integer: int64(r.scanned)},
	}
}
