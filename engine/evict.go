package engine

import (
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reminis/engine/effect"
	"reminis/engine/table"
)

// This file owns maxmemory: how much memory the data takes, and which keys go when
// that is too much. It must not know commands.
//
// As Redis does (evict.c), a few keys are drawn at random, the best of them join a
// pool of those seen before, and the best of the pool goes: with a sample of five
// that comes close to true LRU or LFU. Here the keys are drawn from one shard at a
// time, so that no more than one is locked; a key's shard is as random as the key.

// policy is which keys maxmemory may take.
type policy uint32

const (
	noEviction policy = iota
	allKeysLRU
	allKeysLFU
	allKeysRandom
	volatileLRU
	volatileLFU
	volatileRandom
	volatileTTL
)

var policyNames = [...]string{"noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"}

// byAccess says whether what goes depends on when or how often keys were used.
func (p policy) byAccess() bool {
	return p == allKeysLRU || p == allKeysLFU || p == volatileLRU || p == volatileLFU
}

// EvictsByAccess says whether maxmemory is set and takes keys by their use.
func (tx *Tx) EvictsByAccess() bool {
	return tx.e.Limits.MaxMemory.Load() > 0 && policy(tx.e.Limits.policy.Load()).byAccess()
}

// volatile says whether only keys with a deadline may go.
func (p policy) volatile() bool { return p >= volatileLRU }

// SetPolicy sets the policy of maxmemory by its name in redis.conf; an unknown name
// evicts nothing.
func (l *Limits) SetPolicy(name string) {
	p := policy(max(0, slices.Index(policyNames[:], name)))
	l.policy.Store(uint32(p))
	l.LFU.Store(p == allKeysLFU || p == volatileLFU)
}

// candidatesMax is how many keys seen are remembered (evict.c EVPOOL_SIZE).
const candidatesMax = 16

// candidate is a key that may go; the greater its score, the sooner.
type candidate struct {
	score uint64
	db    int
	key   string
}

// evictor is the state of eviction.
type evictor struct {
	mu         sync.Mutex // taken before the locks of shards
	candidates []candidate
	samples    []candidate
	heap       heapUse
	deadlines  heldCount // the items of all keyspaces' orders
	// dropping counts the flushed databases whose memory is not given back yet.
	dropping atomic.Int64
}

// UsedBytes is what maxmemory bounds: the records of all tables and what clients
// hold, exactly, and what else of the data lives in Go's heap, as of its last
// collection and without what was dropped since.
func (e *Engine) UsedBytes() int64 {
	heap := &e.evictor.heap
	used := e.exactBytes() + heap.bytes()
	if heap.uncertain() {
		heap.collectSoon()
	}
	return used
}

// dataBytes is UsedBytes without clients.
func (e *Engine) dataBytes() int64 {
	deadlines, _ := e.evictor.deadlines.HeldBytes()
	records, _ := e.owners.recordBytes.HeldBytes()
	return e.tableBytes() + deadlines + records + e.evictor.heap.bytes()
}

func (e *Engine) exactBytes() int64 {
	counted, _ := e.evictor.heap.held()
	return e.tableBytes() + counted
}

func (e *Engine) tableBytes() int64 {
	stats := e.pool.Stats()
	return stats.UsedBytes - stats.IdleBytes
}

// evictSteps is how many keys go before a command goes on; the rest goes in the
// background, so that no client waits for a limit that was lowered by much
// (evict.c evictionTimeLimitUs).
const evictSteps = 64

// evictTurn is how long eviction in the background goes on before expiry has its
// turn.
const evictTurn = 10 * time.Millisecond

// MakeRoom evicts keys while memory is over maxmemory, as its policy allows, and
// reports whether it is, or soon will be, within it. No lock is held.
func (e *Engine) MakeRoom() bool {
	limit := e.Limits.MaxMemory.Load()
	if limit == 0 || e.frozen.Load() || !e.over(limit) {
		return true
	}
	found, more := e.evictSome(limit)
	if more {
		e.expiry.rouse()
	}
	return found
}

// over says whether memory is over the limit, and has the heap collected where
// only that could tell.
func (e *Engine) over(limit int64) bool {
	if e.evictor.dropping.Load() > 0 {
		return false // until it is known what is left
	}
	exact, heap := e.exactBytes(), &e.evictor.heap
	live := heap.bytes()
	grown := heap.grownBytes()
	if exact+live > limit && live > heapLeast || exact+live+grown > limit && grown > limit/16 {
		heap.collectSoon()
	}
	return exact+live > limit
}

