package engine

import (
	"encoding/binary"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns lists: records whose items are kept one by one, in a tree of
// their owner's beside its records. It must not know commands, nor how the past
// is read.
//
// An item's block is that of a record, with the item's binary form in place of
// the record's and a key that no record can have: the record's, a zero byte, the
// item's number.

const itemKeyTail = 9

func appendItemKey(dst, key []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(append(dst, key...), 0), n)
}

// recordKey is the key of the record whose item the block is.
func (it item) recordKey() []byte { return it.key()[:len(it.key())-itemKeyTail] }

// number is the item's number.
func (it item) number() uint64 {
	key := it.key()
	return binary.BigEndian.Uint64(key[len(key)-8:])
}

// content is what the block of an item says.
func (it item) content() memory.Item {
	content, err := memory.DecodeItem(it.record())
	if err != nil {
		panic("engine: an item of a list does not decode: " + err.Error())
	}
	return content
}

// eachItem visits the items first <= number < next of the record key.
func eachItem(items itemTree, key []byte, first, next uint64, visit func(it item) bool) {
	items.Ascend(newItem(appendItemKey(nil, key, first), 0, 0, nil), func(it item) bool {
		k := it.key()
		if len(k) != len(key)+itemKeyTail || string(it.recordKey()) != string(key) || it.number() >= next {
			return false
		}
		return visit(it)
	})
}

// joinItems makes the decoded record of a list whole.
func joinItems(items itemTree, key []byte, r *memory.Record) {
	first, next := r.First, r.Next // so that r need not live on the heap
	array := memory.JoinItems(make([]byte, 0, r.ArrayBytes()), func(yield func([]byte) bool) {
		eachItem(items, key, first, next, func(it item) bool { return yield(it.content().Text) })
	})
	r.Whole(array)
}

// Decode reads the record: a list with its array as value, an item of a list
// (where Item says so) with the item as value and its time as the last change.
// What a transaction gave is read while its locks are held.
func (s *Stored) Decode(r *memory.Record) {
	mustDecode(s.Bytes, r)
	switch {
	case s.Item != 0:
		content := s.part.content()
		r.Whole(content.Text)
		r.UpdatedMs = content.TimeMs
	case r.List != 0:
		joinItems(s.items, s.Key, r)
	}
}

// Signals are those of the record: of an item of a list its time.
func (s *Stored) Signals() memory.Signals {
	signals := memory.DecodeSignals(s.Bytes)
	if s.Item != 0 {
		signals.UpdatedMs = s.part.content().TimeMs
	}
	return signals
}

// Grow makes r, which follows what stands at key, a list with texts appended at
// timeMs, cut to the newest limit (0: uncut), and gives the items that are new.
// It changes no record. An array that was no list becomes one, so that all its
// elements are new. It fails when there is no array to append to, or the list
// would be too large.
func (tx *Tx) Grow(key memory.Key, r *memory.Record, texts [][]byte, timeMs int64, limit int) (added []memory.Item, err error) {
	stood, exists, err := tx.Record(key.Text)
	if err != nil {
		return nil, err
	}
	owner := tx.owner(tx.DB, key.Owner())
	var old memory.Record
	old.Reset()
	if exists {
		mustDecode(stood.Bytes, &old)
	}
	if old.List != 0 && old.Kind.Journaled() == r.Kind.Journaled() {
		r.List, r.First, r.Next, r.ItemBytes = old.List, old.First, old.Next, old.ItemBytes
	} else {
		if added, err = elements(&stood, &old); err != nil {
			return nil, err
		}
		r.List, r.First, r.Next, r.ItemBytes = tx.nextList(owner), 1, 1, 0
	}
	r.Value, r.Text = nil, false
	for _, text := range texts {
		added = append(added, memory.Item{TimeMs: timeMs, Text: text})
	}
	kept := r.Next // items before it are kept already
	r.Next += uint64(len(added))
	for i := range added {
		r.ItemBytes += uint64(len(added[i].Text))
	}
	if first := r.Next - min(uint64(limit), r.Next); limit > 0 && first > r.First {
		eachItem(owner.items, key.Text, r.First, min(first, kept), func(it item) bool {
			r.ItemBytes -= uint64(len(it.content().Text))
			return true
		})
		for ; kept < first; kept++ {
			r.ItemBytes -= uint64(len(added[0].Text))
			added = added[1:]
		}
		r.First = first
	}
	return added, memory.CheckList(r)
}

