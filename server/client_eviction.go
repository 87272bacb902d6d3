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
// them up but a change of the limit. Without a limit nothing is counted.
//
// Its lock is the innermost: nothing is called with it held.
type ledger struct {
	// limit is maxmemory-clients in bytes, 0 for none.
	limit atomic.Int64
	// evicted counts those that had to go.
	evicted atomic.Int64

	mu    sync.Mutex
	total int64
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
	// spared says that the session counts and is in no bucket.
	spared         atomic.Bool
	bucket         int
	listed, closed bool
	before, after  *session
}

// note counts the session anew if its figure has moved, and evicts what must go.
func (l *ledger) note(s *session) {
	if l.limit.Load() == 0 {
		return
	}
	moved := s.info.holdings.bytes() - s.entry.counted.Load()
	if moved < ledgerStepBytes && moved > -ledgerStepBytes && s.spared() == s.entry.spared.Load() {
		return
	}
	l.mu.Lock()
	l.count(s)
	chosen := l.choose()
	l.mu.Unlock()
	s.server.evict(chosen)
}

// spared says whether the session is never evicted.
func (s *session) spared() bool {
	return s.info.Flags.Load()&(FlagNoEvict|FlagReplica|FlagMaster) != 0
}

// count takes the session's figure over. The lock is held.
func (l *ledger) count(s *session) {
	e := &s.entry
	if e.closed || l.limit.Load() == 0 {
		return
	}
	held, spared := s.info.holdings.bytes(), s.spared()
	l.total += held - e.counted.Load()
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
	for l.total > limit && at >= 0 {
		s := l.buckets[at].first
		if s == nil {
			at--
			continue
		}
		l.forget(s)
		chosen.victims = append(chosen.victims, s)
	}
	short := l.total > limit
	chosen.short, l.short = short && !l.short, short
	return chosen
}

// remove takes a session that ends out of the ledger.
func (l *ledger) remove(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(s)
}

// forget is remove with the lock held.
func (l *ledger) forget(s *session) {
	e := &s.entry
	l.total -= e.counted.Swap(0)
	if e.listed {
		l.buckets[e.bucket].remove(s)
	}
	e.closed = true
}

// setLimit changes the limit and counts all that are open anew.
func (l *ledger) setLimit(limit int64, open []Client) verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit.Store(limit)
	for _, c := range open {
		if limit > 0 {
			l.count(c.session)
			continue
		}
		e := &c.session.entry
		if e.listed {
			l.buckets[e.bucket].remove(c.session)
		}
		l.total -= e.counted.Swap(0)
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

// LimitClients has what clients hold together stay below maxmemory-clients.
func (s *Server) LimitClients(settings *Settings) {
	s.evict(s.ledger.setLimit(settings.clientsLimit(), s.clients.List()))
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
