package engine

import (
	"fmt"

	"reminis/engine/effect"
)

// This file owns the way of stored state back into memory. It satisfies what
// the store asks of whoever recovers; it must not know files.

// Row takes one row of the store as an effect. It is safe for concurrent use
// with rows of other keys.
func (e *Engine) Row(x *effect.Effect, seq uint64, timeMs int64) error {
	tx := e.Begin()
	defer tx.Done()
	tx.replaying, tx.restoring = true, true
	if int(x.DB) >= e.nDB {
		return fmt.Errorf("database %d of %d", x.DB, e.nDB)
	}
	switch x.Kind {
	case effect.EventAppend, effect.CommandDone:
		tx.restoreOwner(x, seq, timeMs)
	default:
		tx.lockMask(1 << shardOf(x.Key))
		tx.now = timeMs
		tx.seq = seq
		tx.apply(x)
		tx.record.reset()
		tx.unlock()
	}
	return nil
}

// Batch takes one batch of the journal's tail; batches come in order, after all
// rows.
func (e *Engine) Batch(r *effect.Reader) error {
	tx := e.Begin()
	defer tx.Done()
	tx.replaying = true
	tx.now = r.TimeMs
	tx.LockAll()
	defer tx.unlock()
	var x effect.Effect
	for {
		more, err := r.Next(&x)
		if err != nil || !more {
			tx.commitRecords(r.Seq, r.TimeMs)
			return err
		}
		if int(x.DB) >= e.nDB || (x.Kind == effect.KeyRename || x.Kind == effect.KeyCopy || x.Kind == effect.DBSwap) && (x.Number < 0 || int(x.Number) >= e.nDB) {
			return fmt.Errorf("batch %d: database %d of %d", r.Seq, x.DB, e.nDB)
		}
		tx.apply(&x)
	}
}

// Reset empties the memory without a trace in the journal, before a recovery
// from the store (DEBUG RELOAD). during runs with every lock held, after the
// memory is empty.
func (e *Engine) Reset(before func() error) error {
	tx := e.Begin()
	defer tx.Done()
	tx.replaying = true
	tx.LockAll()
	defer tx.unlock()
	if err := before(); err != nil {
		return err
	}
	for db := 0; db < e.nDB; db++ {
		tx.applyFlush(db)
	}
	e.owners.clear()
	return nil
}
