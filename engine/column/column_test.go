package column

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAgainstPairs: whatever was added in whatever portions, the index answers as
// a list of pairs does.
func TestAgainstPairs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var x *Index
		var pairs []Entry
		doc := uint64(0)
		for range r.IntN(6) {
			before, size := x, x.Len()
			var entries []Entry
			for range r.IntN(40) {
				doc += 1 + r.Uint64N(3)
				entries = append(entries, Entry{randomKey(r), doc})
			}
			pairs = append(pairs, entries...)
			if x = x.With(entries); before.Len() != size || x.Len() != len(pairs) {
				t.Fatalf("seed %d: %d documents, and before %d; want %d, %d", seed, x.Len(), before.Len(), len(pairs), size)
			}
		}
		for range 50 {
			first, last := randomKey(r), randomKey(r)
			var want []uint64
			for _, p := range pairs {
				if string(first) <= string(p.Key) && string(p.Key) <= string(last) {
					want = append(want, p.Doc)
				}
			}
			got := slices.Clone(x.Between(first, last))
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: %q to %q: %v, want %v", seed, first, last, got, want)
			}
		}
	}
}

func randomKey(r *rand.Rand) []byte {
	return []byte([]string{"", "a", "ab", "abc", "b", "\x00", "b\xff"}[r.IntN(7)])
}
