package engine

import (
	"encoding/binary"

	"reminis/engine/effect"
	"reminis/engine/table"
)

// This file owns what all types share: kinds of entries, look-up, removal,
// deadlines, renaming. It must not know what a value's bytes mean.

// Type is the type of a key as TYPE names it.
type Type uint8

const (
	TypeNone Type = iota
	TypeString
	TypeHash
	TypeMemory
	TypeList
	TypeSet
	TypeSortedSet
	TypeStream
)

// String is the name that TYPE answers.
func (t Type) String() string {
	return [...]string{"none", "string", "hash", "memory", "list", "set", "zset", "stream"}[t]
}

// The kinds of table entries: a type and how its value is stored.
const (
	kindString   uint8 = 1 // Value is the string
	kindRaw      uint8 = 2 // the same, modified in place since it was set: never "int" or "embstr"
	kindHashPack uint8 = 3 // Value is a listpack of fields and values
	kindHash     uint8 = 4 // Value is the number of a *hash in the keyspace's objects
	kindText     uint8 = 6 // a string that is never "int", whatever it holds
	kindMemory   uint8 = 5 // Value is the number of the record's place in the keyspace's records
	kindHashWide uint8 = 7 // Value is a listpack as in kindHashPack; Redis would have a table

	kindSetInts       uint8 = 8  // Value is an intset
	kindSetPack       uint8 = 9  // Value is a listpack of members; Redis would have a table
	kindSet           uint8 = 10 // Value is an object's number, as in all that follow without a note
	kindSortedSetPack uint8 = 11 // Value is a listpack of members and scores
	kindSortedSetWide uint8 = 12 // the same; Redis would have a skip list
	kindSortedSet     uint8 = 13
	kindListPack      uint8 = 14 // Value is the list's only block
	kindList          uint8 = 15
	kindStream        uint8 = 16
)

func typeOf(kind uint8) Type {
	switch kind {
	case kindString, kindRaw, kindText:
		return TypeString
	case kindHashPack, kindHash, kindHashWide:
		return TypeHash
	case kindMemory:
		return TypeMemory
	case kindListPack, kindList:
		return TypeList
	case kindSetInts, kindSetPack, kindSet:
		return TypeSet
	case kindSortedSetPack, kindSortedSetWide, kindSortedSet:
		return TypeSortedSet
	case kindStream:
		return TypeStream
	}
	return TypeNone
}

// object is a value too large for a table entry: it lives on its own and the
// entry holds its number.
type object interface {
	// drop gives the object's memory back.
	drop()
	// clone is a copy that shares nothing with the object.
	clone(e *Engine) object
	// sizeBytes is about what the object takes in memory.
	sizeBytes() int64
	// check is the structure check of tests.
	check() error
}

// slots numbers things, for as long as they are there.
type slots[T any] struct {
	all  []T
	free []uint32
}

// objects numbers the objects of one keyspace.
type objects = slots[object]

const objectRefBytes = 4

func (o *slots[T]) add(x T) uint32 {
	if n := len(o.free); n > 0 {
		i := o.free[n-1]
		o.free = o.free[:n-1]
		o.all[i] = x
		return i
	}
	o.all = append(o.all, x)
	return uint32(len(o.all) - 1)
}

// take removes thing i and returns it.
func (o *slots[T]) take(i uint32) T {
	var none T
	x := o.all[i]
	o.all[i] = none
	o.free = append(o.free, i)
	return x
}

func objectRef(value []byte) uint32 { return binary.LittleEndian.Uint32(value) }

// holdsObject says whether the value of an entry of this kind is an object's
// number.
func holdsObject(kind uint8) bool {
	switch kind {
	case kindHash, kindSet, kindSortedSet, kindList, kindStream:
		return true
	}
	return false
}

// find is every read of a key: expired keys are removed and are not there.
func (tx *Tx) find(db int, key []byte) (*keyspace, Place, table.Entry, bool) {
	at := tx.at(db, key)
	if tx.hit.ks != nil && tx.hit.at == at {
		return tx.hit.ks, at, tx.hit.entry, true
	}
	s := &tx.e.shards[at.shard()]
	ks := s.space(db)
	if ks == nil {
		return nil, at, table.Entry{}, false
	}
	x, ok := ks.keys.Get(at.hash, key)
	if !ok {
		return ks, at, x, false
	}
	if x.DeadlineMs() != 0 && tx.expired(x) {
		if tx.e.journal.Ready() == nil && !tx.e.frozen.Load() {
			tx.remove(db, key, x, effect.Expired)
		}
		return ks, at, table.Entry{}, false
	}
	if !tx.replaying {
		tx.hit = found{ks, at, x}
	}
	return ks, at, x, true
}

// look is find for a command that reads or writes the value: it counts hits
// and misses and notes the access.
func (tx *Tx) look(db int, key []byte) (*keyspace, Place, table.Entry, bool) {
	ks, at, x, ok := tx.find(db, key)
	if !ok {
		return ks, at, x, false
	}
	if !tx.NoTouch {
		tx.touchAccess(x)
	}
	if holdsObject(x.Kind()) {
		ks.remember(at.hash, x)
	}
	return ks, at, x, true
}

// Type is the type of key, TypeNone when it does not exist.
func (tx *Tx) Type(key []byte) Type {
	_, _, x, ok := tx.find(tx.DB, key)
	if !ok {
		return TypeNone
	}
	return typeOf(x.Kind())
}

// Databases is the number of numbered databases.
func (tx *Tx) Databases() int { return tx.e.nDB }

// LFU says whether accesses are counted (Frequency) rather than timed
// (IdleSeconds).
func (tx *Tx) LFU() bool { return tx.e.Limits.LFU.Load() }

