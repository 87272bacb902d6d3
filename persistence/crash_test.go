package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// faultyDisk is an in-memory disk that counts every operation that writes, and
// can crash or fail at any of them.
type faultyDisk struct {
	mem *vfs.MemFS
	vfs.FS

	// linkMu keeps clones and links apart: MemFS takes a read lock twice there.
	linkMu sync.RWMutex

	mu    sync.Mutex
	count int
	// at is called before operation count; the error it returns is injected.
	at func(count int, op errorfs.Op) error
}

// linkGuard is the part of faultyDisk below the error injection.
type linkGuard struct {
	*vfs.MemFS
	disk *faultyDisk
}

func (g linkGuard) Link(oldname, newname string) error {
	g.disk.linkMu.RLock()
	defer g.disk.linkMu.RUnlock()
	return g.MemFS.Link(oldname, newname)
}

func newFaultyDisk(mem *vfs.MemFS) *faultyDisk {
	d := &faultyDisk{mem: mem, at: func(int, errorfs.Op) error { return nil }}
	d.FS = errorfs.Wrap(linkGuard{mem, d}, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.count++
		return d.at(d.count, op)
	}))
	return d
}

// whenever sets what happens at each operation.
func (d *faultyDisk) whenever(at func(count int, op errorfs.Op) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
}

// clone is the disk after a crash now: percent of what was not synced is there.
func (d *faultyDisk) clone(percent int, rng *rand.Rand) *vfs.MemFS {
	d.linkMu.Lock()
	defer d.linkMu.Unlock()
	return d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
}

// past is what a toy looked like after each batch.
type past struct {
	mu    sync.Mutex
	texts []string // by sequence
}

func (p *past) add(s *toy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts = append(p.texts, s.keysText()+s.headsText())
}

func (p *past) last() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return uint64(len(p.texts) - 1)
}

