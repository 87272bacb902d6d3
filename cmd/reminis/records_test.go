package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"reminis/persistence"
)

// This file owns memory records in the tests of the whole system: random lines
// about them, what must be kept of them, and their past. It must not know
// disks.

// recordPrefix begins the key of every record, and of nothing else.
const recordPrefix = "app:"

// recordOwners are the owners that records have.
func recordOwners() []string { return []string{"app:u1", "app:u2"} }

// Each record's name begins with its kind, which never changes.
const (
	kindProfile  = "profile"
	kindSession  = "session"
	kindSemantic = "semantic"
	kindWorking  = "working"
)

func recordKind(key string) string {
	name := key[strings.LastIndexByte(key, ':')+1:]
	return strings.TrimRight(name, "0123456789")
}

// firm says whether a change of a line's record is fsynced before its reply.
func firm(words []string) bool {
	for _, word := range words[1:] {
		if strings.HasPrefix(word, recordPrefix) && (recordKind(word) == kindProfile || recordKind(word) == kindSemantic) {
			return true
		}
	}
	return false
}

func (g *generator) recordKey(kind string) string {
	return fmt.Sprintf("%s:s1:%s%d", pick(g.r, recordOwners()...), kind, g.r.IntN(3))
}

// record is a line about a memory record.
func (g *generator) record() []string {
	kind := pick(g.r, kindProfile, kindProfile, kindProfile, kindSession, kindSession, kindSemantic, kindWorking)
	key := g.recordKey(kind)
	who := []string{"BY", pick(g.r, "agent", "frontend"), "REASON", fmt.Sprintf("line %d", g.line)}
	switch g.r.IntN(12) {
	case 0:
		return append([]string{"MEM.FORGET", "KEYS", "1", key}, who...)
	case 1:
		return append([]string{"MEM.ROLLBACK", key, "VERSION", fmt.Sprint(1 + g.r.IntN(4))}, who...)
	case 2:
		return []string{pick(g.r, "PEXPIRE", "PEXPIREAT"), key, fmt.Sprint(g.soon())}
	case 3:
		return []string{pick(g.r, "PERSIST", "DEL"), key}
	case 4:
		return []string{"RENAME", key, key[:len(key)-1] + fmt.Sprint(g.r.IntN(3))}
	case 5, 6, 7:
		patch := fmt.Sprintf(`{"f%d":"line %d","old":null}`, g.r.IntN(5), g.line)
		return append(append([]string{"MEM.PATCH", key, patch, "KIND", kind}, who...), g.writeOptions()...)
	}
	value := fmt.Sprintf(`{"line":%d,"old":"x","text":%q}`, g.line, strings.Repeat("word ", g.r.IntN(30)))
	return append(append([]string{"MEM.SET", key, value, "KIND", kind}, who...), g.writeOptions()...)
}

func (g *generator) writeOptions() (words []string) {
	if g.r.IntN(3) == 0 {
		words = append(words, pick(g.r, "EX", "PX"), fmt.Sprint(1+g.r.IntN(100)))
	}
	if g.r.IntN(4) == 0 {
		words = append(words, pick(g.r, "NX", "XX"))
	}
	if g.r.IntN(4) == 0 {
		words = append(words, "IFVERSION", fmt.Sprint(g.r.IntN(4)))
	}
	if g.r.IntN(2) == 0 && !g.inMulti {
		words = append(words, "ID", fmt.Sprintf("command-%d", g.line))
	}
	return words
}

// recordsText prints all records that outlive a restart, with their history, and
// the state of every owner's chain. It fails on a chain that does not verify.
func (w *world) recordsText() (string, error) {
	var out strings.Builder
	c := w.connect()
	defer c.session.Close()
	for db := range worldDatabases {
		c.do("SELECT", fmt.Sprint(db))
		keys := items(c.do("KEYS", recordPrefix+"*"))
		slices.Sort(keys)
		for _, key := range keys {
			if recordKind(key) == kindWorking {
				continue
			}
			deadline := items(c.do("PEXPIRETIME", key))[0]
			fmt.Fprintf(&out, "%d %s @%s %q\n", db, key, deadline, c.do("MEM.GET", key, "WITHMETA", "FORMAT", "JSON"))
			for i, version := range versionsOf(c.do("MEM.HISTORY", key, "FORMAT", "JSON")) {
				fmt.Fprintf(&out, "%d %s history %d %s\n", db, key, i, version)
			}
		}
		for _, owner := range recordOwners() {
			state := items(c.do("MEM.AUDIT", owner, "VERIFY"))
			if state[0] == "ERR no such owner" {
				continue
			}
			if len(state) < 4 || state[1] != "1" {
				return "", fmt.Errorf("database %d: the chain of %s does not verify: %q", db, owner, state)
			}
			if state[3] == "0" {
				continue // an owner of whom nothing outlives a restart
			}
			fmt.Fprintf(&out, "%d %s %q\n", db, owner, state)
		}
	}
	return out.String(), nil
}

