package commands

import (
	"iter"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/lua"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns scripts that run long: who runs them while their session is parked,
// what other commands do meanwhile, and how they are ended. It knows of Lua
// only that a state can be paused.
//
// A script that may run long (it has a loop, say) runs on a coroutine of its own. The
// driver switches to it and has it back when the script ends, or pauses: after graceTime,
// between two instructions. Then the driver parks the session and goes on with others,
// while another goroutine goes on with the script, which is then overdue. As it holds locks
// that others would wait for, and they would make their drivers wait, no command
// begins while a script is overdue, but those that are for just that (AllowBusy).
// The others wait, as in Redis, and are an error once busy-reply-threshold has
// passed.
//
// An EXEC with such a script stalls (scripting_exec.go): it goes on where it was, on
// its driver, once the script has ended. It holds its locks until all of it is done, so
// that others wait even while none of its scripts runs.
//
// Rejected: to hand such a script to a goroutine and wait for it on a channel. That wakes
// another thread each time, which costs as much processor time as a small script.

// graceTime is how long a driver runs a script. A client notices no less.
const graceTime = 5 * time.Millisecond

// overdue is what a run has for being overdue.
type overdue struct {
	// runner is what the driver runs the script on, nil if it does not, or no longer.
	runner *scriptRunner
	since  time.Time
	line   [][]byte // the command line; set when the run is overdue
	own    stint    // of a script that is not part of an EXEC
	// abandoned says that the server ends: what the script did is not to be kept.
	abandoned atomic.Bool
}

// stint is a transaction that is overdue: a script's, or that of an EXEC. Its fields are
// guarded by the mutex of overdueScripts, but for listed, which only who runs the
// transaction uses.
type stint struct {
	listed bool
	run    *scriptRun // the script that runs now; nil between those of an EXEC
	// abandoned says that the server ends while none runs.
	abandoned bool
}

// overdueScripts are the transactions that are overdue.
type overdueScripts struct {
	count   atomic.Int32
	mu      sync.Mutex
	stints  []*stint
	waiting []func()
}

// stint is the transaction that the run is, or is part of.
func (r *scriptRun) stint() *stint {
	if r.exec != nil {
		return &r.exec.stint
	}
	return &r.overdue.own
}

// scriptRunners are coroutines that run scripts, kept for the next.
type scriptRunners struct {
	mu   sync.Mutex
	idle []*scriptRunner
}

// runnersMax is how many coroutines are kept: more run at once only while scripts
// are overdue.
const runnersMax = 64

// scriptRunner is a coroutine that runs scripts, one after the other.
type scriptRunner struct {
	run *scriptRun
	// resume switches to the coroutine until the script ends or pauses; stop ends the
	// coroutine; pause is for the script.
	resume func() (ended, alive bool)
	stop   func()
	pause  func(ended bool) (resumed bool)
	// late tells state that it is time to pause.
	late  *time.Timer
	state atomic.Pointer[lua.State]
}

func newScriptRunner() *scriptRunner {
	r := &scriptRunner{}
	r.resume, r.stop = iter.Pull(func(pause func(bool) bool) {
		r.pause = pause
		for resumed := true; resumed; resumed = pause(true) {
			r.run.complete()
		}
	})
	r.late = time.AfterFunc(time.Hour, func() {
		// The state may run another script by now, which then sees that it is early.
		if state := r.state.Load(); state != nil {
			state.Pause()
		}
	})
	r.late.Stop()
	return r
}

func (x *scriptRunners) take() *scriptRunner {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.idle); n > 0 {
		r := x.idle[n-1]
		x.idle = x.idle[:n-1]
		return r
	}
	return newScriptRunner()
}

// keep keeps a runner for the next script, or ends it.
func (x *scriptRunners) keep(r *scriptRunner) {
	r.run = nil
	r.state.Store(nil)
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.idle) < runnersMax {
		x.idle = append(x.idle, r)
		return
	}
	r.stop()
}

// Paused implements lua.Host.
func (r *scriptRun) Paused() {
	if runner := r.overdue.runner; runner != nil && time.Since(r.overdue.since) >= graceTime {
		r.overdue.runner = nil
		runner.pause(false)
	}
}

