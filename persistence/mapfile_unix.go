//go:build unix

package persistence

import (
	"errors"
	"os"
	"syscall"
)

// This file owns the bytes of a file as memory. It must not know what is in it.

// mapFile maps a file until release. Whoever shortens the file meanwhile ends the
// process: it is for files that are not being written.
func mapFile(path string) (data []byte, release func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &os.PathError{Op: "map", Path: path, Err: errors.New("it is no file")}
	}
	if info.Size() == 0 {
		return nil, func() error { return nil }, nil
	}
	data, err = syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "map", Path: path, Err: err}
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
