package persistence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"reminis/engine/effect"
)

// This file owns erasing: which rows an erasure takes, and how their bytes leave
// the disk. It must not know whose rows they are, nor what they say.
//
// A batch that erases is a round of its own: what it erases is in rows then, and
// what came after is not yet. Its round deletes rows, cuts the bodies off events
// and the payloads off command ids; the state row says from then on that older
// tables may hold the rest, until Purge has compacted them away. So a crash
// between leaves at most that to be done, and Open does it.

// erasure is what a batch erases: a record, or all of an owner.
type erasure struct {
	space, keyspace uint32
	key             []byte
	ownerLen        int
	commands        map[string]bool // ids of which only that they were done stays
}

func (x *erasure) owner() []byte { return x.key[:x.ownerLen] }
func (x *erasure) whole() bool   { return x.ownerLen == len(x.key) }

// recordPrefixes are those of the rows that are named by a record.
const recordPrefixes = string(prefixHistory) + string(prefixItem) + string(prefixCount)

// erases says whether a batch is one that erases: it begins with that.
func erases(r effect.Reader) bool {
	var e effect.Effect
	ok, err := r.Next(&e)
	return ok && err == nil && e.Kind == effect.Erase
}

// erase takes what an effect erases out of the rows.
func (f *follower) erase(d database, e *effect.Effect) error {
	x := erasure{space: d.space, keyspace: d.keyspace, key: bytes.Clone(e.Key), ownerLen: e.OwnerLen, commands: map[string]bool{}}
	f.erased = append(f.erased, x)
	f.state.purging = true
	if x.whole() {
		return f.eraseOwner(&x)
	}
	if err := f.delete(d.keyspace, e.Key); err != nil {
		return err
	}
	for _, prefix := range []byte(recordPrefixes) {
		f.erasedSpans = append(f.erasedSpans, namedPrefixSpan(prefix, x.space, x.key))
	}
	return f.eraseEvents(&x, e.Value)
}

// namedPrefixSpan is all rows of a name.
func namedPrefixSpan(prefix byte, space uint32, name []byte) span {
	from := appendNamedRow(nil, prefix, space, name)
	return span{from, successor(from)}
}

