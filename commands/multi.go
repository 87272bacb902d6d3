package commands

import (
	"time"

	"reminis/commands/acl"
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns transactions: MULTI, EXEC, DISCARD, WATCH, UNWATCH and the
// queue behind them. Queued commands run in one engine transaction, so EXEC is
// one batch.

// multi is a session's open transaction.
type multi struct {
	open    bool
	spoiled bool
	queue   []queued
	flags   Flags // of all lines of the queue
	bytes   int   // what queue holds
}

type queued struct {
	command *Command
	argv    [][]byte
}

func (m *multi) add(c *Command, argv [][]byte, flags Flags) {
	m.flags |= flags
	m.bytes += queuedBytes + argsBytes(argv)
	m.queue = append(m.queue, queued{c, copyArgs(argv)})
}

// spoil makes the EXEC to come fail.
func (m *multi) spoil() {
	if m.open {
		m.spoiled = true
	}
}

func (m *multi) reset() { *m = multi{} }

// has says whether a line of the queue has one of flags.
func (m *multi) has(flags Flags) bool { return m.flags&flags != 0 }

// flags are the flags of a line; of the one that runs the queue of MULTI, those of the
// queue, too.
func (s *Session) flags(c *Command, argv [][]byte) Flags {
	flags := s.Core.flagsOf(c, argv)
	if c.is(Executes) {
		flags |= s.multi.flags
	}
	return flags
}

// endMulti closes the transaction and forgets its watches.
func (s *Session) endMulti() {
	s.multi.reset()
	s.unwatch()
}

// unwatch forgets the watched keys. That needs their locks: where a script holds them
// for long they are forgotten beside the driver, which could not take SCRIPT KILL else.
func (s *Session) unwatch() {
	if watch := s.watch; !s.Core.Engine.Unwatch(watch) {
		s.watch = new(engine.Watch)
		go s.Core.Engine.Forget(watch)
	}
}

func transactionCommands() []*Command {
	return []*Command{multiCommand(), execCommand(), discardCommand(), watchCommand(), unwatchCommand()}
}

func multiCommand() *Command {
	return onSession(Declaration{
		Name: "multi", Family: Transactions, Since: "1.2.0", Complexity: "O(1)",
		Summary: "Mark the start of a transaction block",
		Flags:   NoScript | Loading | Stale | Fast | AllowBusy | Immediate,
		Reply:   reply.OK(),
	}, grammar.Compile[noParams](), runMulti)
}

func runMulti(s *Session, _ *noParams, w *reply.Writer) error {
	if s.multi.open {
		return ErrNestedMulti
	}
	s.multi.open = true
	w.OK()
	return nil
}

func discardCommand() *Command {
	return onSession(Declaration{
		Name: "discard", Family: Transactions, Since: "2.0.0", Complexity: "O(N), when N is the number of queued commands",
		Summary: "Discard all commands issued after MULTI",
		Flags:   NoScript | Loading | Stale | Fast | AllowBusy | Immediate,
		Reply:   reply.OK(),
	}, grammar.Compile[noParams](), runDiscard)
}

func runDiscard(s *Session, _ *noParams, w *reply.Writer) error {
	if !s.multi.open {
		return ErrDiscardNoMulti
	}
	s.endMulti()
	w.OK()
	return nil
}

func execCommand() *Command {
	return onSession(Declaration{
		Name: "exec", Family: Transactions, Since: "1.2.0", Complexity: "Depends on commands in the transaction",
		Summary: "Execute all commands issued after MULTI",
		Flags:   NoScript | Loading | Stale | SkipSlowlog | Immediate | Executes,
		Reply:   reply.Any(),
	}, grammar.Compile[noParams](), runExec)
}

func runExec(s *Session, _ *noParams, w *reply.Writer) error {
	if s.exec.tx != nil {
		command, before := s.Core.Table.find(s.words), time.Since(s.exec.began)
		if s.resumeExec(w); s.exec.tx == nil {
			command.stats.ns.Add(int64(before))
		}
		return nil
	}
	if !s.multi.open {
		return ErrExecNoMulti
	}
	queue, spoiled := s.multi.queue, s.multi.spoiled
	var lacking error
	if !spoiled && s.multi.has(Write|RunsScript) {
		if lacking = s.ready(); s.next == Retry {
			return lacking // the transaction stays open until the disk has caught up
		} else if lacking != nil && s.multi.has(Write) {
			s.endMulti()
			return errExecAborted(lacking)
		}
	}
	if spoiled {
		s.endMulti()
		return ErrExecAbort
	}
	tx := s.begin()
	tx.Yields = true
	if s.lockQueue(tx, queue); gaveUp(tx) {
		return s.yield(tx)
	}
	s.multi.reset()
	if tx.CheckWatch(s.watch) {
		tx.Commit()
		tx.Done()
		s.unwatch()
		w.NullArray()
		return nil
	}
	began := time.Now()
	s.exec = execution{tx: tx, queue: queue, from: w.Mark(), began: began, at: began, lacking: lacking}
	w.Array(len(queue))
	s.goOn(w)
	return nil
}

// execution is an EXEC that runs.
type execution struct {
	tx    *engine.Tx // nil: none runs
	queue []queued   // what is left of it
	from  int        // where its reply begins
	began time.Time
	at    time.Time // when the command before ended
	// lacking is why its scripts may not write. It holds for all of them, so that the
	// transaction is not torn when the disk fails meanwhile.
	lacking error
	stalled
}

// goOn runs what is left of the queue, up to a script that takes too long.
func (s *Session) goOn(w *reply.Writer) {
	x := &s.exec
	for len(x.queue) > 0 {
		x.at = s.callQueued(x.tx, &x.queue[0], x.at)
		if x.script != nil {
			s.stall(w)
			return
		}
		x.queue = x.queue[1:]
	}
	x.tx.Commit()
	s.raise(x.tx.GateSeq())
	x.tx.Done()
	if x.stint.listed {
		s.Core.removeStint(&x.stint)
	}
	s.unwatch()
	s.exec = execution{}
	if s.account.Limits() != nil {
		s.Core.writeDenials()
	}
}

// lockQueue locks all that the queue and the watched keys touch: the shards of
// their keys, and the owners of those that are or may become records, where
// every command says which, else all shards.
func (s *Session) lockQueue(tx *engine.Tx, queue []queued) {
	var all, records [][]byte
	moves := false // a command may select another database
	s.watch.Keys(func(_ int, key string) { all = append(all, []byte(key)) })
	for i := range queue {
		c := queue[i].command
		args := queue[i].argv[c.words():]
		if c.run == nil && !c.is(Admin) && c.Lock != LockAll {
			moves = true
			continue
		}
		if c.run == nil || c.Lock != LockKeys || c.offloads(args) {
			tx.LockAll()
			return
		}
		keys, ok := keysOf(c.grammar, args)
		if !ok {
			tx.LockAll()
			return
		}
		if c.Family == Memory && c.is(Write) {
			records = append(records, keys...)
		} else {
			all = append(all, keys...)
		}
	}
	if moves && len(records) > 0 {
		tx.LockAll()
		return
	}
	tx.LockRecords(append(all, records...), len(all))
}

// callQueued runs one command of EXEC inside its transaction. It begins at the
// given time and returns when it ended.
func (s *Session) callQueued(tx *engine.Tx, q *queued, at time.Time) time.Time {
	s.lens, s.confined = nil, false
	if limits := s.account.Limits(); limits != nil {
		// The rules may have changed since the command was queued.
		s.tx = tx
		denial := s.judge(limits, q.command, q.argv)
		s.tx = nil
		if denial != acl.Allowed {
			s.fail(q.command, errDeniedNow(denial), q.argv[q.command.words():])
			return at
		}
	}
	return s.callInside(tx, q.command, q.argv, at)
}

// callInside runs a command that is admitted inside a transaction that others made,
// of EXEC or a script. Nothing waits there.
func (s *Session) callInside(tx *engine.Tx, c *Command, argv [][]byte, at time.Time) time.Time {
	args := argv[c.words():]
	mark := s.writer.Mark()
	tx.Next()
	s.tx, tx.DB, tx.Lens, tx.Confined = tx, s.DB, s.lens, s.confined
	tx.InScript = s.script != nil
	var err error
	s.words = argv[:c.words()]
	if tx.InScript && c.unscripted != nil {
		err = c.unscripted(s.words[0], args)
	}
	if err != nil {
		// It does not run.
	} else if c.session != nil {
		err = c.session(s, args, &s.writer)
	} else {
		err = c.data(tx, args, &s.writer)
		s.noteRead(c, args)
	}
	if s.exec.script != nil {
		s.tx = nil
		s.exec.call = insideCall{c, argv, mark}
		return at // it goes on when the script has ended
	}
	return s.endInside(insideCall{c, argv, mark}, err, at)
}

// insideCall is a command that runs inside a transaction that others made; from is
// where its reply begins.
type insideCall struct {
	command *Command
	argv    [][]byte
	from    int
}

// endInside ends what callInside began.
func (s *Session) endInside(x insideCall, err error, at time.Time) time.Time {
	c, argv, args := x.command, x.argv, x.argv[x.command.words():]
	if pending, waits := err.(*wait); waits {
		pending.none(&s.writer)
		err = nil
	}
	s.tx = nil
	if err != nil {
		s.writer.Truncate(x.from)
		s.fail(c, err, args)
		c.stats.failed.Add(1)
	}
	now := time.Now()
	took := now.Sub(at)
	c.stats.add(1, took)
	s.Core.noteLatency(c, took)
	s.noteSlow(c, argv, now, took)
	s.showMonitors(c, argv)
	return now
}

type watchParams struct{ keys [][]byte }

func watchCommand() *Command {
	return onSession(Declaration{
		Name: "watch", Family: Transactions, Since: "2.2.0", Complexity: "O(1) for every key.",
		Summary: "Watch the given keys to determine execution of the MULTI/EXEC block",
		Flags:   NoScript | Loading | Stale | Fast | AllowBusy | Immediate,
		Reply:   reply.OK(),
	}, grammar.Compile[watchParams](
		grammar.Keys("key", func(p *watchParams) *[][]byte { return &p.keys }, grammar.RO),
	), runWatch)
}

func runWatch(s *Session, p *watchParams, w *reply.Writer) error {
	if s.multi.open {
		return ErrWatchInMulti
	}
	tx := s.begin()
	tx.Yields = true
	if tx.LockKeys(p.keys); gaveUp(tx) {
		return s.yield(tx)
	}
	tx.Watch(s.watch, p.keys)
	tx.Commit()
	tx.Done()
	w.OK()
	return nil
}

func unwatchCommand() *Command {
	return onSession(Declaration{
		Name: "unwatch", Family: Transactions, Since: "2.2.0", Complexity: "O(1)",
		Summary: "Forget about all watched keys",
		Flags:   NoScript | Loading | Stale | Fast | AllowBusy,
		Reply:   reply.OK(),
	}, grammar.Compile[noParams](), runUnwatch)
}

func runUnwatch(s *Session, _ *noParams, w *reply.Writer) error {
	// Inside EXEC the locks of the watched shards are held, and EXEC forgets
	// the watches itself at its end.
	if s.tx == nil {
		s.unwatch()
	}
	w.OK()
	return nil
}