// Grown is the array that a list which Grow made is to be.
func (tx *Tx) Grown(key memory.Key, r *memory.Record, added []memory.Item) []byte {
	owner := tx.owner(tx.DB, key.Owner())
	return memory.JoinItems(make([]byte, 0, r.ArrayBytes()), func(yield func([]byte) bool) {
		more := true
		eachItem(owner.items, key.Text, r.First, r.Next-uint64(len(added)), func(it item) bool {
			more = yield(it.content().Text)
			return more
		})
		for i := 0; more && i < len(added); i++ {
			more = yield(added[i].Text)
		}
	})
}

// elements are what a record that is no list yet begins its list with.
func elements(s *Stored, r *memory.Record) (items []memory.Item, err error) {
	if s.Key == nil {
		return nil, nil
	}
	if r.List != 0 {
		eachItem(s.items, s.Key, r.First, r.Next, func(it item) bool {
			items = append(items, it.content())
			return true
		})
		return items, nil
	}
	texts, err := memory.SplitArray(r)
	for _, text := range texts {
		items = append(items, memory.Item{TimeMs: r.UpdatedMs, Text: text})
	}
	return items, err
}

// Items are the elements of a record that is an array, as the items of a list
// have them. What a transaction gave is read while its locks are held.
func (s *Stored) Items() ([]memory.Item, error) {
	var r memory.Record
	mustDecode(s.Bytes, &r)
	return elements(s, &r)
}

// NewList makes r a list of these items alone, for AppendRecord. It changes no
// record and locks the owner. It fails when the list would be too large.
func (tx *Tx) NewList(ownerName []byte, r *memory.Record, items []memory.Item) error {
	r.Value, r.Text, r.ItemBytes = nil, false, 0
	r.List, r.First, r.Next = tx.nextList(tx.owner(tx.DB, ownerName)), 1, 1+uint64(len(items))
	for i := range items {
		r.ItemBytes += uint64(len(items[i].Text))
	}
	return memory.CheckList(r)
}

// listBits is how many lists one batch may begin before their numbers meet
// those of the next.
const listBits = 20

// nextList numbers a list of the owner: above all before, also over restarts,
// because history and the store tell a key's lists by their numbers.
func (tx *Tx) nextList(owner *Owner) uint64 {
	owner.lastList = max(owner.lastList+1, tx.e.owners.lastSeq.Load()<<listBits)
	return owner.lastList
}

// AppendRecord makes r, a list that Grow made, the record key, with the items
// that were added. All else is as in PutRecord.
func (tx *Tx) AppendRecord(key memory.Key, r *memory.Record, added []memory.Item, event *memory.Event, keep Retention) {
	tx.leaveStore(key.Text, r.Kind, event)
	owner := tx.owner(tx.DB, key.Owner())
	tx.record.encoded = memory.Encode(tx.record.encoded[:0], r)
	x := effect.Effect{Kind: effect.RecordAppend, DB: uint32(tx.DB), Key: key.Text, OwnerLen: key.OwnerLen,
		Value: tx.record.encoded, Number: int64(r.Version), DeadlineMs: r.DeadlineMs,
		Count: int64(keep.Versions), KeepMs: keep.AgeMs, List: r.List, First: r.First}
	emit := tx.hold
	ended := tx.endedItems(owner, key, r)
	if r.Kind.Journaled() {
		emit = tx.emit
		tx.keyed(tx.DB, owner)
		x.Event = tx.chainEvent(owner, event, memory.JoinItems(nil, func(yield func([]byte) bool) {
			for i := range added {
				if !yield(added[i].Text) {
					return
				}
			}
		}))
		if r.Kind.Rule().Durability == memory.DurableFirst {
			tx.Durable()
		}
	}
	emit(&x)
	tx.endVectors(tx.DB, owner, key.Text, ended)
	for i := range added {
		tx.record.encoded = memory.AppendItem(tx.record.encoded[:0], added[i])
		emit(&effect.Effect{Kind: effect.ItemPut, DB: uint32(tx.DB), Key: key.Text, OwnerLen: key.OwnerLen,
			Value: tx.record.encoded, Number: int64(r.Next) - int64(len(added)-i), List: r.List})
	}
	tx.Notify(EventRecord, recordEvent(event), key.Text)
}

