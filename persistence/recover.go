package persistence

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"reminis/engine/effect"
)

// This file owns the way back from rows and journal to effects. It must not
// know who takes them.

// Restorer receives what a store holds.
type Restorer interface {
	// Spaces says which owner space each database has, before any row; a
	// database beyond its end has the space of its own number.
	Spaces(spaceOf []uint32)
	// Row takes one row as the effect that would make it. It is called from
	// several goroutines; the rows of one key, and of one owner, come from one
	// of them, in order: StringSet; HashSet, SetAdd, ScoreSet, ListSplice (each
	// block whole) or StreamSet and then StreamSplice for each element, and then
	// DeadlineSet;
	// RecordPut, or RecordAppend and then ItemPut for each item, without an
	// event; EventAppend with an owner's last event;
	// CommandDone. FacetSet comes before all others. seq and timeMs are those of the batch that wrote the record,
	// event or command, and of the checkpoint for other rows. What has expired
	// comes too. e is valid during the call.
	Row(e *effect.Effect, seq uint64, timeMs int64) error
	// Batch takes one batch of the journal after the checkpoint. Batches come in
	// order, after every row, from one goroutine.
	Batch(r *effect.Reader) error
}

// Recover hands everything that the store holds to into: first the rows, on all
// processors, then the batches since the last checkpoint. It may be called
// again later, when no batch is appended meanwhile. The first error ends it. What
// was erased, but not purged, is purged in the end.
func (s *Store) Recover(into Restorer) error {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	if err := s.journal.writeAll(); err != nil {
		return err
	}
	into.Spaces(s.state.spaceOf())
	journalBytes := s.journal.bytesAfter(s.state.seq)
	s.recovering.begin(journalBytes)
	r := restoring{rows: s.rows, into: into, state: s.state, known: s.known, progress: &s.recovering}
	if err := r.run(s.rows, runtime.GOMAXPROCS(0)); err != nil {
		return fmt.Errorf("recover rows: %w", err)
	}
	erasing := s.state.purging
	from, to, rowBytes := s.state.seq, s.journal.written.Load(), s.recovering.loadedBytes.Load()
	err := s.journal.replay(from, to, func(b *effect.Reader) error {
		erasing = erasing || erases(*b)
		if err := into.Batch(b); err != nil {
			return err
		}
		share := float64(b.Seq-from) / float64(to-from)
		s.recovering.loadedBytes.Store(rowBytes + int64(share*float64(journalBytes)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("recover the journal: %w", err)
	}
	s.recovering.loadedBytes.Store(rowBytes + journalBytes)
	if erasing {
		// The process ended before files had lost what was erased.
		if err := s.purgeLocked(); err != nil {
			return fmt.Errorf("end an erasure: %w", err)
		}
	}
	return nil
}

// Watched is into with next called before each row and each batch, from several
// goroutines. An error of next ends the recovery.
func Watched(into Restorer, next func() error) Restorer { return watched{into, next} }

type watched struct {
	Restorer
	next func() error
}

func (w watched) Row(e *effect.Effect, seq uint64, timeMs int64) error {
	if err := w.next(); err != nil {
		return err
	}
	return w.Restorer.Row(e, seq, timeMs)
}

func (w watched) Batch(r *effect.Reader) error {
	if err := w.next(); err != nil {
		return err
	}
	return w.Restorer.Batch(r)
}

// Recovered says how much of the files that Recover reads it has read, and how much
// that is in all. The journal counts by its batches, rows by their tables.
func (s *Store) Recovered() (loadedBytes, totalBytes int64) {
	return s.recovering.loadedBytes.Load(), s.recovering.totalBytes.Load()
}

// progress is how far the last recovery has come; nil: nobody asks.
type progress struct{ loadedBytes, totalBytes atomic.Int64 }

func (p *progress) begin(totalBytes int64) {
	p.loadedBytes.Store(0)
	p.totalBytes.Store(totalBytes)
}

// find adds to what there is to read, read to what was read.
func (p *progress) find(n int64) {
	if p != nil {
		p.totalBytes.Add(n)
	}
}

func (p *progress) read(n int64) {
	if p != nil {
		p.loadedBytes.Add(n)
	}
}

// spaceOf lists the owner space of each database up to the last moved one.
func (s *stateValue) spaceOf() []uint32 {
	count := uint32(16)
	for db := range s.moved {
		count = max(count, db+1)
	}
	list := make([]uint32, count)
	for db := range list {
		list[db] = s.database(uint32(db)).space
	}
	return list
}

// restoring is one pass over all rows that make up the current state.
type restoring struct {
	rows  rowScanner
	into  Restorer
	state stateValue
	known *collectionSet // which collections are noted in; nil: nobody asks
	// keysOnly leaves out what is not of plain keys; records are counted instead.
	keysOnly bool
	records  int
	progress *progress

	ofKeyspace map[uint32]uint32 // moved keyspaces to their databases
	ofSpace    map[uint32]uint32

	mu          sync.Mutex
	collections []uint64 // hashes of the keys of collections
	stopped     atomic.Bool
	err         error
}

// rowScanner is the rows of one moment.
type rowScanner interface {
	// scan visits the rows of a span in order until visit returns false.
	scan(s span, visit func(row, value []byte) (bool, error)) error
}

// task is a range of rows of one kind.
type task struct {
	span
	run       func(t task) error
	sizeBytes int64 // of the tables, about
}

// findDatabases has keyspaces and spaces known by their databases.
func (r *restoring) findDatabases() {
	r.ofKeyspace, r.ofSpace = map[uint32]uint32{}, map[uint32]uint32{}
	for db, d := range r.state.moved {
		r.ofKeyspace[d.keyspace], r.ofSpace[d.space] = db, db
	}
}

func (r *restoring) run(store *rowStore, workers int) error {
	r.findDatabases()
	// What owners are comes before what they have.
	if err := r.facets(prefixSpan(prefixFacet)); err != nil {
		return err
	}
	tasks, err := r.tasks(store)
	if err != nil {
		return err
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers, len(tasks)) {
		group.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(tasks) || r.stopped.Load() {
					return
				}
				if err := tasks[n].run(tasks[n]); err != nil {
					r.fail(err)
					return
				}
				r.progress.read(tasks[n].sizeBytes)
			}
		})
	}
	group.Wait()
	if r.err == nil {
		r.known.addAll(r.collections)
	}
	return r.err
}

