package persistence

import (
	"errors"
	"fmt"

	"reminis/persistence/rdb"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns files in Redis's format beside the store: that one is there whole
// or not at all. It must not know what is in it.

// rdbTemporary is in front of the name of a file that is being written. There is one
// for each name: what a crash leaves is overwritten by the next attempt.
const rdbTemporary = "temp-"

// WriteRDB makes the file name in dir what fill writes, durably. After an error
// the file is what it was before.
func WriteRDB(fs vfs.FS, dir, name string, options rdb.Options, fill func(w *rdb.Writer) error) (err error) {
	path, next := fs.PathJoin(dir, name), fs.PathJoin(dir, rdbTemporary+name)
	f, err := fs.Create(next, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("make %s: %w", next, err)
	}
	w := rdb.NewWriter(f, options)
	err = fill(w)
	// The end of a file whose beginning is not what it should be is not written.
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = fs.Rename(next, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), fs.Remove(next))
	}
	return syncDir(fs, dir)
}

// ReadRDB hands what the file at path has to a target. After an error it may have
// got a part. read is as of rdb.Read.
func ReadRDB(path string, into rdb.Target, read func(bytes int) error) (err error) {
	data, release, err := mapFile(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := rdb.Read(data, into, read); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