// eraseOwner takes all rows of an owner but those that say that its events and
// commands were.
func (f *follower) eraseOwner(x *erasure) error {
	var keys [][]byte
	err := f.rows.scan(ownedKeys(x.keyspace, x.key), func(row, value []byte) (bool, error) {
		v, err := decodeKey(value, len(row)-5)
		if err == nil && v.kind == keyRecord {
			keys = append(keys, bytes.Clone(row[5:]))
		}
		return true, err
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := f.delete(x.keyspace, key); err != nil {
			return err
		}
	}
	for _, prefix := range []byte(recordPrefixes) {
		err := ownedNames(f.rows, prefix, x.space, x.key, func(s span, _ []byte) error {
			f.erasedSpans = append(f.erasedSpans, s)
			return nil
		})
		if err != nil {
			return err
		}
	}
	f.erasedSpans = append(f.erasedSpans, namedPrefixSpan(prefixFacet, x.space, x.key))
	return f.eraseEvents(x, nil)
}

// ownedKeys is the K rows of what an owner's keys begin with.
func ownedKeys(keyspace uint32, owner []byte) span {
	from := append(appendKeyRow(nil, keyspace, owner), ':')
	return span{from, successor(from)}
}

// ownedNames visits the ranges of an owner's rows with a prefix that are named by
// a record: one for each length of a name, with the name that it begins with.
func ownedNames(rows rowReader, prefix byte, space uint32, owner []byte, visit func(s span, name []byte) error) error {
	begin := binary.BigEndian.AppendUint32([]byte{prefix}, space)
	end := successor(begin)
	first := append(bytes.Clone(owner), ':')
	for size := len(first); size >= len(first); {
		s := span{append(binary.AppendUvarint(bytes.Clone(begin), uint64(size)), first...), nil}
		s.to = successor(s.from)
		var found []byte
		err := rows.scan(span{s.from, end}, func(row, _ []byte) (bool, error) {
			_, name, _, ok := cutNamed(row)
			if !ok {
				return false, badRow(row, errRow)
			}
			found = bytes.Clone(name)
			return false, nil
		})
		switch {
		case err != nil || found == nil:
			return err
		case len(found) > size:
			size = len(found)
		case bytes.HasPrefix(found, first):
			if err := visit(s, found); err != nil {
				return err
			}
			size++
		default:
			size++
		}
	}
	return nil
}

// eraseEvents cuts the bodies off an owner's events, or off those whose names are
// given.
func (f *follower) eraseEvents(x *erasure, names []byte) error {
	named := map[string]bool{}
	for name := range slices.Chunk(names, effect.EventNameBytes) {
		named[string(name)] = true
	}
	if !x.whole() && len(named) == 0 {
		return nil
	}
	return f.rows.scan(namedSpan(prefixEvent, x.space, x.owner(), 0, ^uint64(0)), func(row, value []byte) (bool, error) {
		timeMs, event, err := decodeEvent(value)
		if err != nil {
			return false, badRow(row, err)
		}
		head := effect.WithoutBody(event)
		if len(head) == len(event) || !x.whole() && !named[string(effect.EventName(event))] {
			return true, nil
		}
		f.value = appendEvent(f.value[:0], timeMs, head)
		n := f.find(row)
		if n == 0 {
			n = f.insert(row, rowMissing)
		}
		f.put(n, f.value)
		return true, nil
	})
}

// command notes the id of a command of which only that it was done stays.
func (f *follower) command(space uint32, e *effect.Effect) {
	for i := range f.erased {
		if x := &f.erased[i]; len(e.Value) == 0 && x.space == space && bytes.Equal(x.owner(), e.Key) {
			x.commands[string(e.Field)] = true
			return
		}
	}
}

// eraseCommands cuts off what erased commands were, at the end of the batch.
func (f *follower) eraseCommands() error {
	if len(f.erased) == 0 {
		return nil
	}
	return f.rows.scan(prefixSpan(prefixCommand), func(row, value []byte) (bool, error) {
		v, err := decodeCommand(value)
		if err != nil {
			return false, badRow(row, err)
		}
		gone := slices.ContainsFunc(f.erased, func(x erasure) bool {
			return x.space == v.space && bytes.Equal(x.owner(), v.owner) && (x.whole() || x.commands[string(v.id)])
		})
		if gone && len(v.payload) > 0 {
			v.payload, v.version = nil, 0
			f.value = appendCommand(f.value[:0], &v)
			f.put(f.add(row, rowSet), f.value)
		}
		return true, nil
	})
}

// Names visits the names of the records of an owner of which rows know anything.
func (s *Store) Names(space uint32, owner []byte, visit func(key []byte)) error {
	err := ownedNames(s.rows, prefixCount, space, owner, func(all span, _ []byte) error {
		return s.rows.scan(all, func(row, _ []byte) (bool, error) {
			_, name, _, ok := cutNamed(row)
			if !ok {
				return false, badRow(row, errRow)
			}
			visit(name)
			return true, nil
		})
	})
	if err != nil {
		return fmt.Errorf("read the names of records: %w", err)
	}
	return nil
}

// Purge returns once no file of the store holds what batches up to seq have
// erased: it makes a checkpoint, removes the segments before, and compacts what
// the erased rows were in. It takes about as long as writing those tables again, and
// as exports that are under way, for they have what was erased.
func (s *Store) Purge(seq uint64) error {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	if s.closed.Load() {
		return ErrClosed
	}
	if err := s.purgeLocked(); err != nil {
		return err
	}
	if s.state.seq < seq {
		return fmt.Errorf("the checkpoint is at batch %d, batch %d is to be purged", s.state.seq, seq)
	}
	return nil
}

func (s *Store) purgeLocked() error {
	if err := s.journal.rotate(); err != nil {
		return err
	}
	if err := s.checkpointLocked(); err != nil {
		return err
	}
	return s.journal.removeUpTo(s.state.seq)
}

// purge compacts erased rows away, if there are any: each checkpoint does, so
// that an erasure which was interrupted ends. checkpointMu must be held.
func (s *Store) purge() error {
	if !s.state.purging {
		return nil
	}
	s.awaitExports()
	if len(s.erasedSpans) == 0 {
		s.erasedSpans = []span{{from: []byte{0}, to: []byte{0xff}}} // a crash forgot which
	}
	if err := s.rows.compact(sortSpans(s.erasedSpans)); err != nil {
		return fmt.Errorf("compact erased rows: %w", err)
	}
	s.erasedSpans = nil
	s.state.purging = false
	f := newFollower(s.rows, s.known, s.state)
	paths, err := s.writeTables(f)
	if err == nil {
		err = s.rows.ingest(paths)
	}
	if err != nil {
		s.state.purging = true
		return fmt.Errorf("note that rows were purged: %w", err)
	}
	return nil
}

// purgeSpans are the ranges of rows that an erasure may have left bytes in.
func (f *follower) purgeSpans() []span {
	if len(f.erased) == 0 {
		return nil
	}
	spans := append([]span{prefixSpan(prefixCommand)}, f.erasedSpans...)
	for i := range f.erased {
		x := &f.erased[i]
		key := appendKeyRow(nil, x.keyspace, x.key)
		spans = append(spans, ownedKeys(x.keyspace, x.owner()), span{key, successor(key)},
			namedPrefixSpan(prefixEvent, x.space, x.owner()), namedPrefixSpan(prefixFacet, x.space, x.owner()))
		head := appendHeadRow(nil, x.space, x.owner())
		spans = append(spans, span{head, append(bytes.Clone(head), 0)})
	}
	return spans
}
