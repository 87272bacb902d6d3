// This file owns the event loop: one OS thread that reads all ready
// connections, executes their commands as one group, lets the journal be written
// once, and writes each connection once. It must not know commands.
//
// Edge-triggered: a socket is registered once for everything, and the loop
// remembers what is readable and writable. Parking, back-pressure and pending
// output then cost no system call, where level-triggering would need one
// epoll_ctl to stop and one to start again (or spin). The price is that a
// readiness must not be forgotten before the kernel has said EAGAIN or returned
// less than asked for.

package server

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// eventsMax is how many events one wait returns.
const eventsMax = 512

type loop struct {
	server *Server
	epoll  int
	wakefd int
	// since is when the batch that is being executed began, 0 for none.
	since atomic.Int64
	// asleep is 1 while the loop waits, or is about to: only then does a wake
	// need a system call.
	asleep atomic.Int32
	box    mailbox
	over   chan struct{}

	// What follows belongs to the loop's thread.
	sessions []*session // by descriptor
	count    int
	ready    []*session // have something to do in the next pass
	spare    []*session
	letters  []*session // room for the mailbox's next ones
	flushing []*session // have output of this pass
	waiting  []*session // output waits for the journal
	drains   []*session // shut on our side, in order of their start
	arena    []byte
	used     int
	group    group
	pool     pool
	// lent is what large replies of this pass take until they are written, pooled
	// what the ledger knows of them and of the pool.
	lent, pooled int
	pass         Pass
	nowMs        int64
	stopping     bool
	// notifying says that the gate will wake the loop.
	notifying bool
	// executed says that commands ran in this pass.
	executed bool
}

// mailbox is what other threads have for a loop.
type mailbox struct {
	mu       sync.Mutex
	sessions []*session
	adopted  []*session
	finish   bool
	force    bool
	// durable says that the journal has advanced; closed, that nobody reads
	// the mailbox any more.
	durable, closed bool
}

var errLoopEnded = errors.New("the event loop has ended")

// newLoop starts a loop.
func newLoop(s *Server) (loopDriver, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	wakefd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epoll)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	// Edge-triggered, the counter need not be read: every write is an edge.
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(wakefd)}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wakefd, &event); err != nil {
		unix.Close(wakefd)
		unix.Close(epoll)
		return nil, fmt.Errorf("epoll_ctl: %w", err)
	}
	l := &loop{
		server: s, epoll: epoll, wakefd: wakefd, over: make(chan struct{}),
		arena: make([]byte, arenaBytes), pool: pool{mostBytes: poolMaxBytes}, pass: s.newPass(),
	}
	l.group.pass, l.group.pool = l.pass, &l.pool
	go l.run()
	return l, nil
}

// adopt implements loopDriver.
func (l *loop) adopt(s *session, conn net.Conn) error {
	fd, err := detach(conn)
	if err != nil {
		return err
	}
	s.fd = fd
	s.info.fd.Store(int32(fd))
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	if l.box.closed {
		return errors.Join(errLoopEnded, unix.Close(fd))
	}
	l.box.adopted = append(l.box.adopted, s)
	l.wake()
	return nil
}

// aside implements driver.
func (l *loop) aside(run func()) {
	runtime.UnlockOSThread()
	defer runtime.LockOSThread()
	run()
}

// deliver implements driver.
func (l *loop) deliver(s *session) {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	l.box.sessions = append(l.box.sessions, s)
	l.wake()
}

func (l *loop) finish() {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	l.box.finish = true
	l.wake()
}

func (l *loop) force() {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	l.box.force = true
	l.wake()
}

func (l *loop) workingSinceMs() int64 { return l.since.Load() }

func (l *loop) ended() <-chan struct{} { return l.over }

// durableAdvanced is what the gate calls.
func (l *loop) durableAdvanced() {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	l.box.durable = true
	l.wake()
}

