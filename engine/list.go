package engine

import (
	"encoding/binary"

	"reminis/engine/listpack"
	"reminis/engine/sequence"
	"reminis/engine/table"
)

// This file owns what a list is and how it is read: one packed block while small,
// a sequence of blocks when large. It must not know how a list changes
// (list_edit.go) nor which command asks.
//
// A block is a run of listpack elements, the same bytes here, in the journal and
// in its row. Its name is its place in the order of blocks: 8 bytes, big-endian,
// so that rows are in that order too. Blocks are small because an element that is
// touched costs its block's row at the next checkpoint, and large enough that
// neither tree nor rows count beside the elements. list-max-listpack-size has no
// say in it: no client sees the blocks, OBJECT ENCODING is quicklist whatever they
// are. DUMP packs anew (commands/dump.go).

// list is a large list: the keys of its blocks are their names.
type list struct{ blocks *sequence.Sequence }

func (l *list) drop() { l.blocks.Clear() }

func (l *list) sizeBytes() int64 { return l.blocks.SizeBytes() }

func (l *list) check() error { return l.blocks.Check() }

func (l *list) clone(*Engine) object { return &list{l.blocks.Clone()} }

const (
	// blockMaxBytes and blockMaxElements bound a block; an element that is larger
	// is alone in its block.
	blockMaxBytes    = 2048
	blockMaxElements = 128

	// firstBlock is the name of a list's first block, and the only one that a
	// packed list has. Blocks that are added at an end are blockSpacing apart, so
	// that others find names between them.
	firstBlock   = uint64(1) << 63
	blockSpacing = uint64(1) << 20
)

// Element is an element of a list: a text, or an integer that stands for its
// decimal form.
type Element = listpack.Element

// List is a list as a transaction reads it, valid until its next write to it. The
// zero List is empty: a key that does not exist.
type List struct {
	ks    *keyspace
	pack  listpack.Run // the only block of a packed list
	count int
	big   *sequence.Sequence
}

// List reads the list key: the empty List when key does not exist, ErrWrongType
// when it holds another type.
func (tx *Tx) List(key []byte) (List, error) {
	ks, _, x, ok := tx.look(tx.DB, key)
	if !ok {
		return List{}, nil
	}
	return listOf(ks, x)
}

func listOf(ks *keyspace, x table.Entry) (List, error) {
	switch x.Kind() {
	case kindListPack:
		run, count := packedRun(x.Value())
		return List{ks: ks, pack: run, count: count}, nil
	case kindList:
		blocks := ks.objects.all[objectRef(x.Value())].(*list).blocks
		return List{ks: ks, big: blocks, count: blocks.Len()}, nil
	}
	return List{}, ErrWrongType
}

// The value of a packed list is the number of its elements, the number of unused
// bytes at its end, the block, and those bytes.
const (
	packHeadBytes = 2
	packSpareMax  = 1<<8 - 1
)

func packedRun(value []byte) (run listpack.Run, count int) {
	end := len(value) - int(value[1])
	return listpack.Run(value[packHeadBytes:end:end]), int(value[0])
}

// Len is the number of elements.
func (l *List) Len() int { return l.count }

// Get is the element at index, counted from 0.
func (l *List) Get(index int) (x Element, ok bool) {
	if index < 0 || index >= l.count {
		return Element{}, false
	}
	b, within := l.blockAt(index)
	run := l.run(b)
	return run.Get(run.Index(within, b.count)), true
}

// Range visits count elements from the one at index first on; there are so many.
func (l *List) Range(first, count int, visit func(x Element)) {
	if count == 0 {
		return
	}
	b, within := l.blockAt(first)
	run := l.run(b)
	pos := run.Index(within, b.count)
	for {
		for ; pos < len(run) && count > 0; count-- {
			visit(run.Get(pos))
			pos = run.Next(pos)
		}
		if count == 0 {
			return
		}
		b = l.next(b)
		run, pos = l.run(b), 0
	}
}

