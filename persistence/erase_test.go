package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reminis/engine/effect"
	"reminis/persistence/canary"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// This file owns the tests of erasing: no file holds what was erased, whenever
// the process dies, and nothing else is missing.

// singing lists the files below dir that hold the word.
func singing(t testing.TB, fs vfs.FS, dir, word string) []string {
	t.Helper()
	files, err := canary.Singing(fs, dir, word)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// eventOf is an event with a name of its own.
func eventOf(name int, body []byte) []byte {
	head := fmt.Appendf(nil, "event %026d and what stays", name)
	return append(append(effect.AppendEventHead(nil, len(head)), head...), body...)
}

// eraseWorkload writes three owners, of which two have the canary, and erases it:
// all of p:u0, and one record of p:u1. It returns the first error.
func eraseWorkload(s *Store, word string, erased func(seq uint64)) error {
	value := append([]byte("value "), word...)
	var b effect.Batch
	put := func(key string, i int, value []byte) error {
		b.Reset()
		b.TimeMs = int64(i)
		b.Add(&effect.Effect{Kind: effect.RecordPut, Key: []byte(key), OwnerLen: 4, Value: value, Number: int64(i + 1), Count: 3, Event: eventOf(i, value)})
		b.Add(&effect.Effect{Kind: effect.CommandDone, Key: []byte(key[:4]), Field: fmt.Appendf(nil, "%016d", i), Value: value, Number: 1})
		b.Add(&effect.Effect{Kind: effect.FacetSet, Key: []byte(key[:4]), Field: []byte("facet"), Value: []byte("facet of " + key[:4])})
		s.Append(&b)
		return s.Ready()
	}
	for i := range 60 {
		var err error
		switch i % 3 {
		case 0:
			err = put(fmt.Sprintf("p:u0:s:%s", strings.Repeat("k", i%7+1)), i, value)
		case 1:
			err = put("p:u1:s:gone", i, value)
		case 2:
			err = errors.Join(put("p:u1:s:stays", i, []byte("stays")), put("p:u2:s:other", i, []byte("other")))
		}
		if err == nil && i == 30 {
			err = s.Checkpoint()
		}
		if err != nil {
			return err
		}
	}
	b.Reset()
	var names []byte
	for i := 1; i < 60; i += 3 {
		names = append(names, effect.EventName(eventOf(i, nil))...)
	}
	b.Add(&effect.Effect{Kind: effect.Erase, Key: []byte("p:u0"), OwnerLen: 4})
	b.Add(&effect.Effect{Kind: effect.Erase, Key: []byte("p:u1:s:gone"), OwnerLen: 4, Value: names})
	b.Add(&effect.Effect{Kind: effect.FacetSet, Key: []byte("p:u0"), Field: []byte("next"), Value: []byte("key")})
	for i := 1; i < 60; i += 3 {
		b.Add(&effect.Effect{Kind: effect.CommandDone, Key: []byte("p:u1"), Field: fmt.Appendf(nil, "%016d", i)})
	}
	b.Add(&effect.Effect{Kind: effect.EventAppend, Key: []byte("p:u0"), Event: eventOf(100, []byte("erased"))})
	b.Add(&effect.Effect{Kind: effect.EventAppend, Key: []byte("p:u1"), Event: eventOf(101, []byte("erased"))})
	seq, _ := s.Append(&b)
	erased(seq)
	if err := put("p:u0:s:new", 200, []byte("new")); err != nil {
		return err
	}
	return s.Purge(seq)
}

// verifyErased says whether what is left is what the workload left.
func verifyErased(t *testing.T, s *Store, when string) {
	t.Helper()
	state := newToy()
	if err := s.Recover(state); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	records := strings.Join(state.list(), "\n")
	for name, want := range map[string]bool{"p:u1:s:stays": true, "p:u2:s:other": true, "p:u0:s:new": true, "p:u1:s:gone": false, "p:u0:s:k": false} {
		if strings.Contains(records, name) != want {
			t.Errorf("%s: %s is there: %t; all: %s", when, name, !want, records)
		}
	}
	for _, test := range []struct {
		key  string
		want int
	}{{"p:u1:s:gone", 0}, {"p:u0:s:k", 0}, {"p:u1:s:stays", 3}, {"p:u2:s:other", 3}} {
		got := 0
		err := s.History(0, []byte(test.key), 0, ^uint64(0), false, func(uint64, int64, *effect.Effect) bool {
			got++
			return true
		})
		if err != nil || got != test.want {
			t.Errorf("%s: %s has %d changes, want %d: %v", when, test.key, got, test.want, err)
		}
	}
	for owner, want := range map[string][2]int{"p:u0": {22, 2}, "p:u1": {41, 21}, "p:u2": {20, 20}} {
		heads, bodies := 0, 0
		err := s.Events(0, []byte(owner), 0, ^uint64(0), false, func(_ uint64, _ int64, event []byte) bool {
			heads++
			if _, body, _ := effect.CutEvent(event); len(body) > 0 {
				bodies++
			}
			return true
		})
		if got := [2]int{heads, bodies}; err != nil || got != want {
			t.Errorf("%s: %s has %d events, %d with a body, want %v: %v", when, owner, heads, bodies, want, err)
		}
	}
}

// list is the keys of the first database.
func (s *toy) list() (names []string) {
	for name := range s.keys[0] {
		names = append(names, name)
	}
	return names
}

func TestErasedBytesAreInNoFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 4 {
		text := canary.Word(rng)
		disk := vfs.NewMem()
		options := crashOptions(t)
		options.manualCompactions, options.Uncompressed = i%2 == 0, i >= 2
		s := mustOpen(t, disk, "data", options)
		if err := s.Recover(newToy()); err != nil {
			t.Fatal(err)
		}
		err := eraseWorkload(s, text, func(uint64) {
			if len(singing(t, disk, "data", text)) < 2 {
				t.Error("the canary is in no journal and no table before the erasure")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if files := singing(t, disk, "data", text); len(files) > 0 {
			t.Errorf("it sings in %s", files)
		}
		mustClose(t, s)
		s = mustOpen(t, disk, "data", options)
		verifyErased(t, s, "after a restart")
		mustClose(t, s)
		if files := singing(t, disk, "data", text); len(files) > 0 {
			t.Errorf("after a restart it sings in %s", files)
		}
	}
}

// A start leaves one manifest, its own: one before may name what was erased.
func TestStartLeavesOneManifest(t *testing.T) {
	disk := vfs.NewMem()
	options := crashOptions(t)
	for range 3 {
		s := mustOpen(t, disk, "data", options)
		if err := s.Recover(newToy()); err != nil {
			t.Fatal(err)
		}
		names, err := disk.List(s.rows.dir)
		if err != nil {
			t.Fatal(err)
		}
		manifests := slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "MANIFEST-") })
		if len(manifests) != 1 {
			t.Errorf("%q", manifests)
		}
		mustClose(t, s)
	}
}

