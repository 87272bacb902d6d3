package commands

import (
	"bytes"
	"strconv"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.SESSION: the conversations of an owner. What it ends or
// moves are working and session records alone; a profile or a fact stays where
// it is, whatever session its key names.

func memSessionCommand() *Command {
	return container(memoryDeclaration(Declaration{
		Name: "mem.session", Complexity: "Depends on subcommand.",
		Summary: "A container for commands on the sessions of an owner",
	}), memSessionOpenCommand(), memSessionCloseCommand(), memSessionListCommand(), memSessionMergeCommand(), helpCommand("mem.session",
		"CLOSE <owner> <session>",
		"    Forget the working and session records of a session.",
		"LIST <owner> [CURSOR <cursor>] [COUNT <count>]",
		"    List the sessions of an owner, the last active first.",
		"MERGE <owner> <into> <from> [<from> ...]",
		"    Move the working and session records of sessions into one.",
		"OPEN <owner> [REUSE <seconds>]",
		"    Begin a session, or go on with one that was active so recently.",
	))
}

type memSessionOpenParams struct {
	owner    []byte
	reuse    int64
	hasReuse bool
}

// reuseMax bounds REUSE, in seconds: 136 years.
const reuseMax = 1 << 32

// memSessionOpenCommand: a session that has no record yet counts for two hours,
// as long as a session record does.
func memSessionOpenCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "open", Complexity: "O(log(N)) where N is the number of the owner's sessions and records",
		Summary: "Begin a session, or go on with a recent one",
		Flags:   Write | DenyOOM | Fast, Lock: LockNone,
		Reply: reply.Record(reply.Field{Key: "session", Value: reply.Bulk()}, reply.Field{Key: "new", Value: reply.Int()}),
	}), grammar.Compile[memSessionOpenParams](
		ownerNode(func(p *memSessionOpenParams) *[]byte { return &p.owner }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Options(
			grammar.Int("seconds", func(p *memSessionOpenParams) *int64 { return &p.reuse }).After("REUSE").Range(0, reuseMax).
				Present(grammar.BoolOf(func(p *memSessionOpenParams) *bool { return &p.hasReuse })),
		),
	), runMemSessionOpen)
}

func runMemSessionOpen(tx *engine.Tx, p *memSessionOpenParams, w *reply.Writer) error {
	if err := tx.Layout().ParseOwner(p.owner); err != nil {
		return err
	}
	if tx.LockOwner(p.owner); gaveUp(tx) {
		return errPutOff
	}
	name, fresh := "", false
	if p.hasReuse {
		name = recentSession(tx, p.owner, tx.NowMs()-p.reuse*1000)
	}
	if name == "" {
		name, fresh = tx.OpenSession(p.owner), true
	}
	w.Map(2)
	w.BulkString("session")
	w.BulkString(name)
	w.BulkString("new")
	w.Int(boolInt(fresh))
	return nil
}

// recentSession is the owner's session with the newest activity, if that is not
// before sinceMs; else "".
func recentSession(tx *engine.Tx, owner []byte, sinceMs int64) (name string) {
	var view *engine.OwnerView
	tx.Sessions(owner, engine.SessionPlace{}, func(s engine.Session) bool {
		if s.LastMs < sinceMs {
			return false
		}
		if view == nil {
			view, _ = tx.OwnerView(owner)
		}
		if _, records := sessionFigures(tx, view, &s); records > 0 || s.Waits(tx.NowMs()) {
			name = s.Name
		}
		return name == ""
	})
	return name
}

// sessionRecords visits the working and session records of a session that stand.
func sessionRecords(tx *engine.Tx, view *engine.OwnerView, scope memory.Scope, visit func(s engine.Stored, r *memory.Record) bool) {
	eachRecord(view, scope, nil, func(s engine.Stored, _ uint64) bool {
		var r memory.Record
		mustDecode(s.Bytes, &r)
		return r.Kind != memory.Working && r.Kind != memory.Session || visit(s, &r)
	})
}

type memSessionParams struct{ owner, session []byte }

func memSessionCloseCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "close", Complexity: "O(K*log(N)) where K is the number of the session's records and N that of the owner's",
		Summary: "Forget the working and session records of a session; their history stays",
		Flags:   Write, Lock: LockAll,
		Reply: reply.Int(),
	}), grammar.Compile[memSessionParams](
		ownerNode(func(p *memSessionParams) *[]byte { return &p.owner }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Bytes("session", func(p *memSessionParams) *[]byte { return &p.session }),
	), runMemSessionClose)
}

