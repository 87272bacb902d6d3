package persistence

import (
	"testing"

	"reminis/engine/effect"
)

// TestTrim: chunks that a burst needed go when nothing needs them any more, also while
// a little is pending all the time; those that are needed again and again stay.
func TestTrim(t *testing.T) {
	var p pending
	batch := func(sizeBytes int) {
		var b effect.Batch
		b.Add(&effect.Effect{Kind: effect.StringSet, Key: []byte("k"), Value: make([]byte, sizeBytes)})
		p.add(&b)
	}
	// between is what happens between two calls of trim: all of it becomes durable but
	// for a last batch.
	between := func(chunks int) {
		for range chunks {
			batch(chunkBytes * 3 / 4)
		}
		for c, _ := p.nextFrame(); c != nil; c, _ = p.nextFrame() {
			p.wrote(c)
		}
		p.release(p.seq)
		batch(1)
		p.trim()
	}
	held := func() int { return len(p.free) + len(p.chunks) }
	between(40)
	between(40)
	if n := held(); n < 40 {
		t.Errorf("%d chunks are left of 40 that are needed each time", n)
	}
	between(5)
	between(5)
	if n := held(); n > 5+chunksIdle+1 {
		t.Errorf("%d chunks are kept where 5 are needed", n)
	}
	between(0)
	between(0)
	between(0)
	if n := held(); n > chunksIdle+1 {
		t.Errorf("%d chunks are kept where one is needed", n)
	}
	// Nothing refers to the others, and what is counted is what is there.
	counted := int64(0)
	for _, list := range [][]*chunk{p.free, p.chunks} {
		for i, c := range list[:cap(list)] {
			switch {
			case i < len(list):
				counted += c.heldBytes()
			case c != nil:
				t.Errorf("a chunk is gone and still referred to, at %d of %d", i, len(list))
			}
		}
	}
	if have := p.held.now.Load(); have != counted {
		t.Errorf("%d bytes are held, %d are counted", counted, have)
	}
}
