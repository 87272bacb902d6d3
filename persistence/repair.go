package persistence

import (
	"fmt"
	"time"
)

// This file owns what the journal does by itself: the fsync each second, the
// spare segment, and getting out of a failure. It must not know what a caller
// waits for.

const (
	// retryFirst and retryLast pace the attempts to write again after a failure.
	retryFirst = 50 * time.Millisecond
	retryLast  = 5 * time.Second
)

// fail shuts the gate after a write or fsync failed with err: what was written
// since the last fsync may or may not be on the disk, and the descriptors are
// never used again. Everything not durable is still in memory and will be
// written to a new segment. ioMu must be held.
func (j *journal) fail(err error) error {
	if j.failure != nil {
		return fmt.Errorf("%w: %w", ErrDiskFailed, j.failure)
	}
	j.failure = err
	j.note(err)
	j.writer.abandon()
	if !j.syncing.Load() {
		j.closeAbandoned() // else whoever syncs one of them closes it afterwards
	}
	j.retryDelay = retryFirst
	j.delayRetry()
	j.mu.Lock()
	j.failed = true
	j.pending.rewind()
	j.roomBytes = j.writer.roomBytes()
	j.updateGate()
	waiting := j.waiters
	j.waiters = nil
	j.written.Store(j.durable.Load())
	j.lastSeq, j.lastMs = j.durable.Load(), j.durableMs
	j.mu.Unlock()
	// They may take the journal's locks, which are held here.
	go func() {
		for _, w := range waiting {
			w.wake()
		}
	}()
	return fmt.Errorf("%w: %w", ErrDiskFailed, err)
}

// closeAbandoned closes the descriptors that must not be used any more, and
// removes the segments that hold nothing durable. ioMu must be held.
func (j *journal) closeAbandoned() {
	if err := j.writer.closeAbandoned(j.durable.Load()); err != nil {
		j.note(fmt.Errorf("close after a failure: %w", err))
	}
}

// delayRetry sets when the next attempt may be made.
func (j *journal) delayRetry() {
	if !j.options.retryAtOnce {
		j.retryAt = time.Now().Add(j.retryDelay)
	}
}

// recoverLocked writes every batch that is not durable to a new segment, syncs
// it, and opens the gate. syncMu and ioMu must be held.
func (j *journal) recoverLocked() error {
	if time.Now().Before(j.retryAt) || j.failure == ErrClosed {
		return fmt.Errorf("%w: %w", ErrDiskFailed, j.failure)
	}
	if err := j.rewrite(); err != nil {
		j.retryDelay = min(2*j.retryDelay, retryLast)
		j.delayRetry()
		j.failure = err
		j.note(fmt.Errorf("write again after a failure: %w", err))
		j.writer.abandon()
		j.closeAbandoned()
		j.mu.Lock()
		j.pending.rewind()
		j.roomBytes = j.writer.roomBytes()
		j.updateGate()
		j.mu.Unlock()
		j.written.Store(j.durable.Load())
		j.lastSeq, j.lastMs = j.durable.Load(), j.durableMs
		return fmt.Errorf("%w: %w", ErrDiskFailed, err)
	}
	j.failure = nil
	j.mu.Lock()
	j.failed = false
	j.updateGate()
	j.mu.Unlock()
	j.options.Logger.Printf("journal: written again up to batch %d, going on in %s", j.durable.Load(), j.writer.active().path)
	return nil
}

func (j *journal) rewrite() error {
	j.mu.Lock()
	durable, durableMs := j.durable.Load(), j.durableMs
	j.mu.Unlock()
	if err := j.writer.begin(durable+1, durableMs, durable); err != nil {
		return err
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
			break
		}
		if err := j.writer.write(frame, &f, durable); err != nil {
			return err
		}
		j.mu.Lock()
		j.pending.wrote(c)
		j.mu.Unlock()
		j.lastSeq, j.lastMs = f.lastSeq, f.lastMs
	}
	if err := j.syncFiles(append(j.writer.retired, j.writer.file)); err != nil {
		return err
	}
	for _, f := range j.writer.retired {
		if err := f.Close(); err != nil {
			j.note(err)
		}
	}
	j.writer.retired = nil
	j.writer.syncedFrom = j.writer.active().number
	j.written.Store(j.lastSeq)
	j.mu.Lock()
	j.roomBytes = j.writer.roomBytes()
	j.mu.Unlock()
	j.setDurable(j.lastSeq, j.lastMs)
	return nil
}

