package engine

import (
	"encoding/binary"

	"reminis/engine/effect"
	"reminis/engine/stream"
)

// This file owns how groups come to be, deliver entries, and lose them. It must
// not know which command asks.

func (tx *Tx) setStreamFacet(key, name, value []byte) {
	tx.emit(&effect.Effect{Kind: effect.StreamSet, DB: uint32(tx.DB), Key: key, Field: name, Value: value})
}

// applyStreamSet does not count as a change for WATCH, but where it makes the
// stream: Redis does not signal a key for what happens in its groups.
func (tx *Tx) applyStreamSet(db int, x *effect.Effect) {
	s, _, _ := tx.streamFor(db, x.Key)
	s.setFacet(x.Field, x.Value)
}

func (tx *Tx) applyStreamUnset(db int, x *effect.Effect) {
	ks, _, entry, ok := tx.entry(db, x.Key)
	if !ok || entry.Kind() != kindStream {
		return
	}
	ks.objects.all[objectRef(entry.Value())].(*streamObject).unsetFacet(x.Field)
	if x.Field[0] == facetGroup {
		// Who waits for what the group delivers is to hear that there is none.
		ks.waiting.note(x.Key)
	}
}

// facetName begins the name of a facet in the transaction's buffer. Its value
// follows in the same buffer.
func (tx *Tx) facetName(kind byte, group uint32) []byte {
	return binary.BigEndian.AppendUint32(append(tx.buf[:0], kind), group)
}

// attach sets a facet: the buffer has its name, up to an offset, and its value.
func (tx *Tx) attach(key, buf []byte, nameBytes int) {
	tx.buf = buf
	tx.setStreamFacet(key, buf[:nameBytes:nameBytes], buf[nameBytes:])
}

// detach removes the facet whose name the buffer has.
func (tx *Tx) detach(key, name []byte) {
	tx.buf = name
	tx.emit(&effect.Effect{Kind: effect.StreamUnset, DB: uint32(tx.DB), Key: key, Field: name})
}

func (tx *Tx) setGroup(key []byte, number uint32, name string, last stream.ID, read int64) {
	buf := tx.facetName(facetGroup, number)
	nameBytes := len(buf)
	buf = binary.AppendUvarint(binary.AppendUvarint(buf, last.Ms), last.Seq)
	tx.attach(key, append(binary.AppendVarint(buf, read), name...), nameBytes)
}

func (tx *Tx) setConsumer(key []byte, group, number uint32, name string, seenMs int64) {
	buf := binary.BigEndian.AppendUint32(tx.facetName(facetConsumer, group), number)
	tx.attach(key, append(binary.AppendVarint(buf, seenMs), name...), len(buf))
}

func (tx *Tx) setPending(key []byte, group uint32, p pendingEntry) {
	buf := p.id.AppendBinary(tx.facetName(facetPending, group))
	nameBytes := len(buf)
	buf = binary.AppendVarint(binary.AppendUvarint(buf, uint64(p.consumer)), p.deliveredMs)
	tx.attach(key, binary.AppendUvarint(buf, p.count), nameBytes)
}

func (tx *Tx) unsetPending(key []byte, group uint32, id stream.ID) {
	tx.detach(key, id.AppendBinary(tx.facetName(facetPending, group)))
}

// CreateGroup makes a consumer group of the stream s, of key, which has none of
// the name. It creates the stream.
func (tx *Tx) CreateGroup(key []byte, s Stream, name []byte, last stream.ID, read int64) {
	number := uint32(0)
	if s.s == nil {
		tx.SetStreamIDs(key, s, stream.ID{}, 0, stream.ID{})
	} else if g := s.s.groups; g != nil {
		number = freeNumber(g.numbered, len(g.named))
	}
	tx.setGroup(key, number, string(name), last, read)
}

// SetGroup changes the last id that a group delivered, and how many entries it
// read.
func (tx *Tx) SetGroup(key []byte, group StreamGroup, last stream.ID, read int64) {
	tx.setGroup(key, group.g.number, group.g.name, last, read)
}

// DestroyGroup removes a group with its consumers and what is pending.
func (tx *Tx) DestroyGroup(key []byte, group StreamGroup) {
	for len(group.g.named) > 0 {
		tx.DeleteConsumer(key, group, StreamConsumer{group.g.named[len(group.g.named)-1]})
	}
	tx.detach(key, tx.facetName(facetGroup, group.g.number))
}

// CreateConsumer makes a consumer of a group that has none of the name.
func (tx *Tx) CreateConsumer(key []byte, group StreamGroup, name []byte) StreamConsumer {
	number := freeNumber(group.g.consumers, len(group.g.named))
	tx.setConsumer(key, group.g.number, number, string(name), tx.now)
	return StreamConsumer{group.g.consumers[number]}
}

// SeeConsumer notes that a consumer was heard of.
func (tx *Tx) SeeConsumer(key []byte, group StreamGroup, consumer StreamConsumer) {
	if consumer.c.seenMs != tx.now {
		tx.setConsumer(key, group.g.number, consumer.c.number, consumer.c.name, tx.now)
	}
}

