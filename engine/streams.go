package engine

import (
	"fmt"
	"slices"
	"sort"

	"reminis/engine/stream"
	"reminis/engine/table"
)

// This file owns streams: their blocks, and how they are read. It must not know
// which command asks, nor how a block is laid out (package stream).
//
// The last block is on the heap, where it grows; the others are in a table of
// their own, which the collector does not see. The index of blocks is a sorted
// slice: streams grow at their end and lose blocks at their beginning, both of
// which cost nothing there; a block from the middle moves 32 bytes for each block
// behind it, once for a hundred entries that were deleted. Rejected: a B-tree,
// which takes more memory for the many streams that are one block, and only pays
// beyond a hundred million entries.

// streamObject is a stream.
type streamObject struct {
	index  []streamBlock
	sealed *table.Table // bytes of blocks that are not open, by their first ids
	open   []byte       // bytes of the last block, if that is open
	meta   streamMeta
	// live and entries are of all blocks; entries has those deleted, too.
	live, entries int64
	edges         streamEdges
	groups        *streamGroups // nil while there was none
}

// streamBlock is what is known of a block without its bytes.
type streamBlock struct {
	first            stream.ID
	entries, deleted uint32
	open             bool
}

// streamMeta is what the blocks do not say. It is written only when they no longer
// imply it: adding an entry leaves it alone.
type streamMeta struct {
	// last is the greatest id ever while as many entries were added as added says,
	// and that of the last entry once there are more.
	last  stream.ID
	added uint64
	// base is how many entries were added that are no longer in blocks.
	base       uint64
	maxDeleted stream.ID
}

// streamEdges keeps the ids at both ends, which are found by walking.
type streamEdges struct {
	first, tail           stream.ID
	firstKnown, tailKnown bool
}

func (s *streamObject) drop() {
	if s.sealed != nil {
		s.sealed.Clear()
	}
}

func (s *streamObject) sizeBytes() int64 {
	size := s.heapBytes()
	if s.sealed != nil {
		stats := s.sealed.Stats()
		size += stats.BlockBytes + stats.BucketBytes
	}
	return size
}

// heapBytes counts pending entries as they are, without what their trees leave
// free.
func (s *streamObject) heapBytes() int64 {
	const blockBytes = 32
	return int64(cap(s.open)) + int64(cap(s.index))*blockBytes + s.groups.sizeBytes()
}

func (s *streamObject) clone(e *Engine) object {
	c := *s
	c.index, c.open = slices.Clone(s.index), slices.Clone(s.open)
	c.groups = s.groups.clone()
	if s.sealed != nil {
		c.sealed = table.New(e.pool)
		s.sealed.Each(func(x table.Entry) bool {
			putSealed(c.sealed, x.Key(), x.Value())
			return true
		})
	}
	return &c
}

func putSealed(t *table.Table, name, block []byte) {
	x, _ := t.Put(table.Hash(name), name, 0, 0, len(block))
	copy(x.Value(), block)
}

// bytes are those of block i, valid until a block changes.
func (s *streamObject) bytes(i int) []byte {
	if s.index[i].open {
		return s.open
	}
	name := s.index[i].first.Binary()
	x, ok := s.sealed.Get(table.Hash(name[:]), name[:])
	if !ok {
		panic("engine: a block of a stream is missing")
	}
	return x.Value()
}

// find is where the block that first names is, or would be.
func (s *streamObject) find(first stream.ID) (i int, ok bool) {
	// Most are asked for the last one.
	if n := len(s.index); n > 0 && s.index[n-1].first == first {
		return n - 1, true
	}
	return slices.BinarySearchFunc(s.index, first, func(b streamBlock, id stream.ID) int { return b.first.Compare(id) })
}

// blockFor is the block that an entry id would be in: the last one that begins
// with it or before it, else the first.
func (s *streamObject) blockFor(id stream.ID) int {
	return max(sort.Search(len(s.index), func(i int) bool { return id.Less(s.index[i].first) })-1, 0)
}

func (s *streamObject) added() uint64 { return s.meta.base + uint64(s.entries) }

func (s *streamObject) lastID() stream.ID {
	if s.added() == s.meta.added {
		return s.meta.last
	}
	if !s.edges.tailKnown {
		i := len(s.index) - 1
		w := stream.Back(s.bytes(i), s.index[i].first)
		w.Next()
		s.edges.tail, s.edges.tailKnown = w.ID, true
	}
	return s.edges.tail
}

// firstID is the id of the first entry that is not deleted, zero when there is
// none.
func (s *streamObject) firstID() stream.ID {
	if !s.edges.firstKnown {
		s.edges.first, s.edges.firstKnown = stream.ID{}, true
		s.each(stream.ID{}, stream.Max, func(e *stream.Entry) bool {
			s.edges.first = e.ID
			return false
		})
	}
	return s.edges.first
}

func (s *streamObject) bounds() stream.Bounds {
	return stream.Bounds{Length: s.live, Added: s.added(), First: s.firstID(), Last: s.lastID(), MaxDeleted: s.meta.maxDeleted}
}

