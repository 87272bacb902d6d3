package commands

import (
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.DEBUG: all that an owner had at one moment, and what led to
// it.

type memDebugParams struct {
	owner []byte
	at    memory.Moment
	ops   [][]byte
}

// What one MEM.DEBUG shows.
const (
	debugEvents     = 50
	debugRecordsMax = 10000 // mem-debug-records: more are what MEM.EXPORT is for
)

// memDebugCommand: without AT the state is that of now, working records
// included, which have no past.
func memDebugCommand() *Command {
	number := reply.OneOf(reply.Int(), reply.Bulk())
	return onData(memoryAdminDeclaration(Declaration{
		Name: "mem.debug", Complexity: "O(N) where N is the number of the owner's records; with AT O(E+V), its events and its records' versions",
		Summary: "Show an owner's records as they stand or stood, and its last events",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.Record(reply.Field{Key: "owner", Value: reply.Bulk()}, reply.Field{Key: "at", Value: number},
			reply.Field{Key: "state", Value: reply.ArrayOf(recordShape())}, reply.Field{Key: "timeline", Value: reply.ArrayOf(eventShape())}),
	}), grammar.Compile[memDebugParams](
		ownerNode(func(p *memDebugParams) *[]byte { return &p.owner }, grammar.RO|grammar.Access),
		grammar.Options(
			momentNode(func(p *memDebugParams) *memory.Moment { return &p.at }),
			grammar.Counted("numops", "op", func(p *memDebugParams) *[][]byte { return &p.ops }).After("OP").Sample("1", "set"),
		),
	), runMemDebug)
}

func runMemDebug(tx *engine.Tx, p *memDebugParams, w *reply.Writer) error {
	if err := tx.Layout().ParseOwner(p.owner); err != nil {
		return err
	}
	tx.AuditReads()
	view, ok := tx.OwnerView(p.owner)
	if !ok {
		return ErrNoOwner
	}
	timeline, err := p.timeline(tx, view)
	if err != nil {
		return err
	}
	state, err := p.state(tx, view)
	if err != nil {
		return err
	}
	w.Map(4)
	w.BulkString("owner")
	w.Bulk(p.owner)
	w.BulkString("at")
	switch {
	case p.at.BySeq:
		w.BulkString(p.at.String())
	case p.at.Set:
		w.Int(p.at.TimeMs)
	default:
		w.Int(tx.NowMs())
	}
	w.BulkString("state")
	writeMaps(w, state, formatPlain)
	w.BulkString("timeline")
	writeMaps(w, timeline, formatPlain)
	return nil
}

// state is the owner's records at the moment, by key.
func (p *memDebugParams) state(tx *engine.Tx, view *engine.OwnerView) (state [][]memory.Field, err error) {
	add := func(s engine.Stored) bool {
		var r memory.Record
		s.Decode(&r)
		view.Policy(s.Key).HideEncrypted(&r)
		state = append(state, memory.AppendRecordFields(nil, s.Key, &r, s.DeadlineMs))
		return len(state) <= debugRecordsMax
	}
	if !p.at.Set {
		view.Ascend(nil, func(s engine.Stored, _ uint64) bool { return tx.Past(s.DeadlineMs) || add(s) })
	} else {
		keys, err := view.KeysEver()
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			s, _, ok, err := view.At([]byte(key), p.at)
			if err != nil {
				return nil, err
			}
			if ok && !add(s) {
				break
			}
		}
	}
	if len(state) > debugRecordsMax {
		return nil, ErrDebugRecords
	}
	return state, nil
}

// timeline is the owner's last events until the moment, the oldest of them first.
func (p *memDebugParams) timeline(tx *engine.Tx, view *engine.OwnerView) ([][]memory.Field, error) {
	audit := memAuditParams{scope: p.owner, ops: p.ops, reverse: true}
	switch {
	case p.at.BySeq:
		audit.cursor = auditCursor{set: true, seq: p.at.Seq}
	case p.at.Set:
		audit.to, audit.hasTo = p.at.TimeMs, true
	}
	f, err := audit.filter(tx.Layout())
	if err != nil {
		return nil, err
	}
	f.server = true // facets have events without a key
	events, err := f.collect(view, nil, debugEvents)
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	list := make([][]memory.Field, len(events))
	for i := range events {
		list[i] = memory.AppendEventFields(nil, events[i].seq, &events[i].event)
	}
	return list, nil
}
