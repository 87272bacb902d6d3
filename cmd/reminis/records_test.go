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
func recordOwners() []string { return []string{"app:u1", "app:u2", unrulyOwner} }

// Each record's name begins with its kind, which never changes.
const (
	kindProfile  = "profile"
	kindSession  = "session"
	kindSemantic = "semantic"
	kindWorking  = "working"
)

func recordKind(key string) string {
	name := key[strings.LastIndexByte(key, ':')+1:]
	if number := strings.IndexAny(name, "0123456789"); number >= 0 {
		name = name[:number] // what follows tells records of a kind apart
	}
	return name
}

// firm says whether what a line changes is fsynced before its reply.
func firm(words []string) bool {
	switch {
	case isRule(words), words[0] == "FUNCTION":
		return true
	case isApply(words):
		return appliedFirm(words)
	}
	return slices.ContainsFunc(words[1:], firmKey)
}

// firmKey says whether a word is the key of a record whose changes are.
func firmKey(word string) bool {
	return strings.HasPrefix(word, recordPrefix) && (recordKind(word) == kindProfile || recordKind(word) == kindSemantic)
}

func (g *generator) recordKey(kind string) string {
	return recordKey(pick(g.r, recordOwners()...), kind, g.r.IntN(3))
}

func recordKey(owner, kind string, n int) string {
	return fmt.Sprintf("%s:%s:%s%d", owner, recordSession(kind), kind, n)
}

// recordSession is the session of the records of a kind. What is gone after a
// restart has one of its own, so that the others are what they were.
func recordSession(kind string) string {
	if kind == kindWorking {
		return "w1"
	}
	return "s1"
}

// listName is the name of the lists of a kind, which MEM.APPEND makes.
func listName(kind string) string { return kind + "7" }

// record is a line about memory records, or about what is kept beside them.
func (g *generator) record() []string {
	switch g.r.IntN(16) {
	case 0, 1:
		return g.rule()
	case 2:
		return g.link()
	case 3:
		return g.session()
	case 4, 5:
		return g.append()
	case 6, 7:
		return g.apply()
	}
	return g.change()
}

// change is a line that changes a record as a whole or in part.
func (g *generator) change() []string {
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
		line := append([]string{"MEM.PATCH", key, patch, "KIND", kind}, who...)
		if g.r.IntN(4) == 0 {
			line = append(line, "ONCONFLICT", pick(g.r, "NEWEST", "CONFIDENCE"), "CONFIDENCE", pick(g.r, "0.5", "0.75"))
		}
		return append(append(line, g.validity(key)...), g.writeOptions()...)
	}
	value := fmt.Sprintf(`{"line":%d,"old":"x","text":%q}`, g.line, strings.Repeat("word ", g.r.IntN(30)))
	line := append([]string{"MEM.SET", key, value, "KIND", kind}, who...)
	if g.r.IntN(4) == 0 {
		line = append(line, "SCHEMA", pick(g.r, append(ruleSchemas(), "NONE")...))
	}
	return append(append(line, g.validity(key)...), g.writeOptions()...)
}

// validity is now and then a time in which a record holds, or the record whose
// time it ends.
func (g *generator) validity(key string) (words []string) {
	owner, _, among := strings.Cut(key, ":s1:")
	switch g.r.IntN(12) {
	case 0:
		return []string{"VALIDUNTIL", fmt.Sprint(g.soon() + 100)}
	case 1:
		return []string{"VALIDFROM", fmt.Sprint(g.soon()), "VALIDUNTIL", fmt.Sprint(g.soon() + 200)}
	case 2, 3:
		if !among {
			return nil
		}
		kind := pick(g.r, kindProfile, kindProfile, kindSession, kindSemantic)
		return []string{"SUPERSEDES", fmt.Sprintf("%s:s1:%s%s", owner, kind, pick(g.r, "0", "1", "2", "7"))}
	}
	return nil
}

