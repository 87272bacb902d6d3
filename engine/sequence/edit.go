// This file owns how a sequence changes. It must not know what is in a block.

package sequence

import (
	"slices"

	"reminis/engine/table"
)

// Insert makes block, whose bytes are copied, the one behind the place after, or
// the first of all when that is nowhere. Its key lies between those of its
// neighbours.
func (s *Sequence) Insert(after Place, key uint64, count int, block []byte) Place {
	room := len(block)
	if s.Blocks() > 1 && (after.None() || after == s.Last()) {
		// What was an end is one no longer: it grows seldom now. The new one is
		// likely to become as large.
		end := after
		if end.None() {
			end = s.First()
		}
		s.trim(end)
		if s.Blocks() >= longBlocks {
			room = max(room, min(s.BlockBytes(end), roomMaxBytes*2))
		}
	}
	x := entry{key: key, count: count, number: s.takeNumber(), size: uint32(len(block))}
	s.store(x.number, room, block)
	at := Place{leaf: after.leaf, slot: after.slot + 1}
	if after.None() {
		at = s.root.first()
	}
	s.addUp(at.leaf, count)
	at.leaf, at.slot = s.insertEntry(at.leaf, at.slot, x)
	return at
}

// Delete removes the block at p and returns the place of the one behind it,
// nowhere when it was the last.
func (s *Sequence) Delete(p Place) Place {
	x := *p.entry()
	name := nameOf(x.number)
	s.blocks.Delete(table.Hash(name[:]), name[:])
	s.opened = [openedMax]opened{}
	s.freeNumbers = append(s.freeNumbers, x.number)
	s.addUp(p.leaf, -x.count)
	return s.deleteEntry(p, s.Next(p))
}

// Splice replaces removed bytes at an offset of the block at p by added, after
// which it holds count elements. The bytes added must not alias the sequence.
func (s *Sequence) Splice(p Place, offset, removed int, added []byte, count int) {
	x := p.entry()
	size := int(x.size) - removed + len(added)
	value := s.value(x.number).Value()
	if tail := value[offset+removed : x.size]; size <= len(value) && (len(added) >= removed || s.mayHave(p, len(value), size)) {
		copy(value[offset+len(added):], tail)
		copy(value[offset:], added)
	} else {
		slack := slackFor(size)
		if s.isEnd(p) {
			slack = endSlackFor(size)
		}
		// A copy, because the table may move blocks before it stores one. Most
		// blocks fit the stack.
		var short [4096]byte
		block := append(append(append(short[:0], value[:offset]...), added...), tail...)
		if size < int(x.size) {
			slack = 0
		}
		s.store(x.number, size+slack, block)
	}
	x.size = uint32(size)
	s.addUp(p.leaf, count-x.count)
	x.count = count
}

const (
	// roomMinBytes and roomMaxBytes bound the room that growing gives.
	roomMinBytes = 32
	roomMaxBytes = 1024
)

// slackFor is the room beyond its size that a growing block gets.
func slackFor(size int) int { return min(max(size/8, roomMinBytes), roomMaxBytes) }

// endSlackFor is slackFor of the first and the last block: most of what is added
// comes there, and two blocks weigh little.
func endSlackFor(size int) int { return min(max(size, roomMinBytes), roomMaxBytes) }

// longBlocks is from how many blocks on a sequence is long: the room of its two ends
// does not count.
const longBlocks = 32

// mayHave says whether the block at p, of a size, may stay where it has that room.
func (s *Sequence) mayHave(p Place, room, size int) bool {
	return room <= size+2*slackFor(size) || s.isEnd(p) && (room <= size+2*endSlackFor(size) || s.Blocks() >= longBlocks)
}

func (s *Sequence) isEnd(p Place) bool { return p == s.Last() || p == s.First() }

// trim gives a block's room back.
func (s *Sequence) trim(p Place) {
	x := p.entry()
	if value := s.value(x.number).Value(); len(value) > int(x.size) {
		var short [4096]byte
		s.store(x.number, int(x.size), append(short[:0], value[:x.size]...))
	}
}

// Rekey changes the key of the block at p, which still lies between those of its
// neighbours.
func (s *Sequence) Rekey(p Place, key uint64) {
	p.entry().key = key
	if p.slot == 0 {
		rekeyUp(p.leaf)
	}
}

// Clear removes all blocks and gives their memory back.
func (s *Sequence) Clear() {
	s.blocks.Clear()
	*s = Sequence{pool: s.pool, blocks: s.blocks, root: &node{leaf: true}, nodes: 1}
}

// Clone is a copy that shares nothing with the sequence.
func (s *Sequence) Clone() *Sequence {
	c := New(s.pool)
	at := Place{}
	for p := s.First(); !p.None(); p = s.Next(p) {
		at = c.Insert(at, s.Key(p), s.Count(p), s.Block(p))
	}
	return c
}

func (s *Sequence) takeNumber() uint32 {
	if n := len(s.freeNumbers); n > 0 {
		number := s.freeNumbers[n-1]
		s.freeNumbers = s.freeNumbers[:n-1]
		return number
	}
	s.numbers++
	return s.numbers
}

