package stream

// This file owns the way between blocks and the nodes of Redis. It trusts no byte
// of a node.

import (
	"errors"
	"fmt"

	"reminis/engine/listpack"
)

// NodeBytes is the size of the node that a block is in Redis.
func NodeBytes(block []byte, entries, deleted int) int {
	return listpack.PackedBytes(block) + listpack.IntegerBytes(int64(entries-deleted)) + listpack.IntegerBytes(int64(deleted))
}

// AppendNode appends the node that a block of so many entries is in Redis, a
// listpack.
func AppendNode(dst, block []byte, entries, deleted int) []byte {
	run := make(listpack.Run, 0, NodeBytes(block, entries, deleted))
	run = listpack.AppendInteger(run, int64(entries-deleted))
	run = listpack.AppendInteger(run, int64(deleted))
	run = append(run, block...)
	return listpack.AppendPacked(dst, run, run.Len())
}

var errNode = errors.New("stream: the node is damaged")

// FromNode makes a block of a node. Every element of the block is in its shortest
// form, whatever the node had. What is no node of a stream is an error.
func FromNode(node []byte) (block []byte, entries, deleted int, err error) {
	if err := listpack.Validate(node); err != nil {
		return nil, 0, 0, err
	}
	r := nodeReader{rest: listpack.Elements(node), block: make([]byte, 0, len(node))}
	live, dead := r.count(), r.count()
	fields := r.copyCount()
	r.copyTexts(fields)
	if r.copyInteger() != 0 {
		r.bad = true
	}
	for !r.bad && len(r.rest) > 0 {
		if r.entry(fields)&flagDeleted != 0 {
			deleted++
		}
		entries++
	}
	switch {
	case r.bad:
		return nil, 0, 0, errNode
	case live != int64(entries-deleted) || dead != int64(deleted):
		return nil, 0, 0, fmt.Errorf("%w: it says %d entries and %d deleted ones of %d and %d", errNode, live, dead, entries-deleted, deleted)
	case entries == 0:
		return nil, 0, 0, fmt.Errorf("%w: it has no entries", errNode)
	}
	return r.block, entries, deleted, nil
}

// nodeReader copies elements to a block and latches the first failure.
type nodeReader struct {
	rest  listpack.Run
	block []byte
	bad   bool
}

func (r *nodeReader) next() listpack.Element {
	if r.bad || len(r.rest) == 0 {
		r.bad = true
		return listpack.Element{}
	}
	x, n := r.rest.At(0)
	r.rest = r.rest[n:]
	return x
}

func (r *nodeReader) integer() int64 {
	x := r.next()
	r.bad = r.bad || x.Text != nil
	return x.Int
}

// count reads how many of something follow, or did: as many as there are elements
// at most.
func (r *nodeReader) count() int64 {
	n := r.integer()
	r.bad = r.bad || n < 0 || n > int64(len(r.rest))
	return n
}

func (r *nodeReader) copyInteger() int64 {
	n := r.integer()
	r.block = listpack.AppendInteger(r.block, n)
	return n
}

func (r *nodeReader) copyCount() int64 {
	n := r.count()
	r.block = listpack.AppendInteger(r.block, n)
	return n
}

func (r *nodeReader) copyTexts(n int64) {
	var buf [20]byte
	for ; n > 0 && !r.bad; n-- {
		r.block = listpack.AppendElement(r.block, textOf(r.next(), &buf))
	}
}

// entry copies an entry and returns its flags.
func (r *nodeReader) entry(fields int64) (flags int64) {
	flags = r.copyInteger()
	r.bad = r.bad || flags&^(flagDeleted|flagSameFields) != 0
	r.copyInteger()
	r.copyInteger()
	texts, pieces := fields, fixedPieces+fields
	if flags&flagSameFields == 0 {
		texts = 2 * r.copyCount()
		pieces = fixedPieces + 1 + texts
	}
	r.copyTexts(texts)
	r.bad = r.copyInteger() != pieces || r.bad
	return flags
}
