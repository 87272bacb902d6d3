package server

import (
	"strings"
	"testing"
)

// This file shows paused and blocked commands over sockets: they hold back what
// follows them in the pipeline, count as blocked clients, and end with their peer.

// awaitBlocked returns once count clients are blocked.
func (c *client) awaitBlocked(count string) {
	c.Helper()
	for !strings.Contains(c.ask("INFO", "clients"), "\r\nblocked_clients:"+count+"\r\n") {
	}
}

func TestPause(t *testing.T) {
	h := newHosted(t)
	a, b, gone := h.dial(), h.dial(), h.dial()
	a.asks("+OK", "CLIENT", "PAUSE", "100000", "WRITE")
	b.send(request("GET", "k") + request("SET", "k", "1") + request("GET", "k") + request("PUBLISH", "c", "m"))
	gone.send(request("DEL", "k"))
	a.awaitBlocked("2")
	b.expect("$-1\r\n")
	a.asks("$-1", "GET", "k")
	gone.Close()
	a.awaitBlocked("1")
	a.asks("+OK", "CLIENT", "UNPAUSE")
	b.expect("+OK\r\n$1\r\n1\r\n:0\r\n")
	a.awaitBlocked("0")
}

func TestPauseOfAll(t *testing.T) {
	h := newHosted(t)
	a, b := h.dial(), h.dial()
	a.asks("+OK", "CLIENT", "PAUSE", "300")
	a.asks("+OK", "CLIENT", "PAUSE", "1", "WRITE") // the longer and the stricter stand
	b.send(request("MULTI") + request("SET", "k", "1") + request("EXEC"))
	b.expect("+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n")
	a.asks("1", "GET", "k")
}
