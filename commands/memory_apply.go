package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.APPLY: several changes of one owner's records that all
// happen, or none. It must not know how a change is made: each is that of the
// command which makes it alone.

type memApplyParams struct {
	owner, commands []byte
	write           writeOptions
}

// applyInlineMax bounds the commands, in bytes, that do not need a worker.
const applyInlineMax = 16 << 10

// memApplyCommand: BY, REASON, TIME and a deadline are for each command that does
// not say its own. IDs may be of a command, or of all.
func memApplyCommand() *Command {
	return onDataOffloading(memoryDeclaration(Declaration{
		Name: "mem.apply", Complexity: "O(C*log(N)+M) where C is the number of commands, N that of the owner's records and M the bytes that they write",
		Summary: "Change several memory records of an owner, all or none",
		Flags:   Write | DenyOOM, Lock: LockNone,
		Reply: reply.ArrayOf(statusShape()),
	}), grammar.Compile[memApplyParams](
		ownerNode(func(p *memApplyParams) *[]byte { return &p.owner }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Bytes("commands", func(p *memApplyParams) *[]byte { return &p.commands }).
			Sample(`[{"action":"upsert","key":"product:user:session:name","payload":1}]`),
		grammar.Options(writeClauses(func(p *memApplyParams) *writeOptions { return &p.write })...),
	), func(p *memApplyParams) bool { return len(p.commands) > applyInlineMax }, runMemApply)
}

func runMemApply(tx *engine.Tx, p *memApplyParams, w *reply.Writer) error {
	switch {
	case p.write.hasIfVersion:
		return ErrApplyVersion
	case p.write.returns != returnDefault && p.write.returns != returnStatus:
		return ErrApplyReturn
	}
	if err := tx.Layout().ParseOwner(p.owner); err != nil {
		return err
	}
	if x := p.write.expiry; x != expiryNone && x != expiryOther {
		if _, err := x.deadline(p.write.amount, tx.NowMs()); err != nil {
			return err
		}
	}
	a, err := p.parse(tx.Layout())
	if err != nil {
		return err
	}
	if len(a.commands) > 0 {
		if !tx.Locked() {
			if a.lock(tx); gaveUp(tx) {
				return errPutOff
			}
		}
		if err := a.run(tx); err != nil {
			return err
		}
	}
	w.Array(len(a.outcomes))
	for i := range a.outcomes {
		writeMap(w, memory.AppendStatusFields(nil, &a.outcomes[i]))
	}
	return nil
}

// applying is one MEM.APPLY on its way.
type applying struct {
	owner    []byte
	options  *writeOptions
	payload  memory.PayloadDigest
	commands []memory.Command
	keys     []memory.Key    // of the commands
	outcomes []memory.Status // of the commands
}

// parse reads all commands.
func (p *memApplyParams) parse(layout memory.Layout) (*applying, error) {
	texts, err := memory.SplitCommands(p.commands)
	if err != nil {
		return nil, err
	}
	a := &applying{owner: p.owner, options: &p.write, commands: make([]memory.Command, len(texts)),
		keys: make([]memory.Key, len(texts)), outcomes: make([]memory.Status, len(texts))}
	for i, text := range texts {
		if a.commands[i], err = memory.ParseCommand(text); err == nil {
			a.keys[i], err = layout.ParseKey(a.commands[i].Key)
		}
		if err == nil && string(a.keys[i].Owner()) != string(p.owner) {
			err = ErrApplyOwner
		}
		if err != nil {
			return nil, memory.ErrAborted(i, err)
		}
	}
	if len(p.write.id) > 0 {
		a.payload = p.write.digest([]byte("apply"), p.owner, p.commands)
	}
	return a, nil
}

// lock locks the keys of all commands.
func (a *applying) lock(tx *engine.Tx) {
	texts := make([][]byte, len(a.keys))
	for i := range a.keys {
		texts[i] = a.keys[i].Text
	}
	tx.LockRecords(texts, 0)
}

// run makes all changes, unless their common ID was carried out already. A later
// command sees what an earlier one does; nobody else sees anything before the last
// one has passed its checks.
func (a *applying) run(tx *engine.Tx) error {
	if id := a.options.id; len(id) > 0 {
		_, verdict := tx.CommandDone(a.owner, memory.DigestID(a.owner, id), a.payload)
		switch verdict {
		case memory.Conflict, memory.Erased:
			return verdict.Err(id)
		case memory.Duplicated:
			a.repeat(tx)
			return nil
		}
	}
	tx.Draft(a.keys)
	for i := range a.commands {
		err := a.change(tx, i)
		if size, limit := tx.DraftBytes(), memory.LimitApplyBytes(); err == nil && size > limit.Default {
			err = memory.ErrTooLarge("change", size, limit)
		}
		if err != nil {
			tx.Discard()
			return memory.ErrAborted(i, err)
		}
	}
	if changed, kept := tx.Publish(); changed && len(a.options.id) > 0 {
		a.done(tx, kept)
	}
	return nil
}

// done remembers the common ID, with the version that each command made.
func (a *applying) done(tx *engine.Tx, kept bool) {
	id := a.options.id
	// The first row is the first to be dropped when there are too many.
	tx.MarkDone(a.owner, memory.DigestID(a.owner, id), a.payload, uint64(len(a.outcomes)), kept)
	for i := range a.outcomes {
		if version := a.outcomes[i].Version; version != 0 {
			tx.MarkDone(a.owner, memory.DigestPart(a.owner, id, i), a.payload, version, kept)
		}
	}
}

// repeat replies as the commands did that had the common ID first.
func (a *applying) repeat(tx *engine.Tx) {
	for i := range a.outcomes {
		row, _ := tx.CommandDone(a.owner, memory.DigestPart(a.owner, a.options.id, i), a.payload)
		options := a.optionsOf(i)
		options.status(memory.StatusDuplicated, a.keys[i].Text, row.Version, nil)
	}
}

// change makes the change of one command, as the command does that makes it alone.
func (a *applying) change(tx *engine.Tx, i int) error {
	c, options := &a.commands[i], a.optionsOf(i)
	attributes := attributes{kind: c.Kind, schema: c.Schema}
	switch c.Action {
	case memory.Upsert:
		return runMemSet(tx, &memSetParams{key: c.Key, value: c.Payload, attributes: attributes, write: options}, nil)
	case memory.PatchAction:
		return runMemPatch(tx, &memPatchParams{key: c.Key, patch: c.Payload, attributes: attributes, write: options}, nil)
	case memory.AppendAction:
		items, err := c.Items()
		if err != nil {
			return err
		}
		return runMemAppend(tx, &memAppendParams{key: c.Key, items: items, attributes: attributes, write: options}, nil)
	}
	options.expiry, options.amount = expiryNone, 0
	return runMemForget(tx, &memForgetParams{keys: [][]byte{c.Key}, write: options}, nil)
}

// optionsOf are the options of one command: its own, else those of all.
func (a *applying) optionsOf(i int) writeOptions {
	c, o := &a.commands[i], *a.options
	o.id, o.idOfAll = c.ID, o.id
	o.returns, o.outcome = returnStatus, &a.outcomes[i]
	o.ifVersion, o.hasIfVersion = c.Version, c.HasVersion
	if len(c.Operator) > 0 {
		o.by = c.Operator
	}
	if len(c.Reason) > 0 {
		o.reason = c.Reason
	}
	if c.HasTime {
		o.timeMs, o.hasTime = c.TimeMs, true
	}
	return o
}
