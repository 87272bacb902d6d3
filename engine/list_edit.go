package engine

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"reminis/engine/effect"
	"reminis/engine/listpack"
)

// This file owns how a transaction changes a list: which block takes an element,
// when blocks are split, joined and named anew. All of it is decided here, once,
// and emitted as effects that replace bytes of blocks; apply (list_apply.go) only
// follows them.

// ListPush adds values to an end of the list key, which it creates, one after the
// other: at the front the last value comes to stand first. It returns the new
// length. The caller has read the list l; values must not alias it.
func (tx *Tx) ListPush(key []byte, l List, front bool, values [][]byte) (length int) {
	length = l.Len() + len(values)
	for ; len(values) > 0; l = tx.listOf(key) {
		end := l.end(front)
		taken := fitting(values, &end)
		if taken == 0 {
			name, ok := beyond(end.name, front)
			if end.none() {
				name, ok = firstBlock, true
			}
			if !ok {
				tx.renameBlocks(key, end)
				continue
			}
			end = block{name: name}
			taken = max(1, fitting(values, &end))
		}
		offset := end.sizeBytes
		if front {
			offset = 0
		}
		tx.spliceBlock(key, &l, &end, &splice{offset: offset, added: tx.packValues(values[:taken], front), count: taken})
		if values = values[taken:]; len(values) == 0 {
			break
		}
	}
	return length
}

// ListInsert puts value before the element at index, or behind the last one.
// The caller has read the list, which is not empty; value must not alias it.
func (tx *Tx) ListInsert(key []byte, index int, value []byte) {
	one := [1][]byte{value}
	for {
		l := tx.listOf(key)
		if index == 0 || index == l.Len() {
			tx.ListPush(key, l, index == 0, one[:])
			return
		}
		b, within := l.blockAt(index)
		fits := fitting(one[:], &b) > 0
		if within > 0 && !fits {
			tx.splitBlock(key, &l, b, within, listpack.ElementBytes(value))
			continue
		}
		if within == 0 {
			before := l.prev(b)
			if fitting(one[:], &before) > 0 {
				b, within = before, before.count
			} else if !fits {
				name, ok := between(before.name, b.name)
				if !ok {
					tx.renameBlocks(key, b)
					continue
				}
				tx.spliceList(key, name, 0, 0, tx.packValues(one[:], false))
				return
			}
		}
		tx.spliceList(key, b.name, l.run(b).Index(within, b.count), 0, tx.packValues(one[:], false))
		return
	}
}

// ListSet replaces the element at index, which exists. The caller has read the
// list; value must not alias it.
func (tx *Tx) ListSet(key []byte, index int, value []byte) {
	l := tx.listOf(key)
	b, within := l.blockAt(index)
	run := l.run(b)
	pos := run.Index(within, b.count)
	oldBytes := run.Next(pos) - pos
	if b.count == 1 || b.sizeBytes-oldBytes+listpack.ElementBytes(value) <= blockMaxBytes {
		one := [1][]byte{value}
		tx.spliceList(key, b.name, pos, oldBytes, tx.packValues(one[:], false))
		tx.joinBlocks(key, index)
		return
	}
	tx.spliceList(key, b.name, pos, oldBytes, nil)
	tx.ListInsert(key, index, value)
}

// ListRemove removes count elements from the one at index first on, which exist,
// and returns how many are left. The last element takes the key with it. The
// caller has read the list l.
func (tx *Tx) ListRemove(key []byte, l List, first, count int) (length int) {
	length = l.Len() - count
	if count == 0 {
		return length
	}
	if length == 0 {
		tx.emit(&effect.Effect{Kind: effect.KeyDelete, DB: uint32(tx.DB), Key: key, Number: int64(effect.Deleted)})
		return length
	}
	b, removed := tx.removeWithin(key, &l, first+count, count)
	if removed == count && (l.big == nil || !b.none() && (first == 0 && !l.joinsNext(b) || first == length && !l.joinsPrev(b))) {
		return length // as most pops do, it leaves nothing to be joined
	}
	for count -= removed; count > 0; count -= removed {
		l = tx.listOf(key)
		_, removed = tx.removeWithin(key, &l, first+count, count)
	}
	tx.joinBlocks(key, first)
	return length
}

