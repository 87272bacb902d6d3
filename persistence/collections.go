package persistence

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"sync"

	"reminis/engine/effect"
)

// This file owns what effects mean for the rows of collections: the head, and a
// row for each element. A block of a list or stream is an element too; that it is
// packed is not known here: it is bytes, of which an effect replaces some.

// collection is where the elements of a key lie.
type collection struct {
	keyspace uint32
	number   uint64
}

// elementOf is the kind of collection that an effect is about, and the part of it
// that its element is.
func elementOf(kind effect.Kind) (keyKind, byte) {
	switch kind {
	case effect.HashSet, effect.HashDelete:
		return keyHash, elementField
	case effect.SetAdd, effect.SetRemove:
		return keySet, elementMember
	case effect.ScoreSet, effect.ScoreRemove:
		return keySortedSet, elementScore
	case effect.ListSplice, effect.ListDrop:
		return keyList, elementBlock
	case effect.StreamSet, effect.StreamUnset:
		return keyStream, elementFacet
	case effect.StreamSplice, effect.StreamDrop:
		return keyStream, elementEntry
	}
	panic(fmt.Sprintf("persistence: effect of kind %d has no element", kind))
}

// elementEffect is the effect that makes an element, of a collection in db, from
// its row. It aliases name and value.
func elementEffect(part byte, db uint32, key, name, value []byte) (effect.Effect, error) {
	e := effect.Effect{DB: db, Key: key, Field: name, Value: value}
	switch part {
	case elementField:
		e.Kind = effect.HashSet
	case elementMember:
		e.Kind = effect.SetAdd
		if len(value) != 0 {
			return e, errRow
		}
	case elementScore:
		e.Kind = effect.ScoreSet
		if len(value) != scoreBytes {
			return e, errRow
		}
		e.Number, e.Value = int64(binary.LittleEndian.Uint64(value)), nil
	case elementBlock:
		e.Kind = effect.ListSplice
	case elementFacet:
		e.Kind = effect.StreamSet
	case elementEntry:
		e.Kind = effect.StreamSplice
	default:
		return e, errRow
	}
	return e, nil
}

const scoreBytes = 8

// elementValue is the value of an element's row after an effect that sets it
// whole.
func (f *follower) elementValue(e *effect.Effect) []byte {
	if e.Kind == effect.ScoreSet {
		f.value = binary.LittleEndian.AppendUint64(f.value[:0], uint64(e.Number))
		return f.value
	}
	return e.Value
}

// dropCollection forgets the elements of the collection whose key's row is n.
func (f *follower) dropCollection(c collection, n uint32) {
	for at := f.overlay.rows[n].first; at != 0; at = f.overlay.rows[at].next {
		f.overlay.rows[at].state = rowDropped
	}
	f.overlay.rows[n].first = 0
	if c.number < f.base.nextCollection {
		f.deadCollections = append(f.deadCollections, c)
	}
}

// putCollection writes the head of the collection whose key's row is n.
func (f *follower) putCollection(c collection, n uint32, v collectionValue) error {
	f.row = appendElementRow(f.row[:0], c.keyspace, c.number, elementHead)
	f.value = appendCollection(f.value[:0], &v)
	f.put(f.element(n), f.value)
	return nil
}

// element finds or makes the row f.row among the elements of the collection
// whose key's row is n.
func (f *follower) element(n uint32) uint32 {
	at := f.find(f.row)
	if at == 0 {
		at = f.insert(f.row, rowMissing)
		f.overlay.rows[at].next = f.overlay.rows[n].first
		f.overlay.rows[n].first = at
	}
	return at
}

// newCollection makes the K row n that of an empty collection.
func (f *follower) newCollection(keyspace uint32, n uint32, kind keyKind, key []byte, deadlineMs int64) (collection, error) {
	c := collection{keyspace, f.state.nextCollection}
	f.state.nextCollection++
	f.known.add(f.key(n))
	f.overlay.rows[n].first = 0
	f.value = appendCollectionKey(f.value[:0], kind, c.number)
	f.put(n, f.value)
	return c, f.putCollection(c, n, collectionValue{deadlineMs: deadlineMs, key: key})
}

// collectionOf finds the collection of kind that a key is and the row n of the
// key; ok is false when the key is none.
func (f *follower) collectionOf(keyspace uint32, kind keyKind, key []byte) (c collection, n uint32, ok bool, err error) {
	f.row = appendKeyRow(f.row[:0], keyspace, key)
	n = f.find(f.row)
	if n == 0 {
		if !f.known.maybe(f.row) {
			return collection{}, 0, false, nil
		}
		if n, err = f.keyOf(keyspace, key); err != nil {
			return collection{}, 0, false, err
		}
	}
	if !f.present(n) {
		return collection{}, 0, false, nil
	}
	v, err := f.decoded(n)
	return collection{keyspace, v.collection}, n, v.kind == kind, err
}

