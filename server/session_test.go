// This file owns the spec of the passive session: it works without a socket,
// without allocating per command, and with bounded buffers.

package server

import (
	"strings"
	"testing"
)

// bareSession is a session that the test drives.
func bareSession(h Handler) (*session, *group) {
	settings := testSettings(0)
	server := &Server{settings: func() *Settings { return settings }, clients: newClients()}
	s := &session{server: server, commandsMax: sessionCommandsMax}
	s.executor = h.Open(s)
	p := &pool{mostBytes: poolMaxBytes}
	return s, &group{pass: noPass{}, pool: p}
}

// step feeds one window and takes what is to be sent.
func step(s *session, g *group, window []byte) string {
	g.add(s, window, false)
	g.run()
	g.clear()
	out := string(s.out[s.sent:])
	s.written(s.pending(), g.pool, 0)
	return out
}

func TestSessionWithoutSocket(t *testing.T) {
	s, g := bareSession(newToy())
	if got := step(s, g, []byte("PING\r\nPARK\r\nPING\r\nECHO x\r\n")); got != "+PONG\r\n" || s.phase != parked {
		t.Errorf("%q in phase %d", got, s.phase)
	}
	if rest := string(s.carry[s.first:]); rest != "PING\r\nECHO x\r\n" || !s.more {
		t.Errorf("left over: %q", rest)
	}
	s.phase = running
	g.add(s, s.carry[s.first:], true)
	g.run()
	g.clear()
	if got := string(s.out); got != "+PONG\r\n" || !s.more {
		// After a park one command is tried, then more and more.
		t.Errorf("after the park %q, more %v", got, s.more)
	}
	g.add(s, s.carry[s.first:], true)
	g.run()
	g.clear()
	if got := string(s.out); got != "+PONG\r\n$1\r\nx\r\n" || s.carry != nil {
		t.Errorf("then %q, %q left", got, s.carry)
	}
}

// The buffer of a large request serves the next one, and goes when small ones
// follow or the client is idle.
func TestSessionSpareBuffer(t *testing.T) {
	s, g := bareSession(newToy())
	large := []byte(request("ECHO", strings.Repeat("v", 400_000)))
	send := func() {
		step(s, g, large[:100])
		for at := 100; at < len(large); {
			room := s.reserve(g.pool)
			n := copy(room, large[at:])
			if !s.received(n) {
				t.Fatal("over the limit")
			}
			at += n
			g.add(s, s.carry[s.first:], true)
			g.run()
			g.clear()
			s.written(s.pending(), g.pool, 0)
		}
	}
	send()
	first := cap(s.spare)
	if first < 400_000 || s.info.queryFreeBytes.Load() < 400_000 {
		t.Fatalf("%d bytes are kept", first)
	}
	send()
	if cap(s.spare) != first {
		t.Errorf("another buffer of %d bytes", cap(s.spare))
	}
	for range spareTurnsMax {
		step(s, g, []byte("PING\r\n"))
	}
	if s.spare != nil || s.info.queryFreeBytes.Load() != readMinBytes {
		t.Errorf("%d bytes are still kept", cap(s.spare))
	}
	send()
	s.shrink()
	if s.spare != nil || s.info.queryFreeBytes.Load() != 0 {
		t.Errorf("an idle client keeps %d bytes", cap(s.spare))
	}
}

// pingExecutor allocates nothing itself.
type pingExecutor struct{ echoExecutor }

func (pingExecutor) Open(Conn) Executor { return pingExecutor{} }
func (pingExecutor) Execute(out []byte, _ [][]byte) ([]byte, Action) {
	return append(out, "+PONG\r\n"...), Continue
}

// The way of a command through the session allocates nothing.
func TestSessionAllocations(t *testing.T) {
	s, g := bareSession(pingExecutor{})
	window := []byte(strings.Repeat(request("SET", "key", "value"), 64))
	if n := testing.AllocsPerRun(100, func() {
		g.add(s, window, false)
		g.run()
		g.clear()
		s.written(s.pending(), g.pool, 0)
	}); n > 0 {
		t.Errorf("%v allocations for 64 commands", n)
	}
	if s.carry != nil || s.out != nil {
		t.Error("an idle session holds buffers")
	}
}

// A length alone allocates little; the buffer grows with what arrives, and all
// copying together is linear.
func TestSessionLargeBulk(t *testing.T) {
	s, g := bareSession(echoExecutor{})
	const size = 64 << 20
	step(s, g, []byte("*2\r\n$4\r\nECHO\r\n$67108864\r\nx"))
	if n := cap(s.carry); n > bulkUpfrontBytes {
		t.Errorf("%d bytes allocated for a length", n)
	}
	moves, copied, before := 0, 0, cap(s.carry)
	for sent := 1; sent < size+2; {
		room := s.reserve(g.pool)
		if cap(s.carry) != before {
			moves, copied, before = moves+1, copied+len(s.carry), cap(s.carry)
		}
		n := min(len(room), readMaxBytes, size+2-sent)
		if !s.received(n) {
			t.Fatal("over the limit")
		}
		sent += n
		if sent < size+2 {
			g.add(s, s.carry[s.first:], true)
			g.run()
			g.clear()
		}
	}
	if s.pending() != 0 {
		t.Errorf("%d bytes answered early", s.pending())
	}
	if moves > 12 || copied > 2*size {
		t.Errorf("%d moves of %d bytes", moves, copied)
	}
	if waste := cap(s.carry) - size; waste > 1000 {
		t.Errorf("%d bytes more than the request", waste)
	}
	g.add(s, s.carry[s.first:], true)
	g.run()
	g.clear()
	if s.pending() != size+len("$67108864\r\n\r\n") || s.carry != nil {
		t.Errorf("%d bytes answered", s.pending())
	}
}

