package persistence

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"reminis/engine/effect"
	"reminis/persistence/rdb"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// This file tests stores that are filled from elsewhere, and files beside a store.

// importTen imports ten keys into the directory "store".
func importTen(fs vfs.FS, opts Options) error {
	if err := fs.MkdirAll("store", 0o755); err != nil {
		return err
	}
	if err := BeginImport(fs, "store"); err != nil {
		return err
	}
	opts.Importing = true
	s, err := Open(fs, "store", opts)
	if err != nil {
		return err
	}
	if err := s.Recover(newToy()); err != nil {
		return errors.Join(err, s.Close())
	}
	var b effect.Batch
	for i := range 10 {
		s.Append(setBatch(&b, string(rune('a'+i)), "value", 1))
		if i%3 == 2 {
			err = errors.Join(err, s.Checkpoint())
		}
	}
	if err == nil {
		err = s.EndImport()
	}
	return errors.Join(err, s.Close())
}

// Wherever a crash comes, there is then the whole of what was imported, or a
// directory in which the import begins anew.
func TestAnImportIsWholeOrNothing(t *testing.T) {
	disk := newFaultyDisk(vfs.NewCrashableMem())
	if err := importTen(disk, crashOptions(t)); err != nil {
		t.Fatal(err)
	}
	last, whole := disk.count, 0
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for n := 1; n <= last; n++ {
		disk := newFaultyDisk(vfs.NewCrashableMem())
		var left *vfs.MemFS
		disk.whenever(func(count int, _ errorfs.Op) error {
			if count == n {
				left = disk.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
			}
			if count >= n {
				return syscall.EIO
			}
			return nil
		})
		_ = importTen(disk, crashOptions(t))
		if left == nil {
			continue // the run was shorter: the background does less
		}
		begun, err := Importing(left, "store")
		if err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		if _, err := left.Stat("store/FORMAT"); err == nil && !begun {
			whole++
		} else if begun {
			if _, err := Open(left, "store", crashOptions(t)); !errors.Is(err, ErrImporting) {
				t.Fatalf("operation %d: what was not imported to its end was opened: %v", n, err)
			}
			if _, err := Check(left, "store"); err == nil {
				t.Fatalf("operation %d: what was not imported to its end is sound", n)
			}
			if err := importTen(left, crashOptions(t)); err != nil {
				t.Fatalf("operation %d: again: %v", n, err)
			}
		} else if err := importTen(left, crashOptions(t)); err != nil {
			t.Fatalf("operation %d: from nothing: %v", n, err)
		}
		seq, _, err := recovered(left, crashOptions(t))
		if err != nil || seq != 10 {
			t.Fatalf("operation %d: %d batches were recovered: %v", n, seq, err)
		}
	}
	if whole == 0 || whole > last/2 {
		t.Errorf("after %d of %d crashes the store was whole", whole, last)
	}
}

func TestAnImportDoesNotTouchAStore(t *testing.T) {
	fs := vfs.NewMem()
	if err := importTen(fs, testOptions(t)); err != nil {
		t.Fatal(err)
	}
	if err := BeginImport(fs, "store"); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a store: %v", err)
	}
	s := mustOpen(t, fs, "store", testOptions(t))
	if err := BeginImport(fs, "store"); !errors.Is(err, ErrLocked) {
		t.Errorf("over a store in use: %v", err)
	}
	mustClose(t, s)
}

// A file is what it was, or whole: whatever fails.
func TestAFileIsReplacedOrKept(t *testing.T) {
	write := func(fs vfs.FS, text string) error {
		return WriteRDB(fs, "dir", "dump.rdb", rdb.Options{}, func(w *rdb.Writer) error { return w.Aux("text", text) })
	}
	content := func(fs vfs.FS) string {
		data, err := readSegment(fs, "dir/dump.rdb", -1, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	disk := newFaultyDisk(vfs.NewCrashableMem())
	if err := errors.Join(disk.MkdirAll("dir", 0o755), syncDir(disk, disk.PathDir("dir")), write(disk, "old")); err != nil {
		t.Fatal(err)
	}
	old := content(disk)
	failures, rng := 0, rand.New(rand.NewPCG(1, 1))
	for n := 1; ; n++ {
		disk.mu.Lock()
		disk.count = 0
		disk.mu.Unlock()
		disk.whenever(func(count int, op errorfs.Op) error {
			if count == n {
				return syscall.ENOSPC
			}
			return nil
		})
		err := write(disk, "new")
		if err == nil {
			break
		}
		failures++
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("operation %d: %v", n, err)
		}
		if now := content(disk.clone(100, rng)); now != old && !bytes.Contains([]byte(now), []byte("new")) {
			t.Fatalf("operation %d: the file is %q", n, now)
		}
	}
	disk.whenever(func(int, errorfs.Op) error { return nil })
	if failures < 4 || content(disk.clone(0, nil)) == old {
		t.Errorf("%d failures; the file at the end is %q", failures, content(disk.clone(0, nil)))
	}
	boom := errors.New("boom")
	err := WriteRDB(disk, "dir", "dump.rdb", rdb.Options{}, func(*rdb.Writer) error { return boom })
	if names, _ := disk.List("dir"); !errors.Is(err, boom) || len(names) != 1 {
		t.Errorf("%v leaves %q", err, names)
	}
}
