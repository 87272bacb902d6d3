package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"reminis/engine/effect"
	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns the tests of single rules of records: chains, a bounded past,
// expiry, concurrency.

// recordEngine is an engine with an archive and a few versions of one owner's
// records, of which the first few are in the archive.
func recordEngine(t *testing.T) (*recordWorld, *modelSpace) {
	w := newRecordWorld(t, 1, 1000, 0)
	for i := range 8 {
		tx := w.e.Begin()
		tx.LockRecords([][]byte{[]byte("p:u0:s:k0")}, 0)
		var happened []pendingTold
		w.put(tx, w.spaces[0], "p:u0:s:k0", modelRecord{kind: memory.Profile, version: uint64(i) + 1, value: fmt.Sprint(i)}, &happened)
		tx.Commit()
		tx.Done()
		if i == 4 {
			w.shelf.take(t, w.tape.batches, w.tape.seq)
			w.e.Checkpointed(w.tape.seq)
		}
	}
	return w, w.spaces[0]
}

func verify(t *testing.T, e *Engine, owner string) memory.ChainState {
	t.Helper()
	tx := e.Begin()
	defer tx.Done()
	defer tx.Commit()
	view, ok := tx.OwnerView([]byte(owner))
	if !ok {
		t.Fatal("no owner")
	}
	state, err := view.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// TestVerifyNamesEveryFlippedByte flips every byte of every event, in memory and
// in the archive.
func TestVerifyNamesEveryFlippedByte(t *testing.T) {
	w, _ := recordEngine(t)
	if state := verify(t, w.e, "p:u0"); !state.OK() || state.Length != 8 {
		t.Fatalf("%+v", state)
	}
	owner := w.e.owners.find(0, []byte("p:u0"))
	for i := range owner.pending {
		c := &owner.pending[i]
		event := c.event()
		for at := range event {
			event[at] ^= 0x10
			if state := verify(t, w.e, "p:u0"); state.OK() || state.FirstBad != c.seq {
				t.Fatalf("batch %d, byte %d: %+v", c.seq, at, state)
			}
			event[at] ^= 0x10
		}
	}
	archived := w.shelf.events[named{0, "p:u0"}]
	for i := range archived {
		for at := range archived[i].x.Event {
			number := 0
			w.shelf.damage = func(event []byte) {
				if number == i {
					event[at] ^= 1
				}
				number++
			}
			if state := verify(t, w.e, "p:u0"); state.OK() || state.FirstBad != archived[i].seq {
				t.Fatalf("archived batch %d, byte %d: %+v", archived[i].seq, at, state)
			}
		}
	}
}

// TestVerifyNoticesMissingEvents takes events out of the middle and off the end,
// and gives the last another sequence.
func TestVerifyNoticesMissingEvents(t *testing.T) {
	for name, damage := range map[string]func(o *Owner){
		"middle":   func(o *Owner) { o.pending = slices.Delete(o.pending, 1, 2) },
		"end":      func(o *Owner) { o.pending = o.pending[:len(o.pending)-1] },
		"all":      func(o *Owner) { o.pending = nil },
		"sequence": func(o *Owner) { o.pending[len(o.pending)-1].seq += 5 },
		"time": func(o *Owner) {
			// The time in the event is part of the chain.
			o.pending[0].event()[len(memory.Link{})+3] ^= 4
		},
	} {
		w, _ := recordEngine(t)
		damage(w.e.owners.find(0, []byte("p:u0")))
		if state := verify(t, w.e, "p:u0"); state.OK() {
			t.Errorf("%s: %+v", name, state)
		}
	}
}

// TestWithoutArchive keeps a bounded past: what is gone is an error, never a
// guess, and the chain still verifies.
func TestWithoutArchive(t *testing.T) {
	clock := &fakeClock{ms: 1000}
	e := Open(Options{Clock: clock, Memory: MemoryOptions{PendingMax: 8}})
	w := &recordWorld{t: t, r: rand.New(rand.NewPCG(1, 1)), clock: clock, e: e, keep: 1000}
	s := &modelSpace{map[string]modelRecord{}, map[string][]told{}, map[string][]modelEvent{}, map[string]uint64{}, map[string]string{}, map[string]bool{}}
	put := func(key string) {
		clock.ms++
		tx := e.Begin()
		tx.LockRecords([][]byte{[]byte(key)}, 0)
		w.put(tx, s, key, modelRecord{kind: memory.Profile, version: s.records[key].version + 1, value: "1"}, new([]pendingTold))
		tx.Commit()
		tx.Done()
	}
	put("p:u0:s:old")
	for range 30 {
		put("p:u0:s:busy")
	}
	if state := verify(t, e, "p:u0"); !state.OK() || state.Length != 31 {
		t.Fatalf("%+v", state)
	}
	tx := e.Begin()
	defer tx.Done()
	defer tx.Commit()
	view, _ := tx.OwnerView([]byte("p:u0"))
	for _, test := range []struct {
		key     string
		moment  memory.Moment
		version uint64
		err     error
	}{
		{"p:u0:s:busy", memory.Moment{Set: true, TimeMs: clock.ms}, 30, nil},
		{"p:u0:s:busy", memory.Moment{Set: true, BySeq: true, Seq: 30}, 29, nil},
		{"p:u0:s:busy", memory.Moment{Set: true, TimeMs: 1003}, 0, ErrRetention},
		{"p:u0:s:busy", memory.Moment{Set: true, BySeq: true, Seq: 2}, 0, ErrRetention},
		{"p:u0:s:old", memory.Moment{Set: true, TimeMs: clock.ms}, 1, nil},
		{"p:u0:s:old", memory.Moment{Set: true, BySeq: true, Seq: 1}, 1, nil},
		{"p:u0:s:old", memory.Moment{Set: true, TimeMs: 1001}, 0, ErrRetention},
		{"p:u0:s:never", memory.Moment{Set: true, TimeMs: clock.ms}, 0, ErrRetention},
	} {
		_, made, ok, err := view.At([]byte(test.key), test.moment)
		if err != test.err || made.Version != test.version || ok != (test.err == nil) {
			t.Errorf("%s at %+v: version %d, %v, %v", test.key, test.moment, made.Version, ok, err)
		}
	}
	if _, _, err := view.Version([]byte("p:u0:s:busy"), 1); err != ErrRetention {
		t.Errorf("version 1: %v", err)
	}
}

// TestExpiryOfSeveralOwners ends records of many owners in one pass, in which
// owners come in no order.
func TestExpiryOfSeveralOwners(t *testing.T) {
	clock := &fakeClock{ms: 1000}
	e := Open(Options{Clock: clock})
	w := &recordWorld{t: t, r: rand.New(rand.NewPCG(1, 1)), clock: clock, e: e, keep: 10}
	s := &modelSpace{map[string]modelRecord{}, map[string][]told{}, map[string][]modelEvent{}, map[string]uint64{}, map[string]string{}, map[string]bool{}}
	for i := range 500 {
		key := fmt.Sprintf("p:u%d:s:k%d", (i*7)%10, i)
		tx := e.Begin()
		tx.LockRecords([][]byte{[]byte(key)}, 0)
		w.put(tx, s, key, modelRecord{kind: memory.Session, version: 1, value: "1", deadlineMs: 1001 + int64(i*13%97)}, new([]pendingTold))
		tx.Commit()
		tx.Done()
	}
	clock.ms = 2000
	e.ExpireDue()
	if keys, _ := e.Size(0); keys != 0 {
		t.Errorf("%d keys are left", keys)
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
}

// TestConcurrentOwners writes, recalls, verifies and checkpoints at once:
// transactions over two owners in both orders do not block each other for ever,
// and a recall finds whatever was acknowledged before it.
func TestConcurrentOwners(t *testing.T) {
	var mu sync.Mutex // of the shelf, which is read and taken into
	tape, clock := &tape{}, &fakeClock{ms: 1000}
	s := newShelf(16)
	e := Open(Options{Journal: tape, Clock: clock, Archive: &lockedShelf{&mu, s}})
	write := func(tx *Tx, key, value string) {
		parsed, err := e.Layout().ParseKey([]byte(key))
		if err != nil {
			t.Error(err)
			return
		}
		record := memory.Record{Value: []byte(value), Text: true, Kind: memory.Session, Version: 1, Confidence: 1, UpdatedMs: 1}
		event := tx.NewEvent()
		event.Op, event.Key, event.Version = memory.OpSet, parsed.Text, 1
		tx.PutRecord(parsed, &record, &event, Retention{Versions: 10})
	}
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 60 {
				a, b := fmt.Sprintf("p:u0:s:g%di%d", g, i), fmt.Sprintf("p:u1:s:g%di%d", g, i)
				keys := [][]byte{[]byte(a), []byte(b)}
				if g%2 == 0 {
					slices.Reverse(keys)
				}
				tx := e.Begin()
				tx.LockRecords(keys, 0)
				for _, key := range keys {
					write(tx, string(key), fmt.Sprintf("word%dx%d", g, i))
				}
				tx.Commit()
				view, _ := tx.OwnerView([]byte("p:u1"))
				hits := view.Index().Search(recall.Query{Text: fmt.Sprintf("word%dx%d", g, i), Limit: 3}).Hits
				if len(hits) != 1 {
					t.Errorf("%s: %d hits", b, len(hits))
				}
				if state, err := view.Verify(); err != nil || !state.OK() {
					t.Errorf("%+v %v", state, err)
				}
				tx.Done()
			}
		})
	}
	group.Go(func() {
		for range 30 {
			tape.mu.Lock()
			seq, batches := tape.seq, slices.Clone(tape.batches)
			tape.mu.Unlock()
			mu.Lock()
			s.take(t, batches, seq)
			mu.Unlock()
			e.Checkpointed(seq)
		}
	})
	group.Wait()
	if err := e.Check(); err != nil {
		t.Error(err)
	}
	if state := verify(t, e, "p:u0"); !state.OK() || state.Length != 240 {
		t.Errorf("%+v", state)
	}
}

