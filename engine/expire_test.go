package engine

import (
	"testing"

	"reminis/engine/table"
)

// This file shows that deadlines that pass while active expiration is off are
// seen when it is turned on again.

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
