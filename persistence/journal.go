package persistence

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the order of batches: their numbers, when they are written,
// when they are durable, and who waits for that. It must not know rows or
// Pebble, nor how a segment is laid out.
//
// Lock order: the engine's locks, then syncMu, then ioMu, then mu. Append takes
// only mu and does no I/O, so the engine may hold any of its locks. spareMu,
// held while a spare segment is made, comes before ioMu.

// gate bits: why Ready refuses. Zero is open.
const (
	gateFailed  = 1 << iota // the segment files cannot be written
	gateFull                // too little reserved space is left
	gateLagging             // too much waits for the disk
	gateClosed
)

// postponeBytes is how much may stay unwritten while an fsync is under way: a
// write to a file being synced can block as long as the fsync itself.
const postponeBytes = 4 << 20

// A journal appends batches, writes them to segments, and syncs those.
type journal struct {
	options Options
	// progress is called by the background loop now and then.
	progress func()

	group syncGroup
	// syncMu is held by whoever syncs.
	syncMu sync.Mutex

	spareMu sync.Mutex
	ioMu    sync.Mutex
	writer  segmentWriter
	failure error // why the last write or fsync failed; nil when all is well
	// retryAt and retryDelay pace the attempts to get out of a failure.
	retryAt    time.Time
	retryDelay time.Duration
	spareAt    time.Time // when to try again to make a spare
	// lastSeq and lastMs are the last batch written to the active segment.
	lastSeq uint64
	lastMs  int64

	mu      sync.Mutex
	pending pending
	// roomBytes is the reserved space that the unwritten batches will go to.
	roomBytes int64
	failed    bool
	closed    bool
	waiters   []waiter
	// durableMs is the time of the batch that durable counts to.
	durableMs int64

	gate       atomic.Uint32
	durability atomic.Uint32
	appended   atomic.Uint64
	written    atomic.Uint64
	durable    atomic.Uint64
	marked     atomic.Uint64 // what the segments themselves say is durable
	syncing    atomic.Bool   // an fsync is under way
	syncWanted atomic.Bool   // the background loop is to sync at once
	syncs      atomic.Uint64
	lastError  atomic.Pointer[error]
	reading    heldGauge // by replay

	kick chan struct{} // wakes the background loop
	quit chan struct{}
	done chan struct{}
}

// waiter is woken once the batch seq is durable.
type waiter struct {
	seq  uint64
	wake func()
}

// Append gives the batch the next sequence number and the time b.TimeMs, raised
// to that of the batch before, and keeps its bytes to be written. It must be
// called with every lock held that orders b among other batches, after Ready
// returned nil, and cannot fail. It does no I/O and, once warm, no allocation.
func (j *journal) Append(b *effect.Batch) (seq uint64, timeMs int64) {
	j.mu.Lock()
	seq, timeMs = j.pending.add(b)
	j.appended.Store(seq)
	j.updateGate()
	retained := j.pending.retainedBytes
	j.mu.Unlock()
	if b.Durable || retained > j.options.PendingBytes/2 {
		j.syncWanted.Store(true)
		j.wakeLoop()
	}
	return seq, timeMs
}

