// This file owns the toy that the tests serve: an executor with a handful of
// commands, a gate whose durability the test decides, and a client that reads
// what it expects.

package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience bounds every wait of a test for something that must happen: long, since
// only a failure waits for it, and a busy machine has little time for anybody.
const patience = time.Minute

// toy is a handler; each test has its own.
type toy struct {
	mu     sync.Mutex
	conns  map[int64]Conn
	closed atomic.Int64
	opened atomic.Int64
	// parked gets every connection that a command parked.
	parked chan Conn
	// password is what AUTH wants; "" lets everybody in.
	password string
	guarded  atomic.Bool
	// busy makes RETRY retry while it is set.
	busy atomic.Bool
	// prefetched counts Prefetch calls per phase; inPass is checked there.
	prefetched [3]atomic.Int64
	executed   atomic.Int64
}

type toyExecutor struct {
	toy           *toy
	conn          Conn
	authenticated bool
	seq           uint64
	ended         atomic.Bool
}

func newToy() *toy {
	return &toy{conns: map[int64]Conn{}, parked: make(chan Conn, 4096)}
}

func (h *toy) Guarded() bool { return h.guarded.Load() }

func (h *toy) Open(c Conn) Executor {
	h.opened.Add(1)
	h.mu.Lock()
	h.conns[c.ID()] = c
	h.mu.Unlock()
	return &toyExecutor{toy: h, conn: c, authenticated: h.password == ""}
}

func (e *toyExecutor) Execute(out []byte, argv [][]byte) ([]byte, Action) {
	e.toy.executed.Add(1)
	if e.ended.Load() {
		panic("executed after Close")
	}
	switch strings.ToUpper(string(argv[0])) {
	case "PING":
		return append(out, "+PONG\r\n"...), Continue
	case "ECHO":
		return appendBulk(out, argv[1]), Continue
	case "ARGS":
		return append(out, fmt.Sprintf("+%q\r\n", argv)...), Continue
	case "BIG":
		n, _ := strconv.Atoi(string(argv[1]))
		return appendBulk(out, bytes.Repeat([]byte{'x'}, n)), Continue
	case "PARK":
		e.toy.parked <- e.conn
		return out, Park
	case "NOW":
		// The worker is faster than the command.
		e.conn.Resume(func(out []byte) []byte { return append(out, "+NOW\r\n"...) })
		return out, Park
	case "BLOCK":
		e.toy.parked <- e.conn
		return out, Block
	case "RETRY":
		if e.toy.busy.Load() {
			e.toy.parked <- e.conn
			return out, Retry
		}
		return append(out, "+RETRIED\r\n"...), Continue
	case "GATE":
		seq, _ := strconv.ParseUint(string(argv[1]), 10, 64)
		e.seq = max(e.seq, seq)
		return append(out, "+GATED\r\n"...), Continue
	case "AUTH":
		e.authenticated = string(argv[1]) == e.toy.password
		return append(out, "+OK\r\n"...), Continue
	case "SUBSCRIBE":
		e.conn.Info().Set(FlagPubSub, true)
		return append(out, "+SUBSCRIBED\r\n"...), Continue
	case "QUIT":
		return append(out, "+OK\r\n"...), CloseAfterReply
	case "VANISH":
		return append(out, "+NEVER\r\n"...), CloseNow
	}
	return append(out, "-ERR unknown\r\n"...), Continue
}

func (e *toyExecutor) EndBatch()        {}
func (e *toyExecutor) HeldBytes() int64 { return 0 }
func (e *toyExecutor) Shrink()          {}

func (e *toyExecutor) Prefetch(_ [][]byte, phase int) bool {
	e.toy.prefetched[phase].Add(1)
	return phase == 1
}
func (e *toyExecutor) GateSeq() uint64    { return e.seq }
func (e *toyExecutor) AuthRequired() bool { return !e.authenticated }
func (e *toyExecutor) Close() {
	if e.ended.Swap(true) {
		panic("closed twice")
	}
	e.toy.closed.Add(1)
}

func appendBulk(out, value []byte) []byte {
	out = fmt.Appendf(out, "$%d\r\n", len(value))
	return append(append(out, value...), "\r\n"...)
}

// toyGate is durable as far as the test says.
type toyGate struct {
	mu      sync.Mutex
	durable uint64
	waiters map[uint64][]func()
	// onSync is called by Sync; nil does nothing.
	onSync func() error
	syncs  atomic.Int64
	writes atomic.Int64
	asked  chan struct{}
}

func newToyGate() *toyGate {
	return &toyGate{waiters: map[uint64][]func(){}, asked: make(chan struct{}, 1024)}
}

func (g *toyGate) Durable() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.durable
}

func (g *toyGate) Flush() error { g.writes.Add(1); return nil }

func (g *toyGate) Sync() error {
	g.syncs.Add(1)
	g.asked <- struct{}{}
	g.mu.Lock()
	onSync := g.onSync
	g.mu.Unlock()
	if onSync != nil {
		return onSync()
	}
	return nil
}

