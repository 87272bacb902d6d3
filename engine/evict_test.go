package engine

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"reminis/engine/memory"
	"reminis/engine/table"
)

// This file shows what maxmemory takes, by policy.

// fill writes keys of a kilobyte, of which every second has a deadline; key i was
// last used i seconds after the start, and is used the more often the greater i is.
func fill(e *Engine, clock *fakeClock, count int, lfu bool) {
	value := make([]byte, 1000)
	for i := range count {
		clock.ms = evictStartMs + int64(i)*1000
		tx := e.Begin()
		key := fmt.Appendf(nil, "key:%06d", i)
		tx.LockKeys([][]byte{key})
		deadlineMs := int64(0)
		if i%2 == 1 {
			deadlineMs = evictStartMs + 1e9 - int64(i)
		}
		tx.SetString(key, value, deadlineMs)
		if lfu {
			tx.SetFrequency(key, uint8(i*255/count))
		}
		tx.Commit()
		tx.Done()
	}
}

const evictStartMs = 1_700_000_000_000

// evictingEngine counts tables alone: what else lives in the heap of a test's process
// is no fact of the test.
func evictingEngine(clock Clock) *Engine {
	e := Open(Options{Clock: clock, Pool: table.NewPool(table.Options{})})
	e.evictor.heap.readAt.Store(math.MaxInt64)
	return e
}

