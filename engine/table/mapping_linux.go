//go:build linux && !portable

// This file owns the system calls behind a Pool on Linux: anonymous mappings
// that the collector neither scans nor counts. It must not know the pool's
// bookkeeping.

package table

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// regionSlabs is the number of slabs in a region: 64 MB. Reserving costs address
// space only, so regions are large.
const regionSlabs = 32

// hugeBytes is the size of a huge page; regions begin at a multiple of it.
const hugeBytes = 2 << 20

func mapAnonymous(sizeBytes int) unsafe.Pointer {
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(sizeBytes), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		panic(fmt.Sprintf("table: out of memory: mapping %d bytes: %v", sizeBytes, err))
	}
	return base
}

func mapRegion(huge bool) unsafe.Pointer {
	base := mapAnonymous(regionBytes + hugeBytes)
	before := int(-uintptr(base) & (hugeBytes - 1))
	if before > 0 {
		unmapOwn(base, before)
	}
	base = unsafe.Add(base, before)
	if after := hugeBytes - before; after > 0 {
		unmapOwn(unsafe.Add(base, regionBytes), after)
	}
	if huge {
		adviseHuge(base, regionBytes)
	}
	return base
}

// adviseHuge may fail where huge pages are compiled out or forbidden; memory
// then simply stays on small pages.
func adviseHuge(base unsafe.Pointer, sizeBytes int) {
	_ = unix.Madvise(unsafe.Slice((*byte)(base), sizeBytes), unix.MADV_HUGEPAGE)
}

// discard gives the pages back to the system and keeps the range readable.
// Where the system's pages are larger than the pool's, those that the range
// covers only in part stay.
func discard(base unsafe.Pointer, sizeBytes int) {
	system := os.Getpagesize()
	before := int(-uintptr(base) & uintptr(system-1))
	base = unsafe.Add(base, before)
	if sizeBytes = (sizeBytes - before) &^ (system - 1); sizeBytes <= 0 {
		return
	}
	if err := unix.Madvise(unsafe.Slice((*byte)(base), sizeBytes), unix.MADV_DONTNEED); err != nil {
		panic(fmt.Sprintf("table: giving back %d bytes: %v", sizeBytes, err))
	}
}

func mapOwn(sizeBytes int) unsafe.Pointer { return mapAnonymous(sizeBytes) }

func unmapOwn(base unsafe.Pointer, sizeBytes int) {
	if err := unix.MunmapPtr(base, uintptr(sizeBytes)); err != nil {
		panic(fmt.Sprintf("table: unmapping %d bytes: %v", sizeBytes, err))
	}
}

// remapOwn moves pages instead of copying them: growing a large value costs
// what is added to it.
func remapOwn(base unsafe.Pointer, sizeBytes, newSizeBytes int) unsafe.Pointer {
	moved, err := unix.MremapPtr(base, uintptr(sizeBytes), nil, uintptr(newSizeBytes), unix.MREMAP_MAYMOVE)
	if err != nil {
		panic(fmt.Sprintf("table: out of memory: growing a mapping to %d bytes: %v", newSizeBytes, err))
	}
	return moved
}
