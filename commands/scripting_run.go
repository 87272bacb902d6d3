package commands

import (
	"strconv"
	"time"

	"reminis/commands/acl"
	"reminis/commands/lua"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the run of a script: one transaction, and what stands against each
// command that it calls. It must not know Lua.

// scriptRun is a script that runs. It calls commands through a session of its own,
// so that SELECT and the protocol are its own and the client's session can go on.
type scriptRun struct {
	session Session
	tx      *engine.Tx
	// readOnly refuses writes; lacking is why writes are refused for now (the disk),
	// full that memory was short when the script began.
	readOnly, full, allowOOM bool
	lacking                  error
	// wrote says that a command that writes was called.
	wrote bool
	at    time.Time // when the call before ended
}

// showScript tells monitors of a script, in front of what it calls.
func (s *Session) showScript(p *evalParams) {
	if s.Core.Observation.monitors.count.Load() == 0 {
		return
	}
	argv := [][]byte{s.words[0], p.script, strconv.AppendInt(nil, int64(len(p.keys)), 10)}
	argv = append(append(argv, p.keys...), p.args...)
	s.tellMonitors(s.Core.Table.find(argv), argv)
}

// runScript runs a script in a transaction of its own, or in that of EXEC.
func (s *Session) runScript(x *script, p *evalParams, readOnly bool, w *reply.Writer) error {
	run := s.Core.runs.Get().(*scriptRun)
	defer s.Core.runs.Put(run)
	if err := s.prepareRun(run, x, readOnly); err != nil || s.next == Retry {
		return err
	}
	if run.tx = s.tx; run.tx == nil {
		run.tx = s.begin()
		lockScript(run.tx, &x.locks, p.keys)
	}
	state := s.Core.scripts.interpreter.State()
	failed := state.Run(x.Script, p.keys, p.args, run, w)
	s.Core.scripts.interpreter.Release(state)
	if s.tx == nil {
		run.tx.Commit()
		s.raise(run.tx.GateSeq())
		run.tx.Done()
	} else {
		run.tx.DB, run.tx.Lens = s.DB, s.lens
	}
	if s.account.Limits() != nil && s.tx == nil {
		s.Core.writeDenials()
	}
	return s.endRun(failed, x.digest, w)
}

// endRun answers for a script that ended with an error.
func (s *Session) endRun(failed *lua.Error, name string, w *reply.Writer) error {
	if failed == nil {
		return nil
	}
	err := errScript(failed, name)
	if !failed.Counted {
		return err
	}
	w.ErrorLine(string(err)) // the command that it came from was counted
	return nil
}

// prepareRun finds what stands against running a script (script.c
// scriptPrepareForRun).
func (s *Session) prepareRun(run *scriptRun, x *script, readOnly bool) error {
	*run = scriptRun{readOnly: readOnly || !x.plain && x.flags&scriptNoWrites != 0, allowOOM: x.flags&scriptAllowOOM != 0}
	run.full = !s.Core.Engine.MakeRoom()
	if s.tx != nil {
		run.lacking = s.Core.Engine.Ready() // EXEC has waited
	} else if run.lacking = s.ready(); s.next == Retry {
		return run.lacking
	}
	if !x.plain && x.flags&scriptNoWrites == 0 {
		switch {
		case run.lacking != nil:
			return run.lacking
		case readOnly:
			return errScriptWriteFlag
		case run.full && !run.allowOOM:
			return errScriptOOM
		}
	}
	run.session = Session{
		Core: s.Core, Peer: s.Peer, Proto: 2, DB: s.DB, Name: s.Name, client: s.client, account: s.account,
		Authenticated: s.Authenticated, NoTouch: s.NoTouch, script: run, writer: run.session.writer,
		tracking: s.tracking, caching: s.caching, cachingOf: s.cachingOf,
	}
	run.at = time.Now()
	return nil
}

// Call implements lua.Host.
func (r *scriptRun) Call(argv [][]byte, proto int) []byte {
	s := &r.session
	w := &s.writer
	w.Reset(w.Bytes()[:0])
	w.SetProto(proto)
	s.Proto = proto
	s.Core.stats.Commands.Add(1)
	c := s.Core.Table.find(argv)
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
	if c.is(NoScript) {
		return errScriptRefused
	}
	s.lens, s.confined = nil, false
	if limits := s.account.Limits(); limits != nil {
		if denial := s.judge(limits, c, argv); denial != acl.Allowed {
			return errDeniedScript(denial)
		}
	}
	if c.is(Write) {
		switch {
		case r.readOnly:
			return errScriptReadOnly
		case r.lacking != nil:
			return r.lacking
		}
	}
	if c.is(DenyOOM) && r.full && !r.wrote && !r.allowOOM {
		return ErrOOM
	}
	if !c.covers(r.tx, argv[c.words():]) {
		return errScriptBeyondLocks
	}
	r.wrote = r.wrote || c.is(Write)
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
func (r *scriptRun) Log(level int, text string) { r.session.Core.Process.Log(text) }