// wake makes a sleeping loop look into its mailbox. While the loop works it
// costs one atomic operation: before it sleeps it looks again. The caller holds
// the mailbox, so that the descriptor is not closed meanwhile.
func (l *loop) wake() {
	if l.asleep.CompareAndSwap(1, 0) && !l.box.closed {
		// The counter cannot overflow in practice, and there is no other error.
		ring(l.wakefd)
	}
}

// run is the loop.
func (l *loop) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer l.close()
	events := make([]unix.EpollEvent, eventsMax)
	busy := false
	for {
		n, err := l.gather(events, busy)
		if err != nil {
			l.server.log.Error("an event loop cannot wait; it ends", "error", err)
			return
		}
		l.nowMs = l.server.now()
		l.since.Store(l.nowMs)
		for i := range events[:n] {
			l.note(&events[i])
		}
		if l.readMail() {
			return
		}
		l.work()
		l.settle()
		l.lent = 0
		l.server.ledger.notePool(&l.pooled, l.pool.keptBytes)
		l.since.Store(0)
		busy = n > 0 || len(l.ready) > 0
		if l.stopping && l.count == 0 {
			return
		}
	}
}

// gather gets events: at once when there is work or was, otherwise it sleeps.
func (l *loop) gather(events []unix.EpollEvent, busy bool) (int, error) {
	if busy {
		n, errno := poll(l.epoll, events)
		if errno == 0 && (n > 0 || len(l.ready) > 0) {
			return n, nil
		}
		if errno != 0 && errno != unix.EINTR {
			return 0, errno
		}
	}
	if len(l.ready) > 0 {
		return 0, nil
	}
	l.asleep.Store(1)
	timeoutMs := sweepIntervalMs
	if l.mailWaits() {
		timeoutMs = 0
	}
	n, err := waitEvents(l.epoll, events, timeoutMs)
	l.asleep.Store(0)
	if err == unix.EINTR {
		return 0, nil
	}
	return n, err
}

// mailWaits reports whether the mailbox holds anything.
func (l *loop) mailWaits() bool {
	b := &l.box
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sessions) > 0 || len(b.adopted) > 0 || b.force || (b.finish && !l.stopping) || b.durable
}

// note remembers what an event says.
func (l *loop) note(event *unix.EpollEvent) {
	fd := int(event.Fd)
	if fd >= len(l.sessions) || l.sessions[fd] == nil {
		return
	}
	s := l.sessions[fd]
	if event.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		s.ready.readable = true
	}
	if event.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		s.ready.writable = true
	}
	if event.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		s.ready.hangup = true
	}
	gone := event.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0
	if s.ready.hangup && (s.phase == blocked || gone && s.phase == parked) {
		l.drop(s)
		return
	}
	l.enqueue(s)
}

// enqueue gives the session a turn in the next pass.
func (l *loop) enqueue(s *session) {
	if !s.ready.queued {
		s.ready.queued = true
		l.ready = append(l.ready, s)
	}
}

// readMail takes what other threads have left. It reports that the loop must
// end at once.
func (l *loop) readMail() (end bool) {
	b := &l.box
	b.mu.Lock()
	letters, adopted := b.sessions, b.adopted
	b.sessions, b.adopted = l.letters[:0], nil
	finish, force, durable := b.finish, b.force, b.durable
	b.durable = false
	b.mu.Unlock()
	for _, s := range adopted {
		l.register(s)
	}
	for _, s := range letters {
		l.take(s)
	}
	clear(letters)
	l.letters = letters
	if finish && !l.stopping {
		l.stopping = true
		for _, s := range l.sessions {
			if s != nil {
				l.enqueue(s)
			}
		}
	}
	if durable {
		l.notifying = false
		l.release()
	}
	return force
}

