// This file owns what every connection can rely on, whichever driver serves it.

package server

import (
	"strings"
	"testing"
)

func TestPipeline(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		c.send(strings.Repeat(request("PING"), 3) + request("ECHO", "x") + "PING\r\n\r\n*0\r\n*-1\r\nECHO \"a b\"\r\n")
		c.expect("+PONG\r\n+PONG\r\n+PONG\r\n$1\r\nx\r\n+PONG\r\n$3\r\na b\r\n")
		// A long pipeline, longer than one turn and one arena.
		const n = 20000
		c.sendAside(strings.Repeat(request("ECHO", "0123456789"), n))
		c.expect(strings.Repeat("$10\r\n0123456789\r\n", n))
		if r.toy.prefetched[0].Load() == 0 || r.toy.prefetched[0].Load() != r.toy.prefetched[1].Load() {
			t.Errorf("prefetched %d and %d commands", r.toy.prefetched[0].Load(), r.toy.prefetched[1].Load())
		}
	})
}
