package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reminis/engine/effect"
	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file is the metamorphic test of memory records: random changes, checkpoints
// and restarts, against a model that remembers everything that ever happened and
// answers every question about the past by looking through it.

// told is one thing that happened to a record, as the model remembers it.
type told struct {
	seq        uint64
	timeMs     int64
	op         string // put, forget, deadline
	version    uint64
	value      string
	deadlineMs int64
}

// modelRecord is a record that stands.
type modelRecord struct {
	kind       memory.Kind
	version    uint64
	value      string
	list       []string // texts of the items, when it is a list
	deadlineMs int64
}

// modelEvent is one line of an owner's audit.
type modelEvent struct {
	op           memory.Op
	key          string
	version, old uint64
}

// modelSpace is a database's owners, which SWAPDB moves.
type modelSpace struct {
	records map[string]modelRecord
	history map[string][]told
	events  map[string][]modelEvent // by owner
	ids     map[string]uint64
	facets  map[string]string // by owner and name
	opened  map[string]bool   // sessions, by owner and name
}

// recordWorld is an engine with an archive, and its model.
type recordWorld struct {
	t      *testing.T
	r      *rand.Rand
	clock  *fakeClock
	tape   *tape
	shelf  *shelf
	keys   memoryKeyring
	e      *Engine
	spaces []*modelSpace
	keep   int   // versions that history keeps
	keepMs int64 // how long it keeps what stood
	resets int   // events in the server's chain
	ids    int
	// drafting says that changes are part of a draft.
	drafting bool
}

const recordDatabases = 2

func newRecordWorld(t *testing.T, seed uint64, keep int, keepMs int64) *recordWorld {
	w := &recordWorld{t: t, r: rand.New(rand.NewPCG(seed, 7)), clock: &fakeClock{ms: 1_000_000}, tape: &tape{}, shelf: newShelf(recordDatabases), keep: keep, keepMs: keepMs}
	for range recordDatabases {
		w.spaces = append(w.spaces, &modelSpace{map[string]modelRecord{}, map[string][]told{}, map[string][]modelEvent{}, map[string]uint64{}, map[string]string{}, map[string]bool{}})
	}
	w.open()
	return w
}

func (w *recordWorld) open() {
	w.e = Open(Options{Databases: recordDatabases, Journal: w.tape, Clock: w.clock, Archive: w.shelf, Memory: MemoryOptions{Keys: &w.keys}})
}

// restart recovers rows and the tape's tail into a fresh engine. Working records
// do not survive it.
func (w *recordWorld) restart() {
	w.open()
	w.shelf.recover(w.t, w.e)
	for _, b := range w.tape.batches {
		r, err := effect.NewReader(b)
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Seq <= w.shelf.seq {
			continue
		}
		if err := w.e.Batch(&r); err != nil {
			w.t.Fatal(err)
		}
	}
	w.e.Checkpointed(w.shelf.seq)
	for _, s := range w.spaces {
		for key, r := range s.records {
			if r.kind == memory.Working {
				delete(s.records, key)
			}
		}
	}
}

func (w *recordWorld) checkpoint() {
	seq := w.shelf.seq + w.r.Uint64N(w.tape.seq-w.shelf.seq+1)
	w.shelf.take(w.t, w.tape.batches, seq)
	w.e.Checkpointed(seq)
}

func (w *recordWorld) key() string {
	return fmt.Sprintf("p:u%d:s:k%d", w.r.IntN(3), w.r.IntN(5))
}

func ownerOf(key string) string { return key[:4] }

// change is what one transaction did, whose sequence the model learns at its end.
type pendingTold struct {
	space *modelSpace
	key   string
	told
}

