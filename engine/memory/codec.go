package memory

// This file owns the binary form of records. It knows no store; the form is on
// disk, so field numbers are appended and never reused.
//
//	byte    codec version, 1
//	byte    flags: 1 text, 2 pinned, bits 2-4 kind
//	uvarint version
//	varint  created, ms
//	varint  updated - created, ms
//	fields: uvarint number, uvarint length, bytes; numbers strictly ascending,
//	except that tags repeat theirs; absent fields are default
//
// A reader that meets a number it does not know keeps the field if the number
// is even and refuses the record if it is odd: so a newer version decides,
// field by field, whether older ones may ignore what it adds.

import (
	"encoding/binary"
	"math"
)

const codecVersion = 1

const (
	flagText   = 1 << 0
	flagPinned = 1 << 1
	kindShift  = 2
	kindMask   = 7
	flagsKnown = flagText | flagPinned | kindMask<<kindShift
)

// Field numbers. Value is the largest and comes last but for those of later
// versions.
const (
	fieldSeq        = 1
	fieldDeadline   = 2
	fieldSlide      = 3
	fieldConfidence = 4
	fieldValidFrom  = 5
	fieldValidUntil = 7
	fieldSchema     = 8
	fieldSource     = 10
	fieldTag        = 12
	fieldAnchor     = 14
	fieldOperator   = 16
	fieldTrace      = 18
	fieldReason     = 20
	fieldList       = 21 // four numbers: list, first, next, bytes of items
	fieldMeta       = 22
	fieldVector     = 24
	fieldValue      = 25
)

// Encode appends the record's binary form. Equal records have equal forms.
func Encode(dst []byte, r *Record) []byte {
	flags := byte(r.Kind&kindMask) << kindShift
	if r.Text {
		flags |= flagText
	}
	if r.Pinned {
		flags |= flagPinned
	}
	dst = append(dst, codecVersion, flags)
	dst = binary.AppendUvarint(dst, r.Version)
	dst = binary.AppendVarint(dst, r.CreatedMs)
	dst = binary.AppendVarint(dst, r.UpdatedMs-r.CreatedMs)
	dst = appendNumber(dst, fieldSeq, r.Seq)
	dst = appendTime(dst, fieldDeadline, r.DeadlineMs)
	dst = appendTime(dst, fieldSlide, r.SlideMs)
	if r.Confidence != DefaultConfidence {
		dst = append(dst, fieldConfidence, 8)
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(r.Confidence))
	}
	dst = appendTime(dst, fieldValidFrom, r.ValidFromMs)
	dst = appendTime(dst, fieldValidUntil, r.ValidUntilMs)
	dst = appendText(dst, fieldSchema, r.Schema)
	dst = appendText(dst, fieldSource, r.Source)
	for _, tag := range r.Tags {
		dst = appendText(dst, fieldTag, tag)
	}
	dst = appendText(dst, fieldAnchor, r.Anchor)
	dst = appendText(dst, fieldOperator, r.Operator)
	dst = appendText(dst, fieldTrace, r.Trace)
	dst = appendText(dst, fieldReason, r.Reason)
	if r.List != 0 {
		var room [4 * binary.MaxVarintLen64]byte
		dst = appendText(dst, fieldList, r.appendList(room[:0]))
	}
	dst = appendText(dst, fieldMeta, r.Meta)
	dst = appendText(dst, fieldVector, r.Vector)
	dst = appendText(dst, fieldValue, r.Value)
	return append(dst, r.Unknown...)
}

func appendNumber(dst []byte, field uint64, n uint64) []byte {
	if n == 0 {
		return dst
	}
	var buf [binary.MaxVarintLen64]byte
	return appendText(dst, field, buf[:binary.PutUvarint(buf[:], n)])
}

func appendTime(dst []byte, field uint64, timeMs int64) []byte {
	if timeMs == 0 {
		return dst
	}
	var buf [binary.MaxVarintLen64]byte
	return appendText(dst, field, buf[:binary.PutVarint(buf[:], timeMs)])
}

func appendText(dst []byte, field uint64, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, field)
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// DecodeHead reads the version of a stored record and when it was made, alone.
func DecodeHead(b []byte) (version uint64, updatedMs int64) {
	in := reader{all: b, what: "record"}
	in.bytes(2)
	version = in.uvarint()
	createdMs := in.varint()
	return version, createdMs + in.varint()
}

// Signals are what a recall ranks a record by, beside what finds it.
type Signals struct {
	UpdatedMs  int64
	Confidence float64
	Pinned     bool
}

// DecodeSignals reads the signals of a stored record, alone.
func DecodeSignals(b []byte) Signals {
	in := reader{all: b, what: "record"}
	in.byte()
	s := Signals{Confidence: DefaultConfidence, Pinned: in.byte()&flagPinned != 0}
	in.uvarint()
	createdMs := in.varint()
	s.UpdatedMs = createdMs + in.varint()
	for in.err == nil && in.left() > 0 {
		field := in.uvarint()
		body := in.text()
		if field < fieldConfidence {
			continue
		}
		if field == fieldConfidence && len(body) == 8 {
			s.Confidence = math.Float64frombits(binary.LittleEndian.Uint64(body))
		}
		break
	}
	return s
}

// DecodeValue reads the value of a stored record, alone. simple says that nothing
// else is needed to show it: it is no list, and has no schema that may be newer now.
func DecodeValue(b []byte) (value []byte, simple bool) {
	in := reader{all: b, what: "record"}
	in.bytes(2)
	in.uvarint()
	in.uvarint()
	in.uvarint()
	for in.err == nil && in.left() > 0 {
		field := in.uvarint()
		body := in.text()
		switch field {
		case fieldSchema, fieldList:
			return nil, false
		case fieldValue:
			return body, in.err == nil
		}
	}
	return nil, false
}

