package main

// This file owns the load on Linux: one thread, epoll, no goroutine per
// connection. It must not know what the bytes mean.

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// receiveSizeBytes holds the replies of a pipeline of 64 GETs many times over.
const receiveSizeBytes = 256 << 10

// epollLoad is a load driven by epoll. It must be used from one goroutine.
type epollLoad struct {
	epoll       int
	connections []connection
	in          []byte // shared: replies are counted at once
}

// connection is one non-blocking socket.
type connection struct {
	descriptor int
	buf        []byte // for the source
	unsent     []byte // of the current pipeline
	waiting    bool   // for the socket to take more
	owed       int    // replies until the next pipeline
	counter    counter
}

// newLoad connects to a server.
func newLoad(addr string, connections int) (load, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("creating an epoll: %w", err)
	}
	l := &epollLoad{epoll: epoll, in: make([]byte, receiveSizeBytes)}
	for i := range connections {
		descriptor, err := connect(addr)
		if err == nil {
			l.connections = append(l.connections, connection{descriptor: descriptor})
			err = l.watch(unix.EPOLL_CTL_ADD, i, unix.EPOLLIN)
		}
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	return l, nil
}

// connect returns a non-blocking socket.
func connect(addr string) (int, error) {
	parsed, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return 0, fmt.Errorf("address %s: %w", addr, err)
	}
	descriptor, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("creating a socket: %w", err)
	}
	address := &unix.SockaddrInet4{Port: parsed.Port}
	copy(address.Addr[:], parsed.IP.To4())
	err = errors.Join(
		unix.Connect(descriptor, address),
		unix.SetsockoptInt(descriptor, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetNonblock(descriptor, true),
	)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("connecting to %s: %w", addr, err), unix.Close(descriptor))
	}
	return descriptor, nil
}

// watch tells the kernel what to report of a connection.
func (l *epollLoad) watch(operation, i int, events uint32) error {
	event := unix.EpollEvent{Events: events, Fd: int32(i)}
	if err := unix.EpollCtl(l.epoll, operation, l.connections[i].descriptor, &event); err != nil {
		return fmt.Errorf("watching a connection: %w", err)
	}
	return nil
}

func (l *epollLoad) close() error {
	var errs []error
	for _, c := range l.connections {
		errs = append(errs, unix.Close(c.descriptor))
	}
	return errors.Join(append(errs, unix.Close(l.epoll))...)
}

func (l *epollLoad) run(from source, limit time.Duration) (amount, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	started := time.Now()
	var done amount
	busy := 0 // connections that are owed replies
	for i := range l.connections {
		l.connections[i].counter = counter{}
		sent, err := l.refill(i, from)
		if err != nil {
			return done, err
		}
		if sent > 0 {
			busy++
		}
	}
	events := make([]unix.EpollEvent, len(l.connections))
	over := false
	for busy > 0 {
		n, err := unix.EpollWait(l.epoll, events, int(replyLimit.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return done, fmt.Errorf("waiting for replies: %w", err)
		}
		if n == 0 {
			return done, fmt.Errorf("no reply within %v on %d connections", replyLimit, busy)
		}
		over = over || limit > 0 && time.Since(started) >= limit
		for _, event := range events[:n] {
			finished, err := l.handle(int(event.Fd), event.Events, from, over, &done)
			if err != nil {
				return done, err
			}
			busy -= finished
		}
	}
	done.elapsed = time.Since(started)
	for i := range l.connections {
		done.nils += l.connections[i].counter.nils
		if err := l.connections[i].counter.checked(); err != nil {
			return done, err
		}
	}
	return done, nil
}

// handle reads and writes what a connection is ready for. It returns 1 when the
// connection is owed nothing any more and gets no further pipeline.
func (l *epollLoad) handle(i int, events uint32, from source, over bool, done *amount) (int, error) {
	c := &l.connections[i]
	if events&unix.EPOLLOUT != 0 {
		if err := l.send(i); err != nil {
			return 0, err
		}
	}
	if events&^unix.EPOLLOUT == 0 {
		return 0, nil
	}
	n, err := unix.Read(c.descriptor, l.in)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("receiving: %w", err)
	}
	if n == 0 {
		return 0, errors.New("the server closed a connection")
	}
	before := c.counter.replies
	if err := c.counter.feed(l.in[:n]); err != nil {
		return 0, err
	}
	got := c.counter.replies - before
	done.commands += got
	c.owed -= got
	if c.owed < 0 {
		return 0, fmt.Errorf("%d replies more than requests", -c.owed)
	}
	if c.owed > 0 {
		return 0, nil
	}
	if over {
		return 1, nil
	}
	sent, err := l.refill(i, from)
	if err != nil || sent > 0 {
		return 0, err
	}
	return 1, nil
}

// refill sends the next pipeline and returns the number of its commands.
func (l *epollLoad) refill(i int, from source) (int, error) {
	c := &l.connections[i]
	pipeline, commands := from.next(c.buf)
	if commands == 0 {
		return 0, nil
	}
	if cap(c.buf) < len(pipeline) {
		// A source that builds in place finds room the next time.
		c.buf = make([]byte, 0, 2*len(pipeline))
	}
	c.unsent, c.owed = pipeline, commands
	return commands, l.send(i)
}

// send writes what the socket takes and has the kernel report when it takes more.
func (l *epollLoad) send(i int) error {
	c := &l.connections[i]
	for len(c.unsent) > 0 {
		n, err := unix.Write(c.descriptor, c.unsent)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EAGAIN) {
			if c.waiting {
				return nil
			}
			c.waiting = true
			return l.watch(unix.EPOLL_CTL_MOD, i, unix.EPOLLIN|unix.EPOLLOUT)
		}
		if err != nil {
			return fmt.Errorf("sending: %w", err)
		}
		c.unsent = c.unsent[n:]
	}
	if !c.waiting {
		return nil
	}
	c.waiting = false
	return l.watch(unix.EPOLL_CTL_MOD, i, unix.EPOLLIN)
}
