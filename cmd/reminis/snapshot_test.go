package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"reminis/commands"
	"reminis/engine/effect"
	"reminis/persistence"
	"reminis/persistence/rdb"
)

// This file tests snapshots of a store, and starts from one.

// memoryFile is a snapshot in memory.
type memoryFile struct {
	mu   sync.Mutex
	data []byte
}

func (f *memoryFile) Write(fill func(w commands.SnapshotWriter) error) error {
	var out bytes.Buffer
	w := rdb.NewWriter(&out, rdb.Options{})
	if err := errors.Join(fill(w), w.Close()); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data = out.Bytes()
	return nil
}

func (f *memoryFile) Read(into commands.SnapshotTarget) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return rdb.Read(f.data, into, nil)
}

// snapshotWorld is a world that writes snapshots, with all sorts of keys.
func snapshotWorld(t *testing.T, r *rand.Rand) (*world, *testClient, *memoryFile) {
	t.Helper()
	w := mustOpenWorld(t, newTestDisk(), newSetting(persistence.Everysec), clockAt(testStartMs))
	file := &memoryFile{}
	w.core.Config.(testConfig)["dbfilename"] = "dump.rdb"
	w.core.Snapshots = file
	w.core.Export = func(into commands.RowTarget) (int, error) {
		done, err := w.store.Export(into)
		return done.Records, err
	}
	c := w.connect()
	for n := range 300 {
		text, number := fmt.Sprint("text", r.IntN(40), strings.Repeat("x", r.IntN(30))), fmt.Sprint(r.IntN(1000))
		key := func(kind string) string { return fmt.Sprint(kind, r.IntN(4)) }
		for _, line := range [][]string{
			{"SELECT", fmt.Sprint(n / 20 % worldDatabases)},
			{"SET", key("string"), text}, {"APPEND", key("raw"), text},
			{"HSET", key("hash"), text, number}, {"SADD", key("set"), text}, {"SADD", key("ints"), number},
			{"ZADD", key("zset"), number, text}, {"RPUSH", key("list"), text, number},
			{"XADD", key("stream"), "*", text, number}, {"PEXPIRE", key("hash"), fmt.Sprint(1_000_000 + r.IntN(1000))},
			{"LPOP", key("list")}, {"HDEL", key("hash"), text}, {"RENAME", key("set"), key("moved")}, {"DEL", key("zset")},
		} {
			if got := c.do(line...); strings.HasPrefix(got, "-") && !strings.HasPrefix(got, "-ERR no such key") {
				t.Fatalf("%q: %s", line, got)
			}
		}
		if n%50 == 0 {
			if err := w.store.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			c.do("SWAPDB", "0", "1")
			c.do("FLUSHDB")
		}
	}
	c.do("MEM.SET", "app:u1:s1:name", `"Ada"`, "KIND", "working")
	c.do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 7 end)")
	return w, c, file
}

func TestASnapshotOfAStoreHasEverything(t *testing.T) {
	seed := seedOf(t)
	w, c, file := snapshotWorld(t, rand.New(rand.NewPCG(seed, 1)))
	c.do("DEL", "app:u1:s1:name")
	if got := c.do("SAVE"); got != "+OK\r\n" {
		t.Fatal(got)
	}
	want := c.do("DEBUG", "DIGEST")
	to := mustOpenWorld(t, newTestDisk(), newSetting(persistence.Everysec), clockAt(testStartMs))
	loader := to.core.NewLoader()
	if err := file.Read(loader); err != nil {
		t.Fatal(err)
	}
	loader.Close()
	d := to.connect()
	if got := d.do("DEBUG", "DIGEST"); got != want {
		t.Errorf("want %s have %s", want, got)
	}
	if got := d.do("FCALL", "f", "0"); got != ":7\r\n" {
		t.Errorf("the function: %s", got)
	}
	for db := range worldDatabases {
		for _, client := range []*testClient{c, d} {
			client.do("SELECT", fmt.Sprint(db))
		}
		for n := range 4 {
			for _, look := range []string{"PEXPIRETIME hash%d", "XINFO STREAM stream%d FULL", "LRANGE list%d 0 -1"} {
				words := strings.Fields(fmt.Sprintf(look, n))
				if ours, theirs := c.do(words...), d.do(words...); ours != theirs {
					t.Errorf("%q: was %q is %q", words, ours, theirs)
				}
			}
		}
	}
	// What was loaded is kept as anything else.
	if got := d.do("DEBUG", "LOADAOF"); got != "+OK\r\n" || d.do("DEBUG", "DIGEST") != want {
		t.Errorf("%s: after a recovery %s, want %s", got, d.do("DEBUG", "DIGEST"), want)
	}
	if err := errors.Join(w.engine.Check(), to.engine.Check(), w.close(), to.close()); err != nil {
		t.Error(err)
	}
}