// lockedShelf is a shelf that may be read and taken into at once.
type lockedShelf struct {
	mu *sync.Mutex
	s  *shelf
}

// History implements Archive.
func (l *lockedShelf) History(space uint32, key []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, x *effect.Effect) bool) error {
	l.mu.Lock()
	list := slices.Clone(l.s.history[named{space, string(key)}])
	l.mu.Unlock()
	l.s.each(list, fromSeq, toSeq, reverse, func(c *shelved) bool { return visit(c.seq, c.timeMs, &c.x) })
	return nil
}

// Events implements Archive.
func (l *lockedShelf) Events(space uint32, owner []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, event []byte) bool) error {
	l.mu.Lock()
	list := slices.Clone(l.s.events[named{space, string(owner)}])
	l.mu.Unlock()
	l.s.each(list, fromSeq, toSeq, reverse, func(c *shelved) bool { return visit(c.seq, c.timeMs, c.x.Event) })
	return nil
}

// Items implements Archive.
func (l *lockedShelf) Items(space uint32, key []byte, list, first, next uint64, visit func(number uint64, item []byte)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.s.Items(space, key, list, first, next, visit)
}

// Pruned implements Archive.
func (l *lockedShelf) Pruned(space uint32, key []byte) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.s.Pruned(space, key)
}

// Names implements Archive.
func (l *lockedShelf) Names(space uint32, owner []byte, visit func(key []byte)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.s.Names(space, owner, visit)
}
