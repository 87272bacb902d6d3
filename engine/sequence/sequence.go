// This file owns what a sequence is and how it is read. It must not know how a
// node is split, nor what is in a block.

package sequence

import (
	"encoding/binary"
	"sort"

	"reminis/engine/table"
)

// fanout is how many entries a node holds at most: 2 KB of them.
const fanout = 64

// Sequence is the tree. It has no lock: its owner serialises all methods.
type Sequence struct {
	pool   *table.Pool
	blocks *table.Table // by number; a value has room beyond the block's size
	root   *node
	nodes  int
	total  int // elements
	// opened are blocks that were looked at lately, where they lie in the table: it
	// moves none of them until it is changed.
	opened [openedMax]opened

	numbers     uint32 // block numbers ever used
	freeNumbers []uint32
}

// openedMax is how many blocks are remembered: those at both ends, mostly.
const openedMax = 4

// opened is a block by its number; 0 is none.
type opened struct {
	number uint32
	value  table.Entry
}

// node is a leaf, whose entries are blocks, or has entries that are nodes. Only
// the root of an empty sequence is without entries.
type node struct {
	parent  *node
	slot    int // where the parent has it
	leaf    bool
	entries []entry
}

// entry is a block or a node.
type entry struct {
	key    uint64 // of the block, or of the first block below
	count  int    // elements in it or below
	child  *node
	number uint32 // of the block
	size   uint32 // of the block in bytes
}

// Place is where a block stands; the zero Place is nowhere. Insert and Delete
// leave no place valid but what they return, all else leaves all.
type Place struct {
	leaf *node
	slot int
}

// None says whether the place is nowhere.
func (p Place) None() bool { return p.leaf == nil }

func (p Place) entry() *entry { return &p.leaf.entries[p.slot] }

// New returns an empty sequence whose blocks take their memory from pool.
func New(pool *table.Pool) *Sequence {
	return &Sequence{pool: pool, blocks: table.New(pool), root: &node{leaf: true}, nodes: 1}
}

// Len is the number of elements.
func (s *Sequence) Len() int { return s.total }

// Blocks is the number of blocks.
func (s *Sequence) Blocks() int { return s.blocks.Len() }

// SizeBytes is what the sequence takes in memory.
func (s *Sequence) SizeBytes() int64 {
	const nodeBytes = 48 + fanout*32
	stats := s.blocks.Stats()
	return stats.BlockBytes + stats.BucketBytes + int64(s.nodes)*nodeBytes
}

func (n *node) count() (count int) {
	for i := range n.entries {
		count += n.entries[i].count
	}
	return count
}

// Head is what is known of the block at p without its bytes: its key, how many elements
// it has, and its size.
func (s *Sequence) Head(p Place) (key uint64, count, sizeBytes int) {
	x := p.entry()
	return x.key, x.count, int(x.size)
}

// Key is the key of the block at p.
func (s *Sequence) Key(p Place) uint64 { return p.entry().key }

// Count is the number of elements in the block at p.
func (s *Sequence) Count(p Place) int { return p.entry().count }

// BlockBytes is the size of the block at p.
func (s *Sequence) BlockBytes(p Place) int { return int(p.entry().size) }

// Block is the block at p. It aliases the sequence and is valid until any block
// changes.
func (s *Sequence) Block(p Place) []byte { return s.block(p.entry()) }

func (s *Sequence) block(x *entry) []byte {
	return s.value(x.number).Value()[:x.size:x.size]
}

func (s *Sequence) value(number uint32) table.Entry {
	at := &s.opened[number%openedMax]
	if at.number != number {
		*at = opened{number, s.find(number)}
	}
	return at.value
}

func (s *Sequence) find(number uint32) table.Entry {
	name := nameOf(number)
	value, ok := s.blocks.Get(table.Hash(name[:]), name[:])
	if !ok {
		panic("sequence: a block is missing: a place was used after the sequence changed")
	}
	return value
}

