package persistence

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// countingFS counts the bytes that are written.
type countingFS struct {
	vfs.FS
	journal, rows, manifest atomic.Int64
}

func (c *countingFS) counter(name string) *atomic.Int64 {
	switch {
	case strings.Contains(name, "journal"):
		return &c.journal
	case strings.Contains(name, "MANIFEST"):
		return &c.manifest
	}
	return &c.rows
}

func (c *countingFS) total() int64 { return c.journal.Load() + c.rows.Load() + c.manifest.Load() }

type countingFile struct {
	vfs.File
	n *atomic.Int64
}

func (c *countingFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := c.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	return countingFile{f, c.counter(name)}, nil
}

func (c *countingFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.OpenReadWrite(name, category, opts...)
	if err != nil {
		return nil, err
	}
	return countingFile{f, c.counter(name)}, nil
}

func (f countingFile) Write(p []byte) (int, error) {
	f.n.Add(int64(len(p)))
	return f.File.Write(p)
}

func (f countingFile) WriteAt(p []byte, at int64) (int, error) {
	f.n.Add(int64(len(p)))
	return f.File.WriteAt(p, at)
}

// Touching fields of a large hash writes about those fields, not the hash.
func TestTouchedElementWritesLittle(t *testing.T) {
	const elements, touched = 50_000, 500
	fs := &countingFS{FS: vfs.NewMem()}
	opts := testOptions(t)
	opts.SegmentBytes = 1 << 20
	opts.manualCompactions = true // what is rewritten later depends on all else
	s := mustOpen(t, fs, "store", opts)
	defer mustClose(t, s)
	rng := rand.New(rand.NewPCG(1, 1))
	value := []byte(strings.Repeat("value", 10))
	var b effect.Batch
	for i := range elements {
		b.Reset()
		b.Add(&effect.Effect{Kind: effect.HashSet, Key: []byte("large"), Field: fmt.Appendf(nil, "field:%09d", i), Value: value})
		s.Append(&b)
	}
	if err := s.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	before := fs.total()
	for range touched {
		b.Reset()
		b.Add(&effect.Effect{Kind: effect.HashSet, Key: []byte("large"), Field: fmt.Appendf(nil, "field:%09d", rng.IntN(elements)), Value: value})
		s.Append(&b)
	}
	if err := s.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	perElement := (fs.total() - before) / touched
	t.Logf("%d bytes written per touched element of %d bytes", perElement, len(value))
	if perElement > 4096 {
		t.Fatal("more than 4 KB")
	}
}

// The bytes written for six overwrites of every key, with checkpoints between.
// REMINIS_KEYS sets how many keys.
func TestWriteAmplification(t *testing.T) {
	keys := 20_000
	fs := &countingFS{FS: vfs.NewMem()}
	dir := "store"
	if n := os.Getenv("REMINIS_KEYS"); n != "" {
		if _, err := fmt.Sscan(n, &keys); err != nil {
			t.Fatal(err)
		}
		fs.FS, dir = vfs.Default, t.TempDir()+"/store"
	}
	opts := testOptions(t).withDefaults()
	opts.SegmentBytes = int64(keys) * 64
	opts.CheckpointBytes = int64(keys) * 256 // as 256 MB is to a million
	opts.manualCheckpoints = false
	s := mustOpen(t, fs, dir, opts)
	if err := s.Recover(&counting{}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var user int64
	for range 6 * keys / 1000 {
		user += fill(t, s, 1000, keys, rng)
		s.progress()
	}
	st := s.Stats()
	mustClose(t, s)
	total := fs.total()
	t.Logf("%d keys: %d user bytes; journal %.2f, rows %.2f, together %.2f bytes a byte; %d checkpoints and one at the end; rows on disk %d bytes",
		keys, user, float64(fs.journal.Load())/float64(user), float64(fs.rows.Load()+fs.manifest.Load())/float64(user), float64(total)/float64(user), st.Checkpoints, st.RowBytes)
	if st.Checkpoints < 1 {
		t.Error("too few checkpoints for the figure to mean something")
	}
	if float64(total) > 3*float64(user) {
		t.Error("more than three bytes are written for a byte")
	}
}
