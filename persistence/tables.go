package persistence

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns writing sorted rows into tables that Pebble ingests. It must
// not know what rows mean.

// tableBuilder writes rows, given in order, and range deletions into tables of
// moderate size that do not overlap. In an ingested table a range deletion
// deletes what was there before, never a row of the same table.
type tableBuilder struct {
	fs      vfs.FS
	dir     string
	options sstable.WriterOptions
	limit   int64  // of a table's bytes
	spans   []span // to be deleted: in order, not overlapping

	writer *sstable.Writer
	paths  []string
	size   int64 // of the open table, before compression
}

// set adds a row.
func (b *tableBuilder) set(row, value []byte) error {
	if err := b.room(row, len(row)+len(value)); err != nil {
		return err
	}
	return b.writer.Set(row, value)
}

// delete adds the deletion of a row.
func (b *tableBuilder) delete(row []byte) error {
	if err := b.room(row, len(row)); err != nil {
		return err
	}
	return b.writer.Delete(row)
}

// room begins a new table at row when the open one is full.
func (b *tableBuilder) room(row []byte, sizeBytes int) error {
	if b.writer != nil && b.size >= b.limit {
		if err := b.closeTable(row); err != nil {
			return err
		}
	}
	b.size += int64(sizeBytes)
	if b.writer != nil {
		return nil
	}
	path := b.fs.PathJoin(b.dir, fmt.Sprintf("%06d.sst", len(b.paths)+1))
	f, err := b.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("create a table of rows: %w", err)
	}
	b.writer = sstable.NewWriter(objstorageprovider.NewFileWritable(f), b.options)
	b.paths = append(b.paths, path)
	return nil
}

// closeTable finishes and syncs the open table, which holds all rows and
// deletions before next; nil is the end.
func (b *tableBuilder) closeTable(next []byte) error {
	var err error
	for err == nil && len(b.spans) > 0 {
		s := &b.spans[0]
		if next != nil && bytes.Compare(s.from, next) >= 0 {
			break
		}
		if next != nil && bytes.Compare(s.to, next) > 0 {
			err = b.writer.DeleteRange(s.from, next)
			s.from = bytes.Clone(next)
			break
		}
		err = b.writer.DeleteRange(s.from, s.to)
		b.spans = b.spans[1:]
	}
	err = errors.Join(err, b.writer.Close())
	b.writer, b.size = nil, 0
	if err != nil {
		return fmt.Errorf("write a table of rows: %w", err)
	}
	return nil
}

// finish closes the last table and returns the paths of all.
func (b *tableBuilder) finish() ([]string, error) {
	if b.writer == nil {
		return nil, errors.New("no rows were written")
	}
	if err := b.closeTable(nil); err != nil {
		return nil, err
	}
	return b.paths, nil // Pebble links them into its own directory and syncs that
}

// abort closes and removes what was written after an error.
func (b *tableBuilder) abort() error {
	var errs []error
	if b.writer != nil {
		errs = append(errs, b.writer.Close())
		b.writer = nil
	}
	for _, path := range b.paths {
		errs = append(errs, b.fs.Remove(path))
	}
	return errors.Join(errs...)
}