// overseen runs a script on a coroutine, and reports whether it took too long, so that
// the session is parked; what the script gives is then its reply.
func (s *Session) overseen(run *scriptRun, p *evalParams) (parked bool) {
	var r *scriptRunner
	ended := false
	// A coroutine made on a thread that belongs to a goroutine would belong to it, too.
	s.Peer.Aside(func() {
		r = s.Core.runners.take()
		ended = r.begin(run)
	})
	if ended {
		s.Core.runners.keep(r)
		return false
	}
	run.overdue.line = copyArgs(s.scriptLine(p))
	s.Core.overdue.begin(run.stint(), run)
	s.next = Park
	go r.goOn()
	return true
}

// begin runs a script until it ends or pauses.
func (r *scriptRunner) begin(run *scriptRun) (ended bool) {
	r.run, run.overdue.runner = run, r
	r.state.Store(run.state)
	r.late.Reset(graceTime)
	ended, _ = r.resume()
	r.late.Stop()
	return ended
}

// goOn runs a script that is overdue to its end.
func (r *scriptRunner) goOn() {
	run := r.run
	r.resume()
	k := run.session.Core
	if run.exec != nil {
		run.caller.endStall()
	} else {
		run.endOverdue()
	}
	k.runners.keep(r)
}

// endState gives the state of a run back, after which nobody stops it any more.
func (r *scriptRun) endState() {
	x := &r.session.Core.overdue
	x.mu.Lock()
	state := r.state
	r.state = nil
	x.mu.Unlock()
	if r.overdue.abandoned.Load() {
		select {} // the server ends; nobody must see what the script has done
	}
	state.Release()
}

// endOverdue answers for a script whose session was parked.
func (r *scriptRun) endOverdue() {
	k := r.session.Core
	k.removeStint(&r.overdue.own)
	now := time.Now()
	took := now.Sub(r.overdue.since)
	c := k.Table.find(r.overdue.line)
	k.noteLatency(c, took)
	r.session.noteSlow(c, r.overdue.line, now, took)
	line := ""
	if r.failed != nil {
		line = string(errScript(r.failed, r.name))
		if !r.failed.Counted {
			k.stats.Errors.Add(1)
			k.stats.errors.count(line)
		}
		r.reply.Reset(r.reply.Bytes()[:0])
		r.reply.ErrorLine(line)
	}
	r.countFailure(r.reply.Bytes())
	s := r.caller
	s.Peer.Resume(func(out []byte) []byte {
		s.raise(r.gateSeq)
		return append(out, r.reply.Bytes()...)
	})
}

// begin says that a script of a transaction is overdue. Who waits for that transaction
// already looks again: it is another script that he waits for now.
func (x *overdueScripts) begin(st *stint, run *scriptRun) {
	x.mu.Lock()
	st.run = run
	if !st.listed {
		st.listed = true
		x.stints = append(x.stints, st)
		x.count.Store(int32(len(x.stints)))
		if len(x.stints) == 1 {
			run.session.Core.Engine.Stall(true)
		}
	}
	waiting := x.waiting
	x.waiting = nil
	x.mu.Unlock()
	for _, again := range waiting {
		again()
	}
}

// rest says that no script of the transaction runs.
func (x *overdueScripts) rest(st *stint) {
	x.mu.Lock()
	defer x.mu.Unlock()
	st.run = nil
}

// removeStint takes a transaction out that has ended, and has everybody who waited try again.
func (k *Core) removeStint(st *stint) {
	x := &k.overdue
	x.mu.Lock()
	at := slices.Index(x.stints, st)
	if at < 0 {
		x.mu.Unlock()
		return
	}
	x.stints = slices.Delete(x.stints, at, at+1)
	*st = stint{}
	x.count.Store(int32(len(x.stints)))
	if len(x.stints) == 0 {
		k.Engine.Stall(false)
	}
	waiting := x.waiting
	x.waiting = nil
	x.mu.Unlock()
	for _, again := range waiting {
		again()
	}
}

// running is the script that others are told of, nil while none runs.
func (x *overdueScripts) running() *scriptRun {
	for _, st := range x.stints {
		if st.run != nil {
			return st.run
		}
	}
	return nil
}

// heldUp keeps a command from running while a script is overdue: it waits (Retry), or
// the error is what it answers.
func (s *Session) heldUp(c *Command) error {
	x := &s.Core.overdue
	if x.count.Load() == 0 {
		return nil
	}
	// What is allowed may still need locks: WATCH, or the end of a transaction that
	// watches keys. It waits.
	allowed := c.is(AllowBusy)
	if allowed && s.watch.Len() == 0 && (c.grammar == nil || !c.grammar.HasKeys()) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.stints) == 0 {
		return nil
	}
	again := onlyOnce(func() { s.Peer.Resume(nil) })
	run := x.running()
	if limit := s.Core.busyTime(); limit > 0 && !allowed && run != nil {
		left := limit - time.Since(run.overdue.since)
		if left <= 0 {
			return run.busy()
		}
		time.AfterFunc(left, again)
	}
	x.waiting = append(x.waiting, again)
	s.next = Retry
	return nil
}

