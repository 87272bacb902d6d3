package persistence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file owns copying a store that is in use. It must not know what is in it.

// Backup writes a consistent copy of the store, as it is durable when Backup
// begins or later, into dir, which must be empty or not exist. The copy opens
// as a store. Rows are hard links where dir is on the same file system, copies
// otherwise; the journal is copied. Batches are appended meanwhile as usual;
// checkpoints wait. What lies in the store's directory besides, such as keys,
// is not copied. After an error nothing of the copy is left.
func (s *Store) Backup(dir string) (err error) {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	if s.closed.Load() {
		return ErrClosed
	}
	fs, to := s.layout.fs, layoutOf(s.layout.fs, dir)
	if err := s.layout.free(dir); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if err := s.journal.Sync(); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up: %w", errors.Join(err, fs.RemoveAll(to.rows), fs.RemoveAll(to.journal)))
		}
	}()
	if err := makeDir(fs, to.journal); err != nil {
		return err
	}
	if err := s.rows.guarded(func() error { return s.rows.db.Checkpoint(to.rows) }); err != nil {
		return err
	}
	if err := s.copyJournal(&to); err != nil {
		return err
	}
	if err := errors.Join(syncDir(fs, to.journal), syncDir(fs, to.dir)); err != nil {
		return err
	}
	return to.writeFormat(s.storeID) // makes it a store
}

// free returns an error unless dir is empty or does not exist, and is none of the
// store's own directories. What cannot be looked into is not free: what lies there
// would be removed after an error.
func (l *layout) free(dir string) error {
	if dir == "" {
		return fmt.Errorf("a directory without a name: %w", os.ErrInvalid)
	}
	own, err := filepath.Abs(l.dir)
	if err != nil {
		return err
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(own, at); err == nil {
		first, _, _ := strings.Cut(inside, string(filepath.Separator))
		if slices.Contains([]string{".", filepath.Base(l.journal), filepath.Base(l.rows), filepath.Base(l.scratch), keysDir}, first) {
			return fmt.Errorf("%s belongs to the store itself: %w", dir, os.ErrExist)
		}
	}
	names, err := l.fs.List(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("%s is not empty: %w", dir, os.ErrExist)
	}
	return nil
}

// copyJournal copies the segments that hold batches after the checkpoint, up to
// the last durable one. checkpointMu must be held: no segment goes meanwhile.
func (s *Store) copyJournal(to *layout) error {
	s.journal.ioMu.Lock()
	segments := s.journal.writer.snapshot()
	durable := s.journal.Durable() // what becomes so later may not be in the segments as they are now
	s.journal.ioMu.Unlock()
	var buf []byte
	for i, segment := range segments {
		limit := durable + 1
		if i+1 < len(segments) {
			limit = min(limit, segments[i+1].firstSeq)
			if segments[i+1].firstSeq <= s.state.seq+1 {
				continue
			}
		}
		if segment.firstSeq > durable+1 {
			break
		}
		data, err := readSegment(to.fs, segment.path, segment.sizeBytes, buf)
		if err != nil {
			return err
		}
		buf = data
		scan, err := scanUntil(data, segment.path, limit)
		if err != nil {
			return err
		}
		if scan.seq < limit {
			return &CorruptError{File: segment.path, Offset: int64(scan.at), Reason: scan.why()}
		}
		path := to.fs.PathJoin(to.journal, segmentName(segment.number))
		if err := writeBytes(to.fs, path, data[:scan.at]); err != nil {
			return err
		}
	}
	return nil
}
