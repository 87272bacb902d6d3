package commands

import (
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// This file owns maxmemory as far as it refuses: commands that add data are an
// error while memory is over the limit. Nothing is evicted yet.

// heapGauge is the use of Go's heap, read at most ten times a second: reading
// it costs microseconds, and tables, which hold the data, count exactly.
type heapGauge struct {
	bytes  atomic.Int64
	readAt atomic.Int64 // Unix nanoseconds
}

const heapGaugeAge = 100 * time.Millisecond

func (g *heapGauge) read() int64 {
	now := time.Now().UnixNano()
	if last := g.readAt.Load(); now-last > int64(heapGaugeAge) && g.readAt.CompareAndSwap(last, now) {
		sample := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample[:])
		g.bytes.Store(int64(sample[0].Value.Uint64()))
	}
	return g.bytes.Load()
}

// overMemory says whether the data is over maxmemory.
func (k *Core) overMemory() bool {
	limit := k.Engine.Limits.MaxMemory.Load()
	return limit > 0 && k.Engine.Pool().Stats().UsedBytes+k.heap.read() > limit
}

// admitMemory refuses what would add data over maxmemory; for EXEC, a queue
// that would (server.c processCommand).
func (s *Session) admitMemory(c *Command) error {
	if !s.Core.overMemory() {
		return nil
	}
	if c.is(DenyOOM) {
		return ErrOOM
	}
	if c.is(Executes) {
		for i := range s.multi.queue {
			if s.multi.queue[i].command.is(DenyOOM) {
				return ErrOOM
			}
		}
	}
	return nil
}
