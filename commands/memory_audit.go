package commands

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns MEM.AUDIT: who did what, when and why, and whether the chain
// that says so is whole.

type memAuditParams struct {
	scope    []byte
	key      []byte
	from     int64
	hasFrom  bool
	to       int64
	hasTo    bool
	ops      [][]byte
	operator []byte
	trace    []byte
	id       []byte
	count    int64
	hasCount bool
	cursor   auditCursor
	reverse  bool
	withDiff bool
	format   auditFormat
	zone     *time.Location
	verify   bool
}

// auditFormat is FORMAT, by the place of its word.
type auditFormat uint8

const (
	auditRows auditFormat = iota + 1
	auditTimeline
	auditJSON
)

// Events that one call shows.
const (
	auditCountDefault = 100
	auditCountMax     = 10000
)

// memAuditCommand: the operation `change` stands for every operation after which
// the value is another one. The scope * also has the server's own events.
func memAuditCommand() *Command {
	name := memory.LimitName()
	return onData(memoryDeclaration(Declaration{
		Name: "mem.audit", Complexity: "O(E) where E is the number of the owner's events from the cursor on",
		Summary: "List audit events, or verify their chain",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.OneOf(reply.Tuple(reply.Bulk(), reply.ArrayOf(eventShape())), verifyShape(), reply.Verbatim(), reply.Bulk()),
	}), grammar.Compile[memAuditParams](
		scopeNode("scope", func(p *memAuditParams) *[]byte { return &p.scope }),
		grammar.Options(
			grammar.Bytes("key", func(p *memAuditParams) *[]byte { return &p.key }).After("KEY"),
			timeNode("from", "FROM", func(p *memAuditParams) *int64 { return &p.from }).
				Present(grammar.BoolOf(func(p *memAuditParams) *bool { return &p.hasFrom })),
			timeNode("to", "TO", func(p *memAuditParams) *int64 { return &p.to }).
				Present(grammar.BoolOf(func(p *memAuditParams) *bool { return &p.hasTo })),
			grammar.Counted("numops", "op", func(p *memAuditParams) *[][]byte { return &p.ops }).After("OP"),
			textNode("operator", "BY", name, func(p *memAuditParams) *[]byte { return &p.operator }),
			textNode("trace", "TRACE", name, func(p *memAuditParams) *[]byte { return &p.trace }),
			textNode("command-id", "ID", name, func(p *memAuditParams) *[]byte { return &p.id }),
			grammar.Int("count", func(p *memAuditParams) *int64 { return &p.count }).After("COUNT").
				Range(1, auditCountMax).Default(auditCountDefault).Present(grammar.BoolOf(func(p *memAuditParams) *bool { return &p.hasCount })),
			grammar.Value("cursor", func(p *memAuditParams, arg []byte) *grammar.Error { return p.cursor.parse(arg) }).
				After("CURSOR").Sample("0"),
			grammar.Token("REV", func(p *memAuditParams) *bool { return &p.reverse }),
			grammar.Token("WITHDIFF", func(p *memAuditParams) *bool { return &p.withDiff }),
			grammar.Enum("format", func(p *memAuditParams) *auditFormat { return &p.format }, "ROWS", "TIMELINE", "JSON").
				After("FORMAT").Fail(grammar.Syntax, string(ErrFormat)),
			parsed("zone", "TZ", memory.ParseZone, func(p *memAuditParams) **time.Location { return &p.zone }).Sample("UTC"),
			grammar.Token("VERIFY", func(p *memAuditParams) *bool { return &p.verify }),
		),
		grammar.Check(checkAudit),
	), runMemAudit)
}

func checkAudit(p *memAuditParams) *grammar.Error {
	listing := p.key != nil || p.hasFrom || p.hasTo || p.ops != nil || p.operator != nil || p.trace != nil || p.id != nil ||
		p.hasCount || p.cursor.set || p.reverse || p.withDiff || p.format != 0 || p.zone != nil
	switch {
	case p.verify && listing:
		return grammar.Fail(grammar.Other, string(ErrVerifyAlone))
	case p.zone != nil && p.format != auditTimeline:
		return grammar.Fail(grammar.Other, string(ErrTimelineOnly))
	case p.withDiff && p.format == auditTimeline:
		return grammar.Fail(grammar.Other, string(ErrDiffTimeline))
	}
	return nil
}

func verifyShape() reply.Shape {
	return reply.Record(
		reply.Field{Key: "ok", Value: reply.Int()}, reply.Field{Key: "length", Value: reply.Int()},
		reply.Field{Key: "head", Value: reply.Bulk()}, reply.Field{Key: "first_bad", Value: reply.Nullable(reply.Int())},
		reply.Field{Key: "erased", Value: reply.Int()})
}

// auditCursor is where a listing goes on: at the events of batch seq, of which
// skip were shown. As text it is seq-skip, and 0 at the start and at the end.
type auditCursor struct {
	set  bool
	seq  uint64
	skip int
}

