// This file owns replacing a file as a whole. It must not know what is in it.

package server

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// errKeepFile is what write returns to replaceFile to leave the file as it is.
var errKeepFile = errors.New("the file stays as it is")

// replaceFile gives the path to a new file with what write writes, on the disk
// and with the rights that the old one had, or leaves what is there.
func replaceFile(path string, write func(to io.Writer) error) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	if err = write(temporary); err == nil {
		err = sameRights(temporary, path)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		gone := os.Remove(temporary.Name())
		if errors.Is(err, errKeepFile) {
			return gone
		}
		return errors.Join(err, gone)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// sameRights gives a file the mode of the one at path, if there is one.
func sameRights(file *os.File, path string) error {
	old, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Chmod(old.Mode().Perm())
}
