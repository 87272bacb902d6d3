package main

// This file owns the proof that the comparison can fail: a proxy in front of a
// real server answers one command with a wrong nil.

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"

	"reminis/bench/resp"
)

// plantingProxy forwards every connection to a server and lets plant change the
// bytes of each reply; it is told the name of the command that is answered.
func plantingProxy(t *testing.T, server string, plant func(name string, raw []byte) []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close() // ends the loop below
		running.Wait()
	})
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				return
			}
			names := make(chan string, 10_000)
			running.Go(func() {
				forward(near, far, func(request resp.Reply) []byte {
					names <- strings.ToUpper(request.Items[0].Text())
					return request.Raw
				})
			})
			running.Go(func() {
				forward(far, near, func(reply resp.Reply) []byte { return plant(<-names, reply.Raw) })
			})
		}
	})
	return listener.Addr().String()
}

// forward copies frame by frame until either side ends.
func forward(from, to net.Conn, change func(resp.Reply) []byte) {
	defer to.Close()
	defer from.Close()
	var in []byte
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		if err != nil {
			return
		}
		in = append(in, chunk[:n]...)
		for {
			frame, size, err := resp.Next(in)
			if err != nil {
				return
			}
			if size == 0 {
				break
			}
			if _, err := to.Write(change(frame)); err != nil {
				return
			}
			in = in[size:]
		}
	}
}

func TestPlantedNilIsFound(t *testing.T) {
	server, peer := startRedis(t), startRedis(t)
	tests := []struct {
		name           string
		protocol       int
		command        string
		correct, wrong string
	}{
		{"the other nil of RESP2", 2, "GETDEL", "$-1\r\n", "*-1\r\n"},
		{"a nil of RESP2 in RESP3", 3, "HGET", "_\r\n", "$-1\r\n"},
		{"an empty string in place of a nil", 2, "GET", "$-1\r\n", "$0\r\n\r\n"},
		{"a nil of an array within a reply", 2, "HMGET", "$-1\r\n", "*-1\r\n"},
		{"a nil under a relaxation", 3, "RANDOMKEY", "_\r\n", "*-1\r\n"},
		{"a number where it must be exact", 2, "TTL", ":-2\r\n", ":-1\r\n"},
		{"another error text", 2, "INCR", "-ERR value is not an integer or out of range\r\n", "-ERR value is no integer\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			faulty := plantingProxy(t, server, func(name string, raw []byte) []byte {
				if name == tt.command {
					return bytes.Replace(raw, []byte(tt.correct), []byte(tt.wrong), 1)
				}
				return raw
			})
			lines, err := chosen("strings,hashes,keys,expire,rare", peer)
			if err != nil {
				t.Fatal(err)
			}
			var report strings.Builder
			r := runner{out: &report, ours: faulty, peer: peer, protocol: tt.protocol, lines: lines, tallies: map[string]*tally{}}
			if err := r.run(1, 5000); err != nil {
				t.Fatal(err)
			}
			if r.reported == 0 {
				t.Fatalf("%s answers %q for %q, and nothing was found", tt.command, tt.wrong, tt.correct)
			}
			// The lines of the first report, and what was received.
			shown := strings.Split(report.String(), "--- ")[1]
			if got := strings.Count(shown, "\n0> ") + strings.Count(shown, "\n1> "); got > 3 {
				t.Errorf("not shortened to three lines, which is enough for each of these:\n%s", shown)
			}
			if !strings.Contains(strings.ToUpper(shown), "> "+tt.command) {
				t.Errorf("%s is not in the report:\n%s", tt.command, shown)
			}
		})
	}
}
