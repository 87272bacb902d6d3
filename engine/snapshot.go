package engine

import "reminis/engine/table"

// This file owns what a copy of all keys in another form is made with: keys shard by
// shard, and a scratch engine that makes values of rows. It must not know the form.

// Shards is how many parts the keys of a database are in.
const Shards = shardCount

// LockShard locks one part of the keys.
func (tx *Tx) LockShard(i int) { tx.lockMask(1 << i) }

// ShardKeys visits the keys of the transaction's database in a shard, which is
// locked.
func (tx *Tx) ShardKeys(i int, visit func(key []byte, t Type)) {
	ks := tx.e.shards[i].space(tx.DB)
	if ks == nil {
		return
	}
	ks.keys.Each(func(x table.Entry) bool {
		if !tx.expired(x) {
			visit(x.Key(), typeOf(x.Kind()))
		}
		return true
	})
}

// Uncompressed says whether serialised strings are left as they are.
func (tx *Tx) Uncompressed() bool { return tx.e.Limits.Uncompressed.Load() }

// TrustDumps has serialised values taken whatever their checksums are (DEBUG
// SET-SKIP-CHECKSUM-VALIDATION).
func (e *Engine) TrustDumps(on bool) { e.trusting.Store(on) }

// TrustsDumps says whether checksums of serialised values are passed over.
func (tx *Tx) TrustsDumps() bool { return tx.e.trusting.Load() }

// Scratch is an empty engine with one database that makes of rows (Row) the values
// that this one would: it has the same thresholds, and the same memory, which
// Discard gives back.
func (e *Engine) Scratch() *Engine {
	scratch := Open(Options{Databases: 1, Clock: e.clock, Pool: e.pool})
	scratch.Limits.shape(&e.Limits)
	return scratch
}

// Discard empties a scratch engine.
func (e *Engine) Discard() {
	for i := range e.shards {
		for db := range e.shards[i].spaces {
			if ks := e.shards[i].spaces[db].Swap(nil); ks != nil {
				ks.drop()
			}
		}
	}
}

// NoteEmptied counts that all databases were flushed together.
func (tx *Tx) NoteEmptied() { tx.e.stats.Emptied.Add(1) }
