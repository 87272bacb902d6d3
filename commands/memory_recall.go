package commands

import (
	"sync"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns what MEM.RECALL is asked: its arguments and the order of its
// work. Where candidates come from is memory_recall_find.go's, which are the best
// memory_recall_rank.go's, how they are shown memory_recall_show.go's.

type memRecallParams struct {
	scope         []byte
	query         []byte
	vector        []byte
	kinds         [][]byte
	tagMatch      tagMatch
	tags          [][]byte
	schema        []byte
	filter        []byte
	from, to      int64
	hasFrom       bool
	hasTo         bool
	minConfidence float64
	at            memory.Moment
	session       []byte
	shared        []byte
	topK          int64
	budget        int64
	halfLife      int64 // seconds
	weights       []float64
	neighbours    int64
	expand        int64
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
	recallExpandMax   = 3          // mem-recall-expand: what is further away has little left of a score
)

// memRecallCommand: pinned records come first where a BUDGET is to be filled,
// whether the query finds them or not; elsewhere they have no preference.
func memRecallCommand() *Command {
	pool := &sync.Pool{New: func() any { return new(recallMemory) }}
	g := grammar.Compile[memRecallParams](
		scopeNode("scope", func(p *memRecallParams) *[]byte { return &p.scope }),
		grammar.Options(append(recallFilters(), recallShape()...)...),
		grammar.Check(checkRecall),
	)
	return projecting(naming(onData(memoryDeclaration(Declaration{
		Name: "mem.recall", Complexity: "O(P) where P is the number of the query's postings in the index; without a query O(N), the records in the scope",
		Summary: "Find the best memory records for this moment",
		Flags:   ReadOnly | Recalls, Offload: true, Lock: LockNone,
		Reply: reply.OneOf(reply.ArrayOf(hitShape()), reply.Verbatim(), reply.Bulk()),
	}), g, func(tx *engine.Tx, p *memRecallParams, w *reply.Writer) error {
		m := pool.Get().(*recallMemory)
		defer pool.Put(m)
		defer m.forget()
		return runMemRecall(tx, p, m, w)
	}), g, func(p *memRecallParams, visit func([]byte, grammar.KeyFlags)) {
		visit(p.shared, grammar.RO|grammar.Access|grammar.NotKey)
	}), g, func(p *memRecallParams) bool {
		return p.query == nil && p.vector == nil && p.filter == nil && p.tagMatch == 0
	})
}

// recallFilters say which records may be recalled.
func recallFilters() []grammar.Node {
	return []grammar.Node{
		textNode("query", "QUERY", memory.LimitAnchor(), func(p *memRecallParams) *[]byte { return &p.query }),
		vectorNode(func(p *memRecallParams) *[]byte { return &p.vector }),
		grammar.Counted("numkinds", "kind", func(p *memRecallParams) *[][]byte { return &p.kinds }).After("KIND").Sample("1", "profile"),
		grammar.Block("tags",
			grammar.Enum("match", func(p *memRecallParams) *tagMatch { return &p.tagMatch }, "ANY", "ALL"),
			grammar.Counted("numtags", "tag", func(p *memRecallParams) *[][]byte { return &p.tags }),
		).After("TAGS"),
		textNode("schema", "SCHEMA", memory.LimitName(), func(p *memRecallParams) *[]byte { return &p.schema }),
		grammar.Bytes("expression", func(p *memRecallParams) *[]byte { return &p.filter }).After("FILTER").Sample("$.a == 1"),
		timeNode("from", "FROM", func(p *memRecallParams) *int64 { return &p.from }).
			Present(grammar.BoolOf(func(p *memRecallParams) *bool { return &p.hasFrom })),
		timeNode("to", "TO", func(p *memRecallParams) *int64 { return &p.to }).
			Present(grammar.BoolOf(func(p *memRecallParams) *bool { return &p.hasTo })),
		parsed("confidence", "MINCONFIDENCE", memory.ParseConfidence, func(p *memRecallParams) *float64 { return &p.minConfidence }).Sample("0.5"),
		grammar.Bytes("segment", func(p *memRecallParams) *[]byte { return &p.session }).After("SESSION"),
		grammar.Bytes("scope", func(p *memRecallParams) *[]byte { return &p.shared }).After("SHARED").Typed(grammar.TypePattern),
		momentNode(func(p *memRecallParams) *memory.Moment { return &p.at }),
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
		grammar.Int("steps", func(p *memRecallParams) *int64 { return &p.expand }).After("EXPAND").
			Range(1, recallExpandMax).Fail(grammar.OutOfRange, string(ErrExpand)),
		grammar.Enum("format", func(p *memRecallParams) *recallFormat { return &p.format }, "ROWS", "PROMPT", "JSON").
			After("FORMAT").Fail(grammar.Syntax, string(ErrFormat)),
		grammar.Token("EXPLAIN", func(p *memRecallParams) *bool { return &p.explain }),
	}
}

func checkRecall(p *memRecallParams) *grammar.Error {
	if p.explain && p.format == recallPrompt {
		return grammar.Fail(grammar.Other, string(ErrExplainPrompt))
	}
	if p.at.Set && p.expand > 0 {
		return grammar.Fail(grammar.Other, string(ErrExpandAt))
	}
	if len(p.weights) > 0 && !p.ranking().Weights.Valid() {
		return grammar.Fail(grammar.Other, string(ErrWeights))
	}
	return nil
}

func (p *memRecallParams) ranking() recall.Ranking {
	r := recall.Ranking{Weights: recall.DefaultWeights()}
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
	text       float64 // the hit's score as a share of its owner's ceiling
	cosine     float64 // of its vector and the one asked for; 0: none, or the other way
	hasVector  bool
	relevance  float64 // of both
	updatedMs  int64
	confidence float64
	pinned     bool
	tier       recall.Tier
	score      recall.Score
	linked     float64 // what is left of a score that came over links; 0: none
	tokens     int
}

// recalling is one MEM.RECALL on its way.
type recalling struct {
	tx     *engine.Tx
	params *memRecallParams
	*recallMemory
	snapshot   map[string]*engine.OwnerView // owners at one moment; nil: each as it is when it is looked at
	kinds      [8]bool                      // wanted, if someKinds
	someKinds  bool
	filter     *memory.Filter // nil: none
	need       *memory.Need   // what the filter needs; nil: nothing that could be looked up
	vector     []float32      // asked for; nil: none
	err        error          // the filter's
	unfiltered bool           // every record of the kinds that stands is wanted
	limit      int            // hits asked of each owner's index
	atLeast    float64        // the share of what text could score that they have at least
	record     memory.Record  // of the candidate that is looked at
	newest     int            // without a query only so many of each source are looked at; 0: all
	ranks      recall.Ranking
	unseen     unseen

	unseenRelevance float64
	scanned         int
	collapsed       int   // candidates that say what a better one says
	nowMs           int64 // the moment that is recalled
}

// recallMemory is what one recall leaves to the next: memory alone.
type recallMemory struct {
	searcher recall.Searcher
	found    []candidate
	ranked   []*candidate // found, the best first
	chosen   []*candidate
	distinct recall.Distinct
	fields   []memory.Field
}

// forget lets go of records, and of the memory of a large recall.
func (m *recallMemory) forget() {
	clear(m.found)
	clear(m.ranked)
	clear(m.chosen)
	clear(m.fields[:cap(m.fields)])
	m.found, m.ranked, m.chosen = m.found[:0], m.ranked[:0], m.chosen[:0]
	m.distinct.Reset()
	if cap(m.found) > 4096 {
		m.found, m.ranked, m.chosen = nil, nil, nil
	}
}

// surplus is how many more hits than wanted are asked of an index at first: age
// and confidence may change their order.
const surplus = 32

func runMemRecall(tx *engine.Tx, p *memRecallParams, m *recallMemory, w *reply.Writer) error {
	r := recalling{tx: tx, params: p, recallMemory: m, limit: int(p.topK) + surplus, nowMs: tx.NowMs()}
	if p.at.Set {
		r.nowMs = 0
	}
	if err := r.readFilters(); err != nil {
		return err
	}
	own, err := tx.Layout().ParseScope(p.scope)
	if err != nil {
		return err
	}
	sources, err := r.sources(own, nil)
	if err != nil {
		return err
	}
	if sources, err = r.withShared(sources, &own); err != nil {
		return err
	}
	chosen, err := r.recall(sources)
	if err != nil {
		return err
	}
	r.note(sources, chosen)
	return r.show(chosen, w)
}

// recall gives the best candidates of the sources.
func (r *recalling) recall(sources []source) ([]*candidate, error) {
	for {
		r.found, r.unseen, r.scanned = r.found[:0], unseen{}, 0
		for i := range sources {
			r.gather(&sources[i])
		}
		if r.err != nil {
			return nil, r.err
		}
		r.rank()
		r.expand(sources)
		r.putPinnedFirst()
		chosen := r.best()
		if r.settled(chosen) {
			return r.pack(chosen), nil
		}
		r.widen(chosen)
	}
}

// note counts and audits the recall, for each owner too.
func (r *recalling) note(sources []source, chosen []*candidate) {
	found := func(yield func(key []byte) bool) {
		for _, c := range chosen {
			if !yield(c.stored.Key) {
				return
			}
		}
	}
	r.tx.NoteRecall(len(chosen) > 0)
	for i := range sources {
		r.tx.NoteRecallOf(sources[i].view, sources[i].scope, found, len(chosen) > 0)
	}
}

// only makes one kind the only one wanted.
func (r *recalling) only(kind memory.Kind) {
	r.kinds = [8]bool{}
	r.kinds[kind], r.someKinds = true, true
}

// readFilters reads what is asked of records but their scope.
func (r *recalling) readFilters() (err error) {
	p := r.params
	for _, name := range p.kinds {
		kind, err := memory.ParseKind(name)
		if err != nil {
			return err
		}
		r.kinds[kind], r.someKinds = true, true
	}
	if len(p.vector) > 0 {
		if r.vector, err = engine.ParseVector(p.vector); err != nil {
			return err
		}
	} else if len(p.query) > 0 {
		r.vector = r.tx.EmbedQuery(p.query)
	}
	if p.filter != nil {
		if r.filter, err = memory.ParseFilter(p.filter); err != nil {
			return err
		}
		if need, ok := r.filter.Need(); ok {
			r.need = &need
		}
	}
	r.unfiltered = p.tagMatch == 0 && !p.hasFrom && !p.hasTo && p.minConfidence == 0 &&
		len(p.schema) == 0 && r.filter == nil
	return nil
}
