package persistence

import "sync/atomic"

// This file owns the count of what the store holds in Go's heap: nothing of it is
// data, so it must not count as that. It must not know who asks.

// heldGauge is bytes that are held, and the most that were since it was asked last.
type heldGauge struct{ now, peak atomic.Int64 }

func (g *heldGauge) add(sizeBytes int64) {
	now := g.now.Add(sizeBytes)
	for {
		peak := g.peak.Load()
		if now <= peak || g.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

// take is the peak, which begins anew.
func (g *heldGauge) take() int64 {
	now := g.now.Load()
	return max(g.peak.Swap(now), now)
}

// HeldBytes is what the store holds in Go's heap, none of which counts as used: the
// journal's buffers, kept ones too, what a checkpoint has folded, segments that are
// being read, and the cache of rows where that is there.
func (s *Store) HeldBytes() (counted, apart int64) {
	return 0, s.journal.pending.held.now.Load() + s.journal.reading.now.Load() + s.folded.now.Load() + s.rows.cacheHeapBytes()
}

// TakeHeldPeak is the most that it held since it was asked last, or a little more.
func (s *Store) TakeHeldPeak() int64 {
	return s.journal.pending.held.take() + s.journal.reading.take() + s.folded.take() + s.rows.cacheHeapBytes()
}
