package commands

import (
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.SET and MEM.PATCH: a whole record, or part of one.

type memSetParams struct {
	key, value []byte
	text       bool
	condition  condition
	attributes attributes
	write      writeOptions
	was        asWritten // of a version that is brought back

	work writing
}

// memSetCommand: an existing record keeps its kind, its pin, its schema and its creation;
// everything else is what this command says.
func memSetCommand() *Command {
	return onDataOffloading(memoryDeclaration(Declaration{
		Name: "mem.set", Complexity: "O(log(N)) where N is the number of the owner's records, plus O(M) for a value of M bytes",
		Summary: "Write a whole memory record",
		Flags:   Write | DenyOOM,
		Reply:   writeShape(),
	}), memSetGrammar(), func(p *memSetParams) bool { return p.write.needsPast() || len(p.attributes.supersedes) > 0 }, runMemSet)
}

func memSetGrammar() *grammar.Grammar {
	clauses := []grammar.Node{
		grammar.Token("TEXT", func(p *memSetParams) *bool { return &p.text }),
		grammar.Enum("condition", func(p *memSetParams) *condition { return &p.condition }, "NX", "XX"),
	}
	clauses = append(clauses, attributeClauses(func(p *memSetParams) *attributes { return &p.attributes })...)
	clauses = append(clauses, writeClauses(func(p *memSetParams) *writeOptions { return &p.write })...)
	return grammar.Compile[memSetParams](
		grammar.Key("key", func(p *memSetParams) *[]byte { return &p.key }, grammar.OW|grammar.Update),
		grammar.Bytes("value", func(p *memSetParams) *[]byte { return &p.value }),
		grammar.Options(clauses...),
	)
}

// asWritten is what a version had where it was written, and has again where it is
// brought back. What is zero is as for any write.
type asWritten struct {
	version   uint64
	createdMs int64
	op        memory.Op
	lasts     bool // it has no deadline, whatever its kind has
	// passed says that it no longer stood: nothing is asked of it but consent, and
	// its deadline and schema are these.
	passed     bool
	deadlineMs int64
	schema     []byte
}

// apply makes r, and the operation that makes it, what they were.
func (w *asWritten) apply(r *memory.Record, op *memory.Op) {
	if w.version != 0 {
		r.Version = w.version
	}
	if w.createdMs != 0 {
		r.CreatedMs = w.createdMs
	}
	if w.op.MakesVersion() {
		*op = w.op
	}
	if w.lasts {
		r.DeadlineMs, r.SlideMs = 0, 0
	}
	if w.passed {
		r.DeadlineMs, r.SlideMs, r.Schema = w.deadlineMs, 0, w.schema
	}
}

func writeShape() reply.Shape {
	return reply.OneOf(reply.Int(), reply.Null(), recordShape(), statusShape())
}

func runMemSet(tx *engine.Tx, p *memSetParams, w *reply.Writer) error {
	key, err := tx.Layout().ParseKey(p.key)
	if err == nil {
		err = memory.CheckValue(p.value, p.text)
	}
	if err != nil {
		return err
	}
	if replied, err := p.work.begin(tx, key, &p.write, &p.attributes, p.parts, w); replied || err != nil {
		return err
	}
	c, r := &p.work.change, &p.work.record
	c.whole, c.passed = true, p.was.passed
	if c.exists {
		r.Kind, r.Pinned, r.Schema = c.old.Kind, c.old.Pinned, c.old.Schema
	}
	if err := p.attributes.apply(c, r); err != nil {
		return err
	}
	if !c.holds(p.condition) {
		return c.skip(w)
	}
	if err := c.next(r); err != nil {
		return err
	}
	r.Value, r.Text = p.value, p.text
	op := memory.OpSet
	if !c.exists {
		op = memory.OpInit
	}
	p.was.apply(r, &op)
	return c.commit(op, r, w)
}

// parts are what the command asks for beside its common options, for a digest.
func (p *memSetParams) parts() [][]byte {
	return append(p.attributes.parts(), []byte("set"), p.key, p.value, []byte{flagByte(p.text), byte(p.condition)})
}

// lockRecord locks a record's key for a handler that runs on a worker; where the
// dispatcher did, it changes nothing.
func lockRecord(tx *engine.Tx, key memory.Key) {
	if !tx.Locked() {
		tx.LockRecords([][]byte{key.Text}, 0)
	}
}

type memPatchParams struct {
	key, patch []byte
	mode       patchMode
	onConflict conflictRule
	condition  condition
	attributes attributes
	write      writeOptions

	work writing
}

// patchMode is the word that says how a patch reads, from 1; MERGE without one.
type patchMode uint8

func (m patchMode) memory() memory.PatchMode {
	if m == 0 {
		return memory.PatchMerge
	}
	return [...]memory.PatchMode{memory.PatchMerge, memory.PatchRFC7396, memory.PatchRFC6902}[m-1]
}

func memPatchCommand() *Command {
	clauses := []grammar.Node{
		grammar.Enum("mode", func(p *memPatchParams) *patchMode { return &p.mode }, "MERGE", "RFC7396", "RFC6902"),
		grammar.Enum("condition", func(p *memPatchParams) *condition { return &p.condition }, "NX", "XX"),
		grammar.Enum("rule", func(p *memPatchParams) *conflictRule { return &p.onConflict }, "NEWEST", "CONFIDENCE", "FAIL").After("ONCONFLICT"),
	}
	clauses = append(clauses, attributeClauses(func(p *memPatchParams) *attributes { return &p.attributes })...)
	clauses = append(clauses, writeClauses(func(p *memPatchParams) *writeOptions { return &p.write })...)
	return onDataOffloading(memoryDeclaration(Declaration{
		Name: "mem.patch", Complexity: "O(log(N)) where N is the number of the owner's records, plus O(M+P) for a value of M and a patch of P bytes",
		Summary: "Change part of a memory record",
		Flags:   Write | DenyOOM,
		Reply:   writeShape(),
	}), grammar.Compile[memPatchParams](
		grammar.Key("key", func(p *memPatchParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Bytes("patch", func(p *memPatchParams) *[]byte { return &p.patch }),
		grammar.Options(clauses...),
	), func(p *memPatchParams) bool { return p.write.needsPast() || len(p.attributes.supersedes) > 0 }, runMemPatch)
}

func runMemPatch(tx *engine.Tx, p *memPatchParams, w *reply.Writer) error {
	key, err := tx.Layout().ParseKey(p.key)
	if err != nil {
		return err
	}
	if replied, err := p.work.begin(tx, key, &p.write, &p.attributes, p.parts, w); replied || err != nil {
		return err
	}
	c, r := &p.work.change, &p.work.record
	if !c.holds(p.condition) {
		return c.skip(w)
	}
	if stands, err := c.conflicts(p.onConflict, &p.attributes); stands || err != nil {
		if err == nil {
			c.leave(w)
		}
		return err
	}
	if c.exists {
		*r = *c.oldWhole()
		r.Tags = slices.Clone(c.old.Tags)
		if r.Text {
			return ErrTextPatch
		}
		if err := migrate(tx, r); err != nil {
			return err
		}
	}
	value, changed, err := memory.Patch(p.mode.memory(), r.Value, p.patch)
	if err != nil {
		return err
	}
	r.Value = value
	if err := p.attributes.apply(c, r); err != nil {
		return err
	}
	if !changed && len(c.supersedes) == 0 && sameAttributes(r, &c.old) {
		return c.unchanged(w)
	}
	if err := c.next(r); err != nil {
		return err
	}
	op := memory.OpPatch
	if !c.exists {
		op = memory.OpInit
	}
	return c.commit(op, r, w)
}

// parts are what the command asks for beside its common options, for a digest.
func (p *memPatchParams) parts() [][]byte {
	return append(p.attributes.parts(), []byte("patch"), p.key, p.patch, []byte{byte(p.mode), byte(p.condition), byte(p.onConflict)})
}

// sameAttributes says whether two records of the same value are the same.
func sameAttributes(a, b *memory.Record) bool {
	return a.Kind == b.Kind && a.ValidFromMs == b.ValidFromMs && a.ValidUntilMs == b.ValidUntilMs && string(a.Schema) == string(b.Schema) && a.Pinned == b.Pinned && a.Confidence == b.Confidence &&
		string(a.Source) == string(b.Source) && string(a.Anchor) == string(b.Anchor) && string(a.Meta) == string(b.Meta) &&
		slices.EqualFunc(a.Tags, b.Tags, func(x, y []byte) bool { return string(x) == string(y) })
}

// unchanged replies to a patch that changed nothing: no version is made, and only
// a deadline that was asked for is set.
func (c *change) unchanged(w *reply.Writer) error {
	if o := c.options; o.expiry != expiryNone && o.expiry != expiryOther {
		deadlineMs, err := o.expiry.deadline(o.amount, c.tx.NowMs())
		if err != nil {
			return err
		}
		if deadlineMs != c.stood.DeadlineMs {
			c.tx.SetDeadline(c.key.Text, deadlineMs)
			c.tx.Notify(engine.EventGeneric, "expire", c.key.Text)
			c.stood.DeadlineMs = deadlineMs
			c.done(c.old.Version, c.old.Kind.Journaled())
		}
	}
	c.leave(w)
	return nil
}

// leave replies that what stood stands.
func (c *change) leave(w *reply.Writer) {
	c.reply(memory.StatusUnchanged, c.old.Version, func() (*memory.Record, int64) { return c.oldWhole(), c.stood.DeadlineMs }, w)
}

// conflictRule is what ONCONFLICT asks for, from 1; none is to change in any case.
type conflictRule uint8

const (
	conflictNewest conflictRule = iota + 1
	conflictConfidence
	conflictFail
)

// conflicts says whether what stands is to be left standing. By time, that is
// where its last change is of a later time than this one (TIME, else now); of two
// at the same time the later to arrive wins. By confidence, where this change
// states less than what stands has; one that states none is as sure as that.
func (c *change) conflicts(rule conflictRule, a *attributes) (stands bool, err error) {
	timeMs := c.tx.NowMs()
	if c.options.hasTime {
		timeMs = c.options.timeMs
	}
	older := c.exists && timeMs < c.old.UpdatedMs
	switch rule {
	case conflictNewest:
		return older, nil
	case conflictConfidence:
		return c.exists && a.hasConfidence && a.confidence < c.old.Confidence, nil
	case conflictFail:
		if older {
			return false, ErrConflict
		}
	}
	return false, nil
}