func (r *restoring) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.stopped.Store(true)
}

// tasks cuts the rows where Pebble's tables begin, so that many tasks of about
// the same size balance over the workers.
func (r *restoring) tasks(store *rowStore) ([]task, error) {
	levels, err := store.db.SSTables()
	if err != nil {
		return nil, err
	}
	var borders [][]byte
	for _, level := range levels {
		for _, table := range level {
			borders = append(borders, table.Smallest.UserKey)
		}
	}
	slices.SortFunc(borders, bytes.Compare)
	borders = slices.CompactFunc(borders, bytes.Equal)
	var tasks []task
	cut := func(prefix byte, run func(task) error) {
		s := prefixSpan(prefix)
		for _, b := range borders {
			if bytes.Compare(b, s.from) > 0 && bytes.Compare(b, s.to) < 0 {
				tasks = append(tasks, task{span: span{s.from, b}, run: run})
				s.from = b
			}
		}
		tasks = append(tasks, task{span: s, run: run})
	}
	// Command ids come in their order, so that the newest of equal ids is last.
	tasks = append(tasks, task{span: prefixSpan(prefixCommand), run: r.commands})
	cut(prefixElement, r.elements)
	cut(prefixKey, r.keys)
	cut(prefixHead, r.heads)
	for i := range tasks {
		size, err := store.db.EstimateDiskUsage(tasks[i].from, tasks[i].to)
		if err != nil {
			return nil, err
		}
		tasks[i].sizeBytes = int64(size)
		r.progress.find(int64(size))
	}
	return tasks, nil
}

// databaseOf finds the database that a keyspace or a space belongs to.
func (r *restoring) databaseOf(moved map[uint32]uint32, number uint32) (uint32, error) {
	if db, ok := moved[number]; ok {
		return db, nil
	}
	if _, isMoved := r.state.moved[number]; isMoved || number >= databaseMax {
		return 0, fmt.Errorf("keyspace or space %d belongs to no database: %w", number, errRow)
	}
	return number, nil
}

// badRow names the row that err is about.
func badRow(row []byte, err error) error { return fmt.Errorf("row %q: %w", row, err) }

func (r *restoring) keys(t task) error {
	var collections []uint64
	err := r.rows.scan(t.span, func(row, value []byte) (bool, error) {
		keyspace, key, _ := cutSpace(row)
		db, err := r.databaseOf(r.ofKeyspace, keyspace)
		if err != nil {
			return false, badRow(row, err)
		}
		v, err := decodeKey(value, len(key))
		if err != nil {
			return false, badRow(row, err)
		}
		e := effect.Effect{DB: db, Key: key, Value: v.value, DeadlineMs: v.deadlineMs}
		switch v.kind {
		case keyString:
			e.Kind = effect.StringSet
			err = r.into.Row(&e, r.state.seq, r.state.timeMs)
		case keyHash, keySet, keySortedSet, keyList, keyStream: // its elements name it
			if r.known != nil {
				collections = append(collections, r.known.hash(row))
			}
		case keyRecord:
			if r.keysOnly {
				r.records++
			} else if err = r.record(&e, &v); err != nil {
				err = badRow(row, err)
			}
		}
		return !r.stopped.Load(), err
	})
	r.mu.Lock()
	r.collections = append(r.collections, collections...)
	r.mu.Unlock()
	return err
}

