package engine

import (
	"math/bits"
	"sync"

	"reminis/engine/effect"
	"reminis/engine/memory"
	"reminis/engine/stream"
)

// This file owns transactions: which locks they take, how their effects become
// one batch, and what their session must wait for. It must not know what the
// effects mean.

// Ready says whether changes can be made now; its error is for the client.
func (e *Engine) Ready() error { return e.journal.Ready() }

// Tx is one command, EXEC, script or expiry pass: it holds the locks of what it
// touches, reads, and emits effects, which are one batch at Commit. A Tx is
// used by one goroutine.
//
// Lock order: shards ascending, then owners ascending; never a shard while
// holding an owner.
type Tx struct {
	// Actor is who acts; it goes into the batch and into audit events.
	Actor Actor
	// DB is the database that keys are looked up in.
	DB int
	// NoTouch leaves the access time of keys alone (CLIENT NO-TOUCH, OBJECT,
	// DEBUG, and commands that only look at metadata).
	NoTouch bool
	// SeesExpired says that keys are there until they are removed, though their deadlines
	// have passed (DEBUG OBJECT).
	SeesExpired bool
	// Yields says that locking gives up, rather than waits, where a transaction holds
	// locks for long (Engine.Stall): whoever set it asks Refused after locking.
	Yields bool
	// InScript says that a script asks, whose results must not depend on how values are
	// kept.
	InScript bool
	// Lens is what the actor may see of records; nil: everything.
	Lens *memory.Lens
	// Confined says that the actor may not read keys of whatever name: those whose
	// names come from data are not followed.
	Confined bool

	e         *Engine
	now       int64
	held      uint64 // shards locked
	refused   bool   // see Yields
	owned     []*Owner
	batch     effect.Batch
	replaying bool // effects come from the store: nothing is journaled or judged
	restoring bool // they are rows: the archive has their history already
	place     Place
	hit       found // cleared by every change
	vacant    bool  // the next entry takes the place of one
	gateSeq   uint64
	seq       uint64
	keyBuf    []byte
	buf       []byte
	elements  []byte // of a list, on their way into an effect
	blockName [blockNameBytes]byte
	record    recordTx
	nameBuf   [stream.IDBytes]byte // of a block of a stream
	appended  appended
	events    []Event
	draft     *draft
	flushed   bool      // a database was emptied
	woken     []byte    // see Woken
	served    []*Waiter // to be told after Commit
}

// Actor is who causes a change.
type Actor struct {
	User   string // authenticated user; "default" when there is none
	Client string // address and name, for people
	ID     int64  // of the client, 0 when none acts
}

// Begin takes a transaction at the clock's time. Lock what it touches, work,
// Commit, read GateSeq, then give it back with Done.
func (e *Engine) Begin() *Tx { return e.BeginAt(e.clock.NowMs()) }

// BeginAt is Begin for a caller that has read the engine's clock a moment ago.
func (e *Engine) BeginAt(nowMs int64) *Tx {
	tx := e.txs.Get().(*Tx)
	tx.now = nowMs
	return tx
}

// Done gives the transaction back. It must not hold locks.
func (tx *Tx) Done() {
	if tx.held != 0 || len(tx.owned) != 0 || tx.draft != nil {
		panic("engine: transaction returned with locks held, or a draft")
	}
	tx.batch.Reset()
	tx.record.clear()
	tx.events = tx.events[:0]
	tx.Actor, tx.DB, tx.NoTouch, tx.Lens, tx.Confined = Actor{}, 0, false, nil, false
	tx.replaying, tx.restoring = false, false
	tx.Again()
	tx.e.txs.Put(tx)
}

// Again makes a transaction that is committed ready for the next command of its
// actor: it is what Done and BeginAt would give, but for what the caller has set to
// say who acts and where.
func (tx *Tx) Again() {
	tx.InScript, tx.SeesExpired, tx.Yields, tx.refused = false, false, false, false
	tx.gateSeq, tx.seq, tx.place = 0, 0, Place{}
	tx.flushed = false
}

// Renew reads the clock again, for a transaction that holds nothing and has waited
// since it did.
func (tx *Tx) Renew() {
	if tx.held != 0 {
		panic("engine: the time of a transaction changes under its locks")
	}
	tx.now = tx.e.clock.NowMs()
}

// Writable says whether what is changed now can be kept. Commands that write need
// not ask; one that reads and would leave something behind does.
func (tx *Tx) Writable() bool { return tx.e.journal.Ready() == nil }

// NowMs is the one time of this transaction.
func (tx *Tx) NowMs() int64 { return tx.now }

// GateSeq is the sequence that must be durable before what this transaction saw
// or did may be shown. It is known after Commit.
func (tx *Tx) GateSeq() uint64 { return tx.gateSeq }

// Seq is the sequence of the committed batch, 0 when nothing changed.
func (tx *Tx) Seq() uint64 { return tx.seq }

// Changed says whether effects were emitted so far.
func (tx *Tx) Changed() bool { return tx.batch.Len() > 0 }

// Effects is the number of effects emitted so far.
func (tx *Tx) Effects() int { return tx.batch.Len() }

// LockPlace locks the shard of one key whose place is known.
func (tx *Tx) LockPlace(p Place) {
	tx.place = p
	tx.lockMask(1 << p.shard())
}

// LockKeys locks the shards of keys, and the owners of those that are records.
func (tx *Tx) LockKeys(keys [][]byte) { tx.LockRecords(keys, len(keys)) }

// LockAll locks every shard.
func (tx *Tx) LockAll() { tx.lockMask(^uint64(0)) }

