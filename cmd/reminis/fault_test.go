package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"reminis/persistence"
)

// This file owns the test of a disk that fails and comes back: writes are
// refused meanwhile, reads go on, and nothing acknowledged is lost.

// faultPointsDefault is how many beginnings of a fault are tried by default.
const faultPointsDefault = 16

// fault is a way in which a disk fails until it is mended.
type fault struct {
	name string
	err  error
	hits func(op errorfs.Op) bool
}

func faults() []fault {
	syncs := func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	}
	return []fault{
		{"nothing can be written", errors.New("input/output error"), func(errorfs.Op) bool { return true }},
		{"nothing can be synced", errors.New("input/output error"), syncs},
		{"the disk is full", syscall.ENOSPC, func(op errorfs.Op) bool { return !syncs(op) && op.Kind != errorfs.OpRemove }},
	}
}

func TestFaults(t *testing.T) {
	seed := seedOf(t)
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			// How many operations there are without a fault, and until the start is over.
			c := newCrashRun(t, seed, persistence.Always)
			if got := c.suffer(f, 1<<30); got != neverHit {
				t.Fatal(got)
			}
			opened, total := c.opened, c.disk.operations()
			outcomes := map[outcome]int{}
			chosen := sample(make([]struct{}, total-opened), faultPointsDefault)
			for _, n := range chosen {
				outcomes[newCrashRun(t, seed, persistence.Always).suffer(f, n)]++
			}
			t.Logf("seed %d: fault from operation (after the start, of %d) %v: %v", seed, total-opened, chosen, outcomes)
		})
	}
}

// A start on a disk that fails is refused, and the next one finds everything.
func TestFaultAtStart(t *testing.T) {
	seed := seedOf(t)
	for _, f := range faults() {
		first := newCrashRun(t, seed, persistence.Always)
		if err := errors.Join(first.open(), first.work(20), first.w.close()); err != nil {
			t.Fatal(err)
		}
		left := first.disk.afterCrash(0, nil)
		opened, refusals := 0, 0
		for from := 1; ; from++ {
			disk := diskOver(left.CrashClone(vfs.CrashCloneCfg{}))
			hit := false
			disk.whenever(func(count int, op errorfs.Op) error {
				if count < from || !f.hits(op) {
					return nil
				}
				hit = true
				return f.err
			})
			w, err := openWorld(disk, first.setting, first.clock)
			if err == nil {
				opened++
				disk.whenever(nil)
				_ = w.close() // what it could not write is in the journal
			} else {
				refusals++
			}
			pt := crashPoint{acked: first.w.appended(), last: first.w.appended() + 1<<20, disk: disk.afterCrash(0, nil)}
			if err := first.recover(pt); err != nil {
				t.Fatalf("seed %d: %s from operation %d of a start: the next start: %v", seed, f.name, from, err)
			}
			if !hit {
				break
			}
		}
		t.Logf("seed %d: %s: %d starts were refused, %d not", seed, f.name, refusals, opened)
	}
}

// outcome says what a fault did.
type outcome string

const (
	neverHit    outcome = "never hit"
	unnoticed   outcome = "unnoticed by clients"
	refusedSome outcome = "refused writes"
)

// suffer runs a life on a disk that fails so many operations after the start, until it is
// mended. How many the start has differs: some are in the background.
func (c *crashRun) suffer(f fault, operations int) outcome {
	c.t.Helper()
	c.setting.SyncInterval = 10 * time.Millisecond // the background tries again so often
	started, mended, hit := false, false, false
	c.disk.whenever(func(count int, op errorfs.Op) error {
		if !started || mended || count <= c.opened+operations || !f.hits(op) {
			return nil
		}
		hit = true
		return f.err
	})
	mend := func() {
		c.disk.mu.Lock()
		defer c.disk.mu.Unlock()
		mended = true
	}
	where := fmt.Sprintf("%s from operation %d after the start", f.name, operations)
	if err := c.open(); err != nil {
		c.fatalf("%s: %v", where, err)
	}
	c.disk.mu.Lock()
	started, c.opened = true, c.disk.count
	c.disk.mu.Unlock()
	result := c.sufferOpen(where, &hit)
	crashed := c.disk.afterCrash(0, nil)
	lost := crashPoint{operation: where, acked: c.acked.Load(), last: c.w.appended(), disk: crashed}
	mend()
	c.mustResume(where)
	if err := errors.Join(c.work(10), c.w.store.Sync()); err != nil {
		c.fatalf("%s: after it was mended: %v", where, err)
	}
	c.compare(where + ": after it was mended")
	after := crashPoint{operation: where, acked: c.w.appended(), last: c.w.appended(), disk: c.disk.afterCrash(0, nil)}
	if err := c.w.close(); err != nil && !errors.Is(err, persistence.ErrRowsFailed) {
		c.fatalf("%s: close: %v", where, err)
	}
	for when, pt := range map[string]crashPoint{"a crash while it lasts": lost, "a crash afterwards": after} {
		if err := c.recover(pt); err != nil {
			c.fatalf("%s: %s: %v", where, when, err)
		}
	}
	return result
}

// sufferOpen works until the fault was met, and on while it lasts.
func (c *crashRun) sufferOpen(where string, hit *bool) outcome {
	c.t.Helper()
	r := rand.New(rand.NewPCG(c.seed, 5))
	failed, refusals := 0, 0
	for pass := 0; pass < 60 && failed < 8; pass++ {
		for range 1 + r.IntN(3) {
			words := c.g.next()
			before := c.w.appended()
			c.line(words)
			if c.w.store.Ready() != nil && c.w.appended() == before {
				refusals++
			}
		}
		if err := c.reply(); err != nil || c.w.store.Stats().Failed {
			failed++
			c.readsGoOn(where)
		}
		if pass%20 == 19 {
			// What it says is the operator's: the next one tries again.
			_ = c.w.store.Checkpoint()
		}
	}
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	switch {
	case !*hit:
		return neverHit
	case failed == 0 || refusals == 0:
		return unnoticed
	}
	return refusedSome
}

// readsGoOn reads all keys of a database while nothing can be written.
func (c *crashRun) readsGoOn(where string) {
	c.t.Helper()
	side, m := c.w.connect(), c.m.clone()
	defer side.session.Close()
	for key := range m.databases[0] {
		for _, words := range [][]string{{"TYPE", key}, {"PTTL", key}, {"STRLEN", key}} {
			if got, want := side.do(words...), m.do(c.clock.NowMs(), words); got != want {
				c.fatalf("%s: %q: got %q, want %q", where, words, got, want)
			}
		}
	}
	if got := side.do("SET", "refused", "x"); !refused(got) && c.w.store.Stats().Failed {
		c.fatalf("%s: a write while the journal cannot be written: %q", where, got)
	}
	if got := side.do("GET", "refused"); refused(got) {
		c.fatalf("%s: a read is refused: %q", where, got)
	}
}

// patience bounds the wait for what the background does by itself; it is no part
// of what is tested.
const patience = time.Minute

// mustResume waits until writes are taken again and nothing is left to be made
// durable.
func (c *crashRun) mustResume(where string) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for c.w.store.Ready() != nil || c.w.store.Durable() != c.w.appended() {
		if time.Now().After(deadline) {
			c.fatalf("%s: never again: %v; durable %d of %d", where, c.w.store.Ready(), c.w.store.Durable(), c.w.appended())
		}
		runtime.Gosched()
	}
}