// between is a target that has something done between rows.
type between struct {
	commands.RowTarget
	do func()
}

func (b between) Row(e *effect.Effect) error {
	b.do()
	return b.RowTarget.Row(e)
}

// Whatever is written meanwhile: a snapshot has each transaction whole or not at all,
// and all that were answered before it began.
func TestASnapshotOfAStoreIsOfOneMoment(t *testing.T) {
	w, c, file := snapshotWorld(t, rand.New(rand.NewPCG(seedOf(t), 2)))
	other, n := w.connect(), 0
	transaction := func() {
		n++
		for _, line := range [][]string{{"MULTI"}, {"SET", "a", fmt.Sprint(n)}, {"HSET", "b", "f", fmt.Sprint(n)}, {"RPUSH", "c", fmt.Sprint(n)}, {"EXEC"}} {
			other.do(line...)
		}
	}
	begun := make(chan int, 1)
	w.core.Export = func(into commands.RowTarget) (int, error) {
		// Until here, transactions are made while the checkpoint is.
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for range 200 {
				select {
				case <-stop:
					return
				default:
					transaction()
				}
			}
		}()
		first := true
		done, err := w.store.Export(between{into, func() {
			if first {
				close(stop)
				<-stopped
				first = false
				begun <- n
			}
			transaction()
		}})
		return done.Records, err
	}
	for range 10 {
		transaction()
		least := n
		if got := c.do("SAVE"); got != "+OK\r\n" {
			t.Fatal(got)
		}
		most := <-begun
		to := mustOpenWorld(t, newTestDisk(), newSetting(persistence.Everysec), clockAt(testStartMs))
		loader := to.core.NewLoader()
		if err := file.Read(loader); err != nil {
			t.Fatal(err)
		}
		loader.Close()
		d := to.connect()
		has := 0
		_, _ = fmt.Sscanf(d.do("LLEN", "c"), ":%d", &has)
		if a, b := d.do("GET", "a"), d.do("HGET", "b", "f"); a != b || a != bulk(fmt.Sprint(has)) || has < least || has > most {
			t.Errorf("%d transactions before, %d until it was read: %q %q, %d elements", least, most, a, b, has)
		}
		if err := to.close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
}

// mustNotStart starts a server that must not start, and returns what it says.
func mustNotStart(t *testing.T, dir string, directives ...string) string {
	t.Helper()
	line := append([]string{"--port", "0", "--unixsocket", filepath.Join(dir, "socket"), "--dir", filepath.Join(dir, "data")}, directives...)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), serveVariable+"="+strings.Join(line, "\n"))
	out, err := command.CombinedOutput()
	if err == nil {
		t.Fatalf("%q: it started and ended", directives)
	}
	return string(out)
}

