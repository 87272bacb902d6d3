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
)

// This file owns the crash test of erasing: whenever the power goes, an owner is
// there as it was or is gone, and gone for ever once its erasure was
// acknowledged.

// erasePointsDefault is how many crash points of an erasure are recovered from.
const erasePointsDefault = 25

// The owner that is erased, one that is not, and a record that the first one has
// afterwards.
const (
	erasedOwner  = "ai:gone"
	keptOwner    = "ai:kept"
	rebornRecord = erasedOwner + ":s9:k"
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
	gone, kept string            // what the owners' records say
	before     map[string]string // what was known of the owners
	points     []erasePoint
}

func TestCrashWhileErasing(t *testing.T) {
	seed := seedOf(t)
	for i, percent := range []int{0, 50, 100} {
		t.Run(fmt.Sprintf("%d%% of what is not synced survives", percent), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			x := &erasing{T: t, setting: newSetting(persistence.Everysec), clock: clockAt(testStartMs), gone: canaryOf(rng), kept: canaryOf(rng)}
			x.run(percent, rng)
			outcomes := map[string]int{}
			for _, n := range sample(x.points, erasePointsDefault) {
				pt := x.points[n]
				outcome, err := x.judge(pt)
				if err != nil {
					t.Fatalf("seed %d, crash point %d of %d, before operation %s, acknowledged %t: %v",
						seed, n, len(x.points), pt.operation, pt.acked, err)
				}
				outcomes[outcome]++
			}
			t.Logf("seed %d: %v of %d crash points", seed, outcomes, len(x.points))
		})
	}
}

// run writes of both owners, in rows and in the journal, and erases one of them.
func (x *erasing) run(percent int, rng *rand.Rand) {
	disk := newTestDisk()
	w := mustOpenWorld(x, disk, x.setting, x.clock)
	c := w.connect()
	for range 2 {
		singEverywhere(c, erasedOwner, x.gone)
		singEverywhere(c, keptOwner, x.kept)
		if err := w.store.Checkpoint(); err != nil {
			x.Fatal(err)
		}
		c.do("MEM.PATCH", erasedOwner+":s0:k0", fmt.Sprintf(`{"n":%d}`, rng.IntN(1000)))
		c.do("MEM.PATCH", keptOwner+":s0:k0", fmt.Sprintf(`{"n":%d}`, rng.IntN(1000)))
	}
	if err := w.store.Sync(); err != nil {
		x.Fatal(err)
	}
	x.before = map[string]string{erasedOwner: ownerText(c, erasedOwner), keptOwner: ownerText(c, keptOwner)}
	var mu sync.Mutex // the store writes in the background too
	acked := false
	disk.whenever(func(count int, op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		x.points = append(x.points, erasePoint{fmt.Sprintf("%d (kind %d on %s)", count, op.Kind, op.Path), acked, disk.afterCrash(percent, rng)})
		return nil
	})
	if got := c.do("MEM.ERASE", erasedOwner); !strings.Contains(got, "receipt") {
		x.Fatal(got)
	}
	mu.Lock()
	acked = true
	mu.Unlock()
	c.do("MEM.SET", rebornRecord, `"after"`)
	if err := errors.Join(w.store.Checkpoint(), w.close()); err != nil {
		x.Fatal(err)
	}
	disk.whenever(nil)
}

// ownerText prints an owner's records that outlive a restart, with their history.
func ownerText(c *testClient, owner string) string {
	out := ""
	keys := items(c.do("KEYS", owner+":*"))
	slices.Sort(keys)
	for _, key := range keys {
		if !strings.HasSuffix(key, ":w") && key != rebornRecord {
			out += fmt.Sprintf("%s %q %q %q\n", key, c.do("MEM.GET", key, "WITHMETA"), c.do("MEM.HISTORY", key), c.do("MEM.LINKS", key))
		}
	}
	return out
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
	again := c.do("MEM.SET", erasedOwner+":s0:k0", `{"say":"`+x.gone+`"}`, "TAGS", "1", x.gone, "ANCHOR", x.gone, "SOURCE", x.gone, "META", `"`+x.gone+`"`,
		"REASON", x.gone, "BY", x.gone, "TRACE", x.gone, "CALLER", x.gone, "ID", x.gone+"0", "RETURN", "STATUS")
	shown := asks(c, erasedOwner, x.gone)
	switch text := ownerText(c, erasedOwner); {
	case text == "" && len(shown) == 0 && strings.HasPrefix(again, "-ERASED "):
		outcome = "erased"
	case text == x.before[erasedOwner] && len(shown) >= 8 && strings.Contains(again, "duplicated") && !pt.acked:
		outcome = "as it was"
	default:
		return "", fmt.Errorf("%q show what was erased, its command again: %q, records: %s", shown, again, difference(text, x.before[erasedOwner]))
	}
	for range 2 { // now, and after it is erased once more
		if text := ownerText(c, keptOwner); text != x.before[keptOwner] {
			return outcome, fmt.Errorf("the other owner: %s", difference(text, x.before[keptOwner]))
		}
		for _, owner := range []string{erasedOwner, keptOwner} {
			if got := c.do("MEM.AUDIT", owner, "VERIFY"); !strings.Contains(got, "$2\r\nok\r\n:1\r\n") {
				return outcome, fmt.Errorf("the chain of %s: %q", owner, got)
			}
		}
		if err := w.engine.Check(); err != nil {
			return outcome, err
		}
		if got := c.do("MEM.ERASE", erasedOwner); !strings.Contains(got, "receipt") {
			return outcome, fmt.Errorf("once more: %q", got)
		}
		if shown := asks(c, erasedOwner, x.gone); len(shown) > 0 {
			return outcome, fmt.Errorf("erased once more: %q show it", shown)
		}
	}
	mustNotSing(x.T, pt.disk, "data", x.gone, "erased once more")
	return outcome, nil
}