// evictSome evicts up to evictSteps keys. found says that memory is within the
// limit or that there are keys to bring it there, more that it is not there yet. While
// a transaction holds locks for long nothing is known of keys, and there may be some.
func (e *Engine) evictSome(limit int64) (found, more bool) {
	p := policy(e.Limits.policy.Load())
	if p == noEviction || e.journal.Ready() != nil {
		return false, false
	}
	e.evictor.mu.Lock()
	defer e.evictor.mu.Unlock()
	// What clients are told of keys that go must not make more keys go: so what is
	// to be freed is known in advance, and only data counts (evict.c performEvictions).
	goal := e.dataBytes() - (e.UsedBytes() - limit)
	for range evictSteps {
		if e.dataBytes() <= goal {
			return true, false
		}
		switch gone, refused := e.evictOne(p); {
		case refused:
			return true, false
		case !gone:
			return false, false
		}
	}
	return true, true
}

// evictBehind goes on with what MakeRoom has begun, and reports whether it is to be
// called again.
func (e *Engine) evictBehind() (again bool) {
	limit := e.Limits.MaxMemory.Load()
	if limit == 0 || e.frozen.Load() || !e.over(limit) {
		return false
	}
	for began := time.Now(); time.Since(began) < evictTurn; {
		if _, again = e.evictSome(limit); !again {
			break
		}
	}
	return again
}

// evictTries is how often a key is looked for: draws may find only keys that must
// not go.
const evictTries = 4 * shardCount

// evictOne evicts the best key that it finds, and reports whether there is one, or that
// it gave up for locks that are held for long: whoever asks for room may be a driver.
func (e *Engine) evictOne(p policy) (gone, refused bool) {
	v := &e.evictor
	first := rand.IntN(shardCount)
	for try := range evictTries {
		if e.drawCandidates((first+try)%shardCount, p) {
			return false, true
		}
		for n := len(v.candidates); n > 0; n = len(v.candidates) {
			best := v.candidates[n-1]
			v.candidates = v.candidates[:n-1]
			if gone, refused = e.evict(&best, p); gone || refused {
				return gone, refused
			}
		}
	}
	return false, false
}

// drawCandidates lets keys of one shard into the pool, unless its lock is refused.
func (e *Engine) drawCandidates(i int, p policy) (refused bool) {
	v := &e.evictor
	v.samples = v.samples[:0]
	tx := e.Begin()
	defer tx.Done()
	tx.Yields = true
	if tx.lockMask(1 << i); tx.refused {
		return true
	}
	tx.Yields = false
	for db := range e.shards[i].spaces {
		if ks := e.shards[i].space(db); ks != nil {
			tx.drawFrom(ks, db, p)
		}
	}
	tx.Commit()
	for _, c := range v.samples {
		at, _ := slices.BinarySearchFunc(v.candidates, c.score, func(have candidate, score uint64) int {
			if have.score < score {
				return -1
			}
			return 1
		})
		if known := func(have candidate) bool { return have.db == c.db && have.key == c.key }; slices.ContainsFunc(v.candidates, known) {
			continue
		}
		if len(v.candidates) == candidatesMax {
			if at == 0 {
				continue
			}
			v.candidates = slices.Delete(v.candidates, 0, 1)
			at--
		}
		v.candidates = slices.Insert(v.candidates, at, c)
	}
	return false
}

// drawFrom draws keys of a keyspace.
func (tx *Tx) drawFrom(ks *keyspace, db int, p policy) {
	v := &tx.e.evictor
	for range max(1, tx.e.Limits.Samples.Load()) {
		x, ok := table.Entry{}, false
		if p.volatile() {
			x, ok = ks.randomVolatile()
		} else {
			x, ok = ks.keys.Random(rand.Uint64())
		}
		if !ok || x.Kind() == kindMemory && !tx.evictable(db, x.Key()) {
			continue
		}
		v.samples = append(v.samples, candidate{score: tx.evictionScore(x, p), db: db, key: string(x.Key())})
	}
}