// elementRow finds or makes the row of the element that e is about, and with it
// the collection.
func (f *follower) elementRow(keyspace uint32, e *effect.Effect) (at uint32, c collection, err error) {
	kind, part := elementOf(e.Kind)
	c, n, ok, err := f.collectionOf(keyspace, kind, e.Key)
	if err == nil && !ok {
		if n, err = f.replace(keyspace, e.Key); err == nil {
			c, err = f.newCollection(keyspace, n, kind, e.Key, 0)
		}
	}
	if err != nil {
		return 0, c, err
	}
	f.row = append(appendElementRow(f.row[:0], c.keyspace, c.number, part), e.Field...)
	return f.element(n), c, nil
}

func (f *follower) setElement(keyspace uint32, e *effect.Effect) error {
	at, _, err := f.elementRow(keyspace, e)
	if err == nil {
		f.put(at, f.elementValue(e))
	}
	return err
}

// spliceElement replaces bytes of an element, which is read from below when the
// overlay does not have it.
func (f *follower) spliceElement(keyspace uint32, e *effect.Effect) error {
	at, c, err := f.elementRow(keyspace, e)
	if err != nil {
		return err
	}
	if f.overlay.rows[at].state == rowMissing && c.number < f.base.nextCollection {
		value, ok, err := f.rows.read(f.row)
		if err != nil {
			return err
		}
		if ok {
			f.put(at, value)
		}
	}
	size, from, to := int64(0), e.Number, e.Number+e.Count
	if f.present(at) {
		size = int64(len(f.overlay.value(at)))
	}
	if from < 0 || e.Count < 0 || to < from || to > size {
		return fmt.Errorf("it replaces %d bytes at %d of %d", e.Count, from, size)
	}
	if f.present(at) {
		f.overlay.splice(at, int(from), int(to), e.Value)
	} else {
		f.put(at, e.Value)
	}
	return nil
}

func (f *follower) deleteElement(keyspace uint32, e *effect.Effect) error {
	kind, part := elementOf(e.Kind)
	c, n, ok, err := f.collectionOf(keyspace, kind, e.Key)
	if err != nil || !ok {
		return err
	}
	f.row = append(appendElementRow(f.row[:0], c.keyspace, c.number, part), e.Field...)
	f.overlay.rows[f.element(n)].state = rowDeleted
	return nil
}

// headOf reads the head of the collection c.
func (f *follower) headOf(c collection) (collectionValue, error) {
	f.row = appendElementRow(f.row[:0], c.keyspace, c.number, elementHead)
	if at := f.find(f.row); at != 0 && f.present(at) {
		return decodeCollection(f.overlay.value(at))
	}
	row, ok, err := f.rows.read(f.row)
	if err != nil {
		return collectionValue{}, err
	}
	if !ok {
		return collectionValue{}, fmt.Errorf("collection %d has no head", c.number)
	}
	return decodeCollection(row)
}

// copyElements copies the elements of a collection whose key's row is n to a new
// one whose key's row is to.
func (f *follower) copyElements(from collection, n uint32, c collection, to uint32) error {
	write := func(part byte, name, value []byte) {
		f.row = append(appendElementRow(f.row[:0], c.keyspace, c.number, part), name...)
		f.put(f.element(to), value)
	}
	for at := f.overlay.rows[n].first; at != 0; at = f.overlay.rows[at].next {
		_, _, part, name, _ := cutElement(f.key(at))
		if part != elementHead && f.overlay.rows[at].state == rowSet {
			write(part, name, f.overlay.value(at))
		}
	}
	if from.number >= f.base.nextCollection {
		return nil
	}
	return f.rows.elements(from.keyspace, from.number, func(part byte, name, value []byte) error {
		f.row = append(appendElementRow(f.row[:0], from.keyspace, from.number, part), name...)
		if f.find(f.row) == 0 {
			write(part, name, value)
		}
		return nil
	})
}

// collectionSet remembers which keys may be collections, so that overwriting
// and deleting strings needs no reading. It may say maybe too often.
type collectionSet struct {
	mu     sync.Mutex
	seed   maphash.Seed
	hashes map[uint64]struct{} // without pointers: the collector skips it
	// complete says that every collection in the rows was added.
	complete bool
}

func newCollectionSet() *collectionSet {
	return &collectionSet{seed: maphash.MakeSeed(), hashes: map[uint64]struct{}{}}
}

func (s *collectionSet) hash(row []byte) uint64 { return maphash.Bytes(s.seed, row) }

func (s *collectionSet) maybe(row []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.complete {
		return true
	}
	_, ok := s.hashes[s.hash(row)]
	return ok
}

func (s *collectionSet) add(row []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hashes[s.hash(row)] = struct{}{}
}

// addAll adds what hash gave for every collection, after which the set knows
// them all.
func (s *collectionSet) addAll(hashes []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hashes {
		s.hashes[h] = struct{}{}
	}
	s.complete = true
}
