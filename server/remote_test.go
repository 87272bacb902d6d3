package server

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"reminis/commands"
)

// This file shows that keys move to a redis-server and back, and that a server that
// is not there or does not speak is noticed.

func TestMigrateBothWays(t *testing.T) {
	theirs := newAsker(t, startRedis(t))
	host, port, _ := net.SplitHostPort(theirs.conn.RemoteAddr().String())
	h := newHosted(t)
	ourHost, ourPort, _ := net.SplitHostPort(h.addr)
	c := h.dial()
	c.ask("SET", "text", strings.Repeat("long ", 100_000))
	c.ask("HSET", "hash", "f", "v")
	for _, move := range []struct {
		say  func(words ...string) string
		line []string
	}{
		{c.ask, []string{"MIGRATE", host, port, "text", "0", "1000"}},
		{c.ask, []string{"MIGRATE", host, port, "", "0", "1000", "KEYS", "none", "hash"}},
		{func(words ...string) string { return theirs.ask(words...)[0] }, []string{"MIGRATE", ourHost, ourPort, "", "0", "1000", "KEYS", "text", "hash"}},
	} {
		if have := move.say(move.line...); strings.TrimPrefix(have, "+") != "OK" {
			t.Fatalf("%q: %s", move.line, have)
		}
	}
	if have := theirs.ask("DBSIZE")[0]; strings.TrimPrefix(have, ":") != "0" {
		t.Errorf("redis still has %s keys", have)
	}
	if have := c.ask("STRLEN", "text"); have != ":500000" {
		t.Errorf("the text came back with %s bytes", have)
	}
	if have := c.ask("HGET", "hash", "f"); have != "v" {
		t.Errorf("the hash came back with %q", have)
	}
}

func TestRemote(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(ln.Addr().String())
	link, err := dialRemote(host, port, patience)
	if err != nil {
		t.Fatal(err)
	}
	// Nobody has accepted it, so nobody answers.
	link = remote{link.(remote).Conn, 20 * time.Millisecond}
	if n, err := link.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes from nobody", n)
	}
	link.Close()
	ln.Close()
	if _, err := dialRemote(host, port, patience); !errors.Is(err, commands.ErrRefused) {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := dialRemote(host, "x", patience); err == nil || errors.Is(err, commands.ErrRefused) {
		t.Errorf("no port: %v", err)
	}
}

// TestClientLibrary: what CLIENT SETINFO says is shown, and nothing before.
func TestClientLibrary(t *testing.T) {
	h := newHosted(t)
	c := h.dial()
	if line := c.ask("CLIENT", "INFO"); strings.Contains(line, "lib-") {
		t.Error(line)
	}
	c.ask("CLIENT", "SETINFO", "lib-ver", "1.2.3")
	if line := c.ask("CLIENT", "INFO"); !strings.HasSuffix(strings.TrimSpace(line), " resp=2 lib-name= lib-ver=1.2.3") {
		t.Error(line)
	}
}