// A request of many arguments in small pieces: bytes copied stay linear.
func TestSessionManyArguments(t *testing.T) {
	s, g := bareSession(pingExecutor{})
	data := []byte(request(strings.Split(strings.Repeat("x,", 300_000), ",")...))
	copied, before := 0, 0
	step(s, g, data[:100])
	for at := 100; at < len(data); {
		room := s.reserve(g.pool)
		if cap(s.carry) != before {
			copied, before = copied+len(s.carry), cap(s.carry)
		}
		n := copy(room[:min(len(room), 1000)], data[at:])
		if !s.received(n) {
			t.Fatal("over the limit")
		}
		at += n
		g.add(s, s.carry[s.first:], true)
		g.run()
		g.clear()
	}
	if got := string(s.out); got != "+PONG\r\n" {
		t.Errorf("answered %q", got)
	}
	if copied > 2*len(data) {
		t.Errorf("%d bytes copied for %d", copied, len(data))
	}
}

func BenchmarkSession(b *testing.B) {
	s, g := bareSession(pingExecutor{})
	window := []byte(strings.Repeat(request("SET", "key:000000012345", "0123456789abcdef0123456789abcdef"), 64))
	b.SetBytes(int64(len(window)))
	for b.Loop() {
		g.add(s, window, false)
		g.run()
		g.clear()
		s.written(s.pending(), g.pool, 0)
	}
}

// noDriver is told of mail and does nothing.
type noDriver struct{}

func (noDriver) deliver(*session) {}
func (noDriver) aside(run func()) { run() }

// What is pushed reaches the output without an allocation and in its order, behind
// output that waits already too, and an idle subscriber holds no room for more.
func TestPushAllocations(t *testing.T) {
	s, g := bareSession(pingExecutor{})
	s.driver = noDriver{}
	data := []byte(request("message", "channel", strings.Repeat("v", 32)))
	deliver := func(pushes int) {
		for range pushes {
			s.Push(data, 0)
		}
		if !s.apply(s.collect(g.pool), g.pool) {
			t.Fatal("the session is closed")
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		deliver(16)
		deliver(1)
		s.written(s.pending(), g.pool, 0)
		s.noteOutput()
	}); n > 0 {
		t.Errorf("%v allocations for 17 pushes", n)
	}
	deliver(2)
	s.Push([]byte("last"), 0)
	if got, want := string(s.TakePushed(s.out)), strings.Repeat(string(data), 2)+"last"; got != want {
		t.Errorf("%q is to be sent, not %q", got, want)
	}
	if have := s.info.outputBytes.Load(); have != int64(2*len(data)+len("last")) {
		t.Errorf("%d bytes count as output", have)
	}
	if s.info.holdings.mail.Load() == 0 {
		t.Error("nothing is kept for the next push")
	}
	for i, kept := range []bool{true, false} {
		s.shrink()
		if have := s.info.holdings.mail.Load(); (have > 0) != kept {
			t.Errorf("%d bytes are kept for pushes after giving back %d times", have, i+1)
		}
	}
}

// More than a session keeps room for does not grow its buffer again and again, and
// little afterwards soon has its small room again.
func TestLargePushes(t *testing.T) {
	s, g := bareSession(pingExecutor{})
	s.driver = noDriver{}
	data := make([]byte, 1<<10)
	deliver := func(pushes int) {
		for range pushes {
			s.Push(data, 0)
		}
		if !s.apply(s.collect(g.pool), g.pool) {
			t.Fatal("the session is closed")
		}
		s.written(s.pending(), g.pool, 0)
		s.noteOutput()
	}
	const many = 2 * mailRoomBytes >> 10
	deliver(many)
	if n := testing.AllocsPerRun(100, func() { deliver(many) }); n > 1 {
		t.Errorf("%v allocations for %d pushes", n, many)
	}
	if have := s.info.holdings.mail.Load(); have != 0 {
		t.Errorf("%d bytes are kept for pushes that need more", have)
	}
	for range 4 {
		deliver(1)
	}
	if have := s.info.holdings.mail.Load(); have == 0 || have > mailRoomBytes {
		t.Errorf("%d bytes are kept for small pushes", have)
	}
	if have := s.info.outputBytes.Load(); have != 0 {
		t.Errorf("%d bytes count as output", have)
	}
}