func runMemSessionClose(tx *engine.Tx, p *memSessionParams, w *reply.Writer) error {
	scope, err := tx.Layout().ParseSession(p.owner, p.session)
	if err != nil {
		return err
	}
	closed := int64(0)
	if view, ok := tx.OwnerView(p.owner); ok {
		sessionRecords(tx, view.Standing(), scope, func(s engine.Stored, _ *memory.Record) bool {
			e := tx.NewEvent()
			e.Reason = []byte("session closed")
			if tx.ForgetRecord(s.Key, &e) {
				closed++
			}
			return true
		})
		tx.EndSession(p.owner, string(p.session))
	}
	w.Int(closed)
	return nil
}

type memSessionListParams struct {
	owner  []byte
	cursor sessionCursor
	count  int64
}

// Sessions that one call lists.
const (
	sessionCountDefault = 100
	sessionCountMax     = 1000
)

// memSessionListCommand: a session that becomes active while others are listed
// moves before the cursor. turns are the items of the session's lists, and its
// other session records.
func memSessionListCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "list", Complexity: "O(log(N)+K) where N is the number of the owner's sessions and K that of the records of those listed",
		Summary: "List the sessions of an owner, the last active first",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Record(
			reply.Field{Key: "session", Value: reply.Bulk()}, reply.Field{Key: "last", Value: reply.Int()},
			reply.Field{Key: "turns", Value: reply.Int()}, reply.Field{Key: "records", Value: reply.Int()}))),
	}), grammar.Compile[memSessionListParams](
		ownerNode(func(p *memSessionListParams) *[]byte { return &p.owner }, grammar.RO|grammar.Access),
		grammar.Options(
			grammar.Value("cursor", func(p *memSessionListParams, arg []byte) *grammar.Error { return p.cursor.parse(arg) }).
				After("CURSOR").Sample("0"),
			grammar.Int("count", func(p *memSessionListParams) *int64 { return &p.count }).After("COUNT").
				Range(1, sessionCountMax).Default(sessionCountDefault),
		),
	), runMemSessionList)
}

// sessionCursor is the last session listed, and when it was active: time-name,
// 0 at the start and at the end.
type sessionCursor struct{ place engine.SessionPlace }

func (c *sessionCursor) parse(arg []byte) *grammar.Error {
	c.place = engine.SessionPlace{}
	if string(arg) == "0" {
		return nil
	}
	timeMs, name, ok := bytes.Cut(arg, []byte("-"))
	n, err := strconv.ParseInt(string(timeMs), 10, 64)
	if !ok || err != nil || len(name) == 0 {
		return grammar.Fail(grammar.Other, string(ErrInvalidCursor))
	}
	c.place = engine.SessionPlace{LastMs: n, Name: string(name)}
	return nil
}

func runMemSessionList(tx *engine.Tx, p *memSessionListParams, w *reply.Writer) error {
	if err := tx.Layout().ParseOwner(p.owner); err != nil {
		return err
	}
	view, listed := p.page(tx)
	next := "0"
	if n := int(p.count); len(listed) > n {
		listed = listed[:n]
		next = strconv.FormatInt(listed[n-1].LastMs, 10) + "-" + listed[n-1].Name
	}
	w.Array(2)
	w.BulkString(next)
	array, shown := w.DeferArray(len(listed)), 0
	for i := range listed {
		turns, records := sessionFigures(tx, view, &listed[i])
		if records == 0 && !listed[i].Waits(tx.NowMs()) {
			continue // all of it has expired
		}
		shown++
		w.Map(4)
		w.BulkString("session")
		w.BulkString(listed[i].Name)
		w.BulkString("last")
		w.Int(listed[i].LastMs)
		w.BulkString("turns")
		w.Int(turns)
		w.BulkString("records")
		w.Int(records)
	}
	w.Close(array, shown)
	return nil
}

// page gives one session more than are listed, if there is one, and the view that
// has their records.
func (p *memSessionListParams) page(tx *engine.Tx) (view *engine.OwnerView, listed []engine.Session) {
	if !tx.HoldsAll() {
		defer tx.Commit()
	}
	tx.Sessions(p.owner, p.cursor.place, func(s engine.Session) bool {
		listed = append(listed, s)
		return len(listed) <= int(p.count)
	})
	view, _ = tx.OwnerView(p.owner)
	return view, listed
}

// sessionFigures counts the records of a session that stand, and the turns among
// them.
func sessionFigures(tx *engine.Tx, view *engine.OwnerView, s *engine.Session) (turns, records int64) {
	scope, err := tx.Layout().ParseSession([]byte(view.Name), []byte(s.Name))
	if err != nil {
		panic("commands: the name of a session does not parse: " + err.Error())
	}
	sessionRecords(tx, view, scope, func(_ engine.Stored, r *memory.Record) bool {
		records++
		if r.Kind == memory.Session {
			turns += max(int64(r.Next-r.First), 1) // of a list its items
		}
		return true
	})
	return turns, records
}