// step runs one transaction of one or several changes.
func (w *recordWorld) step() {
	tx := w.e.Begin()
	db := w.r.IntN(recordDatabases)
	tx.DB = db
	changes := 1
	if w.r.IntN(4) == 0 {
		changes = 1 + w.r.IntN(4)
	}
	keys := make([][]byte, changes)
	for i := range keys {
		keys[i] = []byte(w.key())
		if i > 0 && w.r.IntN(2) == 0 {
			keys[i] = keys[i-1]
		}
	}
	others := make([][]byte, changes)
	for i := range others {
		others[i] = fmt.Appendf(nil, "%s:s:k%d", ownerOf(string(keys[i])), w.r.IntN(5))
	}
	tx.LockRecords(slices.Concat(keys, others), 0)
	var happened []pendingTold
	if w.r.IntN(4) == 0 {
		w.draft(tx, w.spaces[db], keys, &happened)
	} else {
		for i := range keys {
			w.change(tx, w.spaces[db], string(keys[i]), string(others[i]), &happened)
		}
	}
	w.look(tx, db)
	tx.Commit()
	for _, h := range happened {
		h.seq, h.timeMs = tx.Seq(), w.clock.ms
		h.space.history[h.key] = append(h.space.history[h.key], h.told)
	}
	tx.Done()
}

// change does one operation on both sides.
func (w *recordWorld) change(tx *Tx, s *modelSpace, key, other string, happened *[]pendingTold) {
	stood, exists := s.records[key]
	what := w.r.IntN(13)
	if w.drafting && (what == 6 || what == 8 || what == 12) {
		what = 0 // a draft is of records alone, and moves none
	}
	switch what {
	case 12:
		w.session(tx, s, ownerOf(key))
	case 9, 10, 11:
		w.grow(tx, s, key, happened)
	case 8:
		w.facet(tx, s, ownerOf(key))
	case 0, 1, 2, 3:
		r := modelRecord{kind: memory.Kind(1 + w.r.IntN(4)), version: stood.version + 1, value: fmt.Sprintf("\"value %d\"", w.r.IntN(1e6))}
		if w.r.IntN(3) == 0 {
			r.value = arrayOf(w.items(w.r.IntN(4)))
		}
		if w.r.IntN(3) == 0 {
			r.deadlineMs = w.clock.ms + 1 + w.r.Int64N(60)
		}
		w.put(tx, s, key, r, happened)
	case 4:
		event := tx.NewEvent()
		if got := tx.ForgetRecord([]byte(key), &event); got != exists {
			w.t.Fatalf("ForgetRecord %s: %v", key, got)
		}
		w.forgotten(s, key, memory.OpForget, happened)
	case 5:
		ms := int64(0)
		if w.r.IntN(2) == 0 {
			ms = w.clock.ms + 1 + w.r.Int64N(60)
		}
		if got := tx.SetDeadline([]byte(key), ms); got != exists {
			w.t.Fatalf("SetDeadline %s: %v", key, got)
		}
		if exists && stood.deadlineMs != ms {
			stood.deadlineMs = ms
			s.records[key] = stood
			if stood.kind.Journaled() {
				s.events[ownerOf(key)] = append(s.events[ownerOf(key)], modelEvent{memory.OpExpire, key, stood.version, stood.version})
				*happened = append(*happened, pendingTold{s, key, told{op: "deadline", deadlineMs: ms}})
			}
		}
	case 6:
		w.move(tx, s, key, other, happened)
	case 7:
		if exists {
			w.ids++
			id := fmt.Sprint(ownerOf(key), w.ids)
			digest := memory.DigestPayload([]byte(id))
			tx.MarkDone([]byte(ownerOf(key)), memory.DigestID([]byte(ownerOf(key)), []byte(id)), digest, stood.version, true)
			s.ids[id] = stood.version
		}
	}
}

