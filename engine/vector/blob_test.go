package vector

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	nan, infinity := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		name string
		blob []byte
		want []float32
		err  error
	}{
		{"one", []byte{0, 0, 0x80, 0x3f}, []float32{1}, nil},
		{"three", []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0}, []float32{1, -2, 0}, nil},
		{"the smallest and the largest", Append(nil, []float32{1e-45, math.MaxFloat32}), []float32{1e-45, math.MaxFloat32}, nil},
		{"empty", nil, nil, ErrLength},
		{"a byte", []byte{1}, nil, ErrLength},
		{"a byte too many", make([]byte, 5), nil, ErrLength},
		{"as many as may be", make([]byte, 16), []float32{0, 0, 0, 0}, nil},
		{"one more", make([]byte, 20), nil, ErrDimensions},
		{"no number", Append(nil, []float32{1, nan}), nil, ErrNotFinite},
		{"infinite", Append(nil, []float32{infinity, 1}), nil, ErrNotFinite},
	} {
		got, err := Parse(c.blob, 4)
		if !errors.Is(err, c.err) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got, err, c.want, c.err)
		}
		if err == nil && !slices.Equal(Append(nil, got), c.blob) {
			t.Errorf("%s: written as % x, want % x", c.name, Append(nil, got), c.blob)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{0, 0, 0x80, 0x3f})
	f.Add([]byte{0, 0, 0xc0, 0x7f})
	f.Fuzz(func(t *testing.T, blob []byte) {
		v, err := Parse(blob, DimensionsMax)
		if err == nil && !slices.Equal(Append(nil, v), blob) {
			t.Errorf("% x is written as % x", blob, Append(nil, v))
		}
	})
}

func TestCodedVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, dimensions := range []int{1, 3, 384, DimensionsMax} {
		v := make([]float32, dimensions)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		coded := AppendCoded([]byte("x"), v)[1:]
		got := ParseCoded(coded)
		if len(coded) != dimensions+4 || len(got) != dimensions {
			t.Fatalf("%d dimensions: %d bytes, %d again", dimensions, len(coded), len(got))
		}
		if similar := Cosine(Append(nil, got), v); similar < 0.999 {
			t.Errorf("%d dimensions: cosine %v", dimensions, similar)
		}
		if again := AppendCoded(nil, got); string(again) != string(coded) {
			t.Errorf("%d dimensions: another form after a restart", dimensions)
		}
	}
	if got := ParseCoded(AppendCoded(nil, []float32{0, 0})); len(got) != 2 || got[0] != 0 || got[1] != 0 {
		t.Errorf("zero: %v", got)
	}
	for _, blob := range []string{"", "abcd", "\x00\x00\xc0\x7fa", strings.Repeat("x", DimensionsMax+5)} {
		if got := ParseCoded([]byte(blob)); got != nil {
			t.Errorf("%.10q: %v", blob, got)
		}
	}
}
