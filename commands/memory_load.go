package commands

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns what MEM.LOAD gathers: what an agent needs at the start of a turn,
// of one moment, within one budget. How it is shown is memory_load_show.go's, what
// is recalled memory_recall.go's.

type memLoadParams struct {
	owner     []byte
	session   []byte
	query     []byte
	vector    []byte
	turns     int64
	topK      int64
	budget    int64
	shared    []byte
	at        memory.Moment
	mustExist bool
	format    format
}

// The defaults and limits of a load.
const (
	loadTurnsDefault  = 50
	loadTurnsMax      = 1000 // mem-load-turns: what is older is recalled, or read
	loadTopKDefault   = 5
	loadBudgetDefault = 2000 // tokens
)

// memLoadCommand: the budget is spent on the profile first, pinned records and
// then by key; then on what was recalled, the best first; then on the newest
// turns, without a gap. What does not fit is left out whole.
func memLoadCommand() *Command {
	pool := &sync.Pool{New: func() any { return new(loadMemory) }}
	g := grammar.Compile[memLoadParams](
		scopeNode("owner", func(p *memLoadParams) *[]byte { return &p.owner }),
		grammar.Options(
			grammar.Bytes("segment", func(p *memLoadParams) *[]byte { return &p.session }).After("SESSION"),
			textNode("query", "QUERY", memory.LimitAnchor(), func(p *memLoadParams) *[]byte { return &p.query }),
			vectorNode(func(p *memLoadParams) *[]byte { return &p.vector }),
			grammar.Int("turns", func(p *memLoadParams) *int64 { return &p.turns }).After("TURNS").
				Range(0, loadTurnsMax).Default(loadTurnsDefault).Fail(grammar.OutOfRange, string(ErrLoadTurns)),
			grammar.Int("topk", func(p *memLoadParams) *int64 { return &p.topK }).After("TOPK").
				Range(0, recallTopKMax).Default(loadTopKDefault).Fail(grammar.OutOfRange, string(ErrLoadTopK)),
			grammar.Int("tokens", func(p *memLoadParams) *int64 { return &p.budget }).After("BUDGET").
				Range(1, recallBudgetMax).Default(loadBudgetDefault),
			grammar.Bytes("scope", func(p *memLoadParams) *[]byte { return &p.shared }).After("SHARED").Typed(grammar.TypePattern),
			momentNode(func(p *memLoadParams) *memory.Moment { return &p.at }),
			grammar.Token("MUSTEXIST", func(p *memLoadParams) *bool { return &p.mustExist }),
			formatNode(func(p *memLoadParams) *format { return &p.format }),
		),
	)
	return briefly(projecting(naming(onData(memoryDeclaration(Declaration{
		Name: "mem.load", Complexity: "O(P+T+R) where P is the number of profile records, T that of the session's records and R what MEM.RECALL costs",
		Summary: "Load what an agent needs at the start of a turn",
		Flags:   ReadOnly | Recalls, Offload: true, Lock: LockNone,
		Reply: reply.OneOf(loadShape(), reply.Bulk()),
	}), g, func(tx *engine.Tx, p *memLoadParams, w *reply.Writer) error {
		m := pool.Get().(*loadMemory)
		defer pool.Put(m)
		defer m.forget()
		return runMemLoad(tx, p, m, w)
	}), g, func(p *memLoadParams, visit func([]byte, grammar.KeyFlags)) {
		visit(p.shared, grammar.RO|grammar.Access|grammar.NotKey)
	}), g, func(p *memLoadParams) bool {
		return p.query == nil && p.vector == nil
	}), g, func(e *engine.Engine, db int, p *memLoadParams) bool {
		return !p.at.Set && p.shared == nil && !(len(p.query) > 0 && e.EmbedsQueries()) && e.IsSmall(db, p.owner)
	})
}

// loadMemory is what one load leaves to the next: memory alone.
type loadMemory struct {
	recalled recallMemory
	asked    memRecallParams
	profile  []loaded
	turns    []loaded
}

