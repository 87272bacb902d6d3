package memory

// This file owns the rules of command ids: the digests that stand for them and
// when a repeated id is the same change. It reads no clock and stores nothing
// durable.

import (
	"crypto/sha256"
	"encoding/binary"
)

// IDDigest stands for an owner's command id: 16 bytes of a SHA-256, so that two
// ids are taken for one with a chance of about 2^-64 only after 2^32 ids.
type IDDigest [16]byte

// PayloadDigest stands for everything that a command asks for, its id and its
// claimed time aside.
type PayloadDigest [16]byte

// DigestID gives the digest of a command id of one owner.
func DigestID(owner, id []byte) (digest IDDigest) {
	copy(digest[:], digestParts("id\x00", owner, id))
	return digest
}

// DigestPart gives the digest of what stands for one part of the change that a
// command id of an owner is of.
func DigestPart(owner, id []byte, index int) (digest IDDigest) {
	copy(digest[:], digestParts("part\x00", owner, id, binary.BigEndian.AppendUint32(nil, uint32(index))))
	return digest
}

// DigestPayload gives the digest of a command's parts. Parts are delimited:
// ("ab", "c") differs from ("a", "bc").
func DigestPayload(parts ...[]byte) (digest PayloadDigest) {
	copy(digest[:], digestParts("payload\x00", parts...))
	return digest
}

func digestParts(domain string, parts ...[]byte) []byte {
	hash := sha256.New()
	hash.Write([]byte(domain))
	var size [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		hash.Write(size[:])
		hash.Write(part)
	}
	return hash.Sum(nil)
}

// Done is the row that a committed command with an id leaves: 48 bytes, no
// pointer. The first reply is rebuilt from Version.
type Done struct {
	ID      IDDigest
	Payload PayloadDigest // zero: erased
	Version uint64        // that the command made; for MEM.FORGET how many it removed
	TimeMs  int64         // of its commit
}

// Verdict is what a repeated id means.
type Verdict uint8

const (
	Fresh      Verdict = iota // not seen within the window: do it
	Duplicated                // same change: reply as the first did, change nothing
	Conflict                  // same id, another payload: an error
	Erased                    // what it changed was erased: an error
)

// Err is the error of a command with an id for which the verdict is one, else
// nil.
func (v Verdict) Err(id []byte) error {
	switch v {
	case Conflict:
		return ErrConflict(id)
	case Erased:
		return errErased(id)
	}
	return nil
}

// Judge compares a command with the row that its id left.
func (d *Done) Judge(payload PayloadDigest, nowMs, windowMs int64) Verdict {
	switch {
	case nowMs-d.TimeMs >= windowMs:
		return Fresh
	case d.Payload == PayloadDigest{}:
		return Erased
	case d.Payload != payload:
		return Conflict
	}
	return Duplicated
}

// ErrConflict is the error of a repeated id with another payload.
func ErrConflict(id []byte) error {
	return userError("command id '%s' was already used for another change", quoteForError(id))
}

// Window holds the rows of the ids that are still remembered, oldest first. It
// is bounded by time and by number and holds no pointers, so that a million
// rows cost the garbage collector nothing. It is not safe for concurrent use.
// The zero Window is empty and takes no memory.
type Window struct {
	rows    []Done // ring
	first   int
	count   int
	slots   map[IDDigest]uint32
	dropped uint64
}

// Len is the number of rows.
func (w *Window) Len() int { return w.count }

// Dropped counts rows that went because there were too many, not because their
// time was over.
func (w *Window) Dropped() uint64 { return w.dropped }

// Find gives the row of an id.
func (w *Window) Find(id IDDigest) (Done, bool) {
	slot, ok := w.slots[id]
	if !ok {
		return Done{}, false
	}
	return w.rows[slot], true
}

// Add remembers a row, which must not be older than those before it; a row of
// the same id is forgotten. At most limit rows stay: the oldest goes and is
// counted.
func (w *Window) Add(row Done, limit int) {
	if limit <= 0 {
		w.dropped++
		return
	}
	for w.count >= limit {
		w.dropOldest()
		w.dropped++
	}
	if w.count == len(w.rows) {
		w.grow()
	}
	slot := (w.first + w.count) % len(w.rows)
	w.rows[slot] = row
	w.slots[row.ID] = uint32(slot)
	w.count++
}

// Live is the number of rows that were not erased.
func (w *Window) Live() int {
	live := 0
	for i := range w.count {
		if w.rows[(w.first+i)%len(w.rows)].Payload != (PayloadDigest{}) {
			live++
		}
	}
	return live
}

// Erase forgets what the commands were that the rows stand for.
func (w *Window) Erase() {
	for i := range w.count {
		row := &w.rows[(w.first+i)%len(w.rows)]
		row.Payload, row.Version = PayloadDigest{}, 0
	}
}

// Expire forgets the rows whose window is over and says how many these were.
func (w *Window) Expire(nowMs, windowMs int64) int {
	expired := 0
	for w.count > 0 && nowMs-w.rows[w.first].TimeMs >= windowMs {
		w.dropOldest()
		expired++
	}
	if w.count == 0 {
		w.rows, w.slots, w.first = nil, nil, 0
	}
	return expired
}

// All calls visit for every row, oldest first.
func (w *Window) All(visit func(Done)) {
	for i := range w.count {
		slot := (w.first + i) % len(w.rows)
		if w.slots[w.rows[slot].ID] == uint32(slot) {
			visit(w.rows[slot])
		}
	}
}

func (w *Window) dropOldest() {
	id := w.rows[w.first].ID
	if w.slots[id] == uint32(w.first) {
		delete(w.slots, id)
	}
	w.first = (w.first + 1) % len(w.rows)
	w.count--
}

func (w *Window) grow() {
	rows := make([]Done, max(8, 2*len(w.rows)))
	for i := range w.count {
		rows[i] = w.rows[(w.first+i)%len(w.rows)]
	}
	slots := make(map[IDDigest]uint32, len(rows))
	for i := range w.count {
		slots[rows[i].ID] = uint32(i)
	}
	w.rows, w.first, w.slots = rows, 0, slots
}