// Lookup says whether key exists and counts a hit or a miss, as Redis's read
// commands do.
func (tx *Tx) Lookup(key []byte) bool {
	_, _, _, ok := tx.look(tx.DB, key)
	tx.CountHit(key, ok)
	return ok
}

// Exists says whether key exists in the transaction's database.
func (tx *Tx) Exists(key []byte) bool { return tx.ExistsIn(tx.DB, key) }

// ExistsIn says whether key exists in db.
func (tx *Tx) ExistsIn(db int, key []byte) bool {
	_, _, _, ok := tx.find(db, key)
	return ok
}

// Touch notes an access of key and says whether it exists.
func (tx *Tx) Touch(key []byte) bool {
	_, _, _, ok := tx.look(tx.DB, key)
	return ok
}

// Delete removes key, whatever its type, and says whether it was there.
func (tx *Tx) Delete(key []byte) bool { return tx.DeleteIn(tx.DB, key) }

// DeleteIn is Delete in another database.
func (tx *Tx) DeleteIn(db int, key []byte) bool {
	_, _, x, ok := tx.find(db, key)
	if ok {
		tx.remove(db, key, x, effect.Deleted)
	}
	return ok
}

// remove emits the end of an entry.
func (tx *Tx) remove(db int, key []byte, x table.Entry, cause effect.Cause) {
	if cause == effect.Expired {
		tx.e.stats.Expired.Add(1)
		tx.NotifyIn(db, EventExpired, "expired", key)
	}
	if cause == effect.Evicted {
		tx.e.stats.Evicted.Add(1)
		tx.NotifyIn(db, EventEvicted, "evicted", key)
	}
	if x.Kind() == kindMemory {
		tx.forgetRecord(db, key, cause)
		return
	}
	tx.emit(&effect.Effect{Kind: effect.KeyDelete, DB: uint32(db), Key: key, Number: int64(cause)})
}

// DeadlineMs is the deadline of key in Unix milliseconds, 0 when it has none;
// ok says whether key exists.
func (tx *Tx) DeadlineMs(key []byte) (deadlineMs int64, ok bool) {
	_, _, x, ok := tx.find(tx.DB, key)
	if !ok {
		return 0, false
	}
	return x.DeadlineMs(), true
}

// SetDeadline gives the existing key a deadline, 0 for none. A deadline that
// has passed deletes the key. It says whether the key existed.
func (tx *Tx) SetDeadline(key []byte, deadlineMs int64) bool {
	if tx.draft != nil {
		return tx.setDraftDeadline(key, deadlineMs)
	}
	_, _, x, ok := tx.find(tx.DB, key)
	if !ok {
		return false
	}
	switch {
	case past(deadlineMs, tx.now) || deadlineMs != 0 && deadlineMs == tx.now:
		// Redis deletes at once what an EXPIRE leaves no time to live
		// (expire.c checkAlreadyExpired: `when <= now`).
		tx.remove(tx.DB, key, x, effect.Deleted)
	case x.Kind() == kindMemory:
		tx.deadlineRecord(tx.DB, key, deadlineMs)
	case x.DeadlineMs() != deadlineMs:
		tx.emit(&effect.Effect{Kind: effect.DeadlineSet, DB: uint32(tx.DB), Key: key, DeadlineMs: deadlineMs})
	}
	return true
}

// Rename moves source to target in database targetDB, replacing what is there,
// with its deadline. It says whether source existed.
func (tx *Tx) Rename(source, target []byte, targetDB int) (bool, error) {
	_, _, x, ok := tx.find(tx.DB, source)
	if !ok {
		return false, nil
	}
	if x.Kind() == kindMemory {
		return true, tx.renameRecord(source, target, targetDB, true)
	}
	if _, _, old, ok := tx.find(targetDB, target); ok {
		tx.remove(targetDB, target, old, effect.Overwritten)
	}
	tx.emit(&effect.Effect{Kind: effect.KeyRename, DB: uint32(tx.DB), Key: source, Field: target, Number: int64(targetDB)})
	return true, nil
}

// Copy copies source to target in database targetDB, replacing what is there,
// with its deadline. It says whether source existed.
func (tx *Tx) Copy(source, target []byte, targetDB int) (bool, error) {
	_, _, x, ok := tx.find(tx.DB, source)
	if !ok {
		return false, nil
	}
	if x.Kind() == kindMemory {
		return true, tx.renameRecord(source, target, targetDB, false)
	}
	if _, _, old, ok := tx.find(targetDB, target); ok {
		tx.remove(targetDB, target, old, effect.Overwritten)
	}
	tx.emit(&effect.Effect{Kind: effect.KeyCopy, DB: uint32(tx.DB), Key: source, Field: target, Number: int64(targetDB)})
	return true, nil
}

// Flush removes every key of db. All shards are locked.
func (tx *Tx) Flush(db int) {
	tx.endAll(db)
	tx.emit(&effect.Effect{Kind: effect.DBFlush, DB: uint32(db)})
}

// Swap exchanges two databases. All shards are locked.
func (tx *Tx) Swap(a, b int) {
	if a != b {
		tx.emit(&effect.Effect{Kind: effect.DBSwap, DB: uint32(a), Number: int64(b)})
	}
}

// Check is the structure check of tests: every table, deadline and object
// agrees with the others.
func (e *Engine) Check() error {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		for db := range s.spaces {
			if ks := s.space(db); ks != nil {
				if err := ks.check(i, db); err != nil {
					s.mu.Unlock()
					return err
				}
			}
		}
		s.mu.Unlock()
	}
	return e.checkRecords()
}
