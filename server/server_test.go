// This file owns what every connection can rely on, whichever driver serves it.

package server

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
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
		first, second, third := r.toy.prefetched[0].Load(), r.toy.prefetched[1].Load(), r.toy.prefetched[2].Load()
		if first == 0 || first != second || second != third {
			r.Errorf("prefetched %d, %d and %d commands", first, second, third)
		}
	})
}

// Requests come in any pieces; several clients at once get their own replies.
func TestSplits(t *testing.T) {
	withDrivers(t, func(r *rig) {
		const seed = 7
		random := rand.New(rand.NewPCG(seed, 0))
		clients := make([]*client, 8)
		for i := range clients {
			clients[i] = r.dial()
		}
		for round := range 30 {
			var sends [8]string
			for i := range clients {
				var text strings.Builder
				for range 1 + random.IntN(20) {
					word := strings.Repeat(string(rune('a'+i)), random.IntN(1000))
					text.WriteString(request("ECHO", word))
				}
				sends[i] = text.String()
			}
			lefts := sends
			for left := len(clients); left > 0; {
				left = 0
				for i, c := range clients {
					n := min(len(lefts[i]), 1+random.IntN(3000))
					c.send(lefts[i][:n])
					lefts[i] = lefts[i][n:]
					left += len(lefts[i])
				}
			}
			for i, c := range clients {
				want := strings.ReplaceAll(sends[i], "*2\r\n$4\r\nECHO\r\n", "")
				c.expect(want)
			}
			if t.Failed() {
				r.Fatalf("seed %d, round %d", seed, round)
			}
		}
	})
}

func TestLargeRequests(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		for _, size := range []int{16 << 10, 32<<10 - 1, 32 << 10, 64 << 10, 100_000, 1 << 20, 9 << 20} {
			value := strings.Repeat("v", size)
			c.sendAside("PING\r\n" + request("ECHO", value) + "PING\r\n")
			c.expect(fmt.Sprintf("+PONG\r\n$%d\r\n%s\r\n+PONG\r\n", size, value))
		}
		// Several large arguments, and many small ones.
		value := strings.Repeat("v", 500_000)
		c.sendAside(request("ECHO", value, value, value, value) + request(append([]string{"ECHO", "x"}, strings.Split(strings.Repeat("y,", 200_000), ",")...)...))
		c.expect(fmt.Sprintf("$%d\r\n%s\r\n$1\r\nx\r\n", len(value), value))
		// Nothing of it is kept.
		info := c.serverConn().Info()
		r.server.sweep(info.activeMs.Load() + idleShrinkMs + 1)
		r.eventually("the buffers are given back", func() bool {
			return info.queryFreeBytes.Load() == 0 && info.outputBytes.Load() == 0
		})
	})
}

func TestProtocolErrors(t *testing.T) {
	for _, test := range []struct{ sent, answer string }{
		{"*1\r\n$-100\r\nPING\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"*1\r\n$9223372036854775807\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"*1000000000000000000\r\n$3\r\nSET\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
		{"*1\r\nPING\r\n", "-ERR Protocol error: expected '$', got 'P'\r\n"},
		{"ECHO \"\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
		{strings.Repeat("x", 70000), "-ERR Protocol error: too big inline request\r\n"},
	} {
		t.Run(test.answer[21:len(test.answer)-2], func(t *testing.T) {
			withDrivers(t, func(r *rig) {
				// What is valid before it is executed and answered first; what
				// follows is read and thrown away, so that the answer arrives.
				c := r.dial()
				c.sendAside(request("ECHO", "a") + "PING\r\n" + test.sent + strings.Repeat("PING\r\n", 10000))
				c.expect("$1\r\na\r\n+PONG\r\n" + test.answer)
				c.expectEnd()
				if n := r.server.Stats().ProtocolErrors; n != 1 {
					r.Errorf("%d protocol errors counted", n)
				}
			})
		})
	}
}

func TestQuit(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		c.send("PING\r\nQUIT\r\nPING\r\nPING\r\n")
		c.expect("+PONG\r\n+OK\r\n")
		c.expectEnd()
		c = r.dial()
		c.send("PING\r\nVANISH\r\nPING\r\n")
		c.expectGone()
		r.eventually("both are forgotten", func() bool { return r.server.Clients().Count() == 0 })
	})
}