// register begins to watch a new connection.
func (l *loop) register(s *session) {
	event := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     int32(s.fd),
	}
	for s.fd >= len(l.sessions) {
		l.sessions = append(l.sessions, make([]*session, s.fd+1-len(l.sessions))...)
	}
	l.sessions[s.fd] = s
	l.count++
	s.ready.registered, s.ready.writable = true, true
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, s.fd, &event); err != nil {
		l.server.log.Error("a connection cannot be watched", "addr", s.remote, "error", err)
		l.drop(s)
		return
	}
	if l.stopping {
		l.drop(s)
		return
	}
	// Mail may have come before the connection did.
	l.take(s)
}

// take applies a session's mail.
func (l *loop) take(s *session) {
	if s.phase == dead || !s.ready.registered {
		return
	}
	resumes := s.phase == parked || s.phase == blocked
	letter := s.collect(&l.pool)
	if !s.apply(letter, &l.pool) {
		l.drop(s)
		return
	}
	if letter.shrink {
		s.shrink()
		s.account()
	}
	if resumes && letter.resumed {
		s.info.activeMs.Store(l.nowMs)
		// The resumed command may have changed data.
		l.executed = true
		l.enqueue(s)
	}
	if s.pending() > 0 {
		l.enqueue(s)
	}
}

// work gives every ready session its turn: reads, and in groups parses,
// prefetches and executes.
func (l *loop) work() {
	work := l.ready
	l.ready = l.spare[:0]
	for _, s := range work {
		s.ready.queued = false
		if s.phase == dead {
			continue
		}
		if len(l.arena)-l.used < readMinBytes || len(l.group.commands) >= groupCommands {
			l.execute()
		}
		l.turn(s)
	}
	l.execute()
	clear(work)
	l.spare = work[:0]
}

// turn gets the session's next window of input into the group.
func (l *loop) turn(s *session) {
	switch {
	case l.stopping || s.phase == finishing:
		l.flushLater(s)
	case s.phase == draining:
		l.drain(s)
	case s.phase == blocked && s.ready.readable, s.stalled():
		l.readAhead(s)
	case !s.runnable():
		l.flushLater(s)
	case s.more:
		l.group.add(s, s.carry[s.first:], true)
	case s.ready.readable:
		l.read(s)
	default:
		l.flushLater(s)
	}
}

// flushLater has the session's output written at the end of the pass.
func (l *loop) flushLater(s *session) {
	if s.pending() > 0 || s.phase >= finishing || l.stopping {
		l.flushing = append(l.flushing, s)
	}
}

// read adds to the group what came. One read is a turn, but for a large argument in
// progress: nothing can be done before more of it is there.
func (l *loop) read(s *session) {
	if s.carry == nil {
		if n := l.receive(s, l.arena[l.used:min(l.used+readMaxBytes, len(l.arena))]); n > 0 {
			window := l.arena[l.used : l.used+n]
			l.used += (n + 63) &^ 63
			l.group.add(s, window, false)
		}
		return
	}
	for budget := bulkReadMaxBytes; budget > 0; {
		room := s.reserve(&l.pool)
		n := l.receive(s, room)
		if n == 0 {
			if budget < bulkReadMaxBytes && s.phase == running {
				break
			}
			return
		}
		if !s.received(n) {
			l.server.overQueryLimit(s)
			l.drop(s)
			return
		}
		// What it holds already decides before anything else is executed.
		s.account()
		budget -= n
		if n < len(room) || s.bulkEnd(len(s.carry)-s.first) == 0 {
			break
		}
	}
	l.group.add(s, s.carry[s.first:], true)
}

// receive reads once into room. Without anything received it answers 0, and has
// done what that means.
func (l *loop) receive(s *session, room []byte) int {
	n, errno := receive(s.fd, room)
	switch {
	case errno == unix.EINTR:
		l.enqueue(s)
		return 0
	case errno == unix.EAGAIN:
		s.ready.readable = false
		l.flushLater(s)
		return 0
	case errno != 0 || n == 0:
		l.hungUp(s, errno)
		return 0
	}
	// A short read has emptied the socket, but for an end that was announced.
	s.ready.readable = n == len(room) || s.ready.hangup
	l.server.stats.reads.Add(1)
	l.server.stats.inputBytes.Add(int64(n))
	s.info.activeMs.Store(l.nowMs)
	return n
}

