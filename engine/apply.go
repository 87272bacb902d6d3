package engine

import (
	"encoding/binary"
	"fmt"

	"reminis/engine/effect"
	"reminis/engine/table"
)

// This file owns every change of state: live transactions and recovery pass
// through apply, so replay is the same code as running. It must not decide
// anything: handlers check, apply does.

// apply changes state as x says. The locks that x needs are held.
func (tx *Tx) apply(x *effect.Effect) {
	db := int(x.DB)
	switch x.Kind {
	case effect.StringSet:
		tx.applyStringSet(db, x)
	case effect.StringSplice:
		tx.applyStringSplice(db, x)
	case effect.KeyDelete:
		tx.applyKeyDelete(db, x.Key)
	case effect.DeadlineSet:
		tx.applyDeadline(db, x.Key, x.DeadlineMs)
	case effect.HashSet:
		tx.applyHashSet(db, x)
	case effect.HashDelete:
		tx.applyHashDelete(db, x)
	case effect.SetAdd:
		tx.applySetAdd(db, x)
	case effect.SetRemove:
		tx.applySetRemove(db, x)
	case effect.ScoreSet:
		tx.applyScoreSet(db, x)
	case effect.ScoreRemove:
		tx.applyScoreRemove(db, x)
	case effect.ListSplice:
		tx.applyListSplice(db, x)
	case effect.ListDrop:
		tx.applyListDrop(db, x)
	case effect.StreamSplice:
		tx.applyStreamSplice(db, x)
	case effect.StreamDrop:
		tx.applyStreamDrop(db, x)
	case effect.StreamSet:
		tx.applyStreamSet(db, x)
	case effect.StreamUnset:
		tx.applyStreamUnset(db, x)
	case effect.KeyRename:
		tx.applyKeyRename(db, x)
	case effect.KeyCopy:
		tx.applyKeyCopy(db, x)
	case effect.DBFlush:
		tx.applyFlush(db)
	case effect.DBSwap:
		tx.applySwap(db, int(x.Number))
	case effect.RecordPut:
		tx.applyRecordPut(db, x)
	case effect.RecordAppend:
		tx.applyRecordAppend(db, x)
	case effect.ItemPut:
		tx.applyItemPut(db, x)
	case effect.RecordForget:
		tx.applyRecordForget(db, x)
	case effect.RecordDeadline:
		tx.applyRecordDeadline(db, x)
	case effect.EventAppend:
		tx.applyEvent(db, x)
	case effect.CommandDone:
		tx.applyCommandDone(db, x)
	case effect.FacetSet:
		tx.applyFacetSet(db, x)
	case effect.Erase:
		tx.applyErase(db, x)
	default:
		panic(fmt.Sprintf("engine: effect of kind %d", x.Kind))
	}
	tx.hit = found{}
}

// put makes key an entry of kind with valueBytes of value, which the caller
// fills, and keeps the deadline order and the objects in step.
func (tx *Tx) put(db int, key []byte, kind uint8, deadlineMs int64, valueBytes int) (*keyspace, table.Entry) {
	ks, at, old, existed := tx.entry(db, key)
	if ks == nil {
		ks = tx.e.ensure(&tx.e.shards[at.shard()], db)
	}
	oldMs := int64(0)
	if existed {
		oldMs = old.DeadlineMs()
		if holdsObject(old.Kind()) {
			tx.dropObject(ks, old)
		}
		over, ok := ks.keys.Overwrite(old, key, kind, deadlineMs, valueBytes)
		if ok {
			ks.reorder(tx, at.hash, oldMs, deadlineMs)
			ks.changed(key)
			return ks, over
		}
	}
	x, _ := ks.keys.Put(at.hash, key, kind, deadlineMs, valueBytes)
	ks.reorder(tx, at.hash, oldMs, deadlineMs)
	if !existed {
		tx.initAccess(x)
		if !tx.vacant {
			tx.NotifyIn(db, EventNew, "new", key)
		}
		tx.vacant = false
	}
	ks.changed(key)
	return ks, x
}

// reorder keeps the deadline order and the expirer in step with an entry.
func (ks *keyspace) reorder(tx *Tx, hash uint64, fromMs, toMs int64) {
	if fromMs == 0 && toMs == 0 {
		return
	}
	ks.moveDeadline(hash, fromMs, toMs)
	if toMs != 0 {
		tx.e.expiry.announce(toMs)
	}
}

// entry is the entry that an effect refers to: the one that the transaction has
// just found, when it did, else looked up.
func (tx *Tx) entry(db int, key []byte) (*keyspace, Place, table.Entry, bool) {
	at := tx.at(db, key)
	if tx.hit.ks != nil && tx.hit.at == at {
		hit := tx.hit
		tx.hit = found{}
		return hit.ks, at, hit.entry, true
	}
	ks := tx.e.shards[at.shard()].space(db)
	if ks == nil {
		return nil, at, table.Entry{}, false
	}
	x, ok := ks.keys.Get(at.hash, key)
	return ks, at, x, ok
}

// found is an entry that find has seen and that nothing has changed since.
type found struct {
	ks    *keyspace
	at    Place
	entry table.Entry
}

func (tx *Tx) applyStringSet(db int, x *effect.Effect) {
	_, entry := tx.put(db, x.Key, kindString, x.DeadlineMs, len(x.Value))
	copy(entry.Value(), x.Value)
}

