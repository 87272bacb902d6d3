package effect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// This file owns the binary form of batches: built while a transaction runs,
// read back by recovery and checkpoints.

// ErrCorrupt is returned when bytes are not a batch that Encode wrote.
var ErrCorrupt = errors.New("corrupt batch")

// Batch is the effects of one command, script, EXEC or MEM.APPLY: one atomic
// commit. The zero Batch is empty and ready; Reset makes it so again and keeps
// its memory.
type Batch struct {
	// TimeMs is when the transaction read the clock; the journal raises it to
	// the time of the batch before, so that time never decreases along Seq.
	TimeMs int64
	// Actor is the authenticated user; empty means the default user.
	Actor []byte
	// Durable says that no reply may leave before this batch is fsynced,
	// whatever the setting for plain keys.
	Durable bool
	// Unkept says that nobody reads the effects: Add only counts them. It survives
	// Reset.
	Unkept bool

	count   int
	body    []byte
	keyFrom int // where the last effect's database and key lie in body
	keyTo   int
}

// Reset empties the batch and keeps its buffer, unless it grew beyond 1 MB.
func (b *Batch) Reset() {
	body := b.body[:0]
	if cap(body) > 1<<20 {
		body = nil
	}
	*b = Batch{body: body, Unkept: b.Unkept}
}

// Len is the number of effects.
func (b *Batch) Len() int { return b.count }

// SizeBytes is the size of the encoded effects.
func (b *Batch) SizeBytes() int { return len(b.body) }

// Body is the encoded effects, valid until the next Add or Reset.
func (b *Batch) Body() []byte { return b.body }

// sameKey marks an effect whose database and key are those of the effect
// before it: a HSET of many fields names its key once.
const sameKey = 0x80

// Add appends a copy of e. It panics on a kind that has no declared shape.
func (b *Batch) Add(e *Effect) {
	if !b.Skip() {
		b.encode(e)
		b.count++
	}
}

// Skip counts an effect that need not be made, because the batch is Unkept, and says
// whether it is.
func (b *Batch) Skip() bool {
	if b.Unkept {
		b.count++
	}
	return b.Unkept
}

func (b *Batch) encode(e *Effect) {
	set, ok := fieldsOf(e.Kind)
	if !ok {
		panic(fmt.Sprintf("effect: kind %d has no shape", e.Kind))
	}
	at := len(b.body)
	b.body = append(b.body, byte(e.Kind))
	from := len(b.body)
	b.body = binary.AppendUvarint(b.body, uint64(e.DB))
	b.body = appendBytes(b.body, e.Key)
	if b.keyTo > 0 && bytes.Equal(b.body[from:], b.body[b.keyFrom:b.keyTo]) {
		b.body[at] |= sameKey
		b.body = b.body[:from]
	} else {
		b.keyFrom, b.keyTo = from, len(b.body)
	}
	b.body = appendFields(b.body, e, set)
}