// stalled reports whether the session executes nothing because its peer does not
// read, which may be because the peer is still sending: many clients read nothing
// before the last of a long pipeline has left.
func (s *session) stalled() bool {
	return s.phase == running && s.pending() >= outputStopBytes && s.ready.readable && !s.ready.hangup
}

// readAhead reads what the peer of a blocked or stalled session has sent meanwhile,
// for later: behind more than the socket holds nobody else sees that the peer has
// gone, and the peer would wait for us to read while we wait for it.
func (l *loop) readAhead(s *session) {
	room := s.reserve(&l.pool)
	n, errno := receive(s.fd, room)
	switch {
	case errno == unix.EINTR:
		l.enqueue(s)
		return
	case errno == unix.EAGAIN:
		s.ready.readable = false
		if len(s.carry) == s.first {
			s.keep(nil, true, &l.pool)
		}
		l.flushLater(s)
		return
	case errno == 0 && n == 0 && s.phase == running:
		// It still gets its replies.
		s.ready.hangup = true
		l.flushLater(s)
		return
	case errno != 0 || n == 0:
		l.drop(s)
		return
	}
	s.ready.readable = n == len(room) || s.ready.hangup
	l.server.stats.reads.Add(1)
	l.server.stats.inputBytes.Add(int64(n))
	s.info.activeMs.Store(l.nowMs)
	if !s.received(n) {
		l.server.overQueryLimit(s)
		l.drop(s)
		return
	}
	s.more = true
	s.noteInput(len(s.carry) - s.first)
	l.flushing = append(l.flushing, s)
}

// hungUp ends a session whose peer has finished sending, after what it still
// has to get was written.
func (l *loop) hungUp(s *session, errno syscall.Errno) {
	if errno != 0 || s.pending() == 0 {
		l.drop(s)
		return
	}
	s.phase = finishing
	l.flushing = append(l.flushing, s)
}

// execute runs the group.
func (l *loop) execute() {
	g := &l.group
	if len(g.turns) > 0 {
		l.executed = l.executed || len(g.commands) > 0
		g.run()
		for i := range g.turns {
			s := g.turns[i].session
			if s.phase == dead {
				l.drop(s)
				continue
			}
			l.flushing = append(l.flushing, s)
			if room := cap(s.out); room >= lentLeastBytes {
				l.lent += room
			}
		}
		if l.lent > 0 {
			l.server.ledger.notePool(&l.pooled, l.pool.keptBytes+l.lent)
		}
		g.clear()
	}
	l.used = 0
}

// drop closes the session's socket and forgets it.
func (l *loop) drop(s *session) {
	if s.fd < 0 {
		return
	}
	// Closing also takes the descriptor out of the epoll set. An error of close
	// leaves nothing to be done: all bytes that matter were acknowledged by send.
	_ = unix.Close(s.fd)
	l.sessions[s.fd] = nil
	l.count--
	s.fd, s.phase = -1, dead
	s.end()
	l.pool.put(s.carry)
	l.pool.put(s.out)
	s.carry, s.spare, s.out, s.first, s.sent = nil, nil, nil, 0, 0
}

// close drops every session and the loop's own descriptors.
func (l *loop) close() {
	l.box.mu.Lock()
	adopted := l.box.adopted
	l.box.adopted, l.box.closed = nil, true
	l.box.mu.Unlock()
	for _, s := range adopted {
		l.register(s)
	}
	for _, s := range l.sessions {
		if s != nil {
			l.drop(s)
		}
	}
	// Nothing is lost with these two, whatever their close says.
	_ = unix.Close(l.epoll)
	_ = unix.Close(l.wakefd)
	close(l.over)
}
