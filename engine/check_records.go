package engine

import (
	"fmt"

	"reminis/engine/memory"
	"reminis/engine/table"
)

// This file owns the check of memory records that tests run: shards, owners and
// indexes agree. It must not repair anything.

// checkRecords says where owners and shards disagree. Tests call it when
// nothing else runs.
func (e *Engine) checkRecords() error {
	entries := map[*Owner]int{}
	for i := range e.shards {
		for db := range e.nDB {
			if ks := e.shards[i].space(db); ks != nil {
				if err := e.checkEntries(ks, db, entries); err != nil {
					return err
				}
			}
		}
	}
	for space, in := range e.owners.spaces {
		for name, owner := range in.byName {
			if err := owner.check(entries[owner]); err != nil {
				return fmt.Errorf("owner %q of space %d: %w", name, space, err)
			}
		}
	}
	return nil
}

// checkEntries finds the item of every record of a keyspace, and counts them by
// owner.
func (e *Engine) checkEntries(ks *keyspace, db int, count map[*Owner]int) (err error) {
	places := len(ks.records.all) - len(ks.records.free)
	ks.keys.Each(func(x table.Entry) bool {
		if x.Kind() != kindMemory {
			return true
		}
		owner := e.owners.find(e.owners.space(db), x.Key()[:e.Layout().OwnerLen(x.Key())])
		if owner == nil {
			err = fmt.Errorf("database %d: record %q has no owner", db, x.Key())
			return false
		}
		it, ok := owner.records.Get(newItem(x.Key(), 0, 0, nil))
		switch {
		case !ok:
			err = fmt.Errorf("database %d: record %q is not in its owner's tree", db, x.Key())
		case ks.records.of(x).owner != owner || &ks.records.of(x).item[0] != &it[0]:
			err = fmt.Errorf("database %d: record %q is another in its shard than in its owner's tree", db, x.Key())
		case it.deadlineMs() != x.DeadlineMs():
			err = fmt.Errorf("database %d: record %q has deadline %d in the table, %d in the tree", db, x.Key(), x.DeadlineMs(), it.deadlineMs())
		}
		count[owner]++
		places--
		return err == nil
	})
	if err == nil && places != 0 {
		err = fmt.Errorf("database %d: %d places of records have no entry", db, places)
	}
	return err
}

