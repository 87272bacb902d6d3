package persistence

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the store's directory: its lock, its format file, and where
// the parts lie. It must not know what is in the parts.
//
//	FORMAT     "reminis-store", the format's number and the store's id; written
//	           last when a store is made, so that it stands for a whole store
//	IMPORTING  says that the store is being filled from elsewhere (import.go)
//	LOCK, PID  the lock, and the number of the process that has it
//	journal/   segments
//	pebble/    rows
//	keys/      the keys of owners, and the master key when it lies here; never
//	           part of a backup

const (
	// storeFormat is the newest format that this build reads and the one it writes.
	storeFormat = 1
	formatWord  = "reminis-store"
)

// Disk is the machine's file system.
func Disk() vfs.FS { return vfs.Default }

// layout is where the parts of a store are.
type layout struct {
	fs                                  vfs.FS
	dir, format, journal, rows, scratch string
}

func layoutOf(fs vfs.FS, dir string) layout {
	return layout{
		fs: fs, dir: dir,
		format:  fs.PathJoin(dir, "FORMAT"),
		journal: fs.PathJoin(dir, "journal"),
		rows:    fs.PathJoin(dir, "pebble"),
		scratch: fs.PathJoin(dir, "scratch"),
	}
}

// lock takes the store for this process. The error names the process that has
// it, when that can be found out.
func (l *layout) lock() (io.Closer, error) {
	lock, err := l.fs.Lock(l.fs.PathJoin(l.dir, "LOCK"))
	if err != nil {
		return nil, l.locked(err)
	}
	if err := writeBytes(l.fs, l.pid(), []byte(strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func (l *layout) pid() string { return l.fs.PathJoin(l.dir, "PID") }

func (l *layout) locked(err error) error {
	owner := ""
	if pid, readErr := readSegment(l.fs, l.pid(), 32, nil); readErr == nil && len(pid) > 0 {
		owner = " by process " + strings.TrimSpace(string(pid))
	}
	return fmt.Errorf("%w%s: %s: %w", ErrLocked, owner, l.dir, err)
}

// readFormat returns the store's id. It returns an error that is
// os.ErrNotExist when there is no store.
func (l *layout) readFormat() (storeID uint64, err error) {
	text, err := readSegment(l.fs, l.format, 4096, nil)
	if err != nil {
		return 0, err
	}
	var word string
	var format int
	if n, err := fmt.Sscanf(string(text), "%s %d\n", &word, &format); n < 2 || word != formatWord {
		return 0, &CorruptError{File: l.format, Offset: 0, Reason: fmt.Sprintf("it does not begin with %q and a number: %v", formatWord, err)}
	}
	if format > storeFormat {
		return 0, fmt.Errorf("%w: %s says format %d, this build reads up to %d", ErrNewerFormat, l.format, format, storeFormat)
	}
	if _, err := fmt.Sscanf(string(text), "%s %d\nid %x\n", &word, &format, &storeID); err != nil {
		return 0, &CorruptError{File: l.format, Offset: 0, Reason: fmt.Sprintf("it does not name the store's id: %v", err)}
	}
	return storeID, nil
}

// writeFormat makes the directory a store.
func (l *layout) writeFormat(storeID uint64) error {
	next := l.format + ".new"
	if err := writeBytes(l.fs, next, fmt.Appendf(nil, "%s %d\nid %016x\n", formatWord, storeFormat, storeID)); err != nil {
		return err
	}
	if err := l.fs.Rename(next, l.format); err != nil {
		return err
	}
	return syncDir(l.fs, l.dir)
}

// create makes an empty store of an empty directory, or of what is left of an
// attempt to do so. It refuses one that holds data without a FORMAT file. The
// journal comes first, so rows without one are data too.
func (l *layout) create(storeID uint64, options Options) (uint64, error) {
	found, err := findSegments(l.fs, l.journal)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	for _, f := range found {
		data, err := readSegment(l.fs, f.path, -1, nil)
		if err != nil {
			return 0, err
		}
		if f.firstSeq > 1 || len(data) > segmentHeaderBytes && !allZero(data[segmentHeaderBytes:]) {
			return 0, &CorruptError{File: l.format, Offset: -1, Reason: fmt.Sprintf("the file is missing, but %s holds batches", f.path)}
		}
	}
	if names, err := l.fs.List(l.rows); err == nil && len(names) > 0 && len(found) == 0 {
		return 0, &CorruptError{File: l.format, Offset: -1, Reason: fmt.Sprintf("the file is missing, but %s is not empty", l.rows)}
	}
	for _, dir := range []string{l.rows, l.journal} {
		if err := l.fs.RemoveAll(dir); err != nil {
			return 0, err
		}
		if err := syncDir(l.fs, l.dir); err != nil {
			return 0, err
		}
	}
	if err := l.fs.MkdirAll(l.journal, 0o755); err != nil {
		return 0, err
	}
	if err := syncDir(l.fs, l.dir); err != nil {
		return 0, err
	}
	if err := createJournal(l.fs, l.journal, storeID, options); err != nil {
		return 0, err
	}
	rows, err := openRows(l.fs, l.rows, false, options)
	if err != nil {
		return 0, err
	}
	if err := rows.close(); err != nil {
		return 0, err
	}
	return storeID, l.writeFormat(storeID)
}

// prepare makes the directory, locks it, and finds or makes the store in it.
func (l *layout) prepare(options Options) (lock io.Closer, storeID uint64, err error) {
	if err := l.fs.MkdirAll(l.dir, 0o755); err != nil {
		return nil, 0, err
	}
	if err := syncDir(l.fs, l.fs.PathDir(l.dir)); err != nil {
		return nil, 0, err
	}
	if lock, err = l.lock(); err != nil {
		return nil, 0, err
	}
	newID, err := l.newID(options)
	if err == nil {
		storeID, err = l.readFormat()
	}
	if errors.Is(err, os.ErrNotExist) {
		storeID, err = l.create(newID, options)
	}
	if err != nil {
		return nil, 0, errors.Join(err, lock.Close())
	}
	return lock, storeID, nil
}

// makeDir makes a directory and what is missing above it, durably.
func makeDir(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := fs.PathDir(dir)
	if err := makeDir(fs, parent); err != nil {
		return err
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDir(fs, parent)
}

// writeBytes makes path hold data, durably but for its directory entry.
func writeBytes(fs vfs.FS, path string, data []byte) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