func (tx *Tx) applyStringSplice(db int, x *effect.Effect) {
	ks, at, entry, ok := tx.entry(db, x.Key)
	end := int(x.Number) + len(x.Value)
	if !ok {
		ks, entry = tx.put(db, x.Key, kindRaw, 0, end)
		clear(entry.Value())
	} else if size := len(entry.Value()); size < end {
		entry = ks.keys.Resize(at.hash, entry, end)
		clear(entry.Value()[size:])
	}
	entry.SetKind(kindRaw)
	copy(entry.Value()[x.Number:], x.Value)
	ks.changed(x.Key)
}

func (tx *Tx) applyKeyDelete(db int, key []byte) {
	ks, at, entry, ok := tx.entry(db, key)
	if !ok {
		return
	}
	tx.release(ks, entry)
	ks.moveDeadline(at.hash, entry.DeadlineMs(), 0)
	ks.keys.Delete(at.hash, key)
	ks.changed(key)
}

// dropObject ends the object of an entry.
func (tx *Tx) dropObject(ks *keyspace, x table.Entry) {
	gone := ks.objects.take(objectRef(x.Value()))
	tx.e.evictor.heap.freed.Add(objectHeapBytes(gone))
	gone.drop()
}

func (tx *Tx) applyDeadline(db int, key []byte, deadlineMs int64) {
	ks, at, entry, ok := tx.entry(db, key)
	if !ok {
		return
	}
	from := entry.DeadlineMs()
	ks.keys.SetDeadline(at.hash, entry, deadlineMs)
	ks.reorder(tx, at.hash, from, deadlineMs)
	ks.changed(key)
}

// applyKeyRename moves an entry; an object moves with its number, not by copy.
func (tx *Tx) applyKeyRename(db int, x *effect.Effect) {
	ks, at, entry, ok := tx.entry(db, x.Key)
	if !ok {
		return
	}
	kind, deadlineMs, access := entry.Kind(), entry.DeadlineMs(), entry.Access()
	value := append(tx.buf[:0], entry.Value()...)
	tx.buf = value
	if holdsObject(kind) {
		moved := ks.objects.take(objectRef(value))
		ks.moveDeadline(at.hash, deadlineMs, 0)
		ks.keys.Delete(at.hash, x.Key)
		target, to := tx.put(int(x.Number), x.Field, kind, deadlineMs, objectRefBytes)
		binary.LittleEndian.PutUint32(to.Value(), target.objects.add(moved))
		to.SetAccess(access)
		ks.changed(x.Key)
		return
	}
	tx.applyKeyDelete(db, x.Key)
	_, to := tx.put(int(x.Number), x.Field, kind, deadlineMs, len(value))
	copy(to.Value(), value)
	to.SetAccess(access)
}

func (tx *Tx) applyKeyCopy(db int, x *effect.Effect) {
	ks, _, entry, ok := tx.entry(db, x.Key)
	if !ok {
		return
	}
	kind, deadlineMs := entry.Kind(), entry.DeadlineMs()
	if holdsObject(kind) {
		copied := ks.objects.all[objectRef(entry.Value())].clone(tx.e)
		target, to := tx.put(int(x.Number), x.Field, kind, deadlineMs, objectRefBytes)
		binary.LittleEndian.PutUint32(to.Value(), target.objects.add(copied))
		return
	}
	value := append(tx.buf[:0], entry.Value()...)
	tx.buf = value
	_, to := tx.put(int(x.Number), x.Field, kind, deadlineMs, len(value))
	copy(to.Value(), value)
}

// applyFlush replaces every keyspace of db by nothing. The old ones are given
// back by a goroutine: nobody can reach them any more, and a large database
// must not stall whoever holds all locks.
func (tx *Tx) applyFlush(db int) {
	tx.flushRecords(db)
	tx.flushed = true
	var old []*keyspace
	for i := range tx.e.shards {
		s := &tx.e.shards[i]
		ks := s.space(db)
		if ks == nil {
			continue
		}
		ks.changedAll(tx, nil)
		fresh := (*keyspace)(nil)
		if len(ks.watched) > 0 || len(ks.waiting.queues) > 0 {
			fresh = tx.e.newKeyspace()
			fresh.watched, ks.watched = ks.watched, nil
			fresh.waiting, ks.waiting = ks.waiting, waiting{}
			fresh.waiting.noteAll()
		}
		s.spaces[db].Store(fresh)
		old = append(old, ks)
	}
	if v := &tx.e.evictor; len(old) > 0 {
		v.dropping.Add(1)
		go func() {
			defer v.dropping.Add(-1)
			for _, ks := range old {
				v.heap.freed.Add(ks.heapBytes())
				ks.drop()
			}
		}()
	}
}

func (tx *Tx) applySwap(a, b int) {
	tx.swapOwners(a, b)
	for i := range tx.e.shards {
		s := &tx.e.shards[i]
		x, y := tx.e.ensure(s, a), tx.e.ensure(s, b)
		x.changedAll(tx, y)
		y.changedAll(tx, x)
		s.spaces[a].Store(y)
		s.spaces[b].Store(x)
		// Who watches or waits does so in a number, not in what it names.
		x.watched, y.watched = y.watched, x.watched
		x.waiting, y.waiting = y.waiting, x.waiting
		x.waiting.noteAll()
		y.waiting.noteAll()
	}
}
