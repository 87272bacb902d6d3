package persistence

import (
	"errors"
	"fmt"
	"os"
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
	if names, err := fs.List(dir); err == nil && len(names) > 0 {
		return fmt.Errorf("back up: %s is not empty: %w", dir, os.ErrExist)
	}
	if err := s.journal.Sync(); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up: %w", errors.Join(err, fs.RemoveAll(to.rows), fs.RemoveAll(to.journal)))
		}
	}()
	if err := fs.MkdirAll(to.journal, 0o755); err != nil {
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

// copyJournal copies the segments that hold batches after the checkpoint, up to
// the last durable one. checkpointMu must be held: no segment goes meanwhile.
func (s *Store) copyJournal(to *layout) error {
	s.journal.ioMu.Lock()
	segments := s.journal.writer.snapshot()
	s.journal.ioMu.Unlock()
	durable := s.journal.Durable()
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
