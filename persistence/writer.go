package persistence

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the journal's files while they are written: the active
// segment, the preallocated spare, the switch between them, and which segments
// there are. It must not know about batches, waiting callers or retries. The
// journal's ioMu guards all of it.

// segmentInfo is one segment that the journal consists of.
type segmentInfo struct {
	number   uint64
	firstSeq uint64
	timeMs   int64 // of the batch before firstSeq
	path     string
	// sealedFor is the number of the segment that the last frame says the journal
	// goes on in; 0 while there is no such frame from this process.
	sealedFor uint64
	// sizeBytes is how much of the file holds frames; for the active segment
	// the writer's offset is.
	sizeBytes int64
}

// segmentWriter writes frames to the active segment.
type segmentWriter struct {
	fs           vfs.FS
	dir          string
	storeID      uint64
	seed         uint32
	segmentBytes int64

	segments  []segmentInfo // oldest first; the last one is active
	file      vfs.File      // of the active segment; nil after a failure
	offset    int64
	retired   []vfs.File // full segments that are not synced yet
	abandoned []vfs.File // failed segments that are not closed yet
	// syncedFrom is the number of the segment that holds the last durable
	// batch: what a new segment names as its predecessor. Those after it may be
	// empty after a crash, so it stays, whatever a checkpoint has.
	syncedFrom uint64
	// replaced are segments of a failure that hold nothing durable, but that a seal
	// names or that could not be removed: a start would miss them. They stay until
	// what follows is synced elsewhere.
	replaced   []segmentInfo
	spares     []spareSegment
	nextNumber uint64

	// writtenBytes counts what was written to segments since the start.
	writtenBytes atomic.Int64
}

// spareSegment is a file whose space is reserved and that holds nothing yet.
type spareSegment struct {
	number uint64
	path   string
	file   vfs.File
}

// createSpare makes the file of segment number and reserves its space. It takes
// no part of the writer's state, so that it can run beside a writer.
func (w *segmentWriter) createSpare(number uint64) (s spareSegment, err error) {
	path := w.fs.PathJoin(w.dir, segmentName(number))
	f, err := w.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return s, fmt.Errorf("create segment %s: %w", path, err)
	}
	if err := w.reserve(f); err != nil {
		return s, fmt.Errorf("reserve segment %s: %w", path, errors.Join(err, f.Close(), w.fs.Remove(path)))
	}
	if err := syncDir(w.fs, w.dir); err != nil {
		return s, fmt.Errorf("create segment %s: %w", path, errors.Join(err, f.Close(), w.fs.Remove(path)))
	}
	return spareSegment{number: number, path: path, file: f}, nil
}

func (w *segmentWriter) reserve(f vfs.File) error {
	// A file system that cannot reserve space is written to without.
	if err := f.Preallocate(0, w.segmentBytes); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if f.Fd() == vfs.InvalidFd {
		return nil // no real file
	}
	// A file that does not grow while it is written needs no metadata synced:
	// 5.0k instead of 3.2k write+fdatasync a second, measured on ext4.
	if _, err := f.WriteAt([]byte{0}, w.segmentBytes-1); err != nil {
		return err
	}
	return f.Sync()
}

// active is the segment being written.
func (w *segmentWriter) active() *segmentInfo { return &w.segments[len(w.segments)-1] }

// roomBytes is how much can be written without asking the disk for space.
func (w *segmentWriter) roomBytes() int64 {
	room := int64(len(w.spares)) * w.segmentBytes
	if w.file != nil {
		room += max(0, w.segmentBytes-w.offset)
	}
	return room
}

// begin makes a spare the active segment, beginning with batch firstSeq.
func (w *segmentWriter) begin(firstSeq uint64, timeMs int64, durable uint64) error {
	if err := w.ensureSpare(); err != nil {
		return err
	}
	spare := w.spares[0]
	w.spares = append(w.spares[:0], w.spares[1:]...)
	h := segmentHeader{
		storeID: w.storeID, number: spare.number, previous: w.previous(),
		firstSeq: firstSeq, timeMs: timeMs, durable: durable,
	}
	if w.file != nil {
		w.retired = append(w.retired, w.file)
		w.active().sizeBytes = w.offset
	}
	w.segments = append(w.segments, segmentInfo{number: spare.number, firstSeq: firstSeq, timeMs: timeMs, path: spare.path})
	w.file, w.offset = spare.file, segmentHeaderBytes
	if _, err := w.file.WriteAt(h.encode(), 0); err != nil {
		return fmt.Errorf("write the header of %s: %w", spare.path, err)
	}
	w.writtenBytes.Add(segmentHeaderBytes)
	return nil
}

// ensureSpare makes a spare when the background has not made one yet.
func (w *segmentWriter) ensureSpare() error {
	if len(w.spares) > 0 {
		return nil
	}
	number := w.nextNumber
	w.nextNumber++
	s, err := w.createSpare(number)
	if err != nil {
		return err
	}
	w.spares = append(w.spares, s)
	return nil
}

