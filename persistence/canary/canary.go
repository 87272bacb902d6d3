// Package canary finds in files what tests of erasing wrote: a word that occurs
// nowhere else must be in none of them once it is erased. Only tests use it; it
// knows files and no store.
package canary

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// wordBytes makes a word that nobody finds by chance.
const wordBytes = 64

// Word is a new word, of letters, so that it is the same in JSON.
func Word(rng *rand.Rand) string {
	word := make([]byte, wordBytes)
	for i := range word {
		word[i] = byte('a' + rng.IntN(26))
	}
	return string(word)
}

// walksMax is how often Singing begins anew.
const walksMax = 100

// Singing lists the files below dir that have the word in them. When a file goes
// meanwhile, another may have what it had: then it looks at all of them again.
func Singing(fs vfs.FS, dir, word string) (files []string, err error) {
	for range walksMax {
		if files, err = singing(fs, dir, word); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return files, err
}

func singing(fs vfs.FS, dir, word string) (files []string, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", path, err)
		}
		if info.IsDir() {
			below, err := singing(fs, path, word)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
			continue
		}
		data, err := read(fs, path)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(data, []byte(word)) {
			files = append(files, path)
		}
	}
	return files, nil
}

func read(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, f.Close()
}