func TestEvictionByPolicy(t *testing.T) {
	const count = 8000
	for _, test := range []struct {
		policy   string
		volatile bool // only keys with a deadline go
		ordered  int  // keys of low numbers go first (1), of high numbers (-1), or any (0)
	}{
		{"allkeys-lru", false, 1}, {"allkeys-lfu", false, 1}, {"allkeys-random", false, 0},
		{"volatile-lru", true, 1}, {"volatile-lfu", true, 1}, {"volatile-random", true, 0}, {"volatile-ttl", true, -1},
	} {
		t.Run(test.policy, func(t *testing.T) {
			clock := &fakeClock{ms: evictStartMs}
			e := evictingEngine(clock)
			e.Limits.SetPolicy(test.policy)
			fill(e, clock, count, e.Limits.LFU.Load())
			limit := e.UsedBytes() - count*1000/4
			e.Limits.MaxMemory.Store(limit)
			for !e.MakeRoom() || e.over(limit) {
				if !e.evictBehind() && e.over(limit) {
					t.Fatal("there is nothing left to evict")
				}
			}
			gone, early, plain := 0, 0, 0
			tx := e.Begin()
			defer tx.Done()
			for i := range count {
				if _, there := tx.peekAt(fmt.Appendf(nil, "key:%06d", i)); there {
					continue
				}
				gone++
				if i%2 == 0 {
					plain++
				}
				if i < count/2 {
					early++
				}
			}
			if gone < count/8 || gone > count/2 || int64(gone) != e.stats.Evicted.Load() {
				t.Errorf("%d of %d keys are gone, %d were counted", gone, count, e.stats.Evicted.Load())
			}
			if test.volatile && plain > 0 || !test.volatile && plain == 0 {
				t.Errorf("%d keys without a deadline are gone", plain)
			}
			switch share := float64(early) / float64(gone); {
			case test.ordered > 0 && share < 0.9, test.ordered < 0 && share > 0.1, test.ordered == 0 && (share < 0.3 || share > 0.7):
				t.Errorf("%.2f of what is gone is of the first half", share)
			}
			if err := e.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What lives in the heap counts in steps, and beyond what an empty server has.
func TestHeapCountsInSteps(t *testing.T) {
	var g heapUse
	g.readAt.Store(math.MaxInt64)
	for i, test := range []struct{ freed, most, unsure, want int64 }{
		{0, heapBase - 100, 0, 0},
		{0, heapBase + heapStep/2, 0, 0},
		{0, heapBase + 10*heapStep, 0, 10 * heapStep},
		{0, heapBase + 10*heapStep + heapStep/2, 0, 10 * heapStep},
		{0, heapBase + 10*heapStep - heapStep/2, 0, 10 * heapStep},
		// What was dropped is gone, although the collection does not show all of it.
		{3 * heapStep, heapBase + 7*heapStep + heapStep/2, 0, 7 * heapStep},
		{heapStep, heapBase + 7*heapStep, 0, 7 * heapStep},
		// More does not count as far as it may be garbage; less counts anyway.
		{0, heapBase + 20*heapStep, 20 * heapStep, 7 * heapStep},
		{0, heapBase + 20*heapStep, 4 * heapStep, 16 * heapStep},
		{0, heapBase + 2*heapStep, 30 * heapStep, 2 * heapStep},
		{0, 0, 0, 0},
	} {
		g.freed.Store(test.freed)
		g.settle(test.most-test.unsure, test.most)
		if got := g.bytes(); got != heapLeast+test.want {
			t.Errorf("step %d: %d, want %d", i, got, heapLeast+test.want)
		}
	}
}

// peekAt looks a key up without being an access.
func (tx *Tx) peekAt(key []byte) (deadlineMs int64, there bool) {
	tx.LockKeys([][]byte{key})
	defer tx.unlock()
	return tx.DeadlineMs(key)
}

func TestNothingIsEvictedThatMustStay(t *testing.T) {
	clock := &fakeClock{ms: evictStartMs}
	e := evictingEngine(clock)
	fill(e, clock, 100, false)
	e.Limits.MaxMemory.Store(1)
	if e.MakeRoom() || e.stats.Evicted.Load() != 0 {
		t.Error("noeviction evicts")
	}
	e.Limits.SetPolicy("volatile-lru")
	if e.MakeRoom() || e.stats.Evicted.Load() != 50 {
		t.Errorf("%d of 50 keys with a deadline are gone", e.stats.Evicted.Load())
	}
}

// Of records, only those go that are not meant to stay; their end is an event.
func TestEvictionOfRecords(t *testing.T) {
	clock := &fakeClock{ms: evictStartMs}
	e := evictingEngine(clock)
	kinds := []memory.Kind{memory.Working, memory.Session, memory.Profile, memory.Semantic}
	for _, kind := range kinds {
		for n := range 30 {
			tx := e.Begin()
			key := recordOf(t, e, n, kind)
			tx.LockRecords([][]byte{key.Text}, 0)
			tx.PutRecord(key, &memory.Record{Value: []byte(`"value"`), Kind: kind, Version: 1, Confidence: 1}, nil, Retention{Versions: 5})
			tx.Commit()
			tx.Done()
		}
	}
	e.Limits.SetPolicy("allkeys-lru")
	e.Limits.MaxMemory.Store(1)
	for e.MakeRoom() {
	}
	left := map[memory.Kind]int{}
	for _, kind := range kinds {
		for n := range 30 {
			tx := e.Begin()
			if _, there := tx.peekAt(recordOf(t, e, n, kind).Text); there {
				left[kind]++
			}
			tx.Done()
		}
	}
	if left[memory.Working] != 0 || left[memory.Session] != 0 || left[memory.Profile] != 30 || left[memory.Semantic] != 30 {
		t.Errorf("left: %v", left)
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
}

func recordOf(t *testing.T, e *Engine, n int, kind memory.Kind) memory.Key {
	t.Helper()
	key, err := e.Layout().ParseKey(fmt.Appendf(nil, "app:u%d:s:%s%d", n%3, kind, n))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// What is data and lives in the heap counts as it comes and goes, without a collection.
func TestHeapDataCountsAtOnce(t *testing.T) {
	clock := &fakeClock{ms: evictStartMs}
	e := evictingEngine(clock)
	empty := e.dataBytes()
	fill(e, clock, 1000, false)
	for n := range 100 {
		tx := e.Begin()
		key := recordOf(t, e, n, memory.Session)
		tx.LockRecords([][]byte{key.Text}, 0)
		tx.PutRecord(key, &memory.Record{Value: []byte(`"value"`), Kind: memory.Session, Version: 1, Confidence: 1}, nil, Retention{Versions: 5})
		tx.Commit()
		tx.Done()
	}
	if have, want := e.evictor.deadlines.now.Load(), int64(600); have < 500 || have > want {
		t.Errorf("%d deadlines are counted, want 500 and those of records, if any", have)
	}
	if have := e.owners.recordBytes.now.Load(); have < 100*recordBytes {
		t.Errorf("records count as %d bytes", have)
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
	tx := e.Begin()
	tx.LockAll()
	tx.Flush(0)
	tx.Commit()
	tx.Done()
	for e.evictor.dropping.Load() > 0 {
		runtime.Gosched()
	}
	if have := e.dataBytes() - empty; have > 64<<10 {
		t.Errorf("%d bytes are left of a database that was flushed", have)
	}
	if d, r := e.evictor.deadlines.now.Load(), e.owners.recordBytes.now.Load(); d != 0 || r != 0 {
		t.Errorf("%d deadlines and %d bytes of records are left", d, r)
	}
}

// While a flushed database is being dropped nobody can tell what is left, so nothing
// is refused or evicted for it.
func TestNothingIsRefusedWhileAFlushIsUnderWay(t *testing.T) {
	clock := &fakeClock{ms: evictStartMs}
	e := evictingEngine(clock)
	fill(e, clock, 100, false)
	e.Limits.MaxMemory.Store(1)
	e.evictor.dropping.Add(1)
	if !e.MakeRoom() {
		t.Error("refused")
	}
	e.evictor.dropping.Add(-1)
	if e.MakeRoom() {
		t.Error("not refused")
	}
}

// What others hold does not count as data, whatever a collection finds of it.
func TestHeldBytesAreNoData(t *testing.T) {
	e := evictingEngine(&fakeClock{ms: evictStartMs})
	held := &heldCount{eachBytes: 1}
	e.CountHeld(held)
	before, data := e.UsedBytes(), e.dataBytes()
	held.now.Add(10 << 20)
	if grown := e.UsedBytes() - before; grown != 10<<20 || e.dataBytes() != data {
		t.Errorf("10 MB that are held count as %d, the data grew by %d", grown, e.dataBytes()-data)
	}
}
