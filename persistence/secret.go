package persistence

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the store's secret: 32 random bytes in keys/, apart from the
// data, so that a copy of the data does not carry it.

const (
	keysDir    = "keys"
	secretFile = "store.key"
	secretSize = 32
)

// Secret reads the secret of the store in dir, and makes it when there is none.
// Losing it makes payload hashes of the past meaningless, not the data.
func Secret(fsys vfs.FS, dir string) (secret [32]byte, err error) {
	keys := fsys.PathJoin(dir, keysDir)
	path := fsys.PathJoin(keys, secretFile)
	switch secret, err = readSecret(fsys, path); {
	case err == nil:
		return secret, nil
	case !errors.Is(err, fs.ErrNotExist):
		return secret, fmt.Errorf("reading the store's secret: %w", err)
	}
	if err := fsys.MkdirAll(keys, 0o700); err != nil {
		return secret, fmt.Errorf("making the directory of keys: %w", err)
	}
	if err := syncDir(fsys, dir); err != nil {
		return secret, fmt.Errorf("syncing the store's directory: %w", err)
	}
	if _, err := rand.Read(secret[:]); err != nil {
		return secret, fmt.Errorf("drawing the store's secret: %w", err)
	}
	if err := writeSecret(fsys, keys, path, secret[:]); err != nil {
		return secret, fmt.Errorf("writing the store's secret: %w", err)
	}
	return secret, nil
}

func readSecret(fsys vfs.FS, path string) (secret [32]byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return secret, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, secretSize+1))
	if err != nil {
		return secret, err
	}
	if len(data) != secretSize {
		return secret, &CorruptError{File: path, Offset: -1, Reason: fmt.Sprintf("it holds %d bytes, not %d", len(data), secretSize)}
	}
	copy(secret[:], data)
	return secret, nil
}

// writeSecret writes beside, then renames: a crash leaves a whole secret or
// none.
func writeSecret(fsys vfs.FS, keys, path string, secret []byte) error {
	temporary := path + ".tmp"
	f, err := fsys.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(secret)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(temporary, path); err != nil {
		return err
	}
	return syncDir(fsys, keys)
}