// DeleteConsumer removes a consumer and what is pending for it.
func (tx *Tx) DeleteConsumer(key []byte, group StreamGroup, consumer StreamConsumer) {
	for _, id := range consumer.c.pending.Items() {
		tx.unsetPending(key, group.g.number, id)
	}
	tx.detach(key, binary.BigEndian.AppendUint32(tx.facetName(facetConsumer, group.g.number), consumer.c.number))
}

// Deliver makes id pending for a consumer; count is how often it was delivered.
// What was pending for another is no longer.
func (tx *Tx) Deliver(key []byte, group StreamGroup, consumer StreamConsumer, id stream.ID, deliveredMs int64, count uint64) {
	tx.setPending(key, group.g.number, pendingEntry{id: id, deliveredMs: deliveredMs, count: count, consumer: consumer.c.number})
}

// Acknowledge ends that id is pending and says whether it was.
func (tx *Tx) Acknowledge(key []byte, group StreamGroup, id stream.ID) bool {
	if _, ok := group.g.pending.Get(pendingEntry{id: id}); !ok {
		return false
	}
	tx.unsetPending(key, group.g.number, id)
	return true
}

// DeliverNew delivers the entries of the stream behind the last that the group
// delivered, count at most unless that is 0. Unless forget, they are pending
// afterwards. visit sees each one.
func (tx *Tx) DeliverNew(key []byte, s Stream, group StreamGroup, consumer StreamConsumer, count int64, forget bool, visit func(e *stream.Entry)) {
	bounds := s.s.bounds()
	last, read := group.g.last, group.g.read
	from, ok := last.Next()
	if !ok {
		return
	}
	s.s.each(from, stream.Max, func(e *stream.Entry) bool {
		// t_stream.c streamReplyWithRange.
		if read != stream.Unknown && !bounds.DeletedFrom(e.ID) {
			read++
		} else if bounds.Added != 0 {
			read = bounds.Distance(e.ID)
		}
		last = e.ID
		visit(e)
		if !forget {
			tx.Deliver(key, group, consumer, e.ID, tx.now, 1)
		}
		count--
		return count != 0
	})
	if last != group.g.last {
		tx.setGroup(key, group.g.number, group.g.name, last, read)
	}
}

// Value is the stream as a plain value, which aliases the stream.
func (s Stream) Value() *stream.Value {
	v := &stream.Value{Bounds: s.s.bounds()}
	for i := range s.s.index {
		b := &s.s.index[i]
		v.Blocks = append(v.Blocks, stream.Block{First: b.first, Bytes: s.s.bytes(i), Entries: int(b.entries), Deleted: int(b.deleted)})
	}
	s.EachGroup(func(group StreamGroup) {
		g := stream.Group{Name: []byte(group.Name()), Last: group.LastID(), Read: group.Read()}
		place := map[*streamConsumer]uint32{}
		group.EachConsumer(func(consumer StreamConsumer) {
			place[consumer.c] = uint32(len(g.Consumers))
			g.Consumers = append(g.Consumers, stream.Consumer{Name: []byte(consumer.Name()), SeenMs: consumer.SeenMs()})
		})
		group.EachPending(stream.ID{}, func(p Pending) bool {
			g.Pending = append(g.Pending, stream.Pending{ID: p.ID, DeliveredMs: p.DeliveredMs, Count: p.Count, Consumer: place[p.Consumer.c]})
			return true
		})
		v.Groups = append(v.Groups, g)
	})
	return v
}

// RestoreStream makes key, which is not there, the stream v.
func (tx *Tx) RestoreStream(key []byte, v *stream.Value) {
	entries := 0
	for i := range v.Blocks {
		entries += v.Blocks[i].Entries
	}
	m := streamMeta{last: v.Last, added: v.Added, base: v.Added - uint64(entries), maxDeleted: v.MaxDeleted}
	tx.setStreamFacet(key, []byte{facetMeta}, m.append(nil))
	for i := range v.Blocks {
		name := v.Blocks[i].First.Binary()
		tx.emit(&effect.Effect{Kind: effect.StreamSplice, DB: uint32(tx.DB), Key: key, Field: name[:], Value: v.Blocks[i].Bytes})
	}
	s, err := tx.Stream(key)
	if err != nil {
		panic("engine: a stream was restored over another value")
	}
	bounds := s.Bounds()
	for number := range v.Groups {
		g := &v.Groups[number]
		read := g.Read
		if v.Estimated {
			read = bounds.Distance(g.Last)
		}
		tx.setGroup(key, uint32(number), string(g.Name), g.Last, read)
		for i := range g.Consumers {
			tx.setConsumer(key, uint32(number), uint32(i), string(g.Consumers[i].Name), g.Consumers[i].SeenMs)
		}
		for i := range g.Pending {
			p := &g.Pending[i]
			tx.setPending(key, uint32(number), pendingEntry{id: p.ID, deliveredMs: p.DeliveredMs, count: p.Count, consumer: p.Consumer})
		}
	}
}
