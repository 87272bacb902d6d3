// This file owns chains and linear hashing: putting references into chains,
// taking them out, splitting and merging buckets. It must not know records
// beyond their keys.

package table

const (
	// A bucket is split off when there are more than splitLoad entries a bucket,
	// and merged back when there are fewer than mergeLoad. See doc.go for how
	// they were chosen.
	splitLoad = 8
	mergeLoad = 5
)

// detached is a reference on its way from one chain to another.
type detached struct {
	ref uint32
	tag uint8
}

// insert adds a reference to its chain, after growing the table by one bucket
// when it is due.
func (t *Table) insert(hash uint64, ref uint32) {
	if t.buckets.count == 0 {
		t.buckets.push(t.store.pool)
	} else if t.entries >= int(t.buckets.count)*splitLoad {
		t.split()
	}
	t.append(bucketOf(hash, t.buckets.count, t.mask), tagOf(hash), ref)
	t.entries++
	t.publish()
}

// append adds a reference at the end of the chain of bucket i.
func (t *Table) append(i uint32, tag uint8, ref uint32) {
	b := t.lastOf(i)
	slot := b.used()
	if slot == bucketSlots {
		number := t.overflow.push(t.store.pool)
		// push may have moved the bucket that b points to.
		t.lastOf(i).next = number + 1
		b, slot = t.overflow.at(number), 0
	}
	b.tags[slot], b.refs[slot] = tag, ref
}

// lastOf returns the last bucket of the chain of bucket i.
func (t *Table) lastOf(i uint32) *bucket {
	b := t.buckets.at(i)
	for b.next != 0 {
		b = t.overflow.at(b.next - 1)
	}
	return b
}

// remove takes the reference at a slot of the hash's chain out, and shrinks
// the table by one bucket when it is due.
func (t *Table) remove(hash uint64, b *bucket, slot int) {
	home := bucketOf(hash, t.buckets.count, t.mask)
	last := t.lastOf(home)
	end := last.used() - 1
	b.tags[slot], b.refs[slot] = last.tags[end], last.refs[end]
	last.tags[end], last.refs[end] = 0, 0
	if end == 0 {
		t.trim(home)
	}
	t.entries--
	if t.buckets.count > 1 && t.entries < int(t.buckets.count)*mergeLoad {
		t.merge()
	}
	t.publish()
}

// trim frees the empty overflow buckets at the end of the chain of bucket i.
func (t *Table) trim(i uint32) {
	for {
		before, last := (*bucket)(nil), t.buckets.at(i)
		for last.next != 0 {
			before, last = last, t.overflow.at(last.next-1)
		}
		if before == nil || last.tags[0] != 0 {
			return
		}
		number := before.next - 1
		before.next = 0
		t.freeOverflow(i, number)
	}
}

// freeOverflow frees an overflow bucket that was the last of the chain of
// bucket i. The last one of all takes its place, so that they stay dense and
// their memory can shrink.
func (t *Table) freeOverflow(i, number uint32) {
	last := t.overflow.count - 1
	if number != last {
		moved := t.overflow.at(last)
		before := t.buckets.at(i)
		if moved.tags[0] != 0 {
			before = t.home(Hash(t.store.entry(moved.refs[0]).Key()))
		} // else it is another empty one, further up in this chain
		for before.next != last+1 {
			before = t.overflow.at(before.next - 1)
		}
		*t.overflow.at(number) = *moved
		before.next = number + 1
	}
	t.overflow.pop(t.store.pool)
}

// split adds one bucket and moves to it what belongs there, from one chain.
func (t *Table) split() {
	added := t.buckets.push(t.store.pool)
	parent := parentOf(added)
	t.mask = maskFor(added + 1)

	// Each key must be read for its hash; together the misses cost little more
	// than one.
	for b := t.buckets.at(parent); b != nil; b = t.next(b) {
		for i := range b.used() {
			prefetchLine(t.store.entry(b.refs[i]).at)
		}
	}
	to, toSlot := t.buckets.at(parent), 0 // what stays moves up to here
	for b := t.buckets.at(parent); b != nil; b = t.next(b) {
		for i := range b.used() {
			tag, ref := b.tags[i], b.refs[i]
			b.tags[i], b.refs[i] = 0, 0
			if uint32(Hash(t.store.entry(ref).Key()))&t.mask == added {
				t.moving = append(t.moving, detached{ref, tag})
				continue
			}
			if toSlot == bucketSlots {
				to, toSlot = t.next(to), 0
			}
			to.tags[toSlot], to.refs[toSlot] = tag, ref
			toSlot++
		}
	}
	t.trim(parent)
	for _, m := range t.moving {
		t.append(added, m.tag, m.ref)
	}
	t.moving = t.moving[:0]
}

// merge takes the last bucket away and adds its chain to its parent's.
func (t *Table) merge() {
	last := t.buckets.count - 1
	parent := parentOf(last)
	for b := t.buckets.at(last); b != nil; b = t.next(b) {
		for i := range b.used() {
			t.moving = append(t.moving, detached{b.refs[i], b.tags[i]})
			b.tags[i], b.refs[i] = 0, 0
		}
	}
	t.trim(last)
	t.buckets.pop(t.store.pool)
	t.mask = maskFor(t.buckets.count)
	for _, m := range t.moving {
		t.append(parent, m.tag, m.ref)
	}
	t.moving = t.moving[:0]
}
