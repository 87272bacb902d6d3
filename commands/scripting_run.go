package commands

import (
	"strconv"
	"sync/atomic"
	"time"

	"reminis/commands/acl"
	"reminis/commands/lua"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the run of a script: one transaction, and what stands against each
// command that it calls. It must not know Lua.

// executable is a script or a function, as it is run.
type executable interface {
	// about says what it is.
	about() executableFacts
	// take takes a state that will run it with keys and arguments, which are copied.
	take(keys, args [][]byte) (*lua.State, *lua.Error)
}

// executableFacts are what running a script or function asks about it.
type executableFacts struct {
	name  string // as errors call it
	flags scriptFlags
	// plain says that it has no flags, so that what it may do is found out when it
	// does it; function, that it is called with FCALL; bounded, that it ends soon
	// whatever it is given.
	plain, function, bounded bool
	locks                    scriptLocks
}

func (x *script) about() executableFacts {
	return executableFacts{name: x.digest, flags: x.flags, plain: x.plain, bounded: x.Bounded, locks: x.locks}
}

func (x *script) take(keys, args [][]byte) (*lua.State, *lua.Error) {
	return x.interpreter.Take(x.Script, keys, args), nil
}

// A function's keys are parameters of its own, so what it touches is not known.
func (f *function) about() executableFacts {
	return executableFacts{name: f.Name, flags: f.flags, function: true, locks: scriptLocks{all: true}}
}

func (f *function) take(keys, args [][]byte) (*lua.State, *lua.Error) {
	return f.library.Take(f.Name, keys, args)
}

// scriptRun is a script that runs. It calls commands through a session of its own,
// so that SELECT and the protocol are its own and the client's session can go on.
type scriptRun struct {
	executableFacts
	session Session
	caller  *Session
	command *Command
	state   *lua.State
	tx      *engine.Tx
	// readOnly refuses writes; lacking is why writes are refused for now (the disk, or
	// no replicas), full that memory was short when the script began.
	readOnly, full bool
	lacking        error
	// declared are the keys that the line names, if the client tracks what it reads.
	declared [][]byte
	// wrote says that a command that writes was called.
	wrote atomic.Bool
	at    time.Time // when the call before ended

	// What came of it.
	reply   reply.Writer
	failed  *lua.Error
	gateSeq uint64

	unbarred bool // it could call what scripts may not

	exec    *execution // the EXEC that it is part of, if that waits for it
	overdue overdue
}

// showScript tells monitors of a script, in front of what it calls.
func (s *Session) showScript(p *evalParams) {
	if s.Core.Observation.monitors.count.Load() == 0 {
		return
	}
	argv := s.scriptLine(p)
	s.tellMonitors(s.Core.Table.find(argv), argv)
}

// scriptLine is the command line of a script.
func (s *Session) scriptLine(p *evalParams) [][]byte {
	argv := [][]byte{s.words[0], p.script, strconv.AppendInt(nil, int64(len(p.keys)), 10)}
	return append(append(argv, p.keys...), p.args...)
}

// runScript runs a script in a transaction of its own, or in that of EXEC. If it
// runs too long, the session is parked, or EXEC stalls.
func (s *Session) runScript(x executable, p *evalParams, readOnly bool, w *reply.Writer) error {
	run := s.Core.runs.Get().(*scriptRun)
	if err := s.prepareRun(run, x.about(), readOnly); err != nil || s.next == Retry {
		s.Core.runs.Put(run)
		return err
	}
	if s.tracking != nil {
		run.declared = copyArgs(p.keys)
	}
	if run.state, run.failed = x.take(p.keys, p.args); run.failed != nil {
		return s.endRun(run, w)
	}
	if s.tx != nil {
		run.tx = s.tx
		if s.runInside(run, p) {
			return nil
		}
		return s.endRun(run, w)
	}
	run.tx = s.begin()
	run.tx.Yields = true
	if lockScript(run.tx, &run.locks, p.keys); gaveUp(run.tx) {
		run.state.Release()
		run.state = nil
		s.Core.runs.Put(run)
		return s.yield(run.tx)
	}
	if run.bounded {
		run.complete()
	} else if s.overseen(run, p) {
		return nil
	}
	s.raise(run.gateSeq)
	if s.account.Limits() != nil {
		s.Core.writeDenials()
	}
	return s.endRun(run, w)
}

// runInside runs a script in a transaction that others made, and reports whether it
// took too long, so that EXEC stalls. One that runs where nobody waits for it (an EXEC
// whose client has gone, a script that runs another) can take as long as it likes.
func (s *Session) runInside(run *scriptRun, p *evalParams) (stalls bool) {
	x := &s.exec
	switch {
	case x.tx == nil || run.bounded:
		run.execute()
	case x.orphaned:
		run.overdue.line = copyArgs(s.scriptLine(p))
		s.Core.overdue.begin(&x.stint, run)
		run.execute()
		s.Core.overdue.rest(&x.stint)
	default:
		run.exec = x
		next := s.next
		if s.overseen(run, p) {
			x.script, x.next = run, next
			return true
		}
	}
	return false
}

// execute runs the script and gives its state back.
func (r *scriptRun) execute() {
	r.reply.Reset(r.reply.Bytes()[:0])
	r.failed = r.state.Run(r, &r.reply)
	if text := r.state.Uncounted(); text != "" {
		k := r.session.Core
		k.stats.Errors.Add(1)
		k.stats.errors.count(text)
	}
	r.endState()
}

// complete is execute, and the end of the transaction if it is the script's own.
func (r *scriptRun) complete() {
	r.execute()
	if r.exec != nil {
		return
	}
	r.tx.Commit()
	r.gateSeq = r.tx.GateSeq()
	r.tx.Done()
}

// endRun answers for a script that has ended.
func (s *Session) endRun(run *scriptRun, w *reply.Writer) error {
	defer s.Core.runs.Put(run)
	if run.failed == nil {
		w.Raw(run.reply.Bytes())
		run.countFailure(run.reply.Bytes())
		return nil
	}
	err := errScript(run.failed, run.name)
	if !run.failed.Counted {
		return err
	}
	w.ErrorLine(string(err)) // the command that it came from was counted
	run.command.stats.failed.Add(1)
	return nil
}

// countFailure counts a call that answers an error, of which others know.
func (r *scriptRun) countFailure(answer []byte) {
	if len(answer) > 0 && answer[0] == '-' {
		r.command.stats.failed.Add(1)
	}
}

// prepareRun finds what stands against running a script (script.c
// scriptPrepareForRun).
func (s *Session) prepareRun(run *scriptRun, about executableFacts, readOnly bool) error {
	writes := !about.plain && about.flags&scriptNoWrites == 0 // it says that it may
	run.executableFacts = about
	run.readOnly = readOnly || !about.plain && !writes
	run.failed, run.gateSeq, run.exec = nil, 0, nil
	run.wrote.Store(false)
	run.overdue.runner, run.overdue.since, run.overdue.line = nil, time.Now(), nil
	run.full = !s.Core.Engine.MakeRoom()
	if s.tx != nil {
		run.lacking = s.exec.lacking
	} else if run.lacking = s.ready(); s.next == Retry {
		return run.lacking
	}
	if run.lacking == nil && s.Core.ReplicasWanted.Load() {
		run.lacking = errNoReplicas
	}
	switch {
	case !writes:
	case run.lacking != nil:
		return run.lacking
	case readOnly:
		return errScriptWriteFlag
	case run.full && about.flags&scriptAllowOOM == 0:
		return errScriptOOM
	}
	run.beginSession(s)
	run.caller, run.command = s, s.Core.Table.find(s.words)
	run.reply.SetProto(s.Proto)
	run.at = run.overdue.since
	return nil
}

// beginSession makes the script's session what its client's is. What no command of a
// script changes is left as it is: a session is large.
func (r *scriptRun) beginSession(of *Session) {
	s := &r.session
	unbarred := of.Core.scripts.unbarred.Load()
	if unbarred || r.unbarred {
		*s = Session{writer: s.writer}
	}
	r.unbarred = unbarred
	s.Core, s.Peer, s.script = of.Core, of.Peer, r
	s.DB, s.Proto, s.next = of.DB, 2, Continue
	s.Name, s.client, s.account = of.Name, of.client, of.account
	s.Authenticated, s.NoTouch = of.Authenticated, of.NoTouch
	s.tracking, s.caching, s.cachingOf = of.tracking, of.caching, of.cachingOf
}

// Call implements lua.Host.
func (r *scriptRun) Call(argv [][]byte, proto int) []byte {
	s := &r.session
	w := &s.writer
	w.Reset(w.Bytes()[:0])
	w.SetProto(proto)
	s.Proto = proto
	s.Core.stats.Commands.Add(1)
	c := s.find(argv)
	if err := r.admit(c, argv); err != nil {
		if c != nil {
			c.stats.rejected.Add(1)
		}
		s.fail(c, err, argv)
		return w.Bytes()
	}
	r.at = s.callInside(r.tx, c, argv, r.at)
	return w.Bytes()
}

// admit finds what stands against a call, in the order of script.c scriptCall.
func (r *scriptRun) admit(c *Command, argv [][]byte) error {
	s := &r.session
	if c == nil || c.subs != nil && len(argv) > 1 {
		return errScriptCommand
	}
	if n := c.arity(); c.subs != nil && !c.runs() || n > 0 && len(argv) != n || len(argv) < -n {
		return errScriptArity
	}
	if c.is(NoScript) && !s.Core.scripts.unbarred.Load() {
		return errScriptRefused
	}
	s.lens, s.confined = nil, false
	if limits := s.account.Limits(); limits != nil {
		if denial := s.judge(limits, c, argv); denial != acl.Allowed {
			return errDeniedScript(denial)
		}
	}
	if r.readOnly && c.Flags&(Write|MayReplicate) != 0 {
		return errScriptReadOnly
	}
	if c.is(Write) && r.lacking != nil {
		return r.lacking
	}
	if c.is(DenyOOM) && r.full && !r.wrote.Load() && (r.plain || r.flags&scriptAllowOOM == 0) {
		return ErrOOM
	}
	if !c.covers(r.tx, argv[c.words():]) {
		return errScriptBeyondLocks
	}
	if c.is(Write) && !r.wrote.Load() {
		r.wrote.Store(true)
	}
	return nil
}

// Allowed implements lua.Host.
func (r *scriptRun) Allowed(argv [][]byte) (allowed, known bool) {
	s := &r.session
	c := s.Core.Table.find(argv)
	if c == nil || c.subs != nil && len(argv) > 1 {
		return false, false
	}
	limits := s.account.Limits()
	return limits == nil || s.Core.judgeLine(s.account, limits, c, argv).denial == acl.Allowed, true
}

// Log implements lua.Host.
func (r *scriptRun) Log(level int, text string) { r.session.Core.Process.LogAt(level, text) }
