package commands

import (
	"fmt"
	"slices"
	"strings"
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
	if n := fewestAllocations(func() { _, _ = c.session.Execute(out, argv) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	c.say("ACL", "SETUSER", "bob", "on", "nopass", "+get", "~k*", "~j*")
	c.say("AUTH", "bob", "x")
	if n := fewestAllocations(func() { _, _ = c.session.Execute(out, argv) }); n > 1 {
		t.Errorf("%v allocations of a limited user", n)
	}
}

// TestRevokedChannels: who listens to what it may no longer is disconnected, and
// nobody else.
func TestRevokedChannels(t *testing.T) {
	s, c := newTestClient(t)
	c.say("ACL", "SETUSER", "bob", "on", "nopass", "+@all", "&news:*", "&talk")
	listeners := map[string]*testClient{}
	for name, line := range map[string][]string{
		"channel": {"SUBSCRIBE", "talk"}, "pattern": {"PSUBSCRIBE", "news:*"}, "shard": {"SSUBSCRIBE", "news:1"}, "stays": {"SUBSCRIBE", "news:1", "news:2"},
		"silent": {"PING"},
	} {
		listeners[name] = s.connect(3)
		listeners[name].say("AUTH", "bob", "x")
		listeners[name].say(line...)
	}
	other := s.connect(3)
	other.say("SUBSCRIBE", "talk")
	connected := func() (names string) {
		for _, name := range []string{"channel", "pattern", "shard", "silent", "stays"} {
			if slices.Contains(s.clients, listeners[name]) {
				names += name + " "
			}
		}
		return names
	}
	for _, step := range []struct{ rules, want string }{
		{"&more", "channel pattern shard silent stays "},
		{"allchannels", "channel pattern shard silent stays "},
		{"resetchannels &news:? &talk", "channel shard silent stays "},
		{"resetchannels &news:*", "shard silent stays "},
		{"resetchannels &news:2 &news:1", "shard silent stays "},
		{"resetchannels", "silent "},
	} {
		c.say(append([]string{"ACL", "SETUSER", "bob"}, strings.Fields(step.rules)...)...)
		if have := connected(); have != step.want {
			t.Errorf("after %s: %s", step.rules, have)
		}
	}
	if !slices.Contains(s.clients, other) {
		t.Error("another user was disconnected")
	}
}
