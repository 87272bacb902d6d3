package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"

	"reminis/engine/effect"
	"reminis/engine/table"
)

// This file owns deadlines: it is the only one that compares times of keys. A
// keyspace orders its deadlines, so expiry costs what expires, never a sample
// of what does not.

// Clock is the source of time.
type Clock interface {
	// NowMs is the time in Unix milliseconds.
	NowMs() int64
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// NowMs implements Clock.
func (SystemClock) NowMs() int64 { return time.Now().UnixMilli() }

// past says whether a deadline has passed: strictly after it, as in Redis
// (db.c keyIsExpired: `now > when`). 0 is no deadline.
func past(deadlineMs, nowMs int64) bool { return deadlineMs != 0 && nowMs > deadlineMs }

// deadline is an item of the order. Keys are referred to by their hash, since
// references move when a table is compacted.
type deadline struct {
	ms   int64
	hash uint64
}

// deadlines is the order of one keyspace.
//
// Invariant: of each entry that has a deadline there is an item with its hash, at
// that deadline or before. A deadline that moves later (a session record's, at each
// write) leaves its item where it is: whoever comes to it first puts it where it
// belongs (settle), which is once for each item, not once for each write.
type deadlines struct {
	tree *btree.BTreeG[deadline]
	// entries counts the entries that have a deadline.
	entries int
	// swept is the item that sweep looked at last.
	swept deadline
	// everywhere counts the items of all keyspaces.
	everywhere *atomic.Int64
}

func (d *deadlines) add(at deadline) {
	if _, there := d.tree.Set(at); !there {
		d.everywhere.Add(1)
	}
}

func (d *deadlines) remove(at deadline) (there bool) {
	if _, there = d.tree.Delete(at); there {
		d.everywhere.Add(-1)
	}
	return there
}

// drop leaves the order to the collector.
func (d *deadlines) drop() { d.everywhere.Add(-int64(d.tree.Len())) }

func (d deadline) before(other deadline) bool {
	return d.ms < other.ms || d.ms == other.ms && d.hash < other.hash
}

// covers says whether the item may be that of an entry, which has its hash.
func (d deadline) covers(x table.Entry) bool { return x.DeadlineMs() >= d.ms }

func newDeadlines(everywhere *atomic.Int64) deadlines {
	return deadlines{everywhere: everywhere, tree: btree.NewBTreeGOptions(deadline.before, btree.Options{NoLocks: true})}
}

// moveDeadline keeps the order in step with an entry whose deadline changes; 0
// stands for none.
func (ks *keyspace) moveDeadline(hash uint64, fromMs, toMs int64) {
	d := &ks.deadlines
	if fromMs == 0 && toMs != 0 {
		d.entries++
	}
	if fromMs != 0 && toMs == 0 {
		d.entries--
	}
	if fromMs == toMs || fromMs != 0 && toMs > fromMs {
		return
	}
	if toMs != 0 {
		d.add(deadline{toMs, hash})
	}
	if fromMs == 0 {
		return
	}
	if !d.remove(deadline{fromMs, hash}) {
		ks.sweep()
	}
}

// settle puts an item where it belongs: to the deadlines that entries with its hash
// have by now, or nowhere.
func (ks *keyspace) settle(at deadline) {
	ks.deadlines.remove(at)
	ks.keys.GetHash(at.hash, func(x table.Entry) bool {
		if at.covers(x) {
			ks.deadlines.add(deadline{x.DeadlineMs(), at.hash})
		}
		return false
	})
}

// sweepRun is how many items are settled for each one that an entry leaves behind,
// because it is not where the entry's deadline was. A round over all items takes a
// quarter as many of these, so that they stay fewer than the entries.
const sweepRun = 4

// sweep settles a few items, in rounds.
func (ks *keyspace) sweep() {
	d := &ks.deadlines
	var run [sweepRun]deadline
	n := 0
	d.tree.Ascend(deadline{d.swept.ms, d.swept.hash + 1}, func(at deadline) bool {
		run[n] = at
		n++
		return n < sweepRun
	})
	d.swept = deadline{}
	if n == sweepRun {
		d.swept = run[n-1]
	}
	for _, at := range run[:n] {
		ks.settle(at)
	}
}

// expiry drives active expiration.
type expiry struct {
	active atomic.Bool
	// nextMs is a lower bound of the earliest deadline anywhere; 0 is unknown.
	nextMs atomic.Int64
	ran    func(took time.Duration) // nil: nobody asks
	wake   chan struct{}
	stop   chan struct{}
	done   sync.WaitGroup
}

func (x *expiry) open() {
	x.active.Store(true)
	x.nextMs.Store(noDeadline)
	x.wake = make(chan struct{}, 1)
	x.stop = make(chan struct{})
}

const noDeadline = int64(1) << 62

// announce tells the expirer of a deadline that may be earlier than all others.
func (x *expiry) announce(deadlineMs int64) {
	for {
		next := x.nextMs.Load()
		if deadlineMs >= next {
			return
		}
		if x.nextMs.CompareAndSwap(next, deadlineMs) {
			break
		}
	}
	x.rouse()
}

// rouse makes the expirer look.
func (x *expiry) rouse() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// SetActiveExpire turns the removal of expired keys that nobody touches on or
// off (DEBUG SET-ACTIVE-EXPIRE).
func (e *Engine) SetActiveExpire(on bool) {
	e.expiry.active.Store(on)
	e.expiry.rouse()
}

// Freeze stops, or lets go on, all changes that no client asks for: nothing expires,
// though what has expired is not there, and nothing is evicted (CLIENT PAUSE).
func (e *Engine) Freeze(on bool) {
	e.frozen.Store(on)
	e.expiry.rouse()
}

// OnExpiry has ran called with the time that each run over the expired keys of a
// shard kept it locked. It is set before the first
// transaction.
func (e *Engine) OnExpiry(ran func(took time.Duration)) { e.expiry.ran = ran }

// RunExpiry removes expired keys, and ends waits, as their deadlines pass, and evicts
// what commands did not wait for, until StopExpiry.
func (e *Engine) RunExpiry() {
	x := &e.expiry
	x.done.Add(1)
	go func() {
		defer x.done.Done()
		timer := time.NewTimer(time.Hour)
		defer timer.Stop()
		for {
			next := min(e.ExpireDue(), e.WaitersLate())
			if e.evictBehind() {
				x.rouse()
			}
			wait := time.Hour
			if next != noDeadline {
				// At least a millisecond, so that a burst of close deadlines
				// is one pass.
				wait = max(time.Duration(next-e.NowMs()+1)*time.Millisecond, time.Millisecond)
			}
			timer.Reset(min(wait, time.Hour))
			select {
			case <-x.stop:
				return
			case <-x.wake:
			case <-timer.C:
			}
		}
	}()
}

// StopExpiry ends RunExpiry and waits for it.
func (e *Engine) StopExpiry() {
	close(e.expiry.stop)
	e.expiry.done.Wait()
}

// expireRun is how many keys one lock of a shard may expire.
const expireRun = 64

// ExpireDue removes every key whose deadline has passed and returns the
// earliest deadline that remains, or a value beyond any.
func (e *Engine) ExpireDue() (nextMs int64) {
	if !e.expiry.active.Load() || e.frozen.Load() {
		return noDeadline
	}
	e.expiry.nextMs.Store(noDeadline)
	nextMs = noDeadline
	for i := range e.shards {
		for {
			left, more := e.expireShard(i)
			if !more {
				nextMs = min(nextMs, left)
				break
			}
		}
	}
	if nextMs != noDeadline {
		for {
			next := e.expiry.nextMs.Load()
			if nextMs >= next || e.expiry.nextMs.CompareAndSwap(next, nextMs) {
				break
			}
		}
	}
	return nextMs
}

// expireShard expires at most expireRun keys of a shard and says whether some
// may be left, or else the earliest deadline that is.
func (e *Engine) expireShard(i int) (nextMs int64, more bool) {
	tx := e.Begin()
	defer tx.Done()
	if err := e.journal.Ready(); err != nil {
		// Nothing may be written now; expired keys stay invisible and are
		// removed when the journal is ready again.
		return tx.now + 1000, false
	}
	tx.lockMask(1 << i)
	began := time.Now()
	nextMs = noDeadline
	run := 0
	defer func() {
		if run > 0 && tx.e.expiry.ran != nil {
			tx.e.expiry.ran(time.Since(began))
		}
	}()
	for db := range e.shards[i].spaces {
		ks := e.shards[i].space(db)
		if ks == nil {
			continue
		}
		for {
			first, ok := ks.deadlines.tree.Min()
			if !ok {
				break
			}
			if !past(first.ms, tx.now) {
				nextMs = min(nextMs, first.ms)
				break
			}
			if run == expireRun {
				tx.Commit()
				return nextMs, true
			}
			run++
			tx.expireFirst(db, ks, first)
			if len(tx.owned) > 0 {
				// The next record's owner may have to be locked before this one.
				tx.Commit()
				return nextMs, true
			}
		}
	}
	tx.Commit()
	return nextMs, false
}

// expireFirst removes the key behind the first item of the order, or puts the item
// where it belongs.
func (tx *Tx) expireFirst(db int, ks *keyspace, first deadline) {
	found, ok := ks.keys.GetHash(first.hash, func(x table.Entry) bool { return x.DeadlineMs() == first.ms })
	if !ok {
		ks.settle(first)
		return
	}
	key := append(tx.keyBuf[:0], found.Key()...)
	tx.keyBuf, tx.place = key, Place{}
	tx.remove(db, key, found, effect.Expired)
}

// expired says whether an entry's deadline has passed at the transaction's time.
func (tx *Tx) expired(x table.Entry) bool {
	return past(x.DeadlineMs(), tx.now) && !tx.replaying && !tx.SeesExpired
}

// Past says whether deadlineMs has passed at the transaction's time; 0 never
// has.
func (tx *Tx) Past(deadlineMs int64) bool { return past(deadlineMs, tx.now) }

// Past says whether a deadline has passed at the moment of the view.
func (v *OwnerView) Past(deadlineMs int64) bool { return past(deadlineMs, v.nowMs) }
