//go:build !unix

package persistence

import "os"

// This file owns the bytes of a file where files cannot be mapped.

func mapFile(path string) (data []byte, release func() error, err error) {
	data, err = os.ReadFile(path)
	return data, func() error { return nil }, err
}
