package persistence

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// reportCPU reports the processor time of the whole process per operation: on a
// shared machine it says more than the time that passed.
func reportCPU(b *testing.B) func() {
	from := usedCPU(b)
	return func() { b.ReportMetric(float64(usedCPU(b)-from)/float64(b.N), "cpu-ns/op") }
}

func usedCPU(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// benchOptions are the default but for the time and checkpoints.
func benchOptions(t testing.TB) Options {
	opts := testOptions(t)
	opts.SegmentBytes = 0
	return opts
}

func openBench(b testing.TB, opts Options) *Store {
	return mustOpen(b, vfs.Default, filepath.Join(b.TempDir(), "store"), opts)
}

func benchBatch() *effect.Batch {
	var batch effect.Batch
	return setBatch(&batch, "key:000000000001", strings.Repeat("v", 100), 1)
}

func BenchmarkAppend(b *testing.B) {
	opts := benchOptions(b)
	opts.PendingBytes = 1 << 40
	s := openBench(b, opts)
	defer mustClose(b, s)
	batch := benchBatch()
	b.ReportAllocs()
	defer reportCPU(b)()
	for i := 0; b.Loop(); i++ {
		s.Append(batch)
		if i%100_000 == 99_999 {
			b.StopTimer()
			if err := s.Sync(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

// One operation is a loop pass: 50 connections with 16 commands each.
func BenchmarkAppendFlush(b *testing.B) {
	s := openBench(b, benchOptions(b))
	defer mustClose(b, s)
	batch := benchBatch()
	b.ReportAllocs()
	b.SetBytes(800 * int64(batch.SizeBytes()))
	defer reportCPU(b)()
	for b.Loop() {
		for range 800 {
			s.Append(batch)
		}
		if err := s.Flush(); err != nil {
			b.Fatal(err)
		}
		if s.journal.Ready() != nil {
			b.StopTimer()
			if err := s.Sync(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

func BenchmarkSync(b *testing.B) {
	for _, perSync := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("journal/%d", perSync), func(b *testing.B) {
			s := openBench(b, benchOptions(b))
			defer mustClose(b, s)
			batch := benchBatch()
			defer reportCPU(b)()
			for b.Loop() {
				for range perSync {
					s.Append(batch)
				}
				if err := s.Sync(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("pebble-record/%d", perSync), func(b *testing.B) { benchRecord(b, perSync) })
	}
}

// benchRecord does the same with Pebble's log writer.
func benchRecord(b *testing.B, perSync int) {
	f, err := vfs.Default.Create(filepath.Join(b.TempDir(), "log"), vfs.WriteCategoryUnspecified)
	if err != nil {
		b.Fatal(err)
	}
	f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{PreallocateSize: 64 << 20})
	w := record.NewLogWriter(f, 1, record.LogWriterConfig{WriteWALSyncOffsets: func() bool { return false }})
	batch := benchBatch()
	data := append(batch.AppendHead(nil, 1, 1), batch.Body()...)
	defer reportCPU(b)()
	for b.Loop() {
		for range perSync - 1 {
			if _, err := w.WriteRecord(data); err != nil {
				b.Fatal(err)
			}
		}
		var done sync.WaitGroup
		done.Add(1)
		var syncErr error
		if _, err := w.SyncRecord(data, &done, &syncErr); err != nil {
			b.Fatal(err)
		}
		done.Wait()
		if syncErr != nil {
			b.Fatal(syncErr)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkGroupSync(b *testing.B) {
	s := openBench(b, benchOptions(b))
	defer mustClose(b, s)
	b.SetParallelism(25)
	defer reportCPU(b)()
	b.RunParallel(func(pb *testing.PB) {
		batch := benchBatch()
		for pb.Next() {
			s.Append(batch)
			if err := s.Sync(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(s.Stats().Syncs)/float64(b.N), "fsyncs/op")
}

// counting is a Restorer that costs little.
type counting struct {
	rows    atomic.Int64
	batches int
}

func (c *counting) Spaces([]uint32) {}

func (c *counting) Row(*effect.Effect, uint64, int64) error { c.rows.Add(1); return nil }

func (c *counting) Batch(*effect.Reader) error { c.batches++; return nil }

// fill appends count sets of random keys below keys.
func fill(t testing.TB, s *Store, count, keys int, rng *rand.Rand) (userBytes int64) {
	t.Helper()
	var batch effect.Batch
	value := make([]byte, 100)
	for i := range count {
		for j := range value {
			value[j] = byte(rng.Uint32())
		}
		batch.Reset()
		key := fmt.Appendf(nil, "key:%012d", rng.IntN(keys))
		batch.Add(&effect.Effect{Kind: effect.StringSet, Key: key, Value: value})
		s.Append(&batch)
		userBytes += int64(len(key) + len(value))
		if i%1000 == 999 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if s.Ready() != nil {
			if err := s.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	return userBytes
}

// One operation is one row.
func BenchmarkRecoverRows(b *testing.B) {
	const keys = 1_000_000
	s := openBench(b, benchOptions(b))
	defer mustClose(b, s)
	fill(b, s, keys, keys, rand.New(rand.NewPCG(1, 1)))
	if err := s.Checkpoint(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	defer reportCPU(b)()
	var into counting
	for i := 0; i < b.N; i += int(into.rows.Swap(0)) {
		if err := s.Recover(&into); err != nil {
			b.Fatal(err)
		}
	}
}

// One operation is one batch of the journal's tail.
func BenchmarkRecoverJournal(b *testing.B) {
	s := openBench(b, benchOptions(b))
	defer mustClose(b, s)
	fill(b, s, 300_000, 300_000, rand.New(rand.NewPCG(1, 1)))
	b.ResetTimer()
	defer reportCPU(b)()
	var into counting
	for i := 0; i < b.N; i += into.batches {
		into.batches = 0
		if err := s.Recover(&into); err != nil {
			b.Fatal(err)
		}
	}
}

// One operation is one batch that a checkpoint folds and writes.
func BenchmarkCheckpoint(b *testing.B) {
	s := openBench(b, benchOptions(b))
	defer mustClose(b, s)
	rng := rand.New(rand.NewPCG(1, 1))
	const count = 500_000
	if err := s.Recover(&counting{}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	cpu := 0.0
	for i := 0; i < b.N; i += count {
		b.StopTimer()
		fill(b, s, count, count, rng)
		from := usedCPU(b)
		b.StartTimer()
		if err := s.Checkpoint(); err != nil {
			b.Fatal(err)
		}
		cpu += float64(usedCPU(b) - from)
	}
	b.ReportMetric(cpu/float64(b.N), "cpu-ns/op")
}
