package commands

import (
	"math"
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.APPEND: records that grow. It must not know how items are
// kept.

type memAppendParams struct {
	key        []byte
	items      [][]byte
	maxLen     int64
	condition  condition
	attributes attributes
	write      writeOptions

	work writing
}

// memAppendCommand: an item's time is the command's, by which recall tells the
// newest turns. ANCHOR is of the record: its items are found by their own words.
func memAppendCommand() *Command {
	clauses := []grammar.Node{
		grammar.Int("maxlen", func(p *memAppendParams) *int64 { return &p.maxLen }).After("MAXLEN").
			Range(1, math.MaxInt32).Fail(grammar.OutOfRange, string(ErrMaxLen)),
		grammar.Enum("condition", func(p *memAppendParams) *condition { return &p.condition }, "NX", "XX"),
	}
	clauses = append(clauses, attributeClauses(func(p *memAppendParams) *attributes { return &p.attributes })...)
	clauses = append(clauses, writeClauses(func(p *memAppendParams) *writeOptions { return &p.write })...)
	clauses = append(clauses,
		grammar.OneOf("what",
			grammar.Counted("numitems", "item", func(p *memAppendParams) *[][]byte { return &p.items }).After("ITEMS").
				Range(1, math.MaxInt32).Sample("1", `{"role":"user"}`),
		).Required())
	return onDataOffloading(memoryDeclaration(Declaration{
		Name: "mem.append", Complexity: "O(log(N)+I) where N is the number of the owner's records and items and I that of the items added and trimmed",
		Summary: "Append items to a memory record that is an array",
		Flags:   Write | DenyOOM,
		Reply:   writeShape(),
	}), grammar.Compile[memAppendParams](
		grammar.Key("key", func(p *memAppendParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Options(clauses...),
	), func(p *memAppendParams) bool { return p.write.needsPast() || len(p.attributes.supersedes) > 0 }, runMemAppend)
}

func runMemAppend(tx *engine.Tx, p *memAppendParams, w *reply.Writer) error {
	key, err := tx.Layout().ParseKey(p.key)
	if err != nil {
		return err
	}
	if err := memory.CheckItems(p.items); err != nil {
		return err
	}
	if replied, err := p.work.begin(tx, key, &p.write, &p.attributes, p.parts, w); replied || err != nil {
		return err
	}
	c, r := &p.work.change, &p.work.record
	if !c.holds(p.condition) {
		return c.skip(w)
	}
	if c.exists {
		*r = c.old
		r.Tags = slices.Clone(c.old.Tags)
	}
	if err := p.attributes.apply(c, r); err != nil {
		return err
	}
	if err := c.next(r); err != nil {
		return err
	}
	if err := c.redactItems(p.items); err != nil {
		return err
	}
	if err := p.grow(c, r); err != nil {
		return err
	}
	op := memory.OpAppend
	if !c.exists {
		op = memory.OpInit
	}
	return c.commit(op, r, w)
}

// grow appends the items. A list whose schema has a newer version is written
// whole, as that version has it.
func (p *memAppendParams) grow(c *change, r *memory.Record) (err error) {
	if !c.outdated() {
		c.added, err = c.tx.Grow(c.key, r, p.items, r.UpdatedMs, int(p.maxLen))
		return err
	}
	r.Whole(c.oldWhole().Value)
	if err := migrate(c.tx, r); err != nil {
		return err
	}
	texts, err := memory.SplitArray(r)
	if err != nil {
		return err
	}
	texts = append(texts, p.items...)
	if p.maxLen > 0 && len(texts) > int(p.maxLen) {
		texts = texts[len(texts)-int(p.maxLen):]
	}
	r.Value = memory.JoinItems(nil, slices.Values(texts))
	return memory.CheckValue(r.Value, false)
}

// parts are what the command asks for beside its common options, for a digest.
func (p *memAppendParams) parts() [][]byte {
	numbers := []byte{byte(p.condition), byte(p.maxLen >> 24), byte(p.maxLen >> 16), byte(p.maxLen >> 8), byte(p.maxLen)}
	parts := append(p.attributes.parts(), []byte("append"), p.key, numbers)
	return append(parts, p.items...)
}