// lockMask locks the shards of mask, ascending. What is held already must lie
// below everything new, or be all of it: a transaction locks once.
func (tx *Tx) lockMask(mask uint64) {
	mask &^= tx.held
	if mask == 0 {
		return
	}
	if tx.held != 0 && bits.Len64(tx.held) > bits.TrailingZeros64(mask) {
		panic("engine: shards locked out of order")
	}
	for m := mask; m != 0; m &= m - 1 {
		if !tx.take(&tx.e.shards[bits.TrailingZeros64(m)].mu) {
			for locked := mask &^ m; locked != 0; locked &= locked - 1 {
				if i := bits.TrailingZeros64(locked); i < bits.TrailingZeros64(m) {
					tx.e.shards[i].mu.Unlock()
				}
			}
			return
		}
	}
	tx.held |= mask
	tx.widen()
}

// Refused says that locking gave up. The shards and owners to be locked are not held,
// so that nothing in them may be looked at.
func (tx *Tx) Refused() bool { return tx.refused }

// Holds says whether the shard of key is locked.
func (tx *Tx) Holds(key []byte) bool { return tx.held&(1<<shardOf(key)) != 0 }

// within runs f with shard i locked, taking the lock only if the transaction
// does not hold it. Once the transaction is refused f does not run any more.
func (tx *Tx) within(i int, f func(s *shard)) {
	s := &tx.e.shards[i]
	if tx.held&(1<<i) != 0 {
		f(s)
		return
	}
	if !tx.take(&s.mu) {
		return
	}
	f(s)
	tx.gateSeq = max(tx.gateSeq, s.gateSeq)
	s.mu.Unlock()
}

// take locks mu, or reports false when the transaction is, or was, refused.
func (tx *Tx) take(mu *sync.Mutex) bool {
	switch {
	case tx.refused:
		return false
	case !tx.Yields:
		mu.Lock()
		return true
	}
	tx.refused = !mu.TryLock() && !tx.e.lockUnlessStalled(mu)
	return !tx.refused
}

// Durable asks that no reply leave before this transaction's batch is fsynced,
// unless the setting for records says otherwise.
func (tx *Tx) Durable() { tx.batch.Durable = tx.batch.Durable || tx.e.Limits.GateRecords.Load() }

// Commit appends the batch to the journal while all locks are held, then
// releases them. The transaction may be locked and used again afterwards.
func (tx *Tx) Commit() {
	tx.serve()
	if tx.batch.Len() > 0 && !tx.replaying {
		tx.batch.TimeMs = tx.now
		if tx.Actor.User != "" && tx.Actor.User != defaultUser {
			tx.batch.Actor = append(tx.batch.Actor[:0], tx.Actor.User...)
		}
		tx.batch.Durable = tx.batch.Durable || tx.e.Limits.GateAll.Load()
		seq, timeMs := tx.e.journal.Append(&tx.batch)
		tx.seq = seq
		tx.commitRecords(seq, timeMs)
		if tx.batch.Durable {
			for m := tx.held; m != 0; m &= m - 1 {
				tx.e.shards[bits.TrailingZeros64(m)].gateSeq = seq
			}
		}
		tx.e.stats.DirtySet.Add(int64(tx.batch.Len()))
	}
	tx.batch.Reset()
	tx.vacant = false
	tx.record.clear()
	told := len(tx.events) > 0
	if told {
		tx.queueEvents()
	}
	changes := tx.takeChanges()
	tx.unlock()
	if changes != nil {
		tx.e.changes.hear(changes)
	}
	if len(tx.served) > 0 {
		tx.tellServed()
	}
	if told {
		tx.e.events.deliver()
	}
}

// defaultUser is not written into batches: absent means it.
const defaultUser = "default"

// unlockOwners releases the owners.
func (tx *Tx) unlockOwners() {
	for _, o := range tx.owned {
		tx.gateSeq = max(tx.gateSeq, o.gateSeq)
		o.holder.Store(nil)
		o.mu.Unlock()
	}
	clear(tx.owned)
	tx.owned = tx.owned[:0]
}

func (tx *Tx) unlock() {
	tx.hit.ks = nil
	if len(tx.owned) > 0 {
		tx.unlockOwners()
	}
	for m := tx.held; m != 0; m &= m - 1 {
		s := &tx.e.shards[bits.TrailingZeros64(m)]
		tx.gateSeq = max(tx.gateSeq, s.gateSeq)
		s.mu.Unlock()
	}
	tx.held = 0
}

// emit is the one way to change state: apply the effect and put it into the
// batch. An effect that only memory keeps (a working record) is held instead.
func (tx *Tx) emit(x *effect.Effect) {
	if tx.draft != nil {
		tx.draft.add(tx, x, true)
		return
	}
	tx.apply(x)
	switch {
	case tx.replaying:
	case tx.batch.Unkept:
		tx.batch.Add(x) // what nobody reads need not be sealed
	default:
		tx.batch.Add(tx.sealed(x))
	}
}

// hold is emit for what only memory keeps.
func (tx *Tx) hold(x *effect.Effect) {
	if tx.draft != nil {
		tx.draft.add(tx, x, false)
		return
	}
	tx.apply(x)
}

// Next begins another command of the transaction: keys whose memory was used before
// may be others now.
func (tx *Tx) Next() { tx.place, tx.hit = Place{}, found{} }

// at is the place of key in db, from the transaction's cache when the caller
// located it already.
func (tx *Tx) at(db int, key []byte) Place {
	// Recovery hands over slices whose memory is used again for the next key.
	if !tx.replaying && tx.place.Is(db, key) {
		return tx.place
	}
	tx.place = Locate(db, key)
	return tx.place
}
