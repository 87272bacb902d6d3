// This file owns buckets and the arrays that they stand in. It must not know
// what a reference refers to.

package table

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

const (
	bucketSlots  = 12
	bucketBytes  = 64
	segmentShift = 10 // buckets of a full segment: 64 KB
	segmentMask  = 1<<segmentShift - 1
	segmentPages = (1 << segmentShift) * bucketBytes / pageBytes
	pageBuckets  = pageBytes / bucketBytes

	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// bucket is one cache line. Its slots are filled from the first on, and every
// bucket of a chain but the last is full.
type bucket struct {
	tags [bucketSlots]uint8
	next uint32 // 1 + number of the overflow bucket that continues the chain, or 0
	refs [bucketSlots]uint32
}

// candidates returns two masks with the high bit of each byte set whose tag
// may equal tag: of slots 0-7 and of slots 8-11. A set bit above a true match
// may be false, so the caller compares keys or references; no match is missed.
func (b *bucket) candidates(tag uint8) (low, high uint64) {
	pattern := uint64(tag) * lowBits
	x := binary.LittleEndian.Uint64(b.tags[:8]) ^ pattern
	y := uint64(binary.LittleEndian.Uint32(b.tags[8:])) | 0xffffffff<<32
	y ^= pattern & (1<<32 - 1)
	return (x - lowBits) &^ x & highBits, (y - lowBits) &^ y & highBits
}

// used returns how many slots are filled.
func (b *bucket) used() int {
	low, high := b.candidates(0)
	if low != 0 {
		return bits.TrailingZeros64(low) >> 3
	}
	if high != 0 {
		return 8 + bits.TrailingZeros64(high)>>3
	}
	return bucketSlots
}

// bucketArray is a growing and shrinking array of buckets in segments: one
// that doubles from 4 KB to 64 KB, then more of 64 KB each. So a small table
// is small, and nothing larger than a segment is ever copied.
type bucketArray struct {
	segments []unsafe.Pointer // full length; nil where there is no segment
	runs     []run
	count    uint32
	idle     int64 // what the pool was told of
}

func (a *bucketArray) at(i uint32) *bucket {
	return (*bucket)(unsafe.Add(a.segments[i>>segmentShift], uintptr(i&segmentMask)*bucketBytes))
}

// room returns how many buckets the segments hold.
func (a *bucketArray) room() uint32 {
	switch len(a.runs) {
	case 0:
		return 0
	case 1:
		return a.runs[0].pages * pageBuckets
	}
	return uint32(len(a.runs)) << segmentShift
}

// push appends an empty bucket and returns its number.
func (a *bucketArray) push(pool *Pool) uint32 {
	if a.count == a.room() {
		a.extend(pool)
	}
	i := a.count
	a.count++
	*a.at(i) = bucket{}
	a.tellIdle(pool)
	return i
}

// tellIdle tells the pool how much of the array holds no buckets.
func (a *bucketArray) tellIdle(pool *Pool) {
	change := a.sizeBytes() - int64(a.count)*bucketBytes - a.idle
	if change > idleStep || change < -idleStep {
		a.idle += change
		pool.idle.Add(change)
	}
}

func (a *bucketArray) extend(pool *Pool) {
	if len(a.runs) == 1 && a.runs[0].pages < segmentPages {
		a.resizeFirst(pool, int(a.runs[0].pages)*2)
		return
	}
	pages := segmentPages
	if len(a.runs) == 0 {
		pages = 1
	}
	if len(a.runs) == len(a.segments) {
		// A new array, because a prefetcher may be reading the old one.
		segments := make([]unsafe.Pointer, max(1, 2*len(a.segments)))
		copy(segments, a.segments)
		a.segments = segments
	}
	r := pool.alloc(pages)
	a.segments[len(a.runs)] = r.base
	a.runs = append(a.runs, r)
}

// pop drops the last bucket. Segments are given back with some delay, so that
// a table that breathes does not take and release them all the time.
func (a *bucketArray) pop(pool *Pool) {
	a.count--
	n := len(a.runs)
	switch {
	case n > 1 && a.count+1<<(segmentShift-2) <= uint32(n-1)<<segmentShift:
		a.segments[n-1] = nil
		pool.release(a.runs[n-1])
		a.runs = a.runs[:n-1]
	case n == 1 && a.runs[0].pages > 1 && a.count <= a.runs[0].pages*pageBuckets/4:
		a.resizeFirst(pool, int(a.runs[0].pages)/2)
	}
	a.tellIdle(pool)
}

func (a *bucketArray) resizeFirst(pool *Pool, pages int) {
	a.runs[0] = pool.resize(a.runs[0], pages)
	a.segments[0] = a.runs[0].base
}

func (a *bucketArray) release(pool *Pool) {
	for _, r := range a.runs {
		pool.release(r)
	}
	pool.idle.Add(-a.idle)
	*a = bucketArray{}
}

func (a *bucketArray) sizeBytes() int64 {
	return int64(a.room()) * bucketBytes
}