func (g *toyGate) Notify(seq uint64, wake func()) {
	g.mu.Lock()
	if g.durable < seq {
		g.waiters[seq] = append(g.waiters[seq], wake)
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	wake()
}

func (g *toyGate) advance(seq uint64) {
	g.mu.Lock()
	g.durable = seq
	var wakes []func()
	for at, waiting := range g.waiters {
		if at <= seq {
			wakes = append(wakes, waiting...)
			delete(g.waiters, at)
		}
	}
	g.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
}

// rig is a running server.
type rig struct {
	*testing.T
	toy     *toy
	gate    *toyGate
	server  *Server
	addr    string
	current atomic.Pointer[Settings]
	stopped bool
}

func (r *rig) settings() *Settings       { return r.current.Load() }
func (r *rig) change(settings *Settings) { r.current.Store(settings) }

// testSettings are the defaults with a number of loops.
func testSettings(loops int) *Settings {
	return &Settings{
		Bind: []string{"127.0.0.1"}, TCPKeepAliveSeconds: 300, MaxClients: 10000, ProtectedMode: true,
		BulkMaxBytes: 512 << 20, QueryBufferMaxBytes: 1 << 30, IOThreads: loops,
		OutputLimits: [classCount]OutputLimit{ClassPubSub: {HardBytes: 32 << 20, SoftBytes: 8 << 20, SoftSeconds: 60}},
	}
}

// withDrivers runs a test with each driver.
func withDrivers(t *testing.T, test func(r *rig), changes ...func(r *rig)) {
	for _, driver := range []struct {
		name  string
		loops int
	}{{"goroutine", 0}, {"loop", 1}, {"loops", 2}} {
		t.Run(driver.name, func(t *testing.T) {
			if driver.loops > 0 && runtime.GOOS != "linux" {
				t.Skip("no event loops here")
			}
			before := runtime.NumGoroutine()
			r := &rig{T: t, toy: newToy(), gate: newToyGate()}
			r.change(testSettings(driver.loops))
			for _, change := range changes {
				change(r)
			}
			r.start()
			test(r)
			r.stop()
			r.eventually("all goroutines end", func() bool { return runtime.NumGoroutine() <= before })
			if opened, closed := r.toy.opened.Load(), r.toy.closed.Load(); opened != closed {
				t.Errorf("%d executors opened, %d closed", opened, closed)
			}
		})
	}
}

func (r *rig) start() {
	r.Helper()
	server, err := New(Options{
		Handler: r.toy, Gate: r.gate, Settings: r.settings,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		r.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	if err := server.Serve(ln); err != nil {
		r.Fatal(err)
	}
	r.server, r.addr = server, ln.Addr().String()
}

func (r *rig) stop() {
	r.Helper()
	if r.stopped {
		return
	}
	r.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.server.Stop(ctx); err != nil {
		r.Errorf("stop: %v", err)
	}
}

// stopNow stops without patience.
func (r *rig) stopNow() {
	r.Helper()
	r.stopped = true
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.server.Stop(ctx); !errors.Is(err, context.Canceled) {
		r.Errorf("stop: %v", err)
	}
}

// eventually waits for what another goroutine must bring about.
func (r *rig) eventually(what string, holds func() bool) {
	r.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			r.Fatalf("never: %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}

// client is a peer.
type client struct {
	*rig
	net.Conn
	in *bufio.Reader
}

func (r *rig) dial() *client {
	r.Helper()
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.Fatal(err)
	}
	return r.client(conn)
}

func (r *rig) client(conn net.Conn) *client {
	r.Helper()
	r.Cleanup(func() { conn.Close() })
	return &client{rig: r, Conn: conn, in: bufio.NewReader(patient{conn})}
}

// patient bounds each read and write of a connection, however long all together take.
type patient struct{ net.Conn }

func (p patient) Read(buf []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return p.Conn.Read(buf)
}

func (p patient) Write(buf []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return p.Conn.Write(buf)
}

func (c *client) send(text string) {
	c.Helper()
	if _, err := io.WriteString(patient{c.Conn}, text); err != nil {
		c.Fatalf("sending %.60q: %v", text, err)
	}
}

// sendAside sends while the test reads.
func (c *client) sendAside(text string) {
	go func() {
		if _, err := io.WriteString(patient{c.Conn}, text); err != nil {
			c.Errorf("sending %.60q: %v", text, err)
		}
	}()
}

// expect reads exactly text.
func (c *client) expect(text string) {
	c.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(c.in, got)
	if string(got[:n]) != text {
		c.Fatalf("got %.200q (%v), want %.200q", got[:n], err, text)
	}
}

// expectEnd reads the end of the connection.
func (c *client) expectEnd() {
	c.Helper()
	if rest, err := io.ReadAll(c.in); len(rest) > 0 || err != nil {
		c.Fatalf("got %.200q (%v), want the end", rest, err)
	}
}

// expectGone reads the end, which may be a reset.
func (c *client) expectGone() {
	c.Helper()
	rest, err := io.ReadAll(c.in)
	if timeout, ok := err.(net.Error); len(rest) > 0 || ok && timeout.Timeout() {
		c.Fatalf("got %.200q (%v), want the connection gone", rest, err)
	}
}

// sendAway sends to a peer that may close before it has read all.
func (c *client) sendAway(text string) {
	go func() { _, _ = io.WriteString(patient{c.Conn}, text) }()
}

// serverConn makes sure that the server serves the client and returns its side.
func (c *client) serverConn() Conn {
	c.Helper()
	c.send("PING\r\n")
	c.expect("+PONG\r\n")
	return c.serverSide()
}

func (c *client) serverSide() Conn {
	c.Helper()
	for _, known := range c.server.Clients().List() {
		if known.RemoteAddr() == c.LocalAddr().String() {
			return known.Conn()
		}
	}
	c.Fatal("the server does not know the client")
	return nil
}

// request is a multibulk request.
func request(words ...string) string {
	out := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		out = appendBulk(out, []byte(word))
	}
	return string(out)
}