func nameOf(number uint32) (name [4]byte) {
	binary.LittleEndian.PutUint32(name[:], number)
	return name
}

// First is the place of the first block, nowhere when there is none.
func (s *Sequence) First() Place {
	if s.Blocks() == 0 {
		return Place{}
	}
	return s.root.first()
}

// first is the place of the first block below n.
func (n *node) first() Place {
	for !n.leaf {
		n = n.entries[0].child
	}
	return Place{n, 0}
}

// Last is the place of the last block, nowhere when there is none.
func (s *Sequence) Last() Place {
	if s.Blocks() == 0 {
		return Place{}
	}
	return s.root.last()
}

func (n *node) last() Place {
	for !n.leaf {
		n = n.entries[len(n.entries)-1].child
	}
	return Place{n, len(n.entries) - 1}
}

// Next is the place of the block behind p, nowhere when p is the last.
func (s *Sequence) Next(p Place) Place {
	n, i := p.leaf, p.slot+1
	for i == len(n.entries) {
		if n.parent == nil {
			return Place{}
		}
		n, i = n.parent, n.slot+1
	}
	if n.leaf {
		return Place{n, i}
	}
	return n.entries[i].child.first()
}

// Prev is the place of the block before p, nowhere when p is the first.
func (s *Sequence) Prev(p Place) Place {
	n, i := p.leaf, p.slot-1
	for i < 0 {
		if n.parent == nil {
			return Place{}
		}
		n, i = n.parent, n.slot-1
	}
	if n.leaf {
		return Place{n, i}
	}
	return n.entries[i].child.last()
}

// At is the place of the block that holds the element with the index, and the
// index inside that block; nowhere when there are not so many.
func (s *Sequence) At(index int) (p Place, within int) {
	if index < 0 {
		return Place{}, 0
	}
	for n := s.root; ; {
		i := 0
		for ; i < len(n.entries) && index >= n.entries[i].count; i++ {
			index -= n.entries[i].count
		}
		if i == len(n.entries) {
			return Place{}, 0
		}
		if n.leaf {
			return Place{n, i}, index
		}
		n = n.entries[i].child
	}
}

// Rank is the number of elements before the block at p.
func (s *Sequence) Rank(p Place) (rank int) {
	n, slot := p.leaf, p.slot
	for {
		for i := range slot {
			rank += n.entries[i].count
		}
		if n.parent == nil {
			return rank
		}
		n, slot = n.parent, n.slot
	}
}

// Find is the place of the last block whose key is below key, or is key and
// starts accepts its bytes; nowhere when there is none. Where keys are equal,
// starts accepts a number of the first blocks and none after; a nil starts
// accepts all.
func (s *Sequence) Find(key uint64, starts func(block []byte) bool) Place {
	return s.last(func(n *node, i int) bool {
		if x := n.entries[i].key; x != key || starts == nil {
			return x <= key
		}
		return starts(s.firstBlock(n, i))
	})
}

// Search is Find by the blocks' bytes alone: of all blocks, starts accepts a
// number of the first.
func (s *Sequence) Search(starts func(block []byte) bool) Place {
	return s.last(func(n *node, i int) bool { return starts(s.firstBlock(n, i)) })
}

// firstBlock is the first block in or below an entry of n.
func (s *Sequence) firstBlock(n *node, i int) []byte {
	if n.leaf {
		return s.block(&n.entries[i])
	}
	return s.block(n.entries[i].child.first().entry())
}

// last is the place of the last block of those that starts accepts, which are a
// number of the first.
func (s *Sequence) last(starts func(n *node, i int) bool) Place {
	for n := s.root; ; {
		beyond := sort.Search(len(n.entries), func(i int) bool { return !starts(n, i) })
		switch {
		case beyond == 0:
			// This is the root: a node was gone down to because its first block
			// is accepted.
			return Place{}
		case n.leaf:
			return Place{n, beyond - 1}
		}
		n = n.entries[beyond-1].child
	}
}