// addSpare takes a spare that createSpare made. Segments are used in order of
// their numbers, so one that the writer could not wait for is removed.
func (w *segmentWriter) addSpare(s spareSegment) error {
	if len(w.segments) > 0 && s.number < w.active().number || len(w.spares) > 0 && s.number < w.spares[len(w.spares)-1].number {
		return errors.Join(s.file.Close(), w.fs.Remove(s.path))
	}
	w.spares = append(w.spares, s)
	return nil
}

// previous is the segment before a new one: the active one, or after a failure
// the one that the durable batches end in.
func (w *segmentWriter) previous() uint64 {
	if w.file != nil {
		return w.active().number
	}
	return w.syncedFrom
}

// write appends a frame, whose header it fills in, and moves on to the next
// segment first when the frame does not fit.
func (w *segmentWriter) write(frame []byte, f *frameRef, durable uint64) error {
	if !f.sealed {
		sealRecords(frame[frameHeaderBytes:], w.seed, f.firstSeq)
	}
	full := w.offset+int64(len(frame))+frameHeaderBytes > w.segmentBytes
	if full && w.offset > segmentHeaderBytes {
		if err := w.turn(f.firstSeq, f.timeMs, durable); err != nil {
			return err
		}
	}
	h := frameHeader{
		kind: frameData, sizeBytes: uint64(len(frame) - frameHeaderBytes),
		count: f.lastSeq - f.firstSeq + 1, firstSeq: f.firstSeq, timeMs: f.timeMs, durable: durable,
	}
	h.put(frame, w.seed)
	return w.append(frame)
}

// turn seals the active segment and begins the next one with batch firstSeq.
func (w *segmentWriter) turn(firstSeq uint64, timeMs int64, durable uint64) error {
	if err := w.ensureSpare(); err != nil {
		return err
	}
	seal := frameHeader{kind: frameSeal, firstSeq: firstSeq, timeMs: int64(w.spares[0].number), durable: durable}
	w.active().sealedFor = w.spares[0].number // whatever the write says: it may be there
	if err := w.mark(seal); err != nil {
		return err
	}
	return w.begin(firstSeq, timeMs, durable)
}

// mark appends a frame without batches.
func (w *segmentWriter) mark(h frameHeader) error {
	var frame [frameHeaderBytes]byte
	h.put(frame[:], w.seed)
	return w.append(frame[:])
}

func (w *segmentWriter) append(frame []byte) error {
	if _, err := w.file.WriteAt(frame, w.offset); err != nil {
		return fmt.Errorf("write %s at offset %d: %w", w.active().path, w.offset, err)
	}
	w.offset += int64(len(frame))
	w.writtenBytes.Add(int64(len(frame)))
	return nil
}

// abandon gives up every open segment after an error: their descriptors are
// never used again, but to close them. The spares stay.
func (w *segmentWriter) abandon() {
	w.abandoned = append(w.abandoned, w.retired...)
	w.retired = nil
	if w.file != nil {
		w.active().sizeBytes = w.offset
		w.abandoned = append(w.abandoned, w.file)
		w.file = nil
	}
}

// closeAbandoned closes what was abandoned, and takes the newest segments off as
// far as they hold nothing up to the batch durable.
func (w *segmentWriter) closeAbandoned(durable uint64) error {
	var errs []error
	for _, f := range w.abandoned {
		errs = append(errs, f.Close())
	}
	w.abandoned = nil
	if w.file != nil {
		return errors.Join(errs...)
	}
	keep := len(w.segments)
	for keep > 1 && w.segments[keep-1].firstSeq > durable && w.segments[keep-1].number != w.syncedFrom {
		keep--
	}
	named := keep
	for named < len(w.segments) && w.segments[named].number == w.segments[named-1].sealedFor {
		named++
	}
	w.replaced = append(w.replaced, w.segments[keep:named]...)
	for i := len(w.segments) - 1; i >= named; i-- { // a start must not find one without the one before it
		if err := errors.Join(w.fs.Remove(w.segments[i].path), syncDir(w.fs, w.dir)); err != nil {
			w.replaced = append(w.replaced, w.segments[named:i+1]...)
			errs = append(errs, err)
			break
		}
	}
	w.segments = w.segments[:keep]
	return errors.Join(errs...)
}

// close closes every file; nothing is written any more.
func (w *segmentWriter) close() error {
	var errs []error
	w.abandon()
	for _, f := range w.abandoned {
		errs = append(errs, f.Close())
	}
	for _, s := range w.spares {
		errs = append(errs, s.file.Close())
	}
	w.abandoned, w.spares = nil, nil
	return errors.Join(errs...)
}

// snapshot is the segments with how much of each can be read.
func (w *segmentWriter) snapshot() []segmentInfo {
	list := append([]segmentInfo(nil), w.segments...)
	if w.file != nil && len(list) > 0 {
		list[len(list)-1].sizeBytes = w.offset
	}
	return list
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
