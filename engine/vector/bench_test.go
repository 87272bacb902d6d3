package vector

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// dataSets are what doc.go names.
var dataSets = []struct {
	name string
	draw func(rng *rand.Rand, n int) [][]float32
}{
	{"mixture", func(rng *rand.Rand, n int) [][]float32 { return mixture(rng, n, 384, 200, 1) }},
	{"random384", func(rng *rand.Rand, n int) [][]float32 { return randomVectors(rng, n, 384) }},
	{"random32", func(rng *rand.Rand, n int) [][]float32 { return randomVectors(rng, n, 32) }},
}

// BenchmarkSearch measures searches of 20,000 vectors by scan and by find, and
// how much of the ten nearest find has: new, without half of the vectors, and
// with them again. Its set-up takes a minute.
func BenchmarkSearch(b *testing.B) {
	const n, queryCount = 20_000, 200
	for _, mode := range modes {
		for _, set := range dataSets {
			vectors := set.draw(rand.New(rand.NewPCG(12, 12)), n+queryCount)
			x := NewIndex(len(vectors[0]), mode.options)
			fetch := func(id uint64) []float32 { return vectors[id] }
			measure := func(what string, find func(v *View, q Query) Result) {
				b.Run(fmt.Sprintf("%s/%s/%s", set.name, mode.name, what), func(b *testing.B) {
					v := x.View()
					i, scanned := 0, 0
					for b.Loop() {
						q := Query{Vector: vectors[n+i%queryCount], Limit: 10, Fetch: fetch}
						scanned += find(v, q).Scanned
						i++
					}
					recall, _ := recallAt10(v, vectors[n:], (*search).find)
					b.ReportMetric(recall, "recall@10")
					b.ReportMetric(float64(scanned)/float64(i), "compared/op")
				})
			}
			give := func(step int) {
				for i := 0; i < n; i += step {
					x.Add(uint64(i), vectors[i])
				}
				buildAll(x)
			}
			give(1)
			measure("scan", (*View).SearchExactly)
			measure("new", (*View).Search)
			for i := 0; i < n; i += 2 {
				x.Remove(uint64(i))
			}
			buildAll(x)
			measure("half", (*View).Search)
			give(2)
			measure("again", (*View).Search)
		}
	}
}

// BenchmarkInsert measures what one vector costs a graph of 10,000.
func BenchmarkInsert(b *testing.B) {
	const n, more = 10_000, 1000
	vectors := mixture(rand.New(rand.NewPCG(13, 13)), n+more, 384, 200, 1)
	for _, mode := range modes {
		s := space{dimensions: 384, coded: mode.options.Int8}
		for i, v := range vectors {
			s.add(uint64(i), v)
		}
		var none *graph
		g := none.grown(&s, nil, n)
		b.Run(mode.name, func(b *testing.B) {
			for b.Loop() {
				g.grown(&s, nil, n+more)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*more), "us/vector")
		})
	}
}