// append is a line about a list. Now and then it finds another value there, and
// now and then a list is overwritten or patched.
func (g *generator) append() []string {
	kind := pick(g.r, kindProfile, kindSession, kindSession, kindSemantic, kindWorking)
	key := fmt.Sprintf("%s:%s:%s", pick(g.r, recordOwners()...), recordSession(kind), listName(kind))
	switch g.r.IntN(12) {
	case 0:
		return append([]string{"MEM.SET", key, fmt.Sprintf(`["line %d",{"a":1}]`, g.line), "KIND", kind}, g.writeOptions()...)
	case 1:
		return append([]string{"MEM.PATCH", key, fmt.Sprintf(`[{"op":"add","path":"/0","value":%d}]`, g.line), "RFC6902", "KIND", kind}, g.writeOptions()...)
	case 2:
		return []string{"MEM.ROLLBACK", key, "VERSION", fmt.Sprint(1 + g.r.IntN(4))}
	case 3:
		key = g.recordKey(kind)
	}
	line := append([]string{"MEM.APPEND", key, "KIND", kind, "REASON", fmt.Sprintf("line %d", g.line)}, g.writeOptions()...)
	if g.r.IntN(2) == 0 {
		line = append(line, "MAXLEN", fmt.Sprint(1+g.r.IntN(6)))
	}
	count := 1 + g.r.IntN(3)
	line = append(line, "ITEMS", fmt.Sprint(count))
	for range count {
		line = append(line, fmt.Sprintf(`{"line":%d,"text":%q}`, g.line, strings.Repeat("turn ", g.r.IntN(20))))
	}
	return line
}

// link is a line about what leads from one record to another.
func (g *generator) link() []string {
	owner := pick(g.r, recordOwners()...)
	key := func() string {
		return fmt.Sprintf("%s:s1:%s%d", owner, pick(g.r, kindProfile, kindSession, kindSemantic), g.r.IntN(3))
	}
	if g.r.IntN(4) == 0 {
		return []string{"MEM.UNLINK", key(), pick(g.r, "implies", "likes"), key()}
	}
	return []string{"MEM.LINK", key(), pick(g.r, "implies", "likes"), key(), "WEIGHT", pick(g.r, "0.25", "0.5", "1")}
}

// session is a line about the conversations of an owner.
func (g *generator) session() []string {
	owner := pick(g.r, recordOwners()...)
	switch g.r.IntN(8) {
	case 0:
		return []string{"MEM.SESSION", "CLOSE", owner, pick(g.r, "s1", "s2")}
	case 1, 2:
		return []string{"MEM.SESSION", "MERGE", owner, "s2", "s1"}
	case 3:
		return []string{"MEM.SESSION", "MERGE", owner, "s1", "s2"}
	}
	return append([]string{"MEM.SESSION", "OPEN", owner}, pick(g.r, nil, []string{"REUSE", "1"})...)
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

// recordsState is all records that outlive a restart, and what is kept beside them.
type recordsState struct {
	text string
	// shrinking has the histories that policies cut, by database and key. How much
	// of the end of one is there is up to the last checkpoint.
	shrinking map[string][]string
}

// differs says in what a state differs from another one, "" when it does not.
func (s recordsState) differs(want recordsState) string {
	out := ""
	if s.text != want.text {
		out = difference(s.text, want.text)
	}
	for key, versions := range s.shrinking {
		other := want.shrinking[key]
		both := min(len(versions), len(other))
		if both == 0 && len(versions)+len(other) > 0 || !slices.Equal(versions[len(versions)-both:], other[len(other)-both:]) {
			out += fmt.Sprintf("history of %s: %q, expected the end of %q, or more\n", key, versions, other)
		}
	}
	return out
}

// records reads all records that outlive a restart, with their history, rules,
// links and sessions, and the state of every chain. It fails on a chain that does
// not verify.
func (w *world) records() (state recordsState, err error) {
	var out strings.Builder
	c := w.connect()
	defer c.session.Close()
	server, err := w.serverChain()
	if err != nil {
		return state, err
	}
	state.shrinking = map[string][]string{}
	fmt.Fprintf(&out, "%s%s", server, w.rulesText())
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
			versions := versionsOf(c.do("MEM.HISTORY", key, "FORMAT", "JSON"))
			if isUnruly(key) {
				state.shrinking[fmt.Sprint(db, " ", key)], versions = versions, nil
			}
			for i, version := range versions {
				fmt.Fprintf(&out, "%d %s history %d %s\n", db, key, i, version)
			}
			if links := items(c.do("MEM.LINKS", key)); len(links) > 0 {
				fmt.Fprintf(&out, "%d %s links %q\n", db, key, links)
			}
		}
		for _, owner := range recordOwners() {
			chain := items(c.do("MEM.AUDIT", owner, "VERIFY"))
			if chain[0] == "ERR no such owner" {
				continue
			}
			if len(chain) < 4 || chain[1] != "1" {
				return state, fmt.Errorf("database %d: the chain of %s does not verify: %q", db, owner, chain)
			}
			if chain[3] == "0" {
				continue // an owner of whom nothing outlives a restart
			}
			fmt.Fprintf(&out, "%d %s %q\n", db, owner, chain)
			for _, session := range sessionsOf(c, owner) {
				fmt.Fprintf(&out, "%d %s session %s\n", db, owner, session)
			}
		}
	}
	state.text = out.String()
	return state, nil
}

