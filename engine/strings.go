package engine

import (
	"strconv"

	"reminis/engine/effect"
)

// This file owns strings: reading and writing them inside a transaction. It
// must not know which command asks.

// String is the value of the string key, aliasing the table: valid until the
// transaction's next write, and not to be changed. It is nil when key does not
// exist and ErrWrongType when it holds another type.
func (tx *Tx) String(key []byte) ([]byte, error) {
	_, _, x, ok := tx.look(tx.DB, key)
	if !ok {
		tx.CountHit(key, false)
		return nil, nil
	}
	if typeOf(x.Kind()) != TypeString {
		return nil, ErrWrongType
	}
	tx.e.stats.Hits.Add(1)
	return x.Value(), nil
}

// StringForWrite is String without counting a hit or a miss, for commands that
// read in order to write.
func (tx *Tx) StringForWrite(key []byte) ([]byte, error) {
	_, _, x, ok := tx.look(tx.DB, key)
	if !ok {
		return nil, nil
	}
	if typeOf(x.Kind()) != TypeString {
		return nil, ErrWrongType
	}
	return x.Value(), nil
}

// SetString makes key the string value, replacing any type, with a deadline or
// none (0). A deadline that has passed leaves no key, as in Redis, where the
// key is set and found expired.
func (tx *Tx) SetString(key, value []byte, deadlineMs int64) {
	if _, _, x, ok := tx.find(tx.DB, key); ok && x.Kind() == kindMemory {
		tx.remove(tx.DB, key, x, effect.Overwritten)
	}
	tx.emit(&effect.Effect{Kind: effect.StringSet, DB: uint32(tx.DB), Key: key, Value: value, DeadlineMs: deadlineMs})
}

// SpliceString writes value at byte offset of the string key, which it creates
// or extends with zero bytes; the deadline stays. The caller has checked the
// type and that the result is at most Limits.StringMax bytes.
func (tx *Tx) SpliceString(key []byte, offset int, value []byte) {
	tx.find(tx.DB, key) // an expired string is not extended
	tx.emit(&effect.Effect{Kind: effect.StringSplice, DB: uint32(tx.DB), Key: key, Value: value, Number: int64(offset)})
}

// embstrMax is the longest string that Redis embeds in its object
// (object.c OBJ_ENCODING_EMBSTR_SIZE_LIMIT).
const embstrMax = 44

// Encoding is what OBJECT ENCODING answers; "" when key does not exist.
func (tx *Tx) Encoding(key []byte) string {
	_, _, x, ok := tx.find(tx.DB, key)
	if !ok {
		return ""
	}
	switch x.Kind() {
	case kindString:
		v := x.Value()
		switch {
		case isInteger(v):
			return "int"
		case len(v) <= embstrMax:
			return "embstr"
		}
		return "raw"
	case kindText:
		if len(x.Value()) <= embstrMax {
			return "embstr"
		}
		return "raw"
	case kindRaw:
		return "raw"
	case kindHashPack:
		return "listpack"
	case kindHash, kindHashWide:
		return "hashtable"
	case kindSetInts:
		return "intset"
	case kindSetPack, kindSet:
		return "hashtable"
	case kindSortedSetPack:
		return "listpack"
	case kindSortedSet, kindSortedSetWide:
		return "skiplist"
	case kindListPack, kindList:
		return "quicklist"
	case kindStream:
		return "stream"
	case kindMemory:
		return "record"
	}
	return ""
}

// isInteger says whether v is how Redis would print some int64.
func isInteger(v []byte) bool {
	if len(v) == 0 || len(v) > 20 {
		return false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return false
	}
	var buf [20]byte
	return string(strconv.AppendInt(buf[:0], n, 10)) == string(v)
}
