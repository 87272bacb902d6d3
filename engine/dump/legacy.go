package dump

// This file owns the packed hashes of Redis before 7.0: ziplist and zipmap. They
// are only read. It must not trust any byte of them.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// A ziplist:
//
//	total bytes (32 bits) | offset of the last entry (32) | entries (16) | entries | 0xFF
//
// An entry is the length of the one before (1 byte, or 0xFE and 32 bits), then
//
//	00nnnnnn, 01nnnnnn n, 0x80 nnnn        a string; lengths are big-endian
//	0xC0, 0xF0, 0xD0, 0xE0, 0xFE           an integer of 2, 3, 4, 8, 1 bytes
//	0xF1 to 0xFD                           the integers 0 to 12
//
// All else is little-endian; 65535 entries mean that they must be counted.
const (
	ziplistHeadBytes = 4 + 4 + 2
	legacyEnd        = 0xFF
	ziplistUncounted = 1<<16 - 1
	bigLength        = 0xFE
)

var errZiplist = errors.New("dump: the ziplist is damaged")

func ziplistElements(data []byte) ([][]byte, error) {
	end := len(data) - 1
	if end < ziplistHeadBytes || data[end] != legacyEnd || uint64(binary.LittleEndian.Uint32(data)) != uint64(len(data)) {
		return nil, errZiplist
	}
	lastEntry, stated := uint64(binary.LittleEndian.Uint32(data[4:])), int(binary.LittleEndian.Uint16(data[8:]))
	var pairs [][]byte
	at, last, sizeBytes := ziplistHeadBytes, 0, 0
	for data[at] != legacyEnd {
		text, next, err := ziplistEntry(data, at, sizeBytes)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, text)
		last, sizeBytes, at = at, next-at, next
	}
	if at != end || last != 0 && uint64(last) != lastEntry || stated != ziplistUncounted && stated != len(pairs) {
		return nil, errZiplist
	}
	return pairs, nil
}

// ziplistEntry reads the entry at at; the one before it has previousBytes.
func ziplistEntry(data []byte, at, previousBytes int) (text []byte, next int, err error) {
	rest := data[at : len(data)-1]
	stated, headBytes := uint64(rest[0]), 1
	if rest[0] >= bigLength {
		if len(rest) < 5 {
			return nil, 0, errZiplist
		}
		stated, headBytes = uint64(binary.LittleEndian.Uint32(rest[1:])), 5
	}
	if stated != uint64(previousBytes) || len(rest) == headBytes {
		return nil, 0, fmt.Errorf("%w: the entry at %d", errZiplist, at)
	}
	rest = rest[headBytes:]
	size, dataBytes := ziplistSize(rest)
	if size == 0 || dataBytes > uint64(len(rest)-size) {
		return nil, 0, fmt.Errorf("%w: the entry at %d", errZiplist, at)
	}
	text = rest[size : size+int(dataBytes)]
	if rest[0] >= 0xC0 {
		text = strconv.AppendInt(nil, ziplistInteger(rest[0], text), 10)
	}
	return text, at + headBytes + size + int(dataBytes), nil
}

// ziplistSize returns how many bytes tell an entry's form, 0 for none, and how
// many bytes of data follow.
func ziplistSize(rest []byte) (sizeBytes int, dataBytes uint64) {
	switch first := rest[0]; {
	case first < 0x40:
		return 1, uint64(first)
	case first < 0x80:
		if len(rest) < 2 {
			return 0, 0
		}
		return 2, uint64(first&0x3F)<<8 | uint64(rest[1])
	case first < 0xC0:
		if len(rest) < 5 {
			return 0, 0
		}
		return 5, uint64(binary.BigEndian.Uint32(rest[1:]))
	case first == 0xC0:
		return 1, 2
	case first == 0xD0:
		return 1, 4
	case first == 0xE0:
		return 1, 8
	case first == 0xF0:
		return 1, 3
	case first == 0xFE:
		return 1, 1
	case first > 0xF0 && first < 0xFE:
		return 1, 0
	}
	return 0, 0
}

func ziplistInteger(form byte, data []byte) int64 {
	switch len(data) {
	case 0:
		return int64(form&0x0F) - 1
	case 1:
		return int64(int8(data[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(data)))
	case 3:
		return int64(int32(uint32(data[0])<<8|uint32(data[1])<<16|uint32(data[2])<<24) >> 8)
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(data)))
	}
	return int64(binary.LittleEndian.Uint64(data))
}

var errZipmap = errors.New("dump: the zipmap is damaged")

// zipmapPairs reads a zipmap:
//
//	fields (1 byte, 254 and more: to be counted) | pairs | 0xFF
//
// A pair is a length, the field, a length, the number of unused bytes, the
// value, the unused bytes. A length is one byte, or 0xFE and 32 bits.
func zipmapPairs(data []byte) ([][]byte, error) {
	end := len(data) - 1
	if end < 1 || data[end] != legacyEnd {
		return nil, errZipmap
	}
	var pairs [][]byte
	at := 1
	for data[at] != legacyEnd {
		field, next, err := zipmapText(data, at, false)
		if err != nil {
			return nil, err
		}
		value, next, err := zipmapText(data, next, true)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, field, value)
		at = next
	}
	if data[0] != bigLength && int(data[0]) != len(pairs)/2 {
		return nil, errZipmap
	}
	return pairs, nil
}

// zipmapText reads the length at at and the text behind it; with unused, also
// the number of unused bytes before and those bytes behind the text. What is
// next is the end at the furthest.
func zipmapText(data []byte, at int, unused bool) (text []byte, next int, err error) {
	end := len(data) - 1
	size, sizeBytes := int(data[at]), 1
	if data[at] >= bigLength {
		if at+5 > end {
			return nil, 0, errZipmap
		}
		size, sizeBytes = int(binary.LittleEndian.Uint32(data[at+1:])), 5
		if size < bigLength {
			// The short form would have done.
			return nil, 0, errZipmap
		}
	}
	at += sizeBytes
	if at > end {
		return nil, 0, errZipmap
	}
	unusedBytes := 0
	if unused {
		unusedBytes = int(data[at])
		at++
	}
	if size+unusedBytes > end-at {
		return nil, 0, errZipmap
	}
	return data[at : at+size : at+size], at + size + unusedBytes, nil
}
