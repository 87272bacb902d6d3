package hyperloglog

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// This file owns the header of a value, where elements belong, and what both
// representations share. It must not know runs (sparse.go) nor bits (dense.go).

const (
	magic       = "HYLL"
	encodingAt  = 4
	countAt     = 8
	staleAt     = countAt + 7 // the byte with the highest bit of the count
	stale       = 0x80
	headerBytes = 16

	dense  = 0
	sparse = 1

	indexBits     = 14
	registerCount = 1 << indexBits
	rankMax       = 64 - indexBits + 1 // of an element
)

var (
	// ErrNone is returned by Check for a string that is no value.
	ErrNone = errors.New("hyperloglog: the string is none")
	// ErrCorrupt is returned where runs are not those of 16384 registers.
	ErrCorrupt = errors.New("hyperloglog: the runs are corrupt")
)

// New returns a value without elements, sparse and with a count of 0.
func New() []byte {
	value := make([]byte, headerBytes, headerBytes+2)
	copy(value, magic)
	value[encodingAt] = sparse
	return appendZeros(value, registerCount)
}

// Check returns ErrNone for a string that is no value. All other functions expect
// one that passed.
func Check(text []byte) error {
	if len(text) < headerBytes || string(text[:len(magic)]) != magic || text[encodingAt] > sparse ||
		text[encodingAt] == dense && len(text) != denseBytes {
		return ErrNone
	}
	return nil
}

// IsSparse reports whether a value is sparse.
func IsSparse(value []byte) bool { return value[encodingAt] == sparse }

// Counted returns the count that the value carries, if nothing changed since.
func Counted(value []byte) (count uint64, ok bool) {
	return binary.LittleEndian.Uint64(value[countAt:]), !IsStale(value)
}

// CountBytes returns a count as a value carries it, and where.
func CountBytes(count uint64) (offset int, data [8]byte) {
	binary.LittleEndian.PutUint64(data[:], count)
	return countAt, data
}

// IsStale reports whether the count that the value carries is out of date.
func IsStale(value []byte) bool { return value[staleAt]&stale != 0 }

// StaleByte returns the byte of a value that says that its count is out of date,
// and where it is.
func StaleByte(value []byte) (offset int, data byte) { return staleAt, value[staleAt] | stale }

// MarkStale says that the count that the value carries is out of date.
func MarkStale(value []byte) { value[staleAt] |= stale }

// Add adds an element to a value of which the caller is the owner, and reports whether that changed a register. The value may be dense afterwards: when
// it would be longer than sparseMax bytes, or a register is too great.
func Add(value, element []byte, sparseMax int) (out []byte, changed bool, err error) {
	index, rank := place(element)
	return raise(value, index, rank, sparseMax)
}

// raise makes register index rank, if it is less.
func raise(value []byte, index int, rank uint8, sparseMax int) (out []byte, changed bool, err error) {
	if IsSparse(value) {
		return raiseSparse(value, index, rank, sparseMax)
	}
	return value, raiseDense(value[headerBytes:], index, rank), nil
}

// place is the register of an element and its rank.
func place(element []byte) (index int, rank uint8) {
	h := hash(element)
	rest := h>>indexBits | 1<<(rankMax-1)
	return int(h & (registerCount - 1)), uint8(bits.TrailingZeros64(rest) + 1)
}

// hash is MurmurHash64A with the seed that Redis has.
func hash(data []byte) uint64 {
	const (
		factor = 0xc6a4a7935bd1e995
		shift  = 47
		seed   = 0xadc83b19
	)
	h := seed ^ uint64(len(data))*factor
	for ; len(data) >= 8; data = data[8:] {
		word := binary.LittleEndian.Uint64(data) * factor
		word ^= word >> shift
		h = (h ^ word*factor) * factor
	}
	if len(data) > 0 {
		word := uint64(0)
		for i, b := range data {
			word |= uint64(b) << (8 * i)
		}
		h = (h ^ word) * factor
	}
	h = (h ^ h>>shift) * factor
	return h ^ h>>shift
}
