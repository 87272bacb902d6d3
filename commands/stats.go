package commands

import (
	"sync/atomic"
	"time"
)

// This file owns the counters of one command, as INFO commandstats shows them.

// commandStats counts the calls of a command.
type commandStats struct {
	calls  atomic.Int64
	failed atomic.Int64
	ns     atomic.Int64
}

func (c *commandStats) add(took time.Duration, failed bool) {
	c.calls.Add(1)
	c.ns.Add(int64(took))
	if failed {
		c.failed.Add(1)
	}
}
