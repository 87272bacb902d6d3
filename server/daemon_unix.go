//go:build linux || darwin

// This file owns what only Unix systems have, in the shape of Linux and macOS: sessions of processes, stop
// signals, descriptor limits.

package server

import "syscall"

// newSession takes a process away from its terminal.
func newSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// stopSelf is upstart's "expect stop".
func stopSelf() error { return syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }

// raiseDescriptors raises the limit of open descriptors so that it suffices for
// a number of clients, as far as the system lets it, and returns the limit.
func raiseDescriptors(clients uint64) uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	for _, wanted := range []uint64{clients + reservedDescriptors + storeDescriptors, clients + reservedDescriptors, uint64(limit.Max)} {
		if uint64(limit.Cur) >= wanted {
			break
		}
		raised := limit
		raised.Cur = wanted
		raised.Max = max(raised.Max, wanted)
		// Only a privileged process may raise the hard limit; who may not keeps
		// what it has.
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
			limit = raised
			break
		}
	}
	return uint64(limit.Cur)
}

// crashSelf sends the process a signal.
func crashSelf(sent syscall.Signal) error { return syscall.Kill(syscall.Getpid(), sent) }
