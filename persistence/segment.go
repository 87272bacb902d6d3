package persistence

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// This file owns the bytes of a journal segment: header, frames and batch
// records. It must not know who writes or reads them, nor what an effect is.
//
// A segment is a header and then frames; a frame is what one flush wrote:
//
//	segment = header(64 bytes) frame*
//	frame   = frameHeader(48 bytes) record*
//	record  = crc32c(u32) length(uvarint) batch
//
// A record's sequence is its place: the frame names the first, and the checksum
// of a record is seeded with its sequence, so that a record at a wrong place is
// a bad record. The time inside a batch is relative to the batch before it.
//
// Segments are never recycled: what was not written reads as zero. That is how
// a torn write (zeros up to a sector's border) is told from damage.

const (
	segmentMagic       = "RMNSJRNL"
	segmentFormat      = 1
	segmentHeaderBytes = 64

	frameMagic       = 0x724a524d
	frameHeaderBytes = 48
	frameData        = 1 // records follow
	frameSeal        = 2 // the journal goes on in the next segment
	frameMark        = 3 // only says how far the journal is durable

	recordCRCBytes = 4
	// recordMax bounds the length of one batch, 1 TB: larger is damage.
	recordMax = 1 << 40
	// sectorBytes is the unit that a disk writes whole.
	sectorBytes = 512
)

// crcTable is Castagnoli's polynomial, which the processor computes.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// segmentHeader says which part of the journal a segment holds.
type segmentHeader struct {
	storeID  uint64
	number   uint64
	previous uint64 // number of the segment that holds firstSeq-1; 0: none
	firstSeq uint64
	timeMs   int64  // time of the batch before firstSeq
	durable  uint64 // what was durable when the segment was begun
}

func (h *segmentHeader) encode() []byte {
	buf := make([]byte, segmentHeaderBytes)
	copy(buf, segmentMagic)
	binary.LittleEndian.PutUint32(buf[8:], segmentFormat)
	binary.LittleEndian.PutUint64(buf[16:], h.storeID)
	binary.LittleEndian.PutUint64(buf[24:], h.number)
	binary.LittleEndian.PutUint64(buf[32:], h.previous)
	binary.LittleEndian.PutUint64(buf[40:], h.firstSeq)
	binary.LittleEndian.PutUint64(buf[48:], uint64(h.timeMs))
	binary.LittleEndian.PutUint64(buf[56:], h.durable)
	binary.LittleEndian.PutUint32(buf[12:], headerCRC(buf))
	return buf
}

// headerCRC covers all of the header but the checksum itself.
func headerCRC(buf []byte) uint32 {
	crc := crc32.Update(0, crcTable, buf[:12])
	return crc32.Update(crc, crcTable, buf[16:segmentHeaderBytes])
}

func decodeSegmentHeader(buf []byte) (segmentHeader, error) {
	if len(buf) < segmentHeaderBytes {
		return segmentHeader{}, fmt.Errorf("header has %d of %d bytes", len(buf), segmentHeaderBytes)
	}
	if string(buf[:8]) != segmentMagic {
		return segmentHeader{}, fmt.Errorf("header does not begin with %q", segmentMagic)
	}
	if format := binary.LittleEndian.Uint32(buf[8:]); format > segmentFormat {
		return segmentHeader{}, fmt.Errorf("%w: segment format %d, this build reads up to %d", ErrNewerFormat, format, segmentFormat)
	}
	if headerCRC(buf) != binary.LittleEndian.Uint32(buf[12:]) {
		return segmentHeader{}, fmt.Errorf("header checksum does not match")
	}
	return segmentHeader{
		storeID:  binary.LittleEndian.Uint64(buf[16:]),
		number:   binary.LittleEndian.Uint64(buf[24:]),
		previous: binary.LittleEndian.Uint64(buf[32:]),
		firstSeq: binary.LittleEndian.Uint64(buf[40:]),
		timeMs:   int64(binary.LittleEndian.Uint64(buf[48:])),
		durable:  binary.LittleEndian.Uint64(buf[56:]),
	}, nil
}

// frameHeader precedes the records of one write.
type frameHeader struct {
	kind      uint32
	sizeBytes uint64 // of the records
	count     uint64 // of records
	firstSeq  uint64
	// timeMs is the time of the batch before firstSeq; in a seal it is the
	// number of the segment in which the journal goes on.
	timeMs  int64
	durable uint64 // what was durable when the frame was written
}

