package main

// This file owns what a load is, whichever way it is driven.

import (
	"fmt"
	"time"
)

// replyLimit is how long a load waits for any reply before it gives up.
const replyLimit = 60 * time.Second

// load sends pipelines over connections, on each the next one when the previous
// one is answered.
type load interface {
	// run sends until the source ends or the time is over (0: never), and waits
	// for all replies. An error reply is an error.
	run(from source, limit time.Duration) (amount, error)
	close() error
}

// amount is what a run did.
type amount struct {
	commands int
	nils     int
	elapsed  time.Duration // to the last reply
}

func (a amount) perSecond() float64 { return float64(a.commands) / a.elapsed.Seconds() }

// checked returns what a connection's counter saw as an error.
func (c *counter) checked() error {
	if c.errors > 0 {
		return fmt.Errorf("%d error replies, the first: %s", c.errors, c.first)
	}
	return nil
}
