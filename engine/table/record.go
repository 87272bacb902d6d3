// This file owns the bytes of one record: header, deadline, key, value. It
// must not know where records live or how they are found.
//
// Layout, all in the machine's byte order because a record never leaves the
// process:
//
//	0   kind (5 bits), flags (3 bits)
//	1   access (24 bits)
//	4   narrow: key length, value length (16 bits each); wide: key length (32)
//	8   wide only: value length, size of the record in 8-byte units (32 each)
//	    the deadline in milliseconds (64), if the record has one
//	    key, value, padding to 8 bytes
//
// A record is wide when a length needs it, or when it has room to grow: only a
// wide record's size may exceed what its lengths ask for.

package table

import "unsafe"

// MaxKind is the largest kind a record can carry.
const MaxKind = 31

const (
	flagDeadline = 1 << 5
	flagWide     = 1 << 6
	flagDead     = 1 << 7

	wideHeadMax = 24 // header, wide lengths, deadline

	maxAccess = 1<<24 - 1
	maxNarrow = 1<<16 - 1
)

// Entry is a view of one record. It is valid until the next mutation of its
// table; the zero Entry is none.
type Entry struct {
	at  unsafe.Pointer
	ref uint32
}

// Key returns the entry's key. It must not be written.
func (e Entry) Key() []byte {
	offset, keyLen, _ := e.spans()
	return unsafe.Slice((*byte)(unsafe.Add(e.at, offset)), keyLen)
}

// Value returns the entry's value. It aliases the record: whoever owns the
// table may write it in place.
func (e Entry) Value() []byte {
	offset, keyLen, valueLen := e.spans()
	return unsafe.Slice((*byte)(unsafe.Add(e.at, offset+keyLen)), valueLen)
}

// Kind returns the caller's kind, 0 to MaxKind.
func (e Entry) Kind() uint8 { return uint8(*e.header() & MaxKind) }

// SetKind changes the kind; bits above MaxKind are dropped.
func (e Entry) SetKind(kind uint8) {
	h := e.header()
	*h = *h&^MaxKind | uint64(kind&MaxKind)
}

// Access returns the caller's 24-bit clock or counter.
func (e Entry) Access() uint32 { return uint32(*e.header()) >> 8 }

// SetAccess changes it; bits above 24 are dropped.
func (e Entry) SetAccess(access uint32) {
	h := e.header()
	*h = *h&^(maxAccess<<8) | uint64(access&maxAccess)<<8
}

// DeadlineMs returns the deadline in milliseconds, 0 for none.
func (e Entry) DeadlineMs() int64 {
	if *e.header()&flagDeadline == 0 {
		return 0
	}
	return *e.deadline()
}

// SizeBytes returns what the record occupies, with its room to grow.
func (e Entry) SizeBytes() int {
	if *e.header()&flagWide != 0 {
		return int(*e.wideUnits()) * 8
	}
	offset, keyLen, valueLen := e.spans()
	return padded(offset + keyLen + valueLen)
}

func (e Entry) header() *uint64 { return (*uint64)(e.at) }

// words of a wide record's second header word.
func (e Entry) wideLen() *uint32   { return (*uint32)(unsafe.Add(e.at, 8)) }
func (e Entry) wideUnits() *uint32 { return (*uint32)(unsafe.Add(e.at, 12)) }

// deadline requires flagDeadline.
func (e Entry) deadline() *int64 {
	return (*int64)(unsafe.Add(e.at, 8+(*e.header()&flagWide)>>3))
}

// spans returns where the key begins, and the lengths of key and value.
func (e Entry) spans() (offset, keyLen, valueLen int) {
	h := *e.header()
	if h&flagWide != 0 {
		return 16 + int(h&flagDeadline)>>2, int(h >> 32), int(*e.wideLen())
	}
	return 8 + int(h&flagDeadline)>>2, int(h >> 32 & maxNarrow), int(h >> 48)
}

func padded(sizeBytes int) int { return (sizeBytes + 7) &^ 7 }

// keyIs reports whether the record's key equals key.
func (e Entry) keyIs(key []byte) bool { return string(e.Key()) == string(key) }

// shape is the form that a record of given lengths takes.
type shape struct {
	flags            uint64
	keyLen, valueLen int
	sizeBytes        int
}

// shapeOf returns the smallest form with room for slackBytes more of value. A
// record too large for a block is rounded up to whole pages.
func shapeOf(keyLen, valueLen int, hasDeadline bool, slackBytes int) shape {
	s := shape{keyLen: keyLen, valueLen: valueLen}
	offset := 8
	if hasDeadline {
		s.flags, offset = flagDeadline, 16
	}
	s.sizeBytes = padded(offset + keyLen + valueLen)
	if slackBytes == 0 && keyLen <= maxNarrow && valueLen <= maxNarrow && s.sizeBytes <= maxBlockRecord {
		return s
	}
	s.flags |= flagWide
	s.sizeBytes = padded(offset + 8 + keyLen + valueLen + slackBytes)
	if s.sizeBytes > maxBlockRecord {
		s.sizeBytes = pagesFor(s.sizeBytes) * pageBytes
	}
	return s
}

// writeHead fills in everything but key and value.
func (e Entry) writeHead(s shape, kind uint8, access uint32, deadlineMs int64) {
	h := uint64(kind&MaxKind) | s.flags | uint64(access)<<8 | uint64(s.keyLen)<<32
	if s.flags&flagWide == 0 {
		h |= uint64(s.valueLen) << 48
	}
	*e.header() = h
	if s.flags&flagWide != 0 {
		*e.wideLen() = uint32(s.valueLen)
		*e.wideUnits() = uint32(s.sizeBytes / 8)
	}
	if s.flags&flagDeadline != 0 {
		*e.deadline() = deadlineMs
	}
}
