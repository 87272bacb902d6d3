package commands

import (
	"encoding/hex"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.ERASE: the end of what was remembered, and of its past. How
// it leaves memory and files it must not know.

type memEraseParams struct {
	scope  []byte
	by     []byte
	trace  []byte
	caller []byte
	reason []byte
}

// memEraseCommand: it replies once no file holds any of it, which takes as long
// as writing the tables again that did. A transaction waits for no file, so it is
// no place for it. Repeating it is no error, and ends one that failed.
func memEraseCommand() *Command {
	name, note := memory.LimitName(), memory.LimitNote()
	return onData(memoryAdminDeclaration(Declaration{
		Name: "mem.erase", Complexity: "O(R+H+E) where R is the number of records erased, H that of their versions and E that of their owners' events, plus the time to write the tables again that held them",
		Summary: "Destroy memory records, their history and what events say of them",
		Flags:   Write | NoMulti | NoScript, Offload: true, Lock: LockNone,
		Reply: eraseShape(),
	}), grammar.Compile[memEraseParams](
		scopeNode("scope", func(p *memEraseParams) *[]byte { return &p.scope }),
		grammar.Options(
			textNode("operator", "BY", name, func(p *memEraseParams) *[]byte { return &p.by }),
			textNode("trace", "TRACE", name, func(p *memEraseParams) *[]byte { return &p.trace }),
			textNode("caller", "CALLER", note, func(p *memEraseParams) *[]byte { return &p.caller }),
			textNode("reason", "REASON", note, func(p *memEraseParams) *[]byte { return &p.reason }),
		),
	), runMemErase)
}

func eraseShape() reply.Shape {
	return reply.Record(
		reply.Field{Key: "records", Value: reply.Int()}, reply.Field{Key: "history", Value: reply.Int()},
		reply.Field{Key: "events", Value: reply.Int()}, reply.Field{Key: "vectors", Value: reply.Int()},
		reply.Field{Key: "ids", Value: reply.Int()}, reply.Field{Key: "receipt", Value: reply.Bulk()})
}

func runMemErase(tx *engine.Tx, p *memEraseParams, w *reply.Writer) error {
	scope, err := tx.Layout().ParseScope(p.scope)
	if err != nil {
		return err
	}
	event := tx.NewEvent()
	if len(p.by) > 0 {
		event.Operator = p.by
	}
	event.Caller, event.Trace, event.Reason = p.caller, p.trace, p.reason
	erased, err := tx.Erase(scope, ownersIn(tx, scope), &event)
	if err != nil {
		return err
	}
	writeMap(w, []memory.Field{
		{Name: "records", Kind: memory.FieldInteger, Integer: erased.Records},
		{Name: "history", Kind: memory.FieldInteger, Integer: erased.History},
		{Name: "events", Kind: memory.FieldInteger, Integer: erased.Events},
		{Name: "vectors", Kind: memory.FieldInteger, Integer: erased.Vectors},
		{Name: "ids", Kind: memory.FieldInteger, Integer: erased.IDs},
		{Name: "receipt", Kind: memory.FieldText, Bytes: hex.AppendEncode(nil, erased.Receipt[:])},
	})
	return nil
}
