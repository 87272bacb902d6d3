// This file owns maxmemory-clients: what all clients hold together, and which of
// them go when that is too much. It must not know what the bytes are.

package server

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A ledger counts what the open sessions hold, the largest found at once. Each
// session is counted where its own figure moves, by its driver or by who pushes
// to it, and only if it has moved by ledgerStepBytes: nobody ever adds all of
// them up but a change of what is limited. Where neither clients nor the whole
// memory has a limit, nothing is counted.
//
// Its lock is the innermost: nothing is called with it held.
type ledger struct {
	// limit is maxmemory-clients in bytes, 0 for none.
	limit atomic.Int64
	// counts says that something is limited.
	counts atomic.Bool
	// evicted counts those that had to go.
	evicted atomic.Int64

	// total is what all hold, pooled what the loops' pools keep for them, and peak
	// the most that both were together since that was asked last.
	total, pooled, peak atomic.Int64
	// mailed is, of total, what was pushed and no driver has taken yet.
	mailed atomic.Int64

	mu sync.Mutex
	// buckets are the sessions that may be evicted, by the length of their figure
	// in bits, in order of arrival.
	buckets [bucketCount]bucket
	// short says that all that may go has gone, and it is still too much.
	short bool
}

// bucketCount is enough for all figures of 64 bits.
const bucketCount = 64

// bucket is a list of sessions through their entries.
type bucket struct{ first, last *session }

// entry is a session in the ledger. Its ledger's lock guards it; counted and
// spared are also read without.
type entry struct {
	counted atomic.Int64
	// mailed is how much of it was pushed and not taken.
	mailed atomic.Int64
	// spared says that the session counts and is in no bucket.
	spared         atomic.Bool
	bucket         int
	listed, closed bool
	before, after  *session
}

// note counts the session anew if its figure has moved, and evicts what must go.
func (l *ledger) note(s *session) {
	if !l.counts.Load() {
		return
	}
	h, e := &s.info.holdings, &s.entry
	if !moved(h.bytes(), e.counted.Load()) && !moved(h.pushed.Load(), e.mailed.Load()) && s.spared() == e.spared.Load() {
		return
	}
	l.mu.Lock()
	l.count(s)
	chosen := l.choose()
	l.mu.Unlock()
	s.server.evict(chosen)
}

// moved says whether a figure is to be counted anew.
func moved(now, counted int64) bool {
	return now-counted >= ledgerStepBytes || counted-now >= ledgerStepBytes
}

// spared says whether the session is never evicted.
func (s *session) spared() bool {
	return s.info.Flags.Load()&(FlagNoEvict|FlagReplica|FlagMaster) != 0
}

// count takes the session's figure over. The lock is held.
func (l *ledger) count(s *session) {
	e := &s.entry
	if e.closed || !l.counts.Load() {
		return
	}
	held, spared := s.info.holdings.bytes(), s.spared()
	pushed := s.info.holdings.pushed.Load()
	l.total.Add(held - e.counted.Load())
	l.mailed.Add(pushed - e.mailed.Load())
	e.mailed.Store(pushed)
	l.notePeak()
	e.counted.Store(held)
	e.spared.Store(spared)
	at := bits.Len64(uint64(held)) - 1
	if e.listed && (spared || at != e.bucket) {
		l.buckets[e.bucket].remove(s)
	}
	if !e.listed && !spared {
		e.bucket = at
		l.buckets[at].add(s)
	}
}

// verdict is who must go. short is that this is not enough, if it was before.
type verdict struct {
	victims []*session
	short   bool
}

// choose takes out of the ledger those that must go, the largest first. The lock
// is held.
func (l *ledger) choose() (chosen verdict) {
	limit := l.limit.Load()
	if limit == 0 {
		return chosen
	}
	at := len(l.buckets) - 1
	for l.total.Load() > limit && at >= 0 {
		s := l.buckets[at].first
		if s == nil {
			at--
			continue
		}
		l.forget(s)
		chosen.victims = append(chosen.victims, s)
	}
	short := l.total.Load() > limit
	chosen.short, l.short = short && !l.short, short
	return chosen
}

