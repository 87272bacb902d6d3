// This file owns the second half of an event loop's pass: what may leave once
// the journal allows it, what is written, and how connections end politely. It
// must not know commands.

package server

import (
	"math"

	"golang.org/x/sys/unix"
)

// writeMaxBytes bounds what one connection is sent per pass, so that a fast
// reader of large replies does not hold up the others.
const writeMaxBytes = 1 << 20

// settle ends the pass: the journal is written once, then every session whose
// replies may leave is written to.
func (l *loop) settle() {
	gate, waiting := l.server.gate, len(l.waiting)
	if l.executed {
		l.executed = false
		if err := gate.Flush(); err != nil {
			l.server.gateFailed(err)
		}
	}
	if len(l.flushing) > 0 {
		l.syncIfAllWait()
		durable := gate.Durable()
		for _, s := range l.flushing {
			l.write(s, durable)
			s.account()
		}
		clear(l.flushing)
		l.flushing = l.flushing[:0]
	}
	if len(l.waiting) > waiting {
		l.server.syncer.ask()
	}
	l.notify()
	l.endDrains()
}

// syncIfAllWait makes the journal durable here and now when no session could do
// anything else meanwhile; otherwise that is left to the syncer.
func (l *loop) syncIfAllWait() {
	if len(l.ready) > 0 && !l.stopping {
		return
	}
	gate, waits := l.server.gate, false
	durable := gate.Durable()
	for _, s := range l.flushing {
		if s.phase == dead || s.pending() == 0 {
			continue
		}
		if s.seq() <= durable {
			return
		}
		waits = true
	}
	if !waits {
		return
	}
	if err := gate.Sync(); err != nil {
		l.server.gateFailed(err)
	}
}

// notify asks the gate to wake the loop when the first waiting session may go
// on. One request is outstanding at a time.
func (l *loop) notify() {
	if len(l.waiting) == 0 || l.notifying {
		return
	}
	lowest := uint64(math.MaxUint64)
	for _, s := range l.waiting {
		if s.phase != dead {
			lowest = min(lowest, s.seq())
		}
	}
	if lowest == math.MaxUint64 {
		return
	}
	l.notifying = true
	l.server.gate.Notify(lowest, l.durableAdvanced)
}

// release gives the sessions whose replies are durable their turn.
func (l *loop) release() {
	durable := l.server.gate.Durable()
	kept := l.waiting[:0]
	for _, s := range l.waiting {
		switch {
		case s.phase == dead:
		case s.seq() <= durable:
			s.ready.gated = false
			l.enqueue(s)
		default:
			kept = append(kept, s)
		}
	}
	clear(l.waiting[len(kept):])
	l.waiting = kept
}

// write sends what may leave and decides what is next for the session.
func (l *loop) write(s *session, durable uint64) {
	if s.phase == dead {
		return
	}
	if s.pending() > 0 {
		s.noteOutput()
		if s.overOutputLimit() {
			// As in Redis, nothing more is sent, even if the peer would read it.
			l.server.overOutputLimit(s)
			l.drop(s)
			return
		}
		if s.seq() > durable {
			if !s.ready.gated {
				s.ready.gated = true
				l.waiting = append(l.waiting, s)
			}
			return
		}
		if s.ready.writable && !l.send(s) {
			return
		}
		s.noteOutput()
		if s.leavesTooMuch() {
			l.server.overOutputLimit(s)
			l.drop(s)
			return
		}
	}
	l.next(s)
}

// send writes up to writeMaxBytes. It reports false when the session ended.
func (l *loop) send(s *session) bool {
	for budget := writeMaxBytes; s.pending() > 0 && budget > 0; {
		n, errno := send(s.fd, s.out[s.sent:min(len(s.out), s.sent+budget)])
		if errno == unix.EINTR {
			continue
		}
		if errno == unix.EAGAIN {
			s.ready.writable = false
			return true
		}
		if errno != 0 {
			l.drop(s)
			return false
		}
		l.server.stats.writes.Add(1)
		l.server.stats.outputBytes.Add(int64(n))
		budget -= n
		s.written(n, &l.pool, l.nowMs)
	}
	return true
}

// next decides whether the session has more to do without a new event.
func (l *loop) next(s *session) {
	switch {
	case s.pending() > 0 && s.ready.writable:
		l.enqueue(s)
	case s.phase == blocked && s.ready.hangup:
		// The peer went away before its command blocked.
		l.drop(s)
	case (s.phase == blocked && s.ready.readable || s.stalled()) && !l.stopping:
		l.enqueue(s)
	case s.pending() == 0 && (l.stopping || s.phase == finishing):
		l.startDrain(s)
	case s.phase == draining && s.ready.readable:
		l.enqueue(s)
	case s.runnable() && (s.more || s.ready.readable):
		l.enqueue(s)
	}
}

// startDrain shuts our side, so that the peer sees the end behind our last
// bytes, and reads on until the peer has closed: closing with unread input
// would destroy those bytes on their way.
func (l *loop) startDrain(s *session) {
	if l.stopping {
		l.drop(s)
		return
	}
	// The registry forgets the session before its peer can know.
	s.end()
	if err := unix.Shutdown(s.fd, unix.SHUT_WR); err != nil {
		l.drop(s)
		return
	}
	s.phase, s.drainSinceMs = draining, l.nowMs
	s.reader.reset()
	s.keep(nil, true, &l.pool)
	s.spare = nil
	l.drains = append(l.drains, s)
	if s.ready.readable {
		l.enqueue(s)
	}
}

// drain discards what the peer still sends, up to a bound.
func (l *loop) drain(s *session) {
	room := l.arena[l.used:]
	n, errno := receive(s.fd, room)
	switch {
	case errno == unix.EINTR:
	case errno == unix.EAGAIN:
		s.ready.readable = false
		return
	case errno != 0 || n == 0:
		l.drop(s)
		return
	}
	s.drained += max(n, 0)
	if s.drained > drainMaxBytes {
		l.drop(s)
		return
	}
	l.enqueue(s)
}

// endDrains closes what has drained for long enough.
func (l *loop) endDrains() {
	ended := 0
	for _, s := range l.drains {
		if s.phase != dead && !l.stopping && l.nowMs-s.drainSinceMs < drainMaxMs {
			break
		}
		l.drop(s)
		ended++
	}
	l.drains = append(l.drains[:0], l.drains[ended:]...)
}