// facet attaches something to an owner, or removes it, with or without an event.
func (w *recordWorld) facet(tx *Tx, s *modelSpace, owner string) {
	name, value := fmt.Sprintf("f/%d", w.r.IntN(3)), ""
	if w.r.IntN(3) > 0 {
		value = fmt.Sprint(w.r.IntN(1e6))
	}
	var event *memory.Event
	if w.r.IntN(2) == 0 {
		e := tx.NewEvent()
		e.Op, event = memory.OpDenied, &e
		s.events[owner] = append(s.events[owner], modelEvent{op: memory.OpDenied})
	}
	tx.SetFacet([]byte(owner), []byte(name), []byte(value), event)
	s.facets[owner+" "+name] = value
	if got := tx.Facet([]byte(owner), []byte(name)); string(got) != value {
		w.t.Fatalf("facet %s of %s is %q, not %q", name, owner, got, value)
	}
}

func (w *recordWorld) put(tx *Tx, s *modelSpace, key string, r modelRecord, happened *[]pendingTold) {
	stood, exists := s.records[key]
	parsed, err := w.e.Layout().ParseKey([]byte(key))
	if err != nil {
		w.t.Fatal(err)
	}
	record := memory.Record{Value: []byte(r.value), Kind: r.kind, Version: r.version, Confidence: 1, DeadlineMs: r.deadlineMs,
		CreatedMs: w.clock.ms, UpdatedMs: w.clock.ms, Pinned: w.r.IntN(5) == 0}
	event := tx.NewEvent()
	event.Op, event.Key, event.Version = memory.OpSet, []byte(key), r.version
	if exists {
		event.OldVersion = stood.version
		if stood.kind.Journaled() && !r.kind.Journaled() {
			w.forgotten(s, key, memory.OpForget, happened)
		}
	}
	tx.PutRecord(parsed, &record, &event, Retention{Versions: w.keep, AgeMs: w.keepMs})
	s.records[key] = r
	if r.kind.Journaled() {
		s.events[ownerOf(key)] = append(s.events[ownerOf(key)], modelEvent{memory.OpSet, key, r.version, event.OldVersion})
		*happened = append(*happened, pendingTold{s, key, told{op: "put", version: r.version, value: r.value, deadlineMs: r.deadlineMs}})
	}
}

// items are texts to append.
func (w *recordWorld) items(count int) (texts []string) {
	for range count {
		texts = append(texts, fmt.Sprintf("\"item %d\"", w.r.IntN(1e6)))
	}
	return texts
}

func arrayOf(texts []string) string { return "[" + strings.Join(texts, ",") + "]" }

// grow appends to a record, which may become a list by it.
func (w *recordWorld) grow(tx *Tx, s *modelSpace, key string, happened *[]pendingTold) {
	stood, exists := s.records[key]
	parsed, err := w.e.Layout().ParseKey([]byte(key))
	if err != nil {
		w.t.Fatal(err)
	}
	r := modelRecord{kind: stood.kind, version: stood.version + 1, deadlineMs: stood.deadlineMs}
	if !exists || w.r.IntN(6) == 0 {
		r.kind = memory.Kind(1 + w.r.IntN(4))
	}
	texts, limit := w.items(1+w.r.IntN(3)), w.r.IntN(2)*(1+w.r.IntN(5))
	var bytes [][]byte
	for _, text := range texts {
		bytes = append(bytes, []byte(text))
	}
	record := memory.Record{Kind: r.kind, Version: r.version, Confidence: 1, DeadlineMs: r.deadlineMs, CreatedMs: w.clock.ms, UpdatedMs: w.clock.ms}
	added, err := tx.Grow(parsed, &record, bytes, w.clock.ms, limit)
	if isArray := !exists || stood.value[0] == '['; (err == nil) != isArray {
		w.t.Fatalf("%s holds %q: %v", key, stood.value, err)
	}
	if err != nil {
		return
	}
	if exists && stood.value != "[]" {
		r.list = strings.Split(strings.Trim(stood.value, "[]"), ",")
	}
	r.list = append(r.list, texts...)
	if limit > 0 && len(r.list) > limit {
		r.list = r.list[len(r.list)-limit:]
	}
	r.value = arrayOf(r.list)
	event := tx.NewEvent()
	event.Op, event.Key, event.Version = memory.OpAppend, parsed.Text, r.version
	if exists {
		event.OldVersion = stood.version
		if stood.kind.Journaled() && !r.kind.Journaled() {
			w.forgotten(s, key, memory.OpForget, happened)
		}
	}
	tx.AppendRecord(parsed, &record, added, &event, Retention{Versions: w.keep, AgeMs: w.keepMs})
	s.records[key] = r
	if r.kind.Journaled() {
		s.events[ownerOf(key)] = append(s.events[ownerOf(key)], modelEvent{memory.OpAppend, key, r.version, event.OldVersion})
		*happened = append(*happened, pendingTold{s, key, told{op: "put", version: r.version, value: r.value, deadlineMs: r.deadlineMs}})
	}
}

