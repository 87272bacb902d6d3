package engine

import (
	"encoding/binary"

	"reminis/engine/effect"
	"reminis/engine/table"
)

// This file owns the entries of records in their shards: how a key leads to its
// record without a look into its owner's trees. It must not know what a record says.

// recordPlace is where an entry leads to: a record's item, as its owner's trees have
// it, and the owner.
type recordPlace struct {
	item  item
	owner *Owner
}

// recordPlaceBytes is what a place takes.
const recordPlaceBytes = 32

// recordPlaces are the records of one keyspace. The value of a record's entry is the
// number of its place.
type recordPlaces struct{ slots[recordPlace] }

const placeBytes = 4

func (r *recordPlaces) of(x table.Entry) *recordPlace {
	return &r.all[binary.LittleEndian.Uint32(x.Value())]
}

func (r *recordPlaces) drop(x table.Entry) { r.take(binary.LittleEndian.Uint32(x.Value())) }

// putEntry makes the entry of a record's item, or gives it another.
func (tx *Tx) putEntry(db int, x *effect.Effect, owner *Owner, it item) {
	number, stands := uint32(0), tx.replaceEntry(db, x.Key, it)
	if stands {
		number = binary.LittleEndian.Uint32(tx.hit.entry.Value())
	}
	ks, entry := tx.put(db, x.Key, kindMemory, x.DeadlineMs, placeBytes)
	if !stands {
		number = ks.records.add(recordPlace{it, owner})
	}
	binary.LittleEndian.PutUint32(entry.Value(), number)
}

// replaceEntry gives the entry of a record another item, if there is one. Whoever
// changes the entry next finds it at once.
func (tx *Tx) replaceEntry(db int, key []byte, it item) bool {
	ks, at, x, ok := tx.entry(db, key)
	if !ok {
		return false
	}
	tx.hit = found{ks, at, x}
	if x.Kind() != kindMemory {
		return false
	}
	ks.records.of(x).item = it
	return true
}

// release gives back what an entry has outside of its table.
func (tx *Tx) release(ks *keyspace, x table.Entry) {
	switch {
	case holdsObject(x.Kind()):
		tx.dropObject(ks, x)
	case x.Kind() == kindMemory:
		ks.records.drop(x)
	}
}

// PrefetchRecord is Prefetch for a command on a record, after both phases: it asks
// for the record and its owner. It takes the shard's lock if that is free.
func (e *Engine) PrefetchRecord(at Place, key []byte) {
	s := &e.shards[at.shard()]
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	ks := s.space(at.db())
	if ks == nil {
		return
	}
	if x, ok := ks.keys.Get(at.hash, key); ok && x.Kind() == kindMemory {
		place := ks.records.of(x)
		table.PrefetchBytes(place.item, itemAheadBytes)
		table.PrefetchLine(place.owner)
	}
}

// itemAheadBytes is how much of a record is asked for ahead: head, key and what is
// before the value, and a short value.
const itemAheadBytes = 192