func (c *auditCursor) parse(arg []byte) *grammar.Error {
	*c = auditCursor{}
	if string(arg) == "0" {
		return nil
	}
	seq, skip, ok := bytes.Cut(arg, []byte("-"))
	n, err := strconv.ParseUint(string(seq), 10, 64)
	shown, errShown := strconv.ParseUint(string(skip), 10, 31)
	if !ok || err != nil || errShown != nil {
		return grammar.Fail(grammar.Other, string(ErrInvalidCursor))
	}
	*c = auditCursor{set: true, seq: n, skip: int(shown)}
	return nil
}

func (c auditCursor) String() string {
	if !c.set {
		return "0"
	}
	return strconv.FormatUint(c.seq, 10) + "-" + strconv.Itoa(c.skip)
}

// audited is one event found, in the view that has its record's history.
type audited struct {
	view  *engine.OwnerView
	seq   uint64 // 0: of the transaction that reads it
	event memory.Event
}

// order is the event's place among those of all owners.
func (a *audited) order() uint64 {
	if a.seq == 0 {
		return ^uint64(0)
	}
	return a.seq
}

func runMemAudit(tx *engine.Tx, p *memAuditParams, w *reply.Writer) error {
	tx.AuditReads()
	if p.verify {
		return runVerify(tx, p.scope, w)
	}
	events, next, err := p.find(tx)
	if err != nil {
		return err
	}
	if p.format == auditTimeline {
		return p.timeline(events, next, w)
	}
	list := make([][]memory.Field, len(events))
	for i := range events {
		list[i] = memory.AppendEventFields(nil, events[i].seq, &events[i].event)
		if p.withDiff {
			if list[i], err = appendDiff(list[i], &events[i]); err != nil {
				return err
			}
		}
	}
	if p.format == auditJSON {
		text := append(memory.AppendQuoted([]byte{'['}, []byte(next.String())), ',')
		w.Bulk(append(appendMapsJSON(text, list), ']'))
		return nil
	}
	w.Array(2)
	w.BulkString(next.String())
	writeMaps(w, list, formatPlain)
	return nil
}

// runVerify replies only once the chain's head is durable.
func runVerify(tx *engine.Tx, owner []byte, w *reply.Writer) error {
	if err := tx.Layout().ParseOwner(owner); err != nil {
		return err
	}
	view, ok := tx.OwnerView(owner)
	if !ok {
		return ErrNoOwner
	}
	state, err := view.Verify()
	if err != nil {
		return err
	}
	tx.AwaitChain(view)
	w.Map(5)
	w.BulkString("ok")
	w.Int(int64(flagByte(state.OK())))
	w.BulkString("length")
	w.Int(int64(state.Length))
	w.BulkString("head")
	w.BulkString(hex.EncodeToString(view.Head[:]))
	w.BulkString("first_bad")
	if state.OK() {
		w.Null()
	} else {
		w.Int(int64(state.FirstBad))
	}
	w.BulkString("erased")
	w.Int(int64(state.Erased))
	return nil
}

// auditFilter is what an event must fit.
type auditFilter struct {
	params *memAuditParams
	scope  memory.Scope
	ops    [256]bool
	server bool // events without a key: the server's own
	owner  bool // all of the owner is asked for: what is about no record too
}

