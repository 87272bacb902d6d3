package engine

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// This file owns who waits for keys: clients whose commands block until another
// client brings something. It must not know commands or clients.
//
// Whoever changes a key that somebody waits for serves the waiters before its
// own batch is appended, so that what they take and what they wait for is one
// commit, in the order of their arrival. A waiter that would change keys of
// other shards than those it waits in (BLMOVE) makes whoever locks its shards
// lock all: they cannot be locked later, in the order that locks have.

// A Waiter waits for any of some keys of one database.
type Waiter struct {
	DB    int
	Keys  [][]byte // what is waited for; not changed while it waits
	Reach [][]byte // what serving it changes besides
	// DeadlineMs is when it gives up, 0 for never.
	DeadlineMs int64
	// Serve is called with the locks of Keys' changed one and of Reach, inside the
	// transaction that changed key. It does what the waiter waits for and reports
	// whether it could.
	Serve func(tx *Tx, key []byte) bool
	// Served is called when what Serve did is committed, without locks. Replies may
	// leave once the journal is durable up to gateSeq.
	Served func(gateSeq uint64)
	// Late is called, without locks, when the deadline has passed.
	Late func()

	mu   sync.Mutex // after the locks of shards
	over bool
	far  bool // Reach goes beyond the shards of Keys
	seq  uint64
}

// waits is what all waiters of an engine share.
type waits struct {
	count atomic.Int64  // waiters
	far   atomic.Int64  // those whose Reach goes beyond their shards
	turn  atomic.Uint64 // orders changes of keys that somebody waits for

	mu        sync.Mutex // taken last
	arrivals  uint64
	deadlines *btree.BTreeG[*Waiter]
}

func (w *waits) open() {
	w.deadlines = btree.NewBTreeGOptions(func(a, b *Waiter) bool {
		return a.DeadlineMs < b.DeadlineMs || a.DeadlineMs == b.DeadlineMs && a.seq < b.seq
	}, btree.Options{NoLocks: true})
}

// waiting is who waits for the keys of one keyspace, and which of them changed.
type waiting struct {
	queues  map[string][]*Waiter // in order of arrival
	changed []changedKey
	turn    *atomic.Uint64
}

// changedKey is a key that a transaction has changed and that somebody waits for, or
// wants to be told of.
type changedKey struct {
	db   int
	key  string
	turn uint64
}

func byTurn(a, b changedKey) int { return cmp.Compare(a.turn, b.turn) }

// note remembers a change of key, once until it is served.
func (w *waiting) note(key []byte) {
	if len(w.queues[string(key)]) == 0 {
		return
	}
	if slices.ContainsFunc(w.changed, func(c changedKey) bool { return c.key == string(key) }) {
		return
	}
	w.changed = append(w.changed, changedKey{key: string(key), turn: w.turn.Add(1)})
}

// noteAll is note for every key that is waited for.
func (w *waiting) noteAll() {
	for key := range w.queues {
		w.note([]byte(key))
	}
}

// Wait makes w wait, from now on and behind all who wait already. The shards of
// its keys are locked; nothing was found in them.
func (tx *Tx) Wait(w *Waiter) {
	x := &tx.e.waits
	shards := uint64(0)
	for _, key := range w.Keys {
		at := Locate(w.DB, key)
		shards |= 1 << at.shard()
		ks := tx.e.ensure(&tx.e.shards[at.shard()], w.DB)
		if ks.waiting.queues == nil {
			ks.waiting.queues, ks.waiting.turn = map[string][]*Waiter{}, &x.turn
		}
		if q := ks.waiting.queues[string(key)]; len(q) == 0 || q[len(q)-1] != w { // a key may be named twice
			ks.waiting.queues[string(key)] = append(q, w)
		}
	}
	for _, key := range w.Reach {
		w.far = w.far || shards&(1<<shardOf(key)) == 0
	}
	x.count.Add(1)
	if w.far {
		x.far.Add(1)
		for m := shards; m != 0; m &= m - 1 {
			tx.e.shards[bits.TrailingZeros64(m)].far++
		}
	}
	x.mu.Lock()
	x.arrivals++
	w.seq = x.arrivals
	if w.DeadlineMs != 0 {
		x.deadlines.Set(w)
		if first, _ := x.deadlines.Min(); first == w {
			tx.e.expiry.rouse()
		}
	}
	x.mu.Unlock()
}

// EndWait ends the wait of w and reports whether it still waited: if so, it will
// not be served. No lock is held.
func (e *Engine) EndWait(w *Waiter) bool {
	forget := e.StopWait(w)
	if forget != nil {
		forget()
	}
	return forget != nil
}

