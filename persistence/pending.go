package persistence

import (
	"encoding/binary"
	"slices"

	"reminis/engine/effect"
)

// This file owns the memory of batches that are not durable yet: they stay
// here, as the bytes of the journal, until an fsync covered them, so that they
// can be written again elsewhere when the disk fails. It must not know files.
//
// The caller's lock guards all of it, but the bytes of a closed frame, which
// never change place: they may be read without the lock until released.

// chunkBytes is the usual size of a chunk; a batch that is larger has its own.
const chunkBytes = 512 << 10

const (
	// chunksKept bounds the unused chunks that are kept for later, 32 MB: as
	// much as is pending before the background syncs, so that a busy journal
	// allocates nothing.
	chunksKept = 64
	// chunksIdle is how many of them a journal keeps that needs none.
	chunksIdle = 2
)

// A frameRef is one frame in a chunk.
type frameRef struct {
	at, end  int
	firstSeq uint64
	lastSeq  uint64
	timeMs   int64 // of the batch before firstSeq
	lastMs   int64 // of the batch lastSeq
	sealed   bool  // checksums are filled in
}

const frameRefBytes = 56

// A chunk holds whole frames, the last of which may be open to more batches.
type chunk struct {
	buf     []byte
	frames  []frameRef
	open    bool // the last frame takes more batches
	written int  // how many frames are in the file
	durable int  // how many frames are durable; ≤ written
}

func (c *chunk) heldBytes() int64 {
	return int64(cap(c.buf)) + int64(cap(c.frames))*frameRefBytes
}

// pending is the queue of chunks, oldest first.
type pending struct {
	chunks []*chunk
	free   []*chunk
	spare  int    // the fewest that were free since the last trim
	head   []byte // scratch for a batch's head

	seq    uint64 // last batch added
	timeMs int64  // its time

	retainedBytes  int64 // in frames that are not durable
	unwrittenBytes int64 // in frames that are not in the file

	held heldGauge // chunks, free ones too
}

// add appends the batch and gives it the next sequence.
func (p *pending) add(b *effect.Batch) (seq uint64, timeMs int64) {
	seq, timeMs = p.seq+1, max(b.TimeMs, p.timeMs)
	p.head = b.AppendHead(p.head[:0], 0, timeMs-p.timeMs)
	body := b.Body()
	size := len(p.head) + len(body)
	c := p.room(frameHeaderBytes + recordCRCBytes + binary.MaxVarintLen64 + size)
	before := len(c.buf)
	if !c.open {
		known := c.heldBytes()
		c.frames = append(c.frames, frameRef{at: before, firstSeq: seq, timeMs: p.timeMs})
		c.buf = c.buf[:before+frameHeaderBytes]
		c.open = true
		if held := c.heldBytes(); held != known {
			p.held.add(held - known)
		}
	}
	c.buf = c.buf[:len(c.buf)+recordCRCBytes]
	c.buf = binary.AppendUvarint(c.buf, uint64(size))
	c.buf = append(c.buf, p.head...)
	c.buf = append(c.buf, body...)
	f := &c.frames[len(c.frames)-1]
	f.end, f.lastSeq, f.lastMs = len(c.buf), seq, timeMs
	p.seq, p.timeMs = seq, timeMs
	p.retainedBytes += int64(len(c.buf) - before)
	p.unwrittenBytes += int64(len(c.buf) - before)
	return seq, timeMs
}

// room returns the last chunk with need bytes free, or a new one.
func (p *pending) room(need int) *chunk {
	if n := len(p.chunks); n > 0 {
		c := p.chunks[n-1]
		if cap(c.buf)-len(c.buf) >= need {
			return c
		}
		c.open = false
	}
	c := p.take(need)
	p.chunks = append(p.chunks, c)
	return c
}

func (p *pending) take(need int) *chunk {
	if n := len(p.free); n > 0 && need <= chunkBytes {
		c := p.free[n-1]
		p.free[n-1] = nil
		p.free = p.free[:n-1]
		p.spare = min(p.spare, n-1)
		return c
	}
	c := &chunk{buf: make([]byte, 0, max(need, chunkBytes))}
	p.held.add(c.heldBytes())
	return c
}

// nextFrame closes and returns the oldest frame that is not in the file, and
// the chunk that its bytes are in; nil when there is none.
func (p *pending) nextFrame() (*chunk, frameRef) {
	for _, c := range p.chunks {
		if c.written < len(c.frames) {
			c.open = c.open && c.written < len(c.frames)-1
			return c, c.frames[c.written]
		}
	}
	return nil, frameRef{}
}

// wrote notes that the frame that nextFrame returned is in the file.
func (p *pending) wrote(c *chunk) {
	f := &c.frames[c.written]
	f.sealed = true
	c.written++
	p.unwrittenBytes -= int64(f.end - f.at)
}

// release drops what is durable: every frame up to the batch seq.
func (p *pending) release(seq uint64) {
	drop := 0
	for _, c := range p.chunks {
		for c.durable < c.written && c.frames[c.durable].lastSeq <= seq {
			f := &c.frames[c.durable]
			p.retainedBytes -= int64(f.end - f.at)
			c.durable++
		}
		if c.durable < len(c.frames) {
			break
		}
		drop++
	}
	// The last chunk is emptied in place, so that a warm journal allocates nothing.
	for _, c := range p.chunks[:drop] {
		c.buf, c.frames = c.buf[:0], c.frames[:0]
		c.open, c.written, c.durable = false, 0, 0
		if cap(c.buf) == chunkBytes && len(p.free) < chunksKept {
			p.free = append(p.free, c)
		} else {
			p.held.add(-c.heldBytes())
		}
	}
	p.chunks = slices.Delete(p.chunks, 0, drop)
}

// trim gives back the chunks that nothing needed since it was last called. A journal
// that is never idle, but had much to do once, would keep all of them else.
func (p *pending) trim() {
	if unused := p.spare - chunksIdle; unused > 0 {
		left := len(p.free) - unused
		for _, c := range p.free[left:] {
			p.held.add(-c.heldBytes())
		}
		clear(p.free[left:])
		p.free = p.free[:left]
	}
	p.spare = len(p.free)
}

// rewind makes every frame that is not durable unwritten again.
func (p *pending) rewind() {
	p.unwrittenBytes = p.retainedBytes
	for _, c := range p.chunks {
		c.written = c.durable
	}
}
