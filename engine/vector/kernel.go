// This file owns the two inner products, portably. It must not know what is
// compared, nor which processor it runs on.

package vector

// dotFloat32Go is the inner product of a and b, which are of one length. Eight
// sums run beside each other, since one would wait for each addition.
func dotFloat32Go(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
		a, b = a[8:], b[8:]
	}
	sum := ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// dotInt8Go is the inner product of a and b, which are of one length, at most
// DimensionsMax: the sum stays below 2^27.
func dotInt8Go(a, b []int8) int32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 int32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += int32(a[0]) * int32(b[0])
		s1 += int32(a[1]) * int32(b[1])
		s2 += int32(a[2]) * int32(b[2])
		s3 += int32(a[3]) * int32(b[3])
		a, b = a[4:], b[4:]
	}
	sum := s0 + s1 + s2 + s3
	for i := range a {
		sum += int32(a[i]) * int32(b[i])
	}
	return sum
}

// dotExact is the inner product of a and b in their order, every product exact:
// the same on every machine, whether it fuses additions or not. For final
// scores; the fast ones only choose candidates.
func dotExact(a, b []float32) float64 {
	b = b[:len(a)]
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
