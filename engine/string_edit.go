package engine

import (
	"bytes"

	"reminis/engine/effect"
	"reminis/engine/table"
)

// This file owns what commands that change a part of a string need beside
// reading and writing it whole. It must not know which command asks.

// StringMax is the largest string in bytes that a command may make:
// proto-max-bulk-len, but never more than a table holds.
func (tx *Tx) StringMax() int64 { return min(tx.e.Limits.StringMax.Load(), table.MaxBytes) }

// SparseMax is the longest sparse HyperLogLog in bytes (hll-sparse-max-bytes).
func (tx *Tx) SparseMax() int { return int(min(tx.e.Limits.HLLSparse.Load(), table.MaxBytes)) }

// ReplaceString makes key the string value and keeps its deadline. The value
// must not alias the table.
func (tx *Tx) ReplaceString(key, value []byte) {
	deadlineMs := int64(0)
	if _, _, x, ok := tx.find(tx.DB, key); ok {
		deadlineMs = x.DeadlineMs()
		if x.Kind() == kindMemory {
			tx.remove(tx.DB, key, x, effect.Overwritten)
		}
	}
	tx.emit(&effect.Effect{Kind: effect.StringSet, DB: uint32(tx.DB), Key: key, Value: value, DeadlineMs: deadlineMs})
}

// MarkRaw makes OBJECT ENCODING answer "raw" for the string key. It is no
// change of the data, so like the access time it is no effect: Redis converts
// the object in memory and neither logs nor replicates that
// (db.c dbUnshareStringValue).
func (tx *Tx) MarkRaw(key []byte) { tx.mark(key, kindRaw, kindString, kindText) }

// MarkText makes OBJECT ENCODING answer what it says of a text for the string
// key, even if it reads as an integer: what INCRBYFLOAT leaves is a text in
// Redis. It is no effect, as MarkRaw is none.
func (tx *Tx) MarkText(key []byte) { tx.mark(key, kindText, kindString) }

// mark makes a string of one of the kinds one of another kind.
func (tx *Tx) mark(key []byte, as byte, of ...byte) {
	if _, _, x, ok := tx.find(tx.DB, key); ok && bytes.IndexByte(of, x.Kind()) >= 0 {
		x.SetKind(as)
	}
}
