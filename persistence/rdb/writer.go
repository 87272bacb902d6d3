package rdb

// This file owns the writing of a file. It must not know where its bytes go.

import (
	"encoding/binary"
	"fmt"
	"io"

	"reminis/engine/dump"
)

// What a part is. The numbers are Redis's.
const (
	partSlot       = 244
	partFunction   = 245
	partFunctionRC = 246
	partModule     = 247
	partIdle       = 248
	partFrequency  = 249
	partAux        = 250
	partSizes      = 251
	partDeadlineMs = 252
	partDeadline   = 253
	partDatabase   = 254
	partEnd        = 255
)

const (
	magic = "REDIS"
	// noteField is the name of the field that says something of the next key.
	noteField = "reminis-record"
	// version is that of Redis 7.0, versionMax the last that is read: of Redis 7.4.
	version    = dump.Version
	versionMax = dump.VersionMax
	// checksumSince is the first version with a checksum.
	checksumSince = 5

	headBytes = len(magic) + 4
	sumBytes  = 8
)

// Options are how a file is written. The zero value is what Redis does.
type Options struct {
	// Plain leaves strings uncompressed (rdbcompression no) that are no part of a value.
	Plain bool
	// Unsummed leaves the checksum out (rdbchecksum no).
	Unsummed bool
}

// flushBytes is how much is gathered before it is written.
const flushBytes = 256 << 10

// Writer writes a file. The first error ends it; every method returns it then.
type Writer struct {
	out     io.Writer
	options Options
	form    dump.Form
	buf     []byte
	sum     uint64
	err     error
}

// NewWriter begins a file.
func NewWriter(out io.Writer, options Options) *Writer {
	w := &Writer{out: out, options: options, form: dump.Form{Plain: options.Plain}, buf: make([]byte, 0, flushBytes+flushBytes/4)}
	w.buf = fmt.Appendf(w.buf, "%s%04d", magic, version)
	return w
}

// Aux writes a field that tells of the server; a Redis passes over those that it
// does not know.
func (w *Writer) Aux(name, value string) error {
	w.buf = w.form.AppendString(append(w.buf, partAux), []byte(name))
	w.buf = w.form.AppendString(w.buf, []byte(value))
	return w.spill()
}

// Note writes what is said beside the next key, which a Redis passes over.
func (w *Writer) Note(note []byte) error {
	w.buf = w.form.AppendString(append(w.buf, partAux), []byte(noteField))
	w.buf = w.form.AppendString(w.buf, note)
	return w.spill()
}

// Function writes a library of functions.
func (w *Writer) Function(code []byte) error {
	w.buf = w.form.AppendString(append(w.buf, partFunction), code)
	return w.spill()
}

// Database says that the keys that follow are in db, and about how many of them
// there are, and with a deadline.
func (w *Writer) Database(db, keys, withDeadline int) error {
	w.buf = dump.AppendLength(append(w.buf, partDatabase), uint64(db))
	w.buf = dump.AppendLength(append(w.buf, partSizes), uint64(keys))
	w.buf = dump.AppendLength(w.buf, uint64(withDeadline))
	return w.spill()
}

// Key writes a key; value begins with its type. A deadline of 0 is none; of
// idleSeconds and frequency at most one is not negative.
func (w *Writer) Key(key, value []byte, deadlineMs, idleSeconds, frequency int64) error {
	if deadlineMs != 0 {
		w.buf = binary.LittleEndian.AppendUint64(append(w.buf, partDeadlineMs), uint64(deadlineMs))
	}
	if idleSeconds >= 0 {
		w.buf = dump.AppendLength(append(w.buf, partIdle), uint64(idleSeconds))
	} else if frequency >= 0 {
		w.buf = append(w.buf, partFrequency, byte(frequency))
	}
	w.buf = w.form.AppendString(append(w.buf, value[0]), key)
	w.buf = append(w.buf, value[1:]...)
	return w.spill()
}

// Close ends the file; what it goes to is not closed.
func (w *Writer) Close() error {
	w.buf = append(w.buf, partEnd)
	w.flush()
	if w.options.Unsummed {
		w.sum = 0
	}
	w.buf = binary.LittleEndian.AppendUint64(w.buf, w.sum)
	w.flush()
	return w.err
}

func (w *Writer) spill() error {
	if len(w.buf) >= flushBytes {
		w.flush()
	}
	return w.err
}

func (w *Writer) flush() {
	if !w.options.Unsummed {
		w.sum = dump.Checksum(w.sum, w.buf)
	}
	if w.err == nil {
		_, w.err = w.out.Write(w.buf)
	}
	w.buf = w.buf[:0]
}
