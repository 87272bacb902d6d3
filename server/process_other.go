//go:build !linux

// This file owns what is known of the process on other systems: what Go's
// runtime tells.

package server

import "runtime"

// processorMicroseconds is unknown here.
func processorMicroseconds() (user, system int64) { return 0, 0 }

// residentBytes is what the runtime has from the system.
func residentBytes() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys - stats.HeapReleased)
}

// systemBytes is unknown here.
func systemBytes() int64 { return 0 }

// systemName is the system and the machine, without a release.
func systemName() string { return runtime.GOOS + " " + runtime.GOARCH }
