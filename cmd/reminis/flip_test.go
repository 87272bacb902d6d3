package main

import (
	"bytes"

	"reminis/engine"
)

// This file owns an archive that gives back one byte other than what was
// stored. It must not know what the bytes mean.

// flippingArchive is an archive one of whose stored bytes has changed.
type flippingArchive struct {
	engine.Archive
	// event and offset name the byte: counted from 1, and 0 is none.
	event, offset int
}

// Events implements engine.Archive.
func (a *flippingArchive) Events(space uint32, owner []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, event []byte) bool) error {
	n := 0
	return a.Archive.Events(space, owner, fromSeq, toSeq, reverse, func(seq uint64, timeMs int64, event []byte) bool {
		if n++; n == a.event && a.offset > 0 && a.offset <= len(event) {
			event = bytes.Clone(event)
			event[a.offset-1] ^= 1
		}
		return visit(seq, timeMs, event)
	})
}
