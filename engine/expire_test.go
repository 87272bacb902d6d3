package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"reminis/engine/table"
)

// This file shows that keys expire at their deadlines and no earlier, however often
// these moved, and that those that pass while active expiration is off are seen when
// it is turned on again.

type stillClock struct{ nowMs int64 }

func (c *stillClock) NowMs() int64 { return c.nowMs }

func TestActiveExpireTurnedOnAgain(t *testing.T) {
	clock := &stillClock{1000}
	e := Open(Options{Clock: clock, Pool: table.NewPool(table.Options{})})
	roused := func() bool {
		select {
		case <-e.expiry.wake:
			return true
		default:
			return false
		}
	}
	set := func(key string, deadlineMs int64) {
		tx := e.Begin()
		tx.LockKeys([][]byte{[]byte(key)})
		tx.SetString([]byte(key), []byte("v"), deadlineMs)
		tx.Commit()
		tx.Done()
	}
	for round := range 2 {
		e.SetActiveExpire(false)
		roused()
		set("key", clock.nowMs+10)
		clock.nowMs += 20
		roused()
		if next := e.ExpireDue(); next != noDeadline {
			t.Errorf("round %d: turned off, it expects something at %d", round, next)
		}
		if keys, _ := e.Size(0); keys != 1 {
			t.Errorf("round %d: turned off, %d keys are left of 1", round, keys)
		}
		e.SetActiveExpire(true)
		if !roused() {
			t.Errorf("round %d: nobody looks after it was turned on", round)
		}
		e.ExpireDue()
		if keys, _ := e.Size(0); keys != 0 {
			t.Errorf("round %d: turned on, %d keys are left", round, keys)
		}
		set("next", clock.nowMs+10)
		if !roused() {
			t.Errorf("round %d: nobody hears of a new deadline", round)
		}
		clock.nowMs += 20
		e.ExpireDue()
	}
}

// TestDeadlinesThatMove moves deadlines later, earlier and away, and expires keys in
// between. The order may not grow beyond the keys, nor forget one.
func TestDeadlinesThatMove(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	clock := &stillClock{1000}
	e := Open(Options{Clock: clock, Pool: table.NewPool(table.Options{})})
	const keys = 300
	shard := shardOf([]byte("{one}"))
	want := map[string]int64{} // deadline by key, 0: none
	for step := range 20_000 {
		key := fmt.Sprintf("{one}%d", r.IntN(keys))
		deadlineMs := clock.nowMs + 1 + int64(r.IntN(2000))
		tx := e.Begin()
		tx.LockKeys([][]byte{[]byte(key)})
		switch r.IntN(8) {
		case 0:
			tx.Delete([]byte(key))
			delete(want, key)
		case 1:
			tx.SetString([]byte(key), []byte("v"), 0)
			want[key] = 0
		default:
			if old := want[key]; r.IntN(3) > 0 { // as a session's does
				deadlineMs = old + 1
			}
			deadlineMs = max(deadlineMs, clock.nowMs+1)
			tx.SetString([]byte(key), []byte("v"), deadlineMs)
			want[key] = deadlineMs
		}
		tx.Commit()
		tx.Done()
		if step%50 != 49 {
			continue
		}
		clock.nowMs += int64(r.IntN(100))
		next, first := e.ExpireDue(), noDeadline
		for key, ms := range want {
			if past(ms, clock.nowMs) {
				delete(want, key)
			} else if ms != 0 {
				first = min(first, ms)
			}
		}
		size, withDeadline := e.Size(0)
		ks := e.shards[shard].space(0)
		if size != len(want) || withDeadline != ks.deadlines.entries || next > first {
			t.Fatalf("step %d: %d keys of %d, %d with a deadline, the next at %d instead of %d", step, size, len(want), withDeadline, next, first)
		}
		if err := ks.check(shard, 0); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if n := ks.deadlines.tree.Len(); n > 2*keys+sweepRun {
			t.Fatalf("step %d: %d items for %d keys with deadlines", step, n, withDeadline)
		}
	}
}

// TestExpiryTellsHowLong: each run that removed keys is told of, and no other.
func TestExpiryTellsHowLong(t *testing.T) {
	clock := &stillClock{1000}
	e := Open(Options{Clock: clock, Pool: table.NewPool(table.Options{})})
	runs := 0
	e.OnExpiry(func(took time.Duration) {
		if took < 0 {
			t.Errorf("a run took %v", took)
		}
		runs++
	})
	tx := e.Begin()
	tx.LockKeys([][]byte{[]byte("k")})
	tx.SetString([]byte("k"), []byte("v"), tx.NowMs()+10)
	tx.Commit()
	tx.Done()
	e.ExpireDue()
	if runs != 0 {
		t.Errorf("%d runs are told of where nothing has expired", runs)
	}
	clock.nowMs += 11
	e.ExpireDue()
	if runs != 1 {
		t.Errorf("%d runs are told of, want 1", runs)
	}
}
