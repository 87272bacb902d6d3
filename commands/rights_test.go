package commands

import (
	"fmt"
	"testing"
)

// TestDeniedEventsAreBounded: however many kinds of denial there are, so many are
// told apart; the rest are counted together, and none is lost.
func TestDeniedEventsAreBounded(t *testing.T) {
	var d deniedEvents
	const kinds = 3 * denialKindsMax
	for i := range kinds {
		d.note(denialKind{"bob", "mem.get", fmt.Sprint("ai:", i, ":a")}, "c", 0)
	}
	if n := len(d.kinds); n != denialKindsMax+1 {
		t.Errorf("%d kinds are kept", n)
	}
	first := d.take()
	d.note(denialKind{"bob", "mem.get", "ai:0:a"}, "c", denialWindowMs)
	var told int64
	for _, event := range append(first, d.take()...) {
		told += event.count
	}
	if told != kinds+1 {
		t.Errorf("%d of %d denials are told", told, kinds+1)
	}
	if n := len(d.kinds); n != 1 {
		t.Errorf("%d kinds are left after their minute", n)
	}
}

// TestUnrestrictedCostsNothing: who may do everything pays no allocation for it.
func TestUnrestrictedCostsNothing(t *testing.T) {
	_, c := newTestClient(t)
	c.say("SET", "k", "v")
	argv := [][]byte{[]byte("GET"), []byte("k")}
	out := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { _, _ = c.session.Execute(out, argv) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	c.say("ACL", "SETUSER", "bob", "on", "nopass", "+get", "~k*", "~j*")
	c.say("AUTH", "bob", "x")
	if n := testing.AllocsPerRun(100, func() { _, _ = c.session.Execute(out, argv) }); n > 1 {
		t.Errorf("%v allocations of a limited user", n)
	}
}