// randomVolatile is an entry with a deadline, each as likely.
func (ks *keyspace) randomVolatile() (x table.Entry, ok bool) {
	items := ks.deadlines.tree
	for items.Len() > 0 {
		chosen, _ := items.GetAt(rand.IntN(items.Len()))
		if x, ok = ks.keys.GetHash(chosen.hash, chosen.covers); ok {
			return x, true
		}
		ks.settle(chosen) // nothing has it any more
	}
	return x, false
}

// evictionScore says how soon an entry goes.
func (tx *Tx) evictionScore(x table.Entry, p policy) uint64 {
	switch p {
	case allKeysLRU, volatileLRU:
		return uint64((tx.lruClock() - x.Access()) & accessMask)
	case allKeysLFU, volatileLFU:
		return 255 - uint64(tx.frequency(x))
	case volatileTTL:
		return ^uint64(x.DeadlineMs())
	}
	return rand.Uint64()
}

// evictable says whether maxmemory may take a record: those that matter beyond
// their session it never takes (MEM.* contract, kinds of records).
func (tx *Tx) evictable(db int, key []byte) bool {
	owner := tx.e.owners.find(tx.e.owners.space(db), key[:tx.e.Layout().OwnerLen(key)])
	if owner == nil || !owner.mu.TryLock() {
		return false // it is in use
	}
	defer owner.mu.Unlock()
	it, ok := owner.records.Get(tx.pivotOf(key))
	return ok && it.kind().Rule().Evictable
}

// evict removes a candidate, if it is still one and no lock is refused.
func (e *Engine) evict(c *candidate, p policy) (gone, refused bool) {
	key := []byte(c.key)
	tx := e.Begin()
	defer tx.Done()
	tx.Yields = true
	if tx.LockPlace(Locate(c.db, key)); tx.refused {
		return false, true
	}
	tx.Yields = false
	defer tx.Commit()
	_, _, x, ok := tx.find(c.db, key)
	if !ok || p.volatile() && x.DeadlineMs() == 0 || x.Kind() == kindMemory && !tx.evictable(c.db, key) {
		return false, false
	}
	tx.remove(c.db, key, x, effect.Evicted)
	return true, false
}

// A Holder counts what it holds in Go's heap, so that it need not be found there.
type Holder interface {
	// HeldBytes is what it holds now: what counts for maxmemory (clients, as in
	// Redis), and what does not (kept buffers, the journal, a checkpoint; Redis's log
	// does not either, nor what its child takes). It is cheap.
	HeldBytes() (counted, apart int64)
	// TakeHeldPeak is the most that both were together since it was asked last.
	TakeHeldPeak() int64
}

// CountHeld tells who holds memory beside the data. It comes before the first
// session.
func (e *Engine) CountHeld(holders ...Holder) {
	e.evictor.heap.holders = append(e.evictor.heap.holders, holders...)
}

// pendingCount counts the changes of records that wait for the archive: a buffer of
// it, which empties itself. Without one they are history, which is data.
type pendingCount struct {
	e      *Engine
	before atomic.Int64
}

// HeldBytes implements Holder.
func (p *pendingCount) HeldBytes() (counted, apart int64) {
	if p.e.archive == nil {
		return p.e.PendingBytes(), 0
	}
	return 0, p.e.PendingBytes()
}

// TakeHeldPeak implements Holder.
func (p *pendingCount) TakeHeldPeak() int64 {
	now := p.e.PendingBytes()
	return max(p.before.Swap(now), now)
}

// heldCount counts data that is in the heap as it changes: of two kinds, of which
// there may be very many. now is a number of things that take eachBytes.
type heldCount struct {
	now, before atomic.Int64
	eachBytes   int64
}

// HeldBytes implements Holder.
func (c *heldCount) HeldBytes() (counted, apart int64) { return c.now.Load() * c.eachBytes, 0 }

// TakeHeldPeak implements Holder.
func (c *heldCount) TakeHeldPeak() int64 {
	now := c.now.Load()
	return max(c.before.Swap(now), now) * c.eachBytes
}

// heapUse is the data that lives in Go's heap: what does, less what others hold. It
// is known after each collection only; until the next, what was dropped is counted
// off.
type heapUse struct {
	holders []Holder
	// collecting says that a collection was asked for and reads the figures.
	collecting atomic.Bool
	// live is what counts, most what the last collection may have found.
	live, most atomic.Int64
	freed      atomic.Int64 // since the last collection, about
	objects    atomic.Int64 // with what died since the last collection, and what is new
	readAt     atomic.Int64 // Unix nanoseconds
	// nextAt is from when on a collection may be asked for again.
	nextAt atomic.Int64

	mu sync.Mutex // held while figures are read
	// allocated is all that ever was, since of it what was after the reading before.
	allocated, since int64
	heldBytes        int64 // by others
	cycles           uint64
}

