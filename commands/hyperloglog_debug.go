package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/hyperloglog"
)

// This file owns PFDEBUG and PFSELFTEST: what shows that values are counted as
// Redis does.

// pfDebugging is a subcommand of PFDEBUG on a value that is there.
type pfDebugging struct {
	word string
	run  func(tx *engine.Tx, key, value []byte, w *reply.Writer) error
}

func pfDebuggings() []pfDebugging {
	return []pfDebugging{
		{"GETREG", pfDebugRegisters},
		{"DECODE", pfDebugDecode},
		{"ENCODING", func(_ *engine.Tx, _, value []byte, w *reply.Writer) error {
			if hyperloglog.IsSparse(value) {
				w.Status("sparse")
			} else {
				w.Status("dense")
			}
			return nil
		}},
		{"TODENSE", func(tx *engine.Tx, key, value []byte, w *reply.Writer) error {
			w.Int(intOf(hyperloglog.IsSparse(value)))
			_, err := makeDense(tx, key, value)
			return err
		}},
	}
}

type pfDebugParams struct{ subcommand, key []byte }

func pfDebugCommand() *Command {
	return onData(Declaration{
		Name: "pfdebug", Family: HyperLogLog, Since: "2.8.9", Complexity: "N/A",
		Summary: "Internal commands for debugging HyperLogLog values",
		Flags:   Write | DenyOOM | Admin, DocFlags: []string{"syscmd"},
		Reply: reply.OneOf(reply.Int(), reply.Status("sparse", "dense"), reply.Bulk(), reply.ArrayOf(reply.Int())),
	}, grammar.Compile[pfDebugParams](
		// The word is judged once the key was looked up.
		grammar.Bytes("subcommand", func(p *pfDebugParams) *[]byte { return &p.subcommand }),
		grammar.Key("key", func(p *pfDebugParams) *[]byte { return &p.key }, grammar.RW|grammar.Access),
	), runPFDebug)
}

func runPFDebug(tx *engine.Tx, p *pfDebugParams, w *reply.Writer) error {
	value, err := counterOf(tx.StringForWrite(p.key))
	if err != nil {
		return err
	}
	if value == nil {
		return errNoHLL
	}
	tx.MarkRaw(p.key)
	for _, sub := range pfDebuggings() {
		if isWord(p.subcommand, sub.word) {
			return sub.run(tx, p.key, value, w)
		}
	}
	return errPFDebug(p.subcommand)
}

// makeDense makes the value of key dense.
func makeDense(tx *engine.Tx, key, value []byte) ([]byte, error) {
	dense, err := hyperloglog.ToDense(value)
	if err == nil && hyperloglog.IsSparse(value) {
		tx.ReplaceString(key, dense)
		tx.MarkRaw(key)
	}
	return dense, corrupt(err)
}

func pfDebugRegisters(tx *engine.Tx, key, value []byte, w *reply.Writer) error {
	dense, err := makeDense(tx, key, value)
	if err != nil {
		return err
	}
	registers := new(hyperloglog.Registers)
	if err := registers.Merge(dense); err != nil {
		return corrupt(err)
	}
	w.Array(len(registers))
	for _, rank := range registers {
		w.Int(int64(rank))
	}
	return nil
}

func pfDebugDecode(_ *engine.Tx, _, value []byte, w *reply.Writer) error {
	if !hyperloglog.IsSparse(value) {
		return errNotSparse
	}
	w.Bulk(hyperloglog.AppendRuns(nil, value))
	return nil
}

func pfSelfTestCommand() *Command {
	return onData(Declaration{
		Name: "pfselftest", Family: HyperLogLog, Since: "2.8.9", Complexity: "N/A",
		Summary: "An internal command for testing HyperLogLog values",
		Flags:   Admin, DocFlags: []string{"syscmd"}, Lock: LockNone, Offload: true,
		Reply: reply.OK(),
	}, grammar.Compile[noParams](), func(tx *engine.Tx, _ *noParams, w *reply.Writer) error {
		if err := hyperloglog.SelfTest(tx.SparseMax()); err != nil {
			return errSelfTest(err)
		}
		w.OK()
		return nil
	})
}
