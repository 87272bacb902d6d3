package engine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"reminis/engine/effect"
	"reminis/engine/stream"
)

// This file owns what a stream has beside its entries, and the names and values
// that it is stored under. It must not know which command asks.
//
// Groups and consumers have numbers, the least that are free, so that a pending
// entry is stored under 21 bytes and says in a few whose it is. Whatever refers to
// another comes behind it in the order of names: recovery takes them in that
// order.

// The first byte of a facet's name.
const (
	facetMeta     = 0
	facetGroup    = 1 // number of the group
	facetConsumer = 2 // number of the group, number of the consumer
	facetPending  = 3 // number of the group, id
)

// streamGroups are the consumer groups of a stream.
type streamGroups struct {
	numbered []*streamGroup // nil where a number is free
	named    []*streamGroup // by name
}

type streamGroup struct {
	number    uint32
	name      string
	last      stream.ID
	read      int64
	pending   *btree.BTreeG[pendingEntry]
	consumers []*streamConsumer // by number, nil where it is free
	named     []*streamConsumer // by name
}

type streamConsumer struct {
	number  uint32
	name    string
	seenMs  int64
	pending *btree.BTreeG[stream.ID]
}

// pendingEntry is an entry that was delivered and not acknowledged.
type pendingEntry struct {
	id          stream.ID
	deliveredMs int64
	count       uint64
	consumer    uint32
}

func pendingLess(a, b pendingEntry) bool { return a.id.Less(b.id) }

func newStreamGroup(number uint32) *streamGroup {
	return &streamGroup{number: number, pending: btree.NewBTreeGOptions(pendingLess, btree.Options{NoLocks: true})}
}

func newStreamConsumer(number uint32) *streamConsumer {
	return &streamConsumer{number: number, pending: btree.NewBTreeGOptions(stream.ID.Less, btree.Options{NoLocks: true})}
}

func (g *streamGroups) sizeBytes() int64 {
	const groupBytes, consumerBytes, pendingBytes = 256, 192, 40 + stream.IDBytes
	size := int64(0)
	if g == nil {
		return size
	}
	for _, group := range g.named {
		size += groupBytes + int64(len(group.name)) + int64(group.pending.Len())*pendingBytes
		for _, consumer := range group.named {
			size += consumerBytes + int64(len(consumer.name))
		}
	}
	return size
}

func (g *streamGroups) clone() *streamGroups {
	if g == nil {
		return nil
	}
	c := &streamGroups{numbered: make([]*streamGroup, len(g.numbered))}
	for _, from := range g.named {
		group := *from
		group.pending = from.pending.Copy()
		group.consumers, group.named = make([]*streamConsumer, len(from.consumers)), nil
		for _, one := range from.named {
			consumer := *one
			consumer.pending = one.pending.Copy()
			group.consumers[consumer.number] = &consumer
			group.named = append(group.named, &consumer)
		}
		c.numbered[group.number] = &group
		c.named = append(c.named, &group)
	}
	return c
}

// freeNumber is the least number that is free.
func freeNumber[T any](numbered []*T, used int) uint32 {
	if used < len(numbered) {
		return uint32(slices.Index(numbered, nil))
	}
	return uint32(len(numbered))
}

// occupy puts x under a number.
func occupy[T any](numbered []*T, number uint32, x *T) []*T {
	for len(numbered) <= int(number) {
		numbered = append(numbered, nil)
	}
	numbered[number] = x
	return numbered
}

// numbered is what has the number, or nil.
func numbered[T any](list []*T, number uint32) *T {
	if int(number) < len(list) {
		return list[number]
	}
	return nil
}

func (g *streamGroups) find(name string) (i int, ok bool) {
	return slices.BinarySearchFunc(g.named, name, func(x *streamGroup, name string) int { return strings.Compare(x.name, name) })
}

func (g *streamGroup) find(name string) (i int, ok bool) {
	return slices.BinarySearchFunc(g.named, name, func(x *streamConsumer, name string) int { return strings.Compare(x.name, name) })
}