// notePeak keeps the peak. The lock is held.
func (l *ledger) notePeak() {
	l.peak.Store(max(l.peak.Load(), l.total.Load()+l.pooled.Load()))
}

// notePool notes that a pool which was noted with so many bytes keeps others now.
func (l *ledger) notePool(noted *int, keptBytes int) {
	if *noted == keptBytes || !l.counts.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pooled.Add(int64(keptBytes - *noted))
	l.notePeak()
	*noted = keptBytes
}

// remove takes a session that ends out of the ledger.
func (l *ledger) remove(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(s)
}

// forget is remove with the lock held.
func (l *ledger) forget(s *session) {
	l.uncount(s)
	s.entry.closed = true
}

// uncount takes the session's figure out. The lock is held.
func (l *ledger) uncount(s *session) {
	e := &s.entry
	l.total.Add(-e.counted.Swap(0))
	l.mailed.Add(-e.mailed.Swap(0))
	if e.listed {
		l.buckets[e.bucket].remove(s)
	}
}

// setLimit changes the limit, and whether there is anything to count for; it counts
// all that are open anew.
func (l *ledger) setLimit(limit int64, counts bool, open []Client) verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit.Store(limit)
	l.counts.Store(counts)
	for _, c := range open {
		if counts {
			l.count(c.session)
		} else {
			l.uncount(c.session)
		}
	}
	return l.choose()
}

func (b *bucket) add(s *session) {
	e := &s.entry
	e.listed, e.before, e.after = true, b.last, nil
	if b.last != nil {
		b.last.entry.after = s
	} else {
		b.first = s
	}
	b.last = s
}

func (b *bucket) remove(s *session) {
	e := &s.entry
	if e.before != nil {
		e.before.entry.after = e.after
	} else {
		b.first = e.after
	}
	if e.after != nil {
		e.after.entry.before = e.before
	} else {
		b.last = e.before
	}
	e.listed, e.before, e.after = false, nil, nil
}

// evict closes sessions that the ledger has chosen. They leave the registry at
// once, so that nobody sees what is gone; their drivers give the memory back as
// soon as they look.
func (s *Server) evict(chosen verdict) {
	for _, victim := range chosen.victims {
		s.ledger.evicted.Add(1)
		s.log.Info("Evicting client: " + string(victim.AppendLine(nil)))
		s.clients.remove(victim)
		victim.Kill()
	}
	if chosen.short {
		s.log.Warn("Over client maxmemory after evicting all evictable clients")
	}
}

// HeldBytes is what all clients hold, to ledgerStepBytes for each, and what is kept
// for them. What was pushed to them counts once they do not take it: Redis, which
// sends at once, would not have it either, and keys would go because clients are told
// of keys that went.
func (s *Server) HeldBytes() (counted, apart int64) {
	mailed := s.ledger.mailed.Load()
	return s.ledger.total.Load() - mailed, s.ledger.pooled.Load() + mailed
}

// TakeHeldPeak is the most that both were together since it was asked last.
func (s *Server) TakeHeldPeak() int64 {
	l := &s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.total.Load() + l.pooled.Load()
	return max(l.peak.Swap(now), now)
}

// LimitClients has what clients hold together stay below maxmemory-clients.
func (s *Server) LimitClients(settings *Settings) {
	limit := settings.clientsLimit()
	s.evict(s.ledger.setLimit(limit, limit > 0 || settings.MaxMemoryBytes > 0, s.clients.List()))
}

// clientsLimit is maxmemory-clients in bytes, 0 for none. As in Redis, a share
// of no maxmemory is no limit, and none is so small that nobody could talk to the
// server any more.
func (s *Settings) clientsLimit() int64 {
	limit := s.MaxMemoryClients
	if limit < 0 {
		limit = int64(float64(s.MaxMemoryBytes) * float64(-limit) / 100)
	}
	if limit == 0 {
		return 0
	}
	return max(limit, clientsLimitLeastBytes)
}
