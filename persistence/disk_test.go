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
	disk.whenever(func(int, errorfs.Op) error { return syscall.ENOSPC })
	accepted := 0
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
	woken := false
	w.s.Notify(w.seq, func() { woken = true })
	for range 3 {
		if err := w.s.Sync(); !errors.Is(err, ErrDiskFailed) {
			t.Fatalf("sync on a full disk: %v", err)
		}
	}
	st := w.s.Stats()
	if !st.Failed || st.PendingBytes == 0 || !strings.Contains(st.LastError, "no space") || woken {
		t.Fatalf("stats on a full disk: %+v, woken %v", st, woken)
	}
	changes := 0
	w.must(w.s.Events(serverSpace, nil, 0, ^uint64(0), false, func(uint64, int64, []byte) bool { changes++; return true }))
	disk.whenever(func(int, errorfs.Op) error { return nil })
	w.must(w.s.Sync())
	w.must(w.s.Ready())
	if !woken || w.s.Durable() != w.seq {
		t.Fatalf("woken %v, durable %d of %d after the disk has space again", woken, w.s.Durable(), w.seq)
	}
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

// Everything at once, for the race detector: writers, syncs, checkpoints, a
// backup, reads of the past that join what is in memory.
func TestConcurrentUse(t *testing.T) {
	opts := testOptions(t)
	opts.CheckpointBytes = 32 << 10
	opts.manualCheckpoints = false
	opts.Logger = nil
	s := mustOpen(t, vfs.NewMem(), "store", opts)
	if err := s.Recover(&counting{}); err != nil {
		t.Fatal(err)
	}
	// kept is what a reader finds in memory: events after the last checkpoint.
	var kept struct {
		sync.Mutex
		list []uint64
	}
	s.OnCheckpoint(func(seq uint64) {
		kept.Lock()
		defer kept.Unlock()
		for len(kept.list) > 0 && kept.list[0] <= seq {
			kept.list = kept.list[1:]
		}
	})
	owner := []byte("app:user")
	const writers, each = 4, 300
	var writing sync.WaitGroup
	var order sync.Mutex // stands for the owner's lock
	var acknowledged atomic.Uint64
	for n := range writers {
		writing.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			var b effect.Batch
			for i := range each {
				setBatch(&b, fmt.Sprintf("k%d", rng.IntN(50)), strings.Repeat("v", 60), 1)
				b.Durable = i%7 == 0
				b.Add(&effect.Effect{Kind: effect.EventAppend, Key: owner, Event: []byte("event")})
				order.Lock()
				seq, _ := s.Append(&b)
				kept.Lock()
				kept.list = append(kept.list, seq)
				kept.Unlock()
				acknowledged.Store(seq)
				order.Unlock()
				if err := s.Flush(); err != nil {
					t.Error(err)
				}
				if i%5 == 0 {
					if err := s.Sync(); err != nil {
						t.Error(err)
					}
				}
				if i%50 == 0 {
					s.progress()
				}
				done := make(chan struct{})
				if b.Durable {
					s.Notify(seq, func() { close(done) })
					<-done
				}
			}
		})
	}
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for round := 0; ; round++ {
			select {
			case <-stop:
				return
			default:
			}
			want := acknowledged.Load()
			kept.Lock()
			inMemory := append([]uint64(nil), kept.list...)
			kept.Unlock()
			to := want
			if len(inMemory) > 0 {
				to = inMemory[0] - 1
			}
			count := uint64(len(inMemory))
			err := s.Events(0, owner, 0, to, false, func(uint64, int64, []byte) bool { count++; return true })
			if err != nil || count < want {
				t.Errorf("%d of %d events are visible: %v", count, want, err)
				return
			}
			if round%20 == 19 {
				if err := s.Backup(fmt.Sprintf("backup%d", round)); err != nil {
					t.Error(err)
				}
			}
			_ = s.Stats().String()
		}
	})
	writing.Wait()
	close(stop)
	reading.Wait()
	if err := s.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	if s.CheckpointSeq() != writers*each || s.checkpoints.Load() < 2 {
		t.Fatalf("checkpoint at %d of %d, %d checkpoints", s.CheckpointSeq(), writers*each, s.checkpoints.Load())
	}
	mustClose(t, s)
}