func (j *journal) wakeLoop() {
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// Ready says whether a batch may be made. It is one atomic load when all is
// well, and may do I/O otherwise. ErrLagging passes as soon as batches become durable (wait with
// Notify(Durable()+1, …)); ErrDiskFailed when the disk can be written again.
func (j *journal) Ready() error {
	gate := j.gate.Load()
	if gate == gateFull {
		// What waits to be written would fill the reserved space, or the
		// background has not made a spare segment yet: do both here, unless
		// that failed a moment ago. Errors are kept in lastError.
		_ = j.Flush()
		j.keepSpare(false)
		gate = j.gate.Load()
	}
	switch {
	case gate == 0:
		return nil
	case gate&gateClosed != 0:
		return ErrClosed
	case gate&(gateFailed|gateFull) != 0:
		if last := j.lastError.Load(); last != nil {
			return fmt.Errorf("%w: %w", ErrDiskFailed, *last)
		}
		if gate&gateFailed != 0 {
			return ErrDiskFailed
		}
		// Nothing went wrong: space is being made.
	}
	return ErrLagging
}

// updateGate recomputes the gate. mu must be held.
func (j *journal) updateGate() {
	gate := uint32(0)
	if j.failed {
		gate |= gateFailed
	}
	if j.closed {
		gate |= gateClosed
	}
	if j.roomBytes-j.pending.unwrittenBytes < j.options.SegmentBytes/8 {
		gate |= gateFull
	}
	if j.pending.retainedBytes > j.options.PendingBytes {
		gate |= gateLagging
	}
	if gate != j.gate.Load() {
		j.gate.Store(gate)
	}
}

// Flush writes what is pending to the segment, so that it survives the end of
// the process. While an fsync is under way it may leave that to the next call,
// unless the durability is Always. It returns ErrDiskFailed when the journal
// cannot be written.
func (j *journal) Flush() error {
	if j.written.Load() == j.appended.Load() {
		return nil
	}
	if j.syncing.Load() && Durability(j.durability.Load()) != Always && !j.unwrittenOver(postponeBytes) {
		return nil
	}
	j.ioMu.Lock()
	err := j.flushLocked()
	j.ioMu.Unlock()
	return err
}

func (j *journal) unwrittenOver(limitBytes int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pending.unwrittenBytes > limitBytes
}

// writeAll writes every pending batch, even while an fsync is under way.
func (j *journal) writeAll() error {
	j.ioMu.Lock()
	defer j.ioMu.Unlock()
	return j.flushLocked()
}

// flushLocked writes every pending frame. ioMu must be held.
func (j *journal) flushLocked() error {
	if j.failure != nil {
		return fmt.Errorf("%w: %w", ErrDiskFailed, j.failure)
	}
	for {
		j.mu.Lock()
		c, f := j.pending.nextFrame()
		var frame []byte
		if c != nil {
			frame = c.buf[f.at:f.end:f.end]
		}
		j.mu.Unlock()
		if c == nil {
			return nil
		}
		spares := len(j.writer.spares)
		durable := j.durable.Load()
		if err := j.writer.write(frame, &f, durable); err != nil {
			return j.fail(err)
		}
		j.marked.Store(durable)
		j.lastSeq, j.lastMs = f.lastSeq, f.lastMs
		j.mu.Lock()
		j.pending.wrote(c)
		j.roomBytes = j.writer.roomBytes()
		j.updateGate()
		j.mu.Unlock()
		j.written.Store(f.lastSeq)
		if len(j.writer.spares) < spares {
			j.wakeLoop()
		}
	}
}

// Sync returns once every batch appended before the call is durable. Callers
// at the same time share one fsync. It returns ErrDiskFailed when that cannot
// be done now; the batches stay pending and become durable later.
func (j *journal) Sync() error {
	target := j.appended.Load()
	g := &j.group
	g.mu.Lock()
	for j.durable.Load() < target {
		if g.leading {
			// An fsync that is under way may have begun before our batch was
			// written; the round after it covers us.
			round := g.round
			g.waiting++
			for round == g.round {
				g.ended.Wait()
			}
			g.waiting--
			if g.err != nil && j.durable.Load() < target {
				defer g.mu.Unlock()
				return g.err
			}
			continue
		}
		g.leading = true
		shared := g.shared
		g.mu.Unlock()
		if shared {
			// Who was woken by the last fsync may append before this one. An
			// event loop, which syncs alone, must not lose its processor here.
			runtime.Gosched()
		}
		j.syncMu.Lock()
		err := j.syncLocked()
		j.syncMu.Unlock()
		g.mu.Lock()
		g.leading, g.err, g.shared = false, err, g.waiting > 0
		g.round++
		g.ended.Broadcast()
		if err != nil && j.durable.Load() < target {
			g.mu.Unlock()
			return err
		}
	}
	g.mu.Unlock()
	return nil
}

// syncGroup makes one of the callers of Sync sync for all.
type syncGroup struct {
	mu      sync.Mutex
	ended   sync.Cond // a round ended
	leading bool      // somebody syncs
	waiting int       // how many wait for that
	shared  bool      // somebody waited for the last round
	round   uint64    // how many rounds ended
	err     error     // of the last round
}

// syncLocked writes and syncs what is pending. syncMu must be held.
func (j *journal) syncLocked() error {
	j.ioMu.Lock()
	if j.failure != nil {
		err := j.recoverLocked()
		j.ioMu.Unlock()
		if err == nil {
			j.advance()
		}
		return err
	}
	if err := j.flushLocked(); err != nil {
		j.ioMu.Unlock()
		return err
	}
	file, retired := j.writer.file, j.writer.retired
	j.writer.retired = nil
	number, seq, timeMs := j.writer.active().number, j.lastSeq, j.lastMs
	j.syncing.Store(true)
	j.ioMu.Unlock()

	err := j.syncFiles(append(retired, file))
	j.syncing.Store(false)

	j.ioMu.Lock()
	if err != nil || j.failure != nil {
		// A write may have failed meanwhile: then this fsync proves nothing.
		j.writer.abandoned = append(j.writer.abandoned, retired...)
		err = j.fail(err)
		j.closeAbandoned()
		j.ioMu.Unlock()
		return err
	}
	for _, f := range retired {
		if err := f.Close(); err != nil {
			j.note(err) // its content is durable: nothing depends on it
		}
	}
	j.writer.syncedFrom = number
	j.setDurable(seq, timeMs)
	// What was postponed meanwhile goes now, not at some later call.
	err = j.flushPostponed()
	j.ioMu.Unlock()
	j.advance()
	return err
}

// flushPostponed writes what Flush left because of the fsync. ioMu must be held.
func (j *journal) flushPostponed() error {
	if j.written.Load() == j.appended.Load() {
		return nil
	}
	return j.flushLocked()
}

func (j *journal) syncFiles(files []vfs.File) error {
	for _, f := range files {
		j.syncs.Add(1)
		if err := f.SyncData(); err != nil {
			return fmt.Errorf("sync the journal: %w", err)
		}
	}
	return nil
}

// setDurable notes that every batch up to seq is durable.
func (j *journal) setDurable(seq uint64, timeMs int64) {
	j.mu.Lock()
	j.pending.release(seq)
	j.durableMs = timeMs
	j.durable.Store(seq)
	j.updateGate()
	j.mu.Unlock()
}

// advance wakes whoever waits for what has become durable. No lock may be held
// that a woken function takes.
func (j *journal) advance() {
	durable := j.durable.Load()
	j.mu.Lock()
	var ready []waiter
	rest := j.waiters[:0]
	for _, w := range j.waiters {
		if w.seq <= durable || j.closed {
			ready = append(ready, w)
		} else {
			rest = append(rest, w)
		}
	}
	clear(j.waiters[len(rest):])
	j.waiters = rest
	j.mu.Unlock()
	for _, w := range ready {
		w.wake()
	}
}

// Durable is the last batch that is on the disk for certain, and all before it.
func (j *journal) Durable() uint64 { return j.durable.Load() }

// Notify runs wake once Durable() ≥ seq, or once the store is closed; at once,
// on the caller's goroutine, when that is so already. When the disk fails it
// also runs what waits at that moment: Durable() then is still lower, and the
// caller may wait again, until the batches are durable after all. wake must not
// block and must not call the journal's Sync or Flush.
func (j *journal) Notify(seq uint64, wake func()) {
	j.mu.Lock()
	if j.durable.Load() >= seq || j.closed {
		j.mu.Unlock()
		wake()
		return
	}
	j.waiters = append(j.waiters, waiter{seq, wake})
	j.mu.Unlock()
}

// note keeps an error for Stats and the log.
func (j *journal) note(err error) {
	j.lastError.Store(&err)
	j.options.Logger.Printf("journal: %v", err)
}

// stop ends the background loop, syncs, and closes the files.
func (j *journal) stop() error {
	j.mu.Lock()
	already := j.closed
	j.closed = true
	j.updateGate()
	j.mu.Unlock()
	if already {
		return ErrClosed
	}
	close(j.quit)
	<-j.done
	j.ioMu.Lock()
	j.retryAt = time.Time{} // one last attempt, without delay
	j.ioMu.Unlock()
	err := j.Sync()
	j.syncMu.Lock()
	j.ioMu.Lock()
	err = errors.Join(err, j.writer.close())
	if j.failure == nil {
		j.failure = ErrClosed
	}
	j.ioMu.Unlock()
	j.syncMu.Unlock()
	j.advance()
	return err
}
