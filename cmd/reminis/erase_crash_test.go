package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"reminis/persistence"
	"reminis/persistence/canary"
)

// This file owns the crash test of erasing: whenever the power goes, an owner, or
// a session of one, is there as it was or is gone, and gone for ever once its
// erasure was acknowledged.

// erasePointsDefault is how many crash points are recovered from before the
// erasure is acknowledged, and how many after that.
const erasePointsDefault = 12

// The owner of which all or a session is erased, and one that is left alone.
const (
	erasedOwner = "ai:gone"
	keptOwner   = "ai:kept"
)

// erasePoint is the disk as it was before one operation of an erasure.
type erasePoint struct {
	operation string
	acked     bool
	disk      *vfs.MemFS
}

// erasing is an erasure on a disk that is looked at all the time.
type erasing struct {
	*testing.T
	setting    setting
	clock      *testClock
	scope      string   // what is erased
	others     []string // scopes that are not
	gone, kept string   // what records say in the scope, and in others
	before     map[string]string
	points     []erasePoint
}

func TestCrashWhileErasing(t *testing.T) {
	seed := seedOf(t)
	for scope, others := range map[string][]string{
		erasedOwner:         {keptOwner},
		erasedOwner + ":s1": {erasedOwner + ":s2", keptOwner},
	} {
		for i, percent := range []int{0, 50, 100} {
			t.Run(fmt.Sprintf("%s, %d%% of what is not synced survives", scope, percent), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				x := &erasing{T: t, setting: newSetting(persistence.Everysec), clock: clockAt(testStartMs),
					scope: scope, others: others, gone: canary.Word(rng), kept: canary.Word(rng)}
				x.run(percent, rng)
				outcomes := map[string]int{}
				acked := slices.IndexFunc(x.points, func(pt erasePoint) bool { return pt.acked })
				chosen := sample(x.points[:acked], erasePointsDefault)
				for _, n := range sample(x.points[acked:], erasePointsDefault) {
					chosen = append(chosen, acked+n)
				}
				for _, n := range chosen {
					pt := x.points[n]
					outcome, err := x.judge(pt)
					if err != nil {
						t.Fatalf("seed %d, crash point %d of %d, before operation %s, acknowledged %t: %v",
							seed, n, len(x.points), pt.operation, pt.acked, err)
					}
					outcomes[outcome]++
				}
				t.Logf("seed %d: %v of %d crash points, the first %d before the receipt", seed, outcomes, len(x.points), acked)
			})
		}
	}
}

// write changes a record in a session, and a list, and says a word wherever it
// can.
func (x *erasing) write(c *testClient, session, word string, n int) {
	x.Helper()
	says := []string{"REASON", word, "BY", word, "TRACE", word, "CALLER", word, "TAGS", "1", word, "SOURCE", word}
	for _, line := range [][]string{
		append(x.named(session, word, n), says...),
		append([]string{"MEM.PATCH", session + ":k1", fmt.Sprintf(`{"n":%d,"say":"%s"}`, n, word), "KIND", "semantic"}, says...),
		append([]string{"MEM.APPEND", session + ":turns", "MAXLEN", "3"}, append(says, "ITEMS", "2", `"`+word+`"`, "1")...),
	} {
		if got := c.do(line...); !strings.HasPrefix(got, ":") {
			x.Fatalf("%q: %q", line, got)
		}
	}
	c.do("MEM.LINK", session+":k0", word, session+":k1")
}

// named is the change n of a session that has an ID.
func (x *erasing) named(session, word string, n int) []string {
	return []string{"MEM.SET", session + ":k0", fmt.Sprintf(`{"n":%d,"say":"%s"}`, n, word), "ID", fmt.Sprint(word, n)}
}

