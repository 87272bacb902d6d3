package rdb

// This file owns the reading of a file. It must not trust any byte of it, nor know
// what becomes of the keys.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"reminis/engine/dump"
)

var (
	// ErrNotRDB is returned for bytes that do not begin as a file does.
	ErrNotRDB = errors.New("it is no RDB file")
	// ErrVersion is returned for a file of a later version.
	ErrVersion = errors.New("its version is not known")
	// ErrChecksum is returned for a file that was changed.
	ErrChecksum = errors.New("CRC error")
	// ErrContent is returned for what this server has no place for: data of
	// modules, and types of later versions.
	ErrContent = errors.New("it has what cannot be loaded")
)

// Target takes what a file has, in its order. An error ends the reading.
type Target interface {
	// Function takes the code of a library.
	Function(code []byte) error
	// Note takes what is said beside the key that comes next, as Writer.Note wrote it. It
	// is valid during the call.
	Note(note []byte) error
	// Key takes a key. value is nil for a collection without elements, which old
	// servers wrote. key and value are valid during the call. A deadline of 0 is
	// none; idleSeconds and frequency are -1 when the file does not say.
	Key(db int, key []byte, value *dump.Value, deadlineMs, idleSeconds, frequency int64) error
}

// Read hands what a file has to a target. The file may be damaged at its very end,
// which is known only there: whoever gets an error must undo what was taken. read, if
// not nil, is told how many bytes were read; its error ends the reading, too.
func Read(data []byte, into Target, read func(bytes int) error) error {
	r := reader{data: data, into: into, Reader: dump.NewReader(data, dump.Limits{StringBytes: math.MaxInt, TotalBytes: math.MaxInt})}
	err := r.head()
	for err == nil && !r.ended {
		at := r.Offset()
		if err = r.part(); err != nil {
			err = fmt.Errorf("at byte %d of %d: %w", at, len(data), err)
		}
		if err == nil && read != nil {
			err = read(r.Offset())
		}
	}
	return err
}

// reader is one pass over a file.
type reader struct {
	*dump.Reader
	data    []byte
	into    Target
	version int
	ended   bool

	db                                 int
	deadlineMs, idleSeconds, frequency int64 // of the next key
}

// head reads what a file begins with.
func (r *reader) head() error {
	head, err := r.Bytes(headBytes)
	if err != nil || string(head[:len(magic)]) != magic {
		return ErrNotRDB
	}
	number, err := strconv.ParseUint(string(head[len(magic):]), 10, 16)
	if err != nil {
		return ErrNotRDB
	}
	if number < 1 || number > versionMax {
		return fmt.Errorf("%w: it is %d, 1 to %d are", ErrVersion, number, versionMax)
	}
	r.version = int(number)
	r.forget()
	return nil
}

// forget begins another key.
func (r *reader) forget() { r.deadlineMs, r.idleSeconds, r.frequency = 0, -1, -1 }

// part reads one part.
func (r *reader) part() error {
	first, err := r.Bytes(1)
	if err != nil {
		return err
	}
	switch first[0] {
	case partEnd:
		return r.end()
	case partDatabase:
		db, err := r.Length()
		if err == nil && db > math.MaxInt32 {
			err = fmt.Errorf("%d is no database", db)
		}
		r.db = int(db)
		return err
	case partSizes:
		return r.skipLengths(2)
	case partSlot:
		return r.skipLengths(3)
	case partDeadlineMs, partDeadline:
		return r.deadline(first[0])
	case partIdle:
		seconds, err := r.Length()
		r.idleSeconds = int64(min(seconds, math.MaxInt64))
		return err
	case partFrequency:
		counter, err := r.Bytes(1)
		if err == nil {
			r.frequency = int64(counter[0])
		}
		return err
	case partAux:
		return r.aux()
	case partFunction:
		code, err := r.String()
		if err == nil {
			err = r.into.Function(code)
		}
		return err
	case partFunctionRC:
		return fmt.Errorf("%w: functions as a release candidate of Redis 7.0 wrote them", ErrContent)
	case partModule:
		return fmt.Errorf("%w: data of a module", ErrContent)
	}
	return r.key(dump.Type(first[0]))
}

// aux reads a field of which only a note means anything here.
func (r *reader) aux() error {
	name, err := r.String()
	if err != nil {
		return err
	}
	isNote := string(name) == noteField
	value, err := r.String()
	if err == nil && isNote {
		err = r.into.Note(value)
	}
	return err
}

func (r *reader) skipLengths(count int) error {
	for ; count > 0; count-- {
		if _, err := r.Length(); err != nil {
			return err
		}
	}
	return nil
}

// deadline reads the deadline of the next key. A negative one has passed.
func (r *reader) deadline(unit byte) error {
	size := 8
	if unit == partDeadline {
		size = 4
	}
	data, err := r.Bytes(size)
	if err != nil {
		return err
	}
	if unit == partDeadline {
		r.deadlineMs = int64(int32(binary.LittleEndian.Uint32(data))) * 1000
	} else {
		r.deadlineMs = int64(binary.LittleEndian.Uint64(data))
	}
	if r.deadlineMs == 0 {
		r.deadlineMs = -1 // 0 would be none
	}
	return nil
}

// The types of values that modules have.
const (
	typeModule  = 6
	typeModule2 = 7
)

func (r *reader) key(t dump.Type) error {
	module := t == typeModule || t == typeModule2
	if !t.Known() && !module {
		return fmt.Errorf("%w: %d is no type or part that is known", ErrContent, t)
	}
	key, err := r.String()
	if err != nil {
		return err
	}
	if module {
		return fmt.Errorf("%w: key %.64q is of a module", ErrContent, key)
	}
	value, err := r.ValueOf(t)
	into := &value
	if errors.Is(err, dump.ErrEmpty) {
		into, err = nil, nil
	}
	if err == nil {
		err = r.into.Key(r.db, key, into, r.deadlineMs, r.idleSeconds, r.frequency)
	}
	if err != nil {
		return fmt.Errorf("key %.64q: %w", key, err)
	}
	r.forget()
	return nil
}

// end reads the checksum. 0 is that of a server which makes none.
func (r *reader) end() error {
	r.ended = true
	if r.version < checksumSince {
		return nil
	}
	at := r.Offset()
	data, err := r.Bytes(sumBytes)
	if err != nil {
		return err
	}
	stated := binary.LittleEndian.Uint64(data)
	if sum := dump.Checksum(0, r.data[:at]); stated != 0 && stated != sum {
		return fmt.Errorf("%w: the checksum is %x, the file says %x", ErrChecksum, sum, stated)
	}
	return nil
}
