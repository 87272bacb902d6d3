package engine

import (
	"sync/atomic"

	"reminis/engine/effect"
)

// This file owns what the engine needs of a log, and the log that keeps
// nothing. It must not know files.

// Journal gives batches their place in history.
type Journal interface {
	// Ready says whether a batch may be appended now. It is asked before a
	// handler runs, so that nothing is applied that cannot be kept. It is cheap.
	Ready() error
	// Append takes a copy of batch, gives it the next sequence number and a
	// time that is not before that of any batch whose Append has returned. It is called with
	// the locks of everything that batch touches held, and does no I/O.
	Append(batch *effect.Batch) (seq uint64, timeMs int64)
}

// memoryJournal numbers batches and forgets them: `save ""` with
// `appendonly no`, and tests.
type memoryJournal struct {
	seq    atomic.Uint64
	lastMs atomic.Int64
}

func (j *memoryJournal) Ready() error { return nil }

func (j *memoryJournal) Append(batch *effect.Batch) (uint64, int64) {
	timeMs := batch.TimeMs
	for last := j.lastMs.Load(); timeMs != last; last = j.lastMs.Load() {
		if timeMs < last {
			timeMs = last
		} else if j.lastMs.CompareAndSwap(last, timeMs) {
			break
		}
	}
	return j.seq.Add(1), timeMs
}
