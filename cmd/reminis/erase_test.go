package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"reminis/persistence"
	"reminis/persistence/canary"
)

// This file owns the test of erasing through the whole system: what a client
// wrote and had erased is in no file, in no reply, and in no backup that is
// opened with the keys there are.

// mustNotSing fails when a file below dir holds the canary.
func mustNotSing(t *testing.T, fs vfs.FS, dir, word, when string) {
	t.Helper()
	files, err := canary.Singing(fs, dir, word)
	if err != nil || len(files) > 0 {
		t.Errorf("%s: the canary is in %s, %v", when, files, err)
	}
}

// singEverywhere writes the canary wherever a record of the owner can say it.
func singEverywhere(c *testClient, owner, word string) {
	for i := range 20 {
		key := fmt.Sprintf("%s:s%d:k%d", owner, i%3, i%5)
		c.do("MEM.SET", key, `{"say":"`+word+`"}`, "TAGS", "1", word, "ANCHOR", word, "SOURCE", word, "META", `"`+word+`"`,
			"REASON", word, "BY", word, "TRACE", word, "CALLER", word, "ID", fmt.Sprint(word, i))
		c.do("MEM.PATCH", key, `{"also":"`+word+`"}`, "REASON", word, "KIND", "semantic")
		c.do("MEM.APPEND", owner+":s1:turns", "ITEMS", "2", `"`+word+`"`, `{"say":"`+word+`"}`, "MAXLEN", "12")
		c.do("MEM.SET", owner+":s1:w", word, "TEXT", "KIND", "working")
	}
	c.do("MEM.LINK", owner+":s0:k0", "about", owner+":s1:k1")
	c.do("MEM.FORGET", "KEYS", "1", owner+":s2:k2", "REASON", word)
}

// asks are reads that would show the canary.
func asks(c *testClient, owner, word string) (shown []string) {
	for _, line := range [][]string{
		{"MEM.GET", owner + ":s0:k0", "WITHMETA"}, {"MEM.GET", owner + ":s0:k0", "VERSION", "1"}, {"MEM.HISTORY", owner + ":s0:k0"},
		{"MEM.RECALL", owner, "QUERY", word}, {"MEM.AUDIT", owner, "WITHDIFF"}, {"MEM.AUDIT", owner, "FORMAT", "TIMELINE"},
		{"MEM.HISTORY", owner + ":s2:k2"}, {"MEM.LINKS", owner + ":s0:k0"},
		{"MEM.GET", owner + ":s1:turns"}, {"MEM.GET", owner + ":s1:turns", "VERSION", "15"},
	} {
		if reply := c.do(line...); strings.Contains(reply, word) {
			shown = append(shown, strings.Join(line, " "))
		}
	}
	return shown
}

func TestErasedOwnerIsInNoFileReplyOrBackup(t *testing.T) {
	for name, uncompressed := range map[string]bool{"compressed": false, "uncompressed": true} {
		t.Run(name, func(t *testing.T) {
			of := newSetting(persistence.Everysec)
			of.Uncompressed = uncompressed
			eraseOwner(t, of)
		})
	}
}

