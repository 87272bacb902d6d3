// This file owns the form in which vectors arrive and are stored: float32,
// little-endian, without a header, as RediSearch takes them. It must not know
// what they are compared for.

package vector

import (
	"encoding/binary"
	"errors"
	"math"
)

var (
	// ErrLength is answered for a blob that is empty or no multiple of 4 bytes.
	ErrLength = errors.New("vector: not a sequence of 4-byte floats")
	// ErrDimensions is answered for a blob of more dimensions than allowed.
	ErrDimensions = errors.New("vector: too many dimensions")
	// ErrNotFinite is answered for a blob with a NaN or an infinity.
	ErrNotFinite = errors.New("vector: not a finite number")
)

const floatBytes = 4

// Parse reads a blob of at most limit dimensions (DimensionsMax, unless the
// configuration says less). Its errors are the three above.
func Parse(blob []byte, limit int) ([]float32, error) {
	if len(blob) == 0 || len(blob)%floatBytes != 0 {
		return nil, ErrLength
	}
	if len(blob)/floatBytes > limit {
		return nil, ErrDimensions
	}
	v := make([]float32, len(blob)/floatBytes)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(blob[i*floatBytes:]))
	}
	if !Finite(v) {
		return nil, ErrNotFinite
	}
	return v, nil
}

// Append appends v to dst in the form that Parse reads.
func Append(dst []byte, v []float32) []byte {
	for _, f := range v {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
	}
	return dst
}

// scaleBytes is the scale in front of codes.
const scaleBytes = 4

// AppendCoded appends v with a byte for each number, in steps of its largest/127: for
// vectors that could be made again.
func AppendCoded(dst []byte, v []float32) []byte {
	codes := make([]int8, len(v))
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(encode(codes, v)))
	for _, code := range codes {
		dst = append(dst, byte(code))
	}
	return dst
}

// ParseCoded reads what AppendCoded gave, nil when it cannot have given that.
func ParseCoded(blob []byte) []float32 {
	if len(blob) <= scaleBytes || len(blob) > scaleBytes+DimensionsMax {
		return nil
	}
	scale := math.Float32frombits(binary.LittleEndian.Uint32(blob))
	v := make([]float32, len(blob)-scaleBytes)
	for i, code := range blob[scaleBytes:] {
		v[i] = scale * float32(int8(code))
	}
	if !Finite(v) {
		return nil
	}
	return v
}

// Finite tells whether v has neither a NaN nor an infinity.
func Finite(v []float32) bool {
	for _, f := range v {
		if f-f != 0 {
			return false
		}
	}
	return true
}

// Cosine is that of a blob that Parse has read once and a vector of as many
// dimensions; 0 if either is zero.
func Cosine(blob []byte, v []float32) float64 {
	product, a, b := 0.0, 0.0, 0.0
	for i, f := range v {
		x, y := float64(math.Float32frombits(binary.LittleEndian.Uint32(blob[i*floatBytes:]))), float64(f)
		product += float64(x * y)
		a += float64(x * x)
		b += float64(y * y)
	}
	if a == 0 || b == 0 {
		return 0
	}
	return unit(product / (math.Sqrt(a) * math.Sqrt(b)))
}
