// This file owns walking over all entries: by cursor, at random, at once. It
// must not change the table.

package table

import "math/bits"

// Scan visits the entries of one bucket and returns the cursor of the next
// call; 0 begins a scan, and 0 returned ends it. Cursors are below 2^32.
//
// An entry that is in the table from the beginning of a scan to its end is
// visited at least once, whatever else is inserted and deleted in between: the
// cursor is a position among all hashes in the order of their reversed bits,
// in which a bucket is always one interval, splitting cuts an interval in two,
// and merging joins two neighbours. Entries may be visited more than once. The
// table must not be changed by visit.
func (t *Table) Scan(cursor uint64, visit func(Entry)) (next uint64) {
	if t.entries == 0 {
		return 0
	}
	i := bucketOf(cursor, t.buckets.count, t.mask)
	for b := t.buckets.at(i); b != nil; b = t.next(b) {
		for slot := range b.used() {
			visit(t.store.entry(b.refs[slot]))
		}
	}
	// The interval's end: all bits that the bucket does not fix are passed.
	reversed := bits.Reverse32(uint32(cursor) | ^t.maskOf(i))
	return uint64(bits.Reverse32(reversed + 1))
}

// maskOf returns the mask of the hash bits that bucket i fixes.
func (t *Table) maskOf(i uint32) uint32 {
	half := t.mask >> 1
	if i > half || i+half+1 < t.buckets.count {
		return t.mask
	}
	return half
}

// randomTries bounds Random: at 5 of 12 slots filled, the fewest a table
// above its minimum has on average, all fail once in 10^15.
const randomTries = 64

// Random returns an entry chosen by r, every entry with the same probability
// over all r; false when the table is empty. The choice depends on nothing but
// r and the table.
func (t *Table) Random(r uint64) (Entry, bool) {
	if t.entries == 0 {
		return Entry{}, false
	}
	total := uint64(t.buckets.count) + uint64(t.overflow.count)
	for range randomTries {
		r = mix(r)
		high, _ := bits.Mul64(r, total*bucketSlots)
		if b := t.anyBucket(uint32(high / bucketSlots)); b.tags[high%bucketSlots] != 0 {
			return t.store.entry(b.refs[high%bucketSlots]), true
		}
	}
	// Take the nearest filled bucket instead.
	high, _ := bits.Mul64(mix(r), total)
	for {
		if b := t.anyBucket(uint32(high)); b.tags[0] != 0 {
			return t.store.entry(b.refs[0]), true
		}
		high = (high + 1) % total
	}
}

// anyBucket returns bucket i of all: first those that hashes choose, then the
// overflow.
func (t *Table) anyBucket(i uint32) *bucket {
	if i < t.buckets.count {
		return t.buckets.at(i)
	}
	return t.overflow.at(i - t.buckets.count)
}

// mix is SplitMix64's step: any r, also small successive ones, gives bits that
// look random.
func mix(r uint64) uint64 {
	r += 0x9e3779b97f4a7c15
	r = (r ^ r>>30) * 0xbf58476d1ce4e5b9
	r = (r ^ r>>27) * 0x94d049bb133111eb
	return r ^ r>>31
}

// Each visits every entry once, in no particular order, until visit returns
// false. The table must not be changed by visit.
func (t *Table) Each(visit func(Entry) bool) {
	for i := range t.buckets.count + t.overflow.count {
		b := t.anyBucket(i)
		for slot := range b.used() {
			if !visit(t.store.entry(b.refs[slot])) {
				return
			}
		}
	}
}
