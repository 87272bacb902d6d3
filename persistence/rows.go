package persistence

import (
	"encoding/binary"
	"errors"
	"slices"

	"reminis/engine/effect"
)

// This file owns the values of rows. It must not know their keys or Pebble.

// errRow is returned for bytes that are not a row's value.
var errRow = errors.New("the row does not decode")

// keyKind says what a K row holds. The numbers are on disk.
type keyKind byte

const (
	keyString    keyKind = 1
	keyHash      keyKind = 2
	keyRecord    keyKind = 3
	keySet       keyKind = 4
	keySortedSet keyKind = 5
	keyList      keyKind = 6
	keyStream    keyKind = 7
)

// isCollection says whether a key of this kind has elements, rows of their own.
func (k keyKind) isCollection() bool {
	switch k {
	case keyHash, keySet, keySortedSet, keyList, keyStream:
		return true
	}
	return false
}

// keyValue is the value of a K row. The fields after kind depend on it.
type keyValue struct {
	kind       keyKind
	deadlineMs int64  // string, record
	collection uint64 // collection
	ownerLen   int    // record; and so on
	version    int64
	keep       int64  // versions of history kept
	keepMs     int64  // and for how long
	list       uint64 // record that is a list; 0: it is none
	first      uint64 // its first item
	seq        uint64
	timeMs     int64
	value      []byte // string, record
}

func appendStringHead(dst []byte, deadlineMs int64) []byte {
	return binary.AppendVarint(append(dst, byte(keyString)), deadlineMs)
}

func appendCollectionKey(dst []byte, kind keyKind, collection uint64) []byte {
	return binary.AppendUvarint(append(dst, byte(kind)), collection)
}

func appendRecordKey(dst []byte, v *keyValue) []byte {
	dst = binary.AppendVarint(append(dst, byte(keyRecord)), v.deadlineMs)
	dst = binary.AppendUvarint(dst, uint64(v.ownerLen))
	dst = binary.AppendVarint(dst, v.version)
	dst = binary.AppendVarint(dst, v.keep)
	dst = binary.AppendVarint(dst, v.keepMs)
	dst = binary.AppendUvarint(dst, v.list)
	dst = binary.AppendUvarint(dst, v.first)
	dst = binary.AppendUvarint(dst, v.seq)
	dst = binary.AppendVarint(dst, v.timeMs)
	return append(dst, v.value...)
}

// decodeKey reads the value of the K row of a key of keyLen bytes. The result
// aliases row.
func decodeKey(row []byte, keyLen int) (v keyValue, err error) {
	d := effect.Decoder{Rest: row}
	v.kind = keyKind(d.Byte())
	switch v.kind {
	case keyString:
		v.deadlineMs = d.Varint()
		v.value = d.Rest
	case keyHash, keySet, keySortedSet, keyList, keyStream:
		v.collection = d.Uvarint()
		d.End()
	case keyRecord:
		v.deadlineMs = d.Varint()
		ownerLen := d.Uvarint()
		v.version = d.Varint()
		v.keep, v.keepMs = d.Varint(), d.Varint()
		v.list, v.first = d.Uvarint(), d.Uvarint()
		v.seq = d.Uvarint()
		v.timeMs = d.Varint()
		v.value = d.Rest
		d.Bad = d.Bad || ownerLen > uint64(keyLen)
		v.ownerLen = int(ownerLen)
	default:
		d.Bad = true
	}
	if d.Bad {
		return keyValue{}, errRow
	}
	return v, nil
}

// collectionValue is the value of a collection's head.
type collectionValue struct {
	deadlineMs int64
	key        []byte
}

func appendCollection(dst []byte, v *collectionValue) []byte {
	return append(binary.AppendVarint(dst, v.deadlineMs), v.key...)
}

func decodeCollection(row []byte) (v collectionValue, err error) {
	d := effect.Decoder{Rest: row}
	v.deadlineMs = d.Varint()
	v.key = d.Rest
	if d.Bad {
		return collectionValue{}, errRow
	}
	return v, nil
}

