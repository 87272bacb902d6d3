package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"reminis/engine"
	"reminis/persistence"
)

// This file owns the test of replays: earlier states come back as they were, and
// the same commands make the same state.

// replayLine is a random change of a record.
func replayLine(rng *rand.Rand) []string {
	owner := fmt.Sprintf("ai:u%d", rng.IntN(4))
	key := fmt.Sprintf("%s:s%d:k%d", owner, rng.IntN(3), rng.IntN(6))
	switch rng.IntN(16) {
	case 0:
		return []string{"MEM.FORGET", "KEYS", "1", key}
	case 1:
		return []string{"MEM.FORGET", "SCOPE", fmt.Sprintf("%s:s%d", owner, rng.IntN(3))}
	case 2:
		return []string{"PEXPIREAT", key, fmt.Sprint(testStartMs + rng.IntN(2000))}
	case 3:
		return []string{"MEM.PATCH", key, fmt.Sprintf(`{"b":%d}`, rng.IntN(100)), "KIND", "semantic", "TAGS", "1", "t"}
	case 4:
		return []string{"MEM.SET", key, "in memory alone", "TEXT", "KIND", "working"}
	case 5:
		return []string{"MEM.ROLLBACK", key, "VERSION", "1"}
	case 6, 7, 8:
		return []string{"MEM.APPEND", key[:len(key)-1] + "9", "KIND", "session", "MAXLEN", fmt.Sprint(2 + rng.IntN(4)),
			"ITEMS", "2", fmt.Sprint(rng.IntN(100)), fmt.Sprintf(`"%x"`, rng.Uint64())}
	case 9:
		return []string{"MEM.SESSION", "MERGE", owner, "s0", "s1"}
	case 10:
		return []string{"MEM.SESSION", "CLOSE", owner, "s2"}
	case 11:
		document, migrate := schemaDocument(1 + rng.IntN(3))
		return []string{"MEM.SCHEMA", "SET", "note", fmt.Sprint(1 + rng.IntN(3)), document, "MIGRATE", migrate}
	case 12:
		return []string{"MEM.SET", key, `{"line":1}`, "KIND", "profile", "SCHEMA", "note"}
	}
	kind := []string{"profile", "session", "semantic"}[rng.IntN(3)]
	return []string{"MEM.SET", key, fmt.Sprintf(`{"a":%d,"text":"%x"}`, rng.IntN(100), rng.Uint64()), "KIND", kind, "REASON", "because"}
}

// replayState is the state after a batch.
type replayState struct {
	seq     uint64
	digest  [32]byte
	records int
}

// replayRun makes the same random changes for the same seed and remembers
// states on the way.
func replayRun(t *testing.T, seed uint64) (fs *vfs.MemFS, states []replayState, last *world) {
	fs = vfs.NewCrashableMem()
	of := newSetting(persistence.Everysec)
	clock := clockAt(testStartMs)
	w := mustOpenWorld(t, fs, of, clock)
	c := w.connect()
	rng := rand.New(rand.NewPCG(seed, 5))
	for i := range 900 {
		clock.ms.Add(rng.Int64N(5))
		c.do(replayLine(rng)...)
		if i%10 == 0 {
			c.do("SET", fmt.Sprint("key", i%7), fmt.Sprint(i))
		}
		if i%30 == 29 {
			digest, records := w.engine.RecordsDigest()
			states = append(states, replayState{w.appended(), digest, records})
		}
		if i == 600 {
			if err := w.store.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.session.Close()
	if err := w.store.Sync(); err != nil {
		t.Fatal(err)
	}
	return fs, states, w
}

// The same commands make the same records and rules, with a crash between them or
// without.
func TestSameCommands(t *testing.T) {
	seed := seedOf(t)
	first := sameRun(t, seed, false)
	for _, crash := range []bool{false, true} {
		for i, state := range sameRun(t, seed, crash) {
			if state != first[i] {
				t.Fatalf("seed %d, crash=%t: after %d lines two runs differ: %s", seed, crash, (i+1)*sameRunStep, difference(state, first[i]))
			}
		}
	}
}

// sameRunStep is after how many lines sameRun notes a state.
const sameRunStep = 25

// sameRun is the states on the way of the same random lines for the same seed,
// with a crash in the middle or without.
func sameRun(t *testing.T, seed uint64, crash bool) (states []string) {
	t.Helper()
	of, clock := newSetting(persistence.Everysec), clockAt(testStartMs)
	fs := vfs.NewCrashableMem()
	w := mustOpenWorld(t, fs, of, clock)
	c := w.connect()
	m := newModel(worldDatabases) // it knows which database is selected
	g := &generator{r: rand.New(rand.NewPCG(seed, 7)), clock: clock, records: recordsMost}
	for i := range 1000 {
		words := g.next()
		switch {
		case words[0] == "MEM.ROLLBACK" && isUnruly(words[1]):
			continue // whether what was cut is still there is up to checkpoints
		case slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, ":"+kindWorking) }):
			continue // a crash ends working records, which count for quotas
		}
		c.do(words...)
		m.do(clock.NowMs(), words)
		clock.ms.Add(g.r.Int64N(5))
		if i%sameRunStep == sameRunStep-1 {
			digest, records := w.engine.RecordsDigest()
			states = append(states, fmt.Sprintf("%d records %x\n%s%s", records, digest, w.rulesText(), w.dump()))
		}
		if crash && i > 500 && !g.inMulti {
			crash = false
			if err := w.store.Sync(); err != nil {
				t.Fatal(err)
			}
			left := fs.CrashClone(vfs.CrashCloneCfg{})
			if err := w.close(); err != nil {
				t.Fatal(err)
			}
			fs = left
			w = mustOpenWorld(t, fs, of, clock)
			c = w.connect()
			c.do("SELECT", fmt.Sprint(m.db))
		}
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	return states
}

func TestReplay(t *testing.T) {
	seed := seedOf(t)
	fs, states, w := replayRun(t, seed)
	_, again, other := replayRun(t, seed)
	for i, s := range states {
		if s.digest != again[i].digest {
			t.Fatalf("after batch %d two runs over the same commands differ", s.seq)
		}
	}
	// A crash leaves the journal beside the last checkpoint.
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	for _, w := range []*world{w, other} {
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
	}
	early, late := 0, 0
	master, _, err := persistence.MasterKey(left, "data")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := persistence.ReadKeyring(left, "data", master)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		e := engine.Open(engine.Options{Databases: replayDatabases, Memory: engine.MemoryOptions{Keys: keys}})
		done, err := persistence.Replay(left, "data", s.seq, e)
		if err != nil {
			t.Fatalf("batch %d: %v", s.seq, err)
		}
		digest, records := e.RecordsDigest()
		if done.RecordsOnly {
			early++
		} else {
			late++
		}
		if done.Incomplete == 0 && digest != s.digest {
			t.Errorf("batch %d: %d records, not the %d that there were (records only: %t)", s.seq, records, s.records, done.RecordsOnly)
		}
	}
	if early == 0 || late == 0 {
		t.Fatalf("%d states before the last checkpoint, %d after it: both are wanted", early, late)
	}
	if done, err := persistence.Replay(left, "data", 1<<40, engine.Open(engine.Options{Databases: replayDatabases, Memory: engine.MemoryOptions{Keys: keys}})); err == nil {
		t.Fatalf("a batch beyond the end was replayed: %+v", done)
	}
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}
}
