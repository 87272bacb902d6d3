package persistence

import (
	"errors"
	"io"
	"sync"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the store as its user sees it: opening, closing, statistics.

// Store is one directory with a journal and rows. Its methods may be called
// from any goroutine.
type Store struct {
	*journal

	layout  layout
	options Options
	lock    io.Closer

	// checkpointMu is held while segments are read or removed and while rows
	// are written: by a checkpoint, a recovery, a backup.
	checkpointMu sync.Mutex
}

// Open opens the store in dir, which it makes when there is none. It returns
// ErrLocked when another process has it, ErrNewerFormat when a later version
// wrote it, and a CorruptError when something of it is missing or damaged.
// A torn end of the journal is cut off at the last whole batch.
func Open(fs vfs.FS, dir string, options Options) (*Store, error) {
	options = options.withDefaults()
	s := &Store{layout: layoutOf(fs, dir), options: options}
	lock, storeID, err := s.layout.prepare(options)
	if err != nil {
		return nil, err
	}
	s.lock = lock
	if err := s.open(storeID); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func (s *Store) open(storeID uint64) error {
	found, err := findChain(s.layout.fs, s.layout.journal, storeID, 0)
	if err != nil {
		return err
	}
	s.journal, err = openJournal(s.layout.fs, s.layout.journal, storeID, found, 0, s.options)
	return err
}

// Close makes everything durable, writes a checkpoint, and releases the lock.
func (s *Store) Close() error {
	return errors.Join(s.journal.stop(), s.lock.Close())
}

// Restorer receives what a store holds.
type Restorer interface {
	Batch(r *effect.Reader) error
}

// Recover hands everything to into.
func (s *Store) Recover(into Restorer) error {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	return s.journal.replay(0, s.journal.written.Load(), into.Batch)
}
