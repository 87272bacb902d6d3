package engine

import (
	"encoding/binary"

	"reminis/engine/effect"
	"reminis/engine/table"
)

// This file owns how the entry of a collection is changed, whatever its type: a
// packed block in the entry is copied, edited and stored again; an object is
// edited in place. It must not know what is in either.

const (
	// wideMaxBytes bounds a packed block beyond Redis's thresholds: half of what
	// a table takes at least.
	wideMaxBytes = 4096
	// wideMaxElements bounds its fields or members, which are found by walking.
	wideMaxElements = 64
)

// holder is the entry of a collection that is being changed.
type holder struct {
	ks         *keyspace
	at         Place
	entry      table.Entry
	there      bool  // the entry is a collection of the type
	stored     uint8 // its kind
	deadlineMs int64
}

// holderOf is the holder of an entry that look or entry has found, or not: what
// is of another type is as good as nothing, since it is about to be replaced.
func holderOf(t Type, ks *keyspace, at Place, entry table.Entry, ok bool) holder {
	h := holder{ks: ks, at: at, entry: entry}
	if ok && typeOf(entry.Kind()) == t {
		h.there, h.stored, h.deadlineMs = true, entry.Kind(), entry.DeadlineMs()
	}
	return h
}

// replace begins a collection in the place of whatever key holds: the batch ends
// that, and the caller stores at least one element. The collection takes the entry
// over, so that nobody is told of a new key (db.c setKey).
func (tx *Tx) replace(key []byte) holder {
	ks, at, x, ok := tx.find(tx.DB, key)
	if ok && x.Kind() == kindMemory {
		tx.remove(tx.DB, key, x, effect.Overwritten)
	} else if ok {
		tx.batch.Add(&effect.Effect{Kind: effect.KeyDelete, DB: uint32(tx.DB), Key: key, Number: int64(effect.Overwritten)})
	}
	return holder{ks: ks, at: at}
}

// Vacate is replace for a value that the caller makes effect by effect, at once.
func (tx *Tx) Vacate(key []byte) {
	if _, _, x, ok := tx.find(tx.DB, key); ok {
		tx.remove(tx.DB, key, x, effect.Overwritten)
		tx.vacant = true
	}
}

// object is the collection when it is an object, else nil.
func (h *holder) object() object {
	if !h.there || !holdsObject(h.stored) {
		return nil
	}
	return h.ks.objects.all[objectRef(h.entry.Value())]
}

// storePack makes the key a packed collection of this kind.
func (h *holder) storePack(tx *Tx, db int, key []byte, kind uint8, pack []byte) {
	if !h.there {
		_, entry := tx.put(db, key, kind, h.deadlineMs, len(pack))
		copy(entry.Value(), pack)
		return
	}
	entry := h.entry
	if len(entry.Value()) != len(pack) || h.stored != kind {
		entry, _ = h.ks.keys.Put(h.at.hash, key, kind, h.deadlineMs, len(pack))
	}
	copy(entry.Value(), pack)
	h.ks.changed(key)
}

// storeObject makes the key the object, of this kind.
func (h *holder) storeObject(tx *Tx, db int, key []byte, kind uint8, x object) {
	if h.there && holdsObject(h.stored) {
		h.ks.changed(key)
		return
	}
	ks, entry := tx.put(db, key, kind, h.deadlineMs, objectRefBytes)
	binary.LittleEndian.PutUint32(entry.Value(), ks.objects.add(x))
}

// addElement puts an effect on one element into the batch whose change was made
// together with others of its key.
func (tx *Tx) addElement(kind effect.Kind, key, element []byte) {
	if !tx.replaying {
		tx.batch.Add(&effect.Effect{Kind: kind, DB: uint32(tx.DB), Key: key, Field: element})
	}
}
