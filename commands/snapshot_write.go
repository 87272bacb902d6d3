package commands

import (
	"bytes"
	"strings"

	"reminis/engine"
	"reminis/engine/dump"
	"reminis/engine/effect"
)

// This file owns what a snapshot has: all plain keys and the libraries of functions.
// Memory records are in it only where SaveRecords says so: a file in Redis's format
// has everything in the clear, and stays where MEM.ERASE cannot reach it. To a Redis they
// are strings; the whole record is said beside each. It must not know files.
//
// With a store, a snapshot is of one moment, and nobody waits for it: its keys come
// from rows. A row is an effect; those of a collection are applied to a scratch
// engine, which makes the value of them that the key has. Without a store, BGSAVE
// takes each shard of each database at its own moment, so that nobody waits for
// more than one of them; SAVE takes all at one, and everybody waits, as in Redis.
// Each record is of a moment of its own, after that.

// dumpForm is how serialised strings are written.
func (k *Core) dumpForm() dump.Form { return dump.Form{Plain: k.Engine.Limits.Uncompressed.Load()} }

// writeSnapshot writes all that a snapshot has.
func (k *Core) writeSnapshot(x *saving, w SnapshotWriter) (err error) {
	out := &snapshotOutput{core: k, saving: x, out: w, db: -1, usage: k.usageWanted()}
	libraries := k.functionSet()
	for _, name := range libraries.names() {
		if err := w.Function([]byte(libraries.libraries[name].code)); err != nil {
			return err
		}
	}
	if k.Export == nil {
		err = k.writeMemory(out)
	} else {
		err = k.writeRows(out)
	}
	if err == nil && k.saves.withRecords.Load() {
		err = k.writeRecords(out)
	}
	if err == nil && k.unwanted(x) {
		err = errSaveAborted
	}
	return err
}

// writeRows writes the keys of the store.
func (k *Core) writeRows(out *snapshotOutput) (err error) {
	rows := &rowKeys{scratch: k.Engine.Scratch(), form: k.dumpForm(), out: out}
	defer rows.scratch.Discard()
	if out.saving.left, err = k.Export(rows); err != nil {
		return err
	}
	return rows.end()
}

// usageWanted says whether keys are written with how they are used: as in Redis,
// when that is what is evicted by.
func (k *Core) usageWanted() bool {
	policy := k.Config.Get("maxmemory-policy")
	return strings.HasSuffix(policy, "lru") || strings.HasSuffix(policy, "lfu")
}

// snapshotOutput writes keys, and counts and delays them.
type snapshotOutput struct {
	core   *Core
	saving *saving
	out    SnapshotWriter
	db     int
	usage  bool
}

// database begins a database.
func (o *snapshotOutput) database(db int) error {
	if o.core.unwanted(o.saving) {
		return errSaveAborted
	}
	if db == o.db {
		return nil
	}
	o.db = db
	return o.out.Database(db, o.saving.sizes[db][0], o.saving.sizes[db][1])
}

func (o *snapshotOutput) record(db int, key []byte, c carried) error {
	if err := o.database(db); err != nil {
		return err
	}
	if err := o.out.Note(c.note); err != nil {
		return err
	}
	o.saving.records++
	return o.key(db, key, c.value, c.deadlineMs)
}

func (o *snapshotOutput) key(db int, key, value []byte, deadlineMs int64) error {
	if err := o.database(db); err != nil {
		return err
	}
	idleSeconds, frequency := int64(-1), int64(-1)
	if o.usage {
		idleSeconds, frequency = o.core.usageOf(db, key)
	}
	if err := o.out.Key(key, value, deadlineMs, idleSeconds, frequency); err != nil {
		return err
	}
	o.saving.written.Add(1)
	o.core.delay(o.saving)
	return nil
}

// usageOf is how a key is used now, in the way that the policy counts.
func (k *Core) usageOf(db int, key []byte) (idleSeconds, frequency int64) {
	tx := k.Engine.Begin()
	defer tx.Done()
	tx.DB, tx.NoTouch = db, true
	tx.LockKeys([][]byte{key})
	defer tx.Commit()
	if tx.LFU() {
		if counter, ok := tx.Frequency(key); ok {
			return -1, counter
		}
		return -1, -1
	}
	if idle, ok := tx.IdleSeconds(key); ok {
		return idle, -1
	}
	return -1, -1
}