// serverChain is the state of the server's own chain; it fails when that does not
// verify.
func (w *world) serverChain() (string, error) {
	tx := w.engine.Begin()
	defer tx.Done()
	view := tx.ServerView()
	state, err := view.Verify()
	if err != nil || !state.OK() {
		return "", fmt.Errorf("the server's chain does not verify from batch %d on: %w", state.FirstBad, err)
	}
	return fmt.Sprintf("server %d %x\n", state.Length, view.Head), nil
}

// sessionsOf lists an owner's sessions by name, with what outlives a restart of
// each: when one was active last is known of its records that stand.
func sessionsOf(c *testClient, owner string) []string {
	var list []string
	listed := items(c.do("MEM.SESSION", "LIST", owner, "COUNT", "1000"))
	for rest := listed[1:]; len(rest) >= 8; rest = rest[8:] {
		if rest[1] != recordSession(kindWorking) {
			list = append(list, fmt.Sprintf("%s of %s turns, %s records", rest[1], rest[5], rest[7]))
		}
	}
	slices.Sort(list)
	return list
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

// remembered is what a line that changed records left behind for ever.
type remembered struct {
	seq   uint64
	space int
	about string   // the record, or the owner
	words []string // of a line that must never be carried out again; nil if it may
	// values has, by record, what MEM.GET said of it after the change.
	values map[string]string
}

// isUnruly says whether the owner, or the record's owner, may have hidden or lost
// what was written.
func isUnruly(name string) bool {
	return name == unrulyOwner || strings.HasPrefix(name, unrulyOwner+":")
}

// remembers lists the records that a line changes whose reply says what it did.
func remembers(words []string) (keys []string) {
	switch words[0] {
	case "MEM.SET", "MEM.PATCH", "MEM.APPEND", "MEM.ROLLBACK":
		keys = []string{words[1]}
	case "MEM.APPLY":
		for _, c := range appliedCommands(words) {
			keys = append(keys, c.Key)
		}
	}
	return slices.DeleteFunc(keys, func(key string) bool { return recordKind(key) == kindWorking })
}

// remember notes a line that changed records outside of MULTI. reply is what it
// answered.
func (p *pair) remember(words []string, reply string, before uint64) {
	keys := remembers(words)
	if len(keys) == 0 || reply[0] != ':' && reply[0] != '*' {
		return
	}
	if p.w.appended() != before+1 {
		return // a patch that changed nothing
	}
	r := remembered{seq: before + 1, space: p.m.spaces[p.m.db], about: words[1], values: map[string]string{}}
	switch {
	case isApply(words):
		r.words = appliedOnce(words, reply)
	case slices.Contains(words, "ID"):
		r.words = words
	}
	side := p.w.connect()
	defer side.session.Close()
	side.do("SELECT", fmt.Sprint(p.m.db))
	for _, key := range keys {
		r.values[key] = side.do("MEM.GET", key)
	}
	p.past = append(p.past, r)
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
		for key, value := range r.values {
			if got := c.do("MEM.GET", key, "AT", fmt.Sprintf("seq:%d", r.seq)); got != value && !isUnruly(key) {
				return fmt.Errorf("%s AT seq:%d: %q, want %q", key, r.seq, got, value)
			}
		}
		if r.words == nil || len(past)-i > 25 {
			continue
		}
		if err := r.again(c); err != nil {
			return err
		}
	}
	if w.appended() != before {
		return fmt.Errorf("reading the past made batch %d", w.appended())
	}
	return nil
}