func versionsOf(reply string) []string {
	var list []json.RawMessage
	text := items(reply)[0]
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return []string{text}
	}
	versions := make([]string, len(list))
	for i := range list {
		versions[i] = string(list[i])
	}
	return versions
}

// remembered is what a change of a record left behind for ever.
type remembered struct {
	seq   uint64
	space int
	words []string // with ID: it must never be carried out again
	key   string
	value string // as it stood after the change
}

// remember notes a line that changed one record outside of MULTI. reply is what
// it answered.
func (p *pair) remember(words []string, reply string, before uint64) {
	if !strings.HasPrefix(words[0], "MEM.") || words[0] == "MEM.FORGET" || reply[0] != ':' || recordKind(words[1]) == kindWorking {
		return
	}
	if p.w.appended() != before+1 {
		return // a patch that changed nothing
	}
	side := p.w.connect()
	defer side.session.Close()
	side.do("SELECT", fmt.Sprint(p.m.db))
	p.past = append(p.past, remembered{seq: before + 1, space: p.m.spaces[p.m.db], words: words, key: words[1],
		value: items(side.do("MEM.GET", words[1]))[0]})
}

// checkPast reads what was remembered up to a batch, in a world where databases
// have the spaces of m: every AT answers, and no command with an ID happens
// twice. It changes nothing but that what has expired goes.
func (w *world) checkPast(past []remembered, upTo uint64, m *model) error {
	c := w.connect()
	defer c.session.Close()
	w.engine.ExpireDue()
	before := w.appended()
	for i, r := range past {
		if r.seq > upTo {
			break
		}
		c.do("SELECT", fmt.Sprint(slices.Index(m.spaces, r.space)))
		if got := c.do("MEM.GET", r.key, "AT", fmt.Sprintf("seq:%d", r.seq)); got != bulk(r.value) {
			return fmt.Errorf("%s AT seq:%d: %q, want %q", r.key, r.seq, got, r.value)
		}
		if !slices.Contains(r.words, "ID") || len(past)-i > 25 {
			continue
		}
		if got := items(c.do(append(slices.Clone(r.words), "RETURN", "STATUS")...)); len(got) < 2 || got[1] != "duplicated" {
			return fmt.Errorf("batch %d, %q again: %q, want duplicated", r.seq, r.words, got)
		}
	}
	if w.appended() != before {
		return fmt.Errorf("reading the past made batch %d", w.appended())
	}
	return nil
}

// story writes three versions of a record and says after which batches.
func story(t *testing.T, w *world, c *testClient) (seqs []uint64, timesMs []int64) {
	t.Helper()
	for version := 1; version <= 3; version++ {
		w.clock.ms.Add(1000)
		if got := c.do("MEM.SET", "app:u1:s1:profile0", fmt.Sprintf(`{"v":%d}`, version), "BY", "agent"); got != number(int64(version)) {
			t.Fatalf("version %d: %q", version, got)
		}
		seqs, timesMs = append(seqs, w.appended()), append(timesMs, w.clock.NowMs())
	}
	return seqs, timesMs
}

