package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"reminis/persistence"
)

// This file owns the crash test of the whole system: the disk loses power before
// any of its writes, and what comes back is what was acknowledged. It must not
// know commands.

var allPoints = flag.Bool("crash-points-all", false, "recover from every crash point, not from a sample of them")

// crashPointsDefault is how many points of a run are recovered from by default.
const crashPointsDefault = 100

// How many of twelve lines are about records: where all kinds of keys meet, and
// where what records have to do with each other does.
const (
	recordsSome = 4
	recordsMost = 11
)

// snapshot is everything as one batch left it.
type snapshot struct {
	model   *model
	nowMs   int64
	records recordsState
	// between says that the batch is one of several of one step: of records
	// only the step's end is known.
	between bool
}

// crashRun is a pair that remembers all its past.
type crashRun struct {
	*pair
	durability persistence.Durability
	snapshots  []snapshot // by sequence

	// firm is the last batch that must be durable before its reply: any that a
	// line made with always, one of a profile or semantic record with everysec.
	// acked is the last one of them whose reply has left.
	acked  atomic.Uint64
	firm   uint64
	opened int // operations of the disk until the start was over
	// busy is the world while there is one, for whoever asks what exists.
	busy atomic.Pointer[world]

	mu       sync.Mutex
	points   []crashPoint
	segments map[string]bool
}

// crashPoint is the disk as it was before one operation.
type crashPoint struct {
	operation   string
	acked, last uint64 // batches that were acknowledged, and that existed
	disk        *vfs.MemFS
}

func newCrashRun(t *testing.T, seed uint64, durability persistence.Durability) *crashRun {
	c := &crashRun{durability: durability, segments: map[string]bool{}}
	c.pair = &pair{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), disk: newTestDisk(),
		setting: newSetting(durability), clock: clockAt(testStartMs), m: newModel(worldDatabases)}
	c.g = &generator{r: rand.New(rand.NewPCG(seed, 2)), clock: c.clock, records: recordsSome}
	return c
}

// open begins a world on the run's disk.
func (c *crashRun) open() error {
	w, err := openWorld(c.disk, c.setting, c.clock)
	if err != nil {
		return err
	}
	c.w, c.client = w, w.connect()
	c.busy.Store(w)
	c.m.leave()
	c.g.inMulti = false
	if len(c.snapshots) == 0 {
		c.note()
	}
	return nil
}

