//go:build !amd64 && !arm64

// This file stands in for the assembly where there is none: prefetching is a
// matter of speed only.

package table

import "unsafe"

func prefetchLine(unsafe.Pointer) {}

func prefetchBucket(*view, uint32) {}

func prefetchRecord(*view, uint32, uint64) {}