// removeWithin removes those of the count elements before index limit that are in
// the block of the last of them. It returns what is left of the block.
func (tx *Tx) removeWithin(key []byte, l *List, limit, count int) (left block, removed int) {
	b, within := l.blockAt(limit - 1)
	removed = min(count, within+1)
	if removed == b.count {
		tx.dropBlock(key, b.name)
		return block{}, removed
	}
	run := l.run(b)
	end := run.Index(within+1, b.count)
	from := end
	for range removed {
		from = run.Prev(from)
	}
	tx.spliceBlock(key, l, &b, &splice{offset: from, removed: end - from, count: -removed})
	b.count, b.sizeBytes = b.count-removed, b.sizeBytes-(end-from)
	return b, removed
}

// listOf is the list key, whose type is known.
func (tx *Tx) listOf(key []byte) List {
	ks, _, x, ok := tx.find(tx.DB, key)
	if !ok {
		return List{}
	}
	l, _ := listOf(ks, x)
	return l
}

// splice is bytes of a block that others replace, and by how much its number of
// elements changes.
type splice struct {
	offset, removed int
	added           []byte
	count           int
}

// spliceBlock is spliceList for a block that the caller has found in l: nothing is
// looked up or counted again.
func (tx *Tx) spliceBlock(key []byte, l *List, b *block, x *splice) {
	if b.place.None() || x.removed > 0 && l.big.Blocks() == 1 { // it may become a packed list
		tx.spliceList(key, b.name, x.offset, x.removed, x.added)
		return
	}
	l.applySplice(key, b, x)
	if !tx.batch.Skip() {
		e := tx.listSplice(key, b.name, x.offset, x.removed, x.added)
		tx.batch.Add(&e)
	}
}

func (tx *Tx) spliceList(key []byte, name uint64, offset, removedBytes int, added []byte) {
	e := tx.listSplice(key, name, offset, removedBytes, added)
	tx.emit(&e)
}

func (tx *Tx) listSplice(key []byte, name uint64, offset, removedBytes int, added []byte) effect.Effect {
	binary.BigEndian.PutUint64(tx.blockName[:], name)
	return effect.Effect{Kind: effect.ListSplice, DB: uint32(tx.DB), Key: key, Field: tx.blockName[:],
		Number: int64(offset), Count: int64(removedBytes), Value: added}
}

func (tx *Tx) dropBlock(key []byte, name uint64) {
	binary.BigEndian.PutUint64(tx.blockName[:], name)
	tx.emit(&effect.Effect{Kind: effect.ListDrop, DB: uint32(tx.DB), Key: key, Field: tx.blockName[:]})
}

// packValues is values as elements, reversed or not, in the transaction's buffer.
func (tx *Tx) packValues(values [][]byte, reversed bool) []byte {
	run := tx.elements[:0]
	for i := range values {
		if reversed {
			i = len(values) - 1 - i
		}
		run = listpack.AppendElement(run, values[i])
	}
	tx.keepElements(run)
	return run
}

// elementsMaxBytes is what the buffer may keep from one change to the next.
const elementsMaxBytes = 64 << 10

func (tx *Tx) keepElements(run []byte) {
	if cap(run) <= elementsMaxBytes {
		tx.elements = run
	}
}

// fitting is how many of values a block has room for.
func fitting(values [][]byte, b *block) (n int) {
	sizeBytes := b.sizeBytes
	for n < len(values) && b.count+n < blockMaxElements {
		if sizeBytes += listpack.ElementBytes(values[n]); sizeBytes > blockMaxBytes {
			break
		}
		n++
	}
	return n
}

// beyond is a name for a block at an end, where name is the last one now.
func beyond(name uint64, front bool) (_ uint64, ok bool) {
	switch {
	case front && name < 2*blockSpacing:
		return between(0, name)
	case front:
		return name - blockSpacing, true
	case name > math.MaxUint64-2*blockSpacing:
		return between(name, math.MaxUint64)
	}
	return name + blockSpacing, true
}

// between is a name between two others.
func between(low, high uint64) (name uint64, ok bool) {
	return low + (high-low)/2, high-low >= 2
}

// splitBlock makes b two, near its middle, or at the element within if what is
// about to be put there takes so many bytes that no half has room for it.
func (tx *Tx) splitBlock(key []byte, l *List, b block, within, addedBytes int) {
	name, ok := beyond(b.name, false)
	if next := l.next(b); !next.none() {
		name, ok = between(b.name, next.name)
	}
	if !ok {
		tx.renameBlocks(key, b)
		return
	}
	run := l.run(b)
	at := run.Index(within, b.count)
	if addedBytes <= blockMaxBytes/2 {
		at = 0
		for at < len(run)/2 {
			at = run.Next(at)
		}
		if at == len(run) {
			at = run.Prev(at)
		}
	}
	tail := append(tx.elements[:0], run[at:]...)
	tx.keepElements(tail)
	tx.spliceList(key, b.name, at, len(tail), nil)
	tx.spliceList(key, name, 0, 0, tail)
}

