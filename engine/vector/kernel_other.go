//go:build !amd64

// This file stands in for the assembly where there is none.

package vector

func dotFloat32(a, b []float32) float32 { return dotFloat32Go(a, b) }

func dotInt8(a, b []int8) int32 { return dotInt8Go(a, b) }