// appendHistory encodes a change of a record: the effect without its event.
func appendHistory(dst []byte, timeMs int64, e *effect.Effect) []byte {
	dst = binary.AppendVarint(append(dst, byte(e.Kind)), timeMs)
	switch e.Kind {
	case effect.RecordPut, effect.RecordAppend:
		dst = binary.AppendUvarint(dst, uint64(e.OwnerLen))
		dst = binary.AppendVarint(dst, e.Number)
		dst = binary.AppendVarint(dst, e.DeadlineMs)
		dst = binary.AppendVarint(dst, e.Count)
		dst = binary.AppendVarint(dst, e.KeepMs)
		if e.Kind == effect.RecordAppend {
			dst = binary.AppendUvarint(dst, e.List)
			dst = binary.AppendUvarint(dst, e.First)
		}
		dst = append(dst, e.Value...)
	case effect.RecordForget:
		dst = binary.AppendUvarint(dst, uint64(e.OwnerLen))
		dst = binary.AppendVarint(dst, e.Number)
	case effect.RecordDeadline:
		dst = binary.AppendUvarint(dst, uint64(e.OwnerLen))
		dst = binary.AppendVarint(dst, e.DeadlineMs)
	}
	return dst
}

// decodeHistory reads an H row's value into e, whose Key it leaves alone but
// checks the owner's length against.
func decodeHistory(row []byte, e *effect.Effect) (timeMs int64, err error) {
	d := effect.Decoder{Rest: row}
	e.Kind = effect.Kind(d.Byte())
	timeMs = d.Varint()
	ownerLen := d.Uvarint()
	switch e.Kind {
	case effect.RecordPut, effect.RecordAppend:
		e.Number, e.DeadlineMs, e.Count, e.KeepMs = d.Varint(), d.Varint(), d.Varint(), d.Varint()
		if e.Kind == effect.RecordAppend {
			e.List, e.First = d.Uvarint(), d.Uvarint()
		}
		e.Value = d.Rest
	case effect.RecordForget:
		e.Number = d.Varint()
		d.End()
	case effect.RecordDeadline:
		e.DeadlineMs = d.Varint()
		d.End()
	default:
		d.Bad = true
	}
	if d.Bad || ownerLen > uint64(len(e.Key)) {
		return 0, errRow
	}
	e.OwnerLen = int(ownerLen)
	return timeMs, nil
}

// appendEvent encodes the value of an A row.
func appendEvent(dst []byte, timeMs int64, event []byte) []byte {
	return append(binary.AppendVarint(dst, timeMs), event...)
}

func decodeEvent(row []byte) (timeMs int64, event []byte, err error) {
	d := effect.Decoder{Rest: row}
	timeMs = d.Varint()
	if d.Bad {
		return 0, nil, errRow
	}
	return timeMs, d.Rest, nil
}

// headValue is the value of an O row.
type headValue struct {
	seq    uint64
	index  uint32
	timeMs int64
	event  []byte
}

func appendHead(dst []byte, v *headValue) []byte {
	dst = appendPlace(dst, v.seq, v.index)
	return appendEvent(dst, v.timeMs, v.event)
}

func decodeHead(row []byte) (v headValue, err error) {
	var ok bool
	if len(row) < placeBytes {
		return v, errRow
	}
	if v.seq, v.index, ok = cutPlace(row[:placeBytes]); !ok {
		return v, errRow
	}
	v.timeMs, v.event, err = decodeEvent(row[placeBytes:])
	return v, err
}

// commandValue is the value of a C row.
type commandValue struct {
	space   uint32
	timeMs  int64
	version int64
	owner   []byte
	id      []byte
	payload []byte
}

func appendCommand(dst []byte, v *commandValue) []byte {
	dst = binary.AppendVarint(dst, v.timeMs)
	dst = binary.AppendUvarint(dst, uint64(v.space))
	dst = binary.AppendVarint(dst, v.version)
	dst = binary.AppendUvarint(dst, uint64(len(v.owner)))
	dst = append(dst, v.owner...)
	dst = binary.AppendUvarint(dst, uint64(len(v.id)))
	dst = append(dst, v.id...)
	return append(dst, v.payload...)
}

