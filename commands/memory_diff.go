package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.DIFF: what changed between two versions of a record.

type memDiffParams struct {
	key           []byte
	before, after int64
}

// memDiffCommand: the patch makes the first version's value into the second's,
// whichever is older. A text counts as a JSON string.
func memDiffCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "mem.diff", Complexity: "O(V+S) where V is the number of the record's versions and S the size of both values",
		Summary: "Show what changed between two versions of a memory record, as a JSON Patch",
		Flags:   ReadOnly, Offload: true,
		Reply: reply.Nullable(reply.Bulk()),
	}), grammar.Compile[memDiffParams](
		grammar.Key("key", func(p *memDiffParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Int("version", func(p *memDiffParams) *int64 { return &p.before }).NonNegative(),
		grammar.Int("other-version", func(p *memDiffParams) *int64 { return &p.after }).NonNegative(),
	), runMemDiff)
}

func runMemDiff(tx *engine.Tx, p *memDiffParams, w *reply.Writer) error {
	key, view, err := pastOf(tx, p.key)
	if err != nil {
		return err
	}
	if view == nil {
		tx.NoteRead(key, nil)
		w.Null()
		return nil
	}
	before, there, err := versionJSON(tx, view, key, p.before)
	if err != nil {
		return err
	}
	after, alsoThere, err := versionJSON(tx, view, key, p.after)
	if err != nil {
		return err
	}
	if !there || !alsoThere {
		w.Null()
		return nil
	}
	patch, err := memory.DiffJSON(before, after)
	if err != nil {
		return err
	}
	w.Bulk(patch)
	return nil
}

// versionJSON is the value of a version as JSON; ok is false when there never was
// one.
func versionJSON(tx *engine.Tx, view *engine.OwnerView, key memory.Key, version int64) (value []byte, ok bool, err error) {
	made, ok, err := view.Version(key.Text, uint64(version))
	tx.NoteRead(key, made.Bytes)
	if err != nil || !ok {
		return nil, false, err
	}
	var r memory.Record
	mustDecode(made.Bytes, &r)
	if r.Text {
		return memory.AppendQuoted(nil, r.Value), true, nil
	}
	return r.Value, true, nil
}