// crashWorkload appends batches with flushes, syncs, and checkpoints between,
// so that every run contains segment switches and checkpoints. It returns the
// first error of the store.
func crashWorkload(s *Store, w *toyWorld, p *past, steps int) error {
	var b effect.Batch
	for i := range steps {
		if err := s.Ready(); err != nil {
			return fmt.Errorf("ready: %w", err)
		}
		seq, timeMs := w.seq+1, w.timeMs+1
		w.batch(&b, seq, timeMs)
		b.Durable = false // nothing happens in the background but spares
		p.add(w.toy)
		s.Append(&b)
		var err error
		switch {
		case i%29 == 28:
			err = s.Checkpoint()
		case i%29 == 14: // as one in the background, of what was durable when it began
			s.checkpointMu.Lock()
			err = s.checkpointLocked()
			s.checkpointMu.Unlock()
		case i%5 == 4:
			err = s.Sync()
		case i%2 == 1:
			err = s.Flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func crashOptions(t testing.TB) Options {
	opts := testOptions(t)
	opts.SegmentBytes = 4 << 10
	opts.Logger = nil
	return opts
}

// recovered opens a store and says where it stands and what is in it.
func recovered(fs vfs.FS, opts Options) (seq uint64, text string, err error) {
	s, err := Open(fs, "store", opts)
	if err != nil {
		return 0, "", fmt.Errorf("open: %w", err)
	}
	got := newToy()
	if err := s.Recover(got); err != nil {
		return 0, "", errors.Join(fmt.Errorf("recover: %w", err), s.Close())
	}
	seq = s.journal.appended.Load()
	return seq, got.keysText() + got.headsText(), s.Close()
}

// A crash at any write or fsync leaves a prefix of what was appended, with
// everything in it that was durable.
func TestCrashAtEveryOperation(t *testing.T) {
	seed := rand.Uint64()
	points, switches, checkpoints := 0, 0, uint64(0)
	for _, percent := range []int{0, 35, 100} {
		disk := newFaultyDisk(vfs.NewCrashableMem())
		rng := rand.New(rand.NewPCG(seed, uint64(percent)))
		w := &toyWorld{rng: rand.New(rand.NewPCG(seed, 7)), toy: newToy()}
		p := &past{}
		p.add(w.toy)
		type point struct {
			op      string
			durable uint64
			last    uint64
			disk    *vfs.MemFS
		}
		var all []point
		var s *Store
		disk.whenever(func(_ int, op errorfs.Op) error {
			pt := point{op: fmt.Sprintf("%d on %s", op.Kind, op.Path)}
			if s != nil {
				pt.durable = s.Durable()
			}
			pt.disk = disk.clone(percent, rng)
			pt.last = p.last()
			all = append(all, pt)
			return nil
		})
		opened := mustOpen(t, disk, "store", crashOptions(t))
		disk.mu.Lock()
		s = opened
		disk.mu.Unlock()
		if err := crashWorkload(s, w, p, 75); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s.ioMu.Lock() // the background makes spares
		switches += int(s.writer.nextNumber)
		s.ioMu.Unlock()
		checkpoints += s.checkpoints.Load()
		mustClose(t, s)
		disk.whenever(func(int, errorfs.Op) error { return nil })
		for i, pt := range all {
			seq, text, err := recovered(pt.disk, crashOptions(t))
			where := fmt.Sprintf("seed %d percent %d point %d of %d (operation %s): durable %d, appended %d", seed, percent, i, len(all), pt.op, pt.durable, pt.last)
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			if seq < pt.durable || seq > pt.last {
				t.Fatalf("%s: recovered up to %d", where, seq)
			}
			if text != p.texts[seq] {
				t.Fatalf("%s: recovered up to %d:\n%s\nwant\n%s", where, seq, text, p.texts[seq])
			}
		}
		points += len(all)
	}
	if switches < 9 || checkpoints < 6 {
		t.Fatalf("seed %d: %d segments and %d checkpoints: the test wants more", seed, switches, checkpoints)
	}
	t.Logf("seed %d: %d crash points over %d segments and %d checkpoints", seed, points, switches, checkpoints)
}

// A checkpoint in the background may end just where a segment ends while the next one has
// been begun and not been synced. A crash must then leave either.
func TestCheckpointKeepsTheLastSyncedSegment(t *testing.T) {
	disk := newFaultyDisk(vfs.NewCrashableMem())
	opts := crashOptions(t)
	s := mustOpen(t, disk, "store", opts)
	if err := s.Recover(newToy()); err != nil {
		t.Fatal(err)
	}
	var b effect.Batch
	s.Append(setBatch(&b, "synced", "1", 1))
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	full := s.writer.active().number
	s.Append(setBatch(&b, "written", strings.Repeat("v", int(opts.SegmentBytes)), 2))
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if s.writer.active().number == full {
		t.Fatal("no segment was begun")
	}
	var left []*vfs.MemFS
	disk.whenever(func(int, errorfs.Op) error {
		left = append(left, disk.clone(0, nil))
		return nil
	})
	s.checkpointMu.Lock()
	err := s.checkpointLocked()
	s.checkpointMu.Unlock()
	if err != nil || s.CheckpointSeq() != 1 {
		t.Fatalf("checkpoint at %d: %v", s.CheckpointSeq(), err)
	}
	disk.whenever(func(int, errorfs.Op) error { return nil })
	left = append(left, disk.clone(0, nil))
	mustClose(t, s)
	for i, fs := range left {
		if seq, _, err := recovered(fs, opts); err != nil || seq != 1 {
			t.Errorf("crash %d of %d: recovered up to %d of 1: %v", i, len(left), seq, err)
		}
	}
}

// What a disk that never comes back leaves is a store nevertheless, whether the process
// or the machine ends then.
func TestDiskThatFailsForGood(t *testing.T) {
	seed := rand.Uint64()
	all := func(errorfs.Op) bool { return true }
	data := func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileWriteAt ||
			op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
	}
	step := 1
	if testing.Short() {
		step = 5
	}
	for what, fails := range map[string]func(errorfs.Op) bool{"everything": all, "writes and fsyncs of files": data} {
		failed := 0
		for target := 1; ; target += step {
			disk := newFaultyDisk(vfs.NewCrashableMem())
			hit := ""
			disk.whenever(func(count int, op errorfs.Op) error {
				if count < target || !fails(op) {
					return nil
				}
				if hit == "" {
					hit = fmt.Sprintf("%d on %s", op.Kind, op.Path)
				}
				return syscall.EIO
			})
			s, err := Open(disk, "store", crashOptions(t))
			if err != nil {
				continue
			}
			w := &toyWorld{rng: rand.New(rand.NewPCG(seed, 7)), toy: newToy()}
			p := &past{}
			p.add(w.toy)
			err = crashWorkload(s, w, p, 40)
			for range 3 {
				s.journal.work(true)
			}
			disk.mu.Lock()
			where := hit
			disk.mu.Unlock()
			if err == nil && where == "" {
				disk.whenever(func(int, errorfs.Op) error { return nil })
				mustClose(t, s)
				break
			}
			failed++
			durable := s.Durable()
			left := map[string]*vfs.MemFS{"process": copyStore(t, disk.mem, "store"), "machine": disk.clone(0, nil)}
			_ = s.Close() // fails, or not: that is said of it elsewhere
			for which, fs := range left {
				seq, text, err := recovered(fs, crashOptions(t))
				if err != nil || seq < durable || text != p.texts[seq] {
					t.Fatalf("seed %d: %s fails from operation %d (%s), the %s ends: recovered up to %d, durable %d: %v",
						seed, what, target, where, which, seq, durable, err)
				}
			}
		}
		t.Logf("seed %d: %s failed at %d operations", seed, what, failed)
	}
}

// An error at any write or fsync loses nothing: the store says so, and goes on
// as soon as the disk does.
func TestErrorAtEveryOperation(t *testing.T) {
	seed := rand.Uint64()
	for _, fault := range []error{errorfs.ErrInjected, syscall.ENOSPC} {
		failed, refused := 0, 0
		step := 1
		if testing.Short() {
			step = 5
		}
		for target := 1; ; target += step {
			disk := newFaultyDisk(vfs.NewCrashableMem())
			hit := ""
			disk.whenever(func(count int, op errorfs.Op) error {
				// The disk fails for four operations.
				if count < target || count >= target+4 {
					return nil
				}
				hit = fmt.Sprintf("%d on %s", op.Kind, op.Path)
				return fault
			})
			reached, err := runWithErrors(t, disk, seed)
			if err != nil {
				t.Fatalf("seed %d, %v from operation %d (%s): %v", seed, fault, target, hit, err)
			}
			if hit == "" {
				break
			}
			if reached {
				failed++
			} else {
				refused++
			}
		}
		t.Logf("seed %d: %v at %d operations while running, %d while opening", seed, fault, failed, refused)
	}
}

// runWithErrors runs the workload on a disk that fails for a while, and then
// verifies that everything is there. opened is false when the store could not
// be opened because of the error.
func runWithErrors(t *testing.T, disk *faultyDisk, seed uint64) (opened bool, err error) {
	w := &toyWorld{rng: rand.New(rand.NewPCG(seed, 7)), toy: newToy()}
	p := &past{}
	p.add(w.toy)
	opts := crashOptions(t)
	s, err := Open(disk, "store", opts)
	if err != nil {
		disk.whenever(func(int, errorfs.Op) error { return nil })
		seq, _, err := recovered(disk.clone(50, rand.New(rand.NewPCG(seed, 3))), opts)
		if err == nil && seq != 0 {
			err = fmt.Errorf("recovered %d batches that nobody wrote", seq)
		}
		return false, err
	}
	for done := 0; done < 40; {
		before := w.seq
		err := crashWorkload(s, w, p, 40-done)
		done += int(w.seq - before)
		if err != nil && !expectedFailure(err) {
			return true, errors.Join(err, s.Close())
		}
		if err != nil && errors.Is(err, ErrDiskFailed) {
			// Each attempt uses up some of the failing operations.
			for range 20 {
				if err = s.Sync(); err == nil && s.Ready() == nil {
					break
				}
				s.journal.work(true)
			}
			if err := s.Ready(); err != nil {
				return true, errors.Join(fmt.Errorf("not ready again: %w", err), s.Close())
			}
		}
	}
	if err := s.Sync(); err != nil {
		if err = s.Sync(); err != nil {
			return true, errors.Join(err, s.Close())
		}
	}
	durable, last := s.Durable(), p.last()
	left := disk.clone(0, nil)
	if err := s.Close(); err != nil && !expectedFailure(err) {
		return true, err
	}
	disk.whenever(func(int, errorfs.Op) error { return nil })
	if durable != last {
		return true, fmt.Errorf("durable %d of %d after a sync", durable, last)
	}
	for when, fs := range map[string]vfs.FS{"after a crash": left, "after closing": disk} {
		seq, text, err := recovered(fs, opts)
		if errors.Is(err, syscall.EAGAIN) {
			continue // rows that failed keep Pebble's lock until the process ends
		}
		if err != nil {
			return true, fmt.Errorf("%s: %w", when, err)
		}
		if seq != last || text != p.texts[last] {
			return true, fmt.Errorf("%s: recovered up to %d of %d:\n%s\nwant\n%s", when, seq, last, text, p.texts[last])
		}
	}
	return true, nil
}

// expectedFailure says whether a store may answer so while its disk fails.
func expectedFailure(err error) bool {
	return errors.Is(err, ErrDiskFailed) || errors.Is(err, ErrRowsFailed) ||
		errors.Is(err, errorfs.ErrInjected) || errors.Is(err, syscall.ENOSPC)
}
