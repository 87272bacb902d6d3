// This file owns the tests of what a table promises beyond being a map: the
// scan's guarantee, memory that comes back, bounded work, no allocations,
// prefetching beside mutation.

package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

func TestScanReturnsWhatIsThereThroughout(t *testing.T) {
	for name, phase := range map[string]struct{ before, inserts, deletes int }{
		"unchanged":           {before: 3000},
		"growing":             {before: 500, inserts: 40},
		"growing from little": {before: 3, inserts: 5},
		"shrinking":           {before: 20_000, deletes: 60},
		"breathing":           {before: 5000, inserts: 30, deletes: 30},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			table := newTable(t)
			key := make([]byte, 16)
			permanent := 200
			for i := range permanent + phase.before {
				table.Put(Hash(numbered(key, i)), key, 0, 0, 8)
			}
			next := permanent + phase.before
			seen := map[string]int{}
			cursor, calls := uint64(0), 0
			for {
				cursor = table.Scan(cursor, func(e Entry) { seen[string(e.Key())]++ })
				if calls++; cursor == 0 {
					break
				}
				if cursor >= 1<<32 {
					t.Fatalf("cursor %#x", cursor)
				}
				if next < 60_000 {
					for range random.IntN(phase.inserts + 1) {
						table.Put(Hash(numbered(key, next)), key, 0, 0, 8)
						next++
					}
				}
				for range random.IntN(phase.deletes + 1) {
					numbered(key, permanent+random.IntN(next-permanent))
					table.Delete(Hash(key), key)
				}
			}
			for i := range permanent {
				if seen[string(numbered(key, i))] == 0 {
					t.Fatalf("key %d of %d was not returned in %d calls", i, permanent, calls)
				}
			}
			if phase.inserts+phase.deletes == 0 {
				for key, n := range seen {
					if n != 1 {
						t.Fatalf("%x was returned %d times", key, n)
					}
				}
			}
			if err := table.Check(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestScanTakesAnyCursor(t *testing.T) {
	table := filled(1000, Options{})
	for _, cursor := range []uint64{1, 12345, 1<<32 - 1, 1 << 32, 1<<64 - 1, 0xdeadbeefdeadbeef} {
		calls := 0
		for cursor != 0 {
			if cursor = table.Scan(cursor, func(Entry) {}); calls > 1000 {
				t.Fatal("the scan does not end")
			}
			calls++
		}
	}
	if next := New(NewPool(Options{})).Scan(77, func(Entry) { t.Error("an entry") }); next != 0 {
		t.Errorf("an empty table's scan goes on at %d", next)
	}
}

func TestOverwritingGivesBytesBack(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	table := newTable(t)
	key := make([]byte, 16)
	for range 400_000 {
		table.Put(Hash(numbered(key, random.IntN(10_000))), key, 0, 0, random.IntN(300))
	}
	// A quarter is dead, and what was moved out of the block at work.
	s := table.Stats()
	if s.DeadBytes > s.LiveBytes/3+s.BlockBytes/8 || s.BlockBytes > s.LiveBytes*5/3 {
		t.Errorf("after overwriting: %+v", s)
	}
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestAppendingAloneGivesBytesBack(t *testing.T) {
	// No Put and no Delete: Resize must do its share of compaction.
	table := filled(2000, Options{})
	key := make([]byte, 16)
	for round := range 40 {
		for i := range 2000 {
			hash := Hash(numbered(key, i))
			e, _ := table.Get(hash, key)
			table.Resize(hash, e, 32+round*8)
		}
	}
	if s := table.Stats(); s.BlockBytes > s.LiveBytes*5/3 {
		t.Errorf("after appending: %+v", s)
	}
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
}

// TestTheLastRecordGrowsInPlace: a value that is written again and again, larger or
// smaller, stays where it is while no other is put, but for the ends of blocks.
func TestTheLastRecordGrowsInPlace(t *testing.T) {
	table := filled(100, Options{})
	key := make([]byte, 16)
	hash := Hash(numbered(key, 100))
	last, _ := table.Put(hash, key, 0, 0, 0)
	moves := 0
	follow := func(e Entry) {
		if e.ref != last.ref {
			moves++
		}
		last = e
	}
	for size := range 3000 {
		e, _ := table.Put(hash, key, 0, 0, size)
		follow(e)
		follow(table.Resize(hash, e, size+7))
		follow(table.Resize(hash, last, size))
	}
	if moves > 5 {
		t.Errorf("%d moves of a value that grew alone", moves)
	}
	table.Delete(hash, key)
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestDeletingGivesMemoryBack(t *testing.T) {
	const n = 200_000
	table := filled(n, Options{})
	full := table.store.pool.Stats()
	key := make([]byte, 16)
	for i := range n {
		if i%10 != 0 {
			table.Delete(Hash(numbered(key, i)), key)
		}
	}
	left := table.store.pool.Stats()
	if held := left.UsedBytes + left.KeptBytes - keptMinBytes; held > full.UsedBytes/5 {
		t.Errorf("10%% of the keys hold %d of %d bytes", held, full.UsedBytes)
	}
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < n; i += 10 {
		if e, found := table.Get(Hash(numbered(key, i)), key); !found || binary.LittleEndian.Uint64(e.Value()) != uint64(i) {
			t.Fatalf("key %d: found %v", i, found)
		}
	}
}

func TestBytesPerKey(t *testing.T) {
	const n, maxPerKey = 1_000_000, 72
	for _, tables := range []int{1, 64} {
		heapBefore := heapBytes()
		pool := NewPool(Options{})
		all := make([]*Table, tables)
		for i := range all {
			all[i] = New(pool)
		}
		key := make([]byte, 16)
		for i := range n {
			hash := Hash(numbered(key, i))
			all[hash>>40%uint64(tables)].Put(hash, key, 0, 0, 32)
		}
		if perKey := float64(pool.Stats().UsedBytes) / n; perKey > maxPerKey {
			t.Errorf("%d tables: %.1f bytes a key", tables, perKey)
		} else {
			t.Logf("%d tables: %.1f bytes a key", tables, perKey)
		}
		// What the collector counts (and, of that, scans the least) is bookkeeping
		// only, where memory lies outside of its heap.
		if heap := heapBytes() - heapBefore; regionBytes > 4<<20 && heap > n {
			t.Errorf("%d tables: %d bytes of heap", tables, heap)
		}
		for _, table := range all {
			table.Clear()
		}
		pool.Close()
	}
	if s := filled(1, Options{}).Stats(); s.LiveBytes != 56 {
		t.Errorf("16 + 32 bytes take %d", s.LiveBytes)
	}
}

func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestNoMutationDoesMuchWork(t *testing.T) {
	// One mutation adds or takes at most one bucket and walks a bounded part of
	// a victim; the moves it leads to are bounded by that.
	table := newTable(t)
	key := make([]byte, 16)
	random := rand.New(rand.NewPCG(1, 1))
	const bound = stepBytes + (stepPerDead+1)*512
	step := func(mutate func()) {
		buckets, victim, pos := table.buckets.count, table.store.victim, table.store.victimPos
		mutate()
		if d := int(table.buckets.count) - int(buckets); d < -1 || d > 1 {
			t.Fatalf("one mutation changed the buckets from %d by %d", buckets, d)
		}
		if s := &table.store; s.victim == victim && victim != 0 && s.victimPos-pos > bound && s.victimPos > pos {
			t.Fatalf("one mutation walked %d bytes", s.victimPos-pos)
		}
	}
	for range 200_000 {
		hash := Hash(numbered(key, random.IntN(20_000)))
		step(func() { table.Put(hash, key, 0, 0, random.IntN(400)) })
	}
	for i := range 20_000 {
		hash := Hash(numbered(key, i))
		if table.Len() > 1 {
			step(func() { table.Delete(hash, key) })
		}
	}
}

func TestLargeValues(t *testing.T) {
	pool := NewPool(Options{})
	table := New(pool)
	key := []byte("large")
	hash := Hash(key)
	e, _ := table.Put(hash, key, 3, 12345, 0)
	e.SetAccess(77)
	want := []byte{}
	moves, at := 0, e.at
	for len(want) < 12<<20 {
		piece := bytes.Repeat([]byte{byte(len(want) >> 10)}, 1000)
		e, _ = table.Get(hash, key)
		e = table.Resize(hash, e, len(want)+len(piece))
		copy(e.Value()[len(want):], piece)
		want = append(want, piece...)
		if e.at != at {
			moves, at = moves+1, e.at
		}
	}
	if e, _ = table.Get(hash, key); !bytes.Equal(e.Value(), want) || e.Kind() != 3 || e.DeadlineMs() != 12345 || e.Access() != 77 {
		t.Fatal("appending lost something")
	}
	if moves > 40 {
		t.Errorf("%d moves to append 12 MB: not linear", moves)
	}
	if used := pool.Stats().UsedBytes; used > 12<<20+slackMaxBytes+64<<10 {
		t.Errorf("12 MB hold %d bytes", used)
	}
	e = table.Resize(hash, e, 100)
	if !bytes.Equal(e.Value(), want[:100]) {
		t.Fatal("shrinking lost the front")
	}
	if used := pool.Stats().UsedBytes; used > 64<<10 {
		t.Errorf("100 bytes hold %d", used)
	}
	for _, n := range []int{maxBlockRecord - 100, maxBlockRecord, 100_000, 1 << 20, 3 << 20, 70_000, 5} {
		value := bytes.Repeat([]byte{byte(n)}, n)
		e, existed := table.Put(hash, key, 1, 0, n)
		copy(e.Value(), value)
		if e, _ = table.Get(hash, key); !existed || !bytes.Equal(e.Value(), value) || e.Access() != 77 {
			t.Fatalf("replacing by %d bytes: existed %v", n, existed)
		}
		if err := table.Check(); err != nil {
			t.Fatal(err)
		}
	}
	table.Delete(hash, key)
	table.Clear()
	wholeSlabs(t, pool)
}

func TestGetHashComparesTheWholeHash(t *testing.T) {
	table := filled(5000, Options{})
	key := numbered(make([]byte, 16), 4711)
	hash := Hash(key)
	e, found := table.GetHash(hash, func(e Entry) bool { return true })
	if !found || !bytes.Equal(e.Key(), key) {
		t.Fatalf("found %v", found)
	}
	if _, found := table.GetHash(hash, func(e Entry) bool { return false }); found {
		t.Error("found what match refused")
	}
	if _, found := table.GetHash(hash^1<<40, func(e Entry) bool { return true }); found {
		t.Error("found by another hash with the same bucket and tag")
	}
	if _, found := New(NewPool(Options{})).GetHash(hash, func(e Entry) bool { return true }); found {
		t.Error("found in an empty table")
	}
}

func TestRandomIsUniform(t *testing.T) {
	const n, draws = 1000, 200_000
	table := filled(n, Options{})
	counts := map[string]int{}
	for r := range uint64(draws) {
		e, found := table.Random(r)
		if !found {
			t.Fatal("nothing found")
		}
		if again, _ := table.Random(r); again != e {
			t.Fatal("Random is not determined by r")
		}
		counts[string(e.Key())]++
	}
	square := 0.0
	for i := range n {
		d := float64(counts[string(numbered(make([]byte, 16), i))]) - draws/n
		square += d * d / (draws / n)
	}
	// 999 degrees of freedom: mean 999, deviation 45.
	if square > 999+6*45 || square < 999-6*45 {
		t.Errorf("chi square %.0f of %d entries", square, n)
	}
	if _, found := New(NewPool(Options{})).Random(1); found {
		t.Error("an empty table has an entry")
	}
	single := filled(1, Options{})
	for r := range uint64(10_000) {
		if _, found := single.Random(r); !found {
			t.Fatal("the only entry is not found")
		}
	}
}

func TestAllocations(t *testing.T) {
	table := filled(10_000, Options{})
	key := make([]byte, 16)
	i := 0
	for name, operation := range map[string]func(hash uint64){
		"Get": func(hash uint64) { table.Get(hash, key) },
		"Put of the same size": func(hash uint64) {
			e, _ := table.Put(hash, key, 1, 0, 32)
			e.Value()[0] = 1
		},
		"Put of another size": func(hash uint64) { table.Put(hash, key, 1, 0, 32+i%64) },
		"Delete and Put": func(hash uint64) {
			table.Delete(hash, key)
			table.Put(hash, key, 1, 0, 32)
		},
		"SetDeadline": func(hash uint64) {
			e, _ := table.Get(hash, key)
			table.SetDeadline(hash, e, int64(i))
		},
		"Random": func(hash uint64) { table.Random(hash) },
		"prefetch": func(hash uint64) {
			table.PrefetchBucket(hash)
			table.PrefetchRecord(hash)
		},
	} {
		if n := testing.AllocsPerRun(5000, func() {
			i = (i + 7919) % 10_000
			operation(Hash(numbered(key, i)))
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestPrefetchBesideMutation(t *testing.T) {
	table := newTable(t)
	stop := make(chan struct{})
	var prefetchers sync.WaitGroup
	for i := range 2 {
		prefetchers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 2))
			for {
				select {
				case <-stop:
					return
				default:
				}
				for range 100 {
					hash := random.Uint64()
					table.PrefetchBucket(hash)
					table.PrefetchRecord(hash)
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(3, 3))
	key := make([]byte, 16)
	for range 6 {
		for range 20_000 {
			hash := Hash(numbered(key, random.IntN(15_000)))
			switch random.IntN(8) {
			case 0:
				table.Delete(hash, key)
			case 1:
				table.Put(hash, key, 0, 0, random.IntN(100_000))
			default:
				table.Put(hash, key, 0, 0, random.IntN(200))
			}
		}
		for i := range 15_000 {
			table.Delete(Hash(numbered(key, i)), key)
		}
		for i := range 3000 {
			table.Put(Hash(numbered(key, i)), key, 0, 0, 32)
		}
		table.Clear()
	}
	close(stop)
	prefetchers.Wait()
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestPrefetchWithAllTags(t *testing.T) {
	// What a prefetch hits cannot be seen; that it survives every tag, bucket
	// and reference, jumbos and empty tables among them, can.
	table := newTable(t)
	for _, keys := range []int{0, 1, 12, 13, 500, 5000} {
		for i := range keys {
			key := fmt.Appendf(nil, "key %d", i)
			table.Put(Hash(key), key, 0, 0, 1<<(i%18))
		}
		for tag := range uint64(256) {
			for i := range uint64(1024) {
				table.PrefetchBucket(tag<<56 | i)
				table.PrefetchRecord(tag<<56 | i)
			}
		}
	}
}

func TestMisuseIsRefused(t *testing.T) {
	table := filled(100, Options{})
	key := numbered(make([]byte, 16), 1)
	stale, _ := table.Get(Hash(key), key)
	table.Put(Hash(key), key, 0, 0, 500)
	for name, misuse := range map[string]func(){
		"an entry that was replaced": func() { table.Resize(Hash(key), stale, 1000) },
		"a value beyond MaxBytes":    func() { table.Put(Hash(key), key, 0, 0, MaxBytes+1) },
		"a negative length":          func() { table.Put(Hash(key), key, 0, 0, -1) },
		"closing a pool in use":      func() { table.store.pool.Close() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", name)
				}
			}()
			misuse()
		}()
	}
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestFullBeforeTheLimit(t *testing.T) {
	table := filled(10, Options{})
	if table.Full() {
		t.Fatal("a small table is full")
	}
	table.store.numbers += fullBlocks
	if !table.Full() {
		t.Fatal("a table without block numbers is not full")
	}
}

func TestCheckFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(*Table){
		"a wrong tag":         func(t *Table) { t.buckets.at(3).tags[0] ^= 0x55 },
		"a lost entry":        func(t *Table) { t.buckets.at(3).refs[0] = t.buckets.at(4).refs[0] },
		"a dead record":       func(t *Table) { *t.store.entry(t.buckets.at(3).refs[0]).header() |= flagDead },
		"a wrong count":       func(t *Table) { t.entries++ },
		"wrong bytes":         func(t *Table) { t.store.live++ },
		"a changed key":       func(t *Table) { t.store.entry(t.buckets.at(3).refs[0]).Key()[0] ^= 1 },
		"a hole in a bucket":  func(t *Table) { t.buckets.at(3).tags[0] = 0 },
		"an unpublished size": func(t *Table) { t.shared.buckets.Store(1) },
	} {
		table := filled(1000, Options{})
		damage(table)
		if table.Check() == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// FuzzTable does an operation for each byte, which chooses among how many keys
// and how many deletes there are, and compares with the model.
func FuzzTable(f *testing.F) {
	f.Add([]byte("put get delete resize"), uint64(1))
	f.Add(bytes.Repeat([]byte{0, 30, 60, 90}, 50), uint64(2))
	f.Fuzz(func(t *testing.T, ops []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 4))
		p := newPair(t)
		for _, op := range ops[:min(len(ops), 500)] {
			p.randomOp(random, 1+int(op)*4, int(op)%60, int(op)%2)
		}
		p.all()
	})
}