// rowKeys makes keys of rows.
type rowKeys struct {
	scratch *engine.Engine
	form    dump.Form
	out     *snapshotOutput

	// key is the collection whose rows come, if one does.
	open       bool
	db         uint32
	key        []byte
	deadlineMs int64
	value      []byte
}

// Row implements RowTarget.
func (r *rowKeys) Row(e *effect.Effect) error {
	switch e.Kind {
	case effect.DeadlineSet:
		if r.open && bytes.Equal(e.Key, r.key) { // else a collection without elements
			r.deadlineMs = e.DeadlineMs
		}
		return nil
	case effect.StringSet:
		if err := r.end(); err != nil {
			return err
		}
		r.value = r.form.AppendStringValue(r.value[:0], e.Value)
		return r.out.key(int(e.DB), e.Key, r.value, e.DeadlineMs)
	}
	if !r.open || e.DB != r.db || !bytes.Equal(e.Key, r.key) {
		if err := r.end(); err != nil {
			return err
		}
		r.open, r.db, r.key, r.deadlineMs = true, e.DB, append(r.key[:0], e.Key...), 0
	}
	x := *e
	x.DB = 0
	return r.scratch.Row(&x, 0, 0)
}

// end writes the collection whose rows have all come.
func (r *rowKeys) end() error {
	if !r.open {
		return nil
	}
	r.open = false
	tx := r.scratch.Begin()
	tx.NoTouch = true
	tx.LockAll()
	r.value = appendValue(r.value[:0], tx, r.key, r.form)
	tx.Delete(r.key)
	tx.Commit()
	tx.Done()
	if cap(r.value) > valueKeepBytes {
		defer func() { r.value = nil }()
	}
	return r.out.key(int(r.db), r.key, r.value, r.deadlineMs)
}

// valueKeepBytes is how large a buffer for values may stay.
const valueKeepBytes = 1 << 20

// writeMemory writes the keys that are only in memory.
func (k *Core) writeMemory(out *snapshotOutput) error {
	tx := k.Engine.Begin()
	defer tx.Done()
	tx.NoTouch = true
	if !out.saving.background {
		tx.LockAll()
		defer tx.Commit()
	}
	out.usage = out.usage && out.saving.background // who holds all locks cannot take one
	for db := range k.Engine.Databases() {
		for i := range engine.Shards {
			if err := k.writeShard(out, tx, db, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeRecords writes the memory records.
func (k *Core) writeRecords(out *snapshotOutput) error {
	tx := k.Engine.Begin()
	defer tx.Done()
	tx.NoTouch = true
	out.usage = false
	for tx.DB = range k.Engine.Databases() {
		for i := range engine.Shards {
			var keys [][]byte
			tx.LockShard(i)
			tx.ShardKeys(i, func(key []byte, t engine.Type) {
				if t == engine.TypeMemory {
					keys = append(keys, bytes.Clone(key))
				}
			})
			tx.Commit()
			for n := range keys {
				tx.LockKeys(keys[n : n+1])
				c, ok := carry(tx, keys[n])
				tx.Commit()
				if !ok {
					continue
				}
				if err := out.record(tx.DB, keys[n], c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// memoryKey is a key on its way into a snapshot.
type memoryKey struct {
	key, value []byte
	deadlineMs int64
}

// writeShard writes the keys of a shard, which is locked only while they are read.
func (k *Core) writeShard(out *snapshotOutput, tx *engine.Tx, db, i int) error {
	tx.DB = db
	if out.saving.background {
		tx.LockShard(i)
	}
	var keys []memoryKey
	tx.ShardKeys(i, func(key []byte, t engine.Type) {
		if t == engine.TypeMemory {
			out.saving.left++
		} else {
			keys = append(keys, memoryKey{key: bytes.Clone(key)})
		}
	})
	for n := range keys {
		x := &keys[n]
		tx.Next()
		x.value = appendValue(nil, tx, x.key, k.dumpForm())
		x.deadlineMs, _ = tx.DeadlineMs(x.key)
	}
	if out.saving.background {
		tx.Commit()
	}
	for n := range keys {
		x := &keys[n]
		if err := out.key(db, x.key, x.value, x.deadlineMs); err != nil {
			return err
		}
	}
	return nil
}