// store makes block the value under a number, with that much room.
func (s *Sequence) store(number uint32, room int, block []byte) {
	name := nameOf(number)
	value, _ := s.blocks.Put(table.Hash(name[:]), name[:], 0, 0, room)
	s.opened = [openedMax]opened{}
	s.opened[number%openedMax] = opened{number, value}
	copy(value.Value(), block)
}

// addUp adds to the counts of all nodes that n is below, and of n in its parent.
func (s *Sequence) addUp(n *node, count int) {
	if count == 0 {
		return
	}
	s.total += count
	for ; n.parent != nil; n = n.parent {
		n.parent.entries[n.slot].count += count
	}
}

// rekeyUp tells whoever n is the first of that its first key has changed.
func rekeyUp(n *node) {
	for ; n.parent != nil; n = n.parent {
		n.parent.entries[n.slot].key = n.entries[0].key
		if n.slot > 0 {
			return
		}
	}
}

// insertEntry puts x at a slot of n, splits n when it is full, and returns where
// x came to stand. Counts above n have x already.
func (s *Sequence) insertEntry(n *node, slot int, x entry) (*node, int) {
	n.entries = slices.Insert(n.entries, slot, x)
	n.adopt(slot)
	if slot == 0 {
		rekeyUp(n)
	}
	if len(n.entries) <= fanout {
		return n, slot
	}
	// Who adds at an end of the sequence fills nodes there: a half that is left
	// behind would stay one.
	half := fanout / 2
	if slot == fanout && n.isEnd(func(up *node) bool { return up.slot == len(up.parent.entries)-1 }) {
		half = fanout
	} else if slot == 0 && n.isEnd(func(up *node) bool { return up.slot == 0 }) {
		half = 1
	}
	right := s.split(n, half)
	if slot >= half {
		return right, slot - half
	}
	return n, slot
}

// isEnd says whether at holds for n and all that it is below.
func (n *node) isEnd(at func(up *node) bool) bool {
	for ; n.parent != nil; n = n.parent {
		if !at(n) {
			return false
		}
	}
	return true
}

// split moves the entries of n from a slot on to a new node behind it.
func (s *Sequence) split(n *node, from int) (right *node) {
	right = &node{leaf: n.leaf, entries: make([]entry, len(n.entries)-from, fanout+1)}
	s.nodes++
	copy(right.entries, n.entries[from:])
	clear(n.entries[from:])
	n.entries = n.entries[:from]
	right.adopt(0)
	moved := right.count()
	if n.parent == nil {
		s.root = &node{entries: []entry{{key: n.entries[0].key, count: n.count() + moved, child: n}}}
		s.nodes++
		s.root.adopt(0)
	}
	n.parent.entries[n.slot].count -= moved
	s.insertEntry(n.parent, n.slot+1, entry{key: right.entries[0].key, count: moved, child: right})
	return right
}

// adopt tells the nodes at n's entries from a slot on where they are.
func (n *node) adopt(from int) {
	if n.leaf {
		return
	}
	for i := from; i < len(n.entries); i++ {
		n.entries[i].child.parent, n.entries[i].child.slot = n, i
	}
}

// deleteEntry removes the entry at p from its node, and the node when it is
// empty; small neighbours become one. It returns where the entry of the place
// watch is afterwards. Counts above lack the entry already.
func (s *Sequence) deleteEntry(p, watch Place) Place {
	n := p.leaf
	n.entries = slices.Delete(n.entries, p.slot, p.slot+1)
	n.adopt(p.slot)
	if watch.leaf == n && watch.slot > p.slot {
		watch.slot--
	}
	switch {
	case n.parent == nil:
		s.shrinkRoot()
		return watch
	case len(n.entries) == 0:
		s.nodes--
		return s.deleteEntry(Place{n.parent, n.slot}, watch)
	case p.slot == 0:
		rekeyUp(n)
	}
	if len(n.entries) >= fanout/4 {
		return watch
	}
	if siblings := n.parent.entries; n.slot+1 < len(siblings) && fitTogether(n, siblings[n.slot+1].child) {
		return s.merge(n, siblings[n.slot+1].child, watch)
	} else if n.slot > 0 && fitTogether(siblings[n.slot-1].child, n) {
		return s.merge(siblings[n.slot-1].child, n, watch)
	}
	return watch
}

// fitTogether says whether two nodes should become one; it leaves room, so that
// the next insertion does not split it again.
func fitTogether(left, right *node) bool {
	return len(left.entries)+len(right.entries) <= fanout*3/4
}

// merge moves the entries of right to left, the node before it, and removes it.
func (s *Sequence) merge(left, right *node, watch Place) Place {
	if watch.leaf == right {
		watch = Place{left, len(left.entries) + watch.slot}
	}
	from := len(left.entries)
	left.entries = append(left.entries, right.entries...)
	left.adopt(from)
	left.parent.entries[left.slot].count += right.parent.entries[right.slot].count
	s.nodes--
	return s.deleteEntry(Place{right.parent, right.slot}, watch)
}

// shrinkRoot makes an only child the root, and an inner node without entries an
// empty leaf.
func (s *Sequence) shrinkRoot() {
	for !s.root.leaf && len(s.root.entries) == 1 {
		s.root = s.root.entries[0].child
		s.root.parent, s.root.slot = nil, 0
		s.nodes--
	}
	if len(s.root.entries) == 0 {
		s.root = &node{leaf: true}
	}
}
