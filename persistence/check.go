package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns verifying a store that is not in use. It never writes, and
// must not repair.

// Report says what a store holds.
type Report struct {
	StoreID       uint64
	CheckpointSeq uint64 // last batch in the rows
	EndSeq        uint64 // last whole batch of the journal
	Segments      int    // that the journal consists of
	UnusedFiles   int    // spares, and segments that were replaced or cut off
	JournalBytes  int64
	// TornFile and TornOffset are where bytes begin that a crash left and that
	// were never durable; the file is empty when there are none.
	TornFile   string
	TornOffset int64

	Strings, Records                  uint64 // keys
	Collections, Elements             uint64 // keys of the other types, and what they have
	Items                             uint64 // of the records that are lists
	Changes, Events, Owners, Commands uint64 // history, audit, idempotency
}

// Check verifies the store in dir: the checksum and order of every batch of the
// journal, the checksum and form of every row, and that rows and journal meet.
// It returns ErrNotStore, ErrLocked, ErrImporting or ErrNewerFormat when that cannot be done,
// and else one error for each thing that is wrong, joined, which names the file
// and, in the journal, the offset. It writes nothing.
func Check(fs vfs.FS, dir string) (report Report, err error) {
	fs = readOnlyFS{fs}
	l := layoutOf(fs, dir)
	if report.StoreID, err = l.readFormat(); errors.Is(err, os.ErrNotExist) {
		return report, fmt.Errorf("%w in %s", ErrNotStore, dir)
	} else if err != nil {
		return report, err
	}
	if err := l.refuseImporting(); err != nil {
		return report, err
	}
	lock, err := l.lockQuietly()
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	rowsErr := checkRows(&l, &report)
	if rowsErr != nil {
		rowsErr = fmt.Errorf("%s: %w", l.rows, rowsErr)
	}
	return report, errors.Join(rowsErr, checkJournal(&l, &report))
}

func checkJournal(l *layout, report *Report) error {
	found, err := findChain(l.fs, l.journal, report.StoreID, report.CheckpointSeq)
	if err != nil {
		return err
	}
	report.EndSeq = found.endSeq
	report.Segments = len(found.segments)
	report.UnusedFiles = len(found.unused)
	for _, s := range found.segments {
		report.JournalBytes += s.sizeBytes
	}
	last := found.segments[len(found.segments)-1]
	data, err := readSegment(l.fs, last.path, -1, nil)
	if err != nil {
		return err
	}
	if !allZero(data[last.sizeBytes:]) {
		report.TornFile, report.TornOffset = last.path, last.sizeBytes
	}
	return nil
}

func checkRows(l *layout, report *Report) (err error) {
	rows, err := openRows(l.fs, l.rows, true, Options{}.withDefaults())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	state, err := rows.state()
	if err != nil {
		return err
	}
	report.CheckpointSeq = state.seq
	counter := rowCounter{report: report}
	pass := restoring{rows: rows, into: &counter, state: state, known: newCollectionSet()}
	// One goroutine: the counter has no lock.
	if err := pass.run(rows, 1); err != nil {
		return err
	}
	report.Collections = uint64(len(pass.collections))
	return errors.Join(checkCollections(rows), checkArchive(rows, report))
}

// rowCounter is a Restorer that keeps nothing.
type rowCounter struct{ report *Report }

func (c *rowCounter) Spaces([]uint32) {}

func (c *rowCounter) Batch(*effect.Reader) error { return nil }

func (c *rowCounter) Row(e *effect.Effect, _ uint64, _ int64) error {
	switch e.Kind {
	case effect.StringSet:
		c.report.Strings++
	case effect.HashSet, effect.SetAdd, effect.ScoreSet, effect.ListSplice, effect.StreamSet, effect.StreamSplice:
		c.report.Elements++
	case effect.RecordPut, effect.RecordAppend:
		c.report.Records++
	case effect.ItemPut:
		c.report.Items++
	case effect.EventAppend:
		c.report.Owners++
	case effect.CommandDone:
		c.report.Commands++
	}
	return nil
}

