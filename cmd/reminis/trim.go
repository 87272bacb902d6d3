package main

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// This file owns when memory that a busy server needed goes back to the system. Go
// keeps what is free for as long as its heap may grow again, up to twice what is in
// use: right for a server that is busy, and a waste for one that is not.

// trimEvery is how often the trimmer looks.
const trimEvery = time.Second

const (
	// quietBytes is what may be allocated between two looks by a server that is
	// idle, and quietLooks how long it must be.
	quietBytes = 1 << 20
	quietLooks = 3
	// worthBytes, and that share of what was in use at the last collection, must
	// have been allocated since the heap was trimmed. So bursts make collections at
	// most four times as many as they are anyway.
	worthBytes = 8 << 20
	worthShare = 4
)

// heapReading is the heap at a moment.
type heapReading struct {
	allocated uint64 // since the start
	live      uint64 // at the last collection
}

func readHeap() heapReading {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return heapReading{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}

// trimmer decides when a collection that gives memory back is worth it. How much
// would come back nobody knows before it is made.
type trimmer struct {
	last    uint64 // allocated at the last look
	trimmed uint64 // and when the heap was trimmed
	quiet   int    // looks in a row
}

// due says whether the heap is to be trimmed now.
func (t *trimmer) due(h heapReading) bool {
	t.quiet++
	if h.allocated-t.last > quietBytes {
		t.quiet = 0
	}
	t.last = h.allocated
	if t.quiet < quietLooks || h.allocated-t.trimmed < worthBytes+h.live/worthShare {
		return false
	}
	t.trimmed = h.allocated
	return true
}

// worthCheckpointBytes is what must wait for a checkpoint.
const worthCheckpointBytes = 1 << 20

// runTrimmer runs trim until the function that it returns is called, which waits for
// its end: the store is closed after it.
func (p *process) runTrimmer() (end func()) {
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { p.trim(stop) })
	return func() {
		close(stop)
		done.Wait()
	}
}

// trim trims the heap of a server that is idle, until stop is closed.
func (p *process) trim(stop <-chan struct{}) {
	ticker := time.NewTicker(trimEvery)
	defer ticker.Stop()
	var t trimmer
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			if !t.due(readHeap()) {
				continue
			}
			if p.store != nil && p.engine.PendingBytes() > worthCheckpointBytes {
				_ = p.store.Checkpoint() // noted for Stats and the log, and tried again
			}
			p.engine.Tidy()
			debug.FreeOSMemory()
		}
	}
}