// check compares an owner's records with its index and its chain's head, given
// how many of them shards have.
func (o *Owner) check(entries int) error {
	waiting := 0
	o.docs.Scan(func(_ uint64, it item) bool {
		if o.waits(it) {
			waiting++
		}
		return true
	})
	if waiting != o.waiting {
		return fmt.Errorf("%d documents wait to be indexed, %d are counted", waiting, o.waiting)
	}
	o.indexUpTo(o.lastDoc)
	view, items := o.index.View(), o.items.Len()
	indexed, listed, err := o.records.Len()+items, 0, error(nil)
	pinned, profile, vectors := 0, 0, 0
	var tally recordTally
	var sessions sessionIndex
	o.records.Scan(func(it item) bool {
		var r memory.Record
		same, ok := o.docs.Get(it.doc())
		pin, isPinned := o.pinned.Get(it.doc())
		switch decodeErr := memory.Decode(it.record(), &r); {
		case decodeErr != nil:
			err = fmt.Errorf("record %q: %w", it.key(), decodeErr)
		case !ok || &same[0] != &it[0]:
			err = fmt.Errorf("record %q is not found by its document %d", it.key(), it.doc())
		case it.doc() > o.lastDoc:
			err = fmt.Errorf("record %q has document %d, the last is %d", it.key(), it.doc(), o.lastDoc)
		case isPinned != r.Pinned || isPinned && &pin[0] != &it[0]:
			err = fmt.Errorf("record %q: pinned %t, found among the pinned %t", it.key(), r.Pinned, isPinned)
		case it.kind() != r.Kind:
			err = fmt.Errorf("record %q is %v, its item says %v", it.key(), r.Kind, it.kind())
		case r.Kind.Journaled() && it.seq() == 0:
			err = fmt.Errorf("record %q has no sequence", it.key())
		}
		tally.count(it, 1)
		sessions.count(o.name, it, nil)
		if err == nil && r.List != 0 {
			n := 0
			if n, err = o.checkList(it.key(), &r, &tally); len(r.Anchor) == 0 {
				indexed--
			}
			listed += n
		}
		if r.Pinned {
			pinned++
		}
		if len(r.Vector) > 0 {
			vectors++
		}
		if r.Kind == memory.Profile {
			profile++
			if same, ok := o.profile.Get(it); err == nil && (!ok || &same[0] != &it[0]) {
				err = fmt.Errorf("record %q is not found among the profile", it.key())
			}
		}
		return err == nil
	})
	if n := o.records.Len(); err == nil && (n != entries || n+items != o.docs.Len() || indexed != view.Len() || listed != items) {
		return fmt.Errorf("%d records, %d entries in shards, %d items, %d in lists, %d by document, %d documents, %d to be", n, entries, items, listed, o.docs.Len(), view.Len(), indexed)
	}
	if err == nil && pinned != o.pinned.Len() {
		err = fmt.Errorf("%d pinned records, %d in their tree", pinned, o.pinned.Len())
	}
	if found := o.viewVectors(); err == nil && found != nil && vectors+len(o.embedded) != found.Len() || found == nil && vectors > 0 {
		err = fmt.Errorf("%d records with vectors, the index has others", vectors)
	}
	if err == nil && profile != o.profile.Len() {
		err = fmt.Errorf("%d profile records, %d in their tree", profile, o.profile.Len())
	}
	if n := tally.bytes + recordBytes*int64(o.records.Len()+o.items.Len()); err == nil && o.everywhere != nil && n != o.sizeBytes {
		err = fmt.Errorf("the records take %d bytes, %d are counted", n, o.sizeBytes)
	}
	if err == nil && tally != o.tally {
		err = fmt.Errorf("the records count up to %+v, the owner has %+v", tally, o.tally)
	}
	if err == nil {
		err = o.sessions.check(&sessions)
	}
	for i := range o.pending {
		if c := &o.pending[i]; c.seq == 0 || i > 0 && c.seq < o.pending[i-1].seq {
			return fmt.Errorf("change %d of %q is out of order: batch %d", i, c.key(), c.seq)
		}
	}
	return err
}

// check compares the sessions with those that the records tell of, which cannot
// tell of records that are gone.
func (x *sessionIndex) check(told *sessionIndex) (err error) {
	order := x.order()
	x.byName.Scan(func(name string, s Session) bool {
		want, _ := told.byName.Get(name)
		_, placed := order.Get(SessionPlace{s.LastMs, name})
		if s.Records != want.Records || s.LastMs < want.LastMs || !placed || s.Records == 0 && s.OpenedMs == 0 {
			err = fmt.Errorf("session %q is %+v, its records tell %+v; in order: %t", name, s, want, placed)
		}
		return err == nil
	})
	if err == nil && order.Len() != x.byName.Len() {
		err = fmt.Errorf("%d sessions, %d in order", x.byName.Len(), order.Len())
	}
	told.byName.Scan(func(name string, _ Session) bool {
		if _, ok := x.byName.Get(name); !ok && err == nil {
			err = fmt.Errorf("session %q is missing", name)
		}
		return err == nil
	})
	return err
}

// checkList compares a list with its items, and counts them.
func (o *Owner) checkList(key []byte, r *memory.Record, tally *recordTally) (count int, err error) {
	next, sizeBytes := r.First, uint64(0)
	eachItem(o.items, key, 0, ^uint64(0), func(it item) bool {
		same, ok := o.docs.Get(it.doc())
		if it.number() != next || !ok || &same[0] != &it[0] {
			err = fmt.Errorf("list %q: item %d, %d was expected; by its document %d: %t", key, it.number(), next, it.doc(), ok)
			return false
		}
		next++
		count++
		sizeBytes += uint64(len(it.content().Text))
		tally.count(it, 1)
		return true
	})
	if err == nil && (next != r.Next || sizeBytes != r.ItemBytes || r.List > o.lastList) {
		err = fmt.Errorf("list %q: it ends before item %d with %d bytes, the record says %d with %d", key, next, sizeBytes, r.Next, r.ItemBytes)
	}
	return count, err
}