// record restores a record; e has what it shares with other keys.
func (r *restoring) record(e *effect.Effect, v *keyValue) error {
	e.Kind, e.OwnerLen, e.Number, e.Count, e.KeepMs = effect.RecordPut, v.ownerLen, v.version, v.keep, v.keepMs
	if v.list == 0 {
		return r.into.Row(e, v.seq, v.timeMs)
	}
	e.Kind, e.List, e.First = effect.RecordAppend, v.list, v.first
	if err := r.into.Row(e, v.seq, v.timeMs); err != nil {
		return err
	}
	space := r.state.database(e.DB).space
	next := v.first
	err := r.rows.scan(itemSpan(space, e.Key, itemPlace{v.list, v.first}, itemPlace{v.list + 1, 0}), func(row, value []byte) (bool, error) {
		_, _, place, _ := cutNamed(row)
		_, number, ok := cutItemPlace(place)
		if !ok || number != next {
			return false, badRow(row, fmt.Errorf("item %d is missing: %w", next, errRow))
		}
		next++
		x := effect.Effect{Kind: effect.ItemPut, DB: e.DB, Key: e.Key, OwnerLen: e.OwnerLen, List: v.list, Number: int64(number), Value: value}
		return !r.stopped.Load(), r.into.Row(&x, v.seq, v.timeMs)
	})
	if err == nil && next == v.first && !r.stopped.Load() {
		err = fmt.Errorf("the list %q has no items: %w", e.Key, errRow)
	}
	return err
}

// elements restores the collections whose heads lie in the task's range: the
// last one may reach beyond it.
func (r *restoring) elements(t task) error {
	var head collectionValue
	var key []byte
	db := uint32(0)
	open := false
	finish := func() error {
		if !open || head.deadlineMs == 0 {
			return nil
		}
		return r.into.Row(&effect.Effect{Kind: effect.DeadlineSet, DB: db, Key: key, DeadlineMs: head.deadlineMs}, r.state.seq, r.state.timeMs)
	}
	all := span{t.from, prefixSpan(prefixElement).to}
	number := uint64(0)
	err := r.rows.scan(all, func(row, value []byte) (bool, error) {
		keyspace, collection, part, name, ok := cutElement(row)
		if !ok {
			return false, badRow(row, errRow)
		}
		if part != elementHead {
			if !open && !bytes.Equal(t.from, prefixSpan(prefixElement).from) {
				return bytes.Compare(row, t.to) < 0, nil // of the range before
			}
			if !open || collection != number {
				return false, badRow(row, fmt.Errorf("no head precedes it: %w", errRow))
			}
			e, err := elementEffect(part, db, key, name, value)
			if err != nil {
				return false, badRow(row, err)
			}
			return !r.stopped.Load(), r.into.Row(&e, r.state.seq, r.state.timeMs)
		}
		if err := finish(); err != nil {
			return false, err
		}
		open = false
		if bytes.Compare(row, t.to) >= 0 {
			return false, nil
		}
		var err error
		if head, err = decodeCollection(value); err != nil {
			return false, badRow(row, err)
		}
		if db, err = r.databaseOf(r.ofKeyspace, keyspace); err != nil {
			return false, badRow(row, err)
		}
		open, number, key = true, collection, bytes.Clone(head.key)
		return true, nil
	})
	if err != nil {
		return err
	}
	return finish()
}

// spaceDatabase is the database of an owner's space; the server's is the first.
func (r *restoring) spaceDatabase(space uint32) (uint32, error) {
	if space == serverSpace {
		return 0, nil
	}
	return r.databaseOf(r.ofSpace, space)
}

func (r *restoring) facets(s span) error {
	return r.rows.scan(s, func(row, value []byte) (bool, error) {
		space, owner, name, ok := cutNamed(row)
		if !ok {
			return false, badRow(row, errRow)
		}
		db, err := r.spaceDatabase(space)
		if err != nil {
			return false, badRow(row, err)
		}
		e := effect.Effect{Kind: effect.FacetSet, DB: db, Key: owner, Field: name, Value: value}
		if err := r.into.Row(&e, r.state.seq, r.state.timeMs); err != nil {
			return false, badRow(row, err)
		}
		return true, nil
	})
}

func (r *restoring) heads(t task) error {
	return r.rows.scan(t.span, func(row, value []byte) (bool, error) {
		space, owner, _ := cutSpace(row)
		db, err := r.spaceDatabase(space)
		if err != nil {
			return false, badRow(row, err)
		}
		v, err := decodeHead(value)
		if err != nil {
			return false, badRow(row, err)
		}
		e := effect.Effect{Kind: effect.EventAppend, DB: db, Key: owner, Event: v.event}
		return !r.stopped.Load(), r.into.Row(&e, v.seq, v.timeMs)
	})
}

func (r *restoring) commands(t task) error {
	return r.rows.scan(t.span, func(row, value []byte) (bool, error) {
		seq, _, ok := cutPlace(row[1:])
		v, err := decodeCommand(value)
		if err != nil || !ok {
			return false, badRow(row, errRow)
		}
		db, err := r.spaceDatabase(v.space)
		if err != nil {
			return false, badRow(row, err)
		}
		e := effect.Effect{Kind: effect.CommandDone, DB: db, Key: v.owner, Field: v.id, Value: v.payload, Number: v.version}
		return !r.stopped.Load(), r.into.Row(&e, seq, v.timeMs)
	})
}
