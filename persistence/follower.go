package persistence

import (
	"bytes"
	"fmt"
	"slices"

	"reminis/engine/effect"
)

// This file owns what effects mean for rows: the follower applies batches of
// the journal to an overlay over the rows of the last checkpoint. It reads rows
// only where an effect needs what was there, and must not know files.

// rowReader reads a row of the last checkpoint. It returns false when there is
// none. The value is valid until the next call.
type rowReader interface {
	read(row []byte) (value []byte, ok bool, err error)
	// elements visits the elements of a collection in order.
	elements(keyspace uint32, collection uint64, visit func(part byte, name, value []byte) error) error
	// scan visits the rows of a span in order until visit returns false.
	scan(s span, visit func(row, value []byte) (bool, error)) error
}

// follower turns batches into rows.
type follower struct {
	rows  rowReader
	known *collectionSet
	*overlay

	state stateValue // after the last applied batch
	base  stateValue // of the rows that are read

	deadSpaces      []uint32     // keyspaces of the base that were flushed
	deadCollections []collection // collections of the base that were deleted
	erased          []erasure    // by the batch
	erasedSpans     []span       // of the base that were erased

	row   []byte // scratch for a row's key
	value []byte // scratch for a row's value
}

func newFollower(rows rowReader, known *collectionSet, base stateValue) *follower {
	return &follower{rows: rows, known: known, overlay: newOverlay(), state: base.clone(), base: base}
}

// apply adds a batch, which must be the next one.
func (f *follower) apply(r *effect.Reader) error {
	if r.Seq != f.state.seq+1 {
		return fmt.Errorf("batch %d follows batch %d", r.Seq, f.state.seq)
	}
	var e effect.Effect
	for index := uint32(0); ; index++ {
		ok, err := r.Next(&e)
		if err != nil {
			return fmt.Errorf("batch %d: %w", r.Seq, err)
		}
		if !ok {
			break
		}
		if e.DB >= databaseMax {
			return fmt.Errorf("batch %d: database %d", r.Seq, e.DB)
		}
		if err := f.effect(&e, r.Seq, index, r.TimeMs); err != nil {
			return fmt.Errorf("batch %d: effect %d of kind %d: %w", r.Seq, index, e.Kind, err)
		}
	}
	f.state.seq, f.state.timeMs = r.Seq, r.TimeMs
	return f.eraseCommands()
}

func (f *follower) effect(e *effect.Effect, seq uint64, index uint32, timeMs int64) error {
	d := f.state.database(e.DB)
	switch e.Kind {
	case effect.KeyDelete:
		return f.delete(d.keyspace, e.Key)
	case effect.DeadlineSet:
		return f.deadline(d.keyspace, e)
	case effect.StringSet:
		return f.setString(d.keyspace, e)
	case effect.StringSplice:
		return f.splice(d.keyspace, e)
	case effect.HashSet, effect.SetAdd, effect.ScoreSet, effect.StreamSet:
		return f.setElement(d.keyspace, e)
	case effect.HashDelete, effect.SetRemove, effect.ScoreRemove, effect.ListDrop, effect.StreamDrop, effect.StreamUnset:
		return f.deleteElement(d.keyspace, e)
	case effect.ListSplice, effect.StreamSplice:
		return f.spliceElement(d.keyspace, e)
	case effect.KeyRename, effect.KeyCopy:
		if e.Number < 0 || e.Number >= databaseMax {
			return fmt.Errorf("database %d", e.Number)
		}
		target := f.state.database(uint32(e.Number)).keyspace
		if target == d.keyspace && bytes.Equal(e.Key, e.Field) {
			return fmt.Errorf("source and target are the same")
		}
		if e.Kind == effect.KeyRename {
			return f.rename(d.keyspace, e.Key, target, e.Field)
		}
		return f.copy(d.keyspace, e.Key, target, e.Field)
	case effect.DBFlush:
		return f.flush(e.DB)
	case effect.DBSwap:
		if e.Number < 0 || e.Number >= databaseMax {
			return fmt.Errorf("database %d", e.Number)
		}
		other := uint32(e.Number)
		o := f.state.database(other)
		f.state.setDatabase(e.DB, o)
		f.state.setDatabase(other, d)
		return nil
	case effect.RecordPut, effect.RecordAppend, effect.RecordForget, effect.RecordDeadline:
		return f.record(d, e, seq, index, timeMs)
	case effect.ItemPut:
		// An item is written once: its list's number never comes again.
		f.row = appendItemPlace(appendNamedRow(f.row[:0], prefixItem, d.space, e.Key), e.List, uint64(e.Number))
		f.put(f.add(f.row, rowSet), e.Value)
		return nil
	case effect.Erase:
		return f.erase(d, e)
	case effect.EventAppend:
		return f.event(d.space, e.Key, e.Event, seq, index, timeMs)
	case effect.FacetSet:
		return f.facet(d, e, seq, index, timeMs)
	case effect.CommandDone:
		f.command(f.ownerSpace(d, e.Key), e)
		f.row = appendCommandRow(f.row[:0], seq, index)
		f.value = appendCommand(f.value[:0], &commandValue{space: f.ownerSpace(d, e.Key), timeMs: timeMs, version: e.Number, owner: e.Key, id: e.Field, payload: e.Value})
		f.put(f.add(f.row, rowSet), f.value)
		return nil
	}
	return fmt.Errorf("it is not known to rows")
}

