package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// testLog shows a store's messages with the test that failed.
type testLog struct{ t testing.TB }

func (l testLog) Printf(format string, args ...any) { l.t.Logf(format, args...) }

// testOptions make segments and checkpoints small and leave the time to tests.
func testOptions(t testing.TB) Options {
	return Options{SegmentBytes: 16 << 10, SyncInterval: time.Hour, Logger: testLog{t}, retryAtOnce: true, manualCheckpoints: true}
}

func mustOpen(t testing.TB, fs vfs.FS, dir string, options Options) *Store {
	t.Helper()
	s, err := Open(fs, dir, options)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// crash ends a store without its last checkpoint: it returns what a killed
// process leaves of an in-memory file system.
func crash(t testing.TB, fs vfs.FS, s *Store) vfs.FS {
	t.Helper()
	left := fs.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	mustClose(t, s)
	return left
}

// setBatch makes a batch of one string.
func setBatch(b *effect.Batch, key, value string, timeMs int64) *effect.Batch {
	b.Reset()
	b.TimeMs = timeMs
	b.Add(&effect.Effect{Kind: effect.StringSet, Key: []byte(key), Value: []byte(value)})
	return b
}

// journalOf lists the batches that the journal holds, as "seq time key value".
func journalOf(t testing.TB, s *Store) []string {
	t.Helper()
	var list []string
	err := s.journal.replay(0, s.journal.written.Load(), func(r *effect.Reader) error {
		line := fmt.Sprintf("%d %d", r.Seq, r.TimeMs)
		for e := (effect.Effect{}); ; {
			ok, err := r.Next(&e)
			if err != nil || !ok {
				list = append(list, line)
				return err
			}
			line += fmt.Sprintf(" %s %.20s", e.Key, e.Value)
		}
	})
	if err != nil {
		t.Fatalf("replay: %v", err)
	}
	return list
}

func TestJournalGoesOnAfterReopening(t *testing.T) {
	fs := vfs.FS(vfs.NewCrashableMem())
	var b effect.Batch
	var want []string
	value := strings.Repeat("v", 700) // several segments
	for round := range 4 {
		s := mustOpen(t, fs, "store", testOptions(t))
		if got := journalOf(t, s); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("round %d: got %d batches %v, want %d", round, len(got), got, len(want))
		}
		for i := range 60 {
			seq, timeMs := s.Append(setBatch(&b, fmt.Sprintf("k%d", i), value, int64(1000*round+i%7)))
			want = append(want, fmt.Sprintf("%d %d k%d %.20s", seq, timeMs, i, value))
			if i%9 == 0 {
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
		if got := s.Durable(); got != uint64(60*(round+1)) {
			t.Fatalf("durable %d after %d batches", got, 60*(round+1))
		}
		if round == 0 && len(s.writer.segments) < 3 {
			t.Fatalf("%d segments: the test wants several", len(s.writer.segments))
		}
		fs = crash(t, fs, s)
	}
}

func TestTimeNeverDecreases(t *testing.T) {
	s := mustOpen(t, vfs.NewCrashableMem(), "store", testOptions(t))
	defer mustClose(t, s)
	var b effect.Batch
	for i, c := range []struct{ given, want int64 }{{50, 50}, {40, 50}, {50, 50}, {51, 51}, {0, 51}} {
		seq, timeMs := s.Append(setBatch(&b, "k", "v", c.given))
		if seq != uint64(i+1) || timeMs != c.want {
			t.Errorf("time %d: got seq %d time %d, want %d %d", c.given, seq, timeMs, i+1, c.want)
		}
	}
}

func TestAppendDoesNotAllocateWhenWarm(t *testing.T) {
	options := testOptions(t)
	options.SegmentBytes = 8 << 20
	s := mustOpen(t, vfs.NewCrashableMem(), "store", options)
	defer mustClose(t, s)
	var b effect.Batch
	setBatch(&b, "key:000000000001", strings.Repeat("v", 100), 5)
	round := func() {
		for range 100 {
			s.Append(&b)
		}
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	round()
	perRound := testing.AllocsPerRun(20, round)
	if perRound > 20 {
		t.Fatalf("%v allocations per 100 batches and one sync", perRound)
	}
}

func TestOversizedBatchHasASegmentOfItsOwn(t *testing.T) {
	fs := vfs.FS(vfs.NewCrashableMem())
	s := mustOpen(t, fs, "store", testOptions(t))
	var b effect.Batch
	big := strings.Repeat("x", 3<<20)
	for i, value := range []string{"small", big, "small", big} {
		s.Append(setBatch(&b, fmt.Sprint(i), value, 1))
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	fs = crash(t, fs, s)
	s = mustOpen(t, fs, "store", testOptions(t))
	defer mustClose(t, s)
	if got := len(journalOf(t, s)); got != 4 {
		t.Fatalf("%d of 4 batches", got)
	}
}

func TestNotifyRunsOnceDurable(t *testing.T) {
	s := mustOpen(t, vfs.NewCrashableMem(), "store", testOptions(t))
	var b effect.Batch
	var woken []int
	s.Append(setBatch(&b, "a", "1", 1))
	s.Append(setBatch(&b, "b", "2", 1))
	s.Notify(1, func() { woken = append(woken, 1) })
	s.Notify(3, func() { woken = append(woken, 3) })
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	s.Notify(2, func() { woken = append(woken, 2) })
	if fmt.Sprint(woken) != "[1 2]" {
		t.Fatalf("woken %v, want [1 2]", woken)
	}
	mustClose(t, s)
	if fmt.Sprint(woken) != "[1 2 3]" {
		t.Fatalf("woken %v after Close, want [1 2 3]", woken)
	}
	if err := s.Ready(); !errors.Is(err, ErrClosed) {
		t.Fatalf("ready after Close: %v", err)
	}
}

func TestDurableBatchIsSyncedWithoutBeingAsked(t *testing.T) {
	for _, durability := range []Durability{Everysec, Never} {
		options := testOptions(t)
		options.Durability = durability
		s := mustOpen(t, vfs.NewCrashableMem(), "store", options)
		var b effect.Batch
		setBatch(&b, "a", "1", 1).Durable = true
		seq, _ := s.Append(&b)
		done := make(chan struct{})
		s.Notify(seq, func() { close(done) })
		<-done
		mustClose(t, s)
	}
}

func TestReadyLagsAndRecovers(t *testing.T) {
	options := testOptions(t)
	options.PendingBytes = 10000
	s := mustOpen(t, vfs.NewCrashableMem(), "store", options)
	defer mustClose(t, s)
	var b effect.Batch
	s.syncMu.Lock() // nothing becomes durable
	for range 20 {
		s.Append(setBatch(&b, "k", strings.Repeat("v", 600), 1))
	}
	if err := s.Ready(); !errors.Is(err, ErrLagging) {
		t.Fatalf("ready with 12000 bytes pending: %v", err)
	}
	ready := make(chan struct{})
	s.Notify(s.Durable()+1, func() { close(ready) })
	s.syncMu.Unlock()
	<-ready
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(); err != nil {
		t.Fatalf("ready after a sync: %v", err)
	}
}

func TestStoreIsLocked(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, vfs.Default, dir, testOptions(t))
	_, err := Open(vfs.Default, dir, testOptions(t))
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Fatalf("second open: %v", err)
	}
	mustClose(t, s)
	mustClose(t, mustOpen(t, vfs.Default, dir, testOptions(t)))
}

func TestNewerFormatIsRefused(t *testing.T) {
	fs := vfs.NewCrashableMem()
	mustClose(t, mustOpen(t, fs, "store", testOptions(t)))
	for _, c := range []struct{ text, want string }{
		{"reminis-store 2\nwhatever", "newer version"},
		{"reminis-store 1\n", "does not name the store's id"},
		{"something else", "does not begin with"},
		{"", "does not begin with"},
	} {
		if err := writeBytes(fs, "store/FORMAT", []byte(c.text)); err != nil {
			t.Fatal(err)
		}
		_, err := Open(fs, "store", testOptions(t))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("FORMAT %q: got %v, want %q", c.text, err, c.want)
		}
	}
}

// copyStore copies a directory tree between in-memory file systems.
func copyStore(t testing.TB, from vfs.FS, dir string) *vfs.MemFS {
	t.Helper()
	to := vfs.NewCrashableMem()
	if ok, err := vfs.Clone(from, to, dir, dir); err != nil || !ok {
		t.Fatalf("clone: %v %v", ok, err)
	}
	return to
}

// editFile changes a file's bytes.
func editFile(t testing.TB, fs vfs.FS, path string, edit func([]byte) []byte) {
	t.Helper()
	data, err := readSegment(fs, path, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(edit(bytes.Clone(data))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// segmentPaths lists the segments that hold batches, in order.
func segmentPaths(t testing.TB, fs vfs.FS) []string {
	t.Helper()
	found, err := findSegments(fs, "store/journal")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range found {
		if !f.empty {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// filledJournal makes a store of count batches in several segments, each batch
// written alone, synced when synced says so, and leaves it as a crash would.
func filledJournal(t testing.TB, count int, synced func(i int) bool) vfs.FS {
	fs := vfs.NewCrashableMem()
	s := mustOpen(t, fs, "store", testOptions(t))
	var b effect.Batch
	for i := range count {
		s.Append(setBatch(&b, fmt.Sprintf("k%d", i), strings.Repeat("v", 300), int64(i)))
		var err error
		if synced(i) {
			err = s.Sync()
		} else {
			err = s.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return crash(t, fs, s)
}

func TestTornTailIsCutAtTheLastWholeBatch(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	const count = 70
	fs := filledJournal(t, count, func(i int) bool { return i < 50 })
	paths := segmentPaths(t, fs)
	last := paths[len(paths)-1]
	data, err := readSegment(fs, last, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, scan, err := newSegmentScan(data)
	if err != nil {
		t.Fatal(err)
	}
	first := int(scan.seq) - 1
	// Ends of the last segment's batches.
	var ends []int
	var r effect.Reader
	for ok := true; ok; ok, err = scan.next(&r) {
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, scan.at)
	}
	for range 40 {
		cut := segmentHeaderBytes + rng.IntN(len(data)-segmentHeaderBytes)
		want := first
		for _, end := range ends[1:] {
			if end <= cut {
				want++
			}
		}
		if want < 50 {
			continue // that would cut what was durable
		}
		for _, tail := range []string{"short", "zeros"} {
			fs := vfs.FS(copyStore(t, fs, "store"))
			editFile(t, fs, last, func(b []byte) []byte {
				if tail == "short" {
					return b[:cut]
				}
				clear(b[cut:])
				return b
			})
			s := mustOpen(t, fs, "store", testOptions(t))
			if got := len(journalOf(t, s)); got != want {
				t.Errorf("seed %d: %s from offset %d: %d batches, want %d", seed, tail, cut, got, want)
			}
			// What was cut off is gone for good, and the journal goes on.
			var b effect.Batch
			if seq, _ := s.Append(setBatch(&b, "next", "v", 0)); seq != uint64(want+1) {
				t.Errorf("seed %d: the next batch is %d, want %d", seed, seq, want+1)
			}
			if err := s.Sync(); err != nil {
				t.Fatal(err)
			}
			fs = crash(t, fs, s)
			s = mustOpen(t, fs, "store", testOptions(t))
			if got := len(journalOf(t, s)); got != want+1 {
				t.Errorf("seed %d: %d batches after going on, want %d", seed, got, want+1)
			}
			mustClose(t, s)
		}
	}
}

func TestDamagedJournalIsRefused(t *testing.T) {
	const count = 120
	fs := filledJournal(t, count, func(i int) bool { return i%10 == 0 })
	paths := segmentPaths(t, fs)
	if len(paths) < 3 {
		t.Fatalf("%d segments: the test wants three", len(paths))
	}
	first, middle, last := paths[1], paths[len(paths)-2], paths[len(paths)-1]
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 0x10; return b }
	}
	for _, c := range []struct {
		what, path string
		edit       func([]byte) []byte
		want       string
	}{
		{"a flipped byte in the first segment", first, flip(200), first},
		{"a flipped byte in a middle segment", middle, flip(5000), middle},
		{"a flipped byte early in the last segment", last, flip(300), last},
		{"a flipped byte in a frame header", middle, flip(segmentHeaderBytes + 3), middle},
		{"a flipped byte in a segment header", middle, flip(41), middle},
		{"a flipped byte in the last segment header", last, flip(41), last},
		{"a zeroed sector that was durable", middle, func(b []byte) []byte { clear(b[4096:4608]); return b }, middle},
		{"a middle segment cut short", middle, func(b []byte) []byte { return b[:3000] }, middle},
		{"an emptied segment", middle, func(b []byte) []byte { clear(b); return b }, middle},
		{"a segment of another store", last, func(b []byte) []byte {
			h, err := decodeSegmentHeader(b)
			if err != nil {
				t.Fatal(err)
			}
			h.storeID++
			copy(b, h.encode())
			return b
		}, "another store"},
		{"a segment of a newer format", last, func(b []byte) []byte { b[8] = 9; return b }, "newer version"},
	} {
		fs := copyStore(t, fs, "store")
		editFile(t, fs, c.path, c.edit)
		s, err := Open(fs, "store", testOptions(t))
		if err == nil {
			t.Errorf("%s: opened with %d batches", c.what, len(journalOf(t, s)))
			mustClose(t, s)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "offset") && !strings.Contains(err.Error(), "newer") {
			t.Errorf("%s: %v, want it to name %s and an offset", c.what, err, c.want)
		}
	}
}

func TestMissingSegmentIsRefused(t *testing.T) {
	fs := filledJournal(t, 120, func(i int) bool { return i%10 == 0 })
	paths := segmentPaths(t, fs)
	for i, path := range paths[1:] { // the first one holds no batch
		fs := copyStore(t, fs, "store")
		if err := fs.Remove(path); err != nil {
			t.Fatal(err)
		}
		_, err := Open(fs, "store", testOptions(t))
		if err == nil || !strings.Contains(err.Error(), fs.PathBase(path)) {
			t.Errorf("segment %d of %d: %v, want it to name %s", i+1, len(paths), err, path)
		}
	}
	all := copyStore(t, fs, "store")
	if err := all.RemoveAll("store/journal"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(all, "store", testOptions(t)); err == nil {
		t.Error("opened without a journal")
	}
	format := copyStore(t, fs, "store")
	if err := format.Remove("store/FORMAT"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(format, "store", testOptions(t)); err == nil || !strings.Contains(err.Error(), "holds batches") {
		t.Errorf("without FORMAT: %v", err)
	}
	if err := format.RemoveAll("store/journal"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(format, "store", testOptions(t)); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("without FORMAT and journal: %v", err)
	}
}
