package dump

// This file owns the writing of values. It must not know footers.

import (
	"encoding/binary"
	"iter"
	"math"
	"strconv"
)

// Type is the first byte of a value.
type Type byte

// The types of strings, sets and hashes; those written are TypeString, TypeSet,
// TypeSetIntset, TypeHash and TypeHashListpack.
const (
	TypeString       Type = 0
	TypeSet          Type = 2
	TypeSetIntset    Type = 11
	TypeSetListpack  Type = 20
	TypeHash         Type = 4
	TypeHashZipmap   Type = 9
	TypeHashZiplist  Type = 13
	TypeHashListpack Type = 16
)

// The first byte of a length or a string: two bits of it tell what follows.
const (
	length14     = 0x40
	length32     = 0x80
	length64     = 0x81
	encoded      = 0xC0
	encodedInt8  = 0xC0
	encodedInt16 = 0xC1
	encodedInt32 = 0xC2
	encodedLZF   = 0xC3
)

const (
	// integerMaxBytes is the longest text that may be stored as an integer.
	integerMaxBytes = 11
	// compressMinBytes is the shortest string that is tried to compress, and
	// compressGainBytes what compression must save to be used.
	compressMinBytes  = 21
	compressGainBytes = 4
)

// Form is how the strings of values are written.
type Form struct {
	// Plain leaves all strings as they are, none is compressed (rdbcompression no).
	Plain bool
}

// AppendStringValue appends a string with its type.
func (f Form) AppendStringValue(dst, text []byte) []byte {
	return f.AppendString(append(dst, byte(TypeString)), text)
}

// AppendPackedHash appends a packed hash, a listpack of fields and values in
// turn, with its type.
func (f Form) AppendPackedHash(dst, pack []byte) []byte {
	return f.AppendString(append(dst, byte(TypeHashListpack)), pack)
}

// AppendHash appends a hash of count fields with its type.
func (f Form) AppendHash(dst []byte, count int, pairs iter.Seq2[[]byte, []byte]) []byte {
	dst = AppendLength(append(dst, byte(TypeHash)), uint64(count))
	for field, value := range pairs {
		dst = f.AppendString(f.AppendString(dst, field), value)
	}
	return dst
}

// AppendIntset appends an intset with its type.
func (f Form) AppendIntset(dst, ints []byte) []byte {
	return f.AppendString(append(dst, byte(TypeSetIntset)), ints)
}

// AppendSet appends a set of count members with its type.
func (f Form) AppendSet(dst []byte, count int, members iter.Seq[[]byte]) []byte {
	dst = AppendLength(append(dst, byte(TypeSet)), uint64(count))
	for member := range members {
		dst = f.AppendString(dst, member)
	}
	return dst
}

// AppendLength appends a length or count.
func AppendLength(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, byte(n))
	case n < 1<<14:
		return append(dst, length14|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, length32), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, length64), n)
}

// AppendString appends a string without a type: as an integer if it reads as
// one of 32 bits, compressed if that saves something.
func (f Form) AppendString(dst, text []byte) []byte {
	if n, ok := integerOf(text); ok {
		switch {
		case n == int32(int8(n)):
			return append(dst, encodedInt8, byte(n))
		case n == int32(int16(n)):
			return binary.LittleEndian.AppendUint16(append(dst, encodedInt16), uint16(n))
		}
		return binary.LittleEndian.AppendUint32(append(dst, encodedInt32), uint32(n))
	}
	if len(text) >= compressMinBytes && !f.Plain {
		if out, ok := appendCompressed(dst, text); ok {
			return out
		}
	}
	return append(AppendLength(dst, uint64(len(text))), text...)
}

// integerOf reads text that is the only decimal form of an integer of 32 bits.
func integerOf(text []byte) (int32, bool) {
	if len(text) == 0 || len(text) > integerMaxBytes {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil {
		return 0, false
	}
	var buf [integerMaxBytes]byte
	return int32(n), string(strconv.AppendInt(buf[:0], n, 10)) == string(text)
}

// appendCompressed appends text as an LZF string; ok is false when that would
// not be shorter by compressGainBytes.
func appendCompressed(dst, text []byte) (out []byte, ok bool) {
	at := len(dst)
	dst = AppendLength(append(dst, encodedLZF), uint64(len(text)))
	dst = AppendLength(dst, uint64(len(text)))
	head := len(dst)
	dst, ok = compress(dst, text, len(text)-compressGainBytes)
	if !ok {
		return nil, false
	}
	// The packed length takes no more room than the plain one did in its place.
	packed := dst[head:]
	dst = AppendLength(dst[:at+1], uint64(len(packed)))
	dst = AppendLength(dst, uint64(len(text)))
	return append(dst, packed...), true
}
