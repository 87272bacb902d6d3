package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns commands on whole databases.

func databaseCommands() []*Command {
	return []*Command{selectCommand(), swapDBCommand(), flushDBCommand(), flushAllCommand(), dbSizeCommand()}
}

type selectParams struct{ index int64 }

func selectCommand() *Command {
	return onSession(Declaration{
		Name: "select", Family: Connection, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Change the selected database for the current connection",
		Flags:   Loading | Stale | Fast,
		Reply:   reply.OK(),
	}, grammar.Compile[selectParams](
		grammar.Int("index", func(p *selectParams) *int64 { return &p.index }).Range(math.MinInt32, math.MaxInt32),
	), runSelect)
}

func runSelect(s *Session, p *selectParams, w *reply.Writer) error {
	if p.index < 0 || p.index >= int64(s.Core.Engine.Databases()) {
		return ErrDBIndex
	}
	s.DB = int(p.index)
	w.OK()
	return nil
}

type swapParams struct{ first, second int64 }

func swapDBCommand() *Command {
	return onData(Declaration{
		Name: "swapdb", Family: Server, Since: "4.0.0", Complexity: "O(N) where N is the count of clients watching or blocking on keys from both databases.",
		Summary: "Swaps two Redis databases",
		Flags:   Write | Fast, Lock: LockAll, Categories: []string{"keyspace", "dangerous"},
		Reply: reply.OK(),
	}, grammar.Compile[swapParams](
		grammar.Int("index1", func(p *swapParams) *int64 { return &p.first }).
			Range(math.MinInt32, math.MaxInt32).FailNumber("invalid first DB index"),
		grammar.Int("index2", func(p *swapParams) *int64 { return &p.second }).
			Range(math.MinInt32, math.MaxInt32).FailNumber("invalid second DB index"),
	), runSwapDB)
}

func runSwapDB(tx *engine.Tx, p *swapParams, w *reply.Writer) error {
	last := int64(tx.Databases()) - 1
	if p.first < 0 || p.first > last || p.second < 0 || p.second > last {
		return ErrDBIndex
	}
	tx.Swap(int(p.first), int(p.second))
	w.OK()
	return nil
}

// flushParams: the memory of what is flushed is always given back in the
// background; the words say what INFO tells of it.
type flushParams struct {
	async, sync bool
	more        bool // there were more words than one
}

func (p *flushParams) flush(tx *engine.Tx, db int) {
	if p.async {
		tx.FlushLazily(db)
	} else {
		tx.Flush(db)
	}
}

func flushGrammar() *grammar.Grammar {
	return grammar.Compile[flushParams](
		grammar.Opt(grammar.OneOf("async",
			grammar.Token("ASYNC", func(p *flushParams) *bool { return &p.async }).Since("4.0.0"),
			grammar.Token("SYNC", func(p *flushParams) *bool { return &p.sync }).Since("6.2.0"),
		)),
	).WithArity(-1, "more than one word is a syntax error, not an arity error")
}

func flushDBCommand() *Command {
	return onData(Declaration{
		Name: "flushdb", Family: Server, Since: "1.0.0", Complexity: "O(N) where N is the number of keys in the selected database",
		Summary: "Remove all keys from the current database",
		Flags:   Write, Lock: LockAll, Categories: []string{"keyspace", "dangerous"},
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		History: []Change{{"4.0.0", "Added the `ASYNC` flushing mode modifier."}, {"6.2.0", "Added the `SYNC` flushing mode modifier."}},
		Reply:   reply.OK(),
	}, flushGrammar(), func(tx *engine.Tx, p *flushParams, w *reply.Writer) error {
		p.flush(tx, tx.DB)
		w.OK()
		return nil
	})
}

func flushAllCommand() *Command {
	return onData(Declaration{
		Name: "flushall", Family: Server, Since: "1.0.0", Complexity: "O(N) where N is the total number of keys in all databases",
		Summary: "Remove all keys from all databases",
		Flags:   Write, Lock: LockAll, Categories: []string{"keyspace", "dangerous"},
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		History: []Change{{"4.0.0", "Added the `ASYNC` flushing mode modifier."}, {"6.2.0", "Added the `SYNC` flushing mode modifier."}},
		Reply:   reply.OK(),
	}, flushGrammar(), func(tx *engine.Tx, p *flushParams, w *reply.Writer) error {
		for db := 0; db < tx.Databases(); db++ {
			p.flush(tx, db)
		}
		tx.NoteEmptied()
		w.OK()
		return nil
	})
}

func dbSizeCommand() *Command {
	return onData(Declaration{
		Name: "dbsize", Family: Server, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Return the number of keys in the selected database",
		Flags:   ReadOnly | Fast, Lock: LockNone, Categories: []string{"keyspace"},
		Tips:  []string{"request_policy:all_shards", perShardSum},
		Reply: reply.Int(),
	}, grammar.Compile[noParams](), func(tx *engine.Tx, _ *noParams, w *reply.Writer) error {
		w.Int(int64(tx.Size()))
		return nil
	})
}