// writeDump makes data/dump.rdb a file with a number of keys.
func writeDump(t *testing.T, dir string, keys int) string {
	t.Helper()
	dir = filepath.Join(dir, "data")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	err := persistence.WriteRDB(persistence.Disk(), dir, "dump.rdb", rdb.Options{}, func(w *rdb.Writer) error {
		err := w.Database(0, keys, 0)
		for n := range keys {
			err = errors.Join(err, w.Key(fmt.Append(nil, "key", n), []byte("\x00\x05value"), 0, -1, -1))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "dump.rdb")
}

// end shuts a server down.
func end(t *testing.T, r *rig, command *exec.Cmd, how ...string) {
	t.Helper()
	if got, err := r.dial().last(append([]string{"SHUTDOWN"}, how...)...); err != io.EOF {
		t.Fatalf("SHUTDOWN: %q, %v", got, err)
	}
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestAStartImportsASnapshot(t *testing.T) {
	dir := t.TempDir()
	path := writeDump(t, dir, 5000)
	r, command := startProcess(t, dir)
	if got := r.dial().do("DBSIZE"); got != ":5000\r\n" {
		t.Fatal(got)
	}
	r.dial().do("SET", "more", "1")
	kill(t, command)
	// From now on the store is what counts.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	writeDump(t, dir, 3)
	r, command = startProcess(t, dir, "--appendfsync", "always")
	if got := r.dial().do("GET", "key4999"); got != bulk("value") {
		t.Fatal(got)
	}
	end(t, r, command)
}

func TestAStartRefusesADamagedSnapshot(t *testing.T) {
	dir := t.TempDir()
	path := writeDump(t, dir, 20000)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(good)
	damaged[len(damaged)-30]++ // the last key: by then most are loaded
	for name, data := range map[string][]byte{"changed": damaged, "cut off": good[:len(good)-30], "empty": nil} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if said := mustNotStart(t, dir); !strings.Contains(said, "Fatal error loading the DB") || !strings.Contains(said, "dump.rdb") {
			t.Errorf("%s: %s", name, said)
		}
	}
	// Nothing is half there: without the file there is no start, with a good one all.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if said := mustNotStart(t, dir); !strings.Contains(said, "was being imported") {
		t.Error(said)
	}
	writeDump(t, dir, 20001)
	r, command := startProcess(t, dir)
	if got := r.dial().do("DBSIZE"); got != ":20001\r\n" {
		t.Error(got)
	}
	end(t, r, command)
}

// A process that ends while it imports begins anew; the keys of owners stay right.
func TestAnImportThatWasKilledBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	path := writeDump(t, dir, 100)
	data := filepath.Join(dir, "data")
	if err := persistence.BeginImport(persistence.Disk(), data); err != nil {
		t.Fatal(err)
	}
	store, err := persistence.Open(persistence.Disk(), data, persistence.Options{Importing: true})
	if err != nil {
		t.Fatal(err)
	}
	master, _, err := persistence.MasterKey(persistence.Disk(), data)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := store.Keyring(master)
	if err == nil {
		err = errors.Join(keys.Start(), keys.Close(), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r, command := startProcess(t, dir)
	if got := r.dial().do("DBSIZE"); got != ":100\r\n" {
		t.Error(got)
	}
	if got := r.dial().do("MEM.SET", "app:u1:s1:name", `"Ada"`); got != ":1\r\n" {
		t.Error(got)
	}
	end(t, r, command)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r, command = startProcess(t, dir)
	if got := r.dial().do("MEM.GET", "app:u1:s1:name"); got != bulk(`"Ada"`) {
		t.Error(got)
	}
	end(t, r, command)
}

func TestAStartRefusesTheLogOfARedis(t *testing.T) {
	for _, name := range []string{"appendonlydir", "appendonly.aof"} {
		dir := t.TempDir()
		path := writeDump(t, dir, 1)
		log := filepath.Join(filepath.Dir(path), name)
		if err := os.Mkdir(log, 0o755); err != nil {
			t.Fatal(err)
		}
		if said := mustNotStart(t, dir); !strings.Contains(said, name) || !strings.Contains(said, "ignore-redis-files") {
			t.Error(said)
		}
		r, command := startProcess(t, dir, "--ignore-redis-files", "yes")
		if got := r.dial().do("DBSIZE"); got != ":0\r\n" {
			t.Error(got)
		}
		end(t, r, command)
	}
}

// A pure cache begins with the snapshot each time, as Redis does, and leaves one when
// it is asked to.
func TestAPureCacheStartsFromASnapshot(t *testing.T) {
	dir := t.TempDir()
	writeDump(t, dir, 10)
	cache := []string{"--save", "", "--appendonly", "no"}
	r, command := startProcess(t, dir, cache...)
	r.dial().do("SET", "more", "1")
	end(t, r, command)
	r, command = startProcess(t, dir, cache...)
	if got := r.dial().do("DBSIZE"); got != ":10\r\n" {
		t.Error(got)
	}
	r.dial().do("SET", "more", "1")
	end(t, r, command, "SAVE")
	r, command = startProcess(t, dir, cache...)
	if got := r.dial().do("DBSIZE"); got != ":11\r\n" {
		t.Error(got)
	}
	end(t, r, command, "NOSAVE")
}
