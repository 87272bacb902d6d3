// This file owns when replies may leave: never before the journal is durable up
// to the session's gate, never later than necessary for the others.

package server

import (
	"errors"
	"strings"
	"testing"
)

func TestGateHoldsReplies(t *testing.T) {
	withDrivers(t, func(r *rig) {
		writer, reader := r.dial(), r.dial()
		writer.serverConn()
		reader.serverConn()
		writer.send("PING\r\nGATE 3\r\nPING\r\n")
		<-r.gate.asked
		// Others are served meanwhile.
		for range 20 {
			reader.send("PING\r\n")
			reader.expect("+PONG\r\n")
		}
		if n := writer.serverSide().Info().outputBytes.Load(); n == 0 {
			r.Error("a reply has left before its change was durable")
		}
		r.gate.advance(3)
		writer.expect("+PONG\r\n+GATED\r\n+PONG\r\n")
		if r.gate.writes.Load() == 0 {
			r.Error("the journal was never written")
		}
	})
}

// One sync covers everybody who waits, and each is released by what it needs.
func TestGateReleasesInTurn(t *testing.T) {
	withDrivers(t, func(r *rig) {
		first, second := r.dial(), r.dial()
		first.send("GATE 1\r\n")
		<-r.gate.asked
		second.send("GATE 2\r\n")
		<-r.gate.asked
		r.gate.advance(1)
		first.expect("+GATED\r\n")
		r.gate.advance(2)
		second.expect("+GATED\r\n")
		first.send("GATE 2\r\nPING\r\n")
		first.expect("+GATED\r\n+PONG\r\n")
	})
}

// When every client waits, the sync makes all of them go on.
func TestGateSyncs(t *testing.T) {
	withDrivers(t, func(r *rig) {
		r.gate.mu.Lock()
		r.gate.onSync = func() error { r.gate.advance(1000); return nil }
		r.gate.mu.Unlock()
		clients := make([]*client, 50)
		for i := range clients {
			clients[i] = r.dial()
			clients[i].send(strings.Repeat("GATE 900\r\n", 10))
		}
		for _, c := range clients {
			c.expect(strings.Repeat("+GATED\r\n", 10))
		}
	})
}

// A failed sync releases nobody; what makes the journal durable later does.
func TestGateFails(t *testing.T) {
	withDrivers(t, func(r *rig) {
		r.gate.mu.Lock()
		r.gate.onSync = func() error { return errors.New("the disk is gone") }
		r.gate.mu.Unlock()
		c := r.dial()
		c.send("GATE 4\r\n")
		<-r.gate.asked
		other := r.dial()
		other.send("PING\r\n")
		other.expect("+PONG\r\n")
		r.gate.advance(4)
		c.expect("+GATED\r\n")
	})
}
