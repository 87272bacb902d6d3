package commands

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// This file owns the counters of one command, as INFO commandstats and LATENCY
// HISTOGRAM show them, and how calls are timed. It must not know who asks.

// commandStats counts the calls of a command.
type commandStats struct {
	rejected atomic.Int64
	failed   atomic.Int64
	ns       atomic.Int64
	latency  histogram // of all calls, so their number too
}

func (c *commandStats) add(calls int64, took time.Duration) {
	c.ns.Add(int64(took))
	c.latency.add(calls, int64(took)/calls)
}

func (c *commandStats) reset() {
	for _, counter := range []*atomic.Int64{&c.rejected, &c.failed, &c.ns} {
		counter.Store(0)
	}
	c.latency.reset()
}

// histogram counts calls by how long they took: four buckets for each doubling,
// from 64 ns up to some hours.
type histogram [histogramOctaves * histogramParts]atomic.Int64

const (
	histogramFirst   = 6 // log2 of the nanoseconds of the first bucket
	histogramOctaves = 38
	histogramParts   = 4
)

// add counts calls that took ns nanoseconds each.
func (h *histogram) add(calls, ns int64) { h[histogramBucket(ns)].Add(calls) }

func histogramBucket(ns int64) int {
	octave := bits.Len64(uint64(max(ns, 1))) - 1
	if octave < histogramFirst {
		return 0
	}
	part := int(ns>>(octave-2)) & (histogramParts - 1)
	return min((octave-histogramFirst)*histogramParts+part, len(histogram{})-1)
}

// histogramEnd is the first number of nanoseconds behind a bucket.
func histogramEnd(bucket int) int64 {
	octave, part := bucket/histogramParts+histogramFirst, bucket%histogramParts
	return int64(histogramParts+part+1) << (octave - 2)
}

func (h *histogram) count() int64 {
	total := int64(0)
	for i := range h {
		total += h[i].Load()
	}
	return total
}

// percentile is how many nanoseconds a share of the calls took at most.
func (h *histogram) percentile(percent float64) int64 {
	total := h.count()
	wanted := max(1, int64(percent/100*float64(total)+0.5))
	seen := int64(0)
	for i := range h {
		if seen += h[i].Load(); seen >= wanted {
			return histogramEnd(i) - 1
		}
	}
	return 0
}

// join adds what another one has counted.
func (h *histogram) join(other *histogram) {
	for i := range h {
		h[i].Add(other[i].Load())
	}
}

func (h *histogram) reset() {
	for i := range h {
		h[i].Store(0)
	}
}

// timing measures commands in runs: reading the clock costs a tenth of a GET.
// Consecutive calls of one fast (or brief) command of a batch share two readings, at most
// timingRunMax of them; a command that is measured by itself (precise) shares its
// end with the beginning of the next.
type timing struct {
	command *Command // whose calls are open, nil for none
	calls   int64
	from    time.Duration // when they began, after origin
	origin  time.Time     // when the first call of the batch began
	running bool          // origin is a moment of this batch
}

// now is the moment that from says. Within a batch only the time that has passed is
// read, which is half of what reading the clock is: it has no date.
func (t *timing) now() time.Time { return t.origin.Add(t.from) }

const timingRunMax = 16

// beginTiming counts a call of c that begins now.
func (s *Session) beginTiming(c *Command, precise bool) {
	t := &s.timing
	switch {
	case t.command == c && c.Flags&(Fast|Brief) != 0 && !precise && t.calls < timingRunMax:
		t.calls++
		return
	case t.command != nil:
		s.chargeTiming()
	case !t.running:
		t.origin, t.from, t.running = time.Now(), 0, true
	}
	t.command, t.calls = c, 1
}

// endTiming charges what is open; the next call will begin later.
func (s *Session) endTiming() {
	if s.timing.command != nil {
		s.chargeTiming()
	}
	s.timing.running = false
}

// dropTiming forgets a call that did not happen.
func (s *Session) dropTiming() { s.timing.command, s.timing.running = nil, false }

// chargeTiming ends the open calls now and returns how long they took.
func (s *Session) chargeTiming() time.Duration {
	t := &s.timing
	now := time.Since(t.origin)
	took := now - t.from
	t.command.stats.add(t.calls, took)
	s.Core.noteLatency(t.command, took)
	t.command, t.from = nil, now
	return took
}