// each visits the entries from first to last that are not deleted. Like Redis
// (t_stream.c streamIteratorGetID) it ends at the first beyond, whatever follows:
// where XSETID went back there may be ids out of order.
func (s *streamObject) each(first, last stream.ID, visit func(e *stream.Entry) bool) {
	var w stream.Walker
	for i := s.blockFor(first); i < len(s.index); i++ {
		for w = stream.Forward(s.bytes(i), s.index[i].first); w.Next(); {
			if w.Deleted || w.ID.Less(first) {
				continue
			}
			if last.Less(w.ID) || !visit(&w.Entry) {
				return
			}
		}
	}
}

// eachBack is each from last to first.
func (s *streamObject) eachBack(first, last stream.ID, visit func(e *stream.Entry) bool) {
	from := len(s.index) - 1
	if last != (stream.ID{}) && from >= 0 {
		if i := s.blockFor(last); !last.Less(s.index[i].first) {
			from = i
		}
	}
	var w stream.Walker
	for i := from; i >= 0; i-- {
		for w = stream.Back(s.bytes(i), s.index[i].first); w.Next(); {
			if w.Deleted || last.Less(w.ID) {
				continue
			}
			if w.ID.Less(first) || !visit(&w.Entry) {
				return
			}
		}
	}
}

// Stream is a stream as a transaction reads it, valid until its next write to it.
// The zero Stream is a key that does not exist, which is not the same as an empty
// stream.
type Stream struct {
	s  *streamObject
	ks *keyspace
}

// Stream reads the stream key: the zero Stream when key does not exist,
// ErrWrongType when it holds another type.
func (tx *Tx) Stream(key []byte) (Stream, error) {
	ks, _, x, ok := tx.look(tx.DB, key)
	if !ok {
		return Stream{}, nil
	}
	if x.Kind() != kindStream {
		return Stream{}, ErrWrongType
	}
	return Stream{ks.objects.all[objectRef(x.Value())].(*streamObject), ks}, nil
}

// Exists says whether there is a stream.
func (s Stream) Exists() bool { return s.s != nil }

// Bounds is what is known of the stream's entries.
func (s Stream) Bounds() stream.Bounds {
	if s.s == nil {
		return stream.Bounds{}
	}
	return s.s.bounds()
}

// Len is the number of entries.
func (s Stream) Len() int64 {
	if s.s == nil {
		return 0
	}
	return s.s.live
}

// LastID is the greatest id that the stream ever had.
func (s Stream) LastID() stream.ID {
	if s.s == nil {
		return stream.ID{}
	}
	return s.s.lastID()
}

// LastEntry is the id of the last entry; ok is false when there is none.
func (s Stream) LastEntry() (id stream.ID, ok bool) {
	s.EachBack(stream.ID{}, stream.Max, func(e *stream.Entry) bool {
		id, ok = e.ID, true
		return false
	})
	return id, ok
}

// Has says whether there is an entry id.
func (s Stream) Has(id stream.ID) (found bool) {
	s.Each(id, id, func(*stream.Entry) bool {
		found = true
		return false
	})
	return found
}

// Each visits the entries from first to last until visit returns false; an entry
// is valid during the call.
func (s Stream) Each(first, last stream.ID, visit func(e *stream.Entry) bool) {
	if s.s != nil {
		s.s.each(first, last, visit)
	}
}

// EachBack is Each from last to first.
func (s Stream) EachBack(first, last stream.ID, visit func(e *stream.Entry) bool) {
	if s.s != nil {
		s.s.eachBack(first, last, visit)
	}
}

// Blocks is the number of blocks, which are what Redis calls the keys of a
// stream's radix tree.
func (s Stream) Blocks() int { return len(s.s.index) }

// TreeNodes is how many nodes the radix tree has in which Redis would keep the
// blocks (rax.c): an inner node for each id at which paths part, one for each
// stretch in between, and one for each block.
func (s Stream) TreeNodes() int {
	return radixNodes(s.s.index)
}

// check says where the stream's parts disagree: counts and edges with the bytes
// of blocks, groups with each other.
func (s *streamObject) check() error {
	live, entries := int64(0), int64(0)
	sealed := 0
	for i := range s.index {
		b := &s.index[i]
		if i > 0 && !s.index[i-1].first.Less(b.first) {
			return fmt.Errorf("block %d of a stream is out of order", i)
		}
		if b.open && i != len(s.index)-1 {
			return fmt.Errorf("block %d of %d of a stream is open", i, len(s.index))
		}
		if !b.open {
			sealed++
		}
		n, deleted := stream.Count(s.bytes(i), b.first, 0)
		if n != int(b.entries) || deleted != int(b.deleted) || n == 0 {
			return fmt.Errorf("block %d of a stream has %d entries and %d deleted ones, not %d and %d", i, n, deleted, b.entries, b.deleted)
		}
		entries += int64(n)
		live += int64(n - deleted)
	}
	if live != s.live || entries != s.entries {
		return fmt.Errorf("a stream has %d entries of %d, not %d of %d", live, entries, s.live, s.entries)
	}
	if s.sealed != nil && s.sealed.Len() != sealed {
		return fmt.Errorf("a stream has %d sealed blocks, not %d", s.sealed.Len(), sealed)
	}
	kept := s.edges
	s.edges = streamEdges{}
	first, last := s.firstID(), s.lastID()
	if kept.firstKnown && kept.first != first || kept.tailKnown && s.edges.tailKnown && kept.tail != last {
		return fmt.Errorf("a stream's edges are %v and %v, not %v and %v", first, last, kept.first, kept.tail)
	}
	return s.groups.check()
}
