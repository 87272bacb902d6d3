// This file owns the portable driver: a goroutine per connection, with the same
// session and the same groups as the event loops. It serves systems without
// epoll, `io-threads 0`, and connections that are no plain sockets. It must not
// know commands.

package server

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// idleReadBytes is the read buffer of a connection that has been idle.
const idleReadBytes = 512

// goroutineDriver keeps the connections that have their own goroutine.
type goroutineDriver struct {
	server   *Server
	stopping atomic.Bool
	running  sync.WaitGroup

	mu          sync.Mutex
	connections map[*connection]struct{}
}

func newGoroutineDriver(s *Server) *goroutineDriver {
	return &goroutineDriver{server: s, connections: map[*connection]struct{}{}}
}

// prepare makes the session's driver and returns what starts its goroutine.
func (d *goroutineDriver) prepare(s *session, conn net.Conn) (start func()) {
	c := &connection{
		owner: d, session: s, conn: conn, wake: make(chan struct{}, 1),
		pool: pool{mostBytes: poolOwnMaxBytes},
	}
	c.group = group{pass: d.server.newPass(), pool: &c.pool}
	s.driver = c
	return func() {
		d.mu.Lock()
		d.connections[c] = struct{}{}
		d.mu.Unlock()
		d.running.Go(c.run)
	}
}

// stop has every connection write what it has and end.
func (d *goroutineDriver) stop(ctx context.Context) error {
	d.stopping.Store(true)
	d.each((*connection).interrupt)
	ended := make(chan struct{})
	go func() {
		d.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		d.each((*connection).abandon)
		<-ended
		return ctx.Err()
	}
}

func (d *goroutineDriver) each(visit func(*connection)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.connections {
		visit(c)
	}
}

// A connection drives one session.
type connection struct {
	owner   *goroutineDriver
	session *session
	conn    net.Conn
	// wake ends a wait for a resume or for the journal; a read is ended through
	// its deadline.
	wake        chan struct{}
	interrupted atomic.Bool
	abandoned   atomic.Bool

	group group
	pool  pool
	// input is what is read into while the session has no carry.
	input []byte
	// eof says that the peer has finished sending.
	eof bool
	// executed says that commands ran since the journal was last flushed.
	executed bool
}

// aside implements driver.
func (c *connection) aside(run func()) { run() }

// deliver implements driver. A connection that is to be killed may be inside a
// write that its peer never takes, so that both deadlines pass.
func (c *connection) deliver(s *session) {
	s.mail.mu.Lock()
	kill := s.mail.kill
	s.mail.mu.Unlock()
	if kill {
		c.abandon()
		return
	}
	c.interrupt()
}

// interrupt ends what the goroutine waits for, other than a write.
func (c *connection) interrupt() {
	c.interrupted.Store(true)
	// On an error the connection is closed and its goroutine is ending.
	_ = c.conn.SetReadDeadline(longAgo())
	c.nudge()
}

// abandon ends everything the goroutine waits for; it will close the connection.
func (c *connection) abandon() {
	c.abandoned.Store(true)
	_ = c.conn.SetDeadline(longAgo())
	c.nudge()
}

func (c *connection) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func longAgo() time.Time { return time.Unix(1, 0) }

// run serves the session until it ends.
func (c *connection) run() {
	defer c.close()
	s := c.session
	for c.readMail() {
		if s.overOutputLimit() {
			c.owner.server.overOutputLimit(s)
			return
		}
		c.account()
		switch {
		case s.phase == dead:
			return
		case s.pending() > 0:
			if !c.flush() {
				return
			}
		case s.phase == finishing:
			c.drain()
			return
		case c.owner.stopping.Load():
			return
		case s.phase != running:
			if !c.awaitResume() {
				return
			}
		case s.more:
			c.execute(s.carry[s.first:], true)
		case c.eof:
			return
		default:
			if !c.read() {
				return
			}
		}
	}
}

// account counts what the session and the goroutine hold for it.
func (c *connection) account() {
	const argumentBytes, commandBytes, turnBytes = 24, 24, 72
	g := &c.group
	keep(&c.session.info.holdings.driver, int64(cap(c.input)+c.pool.keptBytes+
		cap(g.arguments)*argumentBytes+cap(g.commands)*commandBytes+cap(g.turns)*turnBytes))
	c.session.account()
}

// readMail applies the mail. It reports false when the session is to end.
func (c *connection) readMail() bool {
	// The deadline is cleared before the mail is read: mail that comes after
	// sets it again.
	if c.interrupted.Swap(false) {
		if c.conn.SetReadDeadline(time.Time{}) != nil {
			return false
		}
	}
	if c.abandoned.Load() {
		return false
	}
	s := c.session
	letter := s.collect(&c.pool)
	if !s.apply(letter, &c.pool) {
		return false
	}
	if letter.resumed {
		c.executed = true
		s.info.activeMs.Store(c.owner.server.now())
	}
	if letter.shrink {
		s.shrink()
		c.pool.drop()
		c.input = nil
		if s.carry == nil {
			c.input = make([]byte, idleReadBytes)
		}
	}
	return true
}