// A peer that stops sending still gets its replies.
func TestHalfClose(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		c.send(strings.Repeat(request("BIG", "100000"), 50))
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			r.Fatal(err)
		}
		got, err := io.ReadAll(c.in)
		if want := 50 * len("$100000\r\n\r\n"+strings.Repeat("x", 100000)); len(got) != want || err != nil {
			r.Fatalf("%d bytes (%v), want %d", len(got), err, want)
		}
		// So does one whose command is being worked on.
		c = r.dial()
		c.send("PING\r\nPARK\r\n")
		parked := <-r.toy.parked
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			r.Fatal(err)
		}
		c.expect("+PONG\r\n")
		parked.Resume(func(out []byte) []byte { return append(out, "+LATE\r\n"...) })
		c.expect("+LATE\r\n")
		c.expectEnd()
	})
}

// A command that waits for others ends when its peer goes away.
func TestBlockedDisconnect(t *testing.T) {
	withDrivers(t, func(r *rig) {
		for _, leave := range []func(c *client) error{
			func(c *client) error { return c.Close() },
			func(c *client) error { return c.Conn.(*net.TCPConn).CloseWrite() },
			func(c *client) error {
				if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil {
					return err
				}
				return c.Close()
			},
		} {
			c := r.dial()
			c.send("BLOCK\r\nPING\r\n")
			blocked := <-r.toy.parked
			if err := leave(c); err != nil {
				r.Fatal(err)
			}
			r.eventually("the blocked client is forgotten", func() bool { return r.server.Clients().Count() == 0 })
			blocked.Resume(func(out []byte) []byte { panic("resumed after its end") })
			blocked.Push([]byte("+NOBODY\r\n"), 0)
		}
		// Also when it went away before the command blocked.
		for range 50 {
			c := r.dial()
			c.send("PING\r\nBLOCK\r\n")
			if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				r.Fatal(err)
			}
			c.expect("+PONG\r\n")
			c.expectGone()
		}
		// And when more is behind the command than both sockets hold, so that the
		// end is only found by whoever reads all of it.
		for _, leave := range []func(c *client) error{
			func(c *client) error { return c.Close() },
			func(c *client) error { return c.Conn.(*net.TCPConn).CloseWrite() },
		} {
			c := r.dial()
			c.send("BLOCK\r\n" + strings.Repeat("PING\r\n", 4<<20))
			<-r.toy.parked
			if err := leave(c); err != nil {
				r.Fatal(err)
			}
			r.eventually("the blocked client is forgotten", func() bool { return r.server.Clients().Count() == 0 })
		}
	})
}

// What came while a command waited is executed behind it, in order, and counts
// against the query buffer's limit.
func TestBlockedReadsAhead(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		large := strings.Repeat("x", 3<<20)
		c.send("BLOCK\r\n" + request("ECHO", large) + "PING\r\n" + request("ECHO", "last"))
		blocked := <-r.toy.parked
		blocked.Resume(func(out []byte) []byte { return append(out, "+FIRST\r\n"...) })
		c.expect("+FIRST\r\n" + string(appendBulk(nil, []byte(large))) + "+PONG\r\n$4\r\nlast\r\n")
	})
	withDrivers(t, func(r *rig) {
		c := r.dial()
		c.send("BLOCK\r\n")
		<-r.toy.parked
		c.sendAway(strings.Repeat("PING\r\n", 1<<20))
		r.eventually("the blocked client is over its limit", func() bool { return r.server.Clients().Count() == 0 })
		if got := r.server.Stats().QueryLimit; got != 1 {
			r.Errorf("%d clients over the limit, want 1", got)
		}
	}, func(r *rig) {
		changed := *r.settings()
		changed.QueryBufferMaxBytes = 1 << 20
		r.change(&changed)
	})
}

