package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reminis/engine/memory"
)

// This file owns the audit of reads: how a read becomes an event of its owner's
// chain without being slower than one that does not. It must not know what reads
// there are.
//
// A read that a policy audits puts what it was into a bounded queue. A worker
// makes events of them in order, a slice of the queue in one transaction, so that
// sealing and chaining cost the reader nothing and an owner is locked for a slice
// at most. An event costs more than the read itself (3.7 µs, measured), so the
// worker rests four times as long as it works: it takes a fifth of a processor at
// most, for some 50,000 events a second. What finds the queue full beyond that is
// counted, never silent; reads that slow down until all are audited were rejected.

const (
	// readsMax and readBytesMax bound the queue: reads, and bytes of their keys.
	readsMax     = 1 << 16
	readBytesMax = 8 << 20
	// readSlice is how many events one transaction makes: about 200 µs.
	readSlice = 64
	// readRest is how many times as long as it works the worker rests, and
	// readRestMax bounds that: work may take long because the machine is busy.
	readRest    = 4
	readRestMax = 5 * time.Millisecond
)

// readAudit is the reads that wait to become events.
type readAudit struct {
	mu    sync.Mutex
	queue readQueue
	spare readQueue // of the last drain, for its memory; draining guards it
	wake  chan struct{}
	stop  chan struct{}
	done  sync.WaitGroup
	// draining is held by whoever makes events of the queue, so that they keep
	// its order. It is taken before all locks of a transaction.
	draining sync.Mutex
	// hurried counts those who wait for draining: the worker does not rest.
	hurried atomic.Int32
}

// readQueue is reads in their order. Keys are in one block, so that a read costs
// no allocation.
type readQueue struct {
	reads []readEvent
	keys  []byte
}

// readEvent is one read.
type readEvent struct {
	owner   *Owner
	op      memory.Op
	key     int // where its key ends in the block; it begins where the one before ends
	version uint64
	timeMs  int64
	actor   Actor
}

func (x *readAudit) open() {
	x.wake = make(chan struct{}, 1)
	x.stop = make(chan struct{})
}

// auditRead queues a read of what has been found to be audited.
func (tx *Tx) auditRead(owner *Owner, op memory.Op, key []byte, version uint64) {
	x := &tx.e.readAudit
	x.mu.Lock()
	q := &x.queue
	if len(q.reads) >= readsMax || len(q.keys)+len(key) > readBytesMax {
		x.mu.Unlock()
		tx.e.dropRead(owner)
		return
	}
	q.keys = append(q.keys, key...)
	q.reads = append(q.reads, readEvent{owner, op, len(q.keys), version, tx.now, tx.Actor})
	first := len(q.reads) == 1
	x.mu.Unlock()
	if first {
		select {
		case x.wake <- struct{}{}:
		default:
		}
	}
}

func (e *Engine) dropRead(owner *Owner) {
	e.stats.Records.Unaudited.Add(1)
	owner.uses.Unaudited.Add(1)
}

// ReadsWaiting is how many audited reads are no events yet.
func (e *Engine) ReadsWaiting() int {
	e.readAudit.mu.Lock()
	defer e.readAudit.mu.Unlock()
	return len(e.readAudit.queue.reads)
}

// RunReadAudit makes events of reads until StopReadAudit.
func (e *Engine) RunReadAudit() {
	x := &e.readAudit
	x.done.Go(func() {
		for {
			select {
			case <-x.stop:
				e.auditReads(nil)
				return
			case <-x.wake:
				e.auditReads(func(worked time.Duration) { x.rest(readRest * worked) })
			}
		}
	})
}

// rest pauses the worker, unless somebody waits for it.
func (x *readAudit) rest(pause time.Duration) {
	if x.hurried.Load() > 0 {
		return
	}
	timer := time.NewTimer(min(pause, readRestMax))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.stop:
	}
}

// StopReadAudit ends RunReadAudit once the reads so far are events.
func (e *Engine) StopReadAudit() {
	close(e.readAudit.stop)
	e.readAudit.done.Wait()
}

// AuditReads makes events of the reads that happened before, for whoever is about
// to read events. Inside EXEC, where everything is locked, it does nothing.
func (tx *Tx) AuditReads() {
	if !tx.HoldsAll() {
		tx.e.readAudit.hurried.Add(1)
		tx.e.auditReads(nil)
		tx.e.readAudit.hurried.Add(-1)
	}
}

// auditReads makes events of what is queued. No locks are held. rest is called
// between two slices, with how long the first took.
func (e *Engine) auditReads(rest func(worked time.Duration)) {
	x := &e.readAudit
	x.draining.Lock()
	defer x.draining.Unlock()
	x.mu.Lock()
	x.queue, x.spare = x.spare, x.queue
	x.mu.Unlock()
	q := &x.spare
	key := 0
	for left := q.reads; len(left) > 0; {
		n := min(readSlice, len(left))
		start := time.Now()
		e.auditSlice(left[:n], q.keys, key)
		key = left[n-1].key
		if left = left[n:]; rest != nil {
			rest(time.Since(start))
		}
	}
	clear(q.reads)
	q.reads, q.keys = q.reads[:0], q.keys[:0]
}

// auditSlice makes events of some reads in one transaction. The key of the first
// begins at from.
func (e *Engine) auditSlice(reads []readEvent, keys []byte, from int) {
	if e.journal.Ready() != nil {
		for i := range reads {
			e.dropRead(reads[i].owner)
		}
		return
	}
	tx := e.Begin()
	defer tx.Done()
	defer tx.Commit()
	// SWAPDB, FLUSHALL and erasure take all shards: none of them happens meanwhile.
	tx.lockMask(1)
	owners := make([]*Owner, 0, len(reads))
	for i := range reads {
		if !slices.Contains(owners, reads[i].owner) {
			owners = append(owners, reads[i].owner)
		}
	}
	tx.ownAll(owners)
	for i := range reads {
		r := &reads[i]
		key := keys[from:r.key]
		from = r.key
		if !tx.appendRead(r, key) {
			e.dropRead(r.owner)
		}
	}
}

// appendRead adds a read to its owner's chain, unless the owner is no more.
func (tx *Tx) appendRead(r *readEvent, key []byte) bool {
	db := tx.e.owners.database(r.owner.space)
	if db < 0 || tx.e.owners.find(r.owner.space, []byte(r.owner.name)) != r.owner {
		return false
	}
	event := memory.Event{Op: r.op, Key: key, Version: r.version, OldVersion: r.version, TimeMs: r.timeMs,
		User: []byte(r.actor.User), Operator: []byte(r.actor.User), Client: []byte(r.actor.Client)}
	if tx.DB = db; tx.audits(&event) {
		tx.AppendEvent([]byte(r.owner.name), &event)
	}
	return true
}

// auditsReads says whether reads of a key, an owner or a scope leave events.
func (tx *Tx) auditsReads(key []byte) bool { return tx.Policy(key).Audit() == memory.AuditAll }