// keyOf finds the K row of a key, in the overlay or below; it is then in the
// overlay, as missing when there is no such key.
func (f *follower) keyOf(keyspace uint32, key []byte) (n uint32, err error) {
	f.row = appendKeyRow(f.row[:0], keyspace, key)
	n = f.find(f.row)
	if n != 0 {
		return n, nil
	}
	if keyspace >= f.base.nextKeyspace {
		return f.insert(f.row, rowMissing), nil
	}
	value, ok, err := f.rows.read(f.row)
	if err != nil {
		return 0, err
	}
	if !ok {
		return f.insert(f.row, rowMissing), nil
	}
	n = f.insert(f.row, rowClean)
	f.put(n, value)
	f.overlay.rows[n].state = rowClean
	return n, nil
}

// present says whether row n stands for a row that exists.
func (f *follower) present(n uint32) bool {
	state := f.overlay.rows[n].state
	return state == rowClean || state == rowSet
}

// decoded is the K row n.
func (f *follower) decoded(n uint32) (keyValue, error) {
	return decodeKey(f.overlay.value(n), int(f.overlay.rows[n].keyLen)-5)
}

// replace finds the K row of a key that is about to be overwritten or deleted,
// whatever it was: of what it was only a collection matters, whose elements go.
// So the row below is read only when it may be a collection's.
func (f *follower) replace(keyspace uint32, key []byte) (n uint32, err error) {
	f.row = appendKeyRow(f.row[:0], keyspace, key)
	n = f.find(f.row)
	if n == 0 {
		if !f.known.maybe(f.row) {
			return f.insert(f.row, rowMissing), nil
		}
		if n, err = f.keyOf(keyspace, key); err != nil {
			return 0, err
		}
	}
	if !f.present(n) {
		return n, nil
	}
	v, err := f.decoded(n)
	if err != nil || !v.kind.isCollection() {
		return n, err
	}
	f.dropCollection(collection{keyspace, v.collection}, n)
	return n, nil
}

func (f *follower) delete(keyspace uint32, key []byte) error {
	n, err := f.replace(keyspace, key)
	if err == nil {
		f.overlay.rows[n].state = rowDeleted
	}
	return err
}

func (f *follower) setString(keyspace uint32, e *effect.Effect) error {
	n, err := f.replace(keyspace, e.Key)
	if err != nil {
		return err
	}
	var head [16]byte
	prefix := appendStringHead(head[:0], e.DeadlineMs)
	value := f.set(n, len(prefix)+len(e.Value))
	copy(value[copy(value, prefix):], e.Value)
	return nil
}

func (f *follower) splice(keyspace uint32, e *effect.Effect) error {
	n, err := f.keyOf(keyspace, e.Key)
	if err != nil {
		return err
	}
	if !f.present(n) {
		f.put(n, appendStringHead(f.value[:0], 0))
	}
	v, err := f.decoded(n)
	if err != nil {
		return err
	}
	if v.kind != keyString || e.Number < 0 {
		return fmt.Errorf("it splices a key of kind %d at %d", v.kind, e.Number)
	}
	head := len(f.overlay.value(n)) - len(v.value)
	value := f.extend(n, max(len(f.overlay.value(n)), head+int(e.Number)+len(e.Value)))
	copy(value[head+int(e.Number):], e.Value)
	return nil
}

// deadline changes the deadline of an existing key.
func (f *follower) deadline(keyspace uint32, e *effect.Effect) error {
	n, err := f.keyOf(keyspace, e.Key)
	if err != nil || !f.present(n) {
		return err
	}
	v, err := f.decoded(n)
	if err != nil {
		return err
	}
	if v.kind.isCollection() {
		return f.putCollection(collection{keyspace, v.collection}, n, collectionValue{deadlineMs: e.DeadlineMs, key: e.Key})
	}
	v.deadlineMs = e.DeadlineMs
	f.value = appendKeyValue(f.value[:0], &v)
	f.put(n, f.value)
	return nil
}

// appendKeyValue encodes a string or record again.
func appendKeyValue(dst []byte, v *keyValue) []byte {
	if v.kind == keyRecord {
		return appendRecordKey(dst, v)
	}
	return append(appendStringHead(dst, v.deadlineMs), v.value...)
}