// forgotten ends a record of the model.
func (w *recordWorld) forgotten(s *modelSpace, key string, op memory.Op, happened *[]pendingTold) {
	stood, exists := s.records[key]
	if !exists {
		return
	}
	delete(s.records, key)
	if stood.kind.Journaled() {
		s.events[ownerOf(key)] = append(s.events[ownerOf(key)], modelEvent{op, key, 0, stood.version})
		*happened = append(*happened, pendingTold{s, key, told{op: "forget", version: stood.version}})
	}
}

func (w *recordWorld) move(tx *Tx, s *modelSpace, key, other string, happened *[]pendingTold) {
	if key == other {
		return
	}
	rename := w.r.IntN(2) == 0
	f := tx.Copy
	if rename {
		f = tx.Rename
	}
	stood, exists := s.records[key]
	if got, err := f([]byte(key), []byte(other), tx.DB); err != nil || got != exists {
		w.t.Fatalf("%s to %s: %v %v", key, other, got, err)
	}
	if !exists {
		return
	}
	w.forgotten(s, other, memory.OpForget, happened)
	if rename {
		w.forgotten(s, key, memory.OpForget, happened)
	}
	r := stood
	r.version = 1
	s.records[other] = r
	if r.kind.Journaled() {
		s.events[ownerOf(other)] = append(s.events[ownerOf(other)], modelEvent{memory.OpInit, other, 1, 0})
		*happened = append(*happened, pendingTold{s, other, told{op: "put", version: 1, value: r.value, deadlineMs: r.deadlineMs}})
	}
}

// pass lets time pass; what expires does so at once.
func (w *recordWorld) pass() {
	w.clock.ms += w.r.Int64N(20)
	from := len(w.tape.batches)
	w.e.ExpireDue()
	ended := map[named]uint64{}
	for _, b := range w.tape.batches[from:] {
		r, _ := effect.NewReader(b)
		for {
			var x effect.Effect
			more, err := r.Next(&x)
			if err != nil {
				w.t.Fatal(err)
			}
			if !more {
				break
			}
			ended[named{x.DB, string(x.Key)}] = r.Seq
		}
	}
	// Owners' events come in the order of batches.
	type end struct {
		db  int
		key string
		seq uint64
	}
	var ends []end
	for db, s := range w.spaces {
		for key, r := range s.records {
			if r.deadlineMs == 0 || w.clock.ms <= r.deadlineMs {
				continue
			}
			if r.kind == memory.Working {
				delete(s.records, key)
				continue
			}
			seq, ok := ended[named{uint32(db), key}]
			if !ok {
				w.t.Fatalf("%s did not expire", key)
			}
			ends = append(ends, end{db, key, seq})
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return int(a.seq) - int(b.seq) })
	for _, x := range ends {
		var happened []pendingTold
		w.forgotten(w.spaces[x.db], x.key, memory.OpExpire, &happened)
		for _, h := range happened {
			h.seq, h.timeMs = x.seq, w.clock.ms
			h.space.history[h.key] = append(h.space.history[h.key], h.told)
		}
	}
}

