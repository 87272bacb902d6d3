package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// While the disk is full, writes are refused, nothing accepted is lost, reads go
// on; when there is space again, so do writes.
func TestFullDiskRefusesWritesAndLosesNothing(t *testing.T) {
	disk := newFaultyDisk(vfs.NewCrashableMem())
	w := newWorld(t, 21, disk, crashOptions(t))
	for range 50 {
		w.append()
	}
	w.must(w.s.Checkpoint())
	w.append() // the background may notice the full disk before anything else is accepted
	disk.whenever(func(int, errorfs.Op) error { return syscall.ENOSPC })
	accepted := 1
	for range 100 { // some are still accepted, before anybody wrote to the disk
		if w.s.Ready() != nil {
			break
		}
		w.append()
		accepted++
		if err := w.s.Flush(); err != nil && !errors.Is(err, ErrDiskFailed) {
			t.Fatalf("flush: %v", err)
		}
	}
	if err := w.s.Ready(); !errors.Is(err, ErrDiskFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("ready on a full disk: %v", err)
	}
	woken := make(chan struct{})
	w.s.Notify(w.seq, func() { close(woken) })
	for range 3 {
		if err := w.s.Sync(); !errors.Is(err, ErrDiskFailed) {
			t.Fatalf("sync on a full disk: %v", err)
		}
	}
	st := w.s.Stats()
	if !st.Failed || st.PendingBytes == 0 || !strings.Contains(st.LastError, "no space") {
		t.Fatalf("stats on a full disk: %+v", st)
	}
	select {
	case <-woken:
		t.Fatal("woken by a full disk")
	default:
	}
	changes := 0
	w.must(w.s.Events(serverSpace, nil, 0, ^uint64(0), false, func(uint64, int64, []byte) bool { changes++; return true }))
	disk.whenever(func(int, errorfs.Op) error { return nil })
	w.must(w.s.Sync())
	w.must(w.s.Ready())
	if w.s.Durable() != w.seq {
		t.Fatalf("durable %d of %d after the disk has space again", w.s.Durable(), w.seq)
	}
	<-woken // by the background, if that was first
	for range 20 {
		w.append()
	}
	w.must(w.s.Sync())
	left := disk.clone(0, nil)
	w.must(w.s.Checkpoint())
	w.verify("after the disk had space again")
	mustClose(t, w.s)
	w.fs, w.s = left, mustOpen(t, left, "store", w.opts)
	w.verify("after a crash")
	mustClose(t, w.s)
	t.Logf("%d batches were accepted on the full disk", accepted)
}

// When no more space can be reserved, Ready refuses before what is reserved is
// used up: every batch that was accepted is written without an error.
func TestSpaceIsReservedBeforeABatchIsAccepted(t *testing.T) {
	disk := newFaultyDisk(vfs.NewCrashableMem())
	s := mustOpen(t, disk, "store", crashOptions(t))
	disk.whenever(func(_ int, op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpFilePreallocate {
			return syscall.ENOSPC
		}
		return nil
	})
	var b effect.Batch
	accepted := 0
	for range 1000 {
		if err := s.Ready(); err != nil {
			if !errors.Is(err, ErrDiskFailed) {
				t.Fatalf("ready: %v", err)
			}
			break
		}
		s.Append(setBatch(&b, fmt.Sprint(accepted), strings.Repeat("v", 100), 1))
		accepted++
		if accepted%3 == 0 {
			if err := s.Flush(); err != nil {
				t.Fatalf("flush of accepted batch %d: %v", accepted, err)
			}
		}
	}
	if err := s.Sync(); err != nil {
		t.Fatalf("sync of accepted batches: %v", err)
	}
	if accepted < 20 || accepted == 1000 {
		t.Fatalf("%d batches accepted with two segments of 4096 bytes", accepted)
	}
	disk.whenever(func(int, errorfs.Op) error { return nil })
	if err := s.Ready(); err != nil {
		t.Fatalf("ready with space again: %v", err)
	}
	mustClose(t, s)
}

