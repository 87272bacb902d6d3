package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"reminis/commands"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/effect"
	"reminis/engine/table"
	"reminis/persistence"
)

// This file owns what the tests of the whole system run on: store, engine and
// commands wired as the server wires them, over a disk in memory that can crash
// and fail, with a clock that tests move. It must not know what is written.

// testDisk is a disk in memory. It counts the operations that write, and tells
// before each of them.
type testDisk struct {
	vfs.FS
	mem *vfs.MemFS

	// linkMu keeps clones and links apart: MemFS takes a read lock twice there.
	linkMu sync.RWMutex

	mu    sync.Mutex
	count int
	// before is called before operation count; the error that it returns is
	// what the operation gives.
	before func(count int, op errorfs.Op) error
}

// linkGuard is the part of a testDisk below the injection of errors.
type linkGuard struct {
	*vfs.MemFS
	disk *testDisk
}

func (g linkGuard) Link(source, target string) error {
	g.disk.linkMu.RLock()
	defer g.disk.linkMu.RUnlock()
	return g.MemFS.Link(source, target)
}

func newTestDisk() *testDisk { return diskOver(vfs.NewCrashableMem()) }

func diskOver(mem *vfs.MemFS) *testDisk {
	d := &testDisk{mem: mem}
	d.FS = errorfs.Wrap(linkGuard{mem, d}, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.count++
		if d.before == nil {
			return nil
		}
		return d.before(d.count, op)
	}))
	return d
}

// whenever sets what happens before each operation.
func (d *testDisk) whenever(before func(count int, op errorfs.Op) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

// operations is how many operations wrote so far.
func (d *testDisk) operations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// afterCrash is the disk as a crash at this moment leaves it: about percent of
// what was not synced is there.
func (d *testDisk) afterCrash(percent int, rng *rand.Rand) *vfs.MemFS {
	d.linkMu.Lock()
	defer d.linkMu.Unlock()
	return d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
}

// testClock stands still until a test moves it.
type testClock struct{ ms atomic.Int64 }

func (c *testClock) NowMs() int64 { return c.ms.Load() }

// testStartMs is when every test begins: 2023-11-14 22:13:20 UTC.
const testStartMs = 1_700_000_000_000

func clockAt(ms int64) *testClock {
	c := &testClock{}
	c.ms.Store(ms)
	return c
}

// worldDatabases is how many databases a world has.
const worldDatabases = 4

// world is a server without sockets.
type world struct {
	store   *persistence.Store
	journal *countingJournal
	archive *flippingArchive
	engine  *engine.Engine
	core    *commands.Core
	clock   *testClock
	keys    *persistence.Keyring
	peers   int64
}

// countingJournal notes the last batch that the engine made.
type countingJournal struct {
	journal
	appended atomic.Uint64
	begun    atomic.Uint64 // the last batch that may exist
	// over says that the store is closed: what happens then is kept nowhere.
	over atomic.Bool
}

func (j *countingJournal) Ready() error {
	if j.over.Load() {
		return nil
	}
	return j.journal.Ready()
}

func (j *countingJournal) Append(b *effect.Batch) (uint64, int64) {
	if j.over.Load() {
		return j.appended.Load(), b.TimeMs
	}
	j.begun.Store(j.appended.Load() + 1)
	seq, timeMs := j.journal.Append(b)
	j.appended.Store(seq)
	return seq, timeMs
}

// setting is what the worlds of one test have in common.
type setting struct {
	persistence.Options
	pool *table.Pool
}

// newSetting makes a short run contain all that a store does.
func newSetting(durability persistence.Durability) setting {
	return setting{pool: table.NewPool(table.Options{}), Options: persistence.Options{
		Durability: durability, SegmentBytes: 8 << 10, CheckpointBytes: 24 << 10, CacheBytes: 1 << 20,
		SyncInterval: time.Hour, // tests sync when they mean to
	}}
}

// openWorld opens the store on fs and recovers it. An error leaves nothing open.
func openWorld(fs vfs.FS, of setting, clock *testClock) (*world, error) {
	store, err := persistence.Open(fs, "data", of.Options)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	w := &world{store: store, clock: clock}
	master, _, err := persistence.MasterKey(fs, "data")
	if err == nil {
		w.keys, err = store.Keyring(master)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keys: %w", err), store.Close())
	}
	w.journal, w.archive = &countingJournal{journal: journal{store, w.keys}}, &flippingArchive{Archive: store}
	w.engine = engine.Open(engine.Options{
		Databases: worldDatabases, Journal: w.journal, Archive: w.archive, Eraser: store, Clock: clock, Pool: of.pool,
		GateAll: of.Durability == persistence.Always,
		Memory:  engine.MemoryOptions{Keys: w.keys},
	})
	if err := store.Recover(w.engine); err != nil {
		return nil, errors.Join(fmt.Errorf("recover: %w", err), w.keys.Close(), store.Close())
	}
	if err := w.keys.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("keys: %w", err), w.keys.Close(), store.Close())
	}
	w.journal.appended.Store(store.Stats().AppendedSeq)
	store.OnCheckpoint(w.engine.Checkpointed)
	w.engine.Checkpointed(store.CheckpointSeq())
	if _, err := w.engine.FinishErasures(); err != nil {
		return nil, errors.Join(fmt.Errorf("finish erasures: %w", err), w.keys.Close(), store.Close())
	}
	w.core = commands.NewCore(w.engine, commands.DefaultTable())
	w.core.Config, w.core.Process = testConfig{"databases": fmt.Sprint(worldDatabases), "enable-debug-command": "yes"}, testProcess{}
	w.core.Store = storeHost{store, w.engine, func() string { return "" }}
	w.core.WhenDurable = func(wake func()) { store.Notify(store.Durable()+1, wake) }
	w.core.WriteTimeout = func() time.Duration { return time.Minute }
	// Small thresholds, so that all forms are common.
	w.engine.Limits.SetIntsetEntries.Store(8)
	w.engine.Limits.HashListpackEntries.Store(8)
	w.engine.Limits.HashListpackValue.Store(20)
	return w, nil
}