// rare is what happens to whole databases.
func (w *recordWorld) rare() {
	w.e.Tidy()
	tx := w.e.Begin()
	db := w.r.IntN(recordDatabases)
	tx.DB = db
	tx.LockAll()
	var happened []pendingTold
	if w.r.IntN(2) == 0 {
		tx.Swap(0, 1)
		w.spaces[0], w.spaces[1] = w.spaces[1], w.spaces[0]
	} else {
		s := w.spaces[db]
		if len(s.records) > 0 {
			w.resets++
		}
		for key, r := range s.records {
			if r.kind.Journaled() {
				happened = append(happened, pendingTold{s, key, told{op: "forget", version: r.version}})
			}
			delete(s.records, key)
		}
		clear(s.opened)
		tx.Flush(db)
	}
	tx.Commit()
	for _, h := range happened {
		h.seq, h.timeMs = tx.Seq(), w.clock.ms
		h.space.history[h.key] = append(h.space.history[h.key], h.told)
	}
	tx.Done()
}

// look compares what stands, inside the transaction that changed it.
func (w *recordWorld) look(tx *Tx, db int) {
	w.t.Helper()
	for u := range 3 {
		owner := fmt.Sprintf("p:u%d", u)
		view, ok := tx.OwnerView([]byte(owner))
		if !ok {
			continue
		}
		count := 0
		for key, r := range w.spaces[db].records {
			if ownerOf(key) != owner {
				continue
			}
			count++
			got, ok := view.Get([]byte(key))
			var record memory.Record
			if !ok {
				w.t.Fatalf("%s is not there", key)
			}
			got.Decode(&record)
			if string(record.Value) != r.value || record.Version != r.version || got.DeadlineMs != r.deadlineMs || record.Kind != r.kind {
				w.t.Fatalf("%s: have %s %d %d, want %+v", key, record.Value, record.Version, got.DeadlineMs, r)
			}
		}
		if view.Len() != count {
			w.t.Fatalf("%s has %d records, the model %d", owner, view.Len(), count)
		}
	}
}

// compare asks about everything that ever was.
func (w *recordWorld) compare() {
	w.t.Helper()
	if err := w.e.Check(); err != nil {
		w.t.Fatal(err)
	}
	for db, s := range w.spaces {
		tx := w.e.Begin()
		tx.DB = db
		w.look(tx, db)
		for u := range 3 {
			owner := fmt.Sprintf("p:u%d", u)
			view, ok := tx.OwnerView([]byte(owner))
			if !ok {
				continue
			}
			w.compareEvents(view, s.events[owner])
			for k := range 5 {
				key := fmt.Sprintf("%s:s:k%d", owner, k)
				w.compareHistory(view, key, s.history[key])
			}
			w.compareText(view, s)
			w.lookSessions(tx, s, owner)
			for n := range 3 {
				name := fmt.Sprintf("f/%d", n)
				if got := view.Facet(name); string(got) != s.facets[owner+" "+name] {
					w.t.Fatalf("facet %s of %s is %q, not %q", name, owner, got, s.facets[owner+" "+name])
				}
			}
		}
		w.compareIDs(tx, s)
		server := tx.ServerView()
		if state, err := server.Verify(); err != nil || !state.OK() || state.Length != uint64(w.resets) {
			w.t.Fatalf("the server's chain: %+v %v, want %d events", state, err, w.resets)
		}
		tx.Commit()
		tx.Done()
	}
}

