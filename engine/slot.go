package engine

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
	for i, c := range key {
		if c != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' {
				if j > i+1 {
					key = key[i+1 : j]
				}
				break
			}
		}
		break
	}
	var crc uint16
	for _, c := range key {
		crc = crc<<8 ^ crc16[byte(crc>>8)^c]
	}
	return int(crc) & (slotCount - 1)
}

func shardOf(key []byte) int { return Slot(key) & (shardCount - 1) }

// crc16 is the table of the polynomial 0x1021.
var crc16 = func() (t [256]uint16) {
	for i := range t {
		crc := uint16(i) << 8
		for bit := 0; bit < 8; bit++ {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
		t[i] = crc
	}
	return t
}()
