// This file owns the full check of a table's structure, for tests. It must not
// repair anything.

package table

import "fmt"

// Check verifies every invariant of the table and returns the first violation.
// It takes time and memory proportional to the table.
func (t *Table) Check() error {
	c := checker{t: t, seen: make(map[uint32]bool, t.entries), chained: make(map[uint32]bool)}
	for i := range t.buckets.count {
		if err := c.chain(i); err != nil {
			return err
		}
	}
	if len(c.seen) != t.entries {
		return fmt.Errorf("table: %d entries in buckets, %d counted", len(c.seen), t.entries)
	}
	if len(c.chained) != int(t.overflow.count) {
		return fmt.Errorf("table: %d overflow buckets in chains, %d allocated", len(c.chained), t.overflow.count)
	}
	if t.buckets.count > 0 && t.mask != maskFor(t.buckets.count) {
		return fmt.Errorf("table: mask %#x for %d buckets", t.mask, t.buckets.count)
	}
	if t.entries > 0 && t.shared.buckets.Load() != t.buckets.count {
		return fmt.Errorf("table: %d buckets published, %d there", t.shared.buckets.Load(), t.buckets.count)
	}
	if t.last.at != nil {
		if _, _, e := t.find(t.lastHash, t.last.Key()); e != t.last {
			return fmt.Errorf("table: the entry that was found last is another")
		}
	}
	return c.store()
}

type checker struct {
	t       *Table
	seen    map[uint32]bool // references in buckets
	chained map[uint32]bool // overflow buckets in chains
}

func (c checker) chain(i uint32) error {
	t := c.t
	for b := t.buckets.at(i); ; {
		for slot := range bucketSlots {
			if slot >= b.used() {
				if b.tags[slot] != 0 || b.refs[slot] != 0 {
					return fmt.Errorf("table: bucket %d has a hole before slot %d", i, slot)
				}
				continue
			}
			if err := c.slot(i, b.tags[slot], b.refs[slot]); err != nil {
				return err
			}
		}
		if b.next == 0 {
			return nil
		}
		if b.used() < bucketSlots {
			return fmt.Errorf("table: bucket %d continues before it is full", i)
		}
		if b.next > t.overflow.count || c.chained[b.next-1] {
			return fmt.Errorf("table: bucket %d continues in overflow bucket %d of %d, or shares it", i, b.next-1, t.overflow.count)
		}
		c.chained[b.next-1] = true
		if b = t.overflow.at(b.next - 1); b.used() == 0 {
			return fmt.Errorf("table: bucket %d ends in an empty overflow bucket", i)
		}
	}
}

func (c checker) slot(i uint32, tag uint8, ref uint32) error {
	if c.seen[ref] {
		return fmt.Errorf("table: reference %#x is in two slots", ref)
	}
	c.seen[ref] = true
	e := c.t.store.entry(ref)
	if *e.header()&flagDead != 0 {
		return fmt.Errorf("table: reference %#x in bucket %d is to a dead record", ref, i)
	}
	hash := Hash(e.Key())
	if tagOf(hash) != tag || bucketOf(hash, c.t.buckets.count, c.t.mask) != i {
		return fmt.Errorf("table: key %q is in bucket %d, where its hash does not belong", e.Key(), i)
	}
	return nil
}

// store verifies that blocks hold exactly the records that buckets refer to.
func (c checker) store() error {
	s := &c.t.store
	var live, dead, blockBytes, jumboBytes int64
	found := 0
	for number := range s.blocks {
		b := &s.blocks[number]
		if b.run.pages == 0 {
			continue
		}
		blockBytes += int64(b.run.sizeBytes())
		blockLive, blockDead, n, err := c.block(uint32(number))
		if err != nil {
			return err
		}
		live, dead, found = live+blockLive, dead+blockDead, found+n
	}
	for i, r := range s.jumbos {
		if r.pages == 0 {
			continue
		}
		jumboBytes += int64(r.sizeBytes())
		found++
		if ref := firstJumbo + uint32(i); !c.seen[ref] || s.entry(ref).SizeBytes() != r.sizeBytes() {
			return fmt.Errorf("table: large record %d is lost or not as large as its run", i)
		}
	}
	if found != len(c.seen) {
		return fmt.Errorf("table: %d live records in blocks, %d in buckets", found, len(c.seen))
	}
	if live != s.live || dead != s.dead || blockBytes != s.blockBytes || jumboBytes != s.jumboBytes {
		return fmt.Errorf("table: bytes live %d dead %d blocks %d jumbos %d, counted %d %d %d %d",
			live, dead, blockBytes, jumboBytes, s.live, s.dead, s.blockBytes, s.jumboBytes)
	}
	return nil
}

func (c checker) block(number uint32) (live, dead int64, records int, err error) {
	b := &c.t.store.blocks[number]
	for pos := uint32(0); pos < b.used; {
		ref := number<<blockShift | pos>>unitShift
		e := c.t.store.entry(ref)
		size := e.SizeBytes()
		if size < 8 || size > maxBlockRecord || pos+uint32(size) > b.used {
			return 0, 0, 0, fmt.Errorf("table: record %#x of %d bytes does not fit its block", ref, size)
		}
		isDead := *e.header()&flagDead != 0
		if isDead == c.seen[ref] {
			return 0, 0, 0, fmt.Errorf("table: record %#x: dead %v, in a bucket %v", ref, isDead, c.seen[ref])
		}
		if isDead {
			dead += int64(size)
		} else {
			live += int64(size)
			records++
		}
		pos += uint32(size)
	}
	if dead != int64(b.dead) {
		return 0, 0, 0, fmt.Errorf("table: block %d has %d dead bytes, counted %d", number, dead, b.dead)
	}
	return live, dead, records, nil
}
