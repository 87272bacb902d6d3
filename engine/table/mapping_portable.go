//go:build !linux || portable

// This file owns the memory behind a Pool where there is no better way: byte
// slices of the Go heap, which the collector does not scan but counts. Regions
// are never given back to the system, larger mappings are. It must not know
// the pool's bookkeeping.

package table

import "unsafe"

// regionSlabs is the number of slabs in a region: 4 MB, because the collector
// counts the whole region as live.
const regionSlabs = 2

func mapRegion(bool) unsafe.Pointer { return mapOwn(regionBytes) }

func adviseHuge(unsafe.Pointer, int) {}

func discard(unsafe.Pointer, int) {}

// mapOwn returns memory that is aligned for a record's header: Go aligns large
// byte slices to pages.
func mapOwn(sizeBytes int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]byte, sizeBytes)))
}

func unmapOwn(unsafe.Pointer, int) {}

func remapOwn(base unsafe.Pointer, sizeBytes, newSizeBytes int) unsafe.Pointer {
	to := mapOwn(newSizeBytes)
	copy(unsafe.Slice((*byte)(to), newSizeBytes), unsafe.Slice((*byte)(base), sizeBytes))
	return to
}
