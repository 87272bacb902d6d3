package commands

import (
	"errors"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/hyperloglog"
)

// This file owns the commands that count distinct elements. What they work on is a
// string; it must not know what is in it.

func hyperLogLogCommands() []*Command {
	return []*Command{pfAddCommand(), pfCountCommand(), pfMergeCommand(), pfDebugCommand(), pfSelfTestCommand()}
}

// counterOf checks what was read of a key: nil, for a key that is not there, is
// right.
func counterOf(value []byte, err error) ([]byte, error) {
	if err == nil && value != nil && hyperloglog.Check(value) != nil {
		err = errNotHLL
	}
	return value, err
}

// corrupt is the error for the client of one of package hyperloglog.
func corrupt(err error) error {
	if errors.Is(err, hyperloglog.ErrCorrupt) {
		return errCorruptHLL
	}
	return err
}

type elementsParams struct {
	key      []byte
	elements [][]byte
}

func pfAddCommand() *Command {
	return onData(Declaration{
		Name: "pfadd", Family: HyperLogLog, Since: "2.8.9", Complexity: "O(1) to add every element.",
		Summary: "Adds the specified elements to the specified HyperLogLog.",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[elementsParams](
		grammar.Key("key", func(p *elementsParams) *[]byte { return &p.key }, grammar.RW|grammar.Insert),
		grammar.Opt(grammar.Rest("element", func(p *elementsParams) *[][]byte { return &p.elements })),
	), runPFAdd)
}

func runPFAdd(tx *engine.Tx, p *elementsParams, w *reply.Writer) error {
	value, err := counterOf(tx.StringForWrite(p.key))
	if err != nil {
		return err
	}
	var changed bool
	if value != nil && !hyperloglog.IsSparse(value) {
		changed = addDense(tx, p)
	} else if changed, err = addSparse(tx, p, value); err != nil {
		return err
	}
	tx.MarkRaw(p.key)
	if changed {
		tx.Notify(engine.EventString, "pfadd", p.key)
	}
	w.Int(intOf(changed))
	return nil
}

// addDense changes one or two bytes for each register that an element raises, so
// that no more is written.
func addDense(tx *engine.Tx, p *elementsParams) (changed bool) {
	for _, element := range p.elements {
		offset, data, size := hyperloglog.Patch(tx.PeekString(p.key), element)
		if size > 0 {
			tx.SpliceString(p.key, offset, data[:size])
			changed = true
		}
	}
	if changed && !hyperloglog.IsStale(tx.PeekString(p.key)) {
		offset, data := hyperloglog.StaleByte(tx.PeekString(p.key))
		tx.SpliceString(p.key, offset, []byte{data})
	}
	return changed
}

// addSparse writes a value, or a key that is not there, anew.
func addSparse(tx *engine.Tx, p *elementsParams, value []byte) (changed bool, err error) {
	own := append([]byte(nil), value...)
	if value == nil {
		own, changed = hyperloglog.New(), true
	}
	for _, element := range p.elements {
		var raised bool
		if own, raised, err = hyperloglog.Add(own, element, tx.SparseMax()); err != nil {
			return false, corrupt(err)
		}
		changed = changed || raised
	}
	if changed {
		hyperloglog.MarkStale(own)
		tx.ReplaceString(p.key, own)
	}
	return changed, nil
}

func pfCountCommand() *Command {
	return onData(Declaration{
		Name: "pfcount", Family: HyperLogLog, Since: "2.8.9",
		Complexity: "O(1) with a very small average constant time when called with a single key. O(N) with N being the number of keys, and much bigger constant times, when called with multiple keys.",
		Summary:    "Return the approximated cardinality of the set(s) observed by the HyperLogLog at key(s).",
		Flags:      ReadOnly | MayReplicate,
		Reply:      reply.Int(),
	}, grammar.Compile[keysParams](
		grammar.Keys("key", (*keysParams).keysField, grammar.RW|grammar.Access).
			Notes("RW because it may change the internal representation of the key, and propagate to replicas"),
	), runPFCount)
}

func runPFCount(tx *engine.Tx, p *keysParams, w *reply.Writer) error {
	if len(p.keys) == 1 {
		return countOne(tx, p.keys[0], w)
	}
	registers := new(hyperloglog.Registers)
	if _, err := mergeKeys(tx, p.keys, registers); err != nil {
		return err
	}
	w.Int(int64(registers.Count()))
	return nil
}

// mergeKeys takes the values of all keys into registers, and says whether one of
// them is dense.
func mergeKeys(tx *engine.Tx, keys [][]byte, registers *hyperloglog.Registers) (dense bool, err error) {
	for _, key := range keys {
		value, err := counterOf(tx.String(key))
		if err != nil {
			return false, err
		}
		if value == nil {
			continue
		}
		if err := registers.Merge(value); err != nil {
			return false, corrupt(err)
		}
		dense = dense || !hyperloglog.IsSparse(value)
	}
	return dense, nil
}

// countOne answers the count that the value carries. If that is out of date it
// counts, and puts the count into the value for the next time: a change, which
// WATCH sees, as in Redis.
func countOne(tx *engine.Tx, key []byte, w *reply.Writer) error {
	value, err := counterOf(tx.String(key))
	if err != nil {
		return err
	}
	if value == nil {
		w.Int(0)
		return nil
	}
	count, ok := hyperloglog.Counted(value)
	if !ok {
		if count, err = hyperloglog.Count(value); err != nil {
			return corrupt(err)
		}
		if offset, data := hyperloglog.CountBytes(count); tx.Writable() {
			tx.SpliceString(key, offset, data[:])
		}
	}
	tx.MarkRaw(key)
	w.Int(int64(count))
	return nil
}

type mergeParams struct {
	target  []byte
	sources [][]byte
}

func pfMergeCommand() *Command {
	sources := func(p *mergeParams) *[][]byte { return &p.sources }
	return onData(Declaration{
		Name: "pfmerge", Family: HyperLogLog, Since: "2.8.9", Complexity: "O(N) to merge N HyperLogLogs, but with high constant times.",
		Summary: "Merge N different HyperLogLogs into a single one.",
		Flags:   Write | DenyOOM,
		Reply:   reply.OK(),
	}, grammar.Compile[mergeParams](
		grammar.Key("destkey", func(p *mergeParams) *[]byte { return &p.target }, grammar.RW|grammar.Access|grammar.Insert),
		grammar.Opt(grammar.Keys("sourcekey", sources, grammar.RO|grammar.Access)).
			DocumentedAs(grammar.Keys("sourcekey", sources, grammar.RO|grammar.Access).InSpec(1)),
	), runPFMerge)
}

// runPFMerge raises the target's registers one by one, from what it is, so that its
// runs become those that they become in Redis.
func runPFMerge(tx *engine.Tx, p *mergeParams, w *reply.Writer) error {
	registers := new(hyperloglog.Registers)
	target := [1][]byte{p.target}
	denseTarget, err := mergeKeys(tx, target[:], registers)
	if err != nil {
		return err
	}
	denseSource, err := mergeKeys(tx, p.sources, registers)
	if err != nil {
		return err
	}
	own := append([]byte(nil), tx.PeekString(p.target)...)
	if len(own) == 0 {
		own = hyperloglog.New()
	}
	if denseTarget || denseSource {
		if own, err = hyperloglog.ToDense(own); err != nil {
			return corrupt(err)
		}
	}
	if own, err = registers.Raise(own, tx.SparseMax()); err != nil {
		return corrupt(err)
	}
	hyperloglog.MarkStale(own)
	tx.ReplaceString(p.target, own)
	tx.MarkRaw(p.target)
	tx.Notify(engine.EventString, "pfadd", p.target)
	w.OK()
	return nil
}
