package engine

import "bytes"

// This file owns the way from a key to its shard: Redis Cluster's slot, then
// the slot modulo the number of shards. It knows nothing of what keys hold.

const (
	slotCount = 16384
	// shardCount is 64 so that a set of shards is one word, and locking a set
	// in ascending order is counting trailing zeros.
	shardCount = 64
)

// Slot is the Redis Cluster slot of key: CRC16-XMODEM of its hash tag (the part
// between the first '{' and the next '}', when not empty) or of the whole key,
// modulo 16384.
func Slot(key []byte) int {
	return int(crc16(tagOf(key))) & (slotCount - 1)
}

// tagOf is the part of a key that decides its slot.
func tagOf(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	if size := bytes.IndexByte(key[open+1:], '}'); size > 0 {
		return key[open+1 : open+1+size]
	}
	return key
}

// crc16 takes four bytes a step: the register reaches into the first two only,
// so the four look-ups do not wait for each other.
func crc16(data []byte) uint16 {
	crc := uint16(0)
	t := &crcTables
	for len(data) >= 4 {
		crc = t[3][data[0]^byte(crc>>8)] ^ t[2][data[1]^byte(crc)] ^ t[1][data[2]] ^ t[0][data[3]]
		data = data[4:]
	}
	for _, c := range data {
		crc = crc<<8 ^ t[0][byte(crc>>8)^c]
	}
	return crc
}

func shardOf(key []byte) int { return Slot(key) & (shardCount - 1) }

// crcTables[n][b] is the register after byte b and n zero bytes, for the
// polynomial 0x1021.
var crcTables = func() (t [4][256]uint16) {
	for i := range t[0] {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
		t[0][i] = crc
	}
	for n := 1; n < len(t); n++ {
		for i := range t[n] {
			before := t[n-1][i]
			t[n][i] = before<<8 ^ t[0][byte(before>>8)]
		}
	}
	return t
}()
