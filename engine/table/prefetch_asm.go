//go:build amd64 || arm64

// This file declares the assembly stubs. It must hold no logic.

package table

import "unsafe"

// prefetchLine asks for the cache line at p, which need not be readable.
//
//go:noescape
func prefetchLine(p unsafe.Pointer)

// prefetchBucket asks for the line of bucket number index.
//
//go:noescape
func prefetchBucket(v *view, index uint32)

// prefetchRecord reads bucket number index and asks for two lines of the first
// record whose tag is the one that pattern repeats eight times; for the
// overflow bucket when there is no such tag.
//
//go:noescape
func prefetchRecord(v *view, index uint32, pattern uint64)
