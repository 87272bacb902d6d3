package stream

// This file owns how entries are added to a block, read and marked as deleted. It
// must not know nodes, nor bytes from outside.

import (
	"strconv"

	"reminis/engine/listpack"
)

const (
	flagDeleted    = 1 << 0
	flagSameFields = 1 << 1
)

// fixedPieces is how many elements every entry has: flags and the two parts of
// the id. pieces itself does not count.
const fixedPieces = 3

// Append appends the entry id with its fields and values, in turn, to the block
// that first names. An empty block gets a master of the entry's fields.
func Append(block []byte, first, id ID, pairs [][]byte) []byte {
	n := int64(len(pairs) / 2)
	if len(block) == 0 {
		block = listpack.AppendInteger(block, n)
		for i := 0; i < len(pairs); i += 2 {
			block = listpack.AppendElement(block, pairs[i])
		}
		block = listpack.AppendInteger(block, 0)
	}
	return AppendEntry(block, block, first, id, pairs)
}

// AppendEntry appends to dst the entry as it is at the end of block.
func AppendEntry(dst, block []byte, first, id ID, pairs [][]byte) []byte {
	n := int64(len(pairs) / 2)
	same := masterOf(block).has(block, pairs)
	flags, pieces := int64(0), fixedPieces+1+2*n
	if same {
		flags, pieces = flagSameFields, fixedPieces+n
	}
	dst = listpack.AppendInteger(dst, flags)
	dst = listpack.AppendInteger(dst, int64(id.Ms-first.Ms))
	dst = listpack.AppendInteger(dst, int64(id.Seq-first.Seq))
	if !same {
		dst = listpack.AppendInteger(dst, n)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if !same {
			dst = listpack.AppendElement(dst, pairs[i])
		}
		dst = listpack.AppendElement(dst, pairs[i+1])
	}
	return listpack.AppendInteger(dst, pieces)
}

// master is where the fields lie that most entries have.
type master struct {
	count int // of fields
	at    int // the first field
	end   int // behind the element that ends the master
}

func masterOf(block []byte) master {
	n, pos := listpack.Run(block).At(0)
	m := master{count: int(n.Int), at: pos}
	for range m.count + 1 {
		pos = listpack.Run(block).Next(pos)
	}
	m.end = pos
	return m
}

// has says whether the pairs have the master's fields.
func (m master) has(block []byte, pairs [][]byte) bool {
	if m.count != len(pairs)/2 {
		return false
	}
	pos := m.at
	for i := 0; i < len(pairs); i += 2 {
		var field listpack.Element
		if field, pos = listpack.Run(block).At(pos); !field.Equal(pairs[i]) {
			return false
		}
	}
	return true
}

// Entry is an entry as a Walker found it.
type Entry struct {
	ID      ID
	Deleted bool
	// Pairs is how many fields it has.
	Pairs int

	block  listpack.Run
	fields int // the first of the master's fields, 0 when the entry has its own
	at     int // the first field or value
	end    int // behind the last value, once it was visited
	// texts are where integers are written that are fields or values.
	texts [2][20]byte
}

// Each visits fields and values; both are valid during the call.
func (e *Entry) Each(visit func(field, value []byte)) {
	fields, at := e.fields, e.at
	for range e.Pairs {
		var field, value listpack.Element
		if fields != 0 {
			field, fields = e.block.At(fields)
		} else {
			field, at = e.block.At(at)
		}
		value, at = e.block.At(at)
		visit(textOf(field, &e.texts[0]), textOf(value, &e.texts[1]))
	}
	e.end = at
}

func textOf(x listpack.Element, buf *[20]byte) []byte {
	if x.Text != nil {
		return x.Text
	}
	return strconv.AppendInt(buf[:0], x.Int, 10)
}

// Walker goes over the entries of a block, deleted ones too.
type Walker struct {
	Entry
	first  ID
	master master
	pos    int // behind the entry, before it when going back
	flags  int
	back   bool
}

// Forward begins before the first entry of the block that first names.
func Forward(block []byte, first ID) Walker {
	m := masterOf(block)
	return Walker{Entry: Entry{block: block}, first: first, master: m, pos: m.end}
}

// From is Forward that begins before the entry at an offset of the block.
func From(block []byte, first ID, offset int) Walker {
	w := Forward(block, first)
	w.pos = max(w.pos, offset)
	return w
}

// Back begins behind the last entry.
func Back(block []byte, first ID) Walker {
	w := Forward(block, first)
	w.pos, w.back = len(block), true
	return w
}

// Next goes on to the next entry, in the walker's direction; false when there is
// none.
func (w *Walker) Next() bool {
	if w.back {
		if w.pos == w.master.end {
			return false
		}
		last := w.block.Prev(w.pos)
		pieces, _ := w.block.At(last)
		w.pos = last
		for range pieces.Int {
			w.pos = w.block.Prev(w.pos)
		}
		w.read(w.pos)
		return true
	}
	if w.at != 0 {
		w.pos = w.behind()
	}
	if w.pos == len(w.block) {
		return false
	}
	w.read(w.pos)
	return true
}

// behind is where the entry ends. Whoever has visited it knows.
func (w *Walker) behind() int {
	pos := w.end
	if pos == 0 {
		pos = w.at
		elements := w.Pairs
		if w.fields == 0 {
			elements += w.Pairs
		}
		for range elements {
			pos = w.block.Next(pos)
		}
	}
	return w.block.Next(pos)
}

// read decodes the entry at pos up to its first field or value.
func (w *Walker) read(pos int) {
	w.flags = pos
	flags, pos := w.block.At(pos)
	ms, pos := w.block.At(pos)
	seq, pos := w.block.At(pos)
	w.ID = ID{w.first.Ms + uint64(ms.Int), w.first.Seq + uint64(seq.Int)}
	w.Deleted = flags.Int&flagDeleted != 0
	w.Pairs, w.fields = w.master.count, w.master.at
	if flags.Int&flagSameFields == 0 {
		n, next := w.block.At(pos)
		w.Pairs, w.fields, pos = int(n.Int), 0, next
	}
	w.at, w.end = pos, 0
}

// Marked is the byte that marks the entry as deleted when it takes the place of
// the one at the offset.
func (w *Walker) Marked() (offset int, mark byte) {
	// Flags are integers below 128, which are one byte.
	return w.flags, w.block[w.flags] | flagDeleted
}

// Count counts the entries from an offset of the block on, and those of them that
// are deleted.
func Count(block []byte, first ID, offset int) (entries, deleted int) {
	for w := From(block, first, offset); w.Next(); {
		entries++
		if w.Deleted {
			deleted++
		}
	}
	return entries, deleted
}
