package commands

import (
	"sync/atomic"
	"time"
)

// This file owns the counters of one command, as INFO commandstats shows them.

// commandStats counts the calls of a command.
type commandStats struct {
	calls    atomic.Int64
	rejected atomic.Int64
	failed   atomic.Int64
	ns       atomic.Int64
}

func (c *commandStats) add(calls int64, took time.Duration) {
	c.calls.Add(calls)
	c.ns.Add(int64(took))
}

func (c *commandStats) reset() {
	for _, counter := range []*atomic.Int64{&c.calls, &c.rejected, &c.failed, &c.ns} {
		counter.Store(0)
	}
}

// timing measures commands in runs: reading the clock costs a tenth of a GET,
// so consecutive calls of one fast command of a batch share two readings, at
// most timingRunMax of them.
type timing struct {
	command *Command
	calls   int64
	from    time.Time
}

const timingRunMax = 16

// beginTiming counts a call of c that begins now.
func (s *Session) beginTiming(c *Command) {
	t := &s.timing
	if t.command == c && c.is(Fast) && t.calls < timingRunMax {
		t.calls++
		return
	}
	now := time.Now()
	s.chargeTiming(now)
	t.command, t.calls, t.from = c, 1, now
}

// endTiming charges what is open.
func (s *Session) endTiming() {
	if s.timing.command != nil {
		s.chargeTiming(time.Now())
		s.timing.command = nil
	}
}

func (s *Session) chargeTiming(now time.Time) {
	if t := &s.timing; t.command != nil {
		t.command.stats.add(t.calls, now.Sub(t.from))
	}
}
