package engine

import (
	"cmp"
	"slices"

	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns an owner as it was: a view of a past moment that can be walked
// and searched as one of now. It must not know how a single record's past is read
// (history.go).
//
// Such a view is built anew for each command, from every record that ever was.
// What has not changed since is taken as it stands, without reading history. Its
// documents are numbered by the time of their last change.

// pastRecordsMax bounds the records and items of a past view (mem-past-records):
// it is made for one reply, in memory.
const pastRecordsMax = 100_000

// NowMs is the moment of the view.
func (v *OwnerView) NowMs() int64 { return v.nowMs }

// AsOf is the view at a moment; its text index is made only where indexed says so.
// Working records and links have no past and are not in it. It may read from disk.
// ErrRetention is returned when the moment is before what is retained of any
// record.
func (v *OwnerView) AsOf(moment memory.Moment, indexed bool) (*OwnerView, error) {
	keys, err := v.KeysEver()
	if err != nil {
		return nil, err
	}
	b := pastBuilder{from: v, moment: moment}
	if err := b.findLast(); err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := b.add(key); err != nil {
			return nil, err
		}
		if len(b.found) > pastRecordsMax {
			return nil, memory.ErrPast(pastRecordsMax)
		}
	}
	return b.view(indexed), nil
}

// pastBuilder is a past view on its way.
type pastBuilder struct {
	from   *OwnerView
	moment memory.Moment
	seq    uint64 // batches until it are before the moment
	nowMs  int64
	found  []pastRecord
}

// pastRecord is a record, or an item of one, as it was.
type pastRecord struct {
	key        []byte
	deadlineMs int64
	seq        uint64
	record     *memory.Record // the head of a list too
	item       *memory.Item   // nil: the record itself
	number     uint64         // of the item
	timeMs     int64
	bytes      []byte
}

// findLast finds the last batch before the moment that has an event, and its time.
func (b *pastBuilder) findLast() error {
	b.seq, b.nowMs = b.moment.Seq, b.moment.TimeMs
	return b.from.Events(0, ^uint64(0), true, func(seq uint64, stored []byte) bool {
		_, encoded, err := memory.SplitLinked(stored)
		if err != nil {
			return true
		}
		timeMs, err := memory.EventTimeMs(encoded)
		if err != nil || !b.moment.Covers(position(seq), timeMs) {
			return true
		}
		if b.moment.BySeq {
			b.nowMs = timeMs
		} else if seq != 0 {
			b.seq = seq
		}
		return false
	})
}

// add adds what a key was at the moment.
func (b *pastBuilder) add(key string) error {
	it, stands := b.from.records.Get(newItem([]byte(key), 0, 0, nil))
	if stands && !it.kind().Journaled() {
		return nil
	}
	if stands && it.seq() != 0 && it.seq() <= b.seq && it.deadlineMs() == 0 {
		b.addStanding(it)
		return nil
	}
	s, made, ok, err := b.from.At([]byte(key), b.moment)
	if err != nil || !ok {
		return err
	}
	if made.list == nil {
		var r memory.Record
		mustDecode(s.Bytes, &r)
		b.found = append(b.found, pastRecord{key: s.Key, deadlineMs: s.DeadlineMs, seq: made.Seq, record: &r, timeMs: r.UpdatedMs, bytes: s.Bytes})
		return nil
	}
	return b.addList(&s, &made)
}

// addStanding adds a record that has not changed since and has no deadline. It may
// have had one, but it stood: it stands even now.
func (b *pastBuilder) addStanding(it item) {
	if b.from.hides(it) {
		return
	}
	r := new(memory.Record)
	mustDecode(it.record(), r)
	b.found = append(b.found, pastRecord{key: it.key(), seq: it.seq(), record: r, timeMs: r.UpdatedMs, bytes: it.record()})
	if r.List != 0 {
		eachItem(b.from.items, it.key(), r.First, r.Next, func(part item) bool {
			content := part.content()
			b.addItem(it.key(), it.seq(), r, part.number(), content)
			return true
		})
	}
}

func (b *pastBuilder) addList(s *Stored, made *Change) error {
	r := new(memory.Record)
	mustDecode(made.head, r)
	items, err := made.list.items(r)
	if err != nil {
		return err
	}
	b.found = append(b.found, pastRecord{key: s.Key, deadlineMs: s.DeadlineMs, seq: made.Seq, record: r, timeMs: r.UpdatedMs, bytes: made.head})
	for i, content := range items {
		b.addItem(s.Key, made.Seq, r, r.First+uint64(i), content)
	}
	return nil
}

func (b *pastBuilder) addItem(key []byte, seq uint64, r *memory.Record, number uint64, content memory.Item) {
	b.found = append(b.found, pastRecord{key: key, seq: seq, record: r, item: &content, number: number, timeMs: content.TimeMs,
		bytes: memory.AppendItem(nil, content)})
}

// view puts together what was found.
func (b *pastBuilder) view(indexed bool) *OwnerView {
	slices.SortFunc(b.found, func(x, y pastRecord) int {
		return cmp.Or(cmp.Compare(x.timeMs, y.timeMs), cmp.Compare(x.seq, y.seq), cmp.Compare(string(x.key), string(y.key)), cmp.Compare(x.number, y.number))
	})
	if n := len(b.found); b.nowMs == 0 && n > 0 {
		b.nowMs = b.found[n-1].timeMs // where no event says when a batch was
	}
	owner := &Owner{name: b.from.Name}
	owner.clear()
	for i := range b.found {
		b.put(owner, uint64(i+1), &b.found[i], indexed)
	}
	v := *b.from
	v.records, v.items, v.docs, v.pinned, v.profile = owner.records, owner.items, &owner.docs, &owner.pinned, owner.profile
	v.index, v.vectors = owner.index.View(), owner.viewVectors()
	v.Seq, v.nowMs, v.head = b.seq, b.nowMs, nil
	for kind := range v.perishable {
		v.perishable[kind] = true
	}
	v.facets, v.columns = &facetMap{}, viewColumns{}
	return &v
}

func (b *pastBuilder) put(owner *Owner, doc uint64, p *pastRecord, indexed bool) {
	policy := b.from.Policy(p.key)
	if p.item != nil {
		it := newItem(appendItemKey(nil, p.key, p.number), 0, doc, p.bytes)
		it[itemFlags] = flagPart
		owner.items.Set(it)
		owner.keep(it, nil, false)
		if indexed {
			owner.index.Add(recall.Doc{ID: doc, Text: string(itemAnchor(policy, p.item)), Order: p.item.TimeMs, Group: owner.groupOf(p.key, p.record.Kind)})
		}
		return
	}
	it := newItem(p.key, p.deadlineMs, doc, p.bytes)
	it.setSeq(p.seq)
	it.note(p.record)
	owner.records.Set(it)
	owner.keep(it, nil, p.record.Pinned)
	owner.addVector(doc, p.record)
	if indexed && (p.record.List == 0 || len(p.record.Anchor) > 0) {
		owner.index.Add(recall.Doc{ID: doc, Text: string(policy.AppendAnchor(nil, p.record)), Order: p.record.CreatedMs, Group: owner.groupOf(p.key, p.record.Kind), Class: uint8(p.record.Kind)})
	}
}
