package persistence

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns what Pebble's files need beyond what Pebble does itself. It
// must not know what is in them.

// rowFS is the file system as Pebble sees it. It differs in two ways: a marker
// file appears only when the directory entry of the file that it names is
// durable, for a crash may keep one and lose the other; and a failed fsync of a
// directory, on which Pebble panics, ends the row store instead.
type rowFS struct {
	vfs.FS
	rows *rowStore
}

func (f rowFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		if err := syncDir(f.FS, f.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return f.FS.Create(name, category)
}

func (f rowFS) OpenDir(name string) (vfs.File, error) {
	d, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return rowDir{d, name, f.rows}, nil
}

// rowDir is a directory whose failed fsync is the end of the row store.
type rowDir struct {
	vfs.File
	name string
	rows *rowStore
}

func (d rowDir) Sync() error {
	if err := d.File.Sync(); err != nil {
		d.rows.fatal(fmt.Errorf("sync %s: %w", d.name, err))
	}
	return nil
}
