package persistence

import (
	"encoding/binary"
)

// This file owns the keys of rows: it is the only one with their prefixes. It
// must not know what the values are.
//
// A key that may hold any byte stands last, so that rows sort by it, or behind
// its length. Numbers are big-endian, so that they sort.
//
//	A space len owner seq index   an event of an owner
//	C seq index                   a command id that was done
//	E keyspace collection 0       the key and deadline of a collection
//	E keyspace collection 1 field a field of a hash; 2 to 6: elements of other types
//	F space len owner name        a facet of an owner
//	H space len key seq index     a change of a record
//	K keyspace key                what a key is: string, collection or record
//	L space len key list n        an item of a list that a record is or was
//	M                             the state: which batch the rows stand at
//	N space len key               how many versions a record's history has
//	O space owner                 the last event of an owner

const (
	prefixEvent   = 'A'
	prefixCommand = 'C'
	prefixElement = 'E'
	prefixFacet   = 'F'
	prefixHistory = 'H'
	prefixKey     = 'K'
	prefixItem    = 'L'
	prefixState   = 'M'
	prefixCount   = 'N'
	prefixHead    = 'O'
)

// The parts of a collection. What is an element of which type is told by its
// part, so a row says what it is without the one of its key.
const (
	elementHead   = 0 // it sorts before the elements
	elementField  = 1 // of a hash: its value
	elementMember = 2 // of a set: empty
	elementScore  = 3 // of a sorted set, by member: the score
	elementBlock  = 4 // of a list, by its place in the order: packed elements
	elementFacet  = 5 // of a stream, by name: what it has beside entries
	elementEntry  = 6 // of a stream, by its place in the order: packed entries
	elementLast   = elementEntry
)

// serverSpace holds the server's own chain of events; its owner is empty.
const serverSpace = ^uint32(0)

func stateRow() []byte { return []byte{prefixState} }

func appendKeyRow(dst []byte, keyspace uint32, key []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, prefixKey), keyspace)
	return append(dst, key...)
}

func appendElementRow(dst []byte, keyspace uint32, collection uint64, part byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, prefixElement), keyspace)
	dst = binary.BigEndian.AppendUint64(dst, collection)
	return append(dst, part)
}

// appendNamedRow is the part that A, F, H, L and N rows have in common.
func appendNamedRow(dst []byte, prefix byte, space uint32, name []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, prefix), space)
	dst = binary.AppendUvarint(dst, uint64(len(name)))
	return append(dst, name...)
}

// appendPlace adds the place of an effect: its batch and its number in it.
func appendPlace(dst []byte, seq uint64, index uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, seq), index)
}

const placeBytes = 12

func appendHeadRow(dst []byte, space uint32, owner []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, prefixHead), space)
	return append(dst, owner...)
}

func appendCommandRow(dst []byte, seq uint64, index uint32) []byte {
	return appendPlace(append(dst, prefixCommand), seq, index)
}

// cutSpace splits a row's key into the keyspace or space after its prefix and
// the rest.
func cutSpace(row []byte) (space uint32, rest []byte, ok bool) {
	if len(row) < 5 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint32(row[1:]), row[5:], true
}

// cutElement splits an E row's key.
func cutElement(row []byte) (keyspace uint32, collection uint64, part byte, field []byte, ok bool) {
	keyspace, rest, ok := cutSpace(row)
	if !ok || len(rest) < 9 || rest[8] > elementLast || rest[8] == elementHead && len(rest) > 9 {
		return 0, 0, 0, nil, false
	}
	return keyspace, binary.BigEndian.Uint64(rest), rest[8], rest[9:], true
}

// appendItemPlace adds the place of an item: its list and its number in it.
func appendItemPlace(dst []byte, list, number uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, list), number)
}

const itemPlaceBytes = 16

// cutItemPlace reads the place of an item.
func cutItemPlace(place []byte) (list, number uint64, ok bool) {
	if len(place) != itemPlaceBytes {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(place), binary.BigEndian.Uint64(place[8:]), true
}

// cutNamed splits the key of an A, F, H, L or N row; rest is the place, the name
// of the facet, or nothing.
func cutNamed(row []byte) (space uint32, name, rest []byte, ok bool) {
	space, rest, ok = cutSpace(row)
	if !ok {
		return 0, nil, nil, false
	}
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) {
		return 0, nil, nil, false
	}
	rest = rest[n:]
	return space, rest[:size], rest[size:], true
}

// cutPlace reads a place.
func cutPlace(place []byte) (seq uint64, index uint32, ok bool) {
	if len(place) != placeBytes {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(place), binary.BigEndian.Uint32(place[8:]), true
}

// A span is a range of rows, from included, to excluded.
type span struct {
	from, to []byte
}

// keyspaceSpans are all rows of a keyspace, in order.
func keyspaceSpans(keyspace uint32) [2]span {
	bounds := func(prefix byte) span {
		from := binary.BigEndian.AppendUint32([]byte{prefix}, keyspace)
		return span{from, successor(from)}
	}
	return [2]span{bounds(prefixElement), bounds(prefixKey)}
}

// collectionSpan is all rows of the collections first ≤ number ≤ last.
func collectionSpan(keyspace uint32, first, last uint64) span {
	from := appendElementRow(nil, keyspace, first, elementHead)
	to := appendElementRow(nil, keyspace, last, elementHead)
	return span{from[:len(from)-1], successor(to[:len(to)-1])}
}

// elementSpan is the elements of a collection, without its head.
func elementSpan(keyspace uint32, collection uint64) span {
	from := appendElementRow(nil, keyspace, collection, elementHead+1)
	to := appendElementRow(nil, keyspace, collection, elementLast)
	return span{from, successor(to)}
}

// prefixSpan is all rows with a prefix.
func prefixSpan(prefix byte) span { return span{[]byte{prefix}, []byte{prefix + 1}} }

// namedSpan is the places fromSeq ≤ seq ≤ toSeq of an A or H row.
func namedSpan(prefix byte, space uint32, name []byte, fromSeq, toSeq uint64) span {
	base := appendNamedRow(nil, prefix, space, name)
	from := appendPlace(base[:len(base):len(base)], fromSeq, 0)
	to := appendPlace(base[:len(base):len(base)], toSeq, ^uint32(0))
	return span{from, append(to, 0)}
}

// An itemPlace is where an item of some list of a record lies.
type itemPlace struct{ list, number uint64 }

func (p itemPlace) before(o itemPlace) bool {
	return p.list < o.list || p.list == o.list && p.number < o.number
}

// itemSpan is the items of a record's lists from one place to before another.
func itemSpan(space uint32, key []byte, from, to itemPlace) span {
	base := appendNamedRow(nil, prefixItem, space, key)
	base = base[:len(base):len(base)]
	return span{appendItemPlace(base, from.list, from.number), appendItemPlace(base, to.list, to.number)}
}

// successor is the first key that does not begin with prefix. The prefix is
// not all 0xff: it begins with a letter.
func successor(prefix []byte) []byte {
	next := append([]byte(nil), prefix...)
	for i := len(next) - 1; ; i-- {
		next[i]++
		if next[i] != 0 {
			return next[:i+1]
		}
	}
}
