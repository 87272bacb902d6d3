package persistence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns reading a segment back: batch by batch, and judging what
// stands after the last good one. It must not know about other segments.

// segmentScan walks the batches of one segment's bytes.
type segmentScan struct {
	data   []byte
	seq    uint64 // of the next batch
	timeMs int64  // of the batch before
	at     int    // offset of what is read next
	// durable is the highest claim of durability seen so far.
	durable uint64
	// sealedFor is the number of the segment in which the journal goes on;
	// 0 while this one is not full.
	sealedFor uint64
	// reason says why the scan ended where it did; empty at unwritten space.
	reason string

	frameEnd int
	cutOff   bool // the file ends within the frame
	seed     uint32
}

// newSegmentScan reads the header and stands before the first batch.
func newSegmentScan(data []byte) (segmentHeader, segmentScan, error) {
	h, err := decodeSegmentHeader(data)
	if err != nil {
		return h, segmentScan{}, err
	}
	return h, segmentScan{
		data: data, seq: h.firstSeq, timeMs: h.timeMs,
		at: segmentHeaderBytes, frameEnd: segmentHeaderBytes, durable: h.durable,
		seed: checksumSeed(h.storeID),
	}, nil
}

// next reads the next batch into r, with its absolute sequence and time. It
// returns false where the good batches end: at is then the offset of the first
// byte that is not one, and reason says what is wrong there. It returns an
// error for a batch whose checksum is right and that is none nevertheless.
func (s *segmentScan) next(r *effect.Reader) (bool, error) {
	for s.at == s.frameEnd {
		if !s.openFrame() {
			return false, nil
		}
	}
	batch, used := cutRecord(s.data[s.at:s.frameEnd], s.seed, s.seq)
	if batch == nil {
		s.reason = fmt.Sprintf("the checksum of batch %d does not match", s.seq)
		return false, nil
	}
	reader, err := effect.NewReader(batch)
	if err != nil {
		return false, fmt.Errorf("offset %d: batch %d: %w", s.at, s.seq, err)
	}
	reader.Seq = s.seq
	reader.TimeMs += s.timeMs
	*r = reader
	s.timeMs = reader.TimeMs
	s.seq++
	s.at += used
	return true, nil
}

// openFrame steps into the frame at s.at.
func (s *segmentScan) openFrame() bool {
	if s.sealedFor != 0 || len(s.data)-s.at < frameHeaderBytes {
		return false
	}
	h, ok := decodeFrameHeader(s.data[s.at:], s.seed)
	if !ok {
		if !allZero(s.data[s.at : s.at+frameHeaderBytes]) {
			s.reason = "no frame begins here"
		}
		return false
	}
	body := len(s.data) - s.at - frameHeaderBytes
	if h.firstSeq != s.seq || (h.kind == frameData) != (h.count > 0) || (h.count > 0) != (h.sizeBytes > 0) {
		s.reason = fmt.Sprintf("the frame begins with batch %d, batch %d is due", h.firstSeq, s.seq)
		return false
	}
	s.durable = max(s.durable, h.durable)
	if h.kind == frameSeal {
		s.sealedFor = uint64(h.timeMs)
	}
	s.at += frameHeaderBytes
	// A frame cut off by the file's end still yields its whole records.
	s.frameEnd = s.at + int(min(h.sizeBytes, uint64(body)))
	s.cutOff = h.sizeBytes > uint64(body)
	if h.count > 0 {
		s.timeMs = h.timeMs
	}
	if uint64(body) < h.sizeBytes && body == 0 {
		s.reason = "the frame is cut off"
		return false
	}
	return true
}

// damage looks at what follows the last good batch and says why it cannot be
// the remains of writes that were never durable; it returns "" when it can.
//
// Two things prove damage: a frame further on that says that the missing batch
// was durable; or whole batches further on while no sector of what lies between
// is missing, for writes are lost by whole sectors, which then read as zeros.
func (s *segmentScan) damage() string {
	if s.reason == "" && allZero(s.data[s.at:]) {
		return ""
	}
	rest := s.evidence()
	if rest.durable >= s.seq {
		return fmt.Sprintf("%s, and batch %d was durable", s.why(), s.seq)
	}
	if rest.validAt > 0 && !missesSector(s.data, s.at, rest.validAt) {
		return fmt.Sprintf("%s, and whole batches follow at offset %d", s.why(), rest.validAt)
	}
	return ""
}

func (s *segmentScan) why() string {
	if s.reason == "" {
		return fmt.Sprintf("batch %d is missing", s.seq)
	}
	return s.reason
}

// evidence is what stands after the end of the good batches.
type evidence struct {
	durable uint64 // highest claim of durability
	validAt int    // offset of the first good frame or record; 0: none
}

func (s *segmentScan) evidence() evidence {
	var found evidence
	// A record in the same frame, if the length of the bad one can be trusted.
	if s.at < s.frameEnd {
		if _, to, ok := recordSpan(s.data[s.at:s.frameEnd]); ok && s.at+to < s.frameEnd {
			if batch, _ := cutRecord(s.data[s.at+to:s.frameEnd], s.seed, s.seq+1); batch != nil {
				found.validAt = s.at + to
			}
		}
	}
	for at := s.at; ; at++ {
		// The last three bytes of the magic are those of every kind of frame.
		i := bytes.Index(s.data[at:], frameMagicTail)
		if i < 0 {
			return found
		}
		at += i
		from := at - 5
		if from < s.at {
			continue
		}
		if h, ok := decodeFrameHeader(s.data[from:], s.seed); ok && h.firstSeq >= s.seq {
			found.durable = max(found.durable, h.durable)
			if found.validAt == 0 {
				found.validAt = from
			}
		}
	}
}

// frameMagicTail is where a frame's magic does not depend on its kind.
var frameMagicTail = binary.LittleEndian.AppendUint32(nil, frameMagic)[1:]

// missesSector says whether a sector's worth of data[from:to] was never
// written: it is zero up to the sector's end.
func missesSector(data []byte, from, to int) bool {
	for end := from - from%sectorBytes + sectorBytes; end <= to; end += sectorBytes {
		if allZero(data[max(from, end-sectorBytes):end]) {
			return true
		}
		// Less than a sector may be missing: it was written before, in part.
		if tail := end - 16; tail >= from && allZero(data[tail:end]) {
			return true
		}
	}
	return false
}

func allZero(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// readSegment returns the first limit bytes of a file, fewer when it is
// shorter; limit < 0 is all. It uses buf's memory when it is large enough.
func readSegment(fs vfs.FS, path string, limit int64, buf []byte) (data []byte, err error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if limit >= 0 {
		size = min(size, limit)
	}
	if int64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	n, err := f.ReadAt(buf, 0)
	if err == io.EOF && int64(n) == size {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return buf, nil
}