// endedItems is the number before which the items of a record end when it becomes the
// list r: those that are trimmed, or all of another list.
func (tx *Tx) endedItems(owner *Owner, key memory.Key, r *memory.Record) uint64 {
	old, ok := owner.records.Get(tx.pivotOf(key.Text))
	if !ok || !old.isList() {
		return r.First
	}
	var stood memory.Record
	if mustDecode(old.record(), &stood); stood.List != r.List {
		return ^uint64(0)
	}
	return r.First
}

// listBytes is about what the items of a list take in its owner's tree.
func listBytes(key []byte, r *memory.Record) int64 {
	const timeBytes = 6
	return int64(r.Next-r.First)*int64(itemHead+len(key)+itemKeyTail+timeBytes) + int64(r.ItemBytes)
}

// The apply side.

func (tx *Tx) applyRecordAppend(db int, x *effect.Effect) {
	owner := tx.owner(db, x.Owner())
	it, old := tx.replaceRecord(owner, x, x.List)
	owner.endItems(x.Key, x.First)
	owner.lastList = max(owner.lastList, x.List)
	r := &tx.record.record
	owner.keep(it, old, r.Pinned)
	if !owner.sketch {
		owner.addVector(it.doc(), r)
		if !it.isSilent() {
			owner.wait(tx, it)
		}
		tx.putEntry(db, x, owner, it)
	}
	if r.Kind.Journaled() {
		owner.remember(tx, x, it)
	}
}

// applyItemPut adds an item to the list that its record is by now.
func (tx *Tx) applyItemPut(db int, x *effect.Effect) {
	owner := tx.owner(db, x.Owner())
	head, ok := owner.records.Get(tx.pivotOf(x.Key))
	if !ok {
		panic("engine: an item of no record")
	}
	tx.buf = appendItemKey(tx.buf[:0], x.Key, uint64(x.Number))
	it := newItem(tx.buf, 0, owner.nextDoc(tx), x.Value)
	it[itemFlags] = flagPart
	owner.items.Set(it)
	owner.keep(it, nil, false)
	if !owner.sketch {
		owner.wait(tx, it)
		tx.offerText(owner, it)
	}
	if head.kind().Journaled() {
		owner.remember(tx, x, it)
	}
}

// itemAnchor is the text that an item is found by. The paths of policies lead
// through the array, so an item is looked at as an array of one.
func itemAnchor(policy *memory.Policy, content *memory.Item) []byte {
	if len(policy.Encrypted()) == 0 && len(policy.Indexed()) == 0 {
		return content.AnchorText(nil)
	}
	alone := memory.Record{Value: memory.JoinItems(nil, func(yield func([]byte) bool) { yield(content.Text) })}
	return policy.AppendAnchor(nil, &alone)
}

// endItems removes the items of a list before the one numbered next.
func (o *Owner) endItems(key []byte, next uint64) {
	var gone []item
	eachItem(o.items, key, 0, next, func(it item) bool {
		gone = append(gone, it)
		return true
	})
	for _, it := range gone {
		o.items.Delete(it)
		o.drop(it)
	}
}
