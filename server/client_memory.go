// This file owns what a connection holds: which bytes count, how they are kept
// current, and how they are shown. It must not know what is done about it.

package server

import (
	"math/bits"
	"sync/atomic"
)

// holdings are the bytes that a connection holds beside the fixed part of its
// session. Its driver keeps them current, but for mail, which whoever pushes
// does; they may be read from anywhere.
type holdings struct {
	// input is room for requests and the places of arguments in them, output room
	// for replies, mail room for what was pushed and not taken yet, driver what
	// the connection's own goroutine holds for it.
	input, output, mail, driver atomic.Int64
	// pushed is the part of mail that the driver has not taken yet.
	pushed atomic.Int64
	// state is what the executor holds between commands: queued commands,
	// watches, subscriptions.
	state atomic.Int64
}

func (h *holdings) bytes() int64 {
	return sessionBytes + h.input.Load() + h.output.Load() + h.mail.Load() + h.driver.Load() + h.state.Load()
}

// keep stores a figure that another goroutine may be reading, if it has changed:
// a store makes every reader's copy stale.
func keep(to *atomic.Int64, value int64) {
	if to.Load() != value {
		to.Store(value)
	}
}

// account brings the session's holdings up to date and has them counted. Its
// driver calls it where a pass is over for the session.
func (s *session) account() {
	if s.phase == dead {
		return
	}
	h := &s.info.holdings
	keep(&h.input, int64(cap(s.carry)+cap(s.spare)+cap(s.reader.spans)*spanBytes))
	keep(&h.output, int64(cap(s.out)))
	keep(&h.state, s.executor.HeldBytes())
	s.server.ledger.note(s)
}

// replies is how much room for replies a connection usually needs: the most that
// waited lately, between replyLeastBytes and replyStaticBytes. Its driver keeps it.
type replies struct {
	peak   atomic.Int64
	peakMs atomic.Int64
}

// replyTuning is what DEBUG REPLYBUFFER changes.
type replyTuning struct {
	// resetMs is for how long a peak counts; fixed keeps all buffers at
	// replyStaticBytes.
	resetMs atomic.Int64
	fixed   atomic.Bool
}

// note says that so many bytes of replies waited at nowMs.
func (r *replies) note(size int, nowMs int64, tuning *replyTuning) {
	if int64(size) > r.peak.Load() || tuning.over(nowMs-r.peakMs.Load()) {
		r.peak.Store(int64(size))
		r.peakMs.Store(nowMs)
	}
}

// over says whether a peak of that age counts no more.
func (t *replyTuning) over(ageMs int64) bool { return ageMs > t.resetMs.Load() }

// bufferBytes is the buffer that the connection takes for its next replies.
func (r *replies) bufferBytes(nowMs int64, tuning *replyTuning) int {
	switch peak := r.peak.Load(); {
	case tuning.fixed.Load():
		return replyStaticBytes
	case tuning.over(nowMs - r.peakMs.Load()):
		return replyLeastBytes
	default:
		room := min(max(peak, replyLeastBytes), replyStaticBytes)
		return 1 << bits.Len64(uint64(room-1))
	}
}