// Tables are compressed or not as is set when they are written.
func TestCompressionIsAsSet(t *testing.T) {
	options := testOptions(t)
	options.manualCheckpoints, options.manualCompactions = true, true
	grown := func(change func(s *Store), uncompressed bool) int64 {
		options.Uncompressed = uncompressed
		s := mustOpen(t, vfs.NewMem(), "data", options)
		if err := s.Recover(newToy()); err != nil {
			t.Fatal(err)
		}
		change(s)
		var b effect.Batch
		for i := range 200 {
			b.Reset()
			b.Add(&effect.Effect{Kind: effect.StringSet, Key: fmt.Appendf(nil, "key%d", i), Value: bytes.Repeat([]byte("tea "), 1000)})
			s.Append(&b)
		}
		if err := s.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		size := s.Stats().RowBytes
		mustClose(t, s)
		return size
	}
	kept := func(*Store) {}
	small, large := grown(kept, false), grown(kept, true)
	if small*5 > large || large < 800_000 {
		t.Errorf("%d bytes compressed, %d not", small, large)
	}
	if turnedOff, turnedOn := grown(func(s *Store) { s.SetCompressed(false) }, false), grown(func(s *Store) { s.SetCompressed(true) }, true); turnedOff < large*9/10 || turnedOn > small*11/10 {
		t.Errorf("turned off %d bytes, turned on %d", turnedOff, turnedOn)
	}
}

// TestErasureEndsAfterACrash looks at the disk as a crash at each operation from
// the erasure on leaves it: once that was durable, the next start ends it.
func TestErasureEndsAfterACrash(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	text := canary.Word(rng)
	type point struct {
		durable bool
		disk    *vfs.MemFS
	}
	var points []point
	disk := newFaultyDisk(vfs.NewCrashableMem())
	s := mustOpen(t, disk, "data", crashOptions(t))
	if err := s.Recover(newToy()); err != nil {
		t.Fatal(err)
	}
	seq := uint64(0)
	err := eraseWorkload(s, text, func(erased uint64) {
		seq = erased
		disk.whenever(func(int, errorfs.Op) error {
			points = append(points, point{s.Durable() >= seq, disk.clone(0, rng)})
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	disk.whenever(func(int, errorfs.Op) error { return nil })
	mustClose(t, s)
	ends := 0
	for i, p := range points {
		s := mustOpen(t, p.disk, "data", crashOptions(t))
		if err := s.Recover(newToy()); err != nil {
			t.Fatalf("point %d: %v", i, err)
		}
		gone := s.Stats().AppendedSeq >= seq
		if p.durable && !gone {
			t.Fatalf("point %d: the erasure was durable and is lost", i)
		}
		if files := singing(t, p.disk, "data", text); gone && len(files) > 0 {
			t.Fatalf("point %d: erased, and sings in %s", i, files)
		}
		if gone {
			ends++
		}
		mustClose(t, s)
	}
	if ends == 0 || ends == len(points) {
		t.Errorf("of %d crashes %d came after the erasure was durable: both are wanted", len(points), ends)
	}
}
