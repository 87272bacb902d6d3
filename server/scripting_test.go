package server

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// This file shows scripts that run long over sockets: who waits, who is told BUSY, and
// that what is ended or left alone happens whole.

// TestBusyAndKilled: clients run scripts and transactions with scripts, which others
// kill, or leave in the middle. A transaction adds one to two keys, before and behind
// its script, so that they are alike in the end, whatever happened between.
func TestBusyAndKilled(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, threads := range []string{"2", "0"} {
		h := newHosted(t, "--busy-reply-threshold", "20", "--io-threads", threads)
		const clients, rounds = 4, 12
		killer := h.dial()
		var running, killing sync.WaitGroup
		over := make(chan struct{})
		killing.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					killer.ask("SCRIPT", "KILL")
				}
			}
		})
		for i := range clients {
			running.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				c := h.dial()
				for range rounds {
					c = h.busyRound(c, rng)
				}
			})
		}
		running.Wait()
		close(over)
		killing.Wait()
		for killer.ask("PING") != "+PONG" {
			killer.ask("SCRIPT", "KILL") // of a transaction whose client has gone
		}
		if before, behind := killer.ask("GET", "before"), killer.ask("GET", "behind"); before != behind {
			t.Errorf("%s threads: %s before, %s behind", threads, before, behind)
		}
	}
}

// busyRound does one of the things that clients do, and returns the client for the next.
func (h *hosted) busyRound(c *client, rng *rand.Rand) *client {
	const endless, long = "while true do redis.call('get', 'before') end", "for i = 1, 20000 do redis.call('get', 'before') end return 1"
	switch rng.IntN(4) {
	case 0:
		if got := c.ask("EVAL", endless, "0"); !strings.HasPrefix(got, "-BUSY") && !strings.HasPrefix(got, "-ERR Script killed") {
			h.Errorf("an endless script: %s", got)
		}
	case 1:
		for {
			if got := c.ask("SET", "other", "x"); got == "+OK" {
				break
			} else if !strings.HasPrefix(got, "-BUSY") {
				h.Errorf("SET: %s", got)
			}
		}
	default:
		leaves := rng.IntN(3) == 0
		text := request("MULTI") + request("INCR", "before") + request("EVAL", []string{endless, long}[rng.IntN(2)], "0") +
			request("INCR", "behind") + request("EXEC")
		c.send(text)
		if leaves {
			c.Close()
			return h.dial()
		}
		c.readTransaction()
	}
	return c
}

// readTransaction reads the replies to MULTI, three commands and EXEC.
func (c *client) readTransaction() {
	for range 4 {
		c.in.ReadString('\n')
	}
	if line, err := c.in.ReadString('\n'); err != nil || line != "*3\r\n" {
		if !strings.HasPrefix(line, "-EXECABORT") {
			c.Errorf("EXEC: %q, %v", line, err)
		}
		return
	}
	for range 3 {
		c.in.ReadString('\n')
	}
}
