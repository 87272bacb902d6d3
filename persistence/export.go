package persistence

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2"
)

// This file owns reading all plain keys as they are at one moment, while the store
// is in use. It must not know what they are read for.

// Exporter takes plain keys.
type Exporter interface {
	// Row takes what Restorer.Row would of plain keys, from one goroutine: database
	// by database, and all effects of a key one after another. An error ends the
	// export. e is valid during the call.
	Row(e *effect.Effect) error
}

// Exported is what an export saw.
type Exported struct {
	Seq     uint64 // of the last batch that it contains
	TimeMs  int64  // its time
	Records int    // how many memory records there were, which it leaves out
}

// Export makes a checkpoint and hands all plain keys, as they are in it, to into.
// Only the checkpoint is waited for by others; batches are appended and checkpoints
// made while the rows are read. It returns ErrClosed when the store is closed
// meanwhile.
func (s *Store) Export(into Exporter) (done Exported, err error) {
	rows, state, err := s.exportable()
	if err != nil {
		return done, err
	}
	defer s.exportMu.RUnlock()
	defer func() { err = errors.Join(err, s.rows.guarded(rows.Close)) }()
	r := restoring{rows: rows, into: exporting{s, into}, state: state, keysOnly: true}
	r.findDatabases()
	keyspaces, err := r.keyspaces()
	for _, keyspace := range keyspaces {
		for i, span := range keyspaceSpans(keyspace) {
			read := r.keys
			if i == 0 {
				read = r.elements
			}
			if err = read(task{span: span}); err != nil {
				return done, fmt.Errorf("export rows: %w", err)
			}
		}
	}
	return Exported{Seq: state.seq, TimeMs: state.timeMs, Records: r.records}, err
}

// exportable makes a checkpoint and keeps its rows, with exportMu held for reading.
func (s *Store) exportable() (rows rowSnapshot, state stateValue, err error) {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	if s.closed.Load() {
		return rows, state, ErrClosed
	}
	if err := s.journal.Sync(); err != nil {
		return rows, state, err
	}
	if err := s.checkpointLocked(); err != nil {
		return rows, state, err
	}
	err = s.rows.guarded(func() error {
		rows = rowSnapshot{s.rows.db.NewSnapshot()}
		return nil
	})
	if err == nil {
		s.exportMu.RLock()
	}
	return rows, s.state.clone(), err
}

// awaitExports returns once no export is under way. checkpointMu is held, so none
// begins.
func (s *Store) awaitExports() {
	s.exportMu.Lock()
	defer s.exportMu.Unlock()
}

// rowSnapshot is rows that do not change.
type rowSnapshot struct{ *pebble.Snapshot }

func (r rowSnapshot) scan(s span, visit func(row, value []byte) (bool, error)) error {
	return scanRows(r.Snapshot, s, false, visit)
}

// keyspaces lists those that have rows, in order of their databases.
func (r *restoring) keyspaces() (list []uint32, err error) {
	databases := map[uint32]uint32{}
	for _, prefix := range []byte{prefixElement, prefixKey} {
		rest := prefixSpan(prefix)
		for found := true; found && err == nil; {
			found = false
			err = r.rows.scan(rest, func(row, _ []byte) (bool, error) {
				keyspace, _, ok := cutSpace(row)
				db, err := r.databaseOf(r.ofKeyspace, keyspace)
				if err != nil || !ok {
					return false, badRow(row, errors.Join(err, errRow))
				}
				databases[keyspace], found = db, true
				rest.from = successor(binary.BigEndian.AppendUint32([]byte{prefix}, keyspace))
				return false, nil
			})
		}
	}
	for keyspace := range databases {
		list = append(list, keyspace)
	}
	slices.SortFunc(list, func(a, b uint32) int { return cmp.Compare(databases[a], databases[b]) })
	return list, err
}

// exporting is an exporter as rows are handed over.
type exporting struct {
	store *Store
	into  Exporter
}

func (exporting) Spaces([]uint32) {}

func (x exporting) Row(e *effect.Effect, _ uint64, _ int64) error {
	if x.store.closed.Load() {
		return ErrClosed
	}
	return x.into.Row(e)
}

func (exporting) Batch(*effect.Reader) error { return nil }
