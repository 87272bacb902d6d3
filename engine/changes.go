package engine

import (
	"math/bits"
	"slices"
	"sync/atomic"
)

// This file owns what is told of changed keys to who keeps copies of them (client
// side caching). It must not know who that is.

// Changes are the keys that one transaction has changed, in any database, in the
// order of the changes.
type Changes struct {
	Keys []string
	// Turns are when the keys changed, as Turn counts.
	Turns []uint64
	// Flushed says that a whole database was emptied; Keys are then not complete.
	Flushed bool
	// By is the client that made them, 0 for none.
	By int64
	// Seq must be durable before anybody hears of them.
	Seq uint64
}

// changes is who is told, and whether anybody wants to be.
type changes struct {
	wanted atomic.Bool
	hear   func(x *Changes)
	turn   atomic.Uint64 // orders changes of different shards
}

// OnChanges has hear called for each transaction that changes keys, after its locks
// are released, once WatchChanges was called. It is set before the first
// transaction.
func (e *Engine) OnChanges(hear func(x *Changes)) { e.changes.hear = hear }

// WatchChanges begins to tell of changes. It does not end: that would need all
// shards, and collecting costs little where nobody listens.
func (e *Engine) WatchChanges() { e.changes.wanted.Store(true) }

// Turn counts the changes so far. Of a key whose shard is locked, it tells those
// before from those to come, also within one transaction.
func (e *Engine) Turn() uint64 { return e.changes.turn.Load() }

// noteChange collects a changed key of a keyspace. Its shard is locked.
func (ks *keyspace) noteChange(key []byte) {
	if ks.changes != nil && ks.changes.wanted.Load() {
		ks.touched = append(ks.touched, changedKey{key: string(key), turn: ks.changes.turn.Add(1)})
	}
}

// takeChanges are the changes of the transaction, nil where there are none. Its
// locks are held.
func (tx *Tx) takeChanges() *Changes {
	if !tx.e.changes.wanted.Load() {
		return nil
	}
	x := &Changes{By: tx.Actor.ID, Flushed: tx.flushed}
	var touched []changedKey
	for m := tx.held; m != 0; m &= m - 1 {
		s := &tx.e.shards[bits.TrailingZeros64(m)]
		x.Seq = max(x.Seq, s.gateSeq)
		for db := range s.spaces {
			if ks := s.space(db); ks != nil && len(ks.touched) > 0 {
				touched = append(touched, ks.touched...)
				clear(ks.touched)
				ks.touched = ks.touched[:0]
			}
		}
	}
	if len(touched) == 0 && !x.Flushed {
		return nil
	}
	slices.SortFunc(touched, byTurn)
	for i := range touched {
		x.Keys, x.Turns = append(x.Keys, touched[i].key), append(x.Turns, touched[i].turn)
	}
	return x
}