// run writes in and beside the scope, in rows and in the journal, and erases it.
func (x *erasing) run(percent int, rng *rand.Rand) {
	disk := newTestDisk()
	w := mustOpenWorld(x, disk, x.setting, x.clock)
	c := w.connect()
	for n := range 12 {
		x.write(c, erasedOwner+":s1", x.gone, n)
		for _, other := range x.others {
			x.write(c, strings.Replace(other, keptOwner, keptOwner+":s1", 1), x.kept, n)
		}
		if n == 4 || n == 8 {
			if err := w.store.Checkpoint(); err != nil {
				x.Fatal(err)
			}
		}
	}
	if err := w.store.Sync(); err != nil {
		x.Fatal(err)
	}
	x.before = map[string]string{}
	for _, scope := range append(x.others, x.scope) {
		x.before[scope] = scopeText(c, scope)
	}
	var mu sync.Mutex // the store writes in the background too
	acked := false
	disk.whenever(func(count int, op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		x.points = append(x.points, erasePoint{fmt.Sprintf("%d (kind %d on %s)", count, op.Kind, op.Path), acked, disk.afterCrash(percent, rng)})
		return nil
	})
	if got := c.do("MEM.ERASE", x.scope); !strings.Contains(got, "receipt") {
		x.Fatal(got)
	}
	mu.Lock()
	acked = true
	mu.Unlock()
	c.do("MEM.SET", erasedOwner+":s9:k", `"afterwards"`)
	if err := errors.Join(w.store.Checkpoint(), w.close()); err != nil {
		x.Fatal(err)
	}
	disk.whenever(nil)
}

// scopeText prints the records of a scope, with their history and links. What the
// owner has after the erasure is not part of it.
func scopeText(c *testClient, scope string) string {
	out := ""
	keys := items(c.do("KEYS", scope+":*"))
	slices.Sort(keys)
	for _, key := range keys {
		if !strings.Contains(key, ":s9:") {
			out += fmt.Sprintf("%s %q %q %q\n", key, c.do("MEM.GET", key, "WITHMETA"), c.do("MEM.HISTORY", key), c.do("MEM.LINKS", key))
		}
	}
	return out
}

// sings counts the replies that say what is erased.
func (x *erasing) sings(c *testClient) (count int) {
	for _, got := range []string{
		scopeText(c, x.scope), c.do("MEM.AUDIT", erasedOwner, "COUNT", "1000", "WITHDIFF"), c.do("MEM.RECALL", erasedOwner, "QUERY", x.gone),
		c.do("MEM.GET", erasedOwner+":s1:k0", "VERSION", "2"), c.do("MEM.GET", erasedOwner+":s1:turns", "VERSION", "11"),
	} {
		if strings.Contains(got, x.gone) {
			count++
		}
	}
	return count
}

// judge opens what a crash left, says what it is, and erases once more.
func (x *erasing) judge(pt erasePoint) (outcome string, err error) {
	if pt.acked {
		mustNotSing(x.T, pt.disk, "data", x.gone, "acknowledged")
	}
	w, err := openWorld(pt.disk, x.setting, x.clock)
	if err != nil {
		return "", err
	}
	outcome, err = x.judgeOpen(w, pt)
	return outcome, errors.Join(err, w.close())
}

func (x *erasing) judgeOpen(w *world, pt erasePoint) (outcome string, err error) {
	c := w.connect()
	defer c.session.Close()
	// Nothing of it happens a second time, whether it was erased or not.
	again := c.do(append(x.named(erasedOwner+":s1", x.gone, 11), "REASON", x.gone, "BY", x.gone, "TRACE", x.gone, "CALLER", x.gone,
		"TAGS", "1", x.gone, "SOURCE", x.gone, "RETURN", "STATUS")...)
	switch text, sings := scopeText(c, x.scope), x.sings(c); {
	case text == "" && sings == 0 && strings.HasPrefix(again, "-ERASED "):
		outcome = "erased"
	case text == x.before[x.scope] && sings == 5 && strings.Contains(again, "duplicated") && !pt.acked:
		outcome = "as it was"
	default:
		return "", fmt.Errorf("%d replies say what was erased, its command again: %q, records: %s", sings, again, difference(text, x.before[x.scope]))
	}
	for range 2 { // now, and after it is erased once more
		for _, other := range x.others {
			if text := scopeText(c, other); text != x.before[other] {
				return outcome, fmt.Errorf("%s: %s", other, difference(text, x.before[other]))
			}
		}
		for _, owner := range []string{erasedOwner, keptOwner} {
			if got := c.do("MEM.AUDIT", owner, "VERIFY"); !strings.Contains(got, "$2\r\nok\r\n:1\r\n") {
				return outcome, fmt.Errorf("the chain of %s: %q", owner, got)
			}
		}
		if err := w.engine.Check(); err != nil {
			return outcome, err
		}
		if got := c.do("MEM.ERASE", x.scope); !strings.Contains(got, "receipt") {
			return outcome, fmt.Errorf("once more: %q", got)
		}
		if sings := x.sings(c); sings > 0 {
			return outcome, fmt.Errorf("erased once more: %d replies say it", sings)
		}
	}
	mustNotSing(x.T, pt.disk, "data", x.gone, "erased once more")
	return outcome, nil
}
