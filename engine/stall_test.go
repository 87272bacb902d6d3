package engine

import (
	"sync"
	"testing"
)

// TestLockUnlessStalled: who yields waits for a short lock, gives up a long one, and
// leaves nothing locked behind.
func TestLockUnlessStalled(t *testing.T) {
	e := &Engine{}
	e.stall.open()
	var mu sync.Mutex
	mu.Lock()
	got := make(chan bool, 1)
	go func() { got <- e.lockUnlessStalled(&mu) }()
	e.Stall(true)
	if <-got {
		t.Fatal("a lock that is held was taken")
	}
	e.Stall(false)
	go func() { got <- e.lockUnlessStalled(&mu) }()
	mu.Unlock()
	if !<-got {
		t.Fatal("a lock that became free was given up")
	}
	mu.Unlock()
	for !mu.TryLock() {
		// The goroutine of the first one takes it and lets go.
	}
}

// TestYieldingTransaction: a transaction that gives up holds nothing.
func TestYieldingTransaction(t *testing.T) {
	e := Open(Options{})
	holder, tx := e.Begin(), e.Begin()
	holder.lockMask(1 << 5)
	e.Stall(true)
	tx.Yields = true
	if tx.LockAll(); !tx.Refused() || tx.held != 0 {
		t.Fatalf("refused %v, held %x", tx.Refused(), tx.held)
	}
	tx.Done()
	holder.Commit()
	holder.Done()
	e.Stall(false)
	tx = e.Begin()
	tx.Yields = true
	if tx.LockAll(); tx.Refused() {
		t.Fatal("refused, though nobody holds anything")
	}
	tx.Commit()
	tx.Done()
}

// TestRoomAtAStall: who makes room gives up where all locks are held for long, and
// takes it that there are keys to go.
func TestRoomAtAStall(t *testing.T) {
	e := Open(Options{})
	e.Limits.SetPolicy("allkeys-random")
	tx := e.Begin()
	key := []byte("k")
	tx.LockAll()
	tx.SetString(key, make([]byte, 1000), 0)
	tx.Commit()
	tx.LockAll()
	e.Stall(true)
	e.Limits.MaxMemory.Store(1)
	if !e.MakeRoom() {
		t.Error("there is no room, though nobody has looked")
	}
	tx.Commit()
	e.Stall(false)
	e.MakeRoom()
	tx.LockAll()
	if n := tx.Size(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	tx.Commit()
	tx.Done()
}
