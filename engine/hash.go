package engine

import (
	"math/rand/v2"

	"reminis/engine/effect"
	"reminis/engine/listpack"
	"reminis/engine/table"
)

// This file owns hashes: a packed block while small, a pointer-free table of
// fields when large. It must not know which command asks.
//
// Redis makes a hash a table as soon as it has one long value; OBJECT ENCODING
// shows it and its thresholds are settings. A table of its own costs two pages
// here, so a hash that passed the thresholds stays in a packed block, of another
// kind, while it is small in bytes and fields.

// Hash is a hash as a transaction reads it, valid until its next write to it.
// The zero Hash is empty: a key that does not exist.
type Hash struct {
	pack []byte
	big  *elementTable
	wide bool // packed, and beyond Redis's thresholds
}

// Hash reads the hash key: the empty Hash when key does not exist, ErrWrongType
// when it holds another type.
func (tx *Tx) Hash(key []byte) (Hash, error) {
	ks, _, x, ok := tx.look(tx.DB, key)
	if !ok {
		return Hash{}, nil
	}
	return hashOf(ks, x)
}

func hashOf(ks *keyspace, x table.Entry) (Hash, error) {
	switch x.Kind() {
	case kindHashPack, kindHashWide:
		return Hash{pack: x.Value(), wide: x.Kind() == kindHashWide}, nil
	case kindHash:
		return Hash{big: ks.objects.all[objectRef(x.Value())].(*elementTable)}, nil
	}
	return Hash{}, ErrWrongType
}

// Len is the number of fields.
func (h Hash) Len() int {
	if h.big != nil {
		return h.big.len()
	}
	if h.pack == nil {
		return 0
	}
	return listpack.Len(h.pack) / 2
}

// Get is the value of field. A packed integer is written into buf, any other
// value aliases the hash.
func (h Hash) Get(field, buf []byte) (value []byte, ok bool) {
	if h.big != nil {
		x, ok := h.big.get(field)
		if !ok {
			return nil, false
		}
		return x.Value(), true
	}
	pos := h.position(field)
	if pos == listpack.None {
		return nil, false
	}
	return textOf(listpack.Get(h.pack, listpack.Next(h.pack, pos)), buf), true
}

// position is where field stands in the packed form.
func (h Hash) position(field []byte) int {
	if h.pack == nil {
		return listpack.None
	}
	return listpack.Find(h.pack, listpack.First(h.pack), field, 1)
}

// textOf is an element as text: its own, or its integer written into buf.
func textOf(x listpack.Element, buf []byte) []byte {
	if x.Text != nil {
		return x.Text
	}
	return x.AppendTo(buf[:0])
}

// Each visits fields and values until visit returns false; both are valid
// during the call.
func (h Hash) Each(visit func(field, value []byte) bool) {
	if h.big != nil {
		h.big.table.Each(func(x table.Entry) bool { return visit(x.Key(), x.Value()) })
		return
	}
	if h.pack == nil {
		return
	}
	var fieldBuf, valueBuf [20]byte
	for pos := listpack.First(h.pack); pos != listpack.None; {
		valuePos := listpack.Next(h.pack, pos)
		if !visit(textOf(listpack.Get(h.pack, pos), fieldBuf[:]), textOf(listpack.Get(h.pack, valuePos), valueBuf[:])) {
			return
		}
		pos = listpack.Next(h.pack, valuePos)
	}
}

// Scan visits some fields from cursor on, at least count where there are so
// many, and returns the cursor to go on with, 0 at the end. A packed hash is
// visited whole at once, as in Redis.
func (h Hash) Scan(cursor uint64, count int, visit func(field, value []byte)) (next uint64) {
	if h.big == nil {
		h.Each(func(field, value []byte) bool {
			visit(field, value)
			return true
		})
		return 0
	}
	return h.big.scan(cursor, count, func(x table.Entry) { visit(x.Key(), x.Value()) })
}

// Random visits one field, each equally likely. The hash is not empty.
func (h Hash) Random(visit func(field, value []byte)) {
	if h.big != nil {
		x := h.big.random()
		visit(x.Key(), x.Value())
		return
	}
	h.visitAt(listpack.Index(h.pack, 2*rand.IntN(h.Len())), visit)
}

// Draw is Random count times, or until visit returns false. A packed hash is
// walked once for all.
func (h Hash) Draw(count int64, visit func(field, value []byte) bool) {
	var places []int32
	if h.pack != nil && count > 1 {
		places = make([]int32, 0, h.Len())
		for pos := listpack.First(h.pack); pos != listpack.None; {
			places = append(places, int32(pos))
			pos = listpack.Next(h.pack, listpack.Next(h.pack, pos))
		}
	}
	more := true
	once := func(field, value []byte) { more = visit(field, value) }
	for ; count > 0 && more; count-- {
		if places == nil {
			h.Random(once)
		} else {
			h.visitAt(int(places[rand.IntN(len(places))]), once)
		}
	}
}

// Choose visits count of the fields, every choice equally likely. The hash has so
// many.
func (h Hash) Choose(count int, visit func(field, value []byte)) {
	choose(h.Len(), count, h.big, h.Each, visit)
}

// visitAt visits the field at a position of the packed form.
func (h Hash) visitAt(pos int, visit func(field, value []byte)) {
	var fieldBuf, valueBuf [20]byte
	visit(textOf(listpack.Get(h.pack, pos), fieldBuf[:]), textOf(listpack.Get(h.pack, listpack.Next(h.pack, pos)), valueBuf[:]))
}

// Pack is the packed form while the hash is one by Redis's thresholds, else nil
// (DUMP).
func (h Hash) Pack() []byte {
	if h.wide {
		return nil
	}
	return h.pack
}

