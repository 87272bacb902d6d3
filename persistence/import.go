package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns stores that are being filled from elsewhere: one whose filling did
// not end counts for nothing. It must not know what it is filled from.
//
// A marker lies in the directory from before the store is made until all of it is
// durable. A store beside a marker is a part of what it was to be, of which nobody
// has seen anything, so the next attempt removes it and begins anew. The marker has
// the id that the store gets, so that keys which the first attempt made fit the
// second one.

const importMarker = "IMPORTING"

// readMarker is the id in the marker; ok is false when there is none.
func (l *layout) readMarker() (storeID uint64, ok bool, err error) {
	path := l.fs.PathJoin(l.dir, importMarker)
	text, err := readSegment(l.fs, path, 4096, nil)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	if _, err := fmt.Sscanf(string(text), "id %x\n", &storeID); err != nil {
		return 0, false, &CorruptError{File: path, Offset: 0, Reason: fmt.Sprintf("it does not name the store's id: %v", err)}
	}
	return storeID, true, nil
}

// refuseImporting returns ErrImporting for a store that was not filled to its end.
func (l *layout) refuseImporting() error {
	_, begun, err := l.readMarker()
	if err == nil && begun {
		err = fmt.Errorf("%w: %s", ErrImporting, l.dir)
	}
	return err
}

// newID is the id for a store that is made now.
func (l *layout) newID(options Options) (storeID uint64, err error) {
	storeID, begun, err := l.readMarker()
	if err == nil && begun && !options.Importing {
		err = fmt.Errorf("%w: %s", ErrImporting, l.dir)
	}
	if err == nil && !begun {
		storeID = rand.Uint64()
	}
	return storeID, err
}

// Importing says whether dir has a store whose filling began and did not end.
func Importing(fs vfs.FS, dir string) (bool, error) {
	l := layoutOf(fs, dir)
	_, begun, err := l.readMarker()
	return begun, err
}

// BeginImport makes dir, which must be there, one in which a store is about to be
// filled (Options.Importing); what an earlier attempt left is removed. It refuses a
// directory with a store that is whole, and returns ErrLocked when another process
// has it.
func BeginImport(fs vfs.FS, dir string) (err error) {
	l := layoutOf(fs, dir)
	lock, err := l.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	_, begun, err := l.readMarker()
	if err != nil {
		return err
	}
	if begun {
		return l.removeStore()
	}
	for _, path := range []string{l.format, l.journal, l.rows} {
		if _, err := fs.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return errors.Join(fmt.Errorf("import: %s is there: %w", path, os.ErrExist), err)
		}
	}
	path := fs.PathJoin(dir, importMarker)
	if err := replaceFile(fs, path, fmt.Appendf(nil, "id %016x\n", rand.Uint64())); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// removeStore removes what an attempt left; the keys stay. The format goes first, so
// that what is left of a store is none.
func (l *layout) removeStore() error {
	if err := l.fs.Remove(l.format); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := syncDir(l.fs, l.dir); err != nil {
		return err
	}
	for _, path := range []string{l.journal, l.rows, l.scratch} {
		if err := l.fs.RemoveAll(path); err != nil {
			return err
		}
	}
	return syncDir(l.fs, l.dir)
}

// EndImport makes the store one that is whole, once all of it is durable.
func (s *Store) EndImport() error {
	if err := s.journal.Sync(); err != nil {
		return fmt.Errorf("end an import: %w", err)
	}
	if err := s.layout.fs.Remove(s.layout.fs.PathJoin(s.layout.dir, importMarker)); err != nil {
		return fmt.Errorf("end an import: %w", err)
	}
	return syncDir(s.layout.fs, s.layout.dir)
}
