package persistence

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func TestBackupOfARunningStoreOpensAsOne(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewCrashableMem(), "disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			dir := "store"
			if name == "disk" {
				dir = filepath.Join(t.TempDir(), "store")
			}
			seed := rand.Uint64()
			w := &world{t: t, seed: seed, fs: fs, opts: testOptions(t), toyWorld: toyWorld{rng: rand.New(rand.NewPCG(seed, 1)), toy: newToy()}}
			w.s = mustOpen(t, fs, dir, w.opts)
			p := &past{}
			p.add(w.toy)
			for range 4 {
				for range 50 {
					w.append()
					p.add(w.toy)
				}
				if w.rng.IntN(2) == 0 {
					w.must(w.s.Checkpoint())
				}
				copied := dir + ".copy"
				w.must(fs.RemoveAll(copied))
				w.must(w.s.Backup(copied))
				last := w.seq
				if mem, ok := fs.(*vfs.MemFS); ok { // what a crash leaves of it is all of it
					if report, err := Check(mem.CrashClone(vfs.CrashCloneCfg{}), copied); err != nil || report.EndSeq != last {
						t.Fatalf("seed %d: check of the copy after a crash: %+v %v, want it to end at %d", seed, report, err, last)
					}
				}
				for range 20 { // the original goes on, and changes nothing in the copy
					w.append()
					p.add(w.toy)
				}
				w.must(w.s.Checkpoint())
				report, err := Check(fs, copied)
				if err != nil || report.EndSeq != last {
					t.Fatalf("seed %d: check of the copy: %+v %v, want it to end at %d", seed, report, err, last)
				}
				backup := mustOpen(t, fs, copied, w.opts)
				got := newToy()
				w.must(backup.Recover(got))
				if got.keysText()+got.headsText() != p.texts[last] {
					t.Fatalf("seed %d: the copy differs", seed)
				}
				mustClose(t, backup)
			}
			if err := w.s.Backup(dir + ".copy"); !errors.Is(err, os.ErrExist) {
				t.Fatalf("backup into a store: %v", err)
			}
			mustClose(t, w.s)
			report, err := Check(fs, dir)
			if err != nil || report.CheckpointSeq != w.seq || report.Events == 0 || report.Changes == 0 || report.Owners == 0 {
				t.Fatalf("seed %d: check after closing: %+v %v", seed, report, err)
			}
		})
	}
}

func TestBackupThatFailsLeavesNothing(t *testing.T) {
	disk := newFaultyDisk(vfs.NewCrashableMem())
	w := newWorld(t, 5, disk, testOptions(t))
	for range 60 {
		w.append()
	}
	w.must(w.s.Checkpoint())
	for range 20 {
		w.append()
	}
	disk.whenever(func(_ int, op errorfs.Op) error {
		if strings.HasPrefix(op.Path, "copy/journal/") && op.Kind == errorfs.OpFileWrite {
			return errorfs.ErrInjected
		}
		return nil
	})
	if err := w.s.Backup("copy"); !errors.Is(err, errorfs.ErrInjected) {
		t.Fatalf("backup: %v", err)
	}
	names, err := disk.List("copy")
	if err != nil || len(names) > 0 {
		t.Fatalf("left: %v %v", names, err)
	}
	if _, err := Check(disk, "copy"); !errors.Is(err, ErrNotStore) {
		t.Fatalf("check of what is left: %v", err)
	}
	w.must(w.s.Backup("copy2"))
	mustClose(t, w.s)
}

// A backup never takes a directory that it did not find empty or missing, nor one
// among the store's own: after an error it would remove what it finds there.
func TestBackupOverTheStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	w := &world{t: t, seed: 6, fs: vfs.Default, opts: testOptions(t), toyWorld: toyWorld{rng: rand.New(rand.NewPCG(6, 1)), toy: newToy()}}
	w.s = mustOpen(t, vfs.Default, dir, w.opts)
	for range 60 {
		w.append()
	}
	w.must(w.s.Checkpoint())
	t.Chdir(dir)
	for _, at := range []string{"", ".", "./", dir, "journal", "journal/copy", "pebble/copy", "pebble/../journal/copy", filepath.Join(dir, "keys", "copy"), "a\x00b"} {
		if err := w.s.Backup(at); err == nil {
			t.Errorf("a backup to %q is made", at)
		}
	}
	w.append()
	w.must(w.s.Checkpoint())
	if err := w.s.Backup("copy"); err != nil {
		t.Errorf("a backup beside the parts: %v", err)
	}
	mustClose(t, w.s)
	if report, err := Check(vfs.Default, dir); err != nil || report.CheckpointSeq != w.seq {
		t.Errorf("check afterwards: %+v %v", report, err)
	}
}

func TestCheckFindsDamageAndWritesNothing(t *testing.T) {
	fs := vfs.NewCrashableMem()
	w := newWorld(t, 11, fs, testOptions(t))
	for range 200 {
		w.append()
	}
	w.must(w.s.Checkpoint())
	for range 100 {
		w.append()
	}
	w.must(w.s.Sync())
	if _, err := Check(fs, "store"); !errors.Is(err, ErrLocked) {
		t.Fatalf("check of a store in use: %v", err)
	}
	left := crash(t, fs, w.s)
	paths := segmentPaths(t, left)
	table := ""
	names, err := left.List("store/pebble")
	w.must(err)
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			table = "store/pebble/" + name
		}
	}
	for _, c := range []struct {
		what, path string
		edit       func([]byte) []byte
		want       []string
	}{
		{"nothing", paths[0], func(b []byte) []byte { return b }, nil},
		{"a flipped byte in a segment", paths[1], func(b []byte) []byte { b[500] ^= 1; return b }, []string{paths[1], "offset"}},
		{"a flipped byte in a table", table, func(b []byte) []byte { b[300] ^= 1; return b }, []string{"store/pebble", "checksum"}},
		{"a newer format", "store/FORMAT", func([]byte) []byte { return []byte("reminis-store 7\n") }, []string{"newer"}},
	} {
		disk := newFaultyDisk(copyStore(t, left, "store"))
		editFile(t, disk, c.path, c.edit)
		disk.whenever(func(_ int, op errorfs.Op) error {
			if op.Kind != errorfs.OpLock && !strings.HasSuffix(op.Path, "LOCK") {
				t.Errorf("%s: operation %d on %s writes", c.what, op.Kind, op.Path)
			}
			return nil
		})
		report, err := Check(disk, "store")
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %+v %v", c.what, report, err)
		}
		for _, want := range c.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", c.what, err, want)
			}
		}
	}
}