// small says whether a block should join a neighbour.
func (b block) small() bool { return b.sizeBytes < blockMaxBytes/4 && b.count < blockMaxElements/4 }

// joinable says whether two blocks make one; it leaves room, so that the next
// insertion does not split it again.
func joinable(b, c block) bool {
	return b.sizeBytes+c.sizeBytes <= blockMaxBytes*3/4 && b.count+c.count <= blockMaxElements*3/4
}

// joinsNext says whether b, the first block, should become one with another.
func (l *List) joinsNext(b block) bool { return b.small() && l.joins(b, l.next(b)) }

// joinsPrev is joinsNext for the last block.
func (l *List) joinsPrev(b block) bool { return b.small() && l.joins(b, l.prev(b)) }

func (l *List) joins(b, c block) bool { return c.none() || joinable(b, c) }

// joinBlocks keeps blocks around index from becoming many and small, after
// elements were removed or became shorter there. A list of one small block is a
// packed one again.
func (tx *Tx) joinBlocks(key []byte, index int) {
	l := tx.listOf(key)
	if l.big == nil {
		return
	}
	b, within := l.blockAt(min(index, l.Len()-1))
	if within == 0 && !b.small() {
		b = l.prev(b) // it may end where elements were removed
	}
	if b.none() || !b.small() {
		return
	}
	before, behind := l.prev(b), l.next(b)
	switch {
	case !before.none() && joinable(before, b):
		tx.joinPair(key, &l, before, b)
	case !behind.none() && joinable(b, behind):
		tx.joinPair(key, &l, b, behind)
	case before.none() && behind.none() && b.name != firstBlock:
		run := append(tx.elements[:0], l.run(b)...)
		tx.keepElements(run)
		tx.dropBlock(key, b.name)
		tx.spliceList(key, firstBlock, 0, 0, run)
	}
}

// joinPair moves the smaller of two neighbours into the other.
func (tx *Tx) joinPair(key []byte, l *List, left, right block) {
	into, from, offset := left, right, left.sizeBytes
	if left.sizeBytes < right.sizeBytes {
		into, from, offset = right, left, 0
	}
	run := append(tx.elements[:0], l.run(from)...)
	tx.keepElements(run)
	tx.dropBlock(key, from.name)
	tx.spliceList(key, into.name, offset, 0, run)
}

// renameBlocks gives b and blocks around it other names, evenly far apart, so that
// there is room for new ones on both sides of each. It takes as few blocks as have
// room enough; the more they are, the farther apart they must come to be. So it is
// rare, and an insertion costs O(log² n) names in the mean, whatever the order of
// insertions (Bender and others, "Two simplified algorithms for maintaining order
// in a list").
func (tx *Tx) renameBlocks(key []byte, b block) {
	l := tx.listOf(key)
	first, last, count := b, b, uint64(1)
	low, gap := l.gapAround(first, last, count)
	for gap < uint64(1)<<(8+bits.Len64(count)/2) {
		for range count {
			if next := l.next(last); !next.none() {
				last, count = next, count+1
			}
			if prev := l.prev(first); !prev.none() {
				first, count = prev, count+1
			}
		}
		low, gap = l.gapAround(first, last, count)
	}
	runs := make([][]byte, 0, count)
	names := make([]uint64, 0, count)
	for b := first; !b.none() && b.name <= last.name; b = l.next(b) {
		runs, names = append(runs, bytes.Clone(l.run(b))), append(names, b.name)
	}
	for _, name := range names {
		tx.dropBlock(key, name)
	}
	for i, run := range runs {
		tx.spliceList(key, low+gap*uint64(i+1), 0, 0, run)
	}
}

// gapAround is how far apart count blocks would be, from first to last, and the
// name before them.
func (l *List) gapAround(first, last block, count uint64) (low, gap uint64) {
	low, high := uint64(0), uint64(math.MaxUint64)
	if before := l.prev(first); !before.none() {
		low = before.name
	}
	if behind := l.next(last); !behind.none() {
		high = behind.name
	}
	return low, (high - low) / (count + 1)
}