func TestPark(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c, other := r.dial(), r.dial()
		// What precedes a parked command is answered, what follows waits.
		c.send("PING\r\nPARK\r\nECHO after\r\nPARK\r\nPING\r\n" + request("ECHO", strings.Repeat("z", 50000))[:100])
		parked := <-r.toy.parked
		c.expect("+PONG\r\n")
		other.send("PING\r\n")
		other.expect("+PONG\r\n")
		executed := r.toy.executed.Load()
		c.send(request("ECHO", strings.Repeat("z", 50000))[100:])
		other.send("PING\r\n")
		other.expect("+PONG\r\n")
		if n := r.toy.executed.Load(); n != executed+1 {
			r.Errorf("%d commands executed beside a parked one, want 1", n-executed)
		}
		parked.Resume(func(out []byte) []byte { return append(out, "+FIRST\r\n"...) })
		c.expect("+FIRST\r\n$5\r\nafter\r\n")
		(<-r.toy.parked).Resume(func(out []byte) []byte { return append(out, "+SECOND\r\n"...) })
		c.expect("+SECOND\r\n+PONG\r\n$50000\r\n" + strings.Repeat("z", 50000) + "\r\n")
		// The worker may be faster than the command that started it.
		c.send(strings.Repeat("NOW\r\n", 100))
		c.expect(strings.Repeat("+NOW\r\n", 100))
	})
}

func TestParkThenProtocolError(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		c.send("PARK\r\nPING\r\n*x\r\n")
		(<-r.toy.parked).Resume(nil)
		c.expect("+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n")
		c.expectEnd()
	})
}

func TestRetry(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		r.toy.busy.Store(true)
		c.send("PING\r\nRETRY\r\nPING\r\n")
		c.expect("+PONG\r\n")
		(<-r.toy.parked).Resume(nil)
		again := <-r.toy.parked
		r.toy.busy.Store(false)
		again.Resume(nil)
		c.expect("+RETRIED\r\n+PONG\r\n")
	})
}

// A peer that never reads stalls nobody, and is not worked for without end.
func TestSlowReader(t *testing.T) {
	withDrivers(t, func(r *rig) {
		slow, other := r.dial(), r.dial()
		info := slow.serverConn().Info()
		const n = 400
		slow.sendAside(strings.Repeat(request("BIG", "1000000"), n))
		r.eventually("the slow reader's output is full", func() bool { return info.outputBytes.Load() >= outputHighBytes })
		for range 100 {
			other.send("PING\r\n")
			other.expect("+PONG\r\n")
		}
		if bytes := info.outputBytes.Load(); bytes > outputStopBytes+1_100_000 {
			r.Errorf("%d bytes of output wait for a peer that does not read", bytes)
		}
		if done := r.toy.executed.Load(); done > 150 {
			r.Errorf("%d commands executed for it", done)
		}
		// It gets everything once it reads.
		got, err := io.CopyN(io.Discard, slow.in, n*(1_000_000+int64(len("$1000000\r\n\r\n"))))
		if err != nil {
			r.Errorf("after %d bytes: %v", got, err)
		}
	})
}

func TestPush(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		conn := c.serverConn()
		var want strings.Builder
		for i := range 100 {
			message := fmt.Sprintf(">%d\r\n", i)
			want.WriteString(message)
			conn.Push([]byte(message), 0)
		}
		c.expect(want.String())
		// To a parked client too, and behind its earlier replies.
		c.send("PING\r\nPARK\r\n")
		parked := <-r.toy.parked
		conn.Push([]byte("+PUSHED\r\n"), 0)
		c.expect("+PONG\r\n+PUSHED\r\n")
		parked.Resume(func(out []byte) []byte { return append(out, "+LAST\r\n"...) })
		c.expect("+LAST\r\n")
		// A push that shows a change waits until the change is durable.
		conn.Push([]byte("+INVALID\r\n"), 5)
		<-r.gate.asked
		r.gate.advance(5)
		c.expect("+INVALID\r\n")
	})
}

// A subscriber that does not read is closed at its limit.
func TestOutputLimit(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		conn := c.serverConn()
		c.send("SUBSCRIBE\r\n")
		c.expect("+SUBSCRIBED\r\n")
		message := make([]byte, 1<<20)
		pushed := 0
		for r.server.Clients().Count() > 0 && pushed < 200 {
			conn.Push(message, 0)
			pushed++
		}
		r.eventually("the subscriber is closed", func() bool { return r.server.Clients().Count() == 0 })
		if pushed < 32 {
			r.Errorf("closed after %d MB, the limit is 32", pushed)
		}
	})
}

