package persistence

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOverlaySplice edits one row in every place beside a slice.
func TestOverlaySplice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	o := newOverlay()
	n := o.insert([]byte("row"), rowMissing)
	o.put(n, nil)
	var want []byte
	for range 3000 {
		from := r.IntN(len(want) + 1)
		to := from + r.IntN(min(len(want)-from, 30)+1)
		added := make([]byte, r.IntN(40))
		for i := range added {
			added[i] = byte(r.Uint32())
		}
		o.splice(n, from, to, added)
		want = slices.Replace(want, from, to, added...)
		if have := o.value(n); !bytes.Equal(have, want) {
			t.Fatalf("%d to %d replaced by %d bytes:\nhave %x\nwant %x", from, to, len(added), have, want)
		}
	}
}

// TestOverlayGrowsFromBothEnds: a row that grows, at whichever end, takes memory in
// proportion to what it came to be.
func TestOverlayGrowsFromBothEnds(t *testing.T) {
	for name, at := range map[string]func(size int) int{"the front": func(int) int { return 0 }, "the back": func(size int) int { return size }} {
		o := newOverlay()
		n := o.insert([]byte("row"), rowMissing)
		o.put(n, nil)
		const size, step = 4000, 8
		for total := 0; total < size; total += step {
			o.splice(n, at(total), at(total), make([]byte, step))
		}
		if o.sizeBytes > 8*size {
			t.Errorf("%s: %d bytes of memory for a row of %d", name, o.sizeBytes, size)
		}
	}
}
