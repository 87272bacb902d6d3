// This file owns the proof of maxmemory-clients: who has to go, in which order, and
// that what all hold together stays below the limit.

package server

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// ledgerSessions are sessions without connections that hold so many bytes of input.
func ledgerSessions(held ...int64) (*Server, []*session) {
	settings := testSettings(0)
	server := &Server{
		settings: func() *Settings { return settings }, clients: newClients(),
		now: func() int64 { return 0 }, log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	sessions := make([]*session, len(held))
	for i := range sessions {
		s := &session{server: server, driver: deafDriver{}, executor: echoExecutor{}}
		s.info.holdings.input.Store(max(0, held[i]-sessionBytes))
		server.clients.add(s, len(held))
		server.ledger.note(s)
		sessions[i] = s
	}
	return server, sessions
}

type deafDriver struct{}

func (deafDriver) deliver(*session) {}
func (deafDriver) aside(run func()) { run() }

func (s *Server) limitTo(limit int64) { s.evict(s.ledger.setLimit(limit, limit > 0, s.clients.List())) }

func openIDs(s *Server) (ids []int64) {
	for _, c := range s.clients.List() {
		ids = append(ids, c.ID())
	}
	return ids
}

// The largest go first, those of one size in order of arrival, and no more than
// must.
func TestEvictionOrder(t *testing.T) {
	const kb, mb = 1 << 10, 1 << 20
	server, sessions := ledgerSessions(100*kb, 3*mb, 1*mb, 100*kb, 3*mb, 5*kb, 1*mb)
	sessions[5].info.set(FlagNoEvict, true)
	server.ledger.note(sessions[5])
	for _, step := range []struct {
		limit int64
		left  []int64
	}{
		{0, []int64{1, 2, 3, 4, 5, 6, 7}},
		{9 * mb, []int64{1, 2, 3, 4, 5, 6, 7}},
		{6 * mb, []int64{1, 3, 4, 5, 6, 7}},
		{5 * mb, []int64{1, 3, 4, 6, 7}},
		{2*mb + 205*kb, []int64{1, 3, 4, 6, 7}},
		{2*mb + 205*kb - 1, []int64{1, 4, 6, 7}},
		{0, []int64{1, 4, 6, 7}},
		{1200 * kb, []int64{1, 4, 6}},
		{106 * kb, []int64{4, 6}},
		{1, []int64{6}}, // it may stay, although nothing is left for it
	} {
		server.limitTo(step.limit)
		if ids := openIDs(server); !slices.Equal(ids, step.left) {
			t.Errorf("with a limit of %d: %v are left, want %v", step.limit, ids, step.left)
		}
	}
	if n := server.Stats().Evicted; n != 6 {
		t.Errorf("%d evicted, want 6", n)
	}
	// Whoever may be evicted again is.
	server.limitTo(4 * kb)
	sessions[5].info.set(FlagNoEvict, false)
	server.ledger.note(sessions[5])
	if ids := openIDs(server); len(ids) != 0 {
		t.Errorf("%v are left", ids)
	}
}

// The ledger's sum is that of what it has counted, whatever happens in which order.
func TestLedgerSum(t *testing.T) {
	const seed = 11
	random := rand.New(rand.NewPCG(seed, 0))
	server, sessions := ledgerSessions(make([]int64, 50)...)
	server.limitTo(1 << 20)
	for round := range 20000 {
		s := sessions[random.IntN(len(sessions))]
		switch random.IntN(40) {
		case 0:
			s.info.set(FlagNoEvict, random.IntN(2) == 0)
		case 1:
			server.limitTo(int64(random.IntN(2)) * int64(1<<20+random.IntN(1<<20)))
		case 2:
			if random.IntN(50) == 0 {
				s.end()
			}
		default:
			s.info.holdings.output.Store(int64(random.IntN(1 << random.IntN(18))))
		}
		server.ledger.note(s)
		l := &server.ledger
		sum, listed := int64(0), 0
		for _, s := range sessions {
			sum += s.entry.counted.Load()
			if s.entry.listed {
				listed++
			}
		}
		for i := range l.buckets {
			for s := l.buckets[i].first; s != nil; s = s.entry.after {
				listed--
			}
		}
		if sum != l.total.Load() || listed != 0 || l.limit.Load() > 0 && l.total.Load() > l.limit.Load() && slices.ContainsFunc(l.buckets[:], func(b bucket) bool { return b.first != nil }) {
			t.Fatalf("seed %d, round %d: counted %d, the sum says %d of %d; %d in no bucket", seed, round, sum, l.total.Load(), l.limit.Load(), listed)
		}
	}
}

// A thousand clients whose output waits hold no more than the limit, however much
// they would; the one that reads is served all the time.
func TestSlowClientsTogether(t *testing.T) {
	withDrivers(t, func(r *rig) {
		const count, limit, seed = 1000, 8 << 20, 3
		random := rand.New(rand.NewPCG(seed, 0))
		changed := *r.settings()
		changed.MaxMemoryClients = limit
		r.change(&changed)
		control := r.dial()
		control.serverConn().Info().Set(FlagNoEvict, true)
		for range count {
			r.dial()
		}
		r.eventually("all are connected", func() bool { return r.server.Clients().Count() == count+1 })
		r.server.LimitClients(r.settings())
		open := r.server.Clients().List()
		// The toy gate's syncs wait for somebody who sees them.
		over := make(chan struct{})
		defer close(over)
		go func() {
			for {
				select {
				case <-r.gate.asked:
				case <-over:
					return
				}
			}
		}()
		pushed := 0
		message := []byte(strings.Repeat("x", 10_000))
		for round := range 10_000 {
			// It waits for a sequence that is never durable, so that no socket takes it.
			open[1+random.IntN(count)].Conn().Push(message[:1+random.IntN(len(message))], 1<<40)
			if pushed += 5000; round%100 == 0 {
				control.send("PING\r\n")
				control.expect("+PONG\r\n")
			}
			l := &r.server.ledger
			l.mu.Lock()
			total := l.total.Load()
			l.mu.Unlock()
			if total > limit {
				r.Fatalf("seed %d, round %d: %d bytes are held, the limit is %d", seed, round, total, limit)
			}
		}
		held := int64(0)
		for _, c := range r.server.Clients().List() {
			held += c.Info().holdings.bytes()
		}
		stats := r.server.Stats()
		if held > limit+int64(stats.Connected*ledgerStepBytes) || stats.Evicted == 0 || stats.Connected < 2 || pushed < 2*limit {
			r.Errorf("seed %d: %d bytes are held by %d, %d were evicted, of a limit of %d", seed, held, stats.Connected, stats.Evicted, limit)
		}
		r.gate.advance(1 << 40)
		r.eventually("the sockets of those that had to go are closed", func() bool {
			return r.toy.opened.Load()-r.toy.closed.Load() == int64(r.server.Clients().Count())
		})
	})
}

// What counts, and that INFO and CLIENT LIST know of it.
func TestEvictedFor(t *testing.T) {
	for what, send := range map[string]func(c *client){
		"input":     func(c *client) { c.sendAway("*2\r\n$4\r\nECHO\r\n$400000\r\n" + strings.Repeat("x", 390000)) },
		"arguments": func(c *client) { c.sendAway("*20000\r\n" + strings.Repeat("$9\r\n123456789\r\n", 19999)) },
		"queue": func(c *client) {
			c.sendAway("MULTI\r\n" + strings.Repeat(request("SET", "k", strings.Repeat("v", 9000)), 30))
		},
		"watches":      func(c *client) { c.sendAway(numbered("WATCH", 2000)) },
		"channels":     func(c *client) { c.sendAway(numbered("SUBSCRIBE", 1000)) },
		"patterns":     func(c *client) { c.sendAway(numbered("PSUBSCRIBE", 1000)) },
		"blocked":      func(c *client) { c.sendAway(request("BLPOP", strings.Repeat("k", 250_000), "0")) },
		"unread reply": func(c *client) { c.sendAway(strings.Repeat(request("GETRANGE", "big", "0", "-1"), 200)) },
	} {
		t.Run(what, func(t *testing.T) {
			withHosts(t, func(h *hosted) {
				c, victim := h.dial(), h.dial()
				c.asks("+OK", "CLIENT", "NO-EVICT", "on")
				c.asks(":300000", "SETRANGE", "big", "299999", "x")
				victim.asks("+OK", "CLIENT", "SETNAME", "victim")
				c.asks("+OK", "CONFIG", "SET", "maxmemory-clients", "250000")
				send(victim)
				// It may have read some replies before it had to go.
				_, _ = io.Copy(io.Discard, victim.in)
				if have := c.ask("CLIENT", "LIST"); strings.Contains(have, "victim") {
					t.Errorf("it is still there: %s", have)
				}
				if have := c.ask("INFO", "stats"); !strings.Contains(have, "\nevicted_clients:1\r\n") {
					t.Errorf("have %s", have)
				}
			})
		})
	}
}

// numbered are commands of one argument each.
func numbered(command string, count int) string {
	var text strings.Builder
	for i := range count {
		text.WriteString(request(command, fmt.Sprint("name:", i)))
	}
	return text.String()
}

// A share of maxmemory follows it; none of it is no limit.
func TestClientsLimit(t *testing.T) {
	for _, test := range []struct {
		clients int64
		memory  uint64
		want    int64
	}{
		{0, 1 << 30, 0}, {1, 0, clientsLimitLeastBytes}, {3_000_000, 0, 3_000_000},
		{-7, 6 << 20, 440401}, {-7, 0, 0}, {-1, 1 << 20, clientsLimitLeastBytes}, {-100, 1 << 40, 1 << 40},
	} {
		s := &Settings{MaxMemoryClients: test.clients, MaxMemoryBytes: test.memory}
		if have := s.clientsLimit(); have != test.want {
			t.Errorf("%d of %d: %d, want %d", test.clients, test.memory, have, test.want)
		}
	}
	h := newHosted(t, "--maxmemory-clients", "50%")
	c, victim := h.dial(), h.dial()
	c.asks("+OK", "CLIENT", "NO-EVICT", "on")
	victim.asks("+PONG", "PING")
	victim.send("*1\r\n$400000\r\n" + strings.Repeat("x", 200000))
	h.eventually("it is buffered", func() bool { return strings.Contains(c.ask("CLIENT", "LIST"), "qbuf=200000 ") })
	c.asks("+OK", "CONFIG", "SET", "maxmemory", "500000")
	victim.expectGone()
}

// What is due to the client's limits is done before anyone is evicted for it, and
// what is over them is never sent.
func TestOutputLimitComesFirst(t *testing.T) {
	withHosts(t, func(h *hosted) {
		c, large, other := h.dial(), h.dial(), h.dial()
		c.asks("+OK", "CONFIG", "SET", "client-output-buffer-limit", "normal 100000 0 0", "maxmemory-clients", "4mb")
		c.asks(":300000", "SETRANGE", "big", "299999", "x")
		c.asks(":1", "HSET", "h", "f", "v")
		c.asks(":1", "SADD", "s", "m")
		c.asks(":1", "ZADD", "z", "1", "m")
		other.send("*1\r\n$3800000\r\n" + strings.Repeat("x", 3700000))
		h.eventually("it is buffered", func() bool { return strings.Contains(c.ask("CLIENT", "LIST"), "qbuf=3700000 ") })
		c.asks("+OK", "CLIENT", "NO-EVICT", "on")
		closed := 0
		for _, line := range []string{
			request("GET", "big"), request("MULTI") + request("GET", "big") + request("EXEC"),
			request("HRANDFIELD", "h", "-999999999"), request("SRANDMEMBER", "s", "-999999999"), request("ZRANDMEMBER", "z", "-999999999", "WITHSCORES"),
		} {
			large.send(line)
			if strings.HasPrefix(line, request("MULTI")) {
				got, _ := io.ReadAll(large.in)
				if strings.Trim(string(got), "+OKQUED\r\n") != "" {
					t.Errorf("it read %q", got)
				}
			} else if got, _ := io.ReadAll(large.in); len(got) > 0 {
				t.Errorf("after %q it read %.60q", line, got)
			}
			closed++
			large = h.dial()
		}
		if have := c.ask("INFO", "stats"); !strings.Contains(have, fmt.Sprintf("client_output_buffer_limit_disconnections:%d\r\n", closed)) || !strings.Contains(have, "evicted_clients:0\r\n") {
			t.Errorf("want %d closed: %s", closed, have)
		}
	})
}

// BenchmarkLedger is what an unmoved figure and a moved one cost.
func BenchmarkLedger(b *testing.B) {
	for _, move := range []int64{0, 4096} {
		b.Run(fmt.Sprint("moved by ", move), func(b *testing.B) {
			server, sessions := ledgerSessions(make([]int64, 1000)...)
			server.limitTo(1 << 40)
			for i := range b.N {
				s := sessions[i%len(sessions)]
				keep(&s.info.holdings.output, int64(i/len(sessions)%2)*move)
				server.ledger.note(s)
			}
		})
	}
}
