package engine

import (
	"encoding/binary"
	"slices"

	"reminis/engine/effect"
	"reminis/engine/stream"
	"reminis/engine/table"
)

// This file owns how entries of streams come and go. It must not know which
// command asks.

// AppendStream adds an entry to the stream s, of key, creating it; id is greater
// than its last.
func (tx *Tx) AppendStream(key []byte, s Stream, id stream.ID, pairs [][]byte) {
	o := s.s
	if o == nil {
		o = &streamObject{}
	}
	first, offset := id, 0
	if i := len(o.index) - 1; i >= 0 && tx.roomInBlock(o, i, pairs) {
		if o.index[i].open && o.meta.added != o.added()+1 {
			tx.appendToOpen(key, s, id, pairs)
			return
		}
		block := o.bytes(i)
		first, offset = o.index[i].first, len(block)
		tx.buf = stream.AppendEntry(tx.buf[:0], block, first, id, pairs)
	} else {
		if i, there := o.find(id); there {
			// Only where XSETID went back behind entries that were deleted; Redis
			// forgets the block, too.
			tx.dropBlocks(key, o, i, 1)
		}
		tx.buf = stream.Append(tx.buf[:0], id, id, pairs)
	}
	tx.appended = appended{true, id}
	tx.emit(&effect.Effect{Kind: effect.StreamSplice, DB: uint32(tx.DB), Key: key, Field: tx.streamName(first), Number: int64(offset), Value: tx.buf})
	tx.appended = appended{}
	if s.s != nil && o.lastID() != id {
		tx.emitStreamMeta(key, o, streamMeta{last: id, added: o.added(), maxDeleted: o.meta.maxDeleted})
	}
}

// appendToOpen is AppendStream for an entry that the open block has room for, and
// that leaves the stream's meta as it is: it is written where it will stand.
func (tx *Tx) appendToOpen(key []byte, s Stream, id stream.ID, pairs [][]byte) {
	offset := s.s.applyAppend(id, pairs)
	s.ks.changed(key)
	if !tx.batch.Skip() {
		first := s.s.index[len(s.s.index)-1].first
		tx.batch.Add(&effect.Effect{Kind: effect.StreamSplice, DB: uint32(tx.DB), Key: key, Field: tx.streamName(first),
			Number: int64(offset), Value: s.s.open[offset:]})
	}
}

// appended says of a splice that is about to be applied that it appends one
// entry, so that what was just written need not be read.
type appended struct {
	one bool
	id  stream.ID
}

// streamName is the name of a block, in a buffer of the transaction's.
func (tx *Tx) streamName(first stream.ID) []byte {
	tx.nameBuf = first.Binary()
	return tx.nameBuf[:]
}

// streamNodeMaxBytes bounds a block whatever the setting says (t_stream.c
// STREAM_LISTPACK_MAX_SIZE).
const streamNodeMaxBytes = 1 << 30

// roomInBlock says whether block i takes an entry of pairs, by Redis's thresholds.
func (tx *Tx) roomInBlock(s *streamObject, i int, pairs [][]byte) bool {
	b := &s.index[i]
	limits := &tx.e.Limits
	nodeMaxBytes := limits.StreamNodeBytes.Load()
	if nodeMaxBytes <= 0 || nodeMaxBytes > streamNodeMaxBytes {
		nodeMaxBytes = streamNodeMaxBytes
	}
	sizeBytes := stream.NodeBytes(s.bytes(i), int(b.entries), int(b.deleted))
	for _, text := range pairs {
		sizeBytes += len(text)
	}
	entriesMax := limits.StreamNodeEntries.Load()
	return int64(sizeBytes) < nodeMaxBytes && (entriesMax == 0 || int64(b.entries) < entriesMax)
}

// TrimLimit is how many entries a trim of whole blocks may remove that says
// nothing of it (t_stream.c streamParseAddOrTrimArgsOrReply).
func (tx *Tx) TrimLimit() int64 {
	const blocks, least, most = 100, 10_000, 1_000_000
	perBlock := tx.e.Limits.StreamNodeEntries.Load()
	if perBlock <= 0 {
		return least
	}
	return min(perBlock, most/blocks) * blocks
}

