// This file owns how a key becomes a hash, and which bits of the hash mean
// what. It must not know where records or buckets live.
//
// The low 32 bits choose the bucket (so that a scan cursor stays short), the
// top 8 bits are the tag: they never overlap, or the tags of one bucket would
// be alike.

package table

import (
	"hash/maphash"
	"math/bits"
)

// seed is drawn once per process: a client cannot construct keys that collide.
var seed = maphash.MakeSeed()

// Hash returns the hash under which every method of a Table expects key. It
// differs from process to process and must not be stored.
func Hash(key []byte) uint64 { return maphash.Bytes(seed, key) }

// tagOf returns the one-byte tag of a hash; 0 is never a tag, it marks an
// empty slot.
func tagOf(hash uint64) uint8 {
	tag := uint8(hash >> 56)
	if tag == 0 {
		tag = 1
	}
	return tag
}

// maskFor returns the mask of linear hashing for count buckets: the smallest
// 2^k - 1 that covers every bucket number. count must not be 0.
func maskFor(count uint32) uint32 { return 1<<bits.Len32(count-1) - 1 }

// bucketOf returns the bucket of a hash among count buckets: by k bits, or,
// when that bucket has not been split off yet, by k-1.
func bucketOf(hash uint64, count, mask uint32) uint32 {
	i := uint32(hash) & mask
	if i >= count {
		i &= mask >> 1
	}
	return i
}

// parentOf returns the bucket from which bucket i (> 0) is split off.
func parentOf(i uint32) uint32 { return i &^ (1 << (bits.Len32(i) - 1)) }