func decodeCommand(row []byte) (v commandValue, err error) {
	d := effect.Decoder{Rest: row}
	v.timeMs = d.Varint()
	space := d.Uvarint()
	v.version = d.Varint()
	v.owner = d.Bytes()
	v.id = d.Bytes()
	v.payload = d.Rest
	if d.Bad || space > uint64(serverSpace) {
		return commandValue{}, errRow
	}
	v.space = uint32(space)
	return v, nil
}

// countValue is the value of an N row: what a record's history still has.
type countValue struct {
	versions uint64
	// prunedSeq is the last change that is no longer kept; 0: all are.
	prunedSeq uint64
}

func appendCount(dst []byte, v countValue) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, v.versions), v.prunedSeq)
}

func decodeCount(row []byte) (v countValue, err error) {
	d := effect.Decoder{Rest: row}
	v.versions, v.prunedSeq = d.Uvarint(), d.Uvarint()
	d.End()
	if d.Bad {
		return countValue{}, errRow
	}
	return v, nil
}

// databaseMax bounds the numbers of databases; keyspaces that a flush made are
// numbered from there on.
const databaseMax = 1 << 24

// database says which rows a database consists of.
type database struct {
	keyspace uint32 // of its keys and elements
	space    uint32 // of its owners
}

// stateValue is the one row that says what the others are the state of.
type stateValue struct {
	seq            uint64 // of the last batch that is in the rows
	timeMs         int64  // its time
	nextCollection uint64
	nextKeyspace   uint32
	// moved are the databases whose keyspace or space is not their own number.
	moved map[uint32]database
	// purging says that tables may still hold what was erased.
	purging bool
}

func firstState() stateValue {
	return stateValue{nextCollection: 1, nextKeyspace: databaseMax, moved: map[uint32]database{}}
}

// database says where a database is.
func (s *stateValue) database(db uint32) database {
	if d, ok := s.moved[db]; ok {
		return d
	}
	return database{keyspace: db, space: db}
}

func (s *stateValue) setDatabase(db uint32, d database) {
	if d.keyspace == db && d.space == db {
		delete(s.moved, db)
		return
	}
	s.moved[db] = d
}

func (s *stateValue) movedNumbers() []uint32 {
	numbers := make([]uint32, 0, len(s.moved))
	for db := range s.moved {
		numbers = append(numbers, db)
	}
	slices.Sort(numbers)
	return numbers
}

func (s *stateValue) clone() stateValue {
	next := *s
	next.moved = map[uint32]database{}
	for db, d := range s.moved {
		next.moved[db] = d
	}
	return next
}

func (s *stateValue) encode() []byte {
	buf := binary.AppendUvarint(nil, s.seq)
	buf = binary.AppendVarint(buf, s.timeMs)
	buf = binary.AppendUvarint(buf, s.nextCollection)
	buf = binary.AppendUvarint(buf, uint64(s.nextKeyspace))
	buf = binary.AppendUvarint(buf, uint64(len(s.moved)))
	for _, db := range s.movedNumbers() {
		d := s.moved[db]
		buf = binary.AppendUvarint(buf, uint64(db))
		buf = binary.AppendUvarint(buf, uint64(d.keyspace))
		buf = binary.AppendUvarint(buf, uint64(d.space))
	}
	if s.purging {
		return append(buf, 1)
	}
	return append(buf, 0)
}

func decodeState(row []byte) (stateValue, error) {
	d := effect.Decoder{Rest: row}
	s := firstState()
	s.seq = d.Uvarint()
	s.timeMs = d.Varint()
	s.nextCollection = d.Uvarint()
	s.nextKeyspace = uint32(d.Uvarint())
	for count := d.Uvarint(); count > 0 && !d.Bad; count-- {
		db := uint32(d.Uvarint())
		s.moved[db] = database{keyspace: uint32(d.Uvarint()), space: uint32(d.Uvarint())}
	}
	purging := d.Byte()
	s.purging = purging == 1
	d.End()
	if d.Bad || purging > 1 || s.nextKeyspace < databaseMax || s.nextCollection == 0 {
		return stateValue{}, errRow
	}
	return s, nil
}
