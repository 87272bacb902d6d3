package engine

import (
	"reminis/engine/effect"
	"reminis/engine/listpack"
	"reminis/engine/sequence"
	"reminis/engine/table"
)

// This file owns what the effects on lists do to their blocks: live writes and
// recovery pass through it. It must not choose blocks nor names. Only the form in
// memory is decided here, by the blocks that there are: a list of one block that is
// named firstBlock is packed.

func (tx *Tx) applyListSplice(db int, x *effect.Effect) {
	edit := tx.editList(tx.entry(db, x.Key))
	name := blockName(x.Field)
	switch {
	case edit.blocks != nil:
		spliceBlock(edit.blocks, name, x)
		edit.ks.changed(x.Key)
		if x.Count > int64(len(x.Value)) {
			edit.packBlocks(tx, db, x.Key)
		}
	case name == firstBlock:
		edit.splicePack(tx, db, x)
	default:
		blocks := sequence.New(tx.e.pool)
		if edit.there {
			run, count := packedRun(edit.entry.Value())
			blocks.Insert(sequence.Place{}, firstBlock, count, run)
		}
		spliceBlock(blocks, name, x)
		edit.storeObject(tx, db, x.Key, kindList, &list{blocks})
	}
}

// applySplice is what a live transaction makes of a ListSplice that names a block of a
// list which it reads, and which stays large.
func (l *List) applySplice(key []byte, b *block, x *splice) {
	l.big.Splice(b.place, x.offset, x.removed, x.added, b.count+x.count)
	l.ks.changed(key)
}

func (tx *Tx) applyListDrop(db int, x *effect.Effect) {
	edit := tx.editList(tx.entry(db, x.Key))
	name := blockName(x.Field)
	switch {
	case edit.blocks != nil:
		if p := placeOf(edit.blocks, name); !p.None() && edit.blocks.Key(p) == name {
			edit.blocks.Delete(p)
		}
		edit.ks.changed(x.Key)
		edit.packBlocks(tx, db, x.Key)
	case edit.there && name == firstBlock:
		// What follows is the same list's: its last block goes with its key.
		run, _ := packedRun(edit.entry.Value())
		edit.splicePack(tx, db, &effect.Effect{Key: x.Key, Count: int64(len(run))})
	}
}

// listEdit is a list that is being changed.
type listEdit struct {
	holder
	blocks *sequence.Sequence // nil for a packed list, and for none
}

func (tx *Tx) editList(ks *keyspace, at Place, entry table.Entry, ok bool) listEdit {
	edit := listEdit{holder: holderOf(TypeList, ks, at, entry, ok)}
	if x := edit.object(); x != nil {
		edit.blocks = x.(*list).blocks
	}
	return edit
}

// spliceBlock replaces bytes of a block, which it makes when there is none of the
// name.
func spliceBlock(blocks *sequence.Sequence, name uint64, x *effect.Effect) {
	p := placeOf(blocks, name)
	if p.None() || blocks.Key(p) != name {
		blocks.Insert(p, name, listpack.Run(x.Value).Len(), x.Value)
		return
	}
	from, to := int(x.Number), int(x.Number+x.Count)
	count := blocks.Count(p) + listpack.Run(x.Value).Len()
	if from < to {
		count -= listpack.Run(blocks.Block(p)[from:to]).Len()
	}
	blocks.Splice(p, from, to-from, x.Value, count)
}

// placeOf is the place of the block with a name, or of the one before it. Most
// changes are at an end.
func placeOf(blocks *sequence.Sequence, name uint64) sequence.Place {
	if p := blocks.Last(); p.None() || blocks.Key(p) <= name {
		return p
	}
	switch p := blocks.First(); {
	case blocks.Key(p) == name:
		return p
	case blocks.Key(p) > name:
		return sequence.Place{}
	}
	return blocks.Find(name, nil)
}

// splicePack replaces bytes of a packed list, or makes one. A block that grows gets
// room for the next elements, so that a queue of middling length is not copied at
// each.
func (e *listEdit) splicePack(tx *Tx, db int, x *effect.Effect) {
	value := []byte{0, 0}
	if e.there {
		value = e.entry.Value()
	}
	run, count := packedRun(value)
	from, to := int(x.Number), int(x.Number+x.Count)
	count += listpack.Run(x.Value).Len() - run[from:to].Len()
	size := packHeadBytes + len(run) - (to - from) + len(x.Value)
	spare := len(value) - size
	if e.there && spare >= 0 && spare <= packSpareMax && spare <= max(int(value[1]), size/4) {
		copy(value[packHeadBytes+from+len(x.Value):], run[to:])
		copy(value[packHeadBytes+from:], x.Value)
		value[0], value[1] = byte(count), byte(spare)
		e.ks.changed(x.Key)
		return
	}
	spare = 0
	if e.there && size > len(value) {
		spare = min(size/8, packSpareMax)
	}
	pack := append(append(tx.buf[:0], byte(count), byte(spare)), run[:from]...)
	pack = append(append(pack, x.Value...), run[to:]...)
	pack = append(pack, make([]byte, spare)...)
	tx.buf = pack
	e.storePack(tx, db, x.Key, kindListPack, pack)
}

// packBlocks makes a list of one block a packed one, when that is half of what a
// packed list may grow to: so it does not go back and forth.
func (e *listEdit) packBlocks(tx *Tx, db int, key []byte) {
	if e.blocks.Blocks() != 1 {
		return
	}
	p := e.blocks.First()
	count, run := e.blocks.Count(p), e.blocks.Block(p)
	if e.blocks.Key(p) != firstBlock || len(run) > blockMaxBytes/2 || count > blockMaxElements/2 {
		return
	}
	pack := append(append(tx.buf[:0], byte(count), 0), run...)
	tx.buf = pack
	_, entry := tx.put(db, key, kindListPack, e.deadlineMs, len(pack))
	copy(entry.Value(), pack)
}
