package persistence

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// This file owns the rows that a checkpoint is about to write: each row once,
// however often it changed, in memory that the garbage collector does not scan
// (one pointer per block, none per row). It must not know what rows mean.

// arenaBlockBytes is the size of a block of row bytes.
const arenaBlockBytes = 1 << 20

// A ref is where bytes lie: block number, then offset.
type ref uint64

// An overlayRow is one row. Its number is its place in overlay.rows.
type overlayRow struct {
	key      ref
	value    ref
	keyLen   uint32
	valueLen uint32
	valueCap uint32
	// next chains the rows of one collection; first begins the chain in the
	// row of its key. 0 ends it: row 0 is none.
	next, first uint32
	state       rowState
}

type rowState uint8

const (
	rowClean   rowState = iota // as it is in Pebble: only known here
	rowMissing                 // not in Pebble either
	rowSet                     // to be written
	rowDeleted                 // to be deleted
	rowDropped                 // overtaken by a range deletion: nothing to write
)

// overlay is a table of rows by key, and a list of rows that have no equals.
type overlay struct {
	rows   []overlayRow // rows[0] is none
	slots  []uint64     // open addressing: hash and number of rows; 0 is free
	seed   maphash.Seed
	blocks [][]byte
	// sizeBytes is the memory used by row bytes.
	sizeBytes int64
	tabled    int // rows in slots
}

func newOverlay() *overlay {
	return &overlay{rows: make([]overlayRow, 1, 1<<10), slots: make([]uint64, 1<<11), seed: maphash.MakeSeed()}
}

// alloc returns a place for size bytes.
func (o *overlay) alloc(size int) (ref, []byte) {
	last := len(o.blocks) - 1
	if last < 0 || cap(o.blocks[last])-len(o.blocks[last]) < size {
		o.blocks = append(o.blocks, make([]byte, 0, max(size, arenaBlockBytes)))
		last++
	}
	at := len(o.blocks[last])
	o.blocks[last] = o.blocks[last][:at+size]
	o.sizeBytes += int64(size)
	return ref(last)<<32 | ref(at), o.blocks[last][at : at+size : at+size]
}

func (o *overlay) bytes(r ref, size uint32) []byte {
	at := uint32(r)
	return o.blocks[r>>32][at : at+size : at+size]
}

func (o *overlay) key(n uint32) []byte {
	row := &o.rows[n]
	return o.bytes(row.key, row.keyLen)
}

// value is the row's value; it is valid, and may be changed, until the value is
// set again.
func (o *overlay) value(n uint32) []byte {
	row := &o.rows[n]
	return o.bytes(row.value, row.valueLen)
}

// find returns the row with this key, 0 when it is not here.
func (o *overlay) find(key []byte) uint32 {
	hash, mask := o.hash(key), uint64(len(o.slots)-1)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := o.slots[at]
		if slot == 0 {
			return 0
		}
		// The row itself is far away: look only when the hashes agree.
		if slot>>32 == hash && bytes.Equal(o.key(uint32(slot)), key) {
			return uint32(slot)
		}
	}
}

// hash is 32 bits: both the place of a key and what is compared first.
func (o *overlay) hash(key []byte) uint64 { return maphash.Bytes(o.seed, key) >> 32 }

// insert adds a row whose key is not here yet.
func (o *overlay) insert(key []byte, state rowState) uint32 {
	if (o.tabled+1)*4 > len(o.slots)*3 {
		o.grow()
	}
	n := o.add(key, state)
	o.place(o.hash(key)<<32 | uint64(n))
	o.tabled++
	return n
}

func (o *overlay) place(slot uint64) {
	mask := uint64(len(o.slots) - 1)
	at := slot >> 32 & mask
	for o.slots[at] != 0 {
		at = (at + 1) & mask
	}
	o.slots[at] = slot
}

func (o *overlay) grow() {
	old := o.slots
	o.slots = make([]uint64, 2*len(old))
	for _, slot := range old {
		if slot != 0 {
			o.place(slot)
		}
	}
}

// add appends a row that is never looked up by key.
func (o *overlay) add(key []byte, state rowState) uint32 {
	at, buf := o.alloc(len(key))
	copy(buf, key)
	o.rows = append(o.rows, overlayRow{key: at, keyLen: uint32(len(key)), state: state})
	return uint32(len(o.rows) - 1)
}

