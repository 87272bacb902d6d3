package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns checkpoints: when the journal becomes rows, and in which order
// the steps are made. It must not know how a row is encoded.
//
// A round reads durable batches S < seq ≤ T, folds them into final rows, writes
// those with the state row that says T into tables, and ingests the tables: one
// atomic, durable step. Only then segments up to T go. So rows are always the
// state at exactly one sequence, and a crash anywhere leaves either S or T.

// errRoundFull ends a round's replay: what is folded so far is written.
var errRoundFull = errors.New("the round is full")

// Checkpoint writes everything that is durable into rows and removes the
// segments that are no longer needed. It syncs the journal first.
func (s *Store) Checkpoint() error {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	if err := s.journal.Sync(); err != nil {
		return err
	}
	return s.checkpointLocked()
}

// freeAfter is how many batches a checkpoint must have had for its memory to be
// worth giving back to the system, which takes a collection.
const freeAfter = 100_000

// checkpointLocked makes rounds until the rows stand at what was durable when
// it was called. checkpointMu must be held.
func (s *Store) checkpointLocked() error {
	if s.state.purging {
		if err := s.journal.rotate(); err != nil {
			return err
		}
	}
	target := s.journal.Durable()
	if target-s.state.seq > freeAfter {
		// The memory of a large round is not needed until the next one.
		defer debug.FreeOSMemory()
	}
	for s.state.seq < target {
		if err := s.round(target); err != nil {
			err = fmt.Errorf("checkpoint: %w", err)
			s.journal.note(err)
			s.nextCheckpointBytes.Store(s.journal.writer.writtenBytes.Load() + s.options.CheckpointBytes/4)
			return err
		}
	}
	return s.purge()
}

// round makes one checkpoint at target or before, as memory allows.
func (s *Store) round(target uint64) error {
	startedAt := time.Now()
	written := s.journal.writer.writtenBytes.Load()
	f := newFollower(s.rows, s.known, s.state)
	folded := int64(0)
	note := func(held int64) {
		s.folded.add(held - folded)
		folded = held
	}
	defer note(0)
	err := s.journal.replay(s.state.seq, target, func(r *effect.Reader) error {
		erasing := erases(*r)
		if erasing && r.Seq > s.state.seq+1 {
			return errRoundFull
		}
		if err := f.apply(r); err != nil {
			return err
		}
		note(f.heldBytes())
		if erasing || f.memoryBytes() > s.options.CheckpointBytes*3/4 {
			return errRoundFull
		}
		return nil
	})
	if err != nil && !errors.Is(err, errRoundFull) {
		return err
	}
	if err := s.enoughSpace(f.sizeBytes); err != nil {
		return err
	}
	note(f.heldBytes() + f.sortBytes())
	paths, err := s.writeTables(f)
	if err != nil {
		return err
	}
	if err := s.rows.ingest(paths); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	s.state = f.state
	s.erasedSpans = append(s.erasedSpans, f.purgeSpans()...)
	s.checkpointSeq.Store(s.state.seq)
	s.checkpointTimeMs.Store(s.state.timeMs)
	s.checkpointMs.Store(time.Since(startedAt).Milliseconds())
	s.checkpoints.Add(1)
	if s.state.seq == target {
		s.nextCheckpointBytes.Store(written + s.options.CheckpointBytes)
	}
	if err := s.journal.removeUpTo(s.state.seq); err != nil {
		s.journal.note(err) // the next checkpoint tries again
	}
	for _, notify := range s.observers() {
		notify(s.state.seq)
	}
	return nil
}

// spareBytes must be free on the disk besides the tables of a checkpoint: a
// full disk must meet the journal, which copes, before Pebble's manifest.
const spareBytes = 32 << 20