func mustOpenWorld(t testing.TB, fs vfs.FS, of setting, clock *testClock) *world {
	t.Helper()
	w, err := openWorld(fs, of, clock)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// close ends the world cleanly and gives its memory back.
func (w *world) close() error {
	err := errors.Join(w.keys.Close(), w.store.Close())
	w.journal.over.Store(true)
	w.connect().do("FLUSHALL") // what was flushed goes in the background
	return err
}

// appended is the last batch that exists.
func (w *world) appended() uint64 { return w.journal.appended.Load() }

// testConfig is directives by name.
type testConfig map[string]string

func (c testConfig) Get(name string) string { return c[name] }

func (c testConfig) Match(patterns []string, visit func(name, value string)) {
	for _, name := range patterns {
		if value, ok := c[name]; ok {
			visit(name, value)
		}
	}
}

func (testConfig) Set([]string, bool) error { return errors.New("not in this test") }
func (testConfig) Sensitive(string) bool    { return false }
func (testConfig) Late(string) bool         { return false }
func (testConfig) Rewrite(bool) error       { return errors.New("not in this test") }

// testProcess is a process that nothing happens to.
type testProcess struct{}

func (testProcess) Figures() commands.Figures               { return commands.Figures{} }
func (testProcess) Log(string)                              {}
func (testProcess) LogAt(int, string)                       {}
func (testProcess) ResetFigures()                           {}
func (testProcess) Crash()                                  {}
func (testProcess) Shutdown(commands.ShutdownRequest) error { return errors.New("not in this test") }

// testClient is a session without a socket.
type testClient struct {
	session *commands.Session
	resumed chan func(out []byte) []byte
	id      int64
}

func (w *world) connect() *testClient {
	w.peers++
	c := &testClient{resumed: make(chan func(out []byte) []byte, 1), id: w.peers}
	c.session = w.core.NewSession(c)
	return c
}

func (c *testClient) ID() int64                            { return c.id }
func (c *testClient) RemoteAddr() string                   { return "127.0.0.1:40000" }
func (c *testClient) Local() bool                          { return true }
func (c *testClient) Refresh()                             {}
func (c *testClient) Aside(run func())                     { run() }
func (c *testClient) AppendLine(dst []byte) []byte         { return dst }
func (c *testClient) Push([]byte, uint64)                  {}
func (c *testClient) TakePushed(out []byte) []byte         { return out }
func (c *testClient) OutputMax() int                       { return 0 }
func (c *testClient) OverOutput()                          {}
func (c *testClient) Resume(reply func(out []byte) []byte) { c.resumed <- reply }

// do executes a command line and returns the bytes of its reply.
func (c *testClient) do(words ...string) string {
	argv := make([][]byte, len(words))
	for i, word := range words {
		argv[i] = []byte(word)
	}
	for {
		out, next := c.session.Execute(nil, argv)
		switch next {
		case commands.Park:
			return string((<-c.resumed)(out))
		case commands.Retry:
			<-c.resumed
			continue
		}
		return string(out)
	}
}

// items reads the scalars of a reply in order; aggregates count for nothing.
func items(text string) []string {
	var list []string
	data := []byte(text)
	for len(data) > 0 {
		item, rest, err := reply.Read(data)
		if err != nil {
			return append(list, fmt.Sprintf("malformed: %q", data))
		}
		if item.Kind != reply.KindArray && item.Kind != reply.KindMap && item.Kind != reply.KindSet {
			list = append(list, string(item.Text))
		}
		data = rest
	}
	return list
}

// dump prints every key of every database, as model.dump does.
func (w *world) dump() string {
	var out strings.Builder
	c := w.connect()
	defer c.session.Close()
	for db := range worldDatabases {
		c.do("SELECT", fmt.Sprint(db))
		keys := items(c.do("KEYS", "*"))
		slices.Sort(keys)
		for _, key := range keys {
			deadline := items(c.do("PEXPIRETIME", key))[0]
			switch kind := items(c.do("TYPE", key))[0]; kind {
			case "string":
				fmt.Fprintf(&out, "%d %q %q @%s\n", db, key, items(c.do("GET", key))[0], deadline)
			case "hash":
				fmt.Fprintf(&out, "%d %q %s @%s\n", db, key, fieldsText(items(c.do("HGETALL", key))), deadline)
			case "set":
				fmt.Fprintf(&out, "%d %q %s @%s\n", db, key, membersText(items(c.do("SMEMBERS", key))), deadline)
			case "zset":
				fmt.Fprintf(&out, "%d %q %s @%s\n", db, key, scoresText(items(c.do("ZRANGE", key, "0", "-1", "WITHSCORES"))), deadline)
			case "list":
				fmt.Fprintf(&out, "%d %q %s @%s\n", db, key, listText(items(c.do("LRANGE", key, "0", "-1"))), deadline)
			case "stream":
				var pending []string
				if len(items(c.do("XINFO", "GROUPS", key))) > 0 {
					pending = items(c.do("XPENDING", key, "g"))
				}
				fmt.Fprintf(&out, "%d %q %s @%s\n", db, key, streamText(items(c.do("XRANGE", key, "-", "+")), pending), deadline)
			case "memory":
				// Records have a dump of their own.
			default:
				fmt.Fprintf(&out, "%d %q is a %s\n", db, key, kind)
			}
		}
	}
	return out.String()
}

// membersText prints members in order.
func membersText(members []string) string {
	slices.Sort(members)
	return fmt.Sprintf("set of %d %q", len(members), members)
}

// fieldsText prints fields and values, by field.
func fieldsText(pairs []string) string {
	fields := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	out := fmt.Sprintf("hash of %d", len(pairs)/2)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		out += fmt.Sprintf(" %q:%q", field, fields[field])
	}
	return out
}

// difference is the lines of two texts that the other does not have.
func difference(got, want string) string {
	return "only there:\n" + without(got, want) + "only expected:\n" + without(want, got)
}

func without(a, b string) string {
	there := map[string]bool{}
	for line := range strings.Lines(b) {
		there[line] = true
	}
	out := ""
	for line := range strings.Lines(a) {
		if !there[line] {
			out += "  " + line
		}
	}
	return out
}
