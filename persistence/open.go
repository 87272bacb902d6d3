package persistence

import (
	"errors"
	"fmt"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the beginning of a journal: going on after what was found, in
// a new segment. It must not know rows.

// createJournal writes the first segment of a new store and nothing else.
func createJournal(fs vfs.FS, dir string, storeID uint64, options Options) error {
	w := segmentWriter{
		fs: fs, dir: dir, storeID: storeID, seed: checksumSeed(storeID),
		segmentBytes: options.SegmentBytes, nextNumber: 1,
	}
	err := w.begin(1, 0, 0)
	if err == nil {
		err = w.file.Sync()
	}
	return errors.Join(err, w.close())
}

// openJournal goes on after the chain; its loop is not started yet. Batches up to checkpoint are in rows;
// segments that hold nothing else are removed.
func openJournal(fs vfs.FS, dir string, storeID uint64, found *chain, checkpoint uint64, options Options, progress func()) (*journal, error) {
	j := &journal{
		options: options, progress: progress,
		kick: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	j.group.ended.L = &j.group.mu
	j.durability.Store(uint32(options.Durability))
	last := found.segments[len(found.segments)-1]
	j.writer = segmentWriter{
		fs: fs, dir: dir, storeID: storeID, seed: checksumSeed(storeID), segmentBytes: options.SegmentBytes,
		segments: found.segments, syncedFrom: last.number, nextNumber: found.lastNumber + 1,
	}
	// What was read may still be in the operating system's cache alone.
	for _, s := range found.segments {
		if err := syncFile(fs, s.path); err != nil {
			return nil, err
		}
	}
	j.pending.seq, j.pending.timeMs = found.endSeq, found.endMs
	j.lastSeq, j.lastMs, j.durableMs = found.endSeq, found.endMs, found.endMs
	j.appended.Store(found.endSeq)
	j.written.Store(found.endSeq)
	j.durable.Store(found.endSeq)
	j.marked.Store(found.endSeq)
	if err := j.start(found, checkpoint); err != nil {
		return nil, errors.Join(err, j.writer.close())
	}
	return j, nil
}

// start begins the active segment and removes what is no longer needed.
func (j *journal) start(found *chain, checkpoint uint64) error {
	if err := j.writer.begin(found.endSeq+1, found.endMs, found.endSeq); err != nil {
		return err
	}
	if err := j.writer.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", j.writer.active().path, err)
	}
	j.writer.syncedFrom = j.writer.active().number
	for _, path := range found.unused {
		if err := j.writer.fs.Remove(path); err != nil {
			return fmt.Errorf("remove unused segment: %w", err)
		}
	}
	if err := j.writer.removeUpTo(checkpoint); err != nil {
		return err
	}
	j.roomBytes = j.writer.roomBytes()
	j.updateGate()
	j.wakeLoop() // makes the spare
	return nil
}

// removeUpTo removes the segments that hold only batches up to seq, and those that
// were replaced, as far as what comes after them is synced.
func (w *segmentWriter) removeUpTo(seq uint64) error {
	removed := false
	remove := func(list *[]segmentInfo) error {
		if err := w.fs.Remove((*list)[0].path); err != nil {
			return fmt.Errorf("remove segment: %w", err)
		}
		*list = append((*list)[:0], (*list)[1:]...)
		removed = true
		return nil
	}
	for len(w.segments) > 1 && w.segments[1].firstSeq <= seq+1 && w.segments[1].number <= w.syncedFrom {
		if err := remove(&w.segments); err != nil {
			return err
		}
	}
	for len(w.replaced) > 0 && w.replaced[0].number < w.syncedFrom {
		if err := remove(&w.replaced); err != nil {
			return err
		}
	}
	if !removed {
		return nil
	}
	return syncDir(w.fs, w.dir)
}

// rotate makes everything durable and begins a segment with the next batch, so
// that those before it can go.
func (j *journal) rotate() error {
	if err := j.Sync(); err != nil {
		return err
	}
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.ioMu.Lock()
	err := j.flushLocked()
	if err == nil && j.writer.offset > segmentHeaderBytes {
		if err = j.writer.turn(j.lastSeq+1, j.lastMs, j.durable.Load()); err != nil {
			err = j.fail(err)
		}
		j.mu.Lock()
		j.roomBytes = j.writer.roomBytes()
		j.updateGate()
		j.mu.Unlock()
	}
	j.ioMu.Unlock()
	j.wakeLoop() // makes the spare
	if err != nil {
		return err
	}
	return j.syncLocked()
}

// removeUpTo removes the segments that only hold what a checkpoint has.
func (j *journal) removeUpTo(seq uint64) error {
	j.ioMu.Lock()
	defer j.ioMu.Unlock()
	return j.writer.removeUpTo(seq)
}

// replay hands the batches from < seq ≤ to, which must be written, to visit.
func (j *journal) replay(from, to uint64, visit func(*effect.Reader) error) error {
	j.ioMu.Lock()
	segments := j.writer.snapshot()
	j.ioMu.Unlock()
	return replay(j.writer.fs, segments, from, to, &j.reading, visit)
}

// bytesAfter is the size of the segments that hold batches after seq.
func (j *journal) bytesAfter(seq uint64) (size int64) {
	j.ioMu.Lock()
	defer j.ioMu.Unlock()
	segments := j.writer.snapshot()
	for i, s := range segments {
		if i+1 == len(segments) || segments[i+1].firstSeq > seq+1 {
			size += s.sizeBytes
		}
	}
	return size
}

func syncFile(fs vfs.FS, path string) error {
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
