package dump

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkAppendString writes texts of which half are worth compressing.
func BenchmarkAppendString(b *testing.B) {
	for _, size := range []int{32, 100, 1000, 100_000} {
		r := rand.New(rand.NewPCG(1, uint64(size)))
		texts := make([][]byte, 64)
		for i := range texts {
			texts[i] = make([]byte, size)
			for j := range texts[i] {
				texts[i][j] = byte(r.IntN(256 >> (4 * (i % 2))))
			}
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				dst = Form{}.AppendString(dst[:0], texts[i%len(texts)])
			}
		})
	}
}