func eraseOwner(t *testing.T, of setting) {
	rng := rand.New(rand.NewPCG(seedOf(t), 3))
	fs := vfs.NewCrashableMem()
	clock := clockAt(testStartMs)
	w := mustOpenWorld(t, fs, of, clock)
	c := w.connect()
	gone, kept := canary.Word(rng), canary.Word(rng)
	singEverywhere(c, "ai:gone", gone)
	singEverywhere(c, "ai:kept", kept)
	if err := errors.Join(w.store.Checkpoint(), w.store.Backup("backup")); err != nil {
		t.Fatal(err)
	}
	singEverywhere(c, "ai:gone", gone)
	for _, dir := range []string{"data", "backup"} {
		mustNotSing(t, fs, dir, gone, "sealed")
		if _, err := fs.Stat(dir + "/keys"); (err == nil) != (dir == "data") {
			t.Fatalf("keys in %s: %v", dir, err)
		}
	}
	if shown := asks(c, "ai:gone", gone); len(shown) < 8 {
		t.Fatalf("only %q show the canary", shown)
	}
	receipt := c.do("MEM.ERASE", "ai:gone", "REASON", "asked for it")
	if !strings.Contains(receipt, "receipt") {
		t.Fatal(receipt)
	}
	for _, when := range []string{"erased", "after a restart"} {
		mustNotSing(t, fs, "data", gone, when)
		if shown := asks(c, "ai:gone", gone); len(shown) > 0 {
			t.Errorf("%s: %q show the canary", when, shown)
		}
		if shown := asks(c, "ai:kept", kept); len(shown) < 8 {
			t.Errorf("%s: of another owner only %q are shown", when, shown)
		}
		for _, owner := range []string{"ai:gone", "ai:kept"} {
			if reply := c.do("MEM.AUDIT", owner, "VERIFY"); !strings.Contains(reply, "$2\r\nok\r\n:1\r\n") {
				t.Errorf("%s: the chain of %s: %q", when, owner, reply)
			}
		}
		if reply := c.do("MEM.SET", "ai:gone:s1:k1", "1", "ID", gone+"1"); !strings.HasPrefix(reply, "-ERASED") {
			t.Errorf("%s: a repeated id: %q", when, reply)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		w = mustOpenWorld(t, fs, of, clock)
		c = w.connect()
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	openBackup(t, fs, of, clock, gone, kept)
}

// openBackup opens the backup with the keys that are there now.
func openBackup(t *testing.T, fs vfs.FS, of setting, clock *testClock, gone, kept string) {
	t.Helper()
	restored := vfs.NewCrashableMem()
	for from, to := range map[string]string{"backup": "data", "data/keys": "data/keys"} {
		if err := restored.MkdirAll("data", 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := vfs.Clone(fs, restored, from, to, vfs.CloneSync); err != nil {
			t.Fatal(err)
		}
	}
	w := mustOpenWorld(t, restored, of, clock)
	c := w.connect()
	if n := w.engine.Stats().Destroyed.Load(); n == 0 {
		t.Error("no record was left out of the backup")
	}
	if shown := asks(c, "ai:gone", gone); len(shown) > 0 {
		t.Errorf("of the backup %q show the canary", shown)
	}
	if shown := asks(c, "ai:kept", kept); len(shown) < 8 {
		t.Errorf("of the backup, of another owner only %q are shown", shown)
	}
	mustNotSing(t, restored, "data", gone, "backup")
	if reply := c.do("MEM.AUDIT", "ai:gone", "VERIFY"); !strings.Contains(reply, "$2\r\nok\r\n:1\r\n") {
		t.Errorf("the chain in the backup: %q", reply)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
}

// TestErasedScopeLeavesTheRest erases one session of an owner.
func TestErasedScopeLeavesTheRest(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedOf(t), 4))
	fs := vfs.NewCrashableMem()
	of, clock := newSetting(persistence.Everysec), clockAt(testStartMs)
	w := mustOpenWorld(t, fs, of, clock)
	c := w.connect()
	gone := canary.Word(rng)
	c.do("MEM.SET", "ai:u:stays:k", `"here"`, "ID", "stays")
	for i := range 5 {
		c.do("MEM.SET", "ai:u:gone:k", `"`+gone+`"`, "REASON", gone, "ID", fmt.Sprint("gone", i))
		if i == 2 {
			if err := w.store.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if reply := c.do("MEM.ERASE", "ai:u:gone"); !strings.Contains(reply, "history\r\n:5\r\n") {
		t.Fatal(reply)
	}
	for _, when := range []string{"erased", "after a restart"} {
		for _, line := range [][]string{{"MEM.GET", "ai:u:gone:k"}, {"MEM.HISTORY", "ai:u:gone:k"}, {"MEM.AUDIT", "ai:u"}, {"MEM.GET", "ai:u:gone:k", "VERSION", "2"}} {
			if reply := c.do(line...); strings.Contains(reply, gone) {
				t.Errorf("%s: %q: %q", when, line, reply)
			}
		}
		if reply := c.do("MEM.GET", "ai:u:stays:k"); !strings.Contains(reply, "here") {
			t.Errorf("%s: what was not erased: %q", when, reply)
		}
		if reply := c.do("MEM.AUDIT", "ai:u", "VERIFY"); !strings.Contains(reply, "$2\r\nok\r\n:1\r\n") || !strings.Contains(reply, "erased\r\n:5\r\n") {
			t.Errorf("%s: %q", when, reply)
		}
		for i := range 5 {
			if reply := c.do("MEM.SET", "ai:u:gone:k", "1", "ID", fmt.Sprint("gone", i)); !strings.HasPrefix(reply, "-ERASED") {
				t.Errorf("%s: a repeated id: %q", when, reply)
			}
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		w = mustOpenWorld(t, fs, of, clock)
		c = w.connect()
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
}