// The past answers after a kill -9 and after a checkpoint has dropped the
// journal that it came from.
func TestPastSurvives(t *testing.T) {
	for _, checkpoint := range []bool{false, true} {
		t.Run(fmt.Sprintf("checkpoint=%t", checkpoint), func(t *testing.T) {
			disk, setting, clock := newTestDisk(), newSetting(persistence.Everysec), clockAt(testStartMs)
			w := mustOpenWorld(t, disk, setting, clock)
			c := w.connect()
			seqs, timesMs := story(t, w, c)
			if err := w.store.Sync(); err != nil {
				t.Fatal(err)
			}
			if checkpoint {
				if err := w.store.Checkpoint(); err != nil {
					t.Fatal(err)
				}
				// A new segment, so that the one with the story goes.
				for i := range 100 {
					c.do("SET", fmt.Sprint("filler", i), strings.Repeat("x", 200))
				}
				if err := w.store.Checkpoint(); err != nil {
					t.Fatal(err)
				}
				if names, err := disk.List("data/journal"); err != nil || len(names) == 0 || slices.Contains(names, firstSegment(t)) {
					t.Fatalf("the first segment is still there: %q, %v", names, err)
				}
			}
			readPast(t, c, seqs, timesMs)
			left := disk.afterCrash(0, nil) // nothing that was not synced
			if err := w.close(); err != nil {
				t.Fatal(err)
			}
			w = mustOpenWorld(t, left, setting, clock)
			readPast(t, w.connect(), seqs, timesMs)
			if err := w.close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The past ends with what happened last, also when no record stands that was
// changed then.
func TestLastEventSurvives(t *testing.T) {
	for name, last := range map[string][]string{
		"forgotten": {"MEM.FORGET", "KEYS", "1", "app:u1:s1:profile0"},
		"deleted":   {"DEL", "app:u1:s1:profile0"},
		"flushed":   {"FLUSHDB"},
		"mortal":    {"EXPIRE", "app:u1:s1:profile0", "100"},
	} {
		disk, setting, clock := newTestDisk(), newSetting(persistence.Everysec), clockAt(testStartMs)
		w := mustOpenWorld(t, disk, setting, clock)
		c := w.connect()
		seqs, _ := story(t, w, c)
		c.do(last...)
		at := []string{"MEM.GET", "app:u1:s1:profile0", "AT", fmt.Sprintf("seq:%d", w.appended()), "WITHMETA"}
		before, chain := c.do(at...), c.do("MEM.AUDIT", "app:u1", "VERIFY")
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		w = mustOpenWorld(t, disk, setting, clock)
		c = w.connect()
		if got := c.do(at...); got != before {
			t.Errorf("%s: %q: %q, before the restart %q", name, at, got, before)
		}
		if got := c.do("MEM.AUDIT", "app:u1", "VERIFY"); got != chain {
			t.Errorf("%s: VERIFY: %q, before the restart %q", name, got, chain)
		}
		if got := c.do("MEM.GET", "app:u1:s1:profile0", "AT", fmt.Sprintf("seq:%d", seqs[0])); got != bulk(`{"v":1}`) {
			t.Errorf("%s: the first version: %q", name, got)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// firstSegment is the name of the journal's first file.
func firstSegment(t *testing.T) string {
	disk := newTestDisk()
	w := mustOpenWorld(t, disk, newSetting(persistence.Everysec), clockAt(testStartMs))
	names, err := disk.List("data/journal")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	return slices.Min(names)
}

func readPast(t *testing.T, c *testClient, seqs []uint64, timesMs []int64) {
	t.Helper()
	const key = "app:u1:s1:profile0"
	for i := range seqs {
		want := bulk(fmt.Sprintf(`{"v":%d}`, i+1))
		for _, at := range [][]string{
			{"AT", fmt.Sprintf("seq:%d", seqs[i])}, {"AT", fmt.Sprint(timesMs[i])}, {"AT", fmt.Sprint(timesMs[i] + 999)},
			{"VERSION", fmt.Sprint(i + 1)},
		} {
			if got := c.do(append([]string{"MEM.GET", key}, at...)...); got != want {
				t.Errorf("%q: %q, want %q", at, got, want)
			}
		}
	}
	for _, at := range []string{fmt.Sprintf("seq:%d", seqs[0]-1), fmt.Sprint(timesMs[0] - 1)} {
		if got := c.do("MEM.GET", key, "AT", at); got != modelNull {
			t.Errorf("AT %s, before the first: %q", at, got)
		}
	}
}

// One stored byte that changed, wherever in the events, is found.
func TestVerifyFindsOneByte(t *testing.T) {
	w := mustOpenWorld(t, newTestDisk(), newSetting(persistence.Everysec), clockAt(testStartMs))
	c := w.connect()
	story(t, w, c)
	c.do("MEM.PATCH", "app:u1:s1:profile0", `{"a":1}`, "BY", "frontend", "REASON", "a form", "TRACE", "t1", "CALLER", "web")
	c.do("MEM.SET", "app:u1:s1:profile1", `"text"`, "ID", "one")
	c.do("MEM.FORGET", "KEYS", "1", "app:u1:s1:profile0")
	if err := w.store.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	verify := func() []string { return items(c.do("MEM.AUDIT", "app:u1", "VERIFY")) }
	if state := verify(); len(state) < 4 || state[1] != "1" || state[3] != "6" {
		t.Fatalf("before: %q", state)
	}
	var sizes []int
	err := w.store.Events(0, []byte("app:u1"), 0, ^uint64(0), false, func(_ uint64, _ int64, event []byte) bool {
		sizes = append(sizes, len(event))
		return true
	})
	if err != nil || len(sizes) != 6 {
		t.Fatalf("%d events are stored: %v", len(sizes), err)
	}
	flipped := 0
	for i, size := range sizes {
		for offset := 1; offset <= size; offset++ {
			w.archive.event, w.archive.offset = i+1, offset
			if state := verify(); len(state) > 1 && state[0] == "ok" && state[1] != "0" {
				t.Errorf("byte %d of event %d flipped: %q", offset, i+1, state)
			}
			flipped++
		}
	}
	w.archive.event = 0
	if state := verify(); state[1] != "1" {
		t.Fatalf("after: %q", state)
	}
	t.Logf("%d bytes of %d events flipped, one at a time", flipped, len(sizes))
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
}
