package vector

import (
	"errors"
	"math"
	"slices"
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