// gaveUp ends the locking of a transaction that Yields, and says whether it is to be
// given up, too (yield).
func gaveUp(tx *engine.Tx) bool {
	tx.Yields = false
	return tx.Refused()
}

// yield puts a command off that would have to wait for a script that is overdue: one
// that became so after heldUp was asked. It is asked again.
func (s *Session) yield(tx *engine.Tx) error {
	tx.Commit()
	tx.Done()
	s.next = Retry
	s.Peer.Resume(nil)
	return errPutOff
}

// busyTime is busy-reply-threshold, 0 for no limit.
func (k *Core) busyTime() time.Duration {
	ms, _ := strconv.ParseInt(k.Config.Get("busy-reply-threshold"), 10, 64)
	return time.Duration(max(ms, 0)) * time.Millisecond
}

// busy is what others are told while the script runs.
func (r *scriptRun) busy() error {
	if r.function {
		return errBusyFunction
	}
	return errBusyScript
}

// kill ends the script that runs, if it has not written (script.c scriptKill).
func (x *overdueScripts) kill(function bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	run := x.running()
	switch {
	case run == nil:
		return errNotBusy
	case run.wrote.Load():
		return errUnkillable
	case run.function != function:
		return run.busy()
	}
	if run.state != nil {
		run.state.Stop(scriptKilledText)
	}
	return nil
}

// endFor ends all scripts that are overdue for a server that ends; what they did is
// not kept, so that only SHUTDOWN NOSAVE may do it (db.c shutdownCommand).
func (x *overdueScripts) endFor(noSave bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, st := range x.stints {
		run := st.run
		switch {
		case !noSave && run != nil:
			return run.busy()
		case !noSave:
			return errBusyScript
		case run != nil && run.state != nil:
			run.overdue.abandoned.Store(true)
			run.state.Stop(scriptKilledText)
		default:
			st.abandoned = true
		}
	}
	return nil
}

func scriptKillCommand() *Command {
	return killCommand("2.6.0", "Kill the script currently in execution.", false)
}

func functionKillCommand() *Command {
	return killCommand("7.0.0", "Kill the function currently in execution.", true)
}

func killCommand(since, summary string, function bool) *Command {
	return onSession(Declaration{
		Name: "kill", Since: since, Complexity: "O(1)", Summary: summary,
		Flags: NoScript | AllowBusy, Tips: []string{"request_policy:all_shards", "response_policy:one_succeeded"},
		Reply: reply.OK(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		if err := s.Core.overdue.kill(function); err != nil {
			return err
		}
		w.OK()
		return nil
	})
}

func functionStatsCommand() *Command {
	return onSession(Declaration{
		Name: "stats", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Return information about the function currently running (name, description, duration)",
		Flags:   NoScript | AllowBusy, Tips: []string{nondeterministicOutput, "request_policy:all_shards", "response_policy:special"},
		Reply: reply.Record(
			reply.Field{Key: "running_script", Value: reply.Any()}, reply.Field{Key: "engines", Value: reply.Any()},
		),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		x := &s.Core.overdue
		x.mu.Lock()
		defer x.mu.Unlock()
		run := x.running()
		if run != nil && !run.function {
			return errBusyScript
		}
		w.Map(2)
		w.BulkString("running_script")
		if run == nil {
			w.Null()
		} else {
			run.write(w)
		}
		set := s.Core.functionSet()
		w.BulkString("engines")
		w.Map(1)
		w.BulkString("LUA")
		w.Map(2)
		w.BulkString("libraries_count")
		w.Int(int64(len(set.libraries)))
		w.BulkString("functions_count")
		w.Int(int64(len(set.functions)))
		return nil
	})
}

// write writes a run as FUNCTION STATS shows it.
func (r *scriptRun) write(w *reply.Writer) {
	w.Map(3)
	w.BulkString("name")
	w.BulkString(r.name)
	w.BulkString("command")
	w.Array(len(r.overdue.line))
	for _, arg := range r.overdue.line {
		w.Bulk(arg)
	}
	w.BulkString("duration_ms")
	w.Int(time.Since(r.overdue.since).Milliseconds())
}
