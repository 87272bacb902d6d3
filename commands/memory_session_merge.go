package commands

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.SESSION MERGE: many short conversations become one.

type memSessionMergeParams struct {
	owner, into []byte
	from        [][]byte
}

// memSessionMergeCommand: arrays of the same name, the turns of the sessions,
// become one list in the order of their turns' times. Any other record that finds
// its name taken gets the next free one: note, note-2, note-3.
func memSessionMergeCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "merge", Complexity: "O(K*log(N)) where K is the number of the sessions' records and N that of the owner's",
		Summary: "Move the working and session records of sessions into one",
		Flags:   Write | DenyOOM, Lock: LockAll,
		Reply: reply.Int(),
	}), grammar.Compile[memSessionMergeParams](
		ownerNode(func(p *memSessionMergeParams) *[]byte { return &p.owner }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Bytes("into", func(p *memSessionMergeParams) *[]byte { return &p.into }),
		grammar.Rest("from", func(p *memSessionMergeParams) *[][]byte { return &p.from }),
	), runMemSessionMerge)
}

func runMemSessionMerge(tx *engine.Tx, p *memSessionMergeParams, w *reply.Writer) error {
	if _, err := tx.Layout().ParseSession(p.owner, p.into); err != nil {
		return err
	}
	scopes := make([]memory.Scope, len(p.from))
	for i, name := range p.from {
		var err error
		if scopes[i], err = tx.Layout().ParseSession(p.owner, name); err != nil {
			return err
		}
		if bytes.Equal(name, p.into) {
			return ErrMergeSelf
		}
	}
	view, ok := tx.OwnerView(p.owner)
	if !ok {
		w.Int(0)
		return nil
	}
	m := merging{tx: tx, owner: p.owner, into: append(append(bytes.Clone(p.owner), ':'), p.into...),
		view: view, taken: map[string]bool{}, turns: map[string]*turns{}}
	for i := range scopes {
		sessionRecords(tx, view, scopes[i], func(s engine.Stored, r *memory.Record) bool {
			m.plan(s, r, len(scopes[i].Text()))
			return true
		})
	}
	if err := m.prepare(); err != nil {
		return err
	}
	if err := m.carryOut(); err != nil {
		return err
	}
	for _, name := range p.from {
		tx.EndSession(p.owner, string(name))
	}
	w.Int(m.moved)
	return nil
}

// merging is one MEM.SESSION MERGE on its way. What goes where is decided, and
// whether it can, before anything goes.
type merging struct {
	tx    *engine.Tx
	owner []byte
	into  []byte // the owner and the session
	view  *engine.OwnerView
	moved int64

	renames []rename
	taken   map[string]bool // sources and targets
	turns   map[string]*turns
	order   []*turns
}

// rename is the way of a record that stays as it is.
type rename struct{ source, target []byte }

// turns are the arrays that become one list.
type turns struct {
	key   memory.Key
	stood *engine.Stored // what is there already
	from  []engine.Stored

	record memory.Record
	items  []memory.Item
}

// plan finds a place for a record of the session that its first bytes name.
func (m *merging) plan(s engine.Stored, r *memory.Record, session int) {
	if m.taken[string(s.Key)] {
		return // its session was named twice
	}
	m.taken[string(s.Key)] = true
	m.moved++
	target := append(bytes.Clone(m.into), s.Key[session:]...)
	if isTurns(r) {
		if t := m.turnsAt(target); t != nil {
			t.from = append(t.from, s)
			return
		}
	}
	name := target
	for n := int64(2); m.isTaken(name); n++ {
		name = strconv.AppendInt(append(bytes.Clone(target), '-'), n, 10)
	}
	m.taken[string(name)] = true
	m.renames = append(m.renames, rename{s.Key, name})
}

// isTurns says whether a record is an array of a session's.
func isTurns(r *memory.Record) bool {
	return r.Kind == memory.Session && !r.Text && (r.List != 0 || len(r.Value) > 0 && r.Value[0] == '[')
}