// again says a line with an ID once more, to a client of its database, and then
// under the same ID something else: neither may happen.
func (r *remembered) again(c *testClient) error {
	if isApply(r.words) {
		return r.appliedAgain(c)
	}
	words := append([]string{r.words[0], r.words[1], "RETURN", "STATUS"}, r.words[2:]...)
	if r.words[0] != "MEM.APPEND" {
		words = append(slices.Clone(r.words), "RETURN", "STATUS")
	}
	got := c.do(words...)
	if refused(got) || isUnruly(r.about) && strings.HasPrefix(got, "-NOCONSENT ") {
		return nil
	}
	if status := items(got); len(status) < 2 || status[1] != "duplicated" {
		return fmt.Errorf("batch %d, %q again: %q, want duplicated", r.seq, words, got)
	}
	words[slices.Index(words, "RETURN")], words[slices.Index(words, "STATUS")] = "TRACE", "another"
	if got := c.do(words...); !strings.HasPrefix(got, "-ERR ") {
		return fmt.Errorf("batch %d, another payload under its ID, %q: %q", r.seq, words, got)
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

// What was forgotten without leaving an event is part of the past, too.
func TestPastWithoutEvents(t *testing.T) {
	w := mustOpenWorld(t, newTestDisk(), newSetting(persistence.Everysec), clockAt(testStartMs))
	c := w.connect()
	c.do("MEM.POLICY", "SET", "app:u1", "AUDIT", "NONE")
	c.do("MEM.SET", "app:u1:s1:semantic0", "likes longjing", "TEXT", "KIND", "semantic")
	c.do("MEM.SET", "app:u1:s1:profile0", `"called ada"`)
	seq := fmt.Sprintf("seq:%d", w.appended())
	atMs := fmt.Sprint(w.clock.NowMs())
	w.clock.ms.Add(1000)
	c.do("MEM.FORGET", "SCOPE", "app:u1")
	for _, when := range []string{"in memory", "after a checkpoint"} {
		for _, at := range []string{seq, atMs} {
			for _, line := range [][]string{
				{"MEM.DEBUG", "app:u1", "AT", at}, {"MEM.LOAD", "app:u1", "QUERY", "longjing", "AT", at},
			} {
				if got := c.do(line...); !strings.Contains(got, "likes longjing") || !strings.Contains(got, "called ada") {
					t.Errorf("%s: %q: %q", when, line, got)
				}
			}
			if got := c.do("MEM.RECALL", "app:u1", "QUERY", "longjing", "AT", at); !strings.Contains(got, "likes longjing") {
				t.Errorf("%s: AT %s: %q", when, at, got)
			}
		}
		if got := c.do("MEM.DEBUG", "app:u1"); strings.Contains(got, "longjing") {
			t.Errorf("%s: it stands: %q", when, got)
		}
		if err := w.store.Checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
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
