package commands

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"reminis/engine"
)

// This file tests snapshots of servers without a store: what is in one, who may ask,
// how one ends. Those of a store are tested where the store is.

// eachType are lines that make a key of each type and form.
func eachType(r *rand.Rand) (lines [][]string) {
	add := func(words ...string) { lines = append(lines, words) }
	text := func() string {
		switch r.IntN(4) {
		case 0:
			return fmt.Sprint(r.IntN(1 << 20))
		case 1:
			return strings.Repeat(fmt.Sprint(r.IntN(10)), 1+r.IntN(300))
		case 2:
			return fmt.Sprintf("bytes \x00\xff\r\n %d", r.Uint64())
		}
		return fmt.Sprintf("text:%d", r.IntN(1000))
	}
	for n := range 12 {
		key := func(kind string) string { return fmt.Sprintf("%s:%d", kind, n) }
		// Few elements, or more than any threshold.
		many := 1 + r.IntN(20)
		if n%4 == 3 {
			many = 600
		}
		if n%3 == 0 {
			add("SELECT", fmt.Sprint(r.IntN(16)))
		}
		add("SET", key("string"), text())
		add("SETRANGE", key("raw"), fmt.Sprint(r.IntN(100)), text())
		for range many {
			add("RPUSH", key("list"), text())
			add("SADD", key("set"), text())
			add("SADD", key("ints"), fmt.Sprint(r.IntN(1<<40)-1<<39))
			add("ZADD", key("zset"), fmt.Sprint(r.NormFloat64()), text())
			add("HSET", key("hash"), text(), text())
			add("XADD", key("stream"), fmt.Sprintf("%d-*", len(lines)), text(), text())
		}
		add("ZADD", key("zset"), "inf", "most", "-inf", "least")
		add("RPUSH", key("list"), strings.Repeat("long", 5000))
		add("XGROUP", "CREATE", key("stream"), "g", "0")
		add("XREADGROUP", "GROUP", "g", "c", "COUNT", "3", "STREAMS", key("stream"), ">")
		add("PFADD", key("hll"), text(), text())
		add("PEXPIREAT", key([]string{"string", "list", "set", "hash", "stream"}[n%5]), fmt.Sprint(4_000_000_000_000+int64(n)))
	}
	add("FUNCTION", "LOAD", "REPLACE", "#!lua name=lib\nredis.register_function('f', function() return 7 end)")
	return lines
}

// fillServer says lines, none of which may be refused.
func fillServer(t *testing.T, c *testClient, lines [][]string) {
	t.Helper()
	for _, line := range lines {
		if got := c.say(line...); strings.HasPrefix(got, "-") {
			t.Fatalf("%.100q: %s", line, got)
		}
	}
}