func (p *memAuditParams) filter(layout memory.Layout) (*auditFilter, error) {
	scope, err := layout.ParseScope(p.scope)
	if err != nil {
		return nil, err
	}
	f := &auditFilter{params: p, scope: scope}
	for _, name := range p.ops {
		op, err := memory.ParseOp(name)
		if err != nil {
			return nil, err
		}
		f.ops[op] = true
	}
	if p.key != nil {
		if _, err := layout.ParseKey(p.key); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *auditFilter) accepts(e *memory.Event) bool {
	p := f.params
	return (f.server || f.scope.Contains(e.Key) || f.owner && len(e.Key) == 0) &&
		(p.key == nil || bytes.Equal(p.key, e.Key)) &&
		(!p.hasFrom || e.TimeMs >= p.from) && (!p.hasTo || e.TimeMs <= p.to) &&
		(p.ops == nil || f.ops[e.Op] || f.ops[memory.OpChange] && e.Changed() && e.OldVersion != 0) &&
		(len(p.operator) == 0 || bytes.Equal(p.operator, e.Operator)) &&
		(len(p.trace) == 0 || bytes.Equal(p.trace, e.Trace)) &&
		(len(p.id) == 0 || bytes.Equal(p.id, e.CommandID))
}

// find gives a page of events of all owners in the scope, in the order of their
// batches, and where the next one begins.
func (p *memAuditParams) find(tx *engine.Tx) (page []audited, next auditCursor, err error) {
	f, err := p.filter(tx.Layout())
	if err != nil {
		return nil, next, err
	}
	wanted := p.cursor.skip + int(p.count) + 1
	for _, name := range ownersIn(tx, f.scope) {
		if view, ok := tx.OwnerView([]byte(name)); ok {
			if page, err = f.collect(view, page, wanted); err != nil {
				return nil, next, err
			}
			page = p.firsts(page, wanted)
		}
	}
	if string(p.scope) == "*" {
		f.server = true
		if page, err = f.collect(tx.ServerView(), page, wanted); err != nil {
			return nil, next, err
		}
		page = p.firsts(page, wanted)
	}
	page = page[min(p.cursor.skip, len(page)):]
	if len(page) > int(p.count) {
		page = page[:p.count]
		last := page[len(page)-1].order()
		next = auditCursor{set: true, seq: last}
		for i := range page {
			if page[i].order() == last {
				next.skip++
			}
		}
		if last == p.cursor.seq {
			next.skip += p.cursor.skip
		}
	}
	return page, next, nil
}

// firsts keeps the first events of those found so far.
func (p *memAuditParams) firsts(found []audited, count int) []audited {
	slices.SortStableFunc(found, func(a, b audited) int {
		if p.reverse {
			return cmp.Compare(b.order(), a.order())
		}
		return cmp.Compare(a.order(), b.order())
	})
	return found[:min(count, len(found))]
}

// collect appends the view's first events that fit, from the cursor on.
func (f *auditFilter) collect(view *engine.OwnerView, found []audited, count int) ([]audited, error) {
	p := f.params
	f.owner = f.scope.Covers([]byte(view.Name))
	fromSeq, toSeq := uint64(0), ^uint64(0)
	if p.cursor.set && p.reverse {
		toSeq = p.cursor.seq
	} else if p.cursor.set {
		fromSeq = p.cursor.seq
	}
	var failed error
	err := view.Events(fromSeq, toSeq, p.reverse, func(seq uint64, stored []byte) bool {
		a := audited{view: view, seq: seq}
		_, encoded, err := memory.SplitLinked(stored)
		if err == nil {
			err = memory.DecodeEvent(encoded, &a.event)
		}
		if err != nil {
			failed = err
			return false
		}
		if f.accepts(&a.event) {
			failed = memory.DecodeEvent(slices.Clone(encoded), &a.event)
			found = append(found, a)
			count--
		}
		return failed == nil && count > 0
	})
	return found, errors.Join(err, failed)
}

// version is the retained record that an event made, nil when there is none.
func (a *audited) version() (*memory.Record, error) {
	if a.event.Version == 0 {
		return nil, nil
	}
	return a.shown(a.put(a.event.Version, a.order(), a.order()))
}

// before is the retained record that an event replaced.
func (a *audited) before() (*memory.Record, error) {
	if a.event.OldVersion == 0 {
		return nil, nil
	}
	return a.shown(a.put(a.event.OldVersion, 0, a.order()))
}

// shown hides what is encrypted of a version.
func (a *audited) shown(r *memory.Record, err error) (*memory.Record, error) {
	if r != nil {
		a.view.Policy(a.event.Key).HideEncrypted(r)
	}
	return r, err
}

// put is the newest version of that number within a range of batches.
func (a *audited) put(version, fromSeq, toSeq uint64) (r *memory.Record, err error) {
	var lost error
	err = a.view.History(a.event.Key, fromSeq, toSeq, true, func(c engine.Change) bool {
		if c.Kind != effect.RecordPut || c.Version != version {
			return true
		}
		var bytes []byte
		if bytes, lost = c.Record(); lost == nil {
			r = new(memory.Record)
			mustDecode(bytes, r)
		}
		return false
	})
	if err == nil && lost != engine.ErrRetention {
		err = lost
	}
	return r, err
}

// appendDiff appends the values before and after an event that changed one.
func appendDiff(fields []memory.Field, a *audited) ([]memory.Field, error) {
	var before, after *memory.Record
	if a.event.Version != a.event.OldVersion {
		var err, errAfter error
		before, err = a.before()
		after, errAfter = a.version()
		if err = errors.Join(err, errAfter); err != nil {
			return nil, err
		}
	}
	return append(fields, diffField("old", before), diffField("new", after)), nil
}

func diffField(name string, r *memory.Record) memory.Field {
	switch {
	case r == nil:
		return memory.Field{Name: name}
	case r.Text:
		return memory.Field{Name: name, Kind: memory.FieldText, Bytes: r.Value}
	}
	return memory.Field{Name: name, Kind: memory.FieldDocument, Bytes: r.Value}
}

// timeline replies lines for people; where a page is not all, the last line says
// how to go on.
func (p *memAuditParams) timeline(events []audited, next auditCursor, w *reply.Writer) error {
	zone := p.zone
	if zone == nil {
		zone = time.UTC
	}
	var text []byte
	for i := range events {
		r, err := events[i].version()
		if err != nil {
			return err
		}
		var value []byte
		if r != nil {
			value = r.Value
		}
		text = memory.AppendTimelineLine(text, &events[i].event, value, r != nil && r.Text, zone)
	}
	if next.set {
		text = append(append(text, "  more: CURSOR "...), next.String()...)
		text = append(text, '\n')
	}
	w.Verbatim("txt", string(text))
	return nil
}
