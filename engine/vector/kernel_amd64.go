// This file chooses between the assembly and the portable inner products. It
// must hold no other logic.

package vector

import "golang.org/x/sys/cpu"

// hasVectors says whether the processor and the system know AVX2 and FMA, as all
// from Haswell (2013) and Excavator (2015) on do.
var hasVectors = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// dotFloat32AVX2 is the inner product of the n numbers at a and at b.
//
//go:noescape
func dotFloat32AVX2(a, b *float32, n int) float32

// dotInt8AVX2 is the inner product of the n numbers at a and at b.
//
//go:noescape
func dotInt8AVX2(a, b *int8, n int) int32

func dotFloat32(a, b []float32) float32 {
	if !hasVectors || len(a) == 0 {
		return dotFloat32Go(a, b)
	}
	b = b[:len(a)]
	return dotFloat32AVX2(&a[0], &b[0], len(a))
}

func dotInt8(a, b []int8) int32 {
	if !hasVectors || len(a) == 0 {
		return dotInt8Go(a, b)
	}
	b = b[:len(a)]
	return dotInt8AVX2(&a[0], &b[0], len(a))
}