func (w *recordWorld) compareEvents(view *OwnerView, want []modelEvent) {
	w.t.Helper()
	state, err := view.Verify()
	if err != nil || !state.OK() || state.Length != uint64(len(want)) {
		w.t.Fatalf("%s: %+v %v, want %d events", view.Name, state, err, len(want))
	}
	for _, reverse := range []bool{false, true} {
		var got []modelEvent
		err := view.Events(0, ^uint64(0), reverse, func(_ uint64, event []byte) bool {
			var e memory.Event
			_, encoded, _ := memory.SplitLinked(event)
			if err := memory.DecodeEvent(encoded, &e); err != nil {
				w.t.Fatal(err)
			}
			got = append(got, modelEvent{e.Op, string(e.Key), e.Version, e.OldVersion})
			return true
		})
		if reverse {
			slices.Reverse(got)
		}
		if err != nil || !slices.Equal(got, want) {
			w.t.Fatalf("%s, reverse %v: %v\nhave %v\nwant %v", view.Name, reverse, err, got, want)
		}
	}
}

func (w *recordWorld) compareHistory(view *OwnerView, key string, want []told) {
	w.t.Helper()
	incomplete, err := view.Incomplete([]byte(key))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, reverse := range []bool{false, true} {
		var got []told
		err := view.History([]byte(key), 0, ^uint64(0), reverse, func(c Change) bool {
			h := told{seq: c.Seq, timeMs: c.TimeMs, version: c.Version, deadlineMs: c.DeadlineMs}
			h.op = map[effect.Kind]string{effect.RecordPut: "put", effect.RecordForget: "forget", effect.RecordDeadline: "deadline"}[c.Kind]
			if c.Kind == effect.RecordPut {
				var r memory.Record
				bytes, err := c.Record()
				if err != nil || memory.Decode(bytes, &r) != nil {
					w.t.Fatalf("%s: batch %d: %v", key, c.Seq, err)
				}
				h.value = string(r.Value)
			}
			got = append(got, h)
			return true
		})
		if reverse {
			slices.Reverse(got)
		}
		tail := want
		if incomplete && len(got) <= len(want) {
			tail = want[len(want)-len(got):]
		}
		if err != nil || !slices.Equal(got, tail) {
			w.t.Fatalf("history of %s, reverse %v: %v\nhave %v\nwant %v", key, reverse, err, got, tail)
		}
		if versions := slices.DeleteFunc(got, func(h told) bool { return h.op != "put" }); incomplete && len(versions) < w.keep {
			w.t.Fatalf("%s: %d versions are retained, %d are to be", key, len(versions), w.keep)
		}
	}
	for range 6 {
		moment := memory.Moment{Set: true, TimeMs: w.clock.ms - w.r.Int64N(200)}
		if w.r.IntN(2) == 0 {
			moment = memory.Moment{Set: true, BySeq: true, Seq: w.r.Uint64N(w.tape.seq + 2)}
		}
		w.compareAt(view, key, want, moment, incomplete)
	}
	for n := range uint64(4) {
		w.compareVersion(view, key, want, n, incomplete)
	}
}

// compareAt: the answer is the model's, or that it is no longer known.
func (w *recordWorld) compareAt(view *OwnerView, key string, all []told, moment memory.Moment, incomplete bool) {
	w.t.Helper()
	value, deadlineMs, ok, atMs := "", int64(0), false, moment.TimeMs
	for _, h := range all {
		if !moment.Covers(h.seq, h.timeMs) {
			break
		}
		if moment.BySeq {
			atMs = h.timeMs
		}
		switch h.op {
		case "put":
			value, deadlineMs, ok = h.value, h.deadlineMs, true
		case "forget":
			ok = false
		case "deadline":
			deadlineMs = h.deadlineMs
		}
	}
	ok = ok && (deadlineMs == 0 || atMs <= deadlineMs)
	r, _, got, err := view.At([]byte(key), moment)
	if err == ErrRetention && incomplete && (moment.BySeq || moment.TimeMs <= w.shelf.timeMs-w.keepMs) {
		return
	}
	if err != nil || got != ok {
		w.t.Fatalf("%s at %+v: %v %v, want %v\n%v", key, moment, got, err, ok, all)
	}
	if !ok {
		return
	}
	var record memory.Record
	if err := memory.Decode(r.Bytes, &record); err != nil {
		w.t.Fatal(err)
	}
	if string(record.Value) != value || r.DeadlineMs != deadlineMs {
		w.t.Fatalf("%s at %+v: %s until %d, want %s until %d", key, moment, record.Value, r.DeadlineMs, value, deadlineMs)
	}
}