// setFacet takes what is stored under a name.
func (s *streamObject) setFacet(name, value []byte) {
	d := effect.Decoder{Rest: value}
	switch name[0] {
	case facetMeta:
		s.meta = decodeStreamMeta(value)
	case facetGroup:
		s.setGroup(cutNumber(name[1:]), &d)
	case facetConsumer:
		s.groups.numbered[cutNumber(name[1:])].setConsumer(cutNumber(name[5:]), &d)
	case facetPending:
		consumer := uint32(d.Uvarint())
		s.groups.numbered[cutNumber(name[1:])].setPending(pendingEntry{
			id: stream.FromBinary(name[5:]), consumer: consumer, deliveredMs: d.Varint(), count: d.Uvarint(),
		})
	}
}

// unsetFacet forgets what is stored under a name.
func (s *streamObject) unsetFacet(name []byte) {
	g := s.groups
	number := cutNumber(name[1:])
	group := g.numbered[number]
	switch name[0] {
	case facetGroup:
		i, _ := g.find(group.name)
		g.named = slices.Delete(g.named, i, i+1)
		g.numbered[number] = nil
	case facetConsumer:
		consumer := group.consumers[cutNumber(name[5:])]
		i, _ := group.find(consumer.name)
		group.named = slices.Delete(group.named, i, i+1)
		group.consumers[consumer.number] = nil
	case facetPending:
		if old, ok := group.pending.Delete(pendingEntry{id: stream.FromBinary(name[5:])}); ok {
			group.consumers[old.consumer].pending.Delete(old.id)
		}
	}
}

func cutNumber(name []byte) uint32 { return binary.BigEndian.Uint32(name) }

func (s *streamObject) setGroup(number uint32, d *effect.Decoder) {
	if s.groups == nil {
		s.groups = &streamGroups{}
	}
	g := s.groups
	group := numbered(g.numbered, number)
	last, read := stream.ID{Ms: d.Uvarint(), Seq: d.Uvarint()}, d.Varint()
	if group == nil {
		group = newStreamGroup(number)
		group.name = string(d.Rest)
		i, _ := g.find(group.name)
		g.named = slices.Insert(g.named, i, group)
		g.numbered = occupy(g.numbered, number, group)
	}
	group.last, group.read = last, read
}

func (g *streamGroup) setConsumer(number uint32, d *effect.Decoder) {
	consumer := numbered(g.consumers, number)
	seenMs := d.Varint()
	if consumer == nil {
		consumer = newStreamConsumer(number)
		consumer.name = string(d.Rest)
		i, _ := g.find(consumer.name)
		g.named = slices.Insert(g.named, i, consumer)
		g.consumers = occupy(g.consumers, number, consumer)
	}
	consumer.seenMs = seenMs
}

func (g *streamGroup) setPending(p pendingEntry) {
	old, there := g.pending.Set(p)
	if there && old.consumer == p.consumer {
		return
	}
	if there {
		g.consumers[old.consumer].pending.Delete(p.id)
	}
	g.consumers[p.consumer].pending.Set(p.id)
}

// StreamGroup is a consumer group as a transaction reads it. It sees what is
// written to it later, until it is destroyed.
type StreamGroup struct{ g *streamGroup }

// StreamConsumer is a consumer of a group, as StreamGroup is.
type StreamConsumer struct{ c *streamConsumer }

// Pending is an entry that was delivered to a consumer and not acknowledged.
type Pending struct {
	ID          stream.ID
	Consumer    StreamConsumer
	DeliveredMs int64
	Count       uint64
}

// Group finds a consumer group; ok is false when there is none of the name.
func (s Stream) Group(name []byte) (group StreamGroup, ok bool) {
	if s.s == nil || s.s.groups == nil {
		return StreamGroup{}, false
	}
	i, ok := s.s.groups.find(string(name))
	if !ok {
		return StreamGroup{}, false
	}
	return StreamGroup{s.s.groups.named[i]}, true
}

// Groups is the number of groups.
func (s Stream) Groups() int {
	if s.s == nil || s.s.groups == nil {
		return 0
	}
	return len(s.s.groups.named)
}

// EachGroup visits the groups in the order of their names.
func (s Stream) EachGroup(visit func(group StreamGroup)) {
	if s.s == nil || s.s.groups == nil {
		return
	}
	for _, group := range s.s.groups.named {
		visit(StreamGroup{group})
	}
}

