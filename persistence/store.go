package persistence

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the store as its user sees it: opening, closing, settings,
// statistics.

// Store is one directory with a journal and rows. Its methods may be called
// from any goroutine, but for those of the journal, which say more.
type Store struct {
	*journal

	layout  layout
	options Options
	storeID uint64
	lock    io.Closer
	rows    *rowStore
	known   *collectionSet

	// checkpointMu is held while segments are read or removed and while rows
	// are written: by a checkpoint, a recovery, a backup. It comes before the
	// journal's locks.
	checkpointMu sync.Mutex
	// exportMu is held for reading by every export, after checkpointMu, which it
	// lets go: what an export sees cannot leave the files before it ends.
	exportMu sync.RWMutex
	state    stateValue // of the rows
	// erasedSpans are the rows that were erased and not purged yet.
	erasedSpans []span

	folded     heldGauge // by the round that is being made
	recovering progress
	observerMu sync.Mutex
	observer   []func(seq uint64)

	checkpointSeq       atomic.Uint64
	checkpointTimeMs    atomic.Int64 // time of its last batch
	checkpointMs        atomic.Int64 // how long the last one took
	checkpoints         atomic.Uint64
	nextCheckpointBytes atomic.Int64 // of written journal, when one is due

	due      chan struct{}
	quit     chan struct{}
	loopDone chan struct{}
	closed   atomic.Bool
}

// Open opens the store in dir, which it makes when there is none. It returns
// ErrLocked when another process has it, ErrNewerFormat when a later version
// wrote it, and a CorruptError when something of it is missing or damaged.
// A torn end of the journal is cut off at the last whole batch. Recover must
// have returned before the first Append.
func Open(fs vfs.FS, dir string, options Options) (*Store, error) {
	options = options.withDefaults()
	s := &Store{
		layout: layoutOf(fs, dir), options: options, known: newCollectionSet(),
		due: make(chan struct{}, 1), quit: make(chan struct{}), loopDone: make(chan struct{}),
	}
	var err error
	if s.lock, s.storeID, err = s.layout.prepare(options); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	go s.checkpointLoop()
	return s, nil
}

func (s *Store) open() (err error) {
	l := &s.layout
	if s.rows, err = openRows(l.fs, l.rows, false, s.options); err != nil {
		return err
	}
	if err := s.openParts(); err != nil {
		return errors.Join(err, s.rows.close())
	}
	return nil
}

func (s *Store) openParts() (err error) {
	l := &s.layout
	if err := syncDir(l.fs, l.dir); err != nil {
		return err
	}
	if s.state, err = s.rows.state(); err != nil {
		return err
	}
	s.checkpointSeq.Store(s.state.seq)
	s.checkpointTimeMs.Store(s.state.timeMs)
	found, err := findChain(l.fs, l.journal, s.storeID, s.state.seq)
	if err != nil {
		return err
	}
	if s.journal, err = openJournal(l.fs, l.journal, s.storeID, found, s.state.seq, s.options, s.progress); err != nil {
		return err
	}
	tail := int64(0)
	for _, segment := range found.segments {
		tail += segment.sizeBytes
	}
	s.nextCheckpointBytes.Store(s.journal.writer.writtenBytes.Load() + s.options.CheckpointBytes - tail)
	go s.journal.loop()
	return nil
}

// Close makes every batch durable, writes a checkpoint, and releases the lock.
// The store is closed whatever it returns; batches that could not be made
// durable are then lost, and the error is ErrDiskFailed.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return ErrClosed
	}
	close(s.quit)
	<-s.loopDone
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	s.awaitExports() // they end now that the store is closed, and none begins
	err := s.journal.stop()
	if s.rows.failed.Load() == nil {
		err = errors.Join(err, s.checkpointLocked())
	}
	return errors.Join(err, s.rows.close(), s.lock.Close())
}

// SetCompressed says whether tables that are written from now on are compressed;
// both kinds may be among those that there are.
func (s *Store) SetCompressed(on bool) { s.rows.plain.Store(!on) }

// SetDurability changes when batches are fsynced without being asked for.
func (s *Store) SetDurability(d Durability) { s.journal.durability.Store(uint32(d)) }

// Stats are figures for an operator.
type Stats struct {
	AppendedSeq uint64 // last batch
	DurableSeq  uint64 // last batch that is on the disk for certain
	// PendingBytes waits for the disk, UnwrittenBytes of it even for a write.
	PendingBytes   int64
	UnwrittenBytes int64
	// JournalBytes was written to the journal since Open; SegmentCount is how
	// many segments there are.
	JournalBytes int64
	SegmentCount int
	Syncs        uint64 // fsyncs of the journal since Open

	CheckpointSeq    uint64 // last batch in the rows
	CheckpointTimeMs int64  // its time
	Checkpoints      uint64 // since Open
	CheckpointTookMs int64  // how long the last one took
	RowBytes         int64  // on the disk

	// LastError is the last thing that went wrong, empty when nothing did;
	// Failed says that writes are refused because of it.
	LastError string
	Failed    bool
}

// Stats is a moment's figures.
func (s *Store) Stats() Stats {
	j := s.journal
	st := Stats{
		AppendedSeq: j.appended.Load(), DurableSeq: j.durable.Load(), Syncs: j.syncs.Load(),
		JournalBytes:  j.writer.writtenBytes.Load(),
		CheckpointSeq: s.checkpointSeq.Load(), Checkpoints: s.checkpoints.Load(), CheckpointTookMs: s.checkpointMs.Load(),
		CheckpointTimeMs: s.checkpointTimeMs.Load(),
		Failed:           j.gate.Load()&(gateFailed|gateFull) != 0,
	}
	if err := j.lastError.Load(); err != nil {
		st.LastError = (*err).Error()
	}
	j.mu.Lock()
	st.PendingBytes, st.UnwrittenBytes = j.pending.retainedBytes, j.pending.unwrittenBytes
	j.mu.Unlock()
	j.ioMu.Lock()
	st.SegmentCount = len(j.writer.segments)
	j.ioMu.Unlock()
	if s.rows.failed.Load() == nil && !s.closed.Load() {
		st.RowBytes = int64(s.rows.db.Metrics().DiskSpaceUsage())
	}
	return st
}

// String is one line for a log.
func (st Stats) String() string {
	return fmt.Sprintf("seq %d durable %d checkpoint %d segments %d rows %d bytes",
		st.AppendedSeq, st.DurableSeq, st.CheckpointSeq, st.SegmentCount, st.RowBytes)
}