func (w *recordWorld) compareVersion(view *OwnerView, key string, all []told, n uint64, incomplete bool) {
	w.t.Helper()
	value, ok := "", false
	for _, h := range all {
		if h.op == "put" && h.version == n {
			value, ok = h.value, true
		}
	}
	made, got, err := view.Version([]byte(key), n)
	if incomplete && (err == ErrRetention || !got) {
		return
	}
	var r memory.Record
	if got {
		if err := memory.Decode(made.Bytes, &r); err != nil {
			w.t.Fatal(err)
		}
	}
	if err != nil || got != ok || string(r.Value) != value {
		w.t.Fatalf("%s version %d: %v %v %s, want %v %s", key, n, got, err, r.Value, ok, value)
	}
}

// compareText finds every record by its own words.
func (w *recordWorld) compareText(view *OwnerView, s *modelSpace) {
	w.t.Helper()
	for key, r := range s.records {
		want := max(len(r.list), 1)
		if ownerOf(key) != view.Name || r.value == "[]" {
			continue
		}
		found := view.Index().Search(recall.Query{Text: r.value, Limit: 100, Accept: func(doc uint64) bool {
			stored, ok := view.ByDoc(doc)
			return ok && string(stored.Key) == key
		}})
		if len(found.Hits) != want {
			w.t.Fatalf("%s is found %d times by %q", key, len(found.Hits), r.value)
		}
		for _, hit := range found.Hits {
			stored, _ := view.ByDoc(hit.ID)
			var record memory.Record
			stored.Decode(&record)
			if r.list != nil && !slices.Contains(r.list, string(record.Value)) {
				w.t.Fatalf("%s has an item %d %s", key, stored.Item, record.Value)
			}
		}
	}
}

func (w *recordWorld) compareIDs(tx *Tx, s *modelSpace) {
	w.t.Helper()
	for id, version := range s.ids {
		owner := []byte(id[:4])
		done, verdict := tx.CommandDone(owner, memory.DigestID(owner, []byte(id)), memory.DigestPayload([]byte(id)))
		if verdict != memory.Duplicated || done.Version != version {
			w.t.Fatalf("command %s: %v %+v, want version %d", id, verdict, done, version)
		}
		if _, verdict := tx.CommandDone(owner, memory.DigestID(owner, []byte(id)), memory.PayloadDigest{1}); verdict != memory.Conflict {
			w.t.Fatalf("command %s with another payload: %v", id, verdict)
		}
		tx.Commit()
	}
}

func TestRecordsMetamorphic(t *testing.T) {
	seeds := []uint64{*seedFlag}
	if *seedFlag == 0 {
		seeds = []uint64{rand.Uint64(), rand.Uint64(), 1, 2}
	}
	for _, seed := range seeds {
		for _, keep := range []Retention{{Versions: 1000}, {Versions: 3}, {Versions: 2, AgeMs: 500}} {
			t.Run(fmt.Sprintf("seed %d keep %+v", seed, keep), func(t *testing.T) {
				w := newRecordWorld(t, seed, keep.Versions, keep.AgeMs)
				for i := range 600 {
					w.step()
					w.pass()
					if w.r.IntN(40) == 0 {
						w.rare()
					}
					if w.r.IntN(20) == 0 {
						w.checkpoint()
					}
					if w.r.IntN(60) == 0 {
						w.restart()
					}
					if i%29 == 0 || i > 595 {
						w.compare()
					}
				}
			})
		}
	}
}
