// This file owns compaction: moving what lives out of blocks in which much is
// dead. It must not decide anything else about records.

package table

import "unsafe"

const (
	// Compaction begins when more than 1/4 of the bytes in blocks is dead (and
	// more than half a page): the block with the largest dead share then has at
	// least that share, so freeing a byte copies at most three, in practice
	// about one.
	deadPerLive = 3 // begins when deadPerLive * dead > live
	minDead     = minBlockBytes / 2

	// Each mutation walks that many bytes of the victim, and stepPerDead times
	// what it let die. Freeing needs a walk of at most 4 times: so compaction
	// always gains on the mutations that cause it.
	stepBytes   = 512
	stepPerDead = 8

	moveBatch = 16 // records whose buckets are prefetched together
)

// maintain does the bounded share of compaction that a mutation owes. Every
// Entry of the table is invalid afterwards.
func (t *Table) maintain() {
	s := &t.store
	t.last = Entry{}
	if s.victim == 0 {
		if s.dead*deadPerLive <= s.live || s.dead <= minDead {
			s.debt = 0
			return
		}
		t.chooseVictim()
	}
	budget := stepBytes + stepPerDead*s.debt
	s.debt = 0
	for budget > 0 && s.victim != 0 {
		budget -= t.moveSome(budget)
	}
	t.publish()
}

// maintainHolding is maintain for a caller that goes on using e.
func (t *Table) maintainHolding(e Entry) Entry {
	t.held = e.ref
	t.maintain()
	e = t.store.entry(t.held)
	t.held = 0
	return e
}

// chooseVictim picks the block with the largest dead share. The current block
// may be it: then another is opened for what comes.
func (t *Table) chooseVictim() {
	s := &t.store
	best, bestShare := uint32(0), 0.0
	for number := uint32(1); number <= s.numbers; number++ {
		b := &s.blocks[number]
		if b.dead == 0 {
			continue
		}
		if share := float64(b.dead) / float64(b.used); share > bestShare {
			best, bestShare = number, share
		}
	}
	if best == s.current {
		s.current = 0
	}
	s.victim, s.victimPos = best, 0
}

// moveSome walks the victim for about budget bytes, at most moveBatch live
// records, and returns how many bytes it walked. It frees the victim at its
// end.
func (t *Table) moveSome(budget int) int {
	s := &t.store
	b := &s.blocks[s.victim]
	var hashes [moveBatch]uint64
	var entries [moveBatch]Entry
	n, walked := 0, 0
	for n < moveBatch && walked < budget && s.victimPos < b.used {
		e := s.entry(s.victim<<blockShift | s.victimPos>>unitShift)
		size := e.SizeBytes()
		s.victimPos += uint32(size)
		walked += size
		if *e.header()&flagDead != 0 {
			continue
		}
		entries[n], hashes[n] = e, Hash(e.Key())
		prefetchLine(unsafe.Pointer(t.home(hashes[n])))
		n++
	}
	for i := range n {
		t.move(hashes[i], entries[i])
	}
	// Moving may have opened a block and replaced the array of blocks.
	if b = &s.blocks[s.victim]; s.victimPos >= b.used {
		s.freeBlock(s.victim)
		s.victim = 0
	}
	return walked
}

// move copies a live record of the victim to the current block.
func (t *Table) move(hash uint64, e Entry) {
	s := &t.store
	size := e.SizeBytes()
	to := s.alloc(size)
	copy(unsafe.Slice((*byte)(to.at), size), unsafe.Slice((*byte)(e.at), size))
	b, slot := t.slotOf(hash, e.ref)
	b.refs[slot] = to.ref
	if t.held == e.ref {
		t.held = to.ref
	}
	*e.header() |= flagDead
	s.blocks[s.victim].dead += uint32(size)
	s.live -= int64(size)
	s.dead += int64(size)
}
