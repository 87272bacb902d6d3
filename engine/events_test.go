package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"reminis/engine/table"
)

// This file owns the tests of how events leave the engine: in which order, and
// what they wait for.

func eventEngine(hear func(x *Event)) *Engine {
	e := Open(Options{Pool: table.NewPool(table.Options{})})
	e.Limits.SetEvents("KEA")
	e.OnEvent(hear)
	return e
}

// setAndTell sets key and tells of it as name.
func setAndTell(e *Engine, key, name string) (seq uint64) {
	tx := e.Begin()
	defer tx.Done()
	tx.LockKeys([][]byte{[]byte(key)})
	tx.SetString([]byte(key), []byte("v"), 0)
	tx.Notify(EventString, name, []byte(key))
	tx.Commit()
	return tx.Seq()
}

// TestEventsInOrder: the events of a key are heard in the order of its changes,
// one at a time, and before the transaction that tells them goes on.
func TestEventsInOrder(t *testing.T) {
	var hearing atomic.Bool
	last := map[string]uint64{} // by key; the listener is called by one at a time
	heard := sync.Map{}
	e := eventEngine(func(x *Event) {
		if hearing.Swap(true) {
			t.Error("two events at once")
		}
		if x.Seq <= last[x.Key] {
			t.Errorf("%s: %d is heard after %d", x.Key, x.Seq, last[x.Key])
		}
		last[x.Key] = x.Seq
		heard.Store(x.Name, true)
		hearing.Store(false)
	})
	e.Limits.GateAll.Store(true) // so that events carry their sequence
	var running sync.WaitGroup
	for g := range 4 {
		running.Go(func() {
			for i := range 500 {
				name := fmt.Sprint(g, "-", i)
				setAndTell(e, string("abc"[i%3]), name)
				if _, ok := heard.Load(name); !ok {
					t.Errorf("%s is not heard when its transaction is over", name)
				}
			}
		})
	}
	running.Wait()
}

// TestEventsGate: an event waits for what must be durable before its change is
// shown, and for nothing else; one of a mere read for what the read saw.
func TestEventsGate(t *testing.T) {
	var heard []Event
	e := eventEngine(func(x *Event) { heard = append(heard, *x) })
	if setAndTell(e, "k", "set"); len(heard) != 1 || heard[0] != (Event{Name: "set", Key: "k"}) {
		t.Errorf("heard %+v", heard)
	}
	e.Limits.GateAll.Store(true)
	seq := setAndTell(e, "k", "set")
	e.Limits.GateAll.Store(false)
	tx := e.Begin()
	tx.LockKeys([][]byte{[]byte("k")})
	tx.Notify(EventGeneric, "seen", []byte("k"))
	tx.Commit()
	tx.Done()
	if len(heard) != 3 || heard[1].Seq != seq || heard[2].Seq != seq || seq == 0 {
		t.Errorf("heard %+v, want the last two behind %d", heard, seq)
	}
}

func TestParseEventClasses(t *testing.T) {
	for letters, want := range map[string]EventClass{
		"": 0, "K": EventKeyspace, "E$": EventKeyevent | EventString, "A": EventAll,
		"g$lshzxetd": EventAll, "nm": EventNew | EventMiss, "?": 0,
	} {
		if have := parseEventClasses(letters); have != want {
			t.Errorf("%q is %b, want %b", letters, have, want)
		}
	}
}
