// This file owns the measurements. Each runs small in every test run; at its
// real size with: go test -run '^$' -bench . -keys 10000000

package table

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

var benchKeys = flag.Int("keys", 1_000_000, "keys of the benchmarks")

// numbered writes the 16-byte key i.
func numbered(key []byte, i int) []byte {
	binary.BigEndian.PutUint64(key[:8], uint64(i)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(key[8:16], uint64(i))
	return key[:16]
}

// filled returns a table of n keys of 16 bytes with values of 32.
func filled(n int, options Options) *Table {
	t := New(NewPool(options))
	key := make([]byte, 16)
	for i := range n {
		numbered(key, i)
		e, _ := t.Put(Hash(key), key, 0, 0, 32)
		binary.LittleEndian.PutUint64(e.Value(), uint64(i))
	}
	return t
}

// processorNs is the processor time that this process has used, to 10 ms; 0
// where it cannot be read. On a busy machine it says more than the clock.
func processorNs() float64 {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) * 1e7
}

// withProcessorTime reports the processor time of ops operations.
func withProcessorTime(b *testing.B, ops int, run func()) {
	before := processorNs()
	run()
	b.ReportMetric((processorNs()-before)/float64(ops), "cpu-ns/op")
}

func BenchmarkLoad(b *testing.B) {
	for range b.N {
		var t *Table
		withProcessorTime(b, *benchKeys, func() { t = filled(*benchKeys, Options{HugePages: true}) })
		s, p := t.Stats(), t.store.pool.Stats()
		b.ReportMetric(float64(p.UsedBytes)/float64(*benchKeys), "B/key")
		b.ReportMetric(float64(s.BucketBytes)/float64(*benchKeys), "bucketB/key")
		t.Clear()
		t.store.pool.Close()
	}
}

// getInBatches reads about ops random keys of 0 to keys-1, that many at a
// time with prefetching, and returns how many were there.
func getInBatches(t *Table, keys, ops, batch int) (found int) {
	random := rand.New(rand.NewPCG(1, 2))
	names := make([][16]byte, batch)
	hashes := make([]uint64, batch)
	for i := 0; i < ops; i += batch {
		for j := range names {
			numbered(names[j][:], random.IntN(keys))
			hashes[j] = Hash(names[j][:])
		}
		if batch > 1 {
			for _, hash := range hashes {
				t.PrefetchBucket(hash)
			}
			for _, hash := range hashes {
				t.PrefetchRecord(hash)
			}
		}
		for j := range names {
			if e, ok := t.Get(hashes[j], names[j][:]); ok && len(e.Value()) == 32 {
				found++
			}
		}
	}
	return found
}

func BenchmarkGet(b *testing.B) {
	for _, huge := range []bool{false, true} {
		t := filled(*benchKeys, Options{HugePages: huge})
		for _, batch := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("huge=%v/batch=%d", huge, batch), func(b *testing.B) {
				withProcessorTime(b, b.N, func() {
					if getInBatches(t, *benchKeys, b.N, batch) < b.N {
						b.Fatal("keys are missing")
					}
				})
			})
		}
		t.Clear()
		t.store.pool.Close()
	}
}

// overwrite puts ops values of 32 to 32+change bytes over random keys.
func overwrite(t *Table, keys, ops, change int) (existed int) {
	random := rand.New(rand.NewPCG(1, 2))
	key := make([]byte, 16)
	for range ops {
		numbered(key, random.IntN(keys))
		if _, ok := t.Put(Hash(key), key, 0, 0, 32+random.IntN(change+1)); ok {
			existed++
		}
	}
	return existed
}

func BenchmarkPut(b *testing.B) {
	t := filled(*benchKeys, Options{HugePages: true})
	for _, change := range []int{0, 40} {
		b.Run(fmt.Sprintf("change=%d", change), func(b *testing.B) {
			withProcessorTime(b, b.N, func() {
				if overwrite(t, *benchKeys, b.N, change) != b.N {
					b.Fatal("keys are missing")
				}
			})
			b.ReportMetric(float64(t.store.pool.Stats().UsedBytes)/float64(*benchKeys), "B/key")
		})
	}
}

// deleteNineOfTen deletes all keys but each tenth.
func deleteNineOfTen(t *Table, keys int) {
	key := make([]byte, 16)
	for i := range keys {
		if i%10 != 0 {
			t.Delete(Hash(numbered(key, i)), key)
		}
	}
}

// residentBytes is this process's resident set, 0 where it cannot be read.
func residentBytes() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

func BenchmarkDelete(b *testing.B) {
	n := *benchKeys
	for range b.N {
		b.StopTimer()
		before := residentBytes()
		t := filled(n, Options{HugePages: true})
		full := residentBytes() - before
		b.StartTimer()
		withProcessorTime(b, n*9/10, func() { deleteNineOfTen(t, n) })
		b.StopTimer()
		b.ReportMetric(float64(residentBytes()-before)/float64(full)*100, "%RSS")
		b.ReportMetric(float64(full)/float64(n), "RSS-B/key")
		t.Clear()
		t.store.pool.Close()
	}
}

func TestBenchmarksRun(t *testing.T) {
	const keys, ops = 2000, 1024
	table := filled(keys, Options{HugePages: true})
	for _, batch := range []int{1, 4, 16, 64} {
		if found := getInBatches(table, keys, ops, batch); found != ops {
			t.Errorf("batch %d: %d of %d found", batch, found, ops)
		}
	}
	for _, change := range []int{0, 40} {
		if existed := overwrite(table, keys, ops, change); existed != ops {
			t.Errorf("change %d: %d of %d were there", change, existed, ops)
		}
	}
	if deleteNineOfTen(table, keys); table.Len() != keys/10 {
		t.Errorf("%d of %d are left", table.Len(), keys)
	}
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
}