// Who has not said who they are, and does not read, is closed at once by a loop. A
// goroutine waits in its write, with no more than that to hold.
func TestOutputBeforeAuthentication(t *testing.T) {
	withDrivers(t, func(r *rig) {
		if r.settings().IOThreads == 0 {
			return
		}
		c := r.dial()
		c.serverConn()
		line := strings.Repeat("PING\r\n", 20000)
		sent := 0
		for ; r.server.Clients().Count() > 0 && sent < 1<<30; sent += len(line) {
			if _, err := c.Write([]byte(line)); err != nil {
				break
			}
		}
		r.eventually("the client is closed", func() bool { return r.server.Clients().Count() == 0 })
		if got := r.server.Stats().OutputLimit; got != 1 {
			r.Errorf("%d were closed for their output", got)
		}
	}, func(r *rig) { r.toy.password = "secret" })
}

func TestSoftOutputLimitAndIdle(t *testing.T) {
	withDrivers(t, func(r *rig) {
		idle, busy, slow, subscriber := r.dial(), r.dial(), r.dial(), r.dial()
		for _, c := range []*client{idle, busy, slow, subscriber} {
			c.serverConn()
		}
		for _, c := range []*client{slow, subscriber} {
			c.send("SUBSCRIBE\r\n")
			c.expect("+SUBSCRIBED\r\n")
		}
		info := slow.serverSide().Info()
		slow.serverSide().Push(make([]byte, 20<<20), 0)
		r.eventually("its output waits", func() bool { return info.outputMemory() > 8<<20 })
		now := r.server.now()
		if !r.server.sweep(now) || !r.server.sweep(now+58_000) {
			r.Error("nobody is over the soft limit")
		}
		if n := r.server.Clients().Count(); n != 4 {
			r.Fatalf("%d clients after 58 s over the soft limit, want 4", n)
		}
		// The server's own sweep may have begun to count a little after now.
		r.server.sweep(now + 62_000)
		r.eventually("the slow subscriber is closed", func() bool { return r.server.Clients().Count() == 3 })
		if r.server.sweep(now + 62_000) {
			r.Error("somebody is over the soft limit")
		}
		// Idle normal clients are closed, subscribers are not.
		changed := *r.settings()
		changed.IdleTimeoutSeconds = 10
		r.change(&changed)
		busy.serverSide().Info().activeMs.Store(now + 100_000)
		r.server.sweep(now + 100_000)
		idle.expectEnd()
		r.eventually("one is closed", func() bool { return r.server.Clients().Count() == 2 })
		busy.send("PING\r\n")
		busy.expect("+PONG\r\n")
	})
}

func TestKill(t *testing.T) {
	withDrivers(t, func(r *rig) {
		idle, parked, slow, survivor := r.dial(), r.dial(), r.dial(), r.dial()
		for _, c := range []*client{idle, parked, slow, survivor} {
			c.serverConn()
		}
		parked.send("PARK\r\n")
		<-r.toy.parked
		info := slow.serverSide().Info()
		slow.sendAside(request("BIG", "90000000"))
		r.eventually("the slow client's output waits", func() bool { return info.outputBytes.Load() > 1<<20 })
		spared := survivor.serverSide().ID()
		if n := r.server.Clients().Kill(func(c Client) bool { return c.ID() != spared }); n != 3 {
			r.Errorf("%d killed, want 3", n)
		}
		idle.expectGone()
		parked.expectGone()
		r.eventually("three are gone", func() bool { return r.server.Clients().Count() == 1 })
		survivor.send("PING\r\n")
		survivor.expect("+PONG\r\n")
	})
}

func TestMaxClients(t *testing.T) {
	withDrivers(t, func(r *rig) {
		first, second := r.dial(), r.dial()
		first.serverConn()
		second.serverConn()
		third := r.dial()
		third.expect("-ERR max number of clients reached\r\n")
		third.expectGone()
		first.send("QUIT\r\n")
		first.expect("+OK\r\n")
		first.expectEnd()
		fourth := r.dial()
		fourth.send("PING\r\n")
		fourth.expect("+PONG\r\n")
		if stats := r.server.Stats(); stats.Connected != 2 || stats.Accepted != 3 || stats.Rejected != 1 {
			r.Errorf("the counters say %+v", stats)
		}
	}, func(r *rig) {
		changed := *r.settings()
		changed.MaxClients = 2
		r.change(&changed)
	})
}