// StreamTrim says which entries of a stream go: from its beginning on, those
// beyond a length or before an id.
type StreamTrim struct {
	ByID   bool
	Length int64     // that may stay
	ID     stream.ID // the first that stays
	// Whole removes only whole blocks, Limit entries at most, if that is not 0.
	Whole bool
	Limit int64
}

// blockGoes says whether block i goes whole.
func (t *StreamTrim) blockGoes(s *streamObject, i int, live int64) bool {
	b := &s.index[i]
	if !t.ByID {
		return live-int64(b.entries-b.deleted) >= t.Length
	}
	w := stream.Back(s.bytes(i), b.first)
	w.Next()
	return w.ID.Less(t.ID)
}

// TrimStream removes entries of the stream, which exists, and returns how many
// (t_stream.c streamTrim).
func (tx *Tx) TrimStream(key []byte, of Stream, t *StreamTrim) (deleted int64) {
	s := of.s
	live, blocks := s.live, 0
	for ; blocks < len(s.index) && (t.ByID || live > t.Length); blocks++ {
		inBlock := int64(s.index[blocks].entries - s.index[blocks].deleted)
		if t.Limit != 0 && deleted+inBlock > t.Limit || !t.blockGoes(s, blocks, live) {
			break
		}
		live -= inBlock
		deleted += inBlock
	}
	inside := !t.Whole && blocks < len(s.index)
	if blocks > 0 {
		tx.dropBlocks(key, s, 0, blocks)
	}
	if inside {
		deleted += tx.trimBlock(key, s, t)
	}
	return deleted
}

// trimBlock marks entries of the first block as deleted.
func (tx *Tx) trimBlock(key []byte, s *streamObject, t *StreamTrim) (deleted int64) {
	block, first := s.bytes(0), s.index[0].first
	from := 0
	tx.buf = tx.buf[:0]
	for w := stream.Forward(block, first); w.Next(); {
		if t.ByID && !w.ID.Less(t.ID) || !t.ByID && s.live-deleted <= t.Length {
			break
		}
		if w.Deleted {
			continue
		}
		// One effect for all of them: what lies between two marks is as it was.
		offset, mark := w.Marked()
		if deleted == 0 {
			from = offset
		}
		tx.buf = append(append(tx.buf, block[from+len(tx.buf):offset]...), mark)
		deleted++
	}
	if deleted > 0 {
		tx.emitStreamMarks(key, first, from, tx.buf)
	}
	return deleted
}

// emitStreamMarks replaces bytes of a block by as many others.
func (tx *Tx) emitStreamMarks(key []byte, first stream.ID, offset int, marks []byte) {
	tx.emit(&effect.Effect{Kind: effect.StreamSplice, DB: uint32(tx.DB), Key: key, Field: tx.streamName(first),
		Number: int64(offset), Count: int64(len(marks)), Value: marks})
}

// DeleteEntries removes the entries ids of the stream, which exists, and returns
// how many there were.
func (tx *Tx) DeleteEntries(key []byte, of Stream, ids []stream.ID) (deleted int64) {
	s := of.s
	maxDeleted := s.meta.maxDeleted
	for _, id := range ids {
		i, offset, mark, ok := s.locate(id)
		if !ok {
			continue
		}
		deleted++
		if maxDeleted.Less(id) {
			maxDeleted = id
		}
		if b := &s.index[i]; b.entries-b.deleted == 1 {
			tx.dropBlocks(key, s, i, 1)
		} else {
			tx.emitStreamMarks(key, b.first, offset, []byte{mark})
		}
	}
	if maxDeleted != s.meta.maxDeleted {
		tx.emitStreamMeta(key, s, streamMeta{last: s.lastID(), added: s.added(), maxDeleted: maxDeleted})
	}
	return deleted
}

