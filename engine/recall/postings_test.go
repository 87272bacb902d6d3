// This file owns the tests of posting lists, lengths and merging.

package recall

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"reminis/engine/bitset"
)

func readAll(list postingList) []posting {
	var all []posting
	var buf [blockDocs]posting
	for {
		block := list.block(&buf)
		if len(block) == 0 {
			return all
		}
		all = append(all, block...)
	}
}

func TestPostingsRoundTrip(t *testing.T) {
	const seed = 3
	random := rand.New(rand.NewPCG(seed, 3))
	norms := make([]byte, segmentDocsMax)
	for i := range norms {
		norms[i] = byte(random.IntN(200))
	}
	for _, count := range []int{1, 2, 127, 128, 129, 256, 257, 5000, segmentDocsMax} {
		var ordinals []uint16
		var frequencies []byte
		for _, i := range random.Perm(segmentDocsMax)[:count] {
			ordinals = append(ordinals, uint16(i))
			frequencies = append(frequencies, byte(1+random.IntN(2)*random.IntN(255)))
		}
		sortOrdinals(ordinals)
		encoded := appendPostings([]byte("before"), ordinals, frequencies, norms)
		encoded = append(encoded, "after"...)
		list := readPostings(encoded[len("before"):])
		all := readAll(list)
		if len(all) != count || list.count != count {
			t.Fatalf("seed %d: %d postings, want %d", seed, len(all), count)
		}
		for i, p := range all {
			if p.ordinal != ordinals[i] || p.frequency != frequencies[i] {
				t.Fatalf("seed %d, %d postings: posting %d is %+v, want %d %d", seed, count, i, p, ordinals[i], frequencies[i])
			}
			if p.frequency > list.frequency || norms[p.ordinal] < list.norm {
				t.Fatalf("seed %d: %+v is beyond the list's bounds %d, %d", seed, p, list.frequency, list.norm)
			}
		}
		for range 50 {
			ordinal := random.IntN(segmentDocsMax)
			skipping := list
			skipping.skipTo(ordinal)
			var rest []posting
			for _, p := range readAll(skipping) {
				if int(p.ordinal) >= ordinal {
					rest = append(rest, p)
				}
			}
			want := 0
			for _, o := range ordinals {
				if int(o) >= ordinal {
					want++
				}
			}
			if len(rest) != want {
				t.Fatalf("seed %d, %d postings: %d at or after %d, want %d", seed, count, len(rest), ordinal, want)
			}
		}
	}
}

func sortOrdinals(ordinals []uint16) {
	var seen bitset.Set
	for _, ordinal := range ordinals {
		seen = seen.With(int(ordinal))
	}
	i := 0
	seen.Added(nil, func(ordinal int) {
		ordinals[i] = uint16(ordinal)
		i++
	})
}

func TestNormsAreCloseAndOrdered(t *testing.T) {
	previous := byte(0)
	for length := 0; length < 500_000; length++ {
		norm := normOf(length)
		coded := lengthOf(norm)
		if norm < previous || coded > length || float64(length-coded) > 0.0625*float64(length) {
			t.Fatalf("length %d has norm %d (before it %d), read as %d", length, norm, previous, coded)
		}
		previous = norm
	}
	if normOf(1<<40) != 255 {
		t.Errorf("a huge length has norm %d", normOf(1<<40))
	}
}

func FuzzPostings(f *testing.F) {
	f.Add([]byte{1, 0, 2, 0, 1, 9})
	f.Add(make([]byte, 999))
	f.Fuzz(func(t *testing.T, data []byte) {
		var ordinals []uint16
		var frequencies []byte
		next := 0
		for len(data) >= 3 {
			next += int(binary.LittleEndian.Uint16(data))
			if next >= segmentDocsMax {
				break
			}
			ordinals = append(ordinals, uint16(next))
			frequencies = append(frequencies, max(data[2], 1))
			next++
			data = data[3:]
		}
		if len(ordinals) == 0 {
			return
		}
		for i, p := range readAll(readPostings(appendPostings(nil, ordinals, frequencies, make([]byte, segmentDocsMax)))) {
			if p.ordinal != ordinals[i] || p.frequency != frequencies[i] {
				t.Fatalf("posting %d is %+v, want %d %d", i, p, ordinals[i], frequencies[i])
			}
		}
	})
}
