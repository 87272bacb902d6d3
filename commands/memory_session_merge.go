package commands

import (
	"bytes"
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

// memSessionMergeCommand: a record that finds its name taken gets the next free
// one: history, history-2, history-3.
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
	m := merging{tx: tx, into: scopes[0].Text()[:len(p.owner)+1], taken: map[string]bool{}}
	m.into = append(bytes.Clone(m.into), p.into...)
	for i := range scopes {
		sessionRecords(tx, view, scopes[i], func(s engine.Stored, _ *memory.Record) bool {
			m.plan(s.Key, len(scopes[i].Text()))
			return true
		})
	}
	if err := m.check(); err != nil {
		return err
	}
	for _, move := range m.moves {
		if _, err := tx.Rename(move.source, move.target, tx.DB); err != nil {
			return err
		}
	}
	for _, name := range p.from {
		tx.EndSession(p.owner, string(name))
	}
	w.Int(int64(len(m.moves)))
	return nil
}

// merging is one MEM.SESSION MERGE on its way. What goes where is decided before
// anything goes.
type merging struct {
	tx    *engine.Tx
	into  []byte // the owner and the session
	moves []move
	taken map[string]bool // sources and targets of moves
}

// move is one record's.
type move struct{ source, target []byte }

// plan finds a name for the record source, which is in the session that its
// first bytes name.
func (m *merging) plan(source []byte, session int) {
	if m.taken[string(source)] {
		return // its session was named twice
	}
	target := append(bytes.Clone(m.into), source[session:]...)
	name := target
	for n := int64(2); m.isTaken(name); n++ {
		name = strconv.AppendInt(append(bytes.Clone(target), '-'), n, 10)
	}
	m.taken[string(source)], m.taken[string(name)] = true, true
	m.moves = append(m.moves, move{source, name})
}

func (m *merging) isTaken(key []byte) bool {
	t, _ := m.tx.Use(key)
	return m.taken[string(key)] || t != engine.TypeNone
}

// check says whether every target can be a key.
func (m *merging) check() error {
	for i := range m.moves {
		if _, err := m.tx.Layout().ParseKey(m.moves[i].target); err != nil {
			return err
		}
	}
	return nil
}