// A failed fsync is never taken for one that worked the second time.
func TestFailedSyncIsWrittenElsewhere(t *testing.T) {
	disk := newFaultyDisk(vfs.NewCrashableMem())
	s := mustOpen(t, disk, "store", testOptions(t))
	var b effect.Batch
	s.Append(setBatch(&b, "a", "1", 1))
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	failing := s.writer.active().path
	disk.whenever(func(_ int, op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && op.Path == failing {
			return syscall.EIO
		}
		return nil
	})
	s.Append(setBatch(&b, "b", "2", 1))
	if err := s.Sync(); !errors.Is(err, ErrDiskFailed) {
		t.Fatalf("sync: %v", err)
	}
	if err := s.Sync(); err != nil {
		t.Fatalf("second sync: %v", err)
	}
	if now := s.writer.active().path; now == failing || s.Durable() != 2 {
		t.Fatalf("durable %d in %s", s.Durable(), now)
	}
	left := disk.clone(0, nil)
	mustClose(t, s)
	s = mustOpen(t, left, "store", testOptions(t))
	if got := len(journalOf(t, s)); got != 2 {
		t.Fatalf("%d batches after a crash", got)
	}
	mustClose(t, s)
}

// sharedUse is a store with what an engine keeps beside it: the events that are
// not in a checkpoint yet.
type sharedUse struct {
	t            *testing.T
	s            *Store
	owner        []byte
	order        sync.Mutex // stands for the owner's lock
	acknowledged atomic.Uint64
	mu           sync.Mutex
	kept         []uint64
}

// Everything at once, for the race detector: writers, syncs, checkpoints, a
// backup, reads of the past that join what is in memory.
func TestConcurrentUse(t *testing.T) {
	opts := testOptions(t)
	opts.CheckpointBytes = 32 << 10
	opts.manualCheckpoints = false
	opts.Logger = nil
	u := &sharedUse{t: t, s: mustOpen(t, vfs.NewMem(), "store", opts), owner: []byte("app:user")}
	if err := u.s.Recover(&counting{}); err != nil {
		t.Fatal(err)
	}
	u.s.OnCheckpoint(func(seq uint64) {
		u.mu.Lock()
		defer u.mu.Unlock()
		for len(u.kept) > 0 && u.kept[0] <= seq {
			u.kept = u.kept[1:]
		}
	})
	const writers, each = 4, 300
	var writing, reading sync.WaitGroup
	for n := range writers {
		writing.Go(func() { u.write(rand.New(rand.NewPCG(uint64(n), 1)), each) })
	}
	stop := make(chan struct{})
	reading.Go(func() { u.read(stop) })
	writing.Wait()
	close(stop)
	reading.Wait()
	if err := u.s.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	if u.s.CheckpointSeq() != writers*each || u.s.checkpoints.Load() < 2 {
		t.Fatalf("checkpoint at %d of %d, %d checkpoints", u.s.CheckpointSeq(), writers*each, u.s.checkpoints.Load())
	}
	mustClose(t, u.s)
}

func (u *sharedUse) write(rng *rand.Rand, count int) {
	var b effect.Batch
	for i := range count {
		setBatch(&b, fmt.Sprintf("k%d", rng.IntN(50)), strings.Repeat("v", 60), 1)
		b.Durable = i%7 == 0
		b.Add(&effect.Effect{Kind: effect.EventAppend, Key: u.owner, Event: []byte("event")})
		u.order.Lock()
		seq, _ := u.s.Append(&b)
		u.mu.Lock()
		u.kept = append(u.kept, seq)
		u.mu.Unlock()
		u.acknowledged.Store(seq)
		u.order.Unlock()
		if err := u.s.Flush(); err != nil {
			u.t.Error(err)
		}
		if i%5 == 0 {
			if err := u.s.Sync(); err != nil {
				u.t.Error(err)
			}
		}
		if i%50 == 0 {
			u.s.progress()
		}
		if b.Durable {
			done := make(chan struct{})
			u.s.Notify(seq, func() { close(done) })
			<-done
		}
	}
}

// read counts the owner's events, in memory first and then in the archive:
// whatever checkpoint ends between, every acknowledged one is seen.
func (u *sharedUse) read(stop chan struct{}) {
	for round := 0; ; round++ {
		select {
		case <-stop:
			return
		default:
		}
		want := u.acknowledged.Load()
		u.mu.Lock()
		inMemory := append([]uint64(nil), u.kept...)
		u.mu.Unlock()
		to := want
		if len(inMemory) > 0 {
			to = inMemory[0] - 1
		}
		count := uint64(len(inMemory))
		err := u.s.Events(0, u.owner, 0, to, false, func(uint64, int64, []byte) bool { count++; return true })
		if err != nil || count < want {
			u.t.Errorf("%d of %d events are visible: %v", count, want, err)
			return
		}
		if round%20 == 19 {
			if err := u.s.Backup(fmt.Sprintf("backup%d", round)); err != nil {
				u.t.Error(err)
			}
		}
		_ = u.s.Stats().String()
	}
}