// turnsAt are the turns that come to stand at target; nil when something else
// does.
func (m *merging) turnsAt(target []byte) *turns {
	if t := m.turns[string(target)]; t != nil {
		return t
	}
	t := &turns{}
	if s, ok := m.view.Get(target); ok && !m.tx.Past(s.DeadlineMs) {
		var r memory.Record
		if mustDecode(s.Bytes, &r); !isTurns(&r) {
			return nil
		}
		t.stood = &s
	} else if m.isTaken(target) {
		return nil
	}
	t.key.Text = target
	m.taken[string(target)] = true
	m.turns[string(target)] = t
	m.order = append(m.order, t)
	return t
}

func (m *merging) isTaken(key []byte) bool {
	t, _ := m.tx.Use(key)
	return m.taken[string(key)] || t != engine.TypeNone
}

// prepare says whether every target can be a key, and every list a record.
func (m *merging) prepare() (err error) {
	for i := range m.renames {
		if _, err := m.tx.Layout().ParseKey(m.renames[i].target); err != nil {
			return err
		}
	}
	for _, t := range m.order {
		if t.key, err = m.tx.Layout().ParseKey(t.key.Text); err != nil {
			return err
		}
		if t.stood == nil && len(t.from) == 1 {
			m.renames = append(m.renames, rename{t.from[0].Key, t.key.Text})
		} else if err := m.join(t); err != nil {
			return err
		}
	}
	return nil
}

// join makes the record and the items of turns. The record is what stood, or else
// the first that comes; it is as old as the oldest of them.
func (m *merging) join(t *turns) error {
	all := t.from
	if t.stood != nil {
		all = append([]engine.Stored{*t.stood}, all...)
	}
	for i := range all {
		items, err := all[i].Items()
		if err != nil {
			return err
		}
		t.items = append(t.items, items...)
	}
	slices.SortStableFunc(t.items, func(a, b memory.Item) int { return cmp.Compare(a.TimeMs, b.TimeMs) })
	r, now := &t.record, m.tx.NowMs()
	mustDecode(all[0].Bytes, r)
	stood, stoodMs := (*memory.Record)(nil), int64(0)
	if t.stood != nil {
		old := *r
		stood, stoodMs = &old, t.stood.DeadlineMs
	}
	for i := range all[1:] {
		var other memory.Record
		mustDecode(all[1+i].Bytes, &other)
		r.CreatedMs = min(r.CreatedMs, other.CreatedMs)
	}
	r.Version, r.UpdatedMs = 1, now
	if stood != nil {
		r.Version = stood.Version + 1
	}
	r.DeadlineMs, r.SlideMs = m.tx.Policy(t.key.Text).Rule(r.Kind).DeadlineAfterWrite(now, stood, stoodMs)
	r.Operator, r.Trace, r.Reason = m.tx.UserName(), nil, nil
	return m.tx.NewList(m.owner, r, t.items)
}

// carryOut emits everything.
func (m *merging) carryOut() error {
	for _, t := range m.order {
		if t.record.List == 0 {
			continue // a rename
		}
		e := m.event(t.key.Text, memory.OpInit)
		if e.Version = t.record.Version; t.stood != nil {
			e.Op, e.OldVersion = memory.OpAppend, e.Version-1
		}
		rule := m.tx.Policy(t.key.Text).Rule(t.record.Kind)
		m.tx.AppendRecord(t.key, &t.record, t.items, &e, engine.Retention{Versions: rule.HistoryVersions, AgeMs: rule.HistoryAgeMs})
		for i := range t.from {
			e := m.event(t.from[i].Key, memory.OpForget)
			m.tx.ForgetRecord(t.from[i].Key, &e)
		}
	}
	for _, move := range m.renames {
		if _, err := m.tx.Rename(move.source, move.target, m.tx.DB); err != nil {
			return err
		}
	}
	return nil
}

func (m *merging) event(key []byte, op memory.Op) memory.Event {
	e := m.tx.NewEvent()
	e.Op, e.Key, e.Reason = op, key, []byte("sessions merged")
	return e
}
