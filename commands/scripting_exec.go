package commands

import "reminis/commands/reply"

// This file owns an EXEC that stalls, because a script of it is overdue: what it has
// done so far is kept, its locks are held, and its driver goes on with others. When the
// script has ended the driver executes the line EXEC again, and it goes on from there.
// So all that a session is, its driver alone uses. It must not know Lua.
//
// A client that goes meanwhile leaves the EXEC to a goroutine, since it happens whole.
//
// Rejected: to run all of an EXEC with scripts on another goroutine. What is queued may
// change the session (SELECT, SUBSCRIBE, CLIENT SETNAME), which others look at.

// stalled is what an EXEC is while it waits for a script of its own.
type stalled struct {
	stint  stint
	script *scriptRun // that it waits for; nil: none
	call   insideCall // which runs it
	// reply is what it has answered so far, and next what its driver is to do after it.
	reply []byte
	next  Next
	// ended says that the script has, and orphaned that the client has gone; guarded by
	// the mutex of overdueScripts.
	ended, orphaned bool
}

// stall puts EXEC off until the script that is overdue has ended.
func (s *Session) stall(w *reply.Writer) {
	x := &s.exec
	x.reply = append(x.reply[:0], w.Bytes()[x.from:]...)
	s.next = Retry
}

// resumeExec goes on with an EXEC whose script has ended.
func (s *Session) resumeExec(w *reply.Writer) {
	x := &s.exec
	k := s.Core
	k.overdue.mu.Lock()
	ready := x.ended && !x.stint.abandoned
	if ready {
		x.ended = false
	}
	k.overdue.mu.Unlock()
	if !ready {
		s.next = Retry // the server ends; nobody must see what was done
		return
	}
	s.next = x.next
	call, run := x.call, x.script
	call.from += w.Mark() - x.from
	x.from = w.Mark()
	w.Raw(x.reply)
	x.script, x.call = nil, insideCall{}
	s.tx, s.words = x.tx, call.argv[:call.command.words()]
	x.at = s.endInside(call, s.endRun(run, w), x.at)
	x.queue = x.queue[1:]
	s.goOn(w)
}

// endStall has EXEC go on: the script that it waits for has ended.
func (s *Session) endStall() {
	x := &s.Core.overdue
	x.mu.Lock()
	s.exec.stint.run = nil
	s.exec.ended = true
	orphaned := s.exec.orphaned
	x.mu.Unlock()
	if orphaned {
		s.endOrphan()
	} else {
		s.Peer.Resume(nil)
	}
}

// abandonExec leaves the EXEC of a client that has gone to others, if one is under way;
// they end the session, too.
func (s *Session) abandonExec() bool {
	if s.exec.tx == nil {
		return false
	}
	x := &s.Core.overdue
	x.mu.Lock()
	s.exec.orphaned = true
	ended := s.exec.ended
	x.mu.Unlock()
	if ended {
		go s.endOrphan()
	}
	return true
}

// endOrphan ends an EXEC whose client has gone, and its session.
func (s *Session) endOrphan() {
	w := &s.writer
	w.Reset(nil)
	s.resumeExec(w)
	if s.exec.tx == nil {
		s.leave()
	}
}