// HashSet sets field of the hash key to value and says whether the field is
// new. The caller has read the hash (type checked); field and value must not
// alias it.
func (tx *Tx) HashSet(key, field, value []byte) (added bool) {
	pair := [2][]byte{field, value}
	return tx.HashSetPairs(key, pair[:]) == 1
}

// HashSetPairs is HashSet for fields and values in turn; it counts the new
// fields. The effects are those of so many HashSets: the hash is only looked up
// and stored once for all.
func (tx *Tx) HashSetPairs(key []byte, pairs [][]byte) (added int) {
	ks, at, entry, ok := tx.look(tx.DB, key)
	edit := tx.editHash(ks, at, entry, ok)
	for i := 0; i+1 < len(pairs); i += 2 {
		if edit.set(tx, pairs[i], pairs[i+1]) {
			added++
		}
		if !tx.replaying {
			tx.batch.Add(&effect.Effect{Kind: effect.HashSet, DB: uint32(tx.DB), Key: key, Field: pairs[i], Value: pairs[i+1]})
		}
	}
	edit.store(tx, tx.DB, key)
	return added
}

// HashDelete removes field of the hash key and says whether it was there; the
// last field takes the key with it. The caller has checked the type.
func (tx *Tx) HashDelete(key, field []byte) bool {
	h, err := tx.Hash(key)
	if err != nil || !h.Has(field) {
		return false
	}
	tx.emit(&effect.Effect{Kind: effect.HashDelete, DB: uint32(tx.DB), Key: key, Field: field})
	if h, _ = tx.Hash(key); h.Len() == 0 {
		tx.emit(&effect.Effect{Kind: effect.KeyDelete, DB: uint32(tx.DB), Key: key, Number: int64(effect.Deleted)})
	}
	return true
}

// Has says whether the hash has field.
func (h Hash) Has(field []byte) bool {
	if h.big != nil {
		_, ok := h.big.get(field)
		return ok
	}
	return h.position(field) != listpack.None
}

func (tx *Tx) applyHashSet(db int, x *effect.Effect) {
	edit := tx.editHash(tx.entry(db, x.Key))
	edit.set(tx, x.Field, x.Value)
	edit.store(tx, db, x.Key)
}

// hashEdit is a hash that is being changed: its packed form in the transaction's
// buffer, or its table, which is changed in place.
type hashEdit struct {
	holder
	kind uint8
	pack []byte
	big  *elementTable
}

func (tx *Tx) editHash(ks *keyspace, at Place, entry table.Entry, ok bool) hashEdit {
	edit := hashEdit{holder: holderOf(TypeHash, ks, at, entry, ok), kind: kindHashPack}
	switch x := edit.object(); {
	case x != nil:
		edit.kind, edit.big = edit.stored, x.(*elementTable)
	case edit.there:
		edit.kind, edit.pack = edit.stored, append(tx.buf[:0], entry.Value()...)
	default:
		edit.pack = append(tx.buf[:0], listpack.New(0)...)
	}
	return edit
}

// set keeps a hash packed while it is within the limits, and makes it a table
// when it grows beyond; it never goes back, as in Redis.
func (e *hashEdit) set(tx *Tx, field, value []byte) (added bool) {
	if e.big != nil {
		return e.big.set(field, value)
	}
	pos := Hash{pack: e.pack}.position(field)
	added = pos == listpack.None
	entries := listpack.Len(e.pack) / 2
	if added {
		entries++
	}
	fits := false
	if e.kind, fits = tx.hashKind(e.kind, e.pack, entries, field, value); !fits {
		e.big = newElementTable(tx.e)
		Hash{pack: e.pack}.Each(func(field, value []byte) bool {
			e.big.set(field, value)
			return true
		})
		e.big.set(field, value)
		return added
	}
	if added {
		e.pack = listpack.Append(listpack.Append(e.pack, field), value)
	} else {
		e.pack = listpack.Replace(e.pack, listpack.Next(e.pack, pos), value)
	}
	return added
}

// store makes the key what was made of the hash.
func (e *hashEdit) store(tx *Tx, db int, key []byte) {
	if e.pack != nil {
		tx.buf = e.pack
	}
	if e.big == nil {
		e.storePack(tx, db, key, e.kind, e.pack)
	} else {
		e.storeObject(tx, db, key, kindHash, e.big)
	}
	tx.hit = found{}
}

// hashKind is the kind of a packed hash of this kind after a field and value
// leave it with so many entries; it does not fit when it has to become a table.
func (tx *Tx) hashKind(kind uint8, pack []byte, entries int, field, value []byte) (next uint8, fits bool) {
	limits := &tx.e.Limits
	valueMax := int(limits.HashListpackValue.Load())
	// What an element takes beside its text.
	const headsBytes = 2 * 10
	addedBytes := len(field) + len(value) + headsBytes
	if kind == kindHashPack && len(field) <= valueMax && len(value) <= valueMax &&
		entries <= int(limits.HashListpackEntries.Load()) && listpack.Fits(pack, addedBytes) {
		return kindHashPack, true
	}
	return kindHashWide, entries <= wideMaxElements && len(pack)+addedBytes <= wideMaxBytes
}

func (tx *Tx) applyHashDelete(db int, x *effect.Effect) {
	edit := tx.editHash(tx.entry(db, x.Key))
	if !edit.there {
		return
	}
	if edit.big != nil {
		edit.big.remove(x.Field)
	} else if pos := (Hash{pack: edit.pack}).position(x.Field); pos != listpack.None {
		edit.pack = listpack.DeleteRange(edit.pack, pos, 2)
	}
	edit.store(tx, db, x.Key)
}
