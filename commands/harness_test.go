package commands

import (
	"encoding/binary"
	"strconv"
	"sync"
	"testing"
	"time"

	"reminis/engine"
	"reminis/engine/table"
)

// This file owns what tests of commands run on: a processor with a clock that
// stands still, and clients without sockets. It must not know any command.

// fakeClock is the time of a test. It moves only when told.
type fakeClock struct{ nowMs int64 }

func (c *fakeClock) NowMs() int64 { return c.nowMs }

// testStartMs is when every test begins: 2023-11-14 22:13:20 UTC.
const testStartMs = 1_700_000_000_000

// fakeConfig is directives by name. A test that sets one that somebody follows
// has followed tell them.
type fakeConfig struct {
	values   map[string]string
	followed map[string]func(value string)
}

func (c fakeConfig) Get(name string) string { return c.values[name] }

func (c fakeConfig) Match(patterns []string, visit func(name, value string)) {
	for _, name := range patterns {
		if value, ok := c.values[name]; ok {
			visit(name, value)
		}
	}
}

func (c fakeConfig) Set(pairs []string, _ bool) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		c.values[pairs[i]] = pairs[i+1]
		if follow := c.followed[pairs[i]]; follow != nil {
			follow(pairs[i+1])
		}
	}
	return nil
}

func (fakeConfig) Rewrite(bool) error { return nil }

func (fakeConfig) Late(name string) bool { return name == "dir" }

func (fakeConfig) Sensitive(name string) bool { return name == "requirepass" }

// testServer is a processor and its clock.
type testServer struct {
	core      *Core
	clock     *fakeClock
	process   *fakeProcess
	store     *fakeStore
	snapshots *fakeSnapshots
	clients   []*testClient
	peers     int64
}

func newTestServer(table *Table, options engine.Options) *testServer {
	clock := &fakeClock{testStartMs}
	options.Clock = clock
	options.Memory.Keys = &numberedKeys{gone: map[uint64]bool{}}
	core := NewCore(engine.Open(options), table)
	core.Config = fakeConfig{
		values: map[string]string{"databases": "16", "dbfilename": "dump.rdb", "enable-debug-command": "yes", "maxmemory": "0", "maxmemory-policy": "noeviction", "hz": "10"},
		followed: map[string]func(string){
			"notify-keyspace-events": func(letters string) {
				core.Engine.Limits.SetEvents(letters)
			},
			"latency-monitor-threshold": func(ms string) {
				threshold, _ := strconv.ParseInt(ms, 10, 64)
				core.Observation.LatencyMs.Store(threshold)
			},
			"min-replicas-to-write": func(count string) { core.ReplicasWanted.Store(count != "0") },
			"maxmemory": func(size string) {
				limit, _ := strconv.ParseInt(size, 10, 64)
				core.Engine.Limits.MaxMemory.Store(limit)
			},
			"requirepass": core.Users.SetPassword,
			"aclfile":     func(name string) { core.UserFile = &fakeUserFile{name: name} },
		},
	}
	s := &testServer{core: core, clock: clock, process: &fakeProcess{}, store: &fakeStore{}}
	core.Clients, core.Process, core.Store = s, s.process, s.store
	core.Dial = func(string, string, time.Duration) (Link, error) { return nil, ErrRefused }
	core.Checkpoint = func() error { return nil }
	s.snapshots = &fakeSnapshots{}
	core.Snapshots = s.snapshots
	// How long a command takes is no fact of a test.
	core.Observation.SlowMicroseconds.Store(-1)
	return s
}

// numberedKeys gives the same keys to every run, so that hashes and chains are
// facts of a test.
type numberedKeys struct {
	mu   sync.Mutex
	last uint64
	gone map[uint64]bool
}

func (k *numberedKeys) Take() (number uint64, key [32]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	return k.last, numberedKey(k.last)
}

func (k *numberedKeys) Key(number uint64) (key [32]byte, ok bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone[number] {
		return key, false, nil
	}
	return numberedKey(number), true, nil
}

func (k *numberedKeys) Destroy(number uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone[number] = true
	return nil
}

func numberedKey(number uint64) (key [32]byte) {
	binary.BigEndian.PutUint64(key[:], number)
	return key
}

// testPool is memory without huge pages: tests hold little.
func testPool() *table.Pool { return table.NewPool(table.Options{}) }

// testClient is a client of a testServer.
type testClient struct {
	server  *testServer
	session *Session
	resumed chan func(out []byte) []byte
	mu      sync.Mutex // guards pushed
	pushed  []byte
	taken   int // how many of the bytes of the last reply were pushed
	id      int64
	blocks  bool     // its last command waits
	goesOn  bool     // its command runs while others do
	again   [][]byte // the command line that it executes once it is resumed
}

func (s *testServer) connect(proto int) *testClient {
	s.peers++
	c := &testClient{server: s, resumed: make(chan func(out []byte) []byte, 1), id: s.peers}
	c.session = s.core.NewSession(c)
	c.session.setProto(proto)
	s.clients = append(s.clients, c)
	return c
}

func (c *testClient) ID() int64                            { return c.id }
func (c *testClient) RemoteAddr() string                   { return "127.0.0.1:" + strconv.FormatInt(40000+c.id-1, 10) }
func (c *testClient) Resume(reply func(out []byte) []byte) { c.resumed <- reply }

func (c *testClient) Local() bool { return true }
func (c *testClient) Refresh()    {}

// do executes a command line and returns the bytes of its reply.
func (c *testClient) do(argv ...[]byte) []byte {
	c.taken, c.again = 0, nil
	out, next := c.session.Execute(nil, argv)
	if next == Retry || next == Postpone {
		c.again = copyArgs(argv)
	}
	if (next == Park || next == Retry) && !c.goesOn {
		return c.resume(<-c.resumed, out)
	}
	c.blocks = next == Block || next == Postpone
	return out
}

// resume does what the driver of a session does when it is resumed.
func (c *testClient) resume(reply func(out []byte) []byte, out []byte) []byte {
	c.blocks = false
	if reply != nil {
		return reply(out)
	}
	return append(out, c.do(c.again...)...)
}

// awake is what a client that blocked reads once it is served, nothing while it
// still waits.
func (c *testClient) awake() []byte {
	if c.goesOn {
		c.goesOn = false
		return c.resume(<-c.resumed, nil)
	}
	select {
	case reply := <-c.resumed:
		return c.resume(reply, nil)
	default:
		return nil
	}
}

// say is do for words, returned as text.
func (c *testClient) say(words ...string) string {
	argv := make([][]byte, len(words))
	for i, word := range words {
		argv[i] = []byte(word)
	}
	return string(c.do(argv...))
}

// newTestClient is one client of a server of its own.
func newTestClient(t testing.TB) (*testServer, *testClient) {
	t.Helper()
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	return s, s.connect(2)
}

// step is what a client reads when its line goes on and stops again.
func (c *testClient) step() []byte {
	reply := <-c.resumed
	c.goesOn = true
	return c.resume(reply, nil)
}

// fewestAllocations returns how often the best of several runs allocates: the race
// detector has pools drop what they keep, and other goroutines allocate as well.
func fewestAllocations(run func()) float64 {
	fewest := testing.AllocsPerRun(1, run)
	for range 50 {
		fewest = min(fewest, testing.AllocsPerRun(1, run))
	}
	return fewest
}