// Name is the group's name.
func (g StreamGroup) Name() string { return g.g.name }

// LastID is the last id that was delivered.
func (g StreamGroup) LastID() stream.ID { return g.g.last }

// Read is how many entries were read up to LastID, or stream.Unknown.
func (g StreamGroup) Read() int64 { return g.g.read }

// Pending is how many entries are pending.
func (g StreamGroup) Pending() int { return g.g.pending.Len() }

// Consumers is the number of consumers.
func (g StreamGroup) Consumers() int { return len(g.g.named) }

// EachConsumer visits the consumers in the order of their names.
func (g StreamGroup) EachConsumer(visit func(consumer StreamConsumer)) {
	for _, consumer := range g.g.named {
		visit(StreamConsumer{consumer})
	}
}

// Consumer finds a consumer; ok is false when there is none of the name.
func (g StreamGroup) Consumer(name []byte) (consumer StreamConsumer, ok bool) {
	i, ok := g.g.find(string(name))
	if !ok {
		return StreamConsumer{}, false
	}
	return StreamConsumer{g.g.named[i]}, true
}

// Name is the consumer's name.
func (c StreamConsumer) Name() string { return c.c.name }

// SeenMs is when the consumer was last heard of.
func (c StreamConsumer) SeenMs() int64 { return c.c.seenMs }

// Pending is how many entries are pending for the consumer.
func (c StreamConsumer) Pending() int { return c.c.pending.Len() }

func (g *streamGroup) shown(p pendingEntry) Pending {
	return Pending{ID: p.id, Consumer: StreamConsumer{g.consumers[p.consumer]}, DeliveredMs: p.deliveredMs, Count: p.count}
}

// PendingEdges are the first and the last id that is pending.
func (g StreamGroup) PendingEdges() (first, last stream.ID) {
	least, _ := g.g.pending.Min()
	greatest, _ := g.g.pending.Max()
	return least.id, greatest.id
}

// PendingAt finds the pending entry id.
func (g StreamGroup) PendingAt(id stream.ID) (p Pending, ok bool) {
	entry, ok := g.g.pending.Get(pendingEntry{id: id})
	if !ok {
		return Pending{}, false
	}
	return g.g.shown(entry), true
}

// EachPending visits what is pending from an id on, until visit returns false.
// visit must not change the group.
func (g StreamGroup) EachPending(from stream.ID, visit func(p Pending) bool) {
	g.g.pending.Ascend(pendingEntry{id: from}, func(p pendingEntry) bool { return visit(g.g.shown(p)) })
}

// EachPendingOf is EachPending of one consumer.
func (g StreamGroup) EachPendingOf(consumer StreamConsumer, from stream.ID, visit func(p Pending) bool) {
	consumer.c.pending.Ascend(from, func(id stream.ID) bool {
		p, _ := g.PendingAt(id)
		return visit(p)
	})
}

// check says where groups, consumers and what is pending disagree.
func (g *streamGroups) check() error {
	if g == nil {
		return nil
	}
	for i, group := range g.named {
		if numbered(g.numbered, group.number) != group || i > 0 && g.named[i-1].name >= group.name {
			return fmt.Errorf("group %q of a stream is misplaced", group.name)
		}
		pending := 0
		for j, consumer := range group.named {
			if numbered(group.consumers, consumer.number) != consumer || j > 0 && group.named[j-1].name >= consumer.name {
				return fmt.Errorf("consumer %q of group %q is misplaced", consumer.name, group.name)
			}
			pending += consumer.pending.Len()
			for _, id := range consumer.pending.Items() {
				if p, ok := group.pending.Get(pendingEntry{id: id}); !ok || p.consumer != consumer.number {
					return fmt.Errorf("entry %v is pending for consumer %q, but not in group %q", id, consumer.name, group.name)
				}
			}
		}
		if pending != group.pending.Len() {
			return fmt.Errorf("%d entries are pending in group %q, %d for its consumers", group.pending.Len(), group.name, pending)
		}
	}
	return nil
}