// locate is where the mark of the entry id would be set.
func (s *streamObject) locate(id stream.ID) (i, offset int, mark byte, ok bool) {
	for i = s.blockFor(id); i < len(s.index); i++ {
		for w := stream.Forward(s.bytes(i), s.index[i].first); w.Next(); {
			if w.Deleted || w.ID.Less(id) {
				continue
			}
			offset, mark = w.Marked()
			return i, offset, mark, w.ID == id
		}
	}
	return 0, 0, 0, false
}

// dropBlocks removes blocks from i on. The ids and the count of what was added
// stay.
func (tx *Tx) dropBlocks(key []byte, s *streamObject, i, blocks int) {
	m := streamMeta{last: s.lastID(), added: s.added(), maxDeleted: s.meta.maxDeleted}
	for range blocks {
		tx.emit(&effect.Effect{Kind: effect.StreamDrop, DB: uint32(tx.DB), Key: key, Field: tx.streamName(s.index[i].first)})
	}
	tx.emitStreamMeta(key, s, m)
}

// emitStreamMeta sets what the blocks do not say; base follows from added.
func (tx *Tx) emitStreamMeta(key []byte, s *streamObject, m streamMeta) {
	m.base = m.added - uint64(s.entries)
	tx.setStreamFacet(key, []byte{facetMeta}, m.append(nil))
}

// SetStreamIDs sets the last id of the stream, how many entries were added and the
// greatest id deleted. It creates the stream where there is none.
func (tx *Tx) SetStreamIDs(key []byte, s Stream, last stream.ID, added uint64, maxDeleted stream.ID) {
	o := s.s
	if o == nil {
		o = &streamObject{}
	}
	tx.emitStreamMeta(key, o, streamMeta{last: last, added: added, maxDeleted: maxDeleted})
}

