package engine

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
)

// This file owns the keyring of an engine that keeps nothing, and how the number
// of a key is written.

// memoryKeyring keeps keys as long as the process lives: `save ""` with
// `appendonly no`, and tests.
type memoryKeyring struct {
	mu   sync.Mutex
	keys [][32]byte // zero: destroyed
}

func (k *memoryKeyring) Take() (number uint64, key [32]byte) {
	_, _ = rand.Read(key[:]) // it never fails
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = append(k.keys, key)
	return uint64(len(k.keys)), key
}

func (k *memoryKeyring) Key(number uint64) (key [32]byte, ok bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if number == 0 || number > uint64(len(k.keys)) {
		return key, false, errors.New("there is no such key")
	}
	key = k.keys[number-1]
	return key, key != [32]byte{}, nil
}

func (k *memoryKeyring) Destroy(number uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[number-1] = [32]byte{}
	return nil
}

func appendKeyNumber(dst []byte, number uint64) []byte { return binary.AppendUvarint(dst, number) }

func keyNumber(value []byte) (uint64, error) {
	number, n := binary.Uvarint(value)
	if n != len(value) || number == 0 {
		return 0, errors.New("its number does not decode")
	}
	return number, nil
}
