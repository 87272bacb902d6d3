// This file owns the proof that a real command processor is joined to
// connections, configuration and process. It must not know how.

package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"reminis/commands"
	"reminis/engine"
	"reminis/engine/table"
)

// hosted is a server with commands, which clients dial through a rig.
type hosted struct {
	*rig
	config    *Config
	core      *commands.Core
	shutdowns atomic.Int64
}

func newHosted(t *testing.T, arguments ...string) *hosted {
	t.Helper()
	config, err := Load(append(arguments, "--enable-debug-command", "yes"), strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	data := engine.Open(engine.Options{Pool: table.NewPool(table.Options{})})
	h := &hosted{rig: &rig{T: t}, config: config, core: commands.NewCore(data, commands.DefaultTable())}
	h.server, err = New(Options{Handler: Commands(h.core), Settings: config.Settings, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	Limit(config, h.core)
	Host(h.server, config, h.core, func() { h.shutdowns.Add(1) })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.server.Serve(ln); err != nil {
		t.Fatal(err)
	}
	h.addr = ln.Addr().String()
	t.Cleanup(func() {
		if err := h.server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// ask sends a line and returns its reply, a bulk string or a line.
func (c *client) ask(words ...string) string {
	c.Helper()
	c.send(request(words...))
	line, err := c.in.ReadString('\n')
	if err != nil {
		c.Fatal(err)
	}
	length := 0
	if n, _ := fmt.Sscanf(line, "$%d\r\n", &length); n == 0 || length < 0 {
		return strings.TrimSpace(line)
	}
	text := make([]byte, length+2)
	if _, err := io.ReadFull(c.in, text); err != nil {
		c.Fatal(err)
	}
	return string(text[:length])
}

func (c *client) asks(want string, words ...string) {
	c.Helper()
	if have := c.ask(words...); have != want {
		c.Errorf("%q: want %q, have %q", words, want, have)
	}
}

// TestClientList: the line of the client that asks shows the command that asks;
// the fields are Redis's, in its order.
func TestClientList(t *testing.T) {
	h := newHosted(t)
	c := h.dial()
	c.asks("+OK", "CLIENT", "SETNAME", "me")
	c.asks("+OK", "SELECT", "3")
	c.asks("+OK", "CLIENT", "NO-EVICT", "on")
	c.asks("+OK", "WATCH", "k")
	want := regexp.MustCompile(`^id=1 addr=127\.0\.0\.1:\d+ laddr=127\.0\.0\.1:\d+ fd=\d+ name=me age=\d+ idle=\d+ flags=e db=3 sub=0 psub=0 ssub=0 ` +
		`multi=-1 qbuf=\d+ qbuf-free=\d+ argv-mem=\d+ multi-mem=\d+ rbs=\d+ rbp=\d+ obl=\d+ oll=\d+ omem=\d+ tot-mem=\d+ events=r ` +
		`cmd=client\|(list|info) user=default redir=-1 resp=2\n$`)
	for _, words := range [][]string{{"CLIENT", "LIST"}, {"CLIENT", "INFO"}, {"CLIENT", "LIST", "ID", "1"}, {"CLIENT", "LIST", "TYPE", "normal"}} {
		if have := c.ask(words...); !want.MatchString(have) {
			t.Errorf("%q: %q", words, have)
		}
	}
	c.asks("+OK", "MULTI")
	c.asks("+QUEUED", "PING")
	other := h.dial()
	if have := other.ask("CLIENT", "LIST"); !strings.Contains(have, " flags=xe db=3 ") || !strings.Contains(have, " multi=1 ") || !strings.Contains(have, " cmd=multi ") {
		t.Errorf("have %q", have)
	}
}

func TestClientKill(t *testing.T) {
	h := newHosted(t)
	c, victim := h.dial(), h.dial()
	victim.asks("+PONG", "PING")
	c.asks("+OK", "CLIENT", "KILL", victim.LocalAddr().String())
	victim.expectGone()
	c.asks("-ERR No such client", "CLIENT", "KILL", victim.LocalAddr().String())
	second := h.dial()
	second.asks(":3", "CLIENT", "ID")
	c.asks(":1", "CLIENT", "KILL", "ID", "3")
	second.expectGone()
	// Its own end comes behind the reply.
	c.asks(":1", "CLIENT", "KILL", "LADDR", h.addr, "SKIPME", "no")
	c.expectEnd()
}

func TestRequirePass(t *testing.T) {
	h := newHosted(t)
	c := h.dial()
	c.asks("+OK", "CONFIG", "SET", "requirepass", "secret")
	c.asks("+PONG", "PING")
	other := h.dial()
	other.asks("-NOAUTH Authentication required.", "PING")
	other.asks("-WRONGPASS invalid username-password pair or user is disabled.", "AUTH", "wrong")
	other.asks("+OK", "AUTH", "secret")
	other.asks("+PONG", "PING")
	other.asks("+OK", "CONFIG", "SET", "requirepass", "")
	h.dial().asks("+PONG", "PING")
}

// TestLimitsFollowDirectives: what the data's limits come from takes effect at
// once, at the start as well as by CONFIG SET.
func TestLimitsFollowDirectives(t *testing.T) {
	h := newHosted(t, "--hash-max-ziplist-entries", "2")
	c := h.dial()
	c.ask("HSET", "h", "a", "1", "b", "2")
	c.asks("listpack", "OBJECT", "ENCODING", "h")
	c.ask("HSET", "h", "c", "3")
	c.asks("hashtable", "OBJECT", "ENCODING", "h")
	c.asks("+OK", "CONFIG", "SET", "hash-max-listpack-entries", "10", "maxmemory-policy", "allkeys-lfu")
	c.ask("HSET", "i", "a", "1", "b", "2", "c", "3")
	c.asks("listpack", "OBJECT", "ENCODING", "i")
	c.asks("$-1", "OBJECT", "FREQ", "nosuch")
	c.asks(":1", "MEM.SET", "ai:u1:s1:a", "1")
	c.asks("+OK", "CONFIG", "SET", "mem-consent", "required")
	c.asks("-NOCONSENT ai:u1 has not consented to profile records", "MEM.SET", "ai:u1:s1:a", "2")
	c.asks(":2", "MEM.CONSENT", "GRANT", "ai:u1")
	c.asks(":2", "MEM.SET", "ai:u1:s1:a", "2")
}

// TestSortedSetsFollowDirectives: both thresholds, by either name, hold for what is
// written from then on.
func TestSortedSetsFollowDirectives(t *testing.T) {
	h := newHosted(t, "--zset-max-ziplist-entries", "2")
	c := h.dial()
	c.asks(":2", "ZADD", "few", "1", "a", "2", "b")
	c.asks("listpack", "OBJECT", "ENCODING", "few")
	c.asks(":1", "ZADD", "few", "3", "c")
	c.asks("skiplist", "OBJECT", "ENCODING", "few")
	c.asks("+OK", "CONFIG", "SET", "zset-max-listpack-entries", "3", "zset-max-ziplist-value", "4")
	c.asks(":3", "ZADD", "three", "1", "a", "2", "b", "3", "four")
	c.asks("listpack", "OBJECT", "ENCODING", "three")
	c.asks(":1", "ZADD", "long", "1", "fives")
	c.asks("skiplist", "OBJECT", "ENCODING", "long")
	c.asks("skiplist", "OBJECT", "ENCODING", "few")
}

// TestConfigSetReachesEveryLimit: each limit of the engine has a directive here, so
// that one which is added without is found, and follows it while the server runs.
func TestConfigSetReachesEveryLimit(t *testing.T) {
	h := newHosted(t)
	c := h.dial()
	var events engine.Limits
	events.SetEvents("Kg")
	directives := map[string]struct {
		name, text string
		want       int64
	}{
		"HashListpackEntries":      {"hash-max-listpack-entries", "11", 11},
		"HashListpackValue":        {"hash-max-listpack-value", "12", 12},
		"SetIntsetEntries":         {"set-max-intset-entries", "13", 13},
		"SortedSetListpackEntries": {"zset-max-listpack-entries", "14", 14},
		"SortedSetListpackValue":   {"zset-max-listpack-value", "15", 15},
		"Uncompressed":             {"rdbcompression", "no", 1},
		"HLLSparse":                {"hll-sparse-max-bytes", "16", 16},
		"ListNode":                 {"list-max-listpack-size", "17", 17},
		"StreamNodeBytes":          {"stream-node-max-bytes", "18", 18},
		"StreamNodeEntries":        {"stream-node-max-entries", "19", 19},
		"StringMax":                {"proto-max-bulk-len", "2mb", 2 << 20},
		"MaxMemory":                {"maxmemory", "3gb", 3 << 30},
		"ConsentRequired":          {"mem-consent", "required", 1},
		"Events":                   {"notify-keyspace-events", "Kg", int64(events.Events.Load())},
		"LFU":                      {"maxmemory-policy", "allkeys-lfu", 1},
		"Samples":                  {"maxmemory-samples", "9", 9},
	}
	// The store decides with these; who wires the two keeps them (cmd/reminis).
	elsewhere := []string{"GateAll", "GateRecords"}
	limits := reflect.ValueOf(&h.core.Engine.Limits).Elem()
	for i := range limits.NumField() {
		field := limits.Type().Field(i)
		if !field.IsExported() || slices.Contains(elsewhere, field.Name) {
			continue
		}
		directive, there := directives[field.Name]
		if !there {
			t.Errorf("no directive sets %s", field.Name)
			continue
		}
		if have := loadLimit(limits.Field(i)); have == directive.want {
			t.Errorf("%s is %d before it is set", field.Name, have)
		}
		c.asks("+OK", "CONFIG", "SET", directive.name, directive.text)
		if have := loadLimit(limits.Field(i)); have != directive.want {
			t.Errorf("%s after CONFIG SET %s %s: want %d, have %d", field.Name, directive.name, directive.text, directive.want, have)
		}
	}
}

// loadLimit is a limit as a number.
func loadLimit(field reflect.Value) int64 {
	switch limit := field.Addr().Interface().(type) {
	case *atomic.Int64:
		return limit.Load()
	case *atomic.Uint32:
		return int64(limit.Load())
	case *atomic.Bool:
		if limit.Load() {
			return 1
		}
		return 0
	}
	panic("server: a limit of type " + field.Type().String())
}

func TestShutdown(t *testing.T) {
	h := newHosted(t)
	c := h.dial()
	c.sendAway(request("SHUTDOWN", "NOSAVE"))
	c.expectEnd()
	if h.shutdowns.Load() != 1 {
		t.Errorf("%d shutdowns", h.shutdowns.Load())
	}
}

func TestFigures(t *testing.T) {
	h := newHosted(t)
	c := h.dial()
	c.asks("+OK", "SET", "k", "v", "EX", "100")
	info := c.ask("INFO", "everything")
	for _, field := range []string{
		"redis_version:7.0.15", "server_name:reminis", "process_id:" + fmt.Sprint(os.Getpid()), "connected_clients:1", "maxclients:10000",
		"total_connections_received:1", "total_commands_processed:2", "role:master", "rejected_connections:0",
		"cmdstat_set:calls=1", "cluster_enabled:0", "db0:keys=1,expires=1,avg_ttl=", "aof_enabled:0", "maxmemory_policy:noeviction",
	} {
		if !strings.Contains(info, "\r\n"+field) {
			t.Errorf("no %s in %s", field, info)
		}
	}
	for _, name := range []string{"used_memory", "used_memory_rss", "total_system_memory", "total_net_input_bytes", "total_reads_processed"} {
		if found := regexp.MustCompile(`\r\n` + name + `:(\d+)\r\n`).FindStringSubmatch(info); found == nil || found[1] == "0" {
			t.Errorf("%s is %q", name, found)
		}
	}
	c.asks("+OK", "CONFIG", "RESETSTAT")
	if info := c.ask("INFO", "stats"); !strings.Contains(info, "total_connections_received:0\r\n") {
		t.Errorf("after RESETSTAT: %s", info)
	}
}

// quietConn is a connection of which a session only wants to be known.
type quietConn struct {
	Conn
	info Info
}

func (c *quietConn) Info() *Info { return &c.info }
func (c *quietConn) ID() int64   { return 1 }

func (c *quietConn) RemoteAddr() string { return "127.0.0.1:1" }

// TestCommandAllocations: telling the client registry about a command that changes
// nothing there allocates nothing.
func TestCommandAllocations(t *testing.T) {
	h := newHosted(t)
	x := Commands(h.core).Open(&quietConn{})
	set, get := [][]byte{[]byte("SET"), []byte("k"), []byte("v")}, [][]byte{[]byte("GET"), []byte("k")}
	out := make([]byte, 0, 100)
	for _, argv := range [][][]byte{set, get} {
		// The fewest of several runs: the race detector has pools drop what they keep.
		fewest := 1e9
		for range 50 {
			fewest = min(fewest, testing.AllocsPerRun(1, func() { x.Execute(out, argv) }))
		}
		if fewest > 0 {
			t.Errorf("%v allocations for %s", fewest, argv[0])
		}
	}
}
