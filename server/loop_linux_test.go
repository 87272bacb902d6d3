// This file owns what only Linux's event loop promises: the options of its
// sockets, and that an idle loop sleeps.

package server

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSocketOptions(t *testing.T) {
	withDrivers(t, func(r *rig) {
		if r.settings().IOThreads == 0 {
			return
		}
		fd := int(r.dial().serverConn().Info().fd.Load())
		for _, test := range []struct {
			name                string
			level, option, want int
		}{
			{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 300},
			{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 100},
			{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
			{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		} {
			if got, err := unix.GetsockoptInt(fd, test.level, test.option); got != test.want || err != nil {
				r.Errorf("%s is %d (%v), want %d", test.name, got, err, test.want)
			}
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_NONBLOCK == 0 {
			r.Errorf("the socket blocks: %#x, %v", flags, err)
		}
		flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			r.Errorf("the socket is inherited: %#x, %v", flags, err)
		}
	})
}

// Work for other threads while the loop is awake costs no system call.
func TestWakeIsCheap(t *testing.T) {
	withDrivers(t, func(r *rig) {
		if len(r.server.loops) == 0 {
			return
		}
		l := r.server.loops[0].(*loop)
		r.eventually("the loop sleeps", func() bool { return l.asleep.Load() == 1 })
		l.box.mu.Lock()
		l.wake()
		awake := l.asleep.Load() == 0
		l.box.mu.Unlock()
		if !awake {
			r.Error("a wake left the loop asleep")
		}
		r.eventually("the loop sleeps again", func() bool { return l.asleep.Load() == 1 })
	})
}

// A client may send a pipeline of any length before it reads anything.
func TestPipelineBeforeReading(t *testing.T) {
	withDrivers(t, func(r *rig) {
		if r.settings().IOThreads == 0 {
			return // a goroutine that writes does not read
		}
		c := r.dial()
		line := request("ECHO", strings.Repeat("e", 100_000))
		const count = 500
		for range count {
			c.send(line)
		}
		want := strings.TrimPrefix(line, "*2\r\n$4\r\nECHO\r\n")
		for range count {
			c.expect(want)
		}
	})
}