// set gives a row a value of size bytes, which the caller fills.
func (o *overlay) set(n uint32, size int) []byte {
	row := &o.rows[n]
	row.state = rowSet
	if uint32(size) > row.valueCap {
		row.value, _ = o.alloc(size)
		row = &o.rows[n]
		row.valueCap = uint32(size)
	}
	row.valueLen = uint32(size)
	return o.bytes(row.value, row.valueLen)
}

// put gives a row a copy of value.
func (o *overlay) put(n uint32, value []byte) { copy(o.set(n, len(value)), value) }

// extend makes a row's value at least size bytes long; what is new is zero. It
// doubles the room, so that appending costs what is appended.
func (o *overlay) extend(n uint32, size int) []byte {
	row := &o.rows[n]
	row.state = rowSet
	old := o.value(n)
	if size <= len(old) {
		return old
	}
	if uint32(size) > row.valueCap {
		room := size + size/2
		at, buf := o.alloc(room)
		copy(buf, old)
		row.value, row.valueCap = at, uint32(room)
	}
	row.valueLen = uint32(size)
	grown := o.bytes(row.value, row.valueLen)
	clear(grown[len(old):])
	return grown
}

// splice replaces the bytes of a row's value between two offsets. It grows as
// extend does: a block of a list that is pushed to at its front, too, costs what is
// pushed.
func (o *overlay) splice(n uint32, from, to int, added []byte) {
	sizeBytes := int(o.rows[n].valueLen)
	size := sizeBytes - (to - from) + len(added)
	value := o.extend(n, max(sizeBytes, size))
	copy(value[from+len(added):], value[to:sizeBytes])
	copy(value[from:], added)
	o.rows[n].valueLen = uint32(size)
}

// sorted lists the rows to be written, in order of their keys.
func (o *overlay) sorted() []uint32 {
	items := make([]sortItem, 0, len(o.rows))
	for n := 1; n < len(o.rows); n++ {
		if state := o.rows[n].state; state == rowSet || state == rowDeleted {
			items = append(items, sortItem{row: uint32(n)})
		}
	}
	s := rowSorter{o: o}
	s.sort(items, 0)
	numbers := make([]uint32, len(items))
	for i := range items {
		numbers[i] = items[i].row
	}
	return numbers
}

// sortItem is a row with eight bytes of its key.
type sortItem struct {
	word uint64
	row  uint32
}

// rowSorter sorts by words of eight bytes: rows that agree in a word are sorted
// by the next one. Comparing whole keys took five times as long for a million
// keys, which mostly begin alike.
type rowSorter struct{ o *overlay }

// sort orders items, which agree up to depth.
func (s rowSorter) sort(items []sortItem, depth int) {
	for len(items) > 1 {
		for i := range items {
			items[i].word = wordAt(s.o.key(items[i].row), depth)
		}
		slices.SortFunc(items, func(a, b sortItem) int { return cmp.Compare(a.word, b.word) })
		if items[0].word == items[len(items)-1].word {
			items = s.cutEnded(items, depth) // all begin alike: go on without recursion
			depth += 8
			continue
		}
		for from := 0; from < len(items); {
			to := from + 1
			for to < len(items) && items[to].word == items[from].word {
				to++
			}
			if to > from+1 {
				s.sort(s.cutEnded(items[from:to], depth), depth+8)
			}
			from = to
		}
		return
	}
}

// cutEnded moves the keys that end within the word at depth to the front, in
// order, and returns the others. Items agree in that word, which is padded with
// zeros, so a key that ends in it is a beginning of those that do not, and the
// shorter of two that end is the smaller.
func (s rowSorter) cutEnded(items []sortItem, depth int) []sortItem {
	ended := 0
	for i := range items {
		if int(s.o.rows[items[i].row].keyLen) <= depth+8 {
			items[i], items[ended] = items[ended], items[i]
			ended++
		}
	}
	slices.SortFunc(items[:ended], func(a, b sortItem) int {
		return cmp.Compare(s.o.rows[a.row].keyLen, s.o.rows[b.row].keyLen)
	})
	return items[ended:]
}

// wordAt is eight bytes of key from depth on, padded with zeros.
func wordAt(key []byte, depth int) uint64 {
	if depth+8 <= len(key) {
		return binary.BigEndian.Uint64(key[depth:])
	}
	var word [8]byte
	if depth < len(key) {
		copy(word[:], key[depth:])
	}
	return binary.BigEndian.Uint64(word[:])
}