// RangeBack visits count elements from the one at index last on towards the
// front; there are so many.
func (l *List) RangeBack(last, count int, visit func(x Element)) {
	if count == 0 {
		return
	}
	b, within := l.blockAt(last)
	run := l.run(b)
	pos := run.Index(within+1, b.count)
	for {
		for ; pos > 0 && count > 0; count-- {
			pos = run.Prev(pos)
			visit(run.Get(pos))
		}
		if count == 0 {
			return
		}
		b = l.prev(b)
		run = l.run(b)
		pos = len(run)
	}
}

// Match visits the indexes of the elements that equal text, in order, until visit
// returns false. It looks at no more than limit elements.
func (l *List) Match(text []byte, limit int, visit func(index int) bool) {
	m := listpack.NewMatcher(text)
	index := 0
	for b := l.first(); !b.none(); b = l.next(b) {
		run := l.run(b)
		for pos := 0; pos < len(run); pos = run.Next(pos) {
			if index == limit || m.At(run, pos) && !visit(index) {
				return
			}
			index++
		}
	}
}

// MatchBack is Match from the last element on towards the front.
func (l *List) MatchBack(text []byte, limit int, visit func(index int) bool) {
	m := listpack.NewMatcher(text)
	index := l.count - 1
	for b := l.last(); !b.none(); b = l.prev(b) {
		run := l.run(b)
		for pos := len(run); pos > 0; index-- {
			pos = run.Prev(pos)
			if l.count-1-index == limit || m.At(run, pos) && !visit(index) {
				return
			}
		}
	}
}

// block is a block of a list that is being read.
type block struct {
	name      uint64
	count     int
	sizeBytes int
	place     sequence.Place // nowhere for the block of a packed list
}

// none says whether there is no such block: every other has elements.
func (b block) none() bool { return b.count == 0 }

func (l *List) block(p sequence.Place) block {
	if p.None() {
		return block{}
	}
	name, count, sizeBytes := l.big.Head(p)
	return block{name: name, count: count, sizeBytes: sizeBytes, place: p}
}

// run is the elements of a block.
func (l *List) run(b block) listpack.Run {
	if l.big == nil {
		return l.pack
	}
	return l.big.Block(b.place)
}

// blockAt is the block that holds the element at index, and the index within it.
func (l *List) blockAt(index int) (b block, within int) {
	if l.big == nil {
		return l.first(), index
	}
	// Most changes are at an end.
	if index < blockMaxElements {
		if b := l.first(); index < b.count {
			return b, index
		}
	} else if index >= l.count-blockMaxElements {
		if b := l.last(); index >= l.count-b.count {
			return b, index - (l.count - b.count)
		}
	}
	p, within := l.big.At(index)
	return l.block(p), within
}

func (l *List) first() block {
	if l.big == nil {
		return block{name: firstBlock, count: l.count, sizeBytes: len(l.pack)}
	}
	return l.block(l.big.First())
}

func (l *List) last() block {
	if l.big == nil {
		return l.first()
	}
	return l.block(l.big.Last())
}

// end is the first block or the last.
func (l *List) end(front bool) block {
	if front {
		return l.first()
	}
	return l.last()
}

func (l *List) next(b block) block {
	if l.big == nil {
		return block{}
	}
	return l.block(l.big.Next(b.place))
}

func (l *List) prev(b block) block {
	if l.big == nil {
		return block{}
	}
	return l.block(l.big.Prev(b.place))
}

// ListNodeLimit is what DUMP makes a node of a list hold at most.
func (tx *Tx) ListNodeLimit() int64 { return tx.e.Limits.ListNode.Load() }

// blockNameBytes is the length of a block's name in effects and rows.
const blockNameBytes = 8

func blockName(field []byte) uint64 { return binary.BigEndian.Uint64(field) }