func (m *loadMemory) forget() {
	m.recalled.forget()
	m.asked = memRecallParams{}
	clear(m.profile[:cap(m.profile)])
	clear(m.turns[:cap(m.turns)])
	m.profile, m.turns = m.profile[:0], m.turns[:0]
}

// loaded is a record or an item that may be part of the reply.
type loaded struct {
	stored engine.Stored
	doc    uint64
	timeMs int64
	pinned bool
	tokens int
	value  []byte // of a turn, as it is shown
	text   bool
}

// loading is one MEM.LOAD on its way.
type loading struct {
	recalling
	*loadMemory
	load  *memLoadParams
	view  *engine.OwnerView // nil: there never was such an owner
	hits  []*candidate
	known bool // the session, or without one the owner, has something
	left  int  // of the budget
}

func runMemLoad(tx *engine.Tx, p *memLoadParams, m *loadMemory, w *reply.Writer) error {
	l := loading{loadMemory: m, load: p, left: int(p.budget)}
	l.recalling = recalling{tx: tx, params: &m.asked, recallMemory: &m.recalled, nowMs: tx.NowMs()}
	if err := tx.Layout().ParseOwner(p.owner); err != nil {
		return err
	}
	if err := l.freeze(); err != nil {
		return err
	}
	seq := tx.ReadSeq()
	if view, ok := l.viewOf(string(p.owner)); ok {
		l.asked.at, l.asked.query = p.at, p.query
		if p.at.Set {
			l.nowMs = 0
		}
		var err error
		if l.view, err = l.asOf(view); err != nil {
			return err
		}
		seq = l.view.Seq
		l.gatherProfile()
		l.gatherTurns()
	}
	if p.mustExist && !l.known {
		if p.session != nil {
			return ErrNoSession
		}
		return ErrNoOwner
	}
	if err := l.gatherSemantic(); err != nil {
		return err
	}
	l.spend()
	l.noteReads(l.profile)
	l.noteReads(l.turns)
	l.showLoaded(int64(seq), w)
	return nil
}

// freeze makes all owners of the load, where others are shared, be seen as of one
// moment.
func (l *loading) freeze() error {
	if l.load.shared == nil {
		return nil
	}
	shared, err := l.tx.Layout().ParseScope(l.load.shared)
	if err != nil {
		return err
	}
	names := append(ownersIn(l.tx, shared), string(l.load.owner))
	slices.Sort(names)
	l.snapshot = l.tx.OwnerViews(slices.Compact(names))
	return nil
}

// stands says whether a record of the view is there at this moment.
func (l *loading) stands(s *engine.Stored) bool {
	if l.view.Past(s.DeadlineMs) {
		return false
	}
	if s.Lasting {
		return true
	}
	s.Decode(&l.record)
	return l.record.ValidAt(l.nowMs)
}

func (l *loading) gatherProfile() {
	l.view.Profile(func(s engine.Stored) bool {
		if l.stands(&s) {
			decodeShown(l.tx, s, &l.record)
			l.profile = append(l.profile, loaded{stored: s, pinned: l.record.Pinned, tokens: recall.Estimate(l.record.Value)})
		}
		return true
	})
	if l.load.session == nil {
		l.view.Ascend(nil, func(s engine.Stored, _ uint64) bool {
			l.known = l.stands(&s)
			return !l.known
		})
	}
}

