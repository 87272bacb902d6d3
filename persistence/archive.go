package persistence

import (
	"fmt"

	"reminis/engine/effect"
)

// This file owns reads of the past: the changes and events that checkpoints
// have put into rows. Each read sees one checkpoint, whatever happens
// meanwhile.

// History visits the retained changes of a record with fromSeq ≤ seq ≤ toSeq
// and seq ≤ CheckpointSeq, in order or in reverse, until visit returns false. e
// is a RecordPut, RecordAppend, RecordForget or RecordDeadline with its fields
// but for DB and Event; it is valid during the call.
func (s *Store) History(space uint32, key []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, e *effect.Effect) bool) error {
	rows := namedSpan(prefixHistory, space, key, fromSeq, toSeq)
	err := scanRows(s.rows.db, rows, reverse, func(row, value []byte) (bool, error) {
		_, _, place, _ := cutNamed(row)
		seq, _, ok := cutPlace(place)
		e := effect.Effect{Key: key}
		timeMs, err := decodeHistory(value, &e)
		if err != nil || !ok {
			return false, badRow(row, errRow)
		}
		return visit(seq, timeMs, &e), nil
	})
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	return nil
}

// Items visits the items first ≤ number < next of a list that a record is or was,
// in order; a retained version has all of its items. item is valid during the
// call.
func (s *Store) Items(space uint32, key []byte, list, first, next uint64, visit func(number uint64, item []byte)) error {
	rows := itemSpan(space, key, itemPlace{list, first}, itemPlace{list, next})
	err := scanRows(s.rows.db, rows, false, func(row, value []byte) (bool, error) {
		_, _, place, _ := cutNamed(row)
		_, number, ok := cutItemPlace(place)
		if !ok {
			return false, badRow(row, errRow)
		}
		visit(number, value)
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("read the items of a list: %w", err)
	}
	return nil
}

// Pruned is the sequence of the last change of a record that its history no
// longer has; 0 when it has all. What was before is unknown, not absent.
func (s *Store) Pruned(space uint32, key []byte) (seq uint64, err error) {
	row := appendNamedRow(nil, prefixCount, space, key)
	err = scanRows(s.rows.db, span{row, append(row[:len(row):len(row)], 0)}, false, func(row, value []byte) (bool, error) {
		count, err := decodeCount(value)
		if err != nil {
			return false, badRow(row, err)
		}
		seq = count.prunedSeq
		return false, nil
	})
	return seq, err
}

// Events visits the events of an owner with fromSeq ≤ seq ≤ toSeq and seq ≤
// CheckpointSeq, in order or in reverse, until visit returns false. An empty
// owner is the server's own chain, whatever the space. event is valid during
// the call.
func (s *Store) Events(space uint32, owner []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, event []byte) bool) error {
	if len(owner) == 0 {
		space = serverSpace
	}
	rows := namedSpan(prefixEvent, space, owner, fromSeq, toSeq)
	err := scanRows(s.rows.db, rows, reverse, func(row, value []byte) (bool, error) {
		_, _, place, _ := cutNamed(row)
		seq, _, ok := cutPlace(place)
		timeMs, event, err := decodeEvent(value)
		if err != nil || !ok {
			return false, badRow(row, errRow)
		}
		return visit(seq, timeMs, event), nil
	})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	return nil
}
