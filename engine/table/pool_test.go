// This file owns the tests of the pool: runs never overlap, and what is given
// back joins again.

package table

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// stamp writes a number to both ends of a run, stamped reads it back.
func stamp(r run, n uint64) {
	content := unsafe.Slice((*byte)(r.base), r.sizeBytes())
	binary.LittleEndian.PutUint64(content, n)
	binary.LittleEndian.PutUint64(content[len(content)-8:], n)
}

func stamped(r run, n uint64) bool {
	content := unsafe.Slice((*byte)(r.base), r.sizeBytes())
	return binary.LittleEndian.Uint64(content) == n && binary.LittleEndian.Uint64(content[len(content)-8:]) == n
}

func TestPoolRunsNeverOverlap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	pool := NewPool(Options{HugePages: true})
	type held struct {
		run    run
		number uint64
	}
	var runs []held
	usedBytes := int64(0)
	for number := range uint64(6000) {
		switch i := random.IntN(len(runs) + 1); {
		case random.IntN(2) == 0 || i == len(runs):
			pages := 1 << random.IntN(slabOrder+1)
			if random.IntN(2) == 0 {
				pages = 1 + random.IntN(slabPages+40)
			}
			if len(runs) > 300 {
				continue
			}
			r := pool.alloc(pages)
			if r.sizeBytes() != pages*pageBytes {
				t.Fatalf("%d pages asked, %d given", pages, r.pages)
			}
			stamp(r, number)
			usedBytes += int64(r.sizeBytes())
			runs = append(runs, held{r, number})
		case random.IntN(4) == 0:
			pages := 1 + random.IntN(2*slabPages)
			old := runs[i].run
			usedBytes += int64(pages*pageBytes - old.sizeBytes())
			r := pool.resize(old, pages)
			if binary.LittleEndian.Uint64(unsafe.Slice((*byte)(r.base), 8)) != runs[i].number {
				t.Fatal("resizing lost the content")
			}
			stamp(r, runs[i].number)
			runs[i].run = r
		default:
			if !stamped(runs[i].run, runs[i].number) {
				t.Fatalf("run of %d pages at page %d was overwritten", runs[i].run.pages, runs[i].run.page)
			}
			usedBytes -= int64(runs[i].run.sizeBytes())
			pool.release(runs[i].run)
			runs[i] = runs[len(runs)-1]
			runs = runs[:len(runs)-1]
		}
		if got := pool.Stats().UsedBytes; got != usedBytes {
			t.Fatalf("UsedBytes %d, want %d", got, usedBytes)
		}
	}
	for _, h := range runs {
		if !stamped(h.run, h.number) {
			t.Fatal("a run was overwritten")
		}
		pool.release(h.run)
	}
	wholeSlabs(t, pool)
}

// wholeSlabs fails unless a pool that nobody uses has joined all pages again,
// but for the runs it keeps resident.
func wholeSlabs(t *testing.T, pool *Pool) {
	t.Helper()
	stats := pool.Stats()
	if stats.UsedBytes != 0 || stats.KeptBytes != int64(len(pool.kept))*maxBlockBytes || stats.KeptBytes > keptMinBytes+maxBlockBytes {
		t.Fatalf("an unused pool has %+v", stats)
	}
	for _, r := range pool.kept {
		pool.putPages(r.page, r.pages)
	}
	pool.kept = nil
	for order := range slabOrder {
		if pool.free[order] != 0 {
			t.Fatalf("there are free runs of order %d that did not join", order)
		}
	}
	slabs := 0
	for page := pool.free[slabOrder]; page != 0; slabs++ {
		page = pool.regions[(page-1)/regionPages].next[(page-1)%regionPages]
	}
	if want := len(pool.regions)*regionSlabs - int(pool.fresh); slabs != want {
		t.Fatalf("%d free slabs of %d", slabs, want)
	}
	pool.Close()
}

func TestPoolIsSharedByTables(t *testing.T) {
	pool := NewPool(Options{})
	done := make(chan error)
	const tables = 8
	for i := range tables {
		go func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			table := New(pool)
			key := make([]byte, 16)
			for range 30_000 {
				n := random.IntN(5000)
				numbered(key, n)
				if random.IntN(3) == 0 {
					table.Delete(Hash(key), key)
					continue
				}
				e, _ := table.Put(Hash(key), key, 0, 0, 8+random.IntN(200))
				binary.LittleEndian.PutUint64(e.Value(), uint64(n))
			}
			err := table.Check()
			table.Each(func(e Entry) bool {
				if n := int(binary.LittleEndian.Uint64(e.Value())); string(numbered(key, n)) != string(e.Key()) {
					err = fmt.Errorf("the value of key %d is at key %x", n, e.Key())
				}
				return err == nil
			})
			table.Clear()
			done <- err
		}()
	}
	for range tables {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	wholeSlabs(t, pool)
}