// watch takes a crash point before each operation.
func (c *crashRun) watch(percent int) {
	rng := rand.New(rand.NewPCG(c.seed, 3))
	c.disk.whenever(func(count int, op errorfs.Op) error {
		pt := crashPoint{operation: fmt.Sprintf("%d (kind %d on %s)", count, op.Kind, op.Path), acked: c.acked.Load()}
		pt.disk = c.disk.afterCrash(percent, rng)
		if w := c.busy.Load(); w != nil {
			pt.last = max(w.journal.begun.Load(), w.appended())
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.points = append(c.points, pt)
		if strings.Contains(op.Path, "journal/") {
			c.segments[op.Path] = true
		}
		return nil
	})
}

// line runs one line on both sides and notes what it left.
func (c *crashRun) line(words []string) {
	c.t.Helper()
	swept := c.r.IntN(2) == 0
	if swept { // else what has expired goes in a batch of its own, before the line's
		c.w.engine.ExpireDue()
		c.note()
	}
	before, stood := c.w.appended(), c.firmText()
	isFirm, alone := firm(words), !c.m.open
	if words[0] == "EXEC" {
		isFirm = slices.ContainsFunc(c.m.queue, firm) && !slices.ContainsFunc(c.m.queue, onDatabase)
	}
	c.lines++
	got := c.client.do(words...)
	switch {
	case refused(got):
		if words[0] == "EXEC" {
			c.m.discard(nil)
		}
		return
	case words[0] == "EXEC" && strings.Contains(got, "\n-MISCONF"):
		// Its scripts may not write, and nothing else in it would.
		c.m.queue = slices.DeleteFunc(c.m.queue, func(words []string) bool { return words[0] == "EVAL" || words[0] == "FCALL" })
		c.m.do(c.clock.NowMs(), words)
		return
	}
	if want := c.m.do(c.clock.NowMs(), words); want != "" && got != want {
		c.fatalf("%q\ngot  %q\nwant %q", words, got, want)
	}
	if alone {
		c.judgeLine(words, got)
		c.remember(words, got, before)
		c.unchanged(words, got, before, swept)
	}
	if made := c.w.appended() - before; made > 1 && swept && indivisible(words) {
		c.fatalf("%q made %d batches: a crash may come between them", words, made)
	}
	c.note()
	if isFirm && c.firmText() != stood || c.durability == persistence.Always && c.w.appended() > before {
		c.firm = c.w.appended()
	}
}

// unchanged fails when a line that was aborted left something behind. What has
// expired before it was swept, or may end with it.
func (c *crashRun) unchanged(words []string, reply string, before uint64, swept bool) {
	c.t.Helper()
	if !swept || !strings.HasPrefix(reply, "-APPLYABORT ") {
		return
	}
	if made := c.w.appended() - before; made > 0 {
		c.fatalf("%q: %q made %d batches", words, reply, made)
	}
	records, err := c.w.records()
	if err != nil {
		c.fatalf("%q: %q: %v", words, reply, err)
	}
	if differ := records.differs(c.snapshots[before].records); differ != "" {
		c.fatalf("%q: %q: records: %s", words, reply, differ)
	}
}

// firmText is what the last snapshot has of what is fsynced before the reply:
// rules, and records of some kinds.
func (c *crashRun) firmText() string {
	out := ""
	for line := range strings.Lines(c.snapshots[len(c.snapshots)-1].records.text) {
		if strings.Contains(line, ":"+kindProfile) || strings.Contains(line, ":"+kindSemantic) || strings.HasPrefix(line, ruleMark) {
			out += line
		}
	}
	return out
}

// indivisible says whether all of a line happens or nothing.
func indivisible(words []string) bool {
	return words[0] == "EXEC" || words[0] == "EVAL" || words[0] == "FCALL" || words[0] == "FUNCTION" || strings.HasPrefix(words[0], "MEM.") && !slices.Contains(words, "MIGRATE")
}

// onDatabase says whether a line changes whole databases: that is not a change
// of their records.
func onDatabase(words []string) bool {
	return words[0] == "SWAPDB" || strings.HasPrefix(words[0], "FLUSH")
}

// refused says whether a reply says that nothing can be written now.
func refused(reply string) bool {
	return strings.HasPrefix(reply, "-MISCONF") || strings.HasPrefix(reply, "-EXECABORT Transaction discarded because of: MISCONF")
}

// note takes a snapshot when there are new batches.
func (c *crashRun) note() {
	c.t.Helper()
	last := c.w.appended()
	if int(last) < len(c.snapshots) {
		return
	}
	records, err := c.w.records()
	if err != nil {
		c.fatalf("%v", err)
	}
	if got, want := c.w.rulesText(), c.m.rulesText(); got != want {
		c.fatalf("rules: %s", difference(got, want))
	}
	s := snapshot{model: c.m.clone(), nowMs: c.clock.NowMs(), records: records}
	for int(last) > len(c.snapshots) {
		s.between = true
		c.snapshots = append(c.snapshots, s)
	}
	s.between = false
	c.snapshots = append(c.snapshots, s)
}

// reply lets the replies so far leave, as a connection's driver does: after a
// sync when what they show must be durable, else after a write. It returns the
// store's error.
func (c *crashRun) reply() error {
	if err := c.w.store.Flush(); err != nil {
		return err
	}
	if gate := c.client.session.GateSeq(); gate > c.w.store.Durable() {
		if err := c.w.store.Sync(); err != nil {
			return err
		}
	}
	c.acked.Store(c.firm)
	return nil
}

// work runs passes of a few lines each. It returns the store's first error.
func (c *crashRun) work(passes int) error {
	for i := range passes {
		for range 1 + c.r.IntN(4) {
			c.line(c.g.next())
		}
		if err := c.reply(); err != nil {
			return err
		}
		switch c.r.IntN(8) {
		case 0:
			c.clock.ms.Add(c.r.Int64N(60))
		case 1:
			c.w.engine.ExpireDue()
			c.note()
		case 2:
			c.repeat()
		}
		if i%40 == 39 {
			if err := c.w.store.Checkpoint(); err != nil {
				return err
			}
		}
	}
	return nil
}

// repeat says a line with an ID that was carried out once more.
func (c *crashRun) repeat() {
	c.t.Helper()
	withID := slices.DeleteFunc(slices.Clone(c.past), func(r remembered) bool { return r.words == nil })
	if len(withID) == 0 {
		return
	}
	r := pick(c.r, withID...)
	c.w.engine.ExpireDue()
	c.note()
	side, before := c.w.connect(), c.w.appended()
	defer side.session.Close()
	side.do("SELECT", fmt.Sprint(slices.Index(c.m.spaces, r.space)))
	if err := r.again(side); err != nil || c.w.appended() != before {
		c.fatalf("%d batches, %v", c.w.appended()-before, err)
	}
}

// run is a life of two worlds of so many passes, the first of which is closed
// cleanly.
func (c *crashRun) run(percent, passes int) (checkpoints uint64) {
	c.watch(percent)
	for life := range 2 {
		if err := c.open(); err != nil {
			c.fatalf("%v", err)
		}
		for _, words := range c.g.populate() {
			c.line(words)
		}
		if err := errors.Join(c.reply(), c.work(passes)); err != nil {
			c.fatalf("life %d: %v", life, err)
		}
		// What the test wants may be rare among what was drawn.
		for extra := 0; life == 1 && c.short() && extra < 10; extra++ {
			if err := c.work(passes / 4); err != nil {
				c.fatalf("%v", err)
			}
		}
		checkpoints += c.w.store.Stats().Checkpoints
		if err := c.w.close(); err != nil {
			c.fatalf("life %d: close: %v", life, err)
		}
		if c.acked.Store(c.w.appended()); c.w.engine.Check() != nil {
			c.fatalf("life %d: %v", life, c.w.engine.Check())
		}
	}
	c.disk.whenever(nil)
	return checkpoints
}

// short says whether a run of records has seen too little of MEM.APPLY.
func (c *crashRun) short() bool {
	return c.g.records == recordsMost && (c.applied < 5 || c.aborted < 5)
}

// recover opens what a crash left and holds it to the past.
func (c *crashRun) recover(pt crashPoint) error {
	w, err := openWorld(pt.disk, c.setting, clockAt(c.clock.NowMs()))
	if err != nil {
		return err
	}
	err = c.judge(w, pt)
	return errors.Join(err, w.close())
}

func (c *crashRun) judge(w *world, pt crashPoint) error {
	seq := w.appended()
	if seq < pt.acked || seq > pt.last {
		return fmt.Errorf("recovered up to batch %d; %d was acknowledged, %d existed", seq, pt.acked, pt.last)
	}
	s := c.snapshots[seq]
	w.clock.ms.Store(s.nowMs)
	if got, want := w.dump(), s.model.dump(s.nowMs); got != want {
		return fmt.Errorf("batch %d: %s", seq, difference(got, want))
	}
	if got, want := w.rulesText(), s.model.rulesText(); got != want {
		return fmt.Errorf("batch %d: rules: %s", seq, difference(got, want))
	}
	records, err := w.records()
	if err != nil {
		return fmt.Errorf("batch %d: %w", seq, err)
	}
	if differ := records.differs(s.records); !s.between && differ != "" {
		return fmt.Errorf("batch %d: records: %s", seq, differ)
	}
	if err := w.checkPast(c.past, seq, s.model); err != nil {
		return err
	}
	if err := w.engine.Check(); err != nil {
		return err
	}
	return c.goOn(w, s)
}

// goOn uses the recovered world as if nothing had happened.
func (c *crashRun) goOn(w *world, s snapshot) error {
	m, client := s.model.clone(), w.connect()
	g := &generator{r: rand.New(rand.NewPCG(c.seed, 4)), clock: w.clock, records: c.g.records}
	for range 12 {
		words := g.next()
		if got, want := client.do(words...), m.do(w.clock.NowMs(), words); got != want && want != "" {
			return fmt.Errorf("after recovery: %q: got %q, want %q", words, got, want)
		}
	}
	if err := w.store.Sync(); err != nil {
		return err
	}
	if got, want := w.dump()+w.rulesText(), m.dump(s.nowMs)+m.rulesText(); got != want {
		return fmt.Errorf("after recovery: %s", difference(got, want))
	}
	_, err := w.records()
	return errors.Join(err, w.engine.Check())
}

// sample gives about count of the points, evenly, the first and last among them.
func sample[T any](all []T, count int) (chosen []int) {
	if *allPoints || len(all) <= count {
		count = len(all)
	}
	for i := range count {
		chosen = append(chosen, i*(len(all)-1)/max(count-1, 1))
	}
	return chosen
}

// A crash before any write or fsync loses nothing that was acknowledged, tears
// no transaction, and leaves a prefix of what was done.
func TestCrash(t *testing.T) {
	seed := seedOf(t)
	for _, durability := range []persistence.Durability{persistence.Always, persistence.Everysec} {
		for i, percent := range []int{0, 40, 100} {
			name := fmt.Sprintf("%s, %d%% of what is not synced survives", durabilityName(durability), percent)
			t.Run(name, func(t *testing.T) {
				c := newCrashRun(t, seed+uint64(i), durability)
				c.crash(percent, 55, crashPointsDefault)
			})
		}
	}
}

// What is said in TestCrash holds for memory records and all that is kept beside
// them, and the chains of all owners verify.
func TestCrashOfRecords(t *testing.T) {
	seed := seedOf(t)
	for i, durability := range []persistence.Durability{persistence.Always, persistence.Everysec} {
		t.Run(durabilityName(durability), func(t *testing.T) {
			c := newCrashRun(t, seed+uint64(i), durability)
			c.g.records = recordsMost
			c.crash(40, 110, crashPointsDefault)
			if c.short() {
				c.fatalf("MEM.APPLY happened %d times and was aborted %d times: the test wants more", c.applied, c.aborted)
			}
		})
	}
}

// crash runs a life and recovers from a sample of its crash points.
func (c *crashRun) crash(percent, passes, points int) {
	c.t.Helper()
	checkpoints := c.run(percent, passes)
	if checkpoints < 3 || len(c.segments) < 4 {
		c.fatalf("%d checkpoints and %d segments: the test wants more", checkpoints, len(c.segments))
	}
	chosen := sample(c.points, points)
	for _, n := range chosen {
		pt := c.points[n]
		if err := c.recover(pt); err != nil {
			c.t.Fatalf("seed %d, crash point %d of %d, before operation %s, acknowledged %d of %d batches: %v",
				c.seed, n, len(c.points), pt.operation, pt.acked, pt.last, err)
		}
	}
	c.t.Logf("seed %d: %d lines, %d batches, %d checkpoints, %d segments, 24 keys in one table (a bucket splits for each 8)",
		c.seed, c.lines, len(c.snapshots)-1, checkpoints, len(c.segments))
	c.t.Logf("crash points (of %d): %v", len(c.points), chosen)
}

func durabilityName(d persistence.Durability) string {
	if d == persistence.Always {
		return "always"
	}
	return "everysec"
}
