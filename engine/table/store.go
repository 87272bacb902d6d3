// This file owns where records live: blocks that are filled from the front,
// and runs of their own for large records. It must not know buckets or hashes.

package table

import (
	"math/bits"
	"unsafe"
)

const (
	unitShift  = 3  // references count 8-byte units
	blockShift = 17 // units of a block: 1 MB
	unitMask   = 1<<blockShift - 1

	// firstJumbo is the first reference that is not a block and an offset but
	// the number of a large record: those need no offset, so they need not share
	// the 15 bits of block numbers.
	firstJumbo = 7 << 29
	maxBlocks  = firstJumbo >> blockShift

	// maxBlockRecord is the largest record in a block, 1/16 of it: what the next
	// record cannot use at a block's end stays small, and compaction never
	// copies more than that at once. Larger records are jumbos.
	maxBlockRecord = 64 << 10

	minBlockBytes = pageBytes
	maxBlockBytes = 1 << (blockShift + unitShift)
)

// block is a run that holds records from its front up to used.
type block struct {
	run  run
	used uint32 // bytes taken by records, live and dead
	dead uint32 // bytes of dead records among them
}

// store holds the records of one table.
type store struct {
	pool *Pool

	bases       []unsafe.Pointer // by block number, at full length; nil where there is no block
	blocks      []block          // the same
	numbers     uint32           // block numbers ever used; number 0 is none
	freeNumbers []uint32
	current     uint32 // the block that is being filled, 0 for none

	jumbos     []run
	freeJumbos []uint32

	live, dead int64 // bytes of records in blocks
	blockBytes int64
	jumboBytes int64
	idle       int64 // what the pool was told of

	victim    uint32 // the block that is being compacted, 0 for none
	victimPos uint32 // how far that is done
	debt      int    // bytes that died since the last step of compaction
}

func (s *store) entry(ref uint32) Entry {
	if ref >= firstJumbo {
		return Entry{s.jumbos[ref-firstJumbo].base, ref}
	}
	return Entry{unsafe.Add(s.bases[ref>>blockShift], uintptr(ref&unitMask)<<unitShift), ref}
}

// alloc returns room for a record of sizeBytes, which must be what shapeOf
// said; its content is arbitrary.
func (s *store) alloc(sizeBytes int) Entry {
	if sizeBytes > maxBlockRecord {
		return s.allocJumbo(sizeBytes / pageBytes)
	}
	if s.current == 0 || int(s.blocks[s.current].used)+sizeBytes > s.blocks[s.current].run.sizeBytes() {
		s.openBlock(sizeBytes)
	}
	b := &s.blocks[s.current]
	ref := s.current<<blockShift | b.used>>unitShift
	b.used += uint32(sizeBytes)
	s.live += int64(sizeBytes)
	s.tellIdle()
	return s.entry(ref)
}

// resizeLast gives the record that was put last another size where it is, and
// reports whether it could: then nothing is copied and nothing dies. A value that
// grows by appending, while nothing else is put, is such a record.
func (s *store) resizeLast(e Entry, sizeBytes int) bool {
	if !s.isLast(e) || sizeBytes > maxBlockRecord {
		return false
	}
	b := &s.blocks[s.current]
	used := e.ref&unitMask<<unitShift + uint32(sizeBytes)
	if int(used) > b.run.sizeBytes() {
		return false
	}
	s.live += int64(used) - int64(b.used)
	b.used = used
	s.tellIdle()
	return true
}

// isLast reports whether e ends where the next record will begin.
func (s *store) isLast(e Entry) bool {
	return e.ref < firstJumbo && e.ref>>blockShift == s.current &&
		e.ref&unitMask<<unitShift+uint32(e.SizeBytes()) == s.blocks[s.current].used
}

// idleStep is how exactly a pool knows what its tables do not use: a few bytes of
// each table are not worth a write to memory that all share.
const idleStep = 256

// tellIdle tells the pool what in the store's blocks is no record that lives.
func (s *store) tellIdle() {
	change := s.blockBytes - s.live - s.idle
	if change > idleStep || change < -idleStep {
		s.idle += change
		s.pool.idle.Add(change)
	}
}