// eachDeadline lists the deadlines of all keys of a server.
func eachDeadline(core *Core) (lines []string) {
	tx := core.Engine.Begin()
	defer tx.Done()
	tx.LockAll()
	defer tx.Commit()
	for tx.DB = range tx.Databases() {
		var keys []string
		tx.Keys(func(key []byte) { keys = append(keys, string(key)) })
		for _, key := range keys {
			if deadlineMs, _ := tx.DeadlineMs([]byte(key)); deadlineMs != 0 {
				lines = append(lines, fmt.Sprintf("%d %s %d", tx.DB, key, deadlineMs))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func TestASnapshotHasEverything(t *testing.T) {
	r := seeded(t)
	for _, line := range [][]string{{"SAVE"}, {"DEBUG", "RELOAD"}, {"BGSAVE"}} {
		s, c := newTestClient(t)
		s.core.Store, s.core.Checkpoint = nil, nil
		fillServer(t, c, eachType(r))
		want, deadlines, before := c.say("DEBUG", "DIGEST"), eachDeadline(s.core), s.core.Engine.Stats().Hits.Load()
		if got := c.say(line...); !strings.HasPrefix(got, "+") {
			t.Fatalf("%q: %s", line, got)
		}
		s.waitForSave()
		if line[0] != "DEBUG" && s.core.Engine.Stats().Hits.Load() != before {
			t.Errorf("%q: it counts as reading", line)
		}
		if got := c.say("DEBUG", "RELOAD", "NOSAVE"); got != "+OK\r\n" {
			t.Fatal(got, s.process.log)
		}
		if got := c.say("DEBUG", "DIGEST"); got != want {
			t.Errorf("%q: want %s have %s", line, want, got)
		}
		if got := eachDeadline(s.core); fmt.Sprint(got) != fmt.Sprint(deadlines) {
			t.Errorf("%q: deadlines\nwant %q\nhave %q", line, deadlines, got)
		}
		if got := c.say("FCALL", "f", "0"); got != ":7\r\n" {
			t.Errorf("%q: the function: %s", line, got)
		}
		if err := s.core.Engine.Check(); err != nil {
			t.Error(err)
		}
	}
}

// waitForSave returns once no snapshot is being written.
func (s *testServer) waitForSave() {
	s.core.saves.mu.Lock()
	now := s.core.saves.now
	s.core.saves.mu.Unlock()
	if now != nil {
		<-now.ended
	}
}

func TestSavePoints(t *testing.T) {
	s, c := newTestClient(t)
	s.core.Store = nil
	due := func(want bool, seconds, changes int64) {
		t.Helper()
		if got := s.core.SaveIfDue(seconds, changes); got != want {
			t.Errorf("%d changes in %d seconds: %v", changes, seconds, got)
		}
		s.waitForSave()
	}
	c.say("SAVE")
	s.clock.nowMs += 1000_000
	due(false, 1, 0) // nothing has changed
	c.say("SET", "a", "1")
	c.say("SET", "b", "1")
	due(false, 900, 3)
	due(false, 1000, 2)
	due(true, 999, 2)
	if got := s.process.log[1]; got != "2 2 changes in 999 seconds. Saving..." {
		t.Error(got)
	}
	due(false, 1, 1)
	s.clock.nowMs += 10_000
	due(false, 1, 1)

	// One that failed is tried again after five seconds.
	c.say("SET", "a", "2")
	failure := errors.New("no room")
	s.snapshots.visit = func([]byte) error { return failure }
	due(true, 1, 1)
	s.snapshots.visit = nil
	s.clock.nowMs += 5000
	due(false, 1, 1)
	s.clock.nowMs++
	due(true, 1, 1)
	due(false, 1, 1)
}

func TestASnapshotHasNoRecords(t *testing.T) {
	s, c := newTestClient(t)
	s.core.Store = nil
	c.say("SET", "plain", "1")
	c.say("MEM.SET", "app:u1:s1:name", `"Ada"`)
	if got := c.say("SAVE"); got != "+OK\r\n" {
		t.Fatal(got)
	}
	if strings.Contains(string(s.snapshots.data), "Ada") || strings.Contains(string(s.snapshots.data), "app:u1") {
		t.Errorf("%q", s.snapshots.data)
	}
	if got := s.process.log[0]; got != "2 DB saved on disk; 1 memory records are in the store alone" {
		t.Error(got)
	}
	// So it is no way to make the memory anew.
	if got := c.say("DEBUG", "RELOAD"); got != "-"+string(errReloadRecords)+"\r\n" {
		t.Error(got)
	}
	if got := c.say("MEM.GET", "app:u1:s1:name"); got != "$5\r\n\"Ada\"\r\n" {
		t.Error(got)
	}
}

// As in Redis, keys carry how they are used when that is what is evicted by.
func TestASnapshotSaysHowKeysAreUsed(t *testing.T) {
	for _, policy := range []string{"allkeys-lfu", "volatile-lru"} {
		s, c := newTestClient(t)
		s.core.Store = nil
		s.core.Config.(fakeConfig).values["maxmemory-policy"] = policy
		s.core.Engine.Limits.SetPolicy(policy)
		c.say("SET", "key", "value")
		use, look := []string{"FREQ", "77"}, "FREQ"
		if policy == "volatile-lru" {
			use, look = []string{"IDLETIME", "5000"}, "IDLETIME"
		}
		payload := c.say("DUMP", "key")
		payload = payload[strings.Index(payload, "\n")+1 : len(payload)-2]
		c.say(append([]string{"RESTORE", "used", "0", payload}, use...)...)
		c.say("BGSAVE")
		s.waitForSave()
		c.say("FLUSHALL")
		if got := c.say("DEBUG", "RELOAD", "NOSAVE"); got != "+OK\r\n" {
			t.Fatal(got, s.process.log)
		}
		if got := c.say("OBJECT", look, "used"); got != ":"+use[1]+"\r\n" {
			t.Errorf("%s: %s", policy, got)
		}
	}
}

func TestFlushAllEndsASnapshot(t *testing.T) {
	s, c := newTestClient(t)
	s.core.Store = nil
	for n := range 100 {
		c.say("SET", fmt.Sprint("key", n), "value")
	}
	other := s.connect(2)
	written := 0
	s.snapshots.visit = func([]byte) error {
		if written++; written == 50 {
			other.say("FLUSHALL")
		}
		return nil
	}
	c.say("BGSAVE")
	s.waitForSave()
	if s.snapshots.data != nil || written > 51 {
		t.Errorf("after %d keys there is a snapshot of %d bytes", written, len(s.snapshots.data))
	}
	info := c.say("INFO", "persistence")
	for _, want := range []string{"rdb_bgsave_in_progress:0", "rdb_last_bgsave_status:ok", "rdb_changes_since_last_save:116", "rdb_saves:0"} {
		if !strings.Contains(info, want) {
			t.Errorf("want %s in\n%s", want, info)
		}
	}
}

func TestOneSnapshotAtATime(t *testing.T) {
	s, c := newTestClient(t)
	s.core.Store = nil
	c.say("SET", "key", "value")
	var inside sync.Once
	other := s.connect(2)
	s.snapshots.visit = func([]byte) error {
		inside.Do(func() {
			for _, line := range [][]string{{"SAVE"}, {"BGSAVE"}, {"BGSAVE", "SCHEDULE"}} {
				if got := other.say(line...); got != "-"+string(errSaving)+"\r\n" {
					t.Errorf("%q meanwhile: %s", line, got)
				}
			}
			if got := other.say("BGREWRITEAOF"); got != "+Background append only file rewriting scheduled\r\n" {
				t.Errorf("BGREWRITEAOF meanwhile: %s", got)
			}
			for _, want := range []string{"rdb_bgsave_in_progress:1", "aof_rewrite_scheduled:1", "aof_rewrite_in_progress:0",
				"current_save_keys_total:1", "rdb_current_bgsave_time_sec:0"} {
				if info := other.say("INFO", "persistence"); !strings.Contains(info, want) {
					t.Errorf("want %s in\n%s", want, info)
				}
			}
		})
		return nil
	}
	c.say("BGSAVE")
	s.waitForSave()
	for s.core.rewriting.running.Load() {
	}
	if got := s.core.rewriting.times.Load(); got != 1 || s.core.rewriting.scheduled.Load() {
		t.Errorf("%d checkpoints were written", got)
	}
}

// A transaction that begins a snapshot holds what is measured then.
func TestATransactionBeginsASnapshot(t *testing.T) {
	s, c := newTestClient(t)
	s.core.Store = nil
	for _, line := range []string{"MULTI", "SET a 1", "BGSAVE", "FLUSHDB", "SET b 2", "DBSIZE"} {
		c.say(strings.Fields(line)...)
	}
	if got := c.say("EXEC"); !strings.Contains(got, "+Background saving started\r\n") {
		t.Fatal(got)
	}
	s.waitForSave()
	c.say("FLUSHDB")
	if got := c.say("DEBUG", "RELOAD", "NOSAVE"); got != "+OK\r\n" || c.say("GET", "b") != "$1\r\n2\r\n" || c.say("DBSIZE") != ":1\r\n" {
		t.Error("it has a part of the transaction")
	}
}

func TestASnapshotThatFailsLeavesTheLastOne(t *testing.T) {
	s, c := newTestClient(t)
	s.core.Store = nil
	c.say("SET", "key", "value")
	c.say("SAVE")
	good := s.snapshots.data
	s.snapshots.visit = func([]byte) error { return errors.New("no space left on device") }
	s.clock.nowMs += 5000
	if got := c.say("SAVE"); got != "-ERR no space left on device\r\n" {
		t.Error(got)
	}
	c.say("SET", "more", "value")
	if got := c.say("BGSAVE"); got != "+Background saving started\r\n" {
		t.Error(got)
	}
	s.waitForSave()
	info := c.say("INFO", "persistence")
	for _, want := range []string{"rdb_last_bgsave_status:err", "rdb_changes_since_last_save:1", "rdb_saves:1", fmt.Sprint("rdb_last_save_time:", testStartMs/1000)} {
		if !strings.Contains(info, want) {
			t.Errorf("want %s in\n%s", want, info)
		}
	}
	if string(s.snapshots.data) != string(good) {
		t.Error("the snapshot was replaced")
	}
	if got := c.say("DEBUG", "RELOAD"); got != "-"+string(errReloadSave)+"\r\n" {
		t.Error(got)
	}
	// Nothing else keeps what a pure cache has, so SHUTDOWN SAVE does not end it.
	if got := c.say("SHUTDOWN", "SAVE"); got != "-"+string(errShutdown)+"\r\n" || len(s.process.shutdowns) != 0 {
		t.Error(got)
	}
	if c.say("SHUTDOWN", "SAVE", "FORCE"); len(s.process.shutdowns) != 1 {
		t.Error("SHUTDOWN SAVE FORCE does not end it")
	}
}

func TestReloadOptions(t *testing.T) {
	s, c := newTestClient(t)
	for _, step := range []struct{ line, want string }{
		{"SET key old", "+OK\r\n"},
		{"SAVE", "+OK\r\n"},
		{"SET key new", "+OK\r\n"},
		{"SET more 1", "+OK\r\n"},
		{"DEBUG RELOAD NOSAVE NOFLUSH", "-" + string(errReloadFile) + "\r\n"},
		{"GET key", "$3\r\nnew\r\n"},
		{"DEBUG RELOAD NOSAVE NOFLUSH MERGE", "+OK\r\n"},
		{"MGET key more", "*2\r\n$3\r\nold\r\n$1\r\n1\r\n"},
		{"DEBUG RELOAD NOSAVE", "+OK\r\n"},
		{"EXISTS more", ":0\r\n"},
		{"DEBUG RELOAD SIDEWAYS", "-" + string(errReloadOption) + "\r\n"},
		{"MULTI", "+OK\r\n"},
		{"DEBUG RELOAD", "+QUEUED\r\n"},
		{"EXEC", "*1\r\n-" + string(ErrNoMulti) + "\r\n"},
	} {
		if got := c.say(strings.Fields(step.line)...); got != step.want {
			t.Errorf("%s: want %q have %q", step.line, step.want, got)
		}
	}
	// What cannot be read flushes nothing.
	s.snapshots.data[20] ^= 1
	if got := c.say("DEBUG", "RELOAD", "NOSAVE"); got != "-"+string(errReloadFile)+"\r\n" {
		t.Error(got)
	}
	if got := c.say("GET", "key"); got != "$3\r\nold\r\n" {
		t.Error(got)
	}
}

// What a file may have that this server has no place for.
func TestLoaderRefuses(t *testing.T) {
	s, c := newTestClient(t)
	s.core.Store = nil
	c.say("SELECT", "9")
	c.say("SET", "key", "value", "PX", "50")
	c.say("SAVE")
	small := newTestServer(DefaultTable(), engine.Options{Pool: testPool(), Databases: 4})
	small.snapshots.data = s.snapshots.data
	loader := small.core.NewLoader()
	if err := small.snapshots.Read(loader); err == nil || !strings.Contains(err.Error(), "directive databases") {
		t.Errorf("a database that is not here: %v", err)
	}
	loader.Close()
	loader = small.core.NewLoader()
	var said []string
	loader.Log = func(text string) { said = append(said, text) }
	if err := loader.Key(0, []byte("empty\n"), nil, 0, -1, -1); err != nil || loader.Empty != 1 || !slices.Equal(said, []string{`skipping empty key: empty\n`}) {
		t.Errorf("a collection without elements: %v, %q", err, said)
	}
	loader.Close()
	late := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	late.clock.nowMs += 50
	loader = late.core.NewLoader()
	if err := s.snapshots.Read(loader); err != nil || loader.Expired != 1 || loader.Keys != 0 {
		t.Errorf("an expired key: %v, %+v", err, loader.LoadFigures)
	}
	loader.Close()
	if got := late.connect(2).say("INFO", "persistence"); !strings.Contains(got, "rdb_last_load_keys_expired:1\r\n") {
		t.Error(got)
	}
}

// fillRecords writes memory records of several owners, kinds and databases, and says what
// MEM.GET shows of each.
func fillRecords(t *testing.T, c *testClient) (shown func(c interface{ say(words ...string) string }) []string) {
	t.Helper()
	lines := [][]string{
		{"MEM.SET", "app:u1:profile:name", `{"name":"Ada"}`, "KIND", "profile", "CONFIDENCE", "0.75", "SOURCE", "user", "TAGS", "2", "a", "b"},
		{"MEM.SET", "app:u1:s1:turn", "plain text", "TEXT", "KIND", "session", "ANCHOR", "what is found"},
		{"MEM.SET", "app:u2:notes:n", `[1,2.5,"three"]`, "KIND", "semantic", "META", `{"k":1}`, "PIN"},
	}
	fillServer(t, c, lines)
	return func(c interface{ say(words ...string) string }) (all []string) {
		for _, line := range lines {
			all = append(all, c.say("MEM.GET", line[1], "META"))
		}
		return all
	}
}

// TestRecordsInASnapshot: only where SaveRecords says so, and then with all that a record
// is but its history.
func TestRecordsInASnapshot(t *testing.T) {
	s, c := newTestClient(t)
	s.core.Store = nil
	shown := fillRecords(t, c)
	c.say("SET", "plain", "v")
	if got := c.say("SAVE"); got != "+OK\r\n" || strings.Contains(string(s.snapshots.data), "Ada") {
		t.Fatalf("%s: a record is in the file: %q", got, s.snapshots.data)
	}
	s.core.SaveRecords(true)
	if got := c.say("SAVE"); got != "+OK\r\n" {
		t.Fatal(got)
	}
	if log := fmt.Sprint(s.process.log); !strings.Contains(log, "the memory records in it (3)") {
		t.Errorf("the log says nothing of it: %s", log)
	}
	other, d := newTestClient(t)
	loader := other.core.NewLoader()
	if err := s.snapshots.Read(loader); err != nil {
		t.Fatal(err)
	}
	loader.Close()
	if got, want := shown(d), shown(c); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("want %q\nhave %q", want, got)
	}
	if got := d.say("GET", "plain") + d.say("DBSIZE"); got != "$1\r\nv\r\n:4\r\n" || loader.Keys != 4 {
		t.Errorf("%q of %d keys", got, loader.Keys)
	}
	again := other.core.NewLoader()
	if err := s.snapshots.Read(again); !errors.Is(err, errTwice) {
		t.Errorf("records that are there already: %v", err)
	}
	again.Close()
}
