// This file owns the operations on a listpack. It must not know encodings.

package listpack

import (
	"encoding/binary"
	"slices"
)

const (
	// None is the position of no element.
	None = -1

	// MaxBytes is the length that a listpack should not grow beyond; Fits says
	// whether it would. Redis stops there too, far below what its header could
	// count.
	MaxBytes = 1 << 30

	headerBytes  = 6
	endByte      = 0xFF
	countUnknown = 1<<16 - 1
)

// New returns an empty listpack with room for capacityBytes.
func New(capacityBytes int) []byte {
	lp := make([]byte, headerBytes+1, max(capacityBytes, headerBytes+1))
	lp[0], lp[headerBytes] = headerBytes+1, endByte
	return lp
}

// Bytes returns the length of lp that its header states.
func Bytes(lp []byte) int { return int(binary.LittleEndian.Uint32(lp)) }

// Fits reports whether a listpack may grow by addedBytes.
func Fits(lp []byte, addedBytes int) bool {
	return len(lp)+addedBytes <= MaxBytes
}

// Len returns the number of elements. It is found in the header up to 65534,
// beyond that by counting.
func Len(lp []byte) int {
	if count := headerCount(lp); count != countUnknown {
		return count
	}
	count := 0
	for pos := First(lp); pos != None; pos = Next(lp, pos) {
		count++
	}
	return count
}

// First returns the position of the first element, or None.
func First(lp []byte) int {
	if lp[headerBytes] == endByte {
		return None
	}
	return headerBytes
}

// Last returns the position of the last element, or None.
func Last(lp []byte) int { return Prev(lp, End(lp)) }

// End returns the position behind the last element: the one to Insert at in
// order to append.
func End(lp []byte) int { return len(lp) - 1 }

// Next returns the position of the element behind the one at pos, or None.
func Next(lp []byte, pos int) int {
	pos += elementBytes(lp, pos)
	if lp[pos] == endByte {
		return None
	}
	return pos
}

// Prev returns the position of the element before pos, or None. pos may be
// End.
func Prev(lp []byte, pos int) int {
	if pos == headerBytes {
		return None
	}
	encoded := backLength(lp, pos)
	return pos - encoded - backLengthBytes(encoded)
}

// Index returns the position of element i, counted from 0; from the end, if i
// is negative, with -1 for the last. It returns None when there is none. It
// walks from the nearer end.
func Index(lp []byte, i int) int {
	if count := headerCount(lp); count != countUnknown {
		switch {
		case i < -count || i >= count:
			return None
		case i < 0 && i < -count/2:
			i += count
		case i > count/2:
			i -= count
		}
	}
	if i < 0 {
		pos := Last(lp)
		for ; i < -1 && pos != None; i++ {
			pos = Prev(lp, pos)
		}
		return pos
	}
	pos := First(lp)
	for ; i > 0 && pos != None; i-- {
		pos = Next(lp, pos)
	}
	return pos
}

// Get returns the element at pos. Its text aliases lp.
func Get(lp []byte, pos int) Element {
	element, _ := decode(lp[pos:])
	return element
}

// Find returns the position of the first element at or behind from that equals
// text, comparing one element and leaving out skip elements in turn (skip 1
// finds a field of a hash). It returns None when there is none; from may be
// None.
func Find(lp []byte, from int, text []byte, skip int) int {
	if from == None {
		return None
	}
	n, isInt := ParseInt(text)
	left := 0
	for pos := from; lp[pos] != endByte; {
		first := lp[pos]
		if left > 0 {
			left--
		} else {
			left = skip
			if isShortString(first) {
				if int(first&0x3F) == len(text) && string(lp[pos+1:pos+1+len(text)]) == string(text) {
					return pos
				}
			} else if element := Get(lp, pos); element.Text == nil {
				if isInt && element.Int == n {
					return pos
				}
			} else if string(element.Text) == string(text) {
				return pos
			}
		}
		// Short strings are what hashes are full of; the rest takes the long way.
		if isShortString(first) {
			pos += 2 + int(first&0x3F)
		} else {
			pos += elementBytes(lp, pos)
		}
	}
	return None
}

// Append adds an element at the end.
func Append(lp, text []byte) []byte { return Insert(lp, End(lp), text) }

// AppendInt adds an integer at the end.
func AppendInt(lp []byte, n int64) []byte { return InsertInt(lp, End(lp), n) }

// Insert adds an element before the one at pos; at the end, if pos is End.
func Insert(lp []byte, pos int, text []byte) []byte {
	if n, isInt := ParseInt(text); isInt {
		return InsertInt(lp, pos, n)
	}
	lp = splice(lp, pos, 0, stringBytes(len(text)), 1)
	putString(lp[pos:], text)
	return lp
}

// InsertInt adds an integer before the element at pos; at the end, if pos is
// End.
func InsertInt(lp []byte, pos int, n int64) []byte {
	lp = splice(lp, pos, 0, intBytes(n), 1)
	putInt(lp[pos:], n)
	return lp
}

// Replace puts another element in the place of the one at pos.
func Replace(lp []byte, pos int, text []byte) []byte {
	if n, isInt := ParseInt(text); isInt {
		return ReplaceInt(lp, pos, n)
	}
	lp = splice(lp, pos, elementBytes(lp, pos), stringBytes(len(text)), 0)
	putString(lp[pos:], text)
	return lp
}

// ReplaceInt puts an integer in the place of the element at pos.
func ReplaceInt(lp []byte, pos int, n int64) []byte {
	lp = splice(lp, pos, elementBytes(lp, pos), intBytes(n), 0)
	putInt(lp[pos:], n)
	return lp
}

// DeleteRange takes count elements out, from the one at pos on, or as many as
// there are. What follows them is at pos then.
func DeleteRange(lp []byte, pos, count int) []byte {
	end, deleted := pos, 0
	for deleted < count && lp[end] != endByte {
		end += elementBytes(lp, end)
		deleted++
	}
	return splice(lp, pos, end-pos, 0, -deleted)
}

// splice replaces oldBytes at pos by newBytes of arbitrary content, and counts
// added elements more.
func splice(lp []byte, pos, oldBytes, newBytes, added int) []byte {
	rest := pos + oldBytes
	size := len(lp) - oldBytes + newBytes
	if grown := size - len(lp); grown > 0 {
		lp = slices.Grow(lp, grown)[:size]
		copy(lp[pos+newBytes:], lp[rest:size-grown])
	} else {
		copy(lp[pos+newBytes:], lp[rest:])
		lp = lp[:size]
	}
	binary.LittleEndian.PutUint32(lp, uint32(size))
	if count := headerCount(lp); count != countUnknown {
		binary.LittleEndian.PutUint16(lp[4:], uint16(count+added))
	}
	return lp
}

func headerCount(lp []byte) int { return int(binary.LittleEndian.Uint16(lp[4:])) }
