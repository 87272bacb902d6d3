package column

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkWith adds a run of new documents to a column of 10,000.
func BenchmarkWith(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	doc := uint64(0)
	run := func(size int) []Entry {
		entries := make([]Entry, size)
		for i := range entries {
			doc++
			entries[i] = Entry{fmt.Appendf(nil, "\x04%08d", r.IntN(5000)), doc}
		}
		return entries
	}
	x := (*Index)(nil).With(run(10_000))
	entries := run(200)
	b.ReportAllocs()
	for b.Loop() {
		x.With(entries)
	}
	b.ReportMetric(float64(len(x.keys)+8*len(x.heads)+8*len(x.docs))/float64(x.Len()), "bytes/document")
}