// read waits for input and executes it.
func (c *connection) read() bool {
	s := c.session
	if s.carry != nil {
		n, ok := c.receive(s.reserve(&c.pool))
		if !ok || n == 0 {
			return ok
		}
		if !s.received(n) {
			c.owner.server.overQueryLimit(s)
			return false
		}
		c.account()
		c.execute(s.carry[s.first:], true)
		return true
	}
	if c.input == nil {
		c.input = make([]byte, readMinBytes)
	}
	n, ok := c.receive(c.input)
	if !ok || n == 0 {
		return ok
	}
	full := n == len(c.input)
	c.execute(c.input[:n], false)
	if full && len(c.input) < readMaxBytes {
		c.input = make([]byte, min(readMaxBytes, max(readMinBytes, 2*len(c.input))))
	}
	return true
}

// receive reads once. Nothing and true is an interruption, or the end of the
// input while there is still something to do.
func (c *connection) receive(room []byte) (int, bool) {
	n, err := c.conn.Read(room)
	if n > 0 {
		stats := &c.owner.server.stats
		stats.reads.Add(1)
		stats.inputBytes.Add(int64(n))
		c.session.info.activeMs.Store(c.owner.server.now())
		return n, true
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The deadline may have been set after the flag was read.
		c.interrupted.Store(true)
		return 0, true
	}
	c.eof = true
	return 0, c.session.phase == parked
}

// execute runs the commands in window as one group.
func (c *connection) execute(window []byte, inCarry bool) {
	c.group.add(c.session, window, inCarry)
	c.executed = c.executed || len(c.group.commands) > 0
	c.group.run()
	c.group.clear()
}

// flush writes the output once the journal allows it.
func (c *connection) flush() bool {
	s, server := c.session, c.owner.server
	if !c.awaitGate() {
		return false
	}
	n, err := c.conn.Write(s.out[s.sent:])
	server.stats.writes.Add(1)
	server.stats.outputBytes.Add(int64(n))
	s.written(n, &c.pool, server.now())
	s.noteOutput()
	return err == nil
}

// awaitGate waits until the output may leave. It reports false when the
// session is to end.
func (c *connection) awaitGate() bool {
	server := c.owner.server
	if c.executed {
		c.executed = false
		if err := server.gate.Flush(); err != nil {
			server.gateFailed(err)
		}
	}
	seq := c.session.seq()
	if server.gate.Durable() >= seq {
		return true
	}
	server.gate.Notify(seq, c.nudge)
	server.syncer.ask()
	for server.gate.Durable() < seq {
		<-c.wake
		if c.abandoned.Load() {
			return false
		}
	}
	// The wake may have been meant for the mail.
	c.nudge()
	return true
}

// awaitResume waits for the parked command's reply, and reads on meanwhile so
// that a peer that goes away is noticed. What it reads is not parsed yet.
func (c *connection) awaitResume() bool {
	s := c.session
	if s.resumePending() {
		return true
	}
	if c.eof || s.phase == parked && len(s.carry)-s.first >= readMaxBytes {
		<-c.wake
		return true
	}
	if c.executed {
		// What the command changed must not wait for the next one.
		c.executed = false
		if err := c.owner.server.gate.Flush(); err != nil {
			c.owner.server.gateFailed(err)
		}
	}
	n, ok := c.receive(s.reserve(&c.pool))
	if n > 0 {
		s.more = true
		if !s.received(n) {
			c.owner.server.overQueryLimit(s)
			return false
		}
		return true
	}
	if s.carry != nil && len(s.carry) == s.first {
		s.keep(nil, true, &c.pool)
	}
	return ok
}

// drain shuts our side and discards input until the peer has closed, so that it
// sees our last bytes.
func (c *connection) drain() {
	c.session.end()
	half, ok := c.conn.(interface{ CloseWrite() error })
	if !ok || c.owner.stopping.Load() || half.CloseWrite() != nil {
		return
	}
	if c.conn.SetReadDeadline(time.Now().Add(drainMaxMs*time.Millisecond)) != nil {
		return
	}
	if c.owner.stopping.Load() {
		return
	}
	room := c.pool.get(readMinBytes)
	room = room[:cap(room)]
	for drained := 0; drained < drainMaxBytes; {
		n, err := c.conn.Read(room)
		if err != nil {
			return
		}
		drained += n
	}
}

func (c *connection) close() {
	// All bytes that matter were acknowledged by Write.
	_ = c.conn.Close()
	c.session.phase = dead
	c.session.end()
	d := c.owner
	d.mu.Lock()
	delete(d.connections, c)
	d.mu.Unlock()
}
