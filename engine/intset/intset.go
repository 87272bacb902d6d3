package intset

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// This file owns the operations on an intset. It must not know texts.

const (
	headerBytes = 8

	width16 = 2
	width32 = 4
	width64 = 8
)

// New returns an empty set with room for capacityBytes.
func New(capacityBytes int) []byte {
	set := make([]byte, headerBytes, max(capacityBytes, headerBytes))
	setWidth(set, width16)
	return set
}

// Len returns the number of integers.
func Len(set []byte) int { return int(binary.LittleEndian.Uint32(set[4:])) }

// At returns integer i in ascending order, from 0.
func At(set []byte, i int) int64 { return get(set, width(set), i) }

// Has reports whether n is in the set.
func Has(set []byte, n int64) bool {
	_, found := find(set, n)
	return found
}

// Add inserts n and reports whether it was missing.
func Add(set []byte, n int64) (out []byte, added bool) {
	if need := widthOf(n); need > width(set) {
		// It lies outside of all that are there.
		set = widen(set, need)
	}
	w, size := width(set), len(set)
	at, found := Len(set), false
	if at > 0 && get(set, w, at-1) >= n {
		at, found = find(set, n)
	}
	if found {
		return set, false
	}
	set = slices.Grow(set, w)[:size+w]
	start := headerBytes + at*w
	copy(set[start+w:], set[start:size])
	put(set, w, at, n)
	setLen(set, Len(set)+1)
	return set, true
}

// Remove takes n out and reports whether it was there.
func Remove(set []byte, n int64) (out []byte, removed bool) {
	at, found := find(set, n)
	if !found {
		return set, false
	}
	w := width(set)
	start := headerBytes + at*w
	copy(set[start:], set[start+w:])
	setLen(set, Len(set)-1)
	return set[:len(set)-w], true
}

// Validate says what is wrong with bytes from outside: nil means that they are a
// set with at least one integer, in order and none twice (intset.c
// intsetValidateIntegrity).
func Validate(data []byte) error {
	if len(data) < headerBytes {
		return fmt.Errorf("intset: %d bytes are too few for a header", len(data))
	}
	w, count := uint64(binary.LittleEndian.Uint32(data)), uint64(binary.LittleEndian.Uint32(data[4:]))
	if w != width16 && w != width32 && w != width64 {
		return fmt.Errorf("intset: no integer is %d bytes wide", w)
	}
	if count == 0 || headerBytes+count*w != uint64(len(data)) {
		return fmt.Errorf("intset: %d integers of %d bytes in %d bytes", count, w, len(data))
	}
	for i := 1; i < int(count); i++ {
		if At(data, i-1) >= At(data, i) {
			return fmt.Errorf("intset: integer %d is not above the one before", i)
		}
	}
	return nil
}

// find returns where n is, or belongs.
func find(set []byte, n int64) (at int, found bool) {
	w := width(set)
	if widthOf(n) > w {
		return 0, false
	}
	low, high := 0, Len(set)
	for low < high {
		middle := int(uint(low+high) >> 1)
		switch x := get(set, w, middle); {
		case x == n:
			return middle, true
		case x < n:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// widen makes every integer wider, from the last on: none is overwritten before
// it is read.
func widen(set []byte, to int) []byte {
	from, count := width(set), Len(set)
	size := headerBytes + count*to
	set = slices.Grow(set, size-len(set))[:size]
	for i := count - 1; i >= 0; i-- {
		put(set, to, i, get(set, from, i))
	}
	setWidth(set, to)
	return set
}

func widthOf(n int64) int {
	switch {
	case n < math.MinInt32 || n > math.MaxInt32:
		return width64
	case n < math.MinInt16 || n > math.MaxInt16:
		return width32
	}
	return width16
}

func width(set []byte) int        { return int(binary.LittleEndian.Uint32(set)) }
func setWidth(set []byte, w int)  { binary.LittleEndian.PutUint32(set, uint32(w)) }
func setLen(set []byte, size int) { binary.LittleEndian.PutUint32(set[4:], uint32(size)) }

func get(set []byte, w, i int) int64 {
	at := set[headerBytes+i*w:]
	switch w {
	case width16:
		return int64(int16(binary.LittleEndian.Uint16(at)))
	case width32:
		return int64(int32(binary.LittleEndian.Uint32(at)))
	}
	return int64(binary.LittleEndian.Uint64(at))
}

func put(set []byte, w, i int, n int64) {
	at := set[headerBytes+i*w:]
	switch w {
	case width16:
		binary.LittleEndian.PutUint16(at, uint16(n))
	case width32:
		binary.LittleEndian.PutUint32(at, uint32(n))
	default:
		binary.LittleEndian.PutUint64(at, uint64(n))
	}
}