// loop runs until quit: it syncs when the setting or a batch asks for it, keeps
// a spare segment, and tries to get out of a failure.
func (j *journal) loop() {
	defer close(j.done)
	timer := time.NewTimer(j.options.SyncInterval)
	defer timer.Stop()
	for {
		select {
		case <-j.quit:
			return
		case <-j.kick:
			j.work(false)
		case <-timer.C:
			j.work(true)
			timer.Reset(j.pause())
		}
	}
}

// pause is the time to the next tick: shorter while something must be retried.
func (j *journal) pause() time.Duration {
	j.ioMu.Lock()
	defer j.ioMu.Unlock()
	if j.failure != nil {
		return min(j.options.SyncInterval, j.retryDelay)
	}
	return j.options.SyncInterval
}

// work does what is due. Errors are kept by those that find them; the gate
// tells the callers.
func (j *journal) work(tick bool) {
	j.keepSpare(tick)
	j.progress()
	j.mu.Lock()
	retained, failed := j.pending.retainedBytes, j.failed
	j.mu.Unlock()
	appended := j.appended.Load()
	wanted := j.syncWanted.Swap(false) || retained > j.options.PendingBytes/2
	due := retained > 0 && (wanted || tick && Durability(j.durability.Load()) != Never)
	switch {
	case due || failed && tick:
		j.syncMu.Lock()
		if j.durable.Load() < appended || failed {
			_ = j.syncLocked() // kept in lastError; the gate is shut
		}
		j.syncMu.Unlock()
	case tick && j.marked.Load() < j.durable.Load():
		j.markDurable()
	}
	if tick {
		j.mu.Lock()
		j.pending.trim()
		j.mu.Unlock()
	}
}

// markDurable writes down how far the journal is durable, once it is idle: so
// that recovery can tell damage from what was never durable.
func (j *journal) markDurable() {
	j.ioMu.Lock()
	defer j.ioMu.Unlock()
	durable := j.durable.Load()
	if j.failure != nil || j.lastSeq != durable || j.written.Load() != j.appended.Load() {
		return
	}
	if j.writer.offset+2*frameHeaderBytes > j.writer.segmentBytes {
		return // only the seal fits; the next segment's header says it
	}
	if err := j.writer.mark(frameHeader{kind: frameMark, firstSeq: j.lastSeq + 1, durable: durable}); err != nil {
		_ = j.fail(err) // kept in lastError
		return
	}
	j.marked.Store(durable)
}

// keepSpare makes a spare segment when there is none. When that fails, the gate
// shuts before the reserved space has run out; each tick tries again.
func (j *journal) keepSpare(tick bool) {
	j.spareMu.Lock()
	defer j.spareMu.Unlock()
	j.ioMu.Lock()
	if len(j.writer.spares) > 0 || j.failure == ErrClosed || (!tick && time.Now().Before(j.spareAt)) {
		j.ioMu.Unlock()
		return
	}
	number := j.writer.nextNumber
	j.writer.nextNumber++
	j.ioMu.Unlock()

	spare, err := j.writer.createSpare(number)
	j.ioMu.Lock()
	defer j.ioMu.Unlock()
	if err == nil {
		err = j.writer.addSpare(spare)
	}
	if err != nil {
		j.note(err)
		if !j.options.retryAtOnce {
			j.spareAt = time.Now().Add(retryFirst)
		}
	}
	j.mu.Lock()
	j.roomBytes = j.writer.roomBytes()
	j.updateGate()
	j.mu.Unlock()
}