// StopWait ends the wait of w as EndWait does, but only marks it: the caller calls
// the function that it returns, if any, where it may wait for locks.
func (e *Engine) StopWait(w *Waiter) (forget func()) {
	w.mu.Lock()
	over := w.over
	w.over = true
	w.mu.Unlock()
	if over {
		return nil
	}
	return func() { e.forgetWaiter(w) }
}

// forgetWaiter takes a waiter that is over out of all queues. No lock is held.
func (e *Engine) forgetWaiter(w *Waiter) {
	x := &e.waits
	x.mu.Lock()
	x.deadlines.Delete(w)
	x.mu.Unlock()
	seen := uint64(0)
	for _, key := range w.Keys {
		i := shardOf(key)
		s := &e.shards[i]
		s.mu.Lock()
		if ks := s.space(w.DB); ks != nil {
			ks.waiting.remove(key, w)
		}
		if w.far && seen&(1<<i) == 0 {
			s.far--
		}
		seen |= 1 << i
		s.mu.Unlock()
	}
	if w.far {
		x.far.Add(-1)
	}
	x.count.Add(-1)
}

func (w *waiting) remove(key []byte, x *Waiter) {
	q := w.queues[string(key)]
	if i := slices.Index(q, x); i >= 0 {
		q = slices.Delete(q, i, i+1)
	}
	if len(q) == 0 {
		delete(w.queues, string(key))
		return
	}
	w.queues[string(key)] = q
}

// widen locks all shards where a waiter in those that are locked may change
// others. Nothing was read under the locks yet.
func (tx *Tx) widen() {
	if tx.e.waits.far.Load() == 0 || tx.held == ^uint64(0) {
		return
	}
	for m := tx.held; m != 0; m &= m - 1 {
		if tx.e.shards[bits.TrailingZeros64(m)].far == 0 {
			continue
		}
		tx.unlock()
		tx.lockMask(^uint64(0))
		return
	}
}

// serve serves who waits for the keys that the transaction has changed, in the
// order of the changes, and of what serving changes in turn.
func (tx *Tx) serve() {
	if tx.e.waits.count.Load() == 0 {
		return
	}
	own := tx.DB
	for {
		changes := tx.changedKeys()
		if len(changes) == 0 {
			break
		}
		for i := range changes {
			tx.serveKey(&changes[i])
		}
	}
	tx.DB, tx.woken = own, nil
}

// changedKeys takes the keys that are waited for and have changed.
func (tx *Tx) changedKeys() (changes []changedKey) {
	for m := tx.held; m != 0; m &= m - 1 {
		s := &tx.e.shards[bits.TrailingZeros64(m)]
		for db := range s.spaces {
			ks := s.space(db)
			if ks == nil || len(ks.waiting.changed) == 0 {
				continue
			}
			for _, c := range ks.waiting.changed {
				c.db = db
				changes = append(changes, c)
			}
			ks.waiting.changed = nil
		}
	}
	slices.SortFunc(changes, byTurn)
	return changes
}

func (tx *Tx) serveKey(c *changedKey) {
	key := []byte(c.key)
	ks := tx.e.shards[shardOf(key)].space(c.db)
	if ks == nil {
		return
	}
	for _, w := range slices.Clone(ks.waiting.queues[c.key]) {
		w.mu.Lock()
		if !w.over {
			tx.DB, tx.woken, tx.place = c.db, key, Place{}
			if w.Serve(tx, key) {
				w.over = true
				tx.served = append(tx.served, w)
			}
		}
		w.mu.Unlock()
	}
}

// tellServed tells the waiters that were served. No lock is held.
func (tx *Tx) tellServed() {
	for _, w := range tx.served {
		tx.e.forgetWaiter(w)
		w.Served(tx.gateSeq)
	}
	clear(tx.served)
	tx.served = tx.served[:0]
}

// Woken is the key whose change is why a waiter is served, nil outside of
// Waiter.Serve.
func (tx *Tx) Woken() []byte { return tx.woken }

// WaitersLate ends the waits whose deadlines have passed, and returns the
// earliest that is left, or a value beyond any.
func (e *Engine) WaitersLate() (nextMs int64) {
	x := &e.waits
	for now := e.NowMs(); ; {
		x.mu.Lock()
		first, ok := x.deadlines.Min()
		x.mu.Unlock()
		switch {
		case !ok:
			return noDeadline
		case first.DeadlineMs > now:
			return first.DeadlineMs
		case e.EndWait(first):
			first.Late()
		default:
			// It was served or ended just now by somebody who is about to take it out.
			x.mu.Lock()
			x.deadlines.Delete(first)
			x.mu.Unlock()
		}
	}
}