func (m *streamMeta) append(dst []byte) []byte {
	for _, n := range [...]uint64{m.last.Ms, m.last.Seq, m.added, m.base, m.maxDeleted.Ms, m.maxDeleted.Seq} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func decodeStreamMeta(value []byte) streamMeta {
	d := effect.Decoder{Rest: value}
	return streamMeta{
		last:       stream.ID{Ms: d.Uvarint(), Seq: d.Uvarint()},
		added:      d.Uvarint(),
		base:       d.Uvarint(),
		maxDeleted: stream.ID{Ms: d.Uvarint(), Seq: d.Uvarint()},
	}
}

// streamFor is the stream that an effect is about, made when it is missing; ks is
// where it is.
func (tx *Tx) streamFor(db int, key []byte) (s *streamObject, ks *keyspace, made bool) {
	ks, _, x, ok := tx.entry(db, key)
	if ok && x.Kind() == kindStream {
		return ks.objects.all[objectRef(x.Value())].(*streamObject), ks, false
	}
	s = &streamObject{}
	ks, x = tx.put(db, key, kindStream, 0, objectRefBytes)
	binary.LittleEndian.PutUint32(x.Value(), ks.objects.add(s))
	return s, ks, true
}

func (tx *Tx) applyStreamSplice(db int, x *effect.Effect) {
	s, ks, made := tx.streamFor(db, x.Key)
	s.splice(tx, x)
	if !made {
		ks.changed(x.Key)
	}
}

func (tx *Tx) applyStreamDrop(db int, x *effect.Effect) {
	ks, _, entry, ok := tx.entry(db, x.Key)
	if !ok || entry.Kind() != kindStream {
		return
	}
	s := ks.objects.all[objectRef(entry.Value())].(*streamObject)
	if i, ok := s.find(stream.FromBinary(x.Field)); ok {
		s.dropBlock(i)
	}
	ks.changed(x.Key)
}

// splice replaces bytes of a block as x says; a block that is not there is made.
func (s *streamObject) splice(tx *Tx, x *effect.Effect) {
	first, offset, removed := stream.FromBinary(x.Field), int(x.Number), int(x.Count)
	i, there := s.find(first)
	if !there {
		s.insertBlock(tx.e.pool, i, first)
	}
	if i == len(s.index)-1 {
		s.openBlock(i)
	}
	old := s.bytes(i)
	b := &s.index[i]
	switch {
	case offset == len(old) && b.open:
		s.open = append(s.open, x.Value...)
	case removed == len(x.Value):
		copy(old[offset:], x.Value)
	default:
		s.replace(i, slices.Concat(old[:offset], x.Value, old[offset+removed:]))
	}
	switch {
	case offset < len(old):
		entries, deleted := stream.Count(s.bytes(i), first, 0)
		s.recount(b, entries, deleted)
		s.edges = streamEdges{}
	case tx.appended.one:
		s.noteAppended(i, 1, 0, tx.appended.id)
	default:
		entries, deleted := 0, 0
		w := stream.From(s.bytes(i), first, offset)
		for ; w.Next(); entries++ {
			if w.Deleted {
				deleted++
			}
		}
		s.noteAppended(i, entries, deleted, w.ID)
	}
}

// applyAppend is what a live transaction makes of a splice that appends one entry to
// the open block. It returns where the entry begins.
func (s *streamObject) applyAppend(id stream.ID, pairs [][]byte) (offset int) {
	i := len(s.index) - 1
	offset = len(s.open)
	s.open = stream.AppendEntry(s.open, s.open, s.index[i].first, id, pairs)
	s.noteAppended(i, 1, 0, id)
	return offset
}

// noteAppended counts entries that were appended to block i, of which last is the
// last.
func (s *streamObject) noteAppended(i, entries, deleted int, last stream.ID) {
	b := &s.index[i]
	atEnd := i == len(s.index)-1
	if s.live == 0 || !atEnd {
		s.edges.firstKnown = false
	}
	s.recount(b, int(b.entries)+entries, int(b.deleted)+deleted)
	s.edges.tail, s.edges.tailKnown = last, atEnd
}

func (s *streamObject) recount(b *streamBlock, entries, deleted int) {
	s.entries += int64(entries) - int64(b.entries)
	s.live += int64(entries-deleted) - int64(b.entries-b.deleted)
	b.entries, b.deleted = uint32(entries), uint32(deleted)
}

// insertBlock makes an empty block i. Only the last block is open.
func (s *streamObject) insertBlock(pool *table.Pool, i int, first stream.ID) {
	if n := len(s.index); n > 0 && s.sealed == nil {
		s.sealed = table.New(pool)
	}
	last := i == len(s.index)
	if last {
		s.sealBlock()
	} else {
		name := first.Binary()
		putSealed(s.sealed, name[:], nil)
	}
	s.index = slices.Insert(s.index, i, streamBlock{first: first, open: last})
}

// sealBlock moves the open block into the table.
func (s *streamObject) sealBlock() {
	i := len(s.index) - 1
	if i < 0 || !s.index[i].open {
		return
	}
	name := s.index[i].first.Binary()
	putSealed(s.sealed, name[:], s.open)
	s.index[i].open = false
	s.open = s.open[:0]
}

// openBlock moves the last block, i, out of the table.
func (s *streamObject) openBlock(i int) {
	if s.index[i].open {
		return
	}
	s.open = append(s.open[:0], s.bytes(i)...)
	name := s.index[i].first.Binary()
	s.sealed.Delete(table.Hash(name[:]), name[:])
	s.index[i].open = true
}

// replace gives block i other bytes.
func (s *streamObject) replace(i int, block []byte) {
	if s.index[i].open {
		s.open = append(s.open[:0], block...)
		return
	}
	name := s.index[i].first.Binary()
	putSealed(s.sealed, name[:], block)
}

func (s *streamObject) dropBlock(i int) {
	b := &s.index[i]
	if b.open {
		s.open = nil
	} else {
		name := b.first.Binary()
		s.sealed.Delete(table.Hash(name[:]), name[:])
	}
	s.recount(b, 0, 0)
	if i == 0 {
		s.index = s.index[1:]
	} else {
		s.index = slices.Delete(s.index, i, i+1)
	}
	s.edges = streamEdges{}
}