func TestQueryBufferLimit(t *testing.T) {
	withDrivers(t, func(r *rig) {
		for _, huge := range []string{
			"*2\r\n$4\r\nECHO\r\n$3000000\r\n" + strings.Repeat("x", 3000000),
			"*200000\r\n" + strings.Repeat("$0\r\n\r\n", 199999),
		} {
			c := r.dial()
			other := r.dial()
			c.sendAway(huge)
			c.expectGone()
			other.send("PING\r\n")
			other.expect("+PONG\r\n")
		}
		if n := r.server.Stats().QueryLimit; n != 2 {
			r.Errorf("%d clients over the limit counted, want 2", n)
		}
	}, func(r *rig) {
		changed := *r.settings()
		changed.QueryBufferMaxBytes = 1 << 20
		r.change(&changed)
	})
}

// Before AUTH little may be sent; what AUTH allows may be in the same pipeline.
func TestBeforeAuth(t *testing.T) {
	withDrivers(t, func(r *rig) {
		many := request(strings.Fields("ECHO a b c d e f g h i j k l m n")...)
		c := r.dial()
		c.send("PING\r\n" + many)
		c.expect("+PONG\r\n-ERR Protocol error: unauthenticated multibulk length\r\n")
		c.expectEnd()
		c = r.dial()
		c.send(request("ECHO", strings.Repeat("x", 16385)))
		c.expect("-ERR Protocol error: unauthenticated bulk length\r\n")
		c.expectEnd()
		c = r.dial()
		c.send("AUTH secret\r\n" + many + request("ECHO", strings.Repeat("x", 20000)))
		c.expect("+OK\r\n$1\r\na\r\n$20000\r\n" + strings.Repeat("x", 20000) + "\r\n")
	}, func(r *rig) { r.toy.password = "secret" })
}

func TestManyConnections(t *testing.T) {
	withDrivers(t, func(r *rig) {
		clients := make([]*client, 1000)
		for i := range clients {
			clients[i] = r.dial()
		}
		for round := range 3 {
			for i, c := range clients {
				c.send(request("ECHO", fmt.Sprint(round, i)) + "PING\r\n")
			}
			for i, c := range clients {
				text := fmt.Sprint(round, i)
				c.expect(fmt.Sprintf("$%d\r\n%s\r\n+PONG\r\n", len(text), text))
			}
		}
		if n := r.server.Clients().Count(); n != 1000 {
			r.Errorf("%d clients, want 1000", n)
		}
	})
}

// Stop makes durable and writes what sessions have to get, then closes.
func TestStop(t *testing.T) {
	withDrivers(t, func(r *rig) {
		reader, parked, gated := r.dial(), r.dial(), r.dial()
		info := reader.serverConn().Info()
		gated.serverConn()
		reader.send(request("BIG", "50000000"))
		r.eventually("output waits", func() bool { return info.outputBytes.Load() > 0 || r.server.Stats().OutputBytes > 1<<20 })
		parked.send("PARK\r\n")
		<-r.toy.parked
		r.gate.mu.Lock()
		r.gate.onSync = func() error { r.gate.advance(9); return nil }
		r.gate.mu.Unlock()
		stopped := make(chan struct{})
		gated.send("GATE 9\r\n")
		go func() {
			defer close(stopped)
			r.stop()
		}()
		reader.expect("$50000000\r\n" + strings.Repeat("x", 50000000) + "\r\n")
		parked.expectGone()
		if rest, err := io.ReadAll(gated.in); string(rest) != "+GATED\r\n" && string(rest) != "" {
			r.Errorf("the gated client got %q, %v", rest, err)
		}
		<-stopped
		if _, err := net.DialTimeout("tcp", r.addr, time.Second); err == nil {
			r.Error("the server still accepts")
		}
	})
}

// A stop that must wait too long drops what is pending.
func TestStopInTime(t *testing.T) {
	withDrivers(t, func(r *rig) {
		c := r.dial()
		info := c.serverConn().Info()
		c.send(request("BIG", "90000000"))
		r.eventually("output waits", func() bool { return info.outputBytes.Load() > 0 })
		r.stopNow()
		if n := r.server.Clients().Count(); n != 0 {
			r.Errorf("%d clients after the stop", n)
		}
	})
}
