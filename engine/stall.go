package engine

import (
	"sync"
	"sync/atomic"
)

// This file owns locks that are held for long (by a script), and how others get away
// from waiting for them: a driver of sessions that waited could not even be told to end
// who holds them. It must not know who that is.

// stall is closed while a transaction holds locks for long; a new one stands here else.
type stall struct{ now atomic.Pointer[chan struct{}] }

func (s *stall) open() {
	begun := make(chan struct{})
	s.now.Store(&begun)
}

// Stall says that a transaction holds its locks for long, or that none does any more.
// One caller at a time calls it, each time with the other word.
func (e *Engine) Stall(on bool) {
	if on {
		close(*e.stall.now.Load())
		return
	}
	e.stall.open()
}

// lockSpins is how often a lock is tried before a goroutine is taken to wait for it:
// for longer than a command takes.
const lockSpins = 100

// lockUnlessStalled locks, or reports false once a transaction holds locks for long. A
// goroutine waits in the caller's place, as a wait for a mutex cannot be ended.
func (e *Engine) lockUnlessStalled(mu *sync.Mutex) bool {
	for range lockSpins {
		if mu.TryLock() {
			return true
		}
	}
	var decided atomic.Bool // what becomes of the lock
	locked := make(chan struct{})
	go func() {
		mu.Lock()
		if !decided.CompareAndSwap(false, true) {
			mu.Unlock()
			return
		}
		close(locked)
	}()
	select {
	case <-locked:
		return true
	case <-*e.stall.now.Load():
	}
	if decided.CompareAndSwap(false, true) {
		return false
	}
	<-locked
	return true
}