const (
	// heapUseAge is how old the figures may be: reading them costs microseconds.
	heapUseAge = 100 * time.Millisecond
	// heapStep is by how much what a collection finds must differ from what counts:
	// without any cause in the data, what lives differs by some hundred kilobytes
	// from one collection to the next, and keys would go for it.
	heapStep = 1 << 20
	// heapBase is what the heap of a server without data or clients comes to. It is
	// none of what maxmemory, which is small for some caches, leaves for the data.
	heapBase = 6 << 20
	// heapLeast counts for it: a limit of next to nothing is exceeded by an empty
	// server, as by Redis, which takes about that much.
	heapLeast = 1 << 20
	// Collections are asked for ten times a second at most, and for a tenth of the
	// time.
	collectEvery = 100 * time.Millisecond
	collectShare = 10
)

func (g *heapUse) bytes() int64 {
	now := time.Now().UnixNano()
	if last := g.readAt.Load(); now-last > int64(heapUseAge) && !g.collecting.Load() && g.readAt.CompareAndSwap(last, now) {
		g.read()
	}
	return heapLeast + max(0, g.live.Load()-g.freed.Load()-heapBase)
}

// grownBytes is how much came since the last collection, garbage included, and may
// be data.
func (g *heapUse) grownBytes() int64 {
	counted, apart := g.held()
	return g.objects.Load() - counted - apart - max(heapBase, g.live.Load()-g.freed.Load())
}

func (g *heapUse) held() (counted, apart int64) {
	for _, h := range g.holders {
		c, a := h.HeldBytes()
		counted, apart = counted+c, apart+a
	}
	return counted, apart
}

// read reads the figures, and takes what a collection found since the last reading.
func (g *heapUse) read() {
	g.mu.Lock()
	defer g.mu.Unlock()
	sample := [...]metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(sample[:])
	value := func(i int) int64 { return int64(sample[i].Value.Uint64()) }
	g.objects.Store(value(1))
	// A collection may have begun before the last reading.
	since, before := value(2)-g.allocated, g.since
	g.allocated, g.since = value(2), since
	counted, apart := g.held()
	heldBefore := g.heldBytes
	g.heldBytes = counted + apart
	if cycles := sample[3].Value.Uint64(); cycles != g.cycles {
		g.cycles = cycles
		// What others held when the collection looked, and what of the rest is
		// garbage that was allocated meanwhile, is known within bounds.
		found, peak := value(0), int64(0)
		for _, h := range g.holders {
			peak += h.TakeHeldPeak()
		}
		g.settle(found-peak-since-before, found-min(heldBefore, g.heldBytes))
	}
}

// settle takes what a collection found, between least and most: what counts, less
// what was dropped since the last one, changes if it is a step from what can be.
func (g *heapUse) settle(least, most int64) {
	g.most.Store(most)
	live := max(0, g.live.Load()-g.freed.Swap(0))
	if least >= live+heapStep {
		live = least
	} else if most <= live-heapStep {
		live = max(0, most)
	}
	g.live.Store(live)
}

// uncertain says whether there may be more than counts.
func (g *heapUse) uncertain() bool {
	return g.most.Load() >= max(heapBase, g.live.Load())+heapStep
}

// Settle has the heap collected now, so that what was garbage until now does not
// count.
func (e *Engine) Settle() { e.evictor.heap.collect() }

func (g *heapUse) collect() {
	g.collecting.Store(true)
	defer g.collecting.Store(false)
	g.read()
	g.read() // nothing was allocated before, as this collection begins now
	runtime.GC()
	g.read()
}

// collectSoon has the heap collected in the background, unless that was done just
// now.
func (g *heapUse) collectSoon() {
	began := time.Now()
	next := g.nextAt.Load()
	if began.UnixNano() < next || !g.nextAt.CompareAndSwap(next, 1<<62) {
		return
	}
	go func() {
		g.collect()
		pause := max(collectEvery, collectShare*time.Since(began))
		g.nextAt.Store(began.Add(pause).UnixNano())
	}()
}
