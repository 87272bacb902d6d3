package commands

import (
	"sync/atomic"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns commands on the server as a whole: its time, snapshots and end. It must not know how the process or the store do what they are asked.

func serverCommands() []*Command {
	return []*Command{
		timeCommand(), infoCommand(), configCommand(), debugCommand(),
		lastSaveCommand(), shutdownCommand(), backupCommand(),
		commandCommand(), aclCommand(),
		saveCommand(), bgSaveCommand(), bgRewriteAOFCommand(),
		slowLogCommand(), lolwutCommand(), latencyCommand(), monitorCommand(), moduleCommand(),
	}
}

func timeCommand() *Command {
	return onSession(Declaration{
		Name: "time", Family: Server, Since: "2.6.0", Complexity: "O(1)",
		Summary: "Return the current server time",
		Flags:   Loading | Stale | Fast, Tips: []string{nondeterministicOutput},
		Reply: reply.Tuple(reply.Bulk(), reply.Bulk()),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		nowMs := s.Core.Engine.NowMs()
		w.Array(2)
		w.BulkInt(nowMs / 1000)
		w.BulkInt(nowMs % 1000 * 1000)
		return nil
	})
}

func lastSaveCommand() *Command {
	return onSession(Declaration{
		Name: "lastsave", Family: Server, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Get the UNIX time stamp of the last successful save to disk",
		Flags:   Loading | Stale | Fast, Categories: []string{"admin", "dangerous"},
		Tips:  []string{nondeterministicOutput},
		Reply: reply.Int(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		w.Int(s.Core.lastSaveMs() / 1000)
		return nil
	})
}

type shutdownParams struct {
	save              uint8 // shutdownNoSave, shutdownSave
	now, force, abort bool
}

const (
	shutdownNoSave = iota + 1
	shutdownSave
)

func shutdownCommand() *Command {
	return onSession(Declaration{
		Name: "shutdown", Family: Server, Since: "1.0.0",
		Complexity: "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise O(1)",
		Summary:    "Synchronously save the dataset to disk and then shut down the server",
		Flags:      Admin | NoScript | Loading | Stale | NoMulti | AllowBusy,
		History:    []Change{{"7.0.0", "Added the `NOW`, `FORCE` and `ABORT` modifiers."}},
		Reply:      reply.OK(),
	}, grammar.Compile[shutdownParams](
		grammar.Options(
			grammar.Enum("nosave_save", func(p *shutdownParams) *uint8 { return &p.save }, "NOSAVE", "SAVE"),
			grammar.Token("NOW", func(p *shutdownParams) *bool { return &p.now }).Since("7.0.0"),
			grammar.Token("FORCE", func(p *shutdownParams) *bool { return &p.force }).Since("7.0.0"),
			grammar.Token("ABORT", func(p *shutdownParams) *bool { return &p.abort }).Since("7.0.0"),
		),
	), runShutdown)
}

// runShutdown answers nothing when it succeeds: the connection ends.
func runShutdown(s *Session, p *shutdownParams, _ *reply.Writer) error {
	if p.abort {
		if p.save != 0 || p.now || p.force {
			return ErrSyntax
		}
		return errNoShutdown
	}
	if err := s.Core.overdue.endFor(p.save == shutdownNoSave); err != nil {
		return err
	}
	if err := s.Core.saveAtEnd(p); err != nil {
		return err
	}
	err := s.Core.Process.Shutdown(ShutdownRequest{
		Save: p.save == shutdownSave, NoSave: p.save == shutdownNoSave, Now: p.now, Force: p.force,
	})
	if err != nil {
		return Error("ERR " + err.Error())
	}
	s.next = CloseAfterReply
	return nil
}

type backupParams struct{ dir []byte }

func backupCommand() *Command {
	return onSession(Declaration{
		Name: "backup", Family: Server, Since: "7.0.0", Complexity: "O(N) where N is the number of files of the store",
		Summary: "Write a consistent copy of the store into a new directory on the server's host",
		Flags:   Admin | NoScript | NoMulti,
		Reply:   reply.OK(),
	}, grammar.Compile[backupParams](
		grammar.Bytes("directory", func(p *backupParams) *[]byte { return &p.dir }),
	), func(s *Session, p *backupParams, _ *reply.Writer) error {
		if s.Core.Store == nil {
			return errNoStore
		}
		s.aside(string(p.dir), s.Core.Store.Backup)
		return nil
	})
}

// aside parks the session while a worker does what takes long, and answers OK or
// its error.
func (s *Session) aside(argument string, work func(argument string) error) {
	proto := s.Proto
	s.next = Park
	go func() {
		s.Core.workers <- struct{}{}
		err := work(argument)
		<-s.Core.workers
		s.Peer.Resume(func(out []byte) []byte {
			var w reply.Writer
			w.Reset(out)
			w.SetProto(proto)
			if err == nil {
				w.OK()
				return w.Bytes()
			}
			line := "ERR " + err.Error()
			s.Core.stats.Errors.Add(1)
			s.Core.stats.errors.count(line)
			w.ErrorLine(line)
			return w.Bytes()
		})
	}()
}

// unavailable declares a command of Redis that this server refuses for now,
// rather than doing something else under its name.
func unavailable(d Declaration, g *grammar.Grammar, reason Error) *Command {
	d.Unavailable = reason
	return onSession(d, g, func(*Session, any, *reply.Writer) error { return reason })
}

func bgRewriteAOFCommand() *Command {
	return onSession(Declaration{
		Name: "bgrewriteaof", Family: Server, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Asynchronously rewrite the append-only file",
		Flags:   NoAsyncLoading | Admin | NoScript,
		Reply:   reply.Status(),
	}, grammar.Compile[noParams](), runBgRewriteAOF)
}

// rewriting is the state of BGREWRITEAOF.
type rewriting struct {
	running, scheduled, failed atomic.Bool
	times, failures            atomic.Int64 // failures since the last that succeeded
}

// runBgRewriteAOF writes a checkpoint: it makes of the journal, in which a key may
// have any number of changes, what it takes to load it, and lets go of the rest.
func runBgRewriteAOF(s *Session, _ *noParams, w *reply.Writer) error {
	k := s.Core
	if k.Checkpoint == nil {
		return errNoStore
	}
	if !k.rewriting.running.CompareAndSwap(false, true) {
		return errRewriting
	}
	run := func() {
		k.rewriting.scheduled.Store(false)
		err := k.Checkpoint()
		if err != nil {
			k.Process.Log("BGREWRITEAOF: " + err.Error())
		}
		k.rewriting.failed.Store(err != nil)
		if err != nil {
			k.rewriting.failures.Add(1)
		} else {
			k.rewriting.failures.Store(0)
		}
		k.rewriting.times.Add(1)
		k.rewriting.running.Store(false)
	}
	k.rewriting.scheduled.Store(true)
	if k.afterSave(run) {
		w.Status("Background append only file rewriting scheduled")
		return nil
	}
	k.rewriting.scheduled.Store(false)
	go run()
	w.Status("Background append only file rewriting started")
	return nil
}

// flushModeGrammar is one optional word; anything else is answered with text. More
// words than one are, too, unless moreIsUsage: then the handler answers them.
func flushModeGrammar(text, since string, moreIsUsage bool) *grammar.Grammar {
	parse := func(p *flushParams, args [][]byte) (int, *grammar.Error) {
		p.async, p.sync = equalFold(args[0], "async"), equalFold(args[0], "sync")
		if p.more = len(args) > 1; p.more && moreIsUsage {
			return len(args), nil
		}
		if p.more || !p.async && !p.sync {
			return 0, grammar.Fail(grammar.Other, text)
		}
		return 1, nil
	}
	return grammar.Compile[flushParams](grammar.Opt(grammar.Custom("", parse,
		grammar.Opt(grammar.OneOf("async",
			grammar.Token("ASYNC", func(p *flushParams) *bool { return &p.async }),
			grammar.Token("SYNC", func(p *flushParams) *bool { return &p.sync }),
		)).Since(since),
	)))
}

// within runs a handler's work on data: in the transaction of the EXEC that is
// running, which holds all locks, or in one of its own. The handler does nothing more
// on an error: it may be that it is run again. Work that takes its own locks, as lock
// took none, changes nothing.
func (s *Session) within(lock func(tx *engine.Tx), work func(tx *engine.Tx) error) error {
	if s.tx != nil {
		return work(s.tx)
	}
	tx := s.begin()
	tx.Yields = true
	lock(tx)
	if tx.Yields = !tx.Locked(); tx.Refused() {
		return s.yield(tx)
	}
	err := work(tx)
	if tx.Refused() {
		return s.yield(tx)
	}
	tx.Commit()
	s.raise(tx.GateSeq())
	tx.Done()
	return err
}
