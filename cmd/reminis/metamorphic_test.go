package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reminis/persistence"
)

// This file owns the metamorphic test of the whole system: random command lines
// through sessions beside the plain model, with restarts in between. Replies are
// compared as they come, and everything that is stored after each restart.

var seedFlag = flag.Uint64("seed", 0, "seed of the tests with random lines; 0 draws one")

// seedOf is the seed to use.
func seedOf(t testing.TB) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d (repeat with -seed)", seed)
	return seed
}

// pair is a world beside its model.
type pair struct {
	t       *testing.T
	seed    uint64
	r       *rand.Rand
	disk    *testDisk
	setting setting
	clock   *testClock
	w       *world
	client  *testClient
	m       *model
	g       *generator
	scan    scanWalk
	past    []remembered
	lines   int

	// How often MEM.APPLY happened, and how often it did not.
	applied, aborted int
}

func newPair(t *testing.T, seed uint64, durability persistence.Durability) *pair {
	p := &pair{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), disk: newTestDisk(),
		setting: newSetting(durability), clock: clockAt(testStartMs), m: newModel(worldDatabases)}
	p.g = &generator{r: rand.New(rand.NewPCG(seed, 2)), clock: p.clock, records: recordsSome}
	p.w = mustOpenWorld(t, p.disk, p.setting, p.clock)
	p.client = p.w.connect()
	return p
}

func (p *pair) fatalf(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("seed %d, line %d: %s", p.seed, p.lines, fmt.Sprintf(format, args...))
}

// step runs one line on both sides.
func (p *pair) step(words []string) {
	p.t.Helper()
	p.lines++
	alone := !p.m.open
	got := p.client.do(words...)
	if want := p.m.do(p.clock.NowMs(), words); want != "" && got != want {
		p.fatalf("%q\ngot  %q\nwant %q", words, got, want)
	}
	if alone {
		p.judgeLine(words, got)
	}
}

// judgeLine holds the reply of a line outside of MULTI to what is known of it
// although the model has no records.
func (p *pair) judgeLine(words []string, reply string) {
	p.t.Helper()
	if !isApply(words) {
		return
	}
	if err := judgeApplied(words, reply); err != nil {
		p.fatalf("%v", err)
	}
	if reply[0] == '-' {
		p.aborted++
	} else {
		p.applied++
	}
}

// compare compares everything that is stored with the model.
func (p *pair) compare(when string) {
	p.t.Helper()
	if got, want := p.w.dump(), p.m.dump(p.clock.NowMs()); got != want {
		p.fatalf("%s: %s", when, difference(got, want))
	}
	if got, want := p.w.rulesText(), p.m.rulesText(); got != want {
		p.fatalf("%s: rules: %s", when, difference(got, want))
	}
	if err := p.w.engine.Check(); err != nil {
		p.fatalf("%s: %v", when, err)
	}
}

// records reads all records, of which what has expired goes first.
func (p *pair) records(when string) recordsState {
	p.t.Helper()
	p.w.engine.ExpireDue()
	state, err := p.w.records()
	if err != nil {
		p.fatalf("%s: %v", when, err)
	}
	return state
}

// restart ends the world in one of the ways in which worlds end.
func (p *pair) restart() string {
	p.t.Helper()
	how := pick(p.r, "closing", "a crash", "a checkpoint and closing", "a checkpoint and a crash", "DEBUG RELOAD")
	must := func(err error) {
		p.t.Helper()
		if err != nil {
			p.fatalf("%s: %v", how, err)
		}
	}
	if strings.HasPrefix(how, "a checkpoint") {
		must(p.w.store.Checkpoint())
	}
	switch {
	case how == "DEBUG RELOAD":
		// The session and its open MULTI live on.
		if got := p.w.connect().do("DEBUG", "RELOAD"); got != modelOK {
			p.fatalf("DEBUG RELOAD: %q", got)
		}
		p.scan = scanWalk{}
		return how
	case strings.HasSuffix(how, "closing"):
		must(p.w.close())
	default:
		// What was synced survives; what was not even written is there no more,
		// so nothing is left out.
		must(p.w.store.Sync())
		old := p.w
		p.disk = diskOver(p.disk.afterCrash(p.r.IntN(101), p.r))
		must(old.close())
	}
	p.w = mustOpenWorld(p.t, p.disk, p.setting, p.clock)
	p.client = p.w.connect()
	p.m.leave()
	p.g.inMulti = false
	p.scan = scanWalk{}
	return how
}

// scanWalk is a SCAN under way: keys that are there all the time must be seen.
type scanWalk struct {
	open   bool
	db     int
	cursor string
	stays  map[string]bool // there since the beginning
	seen   map[string]bool
}

// note forgets what is not there any more.
func (p *pair) note() {
	if !p.scan.open {
		return
	}
	for key := range p.scan.stays {
		if _, there := p.m.find(p.scan.db, key); !there {
			delete(p.scan.stays, key)
		}
	}
}

// advance makes one call of the walk, between two lines.
func (p *pair) advance() {
	p.t.Helper()
	if p.m.open {
		return
	}
	s := &p.scan
	if !s.open {
		*s = scanWalk{open: true, db: p.m.db, cursor: "0", stays: map[string]bool{}, seen: map[string]bool{}}
		for key := range p.m.databases[s.db] {
			s.stays[key] = true
		}
		p.note()
	}
	if s.db != p.m.db {
		return
	}
	p.lines++
	found := items(p.client.do("SCAN", s.cursor, "COUNT", fmt.Sprint(1+p.r.IntN(8))))
	s.cursor = found[0]
	for _, key := range found[1:] {
		if _, there := p.m.find(s.db, key); !there && !strings.HasPrefix(key, recordPrefix) {
			p.fatalf("SCAN gave %q, which is not there", key)
		}
		s.seen[key] = true
	}
	if s.cursor != "0" {
		return
	}
	s.open = false
	for _, key := range slices.Sorted(maps.Keys(s.stays)) {
		if !s.seen[key] {
			p.fatalf("SCAN never gave %q, which was there all the time", key)
		}
	}
}

// moves says whether a line may put other keys in the place of those of a
// database: a walk over it means nothing any more.
func moves(words []string) bool { return words[0] == "SWAPDB" || words[0] == "EXEC" }

func TestMetamorphic(t *testing.T) {
	seed := seedOf(t)
	for round, durability := range []persistence.Durability{persistence.Everysec, persistence.Always} {
		p := newPair(t, seed+uint64(round), durability)
		ended := map[string]int{}
		for range 24 {
			for range 100 + p.r.IntN(150) {
				words := p.g.next()
				p.step(words)
				if p.note(); moves(words) {
					p.scan = scanWalk{}
				}
				switch p.r.IntN(12) {
				case 0, 1, 2:
					p.advance()
				case 3, 4:
					p.clock.ms.Add(p.r.Int64N(25))
				case 5:
					p.w.engine.ExpireDue()
				case 6:
					if err := p.w.store.Flush(); err != nil {
						p.fatalf("flush: %v", err)
					}
				}
			}
			p.compare("before a restart")
			before := p.records("before a restart")
			how := p.restart()
			ended[how]++
			p.compare("after " + how)
			if differ := p.records("after " + how).differs(before); differ != "" {
				p.fatalf("after %s: records: %s", how, differ)
			}
		}
		if err := p.w.close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("seed %d: %d lines, restarts: %v", p.seed, p.lines, ended)
	}
}