func (h *frameHeader) put(buf []byte, seed uint32) {
	binary.LittleEndian.PutUint32(buf[4:], frameMagic^h.kind)
	binary.LittleEndian.PutUint64(buf[8:], h.sizeBytes)
	binary.LittleEndian.PutUint64(buf[16:], h.count)
	binary.LittleEndian.PutUint64(buf[24:], h.firstSeq)
	binary.LittleEndian.PutUint64(buf[32:], uint64(h.timeMs))
	binary.LittleEndian.PutUint64(buf[40:], h.durable)
	binary.LittleEndian.PutUint32(buf, crc32.Update(seed, crcTable, buf[4:frameHeaderBytes]))
}

// decodeFrameHeader returns false when buf does not begin with a frame.
func decodeFrameHeader(buf []byte, seed uint32) (frameHeader, bool) {
	if len(buf) < frameHeaderBytes {
		return frameHeader{}, false
	}
	kind := binary.LittleEndian.Uint32(buf[4:]) ^ frameMagic
	if kind < frameData || kind > frameMark {
		return frameHeader{}, false
	}
	if crc32.Update(seed, crcTable, buf[4:frameHeaderBytes]) != binary.LittleEndian.Uint32(buf) {
		return frameHeader{}, false
	}
	return frameHeader{
		kind:      kind,
		sizeBytes: binary.LittleEndian.Uint64(buf[8:]),
		count:     binary.LittleEndian.Uint64(buf[16:]),
		firstSeq:  binary.LittleEndian.Uint64(buf[24:]),
		timeMs:    int64(binary.LittleEndian.Uint64(buf[32:])),
		durable:   binary.LittleEndian.Uint64(buf[40:]),
	}, true
}

// recordCRC is the checksum of the batch that has sequence seq. Another start
// value gives another checksum, so a batch at a wrong place has a wrong one.
func recordCRC(seed uint32, seq uint64, batch []byte) uint32 {
	place := uint32(seq * 0x9e3779b97f4a7c15 >> 32)
	return crc32.Update(seed^place, crcTable, batch)
}

// checksumSeed makes the checksums of frames and records this store's own, so
// that a value holding the bytes of some journal never looks like a part of
// this one.
func checksumSeed(storeID uint64) uint32 {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], storeID)
	return crc32.Checksum(id[:], crcTable)
}

// sealRecords fills in the checksums of the records in buf, which begin with
// sequence seq. It returns how many there are.
func sealRecords(buf []byte, seed uint32, seq uint64) uint64 {
	count := uint64(0)
	for len(buf) > 0 {
		size, n := binary.Uvarint(buf[recordCRCBytes:])
		from := recordCRCBytes + n
		to := from + int(size)
		binary.LittleEndian.PutUint32(buf, recordCRC(seed, seq, buf[from:to]))
		buf = buf[to:]
		seq++
		count++
	}
	return count
}

// cutRecord splits the record that has sequence seq off buf. It returns a nil
// batch when buf does not begin with it.
func cutRecord(buf []byte, seed uint32, seq uint64) (batch []byte, used int) {
	from, to, ok := recordSpan(buf)
	if !ok || recordCRC(seed, seq, buf[from:to]) != binary.LittleEndian.Uint32(buf) {
		return nil, 0
	}
	return buf[from:to:to], to
}

// recordSpan is where the batch of the record at the start of buf lies,
// whatever its checksum says.
func recordSpan(buf []byte) (from, to int, ok bool) {
	if len(buf) < recordCRCBytes+1 {
		return 0, 0, false
	}
	size, n := binary.Uvarint(buf[recordCRCBytes:])
	from = recordCRCBytes + n
	if n <= 0 || size == 0 || size > recordMax || size > uint64(len(buf)-from) {
		return 0, 0, false
	}
	return from, from + int(size), true
}

const segmentSuffix = ".journal"

func segmentName(number uint64) string { return fmt.Sprintf("%012d%s", number, segmentSuffix) }

// segmentNumber returns false for a name that is not a segment's.
func segmentNumber(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil && number > 0 && segmentName(number) == name
}
