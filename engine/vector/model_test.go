// This file owns the slow, obvious form of an index, and the data that tests and
// measurements use.

package vector

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// model is the vectors that live.
type model map[uint64][]float32

// search answers what an exact search must.
func (m model) search(q Query) []Hit {
	var hits []Hit
	for id, v := range m {
		if q.Accept == nil || q.Accept(id) {
			hits = append(hits, Hit{ID: id, Score: cosine(q.Vector, v)})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.ID, a.ID))
	})
	return hits[:min(len(hits), max(q.Limit, 0))]
}

// cosine is what a hit's score is defined as: vectors of float32 scaled to
// length 1, multiplied in float64.
func cosine(a, b []float32) float64 {
	x, y := scaled(a), scaled(b)
	var sum float64
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return math.Min(math.Max(sum, -1), 1)
}

func scaled(v []float32) []float32 {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	unit := make([]float32, len(v))
	for i, f := range v {
		if sum > 0 {
			unit[i] = float32(float64(f) / math.Sqrt(sum))
		}
	}
	return unit
}

func (m model) clone() model { return maps.Clone(m) }

func (m model) fetch(id uint64) []float32 { return m[id] }

func randomVector(rng *rand.Rand, dimensions int) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// mixture draws vectors from as many Gaussians as there are centers, each as wide
// as the centers are apart times spread: as texts of a few hundred subjects lie.
func mixture(rng *rand.Rand, n, dimensions, centers int, spread float64) [][]float32 {
	middle := make([][]float32, centers)
	for i := range middle {
		middle[i] = randomVector(rng, dimensions)
	}
	vectors := make([][]float32, n)
	for i := range vectors {
		v := randomVector(rng, dimensions)
		for j, f := range middle[rng.IntN(centers)] {
			v[j] = f + float32(spread)*v[j]
		}
		vectors[i] = v
	}
	return vectors
}

// randomVectors draws vectors in all directions: the hardest there are, since
// none is much nearer than the others. Nothing that means something lies so.
func randomVectors(rng *rand.Rand, n, dimensions int) [][]float32 {
	vectors := make([][]float32, n)
	for i := range vectors {
		vectors[i] = randomVector(rng, dimensions)
	}
	return vectors
}
