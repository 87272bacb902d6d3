package engine

import (
	"fmt"
	"sync"

	"reminis/engine/effect"
)

// This file owns the way of stored state back into memory. It satisfies what
// the store asks of whoever recovers; it must not know files.

// Row takes one row of the store as an effect. It is safe for concurrent use
// with rows of other keys.
func (e *Engine) Row(x *effect.Effect, seq uint64, timeMs int64) error {
	tx := e.BeginAt(timeMs)
	defer tx.Done()
	defer tx.unlock()
	return tx.row(x, seq, timeMs)
}

func (tx *Tx) row(x *effect.Effect, seq uint64, timeMs int64) error {
	tx.replaying, tx.restoring = true, true
	if err := tx.checkDatabases(x); err != nil {
		return err
	}
	opened := *x // the caller goes on with its own
	x = &opened
	if ok, err := tx.open(x); !ok || err != nil {
		return err
	}
	switch x.Kind {
	case effect.FacetSet:
		tx.applyFacetSet(int(x.DB), x)
	case effect.EventAppend, effect.CommandDone:
		return tx.restoreOwner(x, seq, timeMs)
	default:
		tx.lockMask(1 << shardOf(x.Key))
		tx.seq = seq
		tx.apply(x)
		tx.record.clear()
	}
	return nil
}

// Batch takes one batch of the journal's tail; batches come in order, after all
// rows.
func (e *Engine) Batch(r *effect.Reader) error {
	tx := e.BeginAt(r.TimeMs)
	defer tx.Done()
	tx.LockAll()
	defer tx.unlock()
	return tx.replay(r)
}

func (tx *Tx) replay(r *effect.Reader) error {
	tx.replaying = true
	var x effect.Effect
	for {
		more, err := r.Next(&x)
		if err != nil || !more {
			tx.commitRecords(r.Seq, r.TimeMs)
			return err
		}
		if err := tx.checkDatabases(&x); err != nil {
			return fmt.Errorf("batch %d: %w", r.Seq, err)
		}
		if ok, err := tx.open(&x); err != nil {
			return fmt.Errorf("batch %d: %w", r.Seq, err)
		} else if ok {
			tx.apply(&x)
		}
	}
}

// checkDatabases refuses effects on databases that this server does not have.
func (tx *Tx) checkDatabases(x *effect.Effect) error {
	if int(x.DB) >= tx.e.nDB {
		return fmt.Errorf("the store has a database %d, this server has %d (directive databases)", x.DB, tx.e.nDB)
	}
	switch x.Kind {
	case effect.KeyRename, effect.KeyCopy, effect.DBSwap:
		if x.Number < 0 || x.Number >= int64(tx.e.nDB) {
			return fmt.Errorf("the store has a database %d, this server has %d (directive databases)", x.Number, tx.e.nDB)
		}
	}
	return nil
}

// Reload empties the memory and fills it again while nobody else can look:
// checkpoint makes the store complete, recover hands everything to the engine
// (DEBUG RELOAD). When recover fails the memory is incomplete, and the caller
// must stop the process.
func (e *Engine) Reload(checkpoint func() error, recover func(into *Reloader) error) error {
	tx := e.Begin()
	defer tx.Done()
	tx.LockAll()
	defer tx.unlock()
	if err := checkpoint(); err != nil {
		return err
	}
	tx.replaying = true
	for db := 0; db < e.nDB; db++ {
		tx.applyFlush(db)
	}
	// The owners that the flush locked are replaced; their locks go first.
	tx.unlockOwners()
	e.owners.clear()
	if err := recover(&Reloader{e: e}); err != nil {
		return err
	}
	e.placeVectors()
	return nil
}

// Reloader takes what the store hands over during Reload. The locks of all
// shards are Reload's, so rows come in one at a time.
type Reloader struct {
	e  *Engine
	mu sync.Mutex
}

// Spaces is Engine.Spaces.
func (r *Reloader) Spaces(spaceOf []uint32) { r.e.Spaces(spaceOf) }

// Row is Engine.Row.
func (r *Reloader) Row(x *effect.Effect, seq uint64, timeMs int64) error {
	return r.borrow(timeMs, func(tx *Tx) error { return tx.row(x, seq, timeMs) })
}

// Batch is Engine.Batch.
func (r *Reloader) Batch(b *effect.Reader) error {
	return r.borrow(b.TimeMs, func(tx *Tx) error { return tx.replay(b) })
}

// borrow runs f in a transaction that acts under Reload's locks.
func (r *Reloader) borrow(nowMs int64, f func(tx *Tx) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	tx := r.e.BeginAt(nowMs)
	tx.held = ^uint64(0)
	err := f(tx)
	tx.unlockOwners()
	tx.held = 0
	tx.Done()
	return err
}
