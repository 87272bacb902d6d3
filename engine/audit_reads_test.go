package engine

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"reminis/engine/memory"
)

// This file owns the tests of the audit of reads.

// auditedEngine is an engine with a policy that audits all, and a record of each
// of some owners.
func auditedEngine(t testing.TB, owners int, setting string) *Engine {
	e := Open(Options{Memory: MemoryOptions{PendingMax: 1 << 20}})
	tx := e.Begin()
	defer tx.Done()
	scope, err := e.Layout().ParseScope([]byte("p"))
	if err != nil {
		t.Fatal(err)
	}
	settings, err := memory.ParseSettings([][]byte{[]byte("AUDIT"), []byte(setting)})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := (*memory.ScopePolicy)(nil).Updated(scope, settings)
	if err != nil {
		t.Fatal(err)
	}
	tx.SetPolicy(policy, nil)
	tx.Commit()
	for i := range owners {
		key := auditedKey(i)
		tx.LockRecords([][]byte{key.Text}, 0)
		tx.PutRecord(key, &memory.Record{Value: []byte(`"value"`), Kind: memory.Profile, Version: 3, Confidence: 1}, nil, Retention{Versions: 10})
		tx.Commit()
	}
	return e
}

func auditedKey(owner int) memory.Key {
	text := fmt.Appendf(nil, "p:u%d:session:key", owner)
	return memory.Key{Text: text, OwnerLen: len(text) - len(":session:key"), Segments: 4}
}

// read reads a record as MEM.GET does.
func (e *Engine) read(key memory.Key) {
	tx := e.Begin()
	tx.Actor = Actor{User: "agent", Client: "127.0.0.1:40000"}
	tx.LockPlace(Locate(0, key.Text))
	s, _, _ := tx.Record(key.Text)
	tx.NoteRead(key, s.Bytes)
	tx.Commit()
	tx.Done()
}

// chainOf is the chain of an owner, verified, with its events.
func chainOf(t *testing.T, e *Engine, owner []byte) (versions []uint64) {
	t.Helper()
	tx := e.Begin()
	defer tx.Done()
	view, ok := tx.OwnerView(owner)
	if !ok {
		t.Fatalf("no owner %s", owner)
	}
	state, err := view.Verify()
	if err != nil || !state.OK() {
		t.Fatalf("%s: %+v %v", owner, state, err)
	}
	err = view.Events(0, ^uint64(0), false, func(_ uint64, stored []byte) bool {
		var event memory.Event
		_, encoded, err := memory.SplitLinked(stored)
		if err == nil {
			err = memory.DecodeEvent(encoded, &event)
		}
		if err != nil || event.Op != memory.OpGet || string(event.User) != "agent" {
			t.Fatalf("%+v %v", event, err)
		}
		versions = append(versions, event.Version)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return versions
}

// TestEveryReadIsAnEvent reads records of many owners from many goroutines while
// the worker, and whoever asks, make events: what is not an event is counted, and
// chains stay whole. With SWAPDB in between.
func TestEveryReadIsAnEvent(t *testing.T) {
	const owners, readers, reads = 20, 4, 3000
	e := auditedEngine(t, owners, "ALL")
	var heard atomic.Int64
	lastSeq := map[string]uint64{} // of an owner, whose lock is held
	e.OnAudit(func(a Audited) {
		db, owner, seq, event := a.DB, a.Owner, a.Seq, a.Event
		heard.Add(1)
		if db > 1 || seq < lastSeq[owner] || len(event) == 0 {
			t.Errorf("database %d, %s: batch %d after %d", db, owner, seq, lastSeq[owner])
		}
		lastSeq[owner] = seq
	})
	e.RunReadAudit()
	var group sync.WaitGroup
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for n := range readers {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		group.Go(func() {
			for i := range reads {
				e.read(auditedKey(r.IntN(owners)))
				if i%500 == 250 {
					tx := e.Begin()
					tx.AuditReads()
					tx.LockAll()
					tx.Swap(0, 1)
					tx.Swap(0, 1)
					tx.Commit()
					tx.Done()
				}
			}
		})
	}
	group.Wait()
	e.StopReadAudit()
	events := 0
	for i := range owners {
		events += len(chainOf(t, e, auditedKey(i).Owner()))
	}
	if n := int(heard.Load()); n != events {
		t.Errorf("%d events were told of, %d are there", n, events)
	}
	if dropped := int(e.stats.Records.Unaudited.Load()); events+dropped != readers*reads || e.ReadsWaiting() != 0 {
		t.Errorf("%d events, %d dropped, %d wait, of %d reads", events, dropped, e.ReadsWaiting(), readers*reads)
	}
}

// TestReadsBeyondTheQueueAreCounted: nothing is lost in silence.
func TestReadsBeyondTheQueueAreCounted(t *testing.T) {
	e := auditedEngine(t, 2, "ALL")
	for range readsMax + 10 {
		e.read(auditedKey(1))
	}
	e.read(auditedKey(0))
	if n := e.ReadsWaiting(); n != readsMax {
		t.Errorf("%d reads wait", n)
	}
	tx := e.Begin()
	tx.AuditReads()
	for i, want := range []int64{1, 10} {
		if f, ok := tx.OwnerFigures(auditedKey(i).Owner()); !ok || f.Uses.Unaudited != want {
			t.Errorf("owner %d: %d reads are no events, want %d", i, f.Uses.Unaudited, want)
		}
	}
	tx.Done()
	if n := len(chainOf(t, e, auditedKey(1).Owner())); n != readsMax {
		t.Errorf("%d events", n)
	}
	e.read(auditedKey(0))
	if e.auditReads(nil); len(chainOf(t, e, auditedKey(0).Owner())) != 1 {
		t.Error("the queue does not go on")
	}
}

// TestAuditedReadAllocatesNothing once the queue has been as long before.
func TestAuditedReadAllocatesNothing(t *testing.T) {
	e := auditedEngine(t, 1, "ALL")
	key := auditedKey(0)
	for range 2 {
		for range 2000 {
			e.read(key)
		}
		e.auditReads(nil)
	}
	fewest := 1e9
	for range 20 {
		fewest = min(fewest, testing.AllocsPerRun(50, func() { e.read(key) }))
	}
	if fewest != 0 {
		t.Errorf("%.1f allocations", fewest)
	}
}

// BenchmarkAuditedReads is a read with and without an event, and the making of
// the event.
func BenchmarkAuditedReads(b *testing.B) {
	for _, setting := range []string{"WRITES", "ALL"} {
		b.Run(setting, func(b *testing.B) {
			e := auditedEngine(b, 1000, setting)
			keys := make([]memory.Key, 1000)
			for i := range keys {
				keys[i] = auditedKey(i)
			}
			e.RunReadAudit()
			defer e.StopReadAudit()
			for i := 0; b.Loop(); i++ {
				e.read(keys[i*7%1000])
			}
			b.ReportMetric(float64(e.stats.Records.Unaudited.Load())/float64(b.N), "dropped/op")
		})
	}
	b.Run("event", func(b *testing.B) {
		e := auditedEngine(b, 1000, "ALL")
		for b.Loop() {
			b.StopTimer()
			for i := range 1000 {
				e.read(auditedKey(i))
			}
			b.StartTimer()
			e.auditReads(nil)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
	})
}
