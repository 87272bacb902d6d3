package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// This file owns the digest of all memory records, by which two states are
// compared: that of a server and that of a replay, or of two runs over the same
// commands.

// RecordsDigest is a SHA-256 over every record that outlives a restart: its
// owner's space, key, deadline and encoding, in order of space and key. Two
// engines have the same digest when their records are the same. Nothing may
// change records meanwhile.
func (e *Engine) RecordsDigest() (sum [sha256.Size]byte, records int) {
	tx := e.Begin()
	defer tx.Done()
	hash := sha256.New()
	var head []byte
	part := func(data []byte) {
		head = binary.AppendUvarint(head[:0], uint64(len(data)))
		hash.Write(head)
		hash.Write(data)
	}
	for _, space := range slices.Sorted(maps.Keys(e.owners.spaces)) {
		for _, owner := range e.owners.under(space, "") {
			owner.records.Scan(func(it item) bool {
				if !it.kind().Journaled() {
					return true
				}
				records++
				head = binary.BigEndian.AppendUint32(head[:0], space)
				head = binary.AppendVarint(head, it.deadlineMs())
				hash.Write(head)
				part(it.key())
				part(it.record())
				return true
			})
		}
	}
	hash.Sum(sum[:0])
	return sum, records
}