func appendFields(dst []byte, e *Effect, set fieldSet) []byte {
	if set&hasOwner != 0 {
		dst = binary.AppendUvarint(dst, uint64(e.OwnerLen))
	}
	if set&hasNumber != 0 {
		dst = binary.AppendVarint(dst, e.Number)
	}
	if set&hasDeadline != 0 {
		dst = binary.AppendVarint(dst, e.DeadlineMs)
	}
	if set&hasCount != 0 {
		dst = binary.AppendVarint(dst, e.Count)
	}
	if set&hasKeep != 0 {
		dst = binary.AppendVarint(dst, e.KeepMs)
	}
	if set&hasList != 0 {
		dst = binary.AppendUvarint(dst, e.List)
	}
	if set&hasFirst != 0 {
		dst = binary.AppendUvarint(dst, e.First)
	}
	if set&hasField != 0 {
		dst = appendBytes(dst, e.Field)
	}
	if set&hasValue != 0 {
		dst = appendBytes(dst, e.Value)
	}
	if set&hasEvent != 0 {
		dst = appendBytes(dst, e.Event)
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// flagDurable is the bit of a batch's head that stores Durable.
const flagDurable = 1

// AppendHead appends the head that precedes Body in the journal.
func (b *Batch) AppendHead(dst []byte, seq uint64, timeMs int64) []byte {
	flags := byte(0)
	if b.Durable {
		flags |= flagDurable
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, seq)
	dst = binary.AppendVarint(dst, timeMs)
	dst = appendBytes(dst, b.Actor)
	return binary.AppendUvarint(dst, uint64(b.count))
}

// Reader walks the effects of an encoded batch.
type Reader struct {
	Seq     uint64
	TimeMs  int64
	Actor   []byte
	Durable bool

	left int
	rest []byte
	last Effect // database and key that sameKey refers to
	any  bool
}

// NewReader reads the head of an encoded batch. The slices of the reader and of
// its effects alias data. It returns ErrCorrupt when data has no valid head.
func NewReader(data []byte) (Reader, error) {
	d := Decoder{Rest: data}
	flags := d.Byte()
	r := Reader{Durable: flags&flagDurable != 0}
	r.Seq = d.Uvarint()
	r.TimeMs = d.Varint()
	r.Actor = d.Bytes()
	count := d.Uvarint()
	if d.Bad || flags&^flagDurable != 0 || count > uint64(len(d.Rest)) {
		return Reader{}, ErrCorrupt
	}
	r.left, r.rest = int(count), d.Rest
	return r, nil
}

// Left is the number of effects not yet read.
func (r *Reader) Left() int { return r.left }

// Next reads the next effect into e. It returns false at the end, and
// ErrCorrupt on bytes that Add did not write or that do not end where the last
// effect ends.
func (r *Reader) Next(e *Effect) (bool, error) {
	if r.left == 0 {
		if len(r.rest) != 0 {
			return false, ErrCorrupt
		}
		return false, nil
	}
	used, err := r.decode(e)
	if err != nil {
		return false, err
	}
	r.rest = r.rest[used:]
	r.left--
	return true, nil
}

func (r *Reader) decode(e *Effect) (int, error) {
	d := Decoder{Rest: r.rest}
	kind := d.Byte()
	set, ok := fieldsOf(Kind(kind &^ sameKey))
	if !ok {
		return 0, ErrCorrupt
	}
	*e = Effect{Kind: Kind(kind &^ sameKey)}
	if kind&sameKey != 0 {
		if !r.any {
			return 0, ErrCorrupt
		}
		e.DB, e.Key = r.last.DB, r.last.Key
	} else {
		db := d.Uvarint()
		if db > 1<<31 {
			return 0, ErrCorrupt
		}
		e.DB, e.Key = uint32(db), d.Bytes()
		r.last.DB, r.last.Key, r.any = e.DB, e.Key, true
	}
	d.fields(e, set)
	if d.Bad {
		return 0, ErrCorrupt
	}
	return len(r.rest) - len(d.Rest), nil
}

func (d *Decoder) fields(e *Effect, set fieldSet) {
	if set&hasOwner != 0 {
		n := d.Uvarint()
		if n > uint64(len(e.Key)) {
			d.Bad = true
			return
		}
		e.OwnerLen = int(n)
	}
	if set&hasNumber != 0 {
		e.Number = d.Varint()
	}
	if set&hasDeadline != 0 {
		e.DeadlineMs = d.Varint()
	}
	if set&hasCount != 0 {
		e.Count = d.Varint()
	}
	if set&hasKeep != 0 {
		e.KeepMs = d.Varint()
	}
	if set&hasList != 0 {
		e.List = d.Uvarint()
	}
	if set&hasFirst != 0 {
		e.First = d.Uvarint()
	}
	if set&hasField != 0 {
		e.Field = d.Bytes()
	}
	if set&hasValue != 0 {
		e.Value = d.Bytes()
	}
	if set&hasEvent != 0 {
		e.Event = d.Bytes()
	}
}
