package main

// This file owns serialised values, as DUMP returns and RESTORE takes them, good
// and bad. It knows no more of the format than strings and plain hashes need.

import (
	"encoding/binary"
	"hash/crc64"
	"math/rand/v2"
)

// payloadVersion is the version of the format that Redis 7.0 writes.
const payloadVersion = 10

// jones is the polynomial of the checksum, bits reversed.
const jones = 0x95AC9329AC4BC9B5

// sealPayload appends the version and the checksum to a value's bytes.
func sealPayload(body []byte) []byte {
	body = binary.LittleEndian.AppendUint16(body, payloadVersion)
	// Redis does not invert the checksum at its start and end, Go does.
	sum := ^crc64.Update(^uint64(0), crc64.MakeTable(jones), body)
	return binary.LittleEndian.AppendUint64(body, sum)
}

// stringPayload is a string as it is; up to 63 bytes.
func stringPayload(value string) []byte {
	return sealPayload(append([]byte{0, byte(len(value))}, value...))
}

// hashPayload is a hash in the form without compaction; few and short fields.
func hashPayload(pairs ...string) []byte {
	body := []byte{4, byte(len(pairs) / 2)}
	for _, s := range pairs {
		body = append(body, byte(len(s)))
		body = append(body, s...)
	}
	return sealPayload(body)
}

// anyPayload draws a payload; half of them are good. None is a hash with a field
// twice: Redis 7.0 takes it, and aborts when that hash grows into a table.
func anyPayload(r *rand.Rand) [][]byte {
	good := [][]byte{
		stringPayload("hello"),
		stringPayload(""),
		stringPayload("12345"),                                        // a number that was not stored as one
		sealPayload([]byte{0, 0xC0, 0x85}),                            // -123 as one byte
		sealPayload([]byte{0, 0xC1, 0x39, 0x30}),                      // 12345 as two
		sealPayload([]byte{0, 0xC2, 0x15, 0xCD, 0x5B, 0x07}),          // 123456789 as four
		sealPayload(append([]byte{0, 0x40, 70}, make([]byte, 70)...)), // a length of 14 bits
		hashPayload("f1", "v1"),
		sealPayload([]byte{2, 3, 1, 'a', 1, 'b', 0xC0, 5}), // a set
		sealPayload([]byte{2, 2, 0xC0, 5, 0xC0, 7}),
		sealPayload([]byte{11, 12, 2, 0, 0, 0, 2, 0, 0, 0, 0xFF, 0xFF, 7, 0}), // an intset
		hashPayload("f1", "1", "f2", "", "", "x"),
		sealPayload([]byte{1, 3, 1, 'a', 1, 'a', 0xC0, 5}), // a list
		sealPayload([]byte{18, 2, 2, 13, 13, 0, 0, 0, 2, 0, 0x82, 'e', '1', 3, 1, 1, 0xFF, 1, 5, 'p', 'l', 'a', 'i', 'n'}),
		sealPayload([]byte{3, 2, 1, 'a', 3, '1', '.', '5', 0xC0, 5, 254}),       // a sorted set, its scores in text: 1.5 and infinity
		sealPayload([]byte{5, 1, 1, 'a', 0, 0, 0, 0, 0, 0, 0xF8, 0x3F}),         // one with its scores in binary
		sealPayload([]byte{17, 12, 12, 0, 0, 0, 2, 0, 0x81, 'a', 2, 1, 1, 255}), // one as a listpack
	}
	bad := [][]byte{
		nil,
		[]byte("not a payload"),
		good[0][:len(good[0])-1],
		append([]byte{1}, good[0]...),
		sealPayload([]byte{0, 10, 'a'}),        // a string that ends early
		sealPayload([]byte{99, 1, 'a'}),        // no such type
		sealPayload([]byte{}),                  // nothing at all
		sealPayload([]byte{4, 2, 1, 'f', 1}),   // a hash that ends early
		sealPayload([]byte{4, 0}),              // an empty hash
		sealPayload([]byte{1, 0}),              // an empty list
		sealPayload([]byte{5, 0}),              // an empty sorted set
		sealPayload([]byte{3, 1, 1, 'a', 253}), // one whose score is no number
		sealPayload([]byte{18, 1, 3, 1, 'a'}),
	}
	from := good
	if r.IntN(2) == 0 {
		from = bad
	}
	return [][]byte{from[r.IntN(len(from))]}
}