// Decode reads a record into r, whose slices then alias b; only Tags may
// allocate, and not when r is reused. Whatever the bytes are, it returns the
// record that was encoded, a *CorruptError or a *NewerError; r is unspecified
// after an error.
func Decode(b []byte, r *Record) error {
	r.Reset()
	in := reader{all: b, what: "record"}
	codec, flags := in.byte(), in.byte()
	if in.err == nil && codec != codecVersion {
		return &NewerError{What: "record", Codec: codec}
	}
	if flags&^flagsKnown != 0 {
		return &NewerError{What: "record", Codec: codec, Field: uint64(flags)}
	}
	r.Text = flags&flagText != 0
	r.Pinned = flags&flagPinned != 0
	r.Kind = Kind(flags >> kindShift & kindMask)
	r.Version = in.uvarint()
	r.CreatedMs = in.varint()
	r.UpdatedMs = r.CreatedMs + in.varint()
	last := uint64(0)
	for in.err == nil && in.left() > 0 {
		start := in.pos
		field := in.uvarint()
		body := in.text()
		if in.err != nil {
			break
		}
		if len(body) == 0 || field < last || (field == last && field != fieldTag) {
			return in.corruptAt(start)
		}
		last = field
		if field > fieldValue {
			if field%2 == 1 {
				return &NewerError{What: "record", Codec: codec, Field: field}
			}
			r.Unknown = b[start:]
			if err := in.skipUnknown(field); err != nil {
				return err
			}
			break
		}
		if !r.setField(field, body) {
			return in.corruptAt(start)
		}
	}
	return in.err
}

// setField stores one known field; false when its body makes no sense.
func (r *Record) setField(field uint64, body []byte) bool {
	switch field {
	case fieldSeq:
		n, size := binary.Uvarint(body)
		r.Seq = n
		return size == len(body) && shortest(body) && n != 0
	case fieldDeadline:
		return setTime(&r.DeadlineMs, body)
	case fieldSlide:
		return setTime(&r.SlideMs, body)
	case fieldConfidence:
		if len(body) != 8 {
			return false
		}
		r.Confidence = math.Float64frombits(binary.LittleEndian.Uint64(body))
		return r.Confidence >= 0 && r.Confidence < DefaultConfidence
	case fieldValidFrom:
		return setTime(&r.ValidFromMs, body)
	case fieldValidUntil:
		return setTime(&r.ValidUntilMs, body)
	case fieldSchema:
		r.Schema = body
	case fieldSource:
		r.Source = body
	case fieldTag:
		r.Tags = append(r.Tags, body)
	case fieldAnchor:
		r.Anchor = body
	case fieldOperator:
		r.Operator = body
	case fieldTrace:
		r.Trace = body
	case fieldReason:
		r.Reason = body
	case fieldList:
		return r.setList(body)
	case fieldMeta:
		r.Meta = body
	case fieldVector:
		r.Vector = body
	case fieldValue:
		r.Value = body
	default:
		return false
	}
	return true
}

func setTime(timeMs *int64, body []byte) bool {
	n, size := binary.Varint(body)
	*timeMs = n
	return size == len(body) && shortest(body) && n != 0
}

// shortest says that a varint has no byte too many, as encoders write it.
func shortest(body []byte) bool { return len(body) == 1 || body[len(body)-1] != 0 }

// reader walks encoded bytes; after the first error every method gives zero.
type reader struct {
	all  []byte
	pos  int
	what string
	err  error
}

func (in *reader) left() int { return len(in.all) - in.pos }

func (in *reader) corruptAt(pos int) error {
	in.err = &CorruptError{What: in.what, Offset: pos}
	return in.err
}

func (in *reader) byte() byte {
	if in.err != nil || in.left() < 1 {
		in.fail()
		return 0
	}
	in.pos++
	return in.all[in.pos-1]
}

func (in *reader) bytes(n int) []byte {
	if in.err != nil || n < 0 || in.left() < n {
		in.fail()
		return nil
	}
	in.pos += n
	return in.all[in.pos-n : in.pos : in.pos]
}

func (in *reader) uvarint() uint64 {
	if in.err != nil {
		return 0
	}
	n, size := binary.Uvarint(in.all[in.pos:])
	if size <= 0 || !shortest(in.all[in.pos:in.pos+size]) {
		in.fail()
		return 0
	}
	in.pos += size
	return n
}

func (in *reader) varint() int64 {
	n := in.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

// text reads a length and that many bytes.
func (in *reader) text() []byte {
	n := in.uvarint()
	if n > uint64(in.left()) {
		in.fail()
		return nil
	}
	return in.bytes(int(n))
}

func (in *reader) fail() {
	if in.err == nil {
		in.err = &CorruptError{What: in.what, Offset: in.pos}
	}
}

// skipUnknown walks the rest of a record, whose fields are all newer than this
// program, and refuses one that must be understood.
func (in *reader) skipUnknown(last uint64) error {
	for in.err == nil && in.left() > 0 {
		start := in.pos
		field := in.uvarint()
		body := in.text()
		switch {
		case in.err != nil:
		case len(body) == 0 || field < last:
			return in.corruptAt(start)
		case field%2 == 1:
			return &NewerError{What: in.what, Codec: codecVersion, Field: field}
		}
		last = field
	}
	return in.err
}