// enoughSpace returns an error when the disk has no room for needBytes of rows.
func (s *Store) enoughSpace(needBytes int64) error {
	usage, err := s.layout.fs.GetDiskUsage(s.layout.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	if need := uint64(needBytes) + spareBytes; usage.AvailBytes < need {
		return fmt.Errorf("%d bytes are free, %d are needed: %w", usage.AvailBytes, need, syscall.ENOSPC)
	}
	return nil
}

// What a row, and a place for it, take in the overlay.
const overlayRowBytes, overlaySlotBytes = 48, 8

// memoryBytes is about what the overlay uses.
func (o *overlay) memoryBytes() int64 {
	return o.sizeBytes + int64(len(o.rows))*overlayRowBytes + int64(len(o.slots))*overlaySlotBytes
}

// heldBytes is what it holds, room that is not used yet included.
func (o *overlay) heldBytes() int64 {
	return int64(len(o.blocks))*arenaBlockBytes + int64(cap(o.rows))*overlayRowBytes + int64(len(o.slots))*overlaySlotBytes
}

// sortBytes is what sorted takes.
func (o *overlay) sortBytes() int64 {
	const itemBytes, numberBytes = 16, 4
	return int64(len(o.rows)) * (itemBytes + numberBytes)
}

// writeTables writes the rows of a round, in order, into tables.
func (s *Store) writeTables(f *follower) (paths []string, err error) {
	if err := s.emptyScratch(); err != nil {
		return nil, err
	}
	e := emitter{follower: f, rows: s.rows, keepMs: s.options.CommandKeepMs}
	e.tables = tableBuilder{fs: s.layout.fs, dir: s.layout.scratch, options: s.rows.tableOptions(), limit: tableBytes}
	if err := e.emit(); err != nil {
		return nil, errors.Join(err, e.tables.abort())
	}
	return e.tables.finish()
}

// emptyScratch removes what a crash or failure left of earlier rounds.
func (s *Store) emptyScratch() error {
	if err := s.layout.fs.MkdirAll(s.layout.scratch, 0o755); err != nil {
		return err
	}
	names, err := s.layout.fs.List(s.layout.scratch)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := s.layout.fs.Remove(s.layout.fs.PathJoin(s.layout.scratch, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// CheckpointSeq is the last batch that the archive has; see OnCheckpoint.
func (s *Store) CheckpointSeq() uint64 { return s.checkpointSeq.Load() }

// OnCheckpoint has notify called after each checkpoint, with the sequence that
// History and Events now answer up to. Whoever keeps changes in memory until
// then can drop them: a reader that looks there first and here afterwards
// misses nothing. notify must not call Checkpoint, Recover, Backup or Close.
func (s *Store) OnCheckpoint(notify func(seq uint64)) {
	s.observerMu.Lock()
	defer s.observerMu.Unlock()
	s.observer = append(s.observer, notify)
}

func (s *Store) observers() []func(seq uint64) {
	s.observerMu.Lock()
	defer s.observerMu.Unlock()
	return s.observer[:len(s.observer):len(s.observer)]
}

// progress is called by the journal now and then: it starts a checkpoint when
// enough was written since the last one.
func (s *Store) progress() {
	if s.options.manualCheckpoints || s.journal.writer.writtenBytes.Load() < s.nextCheckpointBytes.Load() {
		return
	}
	select {
	case s.due <- struct{}{}:
	default:
	}
}

// CheckpointSoon has a checkpoint made in the background, however little was written
// since the last one.
func (s *Store) CheckpointSoon() {
	s.nextCheckpointBytes.Store(0)
	s.progress()
}

// checkpointLoop makes the checkpoints that are due until quit.
func (s *Store) checkpointLoop() {
	defer close(s.loopDone)
	for {
		select {
		case <-s.quit:
			return
		case <-s.due:
		}
		if s.journal.writer.writtenBytes.Load() < s.nextCheckpointBytes.Load() {
			continue // made meanwhile
		}
		_ = s.Checkpoint() // noted for Stats and the log, and tried again
	}
}

// emitter writes the rows of a follower in order, with what else a checkpoint
// writes: pruned history, range deletions, the state.
type emitter struct {
	*follower
	rows   *rowStore
	tables tableBuilder
	keepMs int64

	kept   *cursor // over the counts of earlier rounds
	counts []countRow
	dead   map[uint32]bool      // keyspaces that were flushed
	ended  map[string]itemPlace // by the beginning of L rows: the first item that stays
}

// countRow is an N row to be written.
type countRow struct {
	key, value []byte
}

func (e *emitter) emit() (err error) {
	if err := e.findSpans(); err != nil {
		return err
	}
	if e.kept, err = e.rows.cursor(prefixSpan(prefixCount)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.kept.close()) }()
	order := e.sorted()
	i := 0
	for i < len(order) && e.key(order[i])[0] < prefixState {
		var err error
		switch row := e.key(order[i]); row[0] {
		case prefixHistory:
			i, err = e.history(order, i)
		case prefixItem:
			err = e.item(order[i])
			i++
		default:
			err = e.plain(order[i])
			i++
		}
		if err != nil {
			return err
		}
	}
	if err := e.tables.set(stateRow(), e.state.encode()); err != nil {
		return err
	}
	for _, c := range e.counts {
		if err := e.tables.set(c.key, c.value); err != nil {
			return err
		}
	}
	for ; i < len(order); i++ {
		if err := e.plain(order[i]); err != nil {
			return err
		}
	}
	return nil
}

// plain writes a row as it is, unless its keyspace is gone.
func (e *emitter) plain(n uint32) error {
	row := e.key(n)
	if row[0] == prefixKey || row[0] == prefixElement {
		if keyspace, _, _ := cutSpace(row); e.dead[keyspace] {
			return nil
		}
	}
	if e.overlay.rows[n].state == rowDeleted {
		return e.tables.delete(row)
	}
	return e.tables.set(row, e.overlay.value(n))
}

// findSpans collects the range deletions, in order.
func (e *emitter) findSpans() error {
	e.dead = map[uint32]bool{}
	var spans []span
	if s, ok, err := e.expiredCommands(); err != nil {
		return err
	} else if ok {
		spans = append(spans, s)
	}
	for _, keyspace := range e.deadSpaces {
		e.dead[keyspace] = true
		if keyspace < e.base.nextKeyspace {
			for _, s := range keyspaceSpans(keyspace) {
				spans = append(spans, s)
			}
		}
	}
	spans = append(spans, e.erasedSpans...)
	for _, c := range e.mergedCollections() {
		spans = append(spans, collectionSpan(c.keyspace, c.first, c.last))
	}
	e.tables.spans = sortSpans(spans)
	return nil
}

// expiredCommands is the range of command ids that need not be kept.
func (e *emitter) expiredCommands() (s span, ok bool, err error) {
	oldest := e.state.timeMs - e.keepMs
	s.from = []byte{prefixCommand}
	err = e.rows.scan(prefixSpan(prefixCommand), func(row, value []byte) (bool, error) {
		v, err := decodeCommand(value)
		if err != nil || v.timeMs >= oldest {
			return false, err
		}
		s.to, ok = append(bytes.Clone(row), 0), true
		return true, nil
	})
	return s, ok, err
}
