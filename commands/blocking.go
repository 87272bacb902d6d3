package commands

import (
	"math"
	"sync"
	"time"

	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns blocking commands: how a session waits for keys, is served and
// gives up. It must not know any command, nor what the keys hold.
//
// A command that finds nothing returns a wait. Its line is then run again, by
// whoever changes one of the keys, in that one's transaction, until it finds
// something or fails. So one handler is the command, blocked or not, and what it
// takes is one commit with what was brought. Inside EXEC nothing waits: the
// command answers at once as if its time were over (blocked.c).

// wait is what the handler of a blocking command returns in the place of an error
// when what it asks for is not there.
type wait struct {
	// keys are waited for; reach is what the command changes besides.
	keys, reach [][]byte
	// deadlineMs is when the client gives up, 0 for never.
	deadlineMs int64
	// line is what to run again, nil for the line as it came: for arguments that
	// mean what is there now ("$" of XREAD).
	line [][]byte
	// none writes the reply of a client that gives up.
	none func(w *reply.Writer)
}

// Error makes a wait travel as an error; no client reads it.
func (*wait) Error() string { return "the command waits" }

// blocked is a session that waits.
type blocked struct {
	session *Session
	command *Command
	args    [][]byte
	none    func(w *reply.Writer)
	waiter  engine.Waiter
	writer  reply.Writer // has the reply once the session is served
	took    time.Duration
	silent  bool // CLIENT REPLY says that nobody will read it
}

// block makes the session wait, inside the transaction that found nothing.
func (s *Session) block(tx *engine.Tx, c *Command, args [][]byte, p *wait) {
	if p.line != nil {
		args = p.line
	}
	b := &blocked{session: s, command: c, args: copyArgs(args), none: p.none, silent: s.mode == replyOff || s.mode == replySkip}
	b.waiter = engine.Waiter{
		DB: tx.DB, Keys: copyArgs(p.keys), Reach: copyArgs(p.reach), DeadlineMs: p.deadlineMs,
		Serve: b.serve, Served: b.resume,
		Late: func() { b.giveUp(nil) },
	}
	s.blocked = b
	s.waitingBytes = argsBytes(b.args) + argsBytes(b.waiter.Keys) + argsBytes(b.waiter.Reach)
	s.Core.blocked.add(s.Peer.ID(), b)
	s.next = Block
	tx.Wait(&b.waiter)
}

// serve runs the command again. It is called by others than the session, which
// does nothing meanwhile.
func (b *blocked) serve(tx *engine.Tx, _ []byte) bool {
	begin := time.Now()
	w := &b.writer
	w.Reset(w.Bytes()[:0])
	w.SetProto(b.session.Proto)
	err := b.command.data(tx, b.args, w)
	if _, waits := err.(*wait); waits {
		return false
	}
	if err != nil {
		b.fail(err)
	}
	b.took = time.Since(begin)
	return true
}

// fail makes an error the reply.
func (b *blocked) fail(err error) {
	line := errText(b.command, err, b.args)
	b.session.Core.stats.Errors.Add(1)
	b.session.Core.stats.errors.count(line)
	b.command.stats.failed.Add(1)
	b.writer.Truncate(0)
	b.writer.ErrorLine(line)
}

// giveUp ends a wait that ended without being served: with an error, or, when err
// is nil, with the command's reply for it.
func (b *blocked) giveUp(err error) {
	b.writer.Reset(nil)
	b.writer.SetProto(b.session.Proto)
	if err != nil {
		b.fail(err)
	} else {
		b.none(&b.writer)
	}
	b.resume(0)
}

// resume hands the reply to the session's driver.
func (b *blocked) resume(gateSeq uint64) {
	s := b.session
	s.Core.blocked.remove(s.Peer.ID(), b)
	b.command.stats.add(1, b.took)
	s.Core.noteLatency(b.command, b.took)
	s.noteSlow(b.command, wordsOf(b.command, b.args), time.Now(), b.took)
	s.Peer.Resume(func(out []byte) []byte {
		s.blocked, s.waitingBytes = nil, 0
		s.raise(gateSeq)
		if b.silent {
			return out
		}
		return append(out, b.writer.Bytes()...)
	})
}

// endBlocked is for a session that ends: nothing will be taken for it. That the keys
// forget it needs their locks, which a script may hold for long; a driver that waited
// for it could not take SCRIPT KILL.
func (s *Session) endBlocked() {
	if b := s.blocked; b != nil {
		s.blocked = nil
		if forget := s.Core.Engine.StopWait(&b.waiter); forget != nil {
			go forget()
		}
		s.Core.blocked.remove(s.Peer.ID(), b)
	}
}

// blockedSessions finds those that wait by the id of their client, for CLIENT
// UNBLOCK and KILL.
type blockedSessions struct {
	mu   sync.Mutex
	byID map[int64]*blocked
}

func (x *blockedSessions) add(id int64, b *blocked) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byID == nil {
		x.byID = map[int64]*blocked{}
	}
	x.byID[id] = b
}

func (x *blockedSessions) remove(id int64, b *blocked) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byID[id] == b {
		delete(x.byID, id)
	}
}

// endWait ends the wait of a client and returns what waited, or nil when it did
// not wait.
func (k *Core) endWait(id int64) *blocked {
	k.blocked.mu.Lock()
	b := k.blocked.byID[id]
	k.blocked.mu.Unlock()
	if b == nil {
		return nil
	}
	forget := k.Engine.StopWait(&b.waiter)
	if forget == nil {
		return nil
	}
	go forget() // as in endBlocked
	return b
}

// deadlineAfter reads how many seconds a client waits, 0 for ever (timeout.c
// getTimeoutFromObjectOrReply).
func deadlineAfter(tx *engine.Tx, seconds []byte) (deadlineMs int64, err error) {
	value, ok := reply.ParseLongDouble(seconds)
	if !ok {
		return 0, errTimeoutFloat
	}
	return deadlineIn(tx, value.Milliseconds())
}

func deadlineIn(tx *engine.Tx, ms int64) (deadlineMs int64, err error) {
	switch {
	case ms < 0:
		return 0, errTimeoutNegative
	case ms == 0:
		return 0, nil
	}
	return tx.NowMs() + min(ms, math.MaxInt64-tx.NowMs()), nil
}