// checkCollections verifies that each collection's key and elements name each
// other.
func checkCollections(rows *rowStore) error {
	err := rows.scan(prefixSpan(prefixKey), func(row, value []byte) (bool, error) {
		keyspace, key, _ := cutSpace(row)
		v, err := decodeKey(value, len(key))
		if err != nil || !v.kind.isCollection() {
			return err == nil, err
		}
		head, ok, err := rows.read(appendElementRow(nil, keyspace, v.collection, elementHead))
		if err != nil || !ok {
			return false, badRow(row, errors.Join(err, errors.New("its elements are missing")))
		}
		c, err := decodeCollection(head)
		if err != nil || !bytes.Equal(c.key, key) {
			return false, badRow(row, errors.Join(err, fmt.Errorf("its elements belong to key %q", c.key)))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return rows.scan(prefixSpan(prefixElement), func(row, value []byte) (bool, error) {
		keyspace, collection, part, _, ok := cutElement(row)
		if !ok || part != elementHead {
			return ok, nil
		}
		c, err := decodeCollection(value)
		if err != nil {
			return false, badRow(row, err)
		}
		key, ok, err := rows.read(appendKeyRow(nil, keyspace, c.key))
		if err != nil || !ok {
			return false, badRow(row, errors.Join(err, fmt.Errorf("its key %q is missing", c.key)))
		}
		v, err := decodeKey(key, len(c.key))
		if err != nil || !v.kind.isCollection() || v.collection != collection {
			return false, badRow(row, errors.Join(err, fmt.Errorf("its key %q has other elements", c.key)))
		}
		return true, nil
	})
}

// checkArchive verifies history, its counts, the items of lists, and events.
func checkArchive(rows *rowStore, report *Report) error {
	history := rows.scan(prefixSpan(prefixHistory), func(row, value []byte) (bool, error) {
		_, key, place, ok := cutNamed(row)
		_, _, placed := cutPlace(place)
		e := effect.Effect{Key: key}
		if _, err := decodeHistory(value, &e); err != nil || !ok || !placed {
			return false, badRow(row, errRow)
		}
		report.Changes++
		return true, nil
	})
	counts := rows.scan(prefixSpan(prefixCount), func(row, value []byte) (bool, error) {
		_, _, rest, ok := cutNamed(row)
		if _, err := decodeCount(value); err != nil || !ok || len(rest) > 0 {
			return false, badRow(row, errRow)
		}
		return true, nil
	})
	items := rows.scan(prefixSpan(prefixItem), func(row, value []byte) (bool, error) {
		_, _, place, ok := cutNamed(row)
		if _, _, placed := cutItemPlace(place); !ok || !placed || len(value) == 0 {
			return false, badRow(row, errRow)
		}
		return true, nil
	})
	events := rows.scan(prefixSpan(prefixEvent), func(row, value []byte) (bool, error) {
		_, _, place, ok := cutNamed(row)
		_, _, placed := cutPlace(place)
		if _, _, err := decodeEvent(value); err != nil || !ok || !placed {
			return false, badRow(row, errRow)
		}
		report.Events++
		return true, nil
	})
	return errors.Join(history, counts, items, events)
}

// lockQuietly takes the lock without saying whose it is.
func (l *layout) lockQuietly() (io.Closer, error) {
	lock, err := l.fs.Lock(l.fs.PathJoin(l.dir, "LOCK"))
	if err != nil {
		return nil, l.locked(err)
	}
	return lock, nil
}

// readOnlyFS refuses whatever would change the disk, but for taking a lock.
type readOnlyFS struct{ vfs.FS }

func readOnly(what, name string) error {
	return fmt.Errorf("%s %s: %w", what, name, errors.ErrUnsupported)
}

func (readOnlyFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, readOnly("create", name)
}

func (readOnlyFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, readOnly("open for writing", name)
}

func (readOnlyFS) ReuseForWrite(name, _ string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, readOnly("open for writing", name)
}

func (readOnlyFS) Link(_, name string) error { return readOnly("link", name) }

func (readOnlyFS) Remove(name string) error { return readOnly("remove", name) }

func (readOnlyFS) RemoveAll(name string) error { return readOnly("remove", name) }

func (readOnlyFS) Rename(name, _ string) error { return readOnly("rename", name) }

func (readOnlyFS) MkdirAll(name string, _ os.FileMode) error { return readOnly("make", name) }
