// This file owns the system calls of the event loop. All but wait are RawSyscall:
// they cannot block (the sockets are non-blocking), so the scheduler need not
// hear of them. It must not know sessions. With engine/table it is the only
// place with unsafe: x/sys offers these calls through the blocking path only.

package server

import (
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receive reads what is there into buf, which must not be empty.
func receive(fd int, buf []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	return int(n), errno
}

// send writes what fits of data, which must not be empty. A peer that is gone
// is an error, not a signal.
func send(fd int, data []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&data[0])),
		uintptr(len(data)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// poll asks for events without waiting.
func poll(epoll int, events []unix.EpollEvent) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}

// waitEvents waits up to timeoutMs for events. It blocks, so the scheduler is
// told: otherwise a garbage collection would wait for it.
func waitEvents(epoll int, events []unix.EpollEvent, timeoutMs int) (int, error) {
	return unix.EpollWait(epoll, events, timeoutMs)
}

// ring raises an eventfd.
func ring(fd int) syscall.Errno {
	one := uint64(1)
	_, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
	return errno
}

// detach takes a connection's socket out of Go's poller: it returns a second
// descriptor of the socket, non-blocking as the first, and closes the first.
// On an error conn is unchanged.
func detach(conn net.Conn) (int, error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(first uintptr) {
		fd, dupErr = unix.FcntlInt(first, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil {
		err = dupErr
	}
	if err != nil {
		return -1, err
	}
	// The socket lives on in fd; closing the first descriptor cannot lose data.
	_ = conn.Close()
	return fd, nil
}