func (f *follower) rename(source uint32, key []byte, target uint32, newKey []byte) error {
	n, err := f.keyOf(source, key)
	if err != nil || !f.present(n) {
		return err
	}
	v, err := f.decoded(n)
	if err != nil {
		return err
	}
	if v.kind.isCollection() && source != target {
		// Elements lie in their keyspace.
		if err := f.copy(source, key, target, newKey); err != nil {
			return err
		}
		return f.delete(source, key)
	}
	moved := slices.Clone(f.overlay.value(n))
	first := f.overlay.rows[n].first
	to, err := f.replace(target, newKey)
	if err != nil {
		return err
	}
	f.overlay.rows[n].first = 0
	f.overlay.rows[n].state = rowDeleted
	f.put(to, moved)
	if !v.kind.isCollection() {
		return nil
	}
	f.overlay.rows[to].first = first
	f.known.add(f.key(to))
	c := collection{source, v.collection}
	head, err := f.headOf(c)
	if err != nil {
		return err
	}
	return f.putCollection(c, to, collectionValue{deadlineMs: head.deadlineMs, key: newKey})
}

func (f *follower) copy(source uint32, key []byte, target uint32, newKey []byte) error {
	n, err := f.keyOf(source, key)
	if err != nil || !f.present(n) {
		return err
	}
	v, err := f.decoded(n)
	if err != nil {
		return err
	}
	if !v.kind.isCollection() {
		copied := slices.Clone(f.overlay.value(n))
		to, err := f.replace(target, newKey)
		if err == nil {
			f.put(to, copied)
		}
		return err
	}
	from := collection{source, v.collection}
	head, err := f.headOf(from)
	if err != nil {
		return err
	}
	to, err := f.replace(target, newKey)
	if err != nil {
		return err
	}
	c, err := f.newCollection(target, to, v.kind, newKey, head.deadlineMs)
	if err != nil {
		return err
	}
	return f.copyElements(from, n, c, to)
}

// flush gives the database a new, empty keyspace.
func (f *follower) flush(db uint32) error {
	d := f.state.database(db)
	f.deadSpaces = append(f.deadSpaces, d.keyspace)
	if f.state.nextKeyspace == ^uint32(0) {
		return fmt.Errorf("no keyspace is left")
	}
	d.keyspace = f.state.nextKeyspace
	f.state.nextKeyspace++
	f.state.setDatabase(db, d)
	return nil
}

func (f *follower) ownerSpace(d database, owner []byte) uint32 {
	if len(owner) == 0 {
		return serverSpace
	}
	return d.space
}

// record writes what a change of a memory record leaves: its current row, its
// history, its event.
func (f *follower) record(d database, e *effect.Effect, seq uint64, index uint32, timeMs int64) error {
	switch e.Kind {
	case effect.RecordPut, effect.RecordAppend:
		n, err := f.replace(d.keyspace, e.Key)
		if err != nil {
			return err
		}
		v := keyValue{kind: keyRecord, deadlineMs: e.DeadlineMs, ownerLen: e.OwnerLen, version: e.Number, keep: e.Count, keepMs: e.KeepMs,
			list: e.List, first: e.First, seq: seq, timeMs: timeMs, value: e.Value}
		f.value = appendRecordKey(f.value[:0], &v)
		f.put(n, f.value)
	case effect.RecordForget:
		if err := f.delete(d.keyspace, e.Key); err != nil {
			return err
		}
	case effect.RecordDeadline:
		if err := f.deadline(d.keyspace, e); err != nil {
			return err
		}
	}
	f.row = appendPlace(appendNamedRow(f.row[:0], prefixHistory, d.space, e.Key), seq, index)
	f.value = appendHistory(f.value[:0], timeMs, e)
	f.put(f.add(f.row, rowSet), f.value)
	if len(e.Event) == 0 {
		return nil
	}
	return f.event(d.space, e.Owner(), e.Event, seq, index, timeMs)
}

// facet writes or removes a facet, and its event.
func (f *follower) facet(d database, e *effect.Effect, seq uint64, index uint32, timeMs int64) error {
	f.row = append(appendNamedRow(f.row[:0], prefixFacet, f.ownerSpace(d, e.Key), e.Key), e.Field...)
	n := f.find(f.row)
	if n == 0 {
		n = f.insert(f.row, rowMissing)
	}
	if len(e.Value) == 0 {
		f.overlay.rows[n].state = rowDeleted
	} else {
		f.put(n, e.Value)
	}
	if len(e.Event) == 0 {
		return nil
	}
	return f.event(d.space, e.Key, e.Event, seq, index, timeMs)
}

func (f *follower) event(space uint32, owner, event []byte, seq uint64, index uint32, timeMs int64) error {
	if len(owner) == 0 {
		space = serverSpace
	}
	f.row = appendPlace(appendNamedRow(f.row[:0], prefixEvent, space, owner), seq, index)
	f.value = appendEvent(f.value[:0], timeMs, event)
	f.put(f.add(f.row, rowSet), f.value)
	f.row = appendHeadRow(f.row[:0], space, owner)
	n := f.find(f.row)
	if n == 0 {
		n = f.insert(f.row, rowMissing)
	}
	f.value = appendHead(f.value[:0], &headValue{seq: seq, index: index, timeMs: timeMs, event: event})
	f.put(n, f.value)
	return nil
}
