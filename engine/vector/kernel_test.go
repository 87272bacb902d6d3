package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestInnerProducts compares what searches use with the portable form, and that
// with a sum in float64, at all lengths around those of the assembly's rounds.
func TestInnerProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 301 {
		// One more in front and behind, so that rows lie at odd addresses and
		// reading too far is noticed.
		a, b := make([]float32, n+2), make([]float32, n+2)
		c, d := make([]int8, n+2), make([]int8, n+2)
		for i := range a {
			a[i], b[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
			c[i], d[i] = int8(rng.IntN(255)-127), int8(rng.IntN(255)-127)
		}
		a[0], a[n+1], c[0], c[n+1] = float32(math.NaN()), float32(math.NaN()), 127, 127
		x, y := a[1:n+1], b[1:n+1]

		var want, sum float64
		for i := range x {
			want += float64(x[i]) * float64(y[i])
			sum += math.Abs(float64(x[i]) * float64(y[i]))
		}
		if got := dotExact(x, y); got != want {
			t.Errorf("dotExact of %d: %g, want %g", n, got, want)
		}
		// Each sum of n/8 terms rounds n/8 times, by 2^-24 of what it has.
		within := sum * float64(n/8+8) * 0x1p-24
		for name, got := range map[string]float32{"dotFloat32Go": dotFloat32Go(x, y), "dotFloat32": dotFloat32(x, y)} {
			if !(math.Abs(float64(got)-want) <= within) {
				t.Errorf("%s of %d: %g, want %g within %g", name, n, got, want, within)
			}
		}

		var whole int32
		for i := range n {
			whole += int32(c[i+1]) * int32(d[i+1])
		}
		if got := dotInt8Go(c[1:n+1], d[1:n+1]); got != whole {
			t.Errorf("dotInt8Go of %d: %d, want %d", n, got, whole)
		}
		if got := dotInt8(c[1:n+1], d[1:n+1]); got != whole {
			t.Errorf("dotInt8 of %d: %d, want %d", n, got, whole)
		}
	}
}

// TestInt8Extremes holds the sum of the longest vectors below 32 bits.
func TestInt8Extremes(t *testing.T) {
	a := make([]int8, DimensionsMax)
	for i := range a {
		a[i] = -127
	}
	const want = 127 * 127 * DimensionsMax
	if got := dotInt8(a, a); got != want {
		t.Errorf("dotInt8: %d, want %d", got, want)
	}
	if got := dotInt8Go(a, a); got != want {
		t.Errorf("dotInt8Go: %d, want %d", got, want)
	}
}

func BenchmarkInnerProduct(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := randomVector(rng, 384), randomVector(rng, 384)
	c, d := make([]int8, 384), make([]int8, 384)
	encode(c, x)
	encode(d, y)
	var sink float32
	b.Run("float32", func(b *testing.B) {
		for b.Loop() {
			sink += dotFloat32(x, y)
		}
	})
	b.Run("float32/portable", func(b *testing.B) {
		for b.Loop() {
			sink += dotFloat32Go(x, y)
		}
	})
	b.Run("int8", func(b *testing.B) {
		for b.Loop() {
			sink += float32(dotInt8(c, d))
		}
	})
	b.Run("int8/portable", func(b *testing.B) {
		for b.Loop() {
			sink += float32(dotInt8Go(c, d))
		}
	})
	_ = sink
}