// openBlock makes the current block one with room for sizeBytes. Blocks grow
// with the table, to 1/16 of it, so that what is not filled yet stays a small
// part; and hold four of the record at hand at least.
func (s *store) openBlock(sizeBytes int) {
	size := max(minBlockBytes, int(min(s.blockBytes/16, maxBlockBytes)), 4*sizeBytes)
	size = min(1<<bits.Len(uint(size-1)), maxBlockBytes)
	number := s.takeNumber()
	r := s.pool.alloc(size / pageBytes)
	s.bases[number] = r.base
	s.blocks[number] = block{run: r}
	s.blockBytes += int64(size)
	s.current = number
}

func (s *store) takeNumber() uint32 {
	if n := len(s.freeNumbers); n > 0 {
		number := s.freeNumbers[n-1]
		s.freeNumbers = s.freeNumbers[:n-1]
		return number
	}
	if s.numbers == maxBlocks-1 {
		panic("table: 28 GB of records in one table: the owner must ask Full before it adds")
	}
	s.numbers++
	if int(s.numbers) >= len(s.bases) {
		// New arrays, because a prefetcher may be reading the old ones.
		size := min(max(4, 2*len(s.bases)), maxBlocks)
		bases := make([]unsafe.Pointer, size)
		copy(bases, s.bases)
		blocks := make([]block, size)
		copy(blocks, s.blocks)
		s.bases, s.blocks = bases, blocks
	}
	return s.numbers
}

func (s *store) freeBlock(number uint32) {
	b := &s.blocks[number]
	s.dead -= int64(b.dead)
	s.blockBytes -= int64(b.run.sizeBytes())
	s.pool.release(b.run)
	*b = block{}
	s.bases[number] = nil
	s.tellIdle()
	s.freeNumbers = append(s.freeNumbers, number)
}

func (s *store) allocJumbo(pages int) Entry {
	r := s.pool.alloc(pages)
	s.jumboBytes += int64(r.sizeBytes())
	if n := len(s.freeJumbos); n > 0 {
		i := s.freeJumbos[n-1]
		s.freeJumbos = s.freeJumbos[:n-1]
		s.jumbos[i] = r
		return s.entry(firstJumbo + i)
	}
	s.jumbos = append(s.jumbos, r)
	return s.entry(firstJumbo + uint32(len(s.jumbos)-1))
}

// resizeJumbo gives a jumbo another number of pages under the same reference.
func (s *store) resizeJumbo(e Entry, pages int) Entry {
	r := &s.jumbos[e.ref-firstJumbo]
	s.jumboBytes -= int64(r.sizeBytes())
	*r = s.pool.resize(*r, pages)
	s.jumboBytes += int64(r.sizeBytes())
	return s.entry(e.ref)
}

// kill ends a record that no bucket refers to any more. What it occupied comes
// back at once when it was a jumbo or its block's last, else by compaction.
func (s *store) kill(e Entry) {
	if e.ref >= firstJumbo {
		i := e.ref - firstJumbo
		s.jumboBytes -= int64(s.jumbos[i].sizeBytes())
		s.pool.release(s.jumbos[i])
		s.jumbos[i] = run{}
		s.freeJumbos = append(s.freeJumbos, i)
		return
	}
	size := e.SizeBytes()
	number := e.ref >> blockShift
	b := &s.blocks[number]
	s.live -= int64(size)
	if s.isLast(e) {
		b.used -= uint32(size)
	} else {
		*e.header() |= flagDead
		b.dead += uint32(size)
		s.dead += int64(size)
		s.debt += size
	}
	s.tellIdle()
	if b.dead < b.used {
		return
	}
	if number == s.current {
		if b.run.pages == minBlockBytes/pageBytes {
			s.dead -= int64(b.dead)
			b.used, b.dead = 0, 0
			return
		}
		s.current = 0 // the next one may be smaller
	}
	if number == s.victim {
		s.victim = 0
	}
	s.freeBlock(number)
}

// releaseAll gives everything back.
func (s *store) releaseAll() {
	for i := range s.blocks {
		if s.blocks[i].run.pages > 0 {
			s.pool.release(s.blocks[i].run)
		}
	}
	for _, r := range s.jumbos {
		if r.pages > 0 {
			s.pool.release(r)
		}
	}
	s.pool.idle.Add(-s.idle)
	*s = store{pool: s.pool}
}