// gatherTurns finds the newest turns of the session: its records of kind session,
// and the items of those that are lists.
func (l *loading) gatherTurns() {
	if l.load.session == nil {
		return
	}
	limit := int(l.load.turns)
	l.eachOfSession(func(s engine.Stored, doc uint64) {
		l.known = true
		if s.Kind != memory.Session && !(s.Kind == memory.Working && s.IsList()) {
			return
		}
		if !s.IsList() {
			l.turns = append(l.turns, loaded{stored: s, doc: doc})
			return
		}
		l.view.NewestItems(s, uint64(limit), func(part engine.Stored, doc uint64) bool {
			l.turns = append(l.turns, loaded{stored: part, doc: doc})
			return true
		})
	})
	slices.SortFunc(l.turns, func(a, b loaded) int { return cmp.Compare(a.doc, b.doc) })
	l.turns = l.turns[max(0, len(l.turns)-limit):]
	for i := range l.turns {
		t := &l.turns[i]
		decodeShown(l.tx, t.stored, &l.record)
		t.timeMs, t.value, t.text = l.record.UpdatedMs, l.record.Value, l.record.Text
		t.tokens = recall.Estimate(t.value)
	}
	slices.SortStableFunc(l.turns, func(a, b loaded) int { return cmp.Compare(a.timeMs, b.timeMs) })
}

// eachOfSession visits what stands in the session, whatever its kind.
func (l *loading) eachOfSession(visit func(s engine.Stored, doc uint64)) {
	prefix := append(append(append(make([]byte, 0, 64), l.load.owner...), ':'), l.load.session...)
	l.view.Ascend(prefix, func(s engine.Stored, doc uint64) bool {
		if !bytes.HasPrefix(s.Key, prefix) {
			return false
		}
		if (len(s.Key) == len(prefix) || s.Key[len(prefix)] == ':') && l.stands(&s) {
			visit(s, doc)
		}
		return true
	})
}

// loadNewest is how many of the newest facts a load without a query chooses from.
const loadNewest = 64

// gatherSemantic recalls facts: by the query, else among the newest.
func (l *loading) gatherSemantic() (err error) {
	if l.load.topK == 0 {
		return nil
	}
	l.asked = memRecallParams{scope: l.load.owner, query: l.load.query, vector: l.load.vector, session: l.load.session, shared: l.load.shared, at: l.load.at,
		topK: l.load.topK, neighbours: recall.DefaultNeighbours}
	l.limit = int(l.load.topK) + surplus
	l.newest = max(loadNewest, int(l.load.topK))
	if err := l.readFilters(); err != nil {
		return err
	}
	l.only(memory.Semantic)
	own, err := l.tx.Layout().ParseScope(l.load.owner)
	if err != nil {
		return err
	}
	var sources []source
	if l.view != nil {
		sources = append(sources, source{view: l.view, scope: own})
	}
	if sources, err = l.withShared(sources, &own); err != nil {
		return err
	}
	if l.hits, err = l.recalling.recall(sources); err == nil {
		l.note(sources, l.hits)
	}
	return err
}

// spend leaves out what the budget has no room for.
func (l *loading) spend() {
	for _, pinned := range [2]bool{true, false} {
		for i := range l.profile {
			if p := &l.profile[i]; p.pinned == pinned && !l.take(p.tokens) {
				p.tokens = -1
			}
		}
	}
	l.profile = slices.DeleteFunc(l.profile, func(p loaded) bool { return p.tokens < 0 })
	l.hits = slices.DeleteFunc(l.hits, func(c *candidate) bool {
		decodeShown(l.tx, c.stored, &l.record)
		return !l.take(recall.Estimate(l.record.Value))
	})
	first := len(l.turns)
	for first > 0 && l.take(l.turns[first-1].tokens) {
		first--
	}
	l.turns = l.turns[first:]
}

// noteReads counts and audits the records that are loaded, a list once.
func (l *loading) noteReads(list []loaded) {
	var last []byte
	for i := range list {
		if s := &list[i].stored; !bytes.Equal(s.Key, last) {
			last = s.Key
			l.tx.NoteRead(memory.Key{Text: s.Key, OwnerLen: len(l.load.owner)}, s.Bytes)
		}
	}
}

// take spends tokens, if there are as many.
func (l *loading) take(tokens int) bool {
	if tokens > l.left {
		return false
	}
	l.left -= tokens
	return true
}
