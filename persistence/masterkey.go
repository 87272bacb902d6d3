package persistence

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the master key: how it is written, and the one that a store
// makes for itself when it is given none. It must not know what the key wraps.

const (
	keysDir       = "keys"
	masterKeyFile = "master.key"
	// KeyBytes is the size of every key.
	KeyBytes = 32
	// keyFileMax bounds what is read of a file that should hold a key.
	keyFileMax = 1024
)

// ErrNoMasterKey is returned by MasterKey when owners' keys are there and the
// key that they are wrapped by is not.
var ErrNoMasterKey = errors.New("the master key is missing")

// ParseKey reads a key as people store it: 32 raw bytes, or 64 hexadecimal
// digits, which white space may surround. The error never shows what it read.
func ParseKey(text []byte) (key [KeyBytes]byte, err error) {
	if len(text) == KeyBytes {
		return [KeyBytes]byte(text), nil
	}
	digits := bytes.TrimSpace(text)
	if len(digits) != hex.EncodedLen(KeyBytes) {
		return key, fmt.Errorf("a key is %d raw bytes or %d hexadecimal digits, these are %d bytes", KeyBytes, hex.EncodedLen(KeyBytes), len(text))
	}
	if _, err := hex.Decode(key[:], digits); err != nil {
		return [KeyBytes]byte{}, fmt.Errorf("a key of %d digits must be hexadecimal", len(digits))
	}
	return key, nil
}

// ReadKey reads a key from a file.
func ReadKey(fsys vfs.FS, path string) (key [KeyBytes]byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return key, err
	}
	text, err := io.ReadAll(io.LimitReader(f, keyFileMax))
	if err = errors.Join(err, f.Close()); err != nil {
		return key, err
	}
	if key, err = ParseKey(text); err != nil {
		return key, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// MasterKey reads the master key that lies beside the data in dir; made says
// that there was none and that it was made just now. It returns ErrNoMasterKey
// where a new one would be of no use.
func MasterKey(fsys vfs.FS, dir string) (key [KeyBytes]byte, made bool, err error) {
	keys := fsys.PathJoin(dir, keysDir)
	path := fsys.PathJoin(keys, masterKeyFile)
	if key, err = ReadKey(fsys, path); !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	if _, err := fsys.Stat(fsys.PathJoin(keys, ringFile)); err == nil {
		return key, false, fmt.Errorf("%w: %s is not there, but the keys of owners are, which it wraps", ErrNoMasterKey, path)
	}
	if key, err = MakeKey(fsys, path); err != nil {
		return key, false, err
	}
	return key, true, syncDir(fsys, dir)
}

// MakeKey writes a new key into a file that is not there yet: a crash leaves a
// whole key or none.
func MakeKey(fsys vfs.FS, path string) (key [KeyBytes]byte, err error) {
	if _, err := rand.Read(key[:]); err != nil {
		return key, fmt.Errorf("drawing a key: %w", err)
	}
	if err := fsys.MkdirAll(fsys.PathDir(path), 0o700); err != nil {
		return key, fmt.Errorf("making the directory of keys: %w", err)
	}
	if err := replaceFile(fsys, path, key[:]); err != nil {
		return key, fmt.Errorf("writing %s: %w", path, err)
	}
	return key, nil
}

// replaceFile makes path hold data, whole or not at all. What it writes is for
// the user of the process alone.
func replaceFile(fsys vfs.FS, path string, data []byte) error {
	next := path + ".new"
	f, err := fsys.Create(next, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if f.Fd() != vfs.InvalidFd {
		err = os.Chmod(next, 0o600)
	}
	if err == nil {
		// A vfs.File may write into what it is given.
		_, err = f.Write(bytes.Clone(data))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(next, path); err != nil {
		return err
	}
	return syncDir(fsys, fsys.PathDir(path))
}
