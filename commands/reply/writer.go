package reply

// This file owns the bytes of replies. It must not know commands, sessions
// (CLIENT REPLY, MULTI) or sockets.

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// Writer appends replies to a buffer. The zero value writes RESP2 to a buffer of
// its own. It is for one goroutine at a time.
type Writer struct {
	buf   []byte
	resp3 bool
	most  func() int
}

// BoundBy has most say how many bytes of a reply anybody would read, 0 for any
// number.
func (w *Writer) BoundBy(most func() int) { w.most = most }

// Bound is how many bytes of a reply anybody would read, 0 for any number. What is
// written beyond it is not cut; a reply that the client chooses the length of
// should look.
func (w *Writer) Bound() int {
	if w.most == nil {
		return 0
	}
	return w.most()
}

// Reset continues at the end of buf, which the caller gives away until Bytes.
func (w *Writer) Reset(buf []byte) { w.buf = buf }

// Bytes returns the buffer with all that was written. It is the caller's until the
// next write.
func (w *Writer) Bytes() []byte { return w.buf }

// SetProto chooses protocol 2 or 3 for what is written from now on.
func (w *Writer) SetProto(proto int) { w.resp3 = proto == 3 }

// Proto returns 2 or 3.
func (w *Writer) Proto() int {
	if w.resp3 {
		return 3
	}
	return 2
}

// OK writes the status OK.
func (w *Writer) OK() { w.buf = redcon.AppendOK(w.buf) }

// Status writes a simple string; line breaks in it become spaces.
func (w *Writer) Status(text string) { w.buf = redcon.AppendString(w.buf, text) }

// Error writes an error: its code, such as WRONGTYPE, and its text. Line breaks
// around the text are dropped and those within become spaces, as in Redis.
func (w *Writer) Error(code, text string) {
	w.buf = append(w.buf, '-')
	w.buf = append(w.buf, code...)
	w.buf = append(w.buf, ' ')
	w.errorText(text)
}

// ErrorLine writes an error whose code is part of the line.
func (w *Writer) ErrorLine(line string) {
	w.buf = append(w.buf, '-')
	w.errorText(line)
}

func (w *Writer) errorText(text string) {
	text = strings.Trim(text, "\r\n")
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		w.buf = append(w.buf, c)
	}
	w.buf = append(w.buf, '\r', '\n')
}

// Int writes an integer.
func (w *Writer) Int(value int64) {
	if value < 0 || value >= 1e8 {
		w.buf = append(strconv.AppendInt(append(w.buf, ':'), value, 10), '\r', '\n')
		return
	}
	// Most are lengths and counts: they are written from their last digit on.
	var line [11]byte
	at := len(line) - 2
	line[at], line[at+1] = '\r', '\n'
	for n := uint32(value); ; n /= 10 {
		at--
		line[at] = byte('0' + n%10)
		if n < 10 {
			break
		}
	}
	at--
	line[at] = ':'
	w.buf = append(w.buf, line[at:]...)
}

// Bulk writes a string; data is copied.
func (w *Writer) Bulk(data []byte) { w.buf = redcon.AppendBulk(w.buf, data) }

// BulkString writes a string.
func (w *Writer) BulkString(text string) { w.buf = redcon.AppendBulkString(w.buf, text) }

// BulkInt writes an integer as a string, as stored values are replied.
func (w *Writer) BulkInt(value int64) {
	var digits [20]byte
	w.buf = redcon.AppendBulk(w.buf, strconv.AppendInt(digits[:0], value, 10))
}

// Null writes the null: RESP2's null string.
func (w *Writer) Null() {
	if w.resp3 {
		w.buf = append(w.buf, "_\r\n"...)
		return
	}
	w.buf = redcon.AppendNull(w.buf)
}

// NullArray writes the null where an array is expected: RESP2's null array.
func (w *Writer) NullArray() {
	if w.resp3 {
		w.buf = append(w.buf, "_\r\n"...)
		return
	}
	w.buf = append(w.buf, "*-1\r\n"...)
}

// Array begins an array of n replies, which the caller writes next.
func (w *Writer) Array(n int) { w.buf = redcon.AppendArray(w.buf, n) }

// Map begins a map of n pairs: in RESP2 a flat array of keys and values.
func (w *Writer) Map(n int) { w.buf = w.aggregate(w.buf, kindMap, n) }

// Set begins a set of n replies: in RESP2 an array.
func (w *Writer) Set(n int) { w.buf = w.aggregate(w.buf, kindSet, n) }

// Push begins an out-of-band message of n replies: in RESP2 an array.
func (w *Writer) Push(n int) { w.buf = w.aggregate(w.buf, kindPush, n) }

// Attribute begins n pairs that describe the reply after them. RESP2 has no
// attributes: callers ask Proto first.
func (w *Writer) Attribute(n int) { w.buf = w.aggregate(w.buf, kindAttribute, n) }

// aggregate appends the header of an aggregate to dst.
func (w *Writer) aggregate(dst []byte, kind aggregateKind, n int) []byte {
	prefix := byte(kind)
	if !w.resp3 {
		prefix = '*'
		if kind == kindMap || kind == kindAttribute {
			n *= 2
		}
	}
	dst = append(dst, prefix)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}

// aggregateKind is the first byte of an aggregate in RESP3.
type aggregateKind byte

const (
	kindArray     aggregateKind = '*'
	kindMap       aggregateKind = '%'
	kindSet       aggregateKind = '~'
	kindPush      aggregateKind = '>'
	kindAttribute aggregateKind = '|'
)

// Double writes a double with 17 digits: in RESP2 as a string.
func (w *Writer) Double(value float64) {
	if w.resp3 {
		w.buf = append(w.buf, ',')
		w.buf = AppendDouble(w.buf, value)
		w.buf = append(w.buf, '\r', '\n')
		return
	}
	var digits [32]byte
	w.buf = redcon.AppendBulk(w.buf, AppendDouble(digits[:0], value))
}

// LongDouble writes an 80-bit double for people, without an exponent: in RESP2 as
// a string.
func (w *Writer) LongDouble(value LongDouble) {
	var digits [64]byte
	text := value.Append(digits[:0])
	if w.resp3 {
		w.buf = append(w.buf, ',')
		w.buf = append(w.buf, text...)
		w.buf = append(w.buf, '\r', '\n')
		return
	}
	w.buf = redcon.AppendBulk(w.buf, text)
}

// PlainDouble writes a double for people, as LongDouble does: 17 digits behind the
// point, without the zeros at the end, and no exponent.
func (w *Writer) PlainDouble(value float64) {
	var digits [64]byte
	text := bytes.TrimRight(strconv.AppendFloat(digits[:0], value, 'f', 17, 64), "0")
	text = bytes.TrimSuffix(text, []byte("."))
	if string(text) == "-0" {
		text = text[1:]
	}
	if w.resp3 {
		w.buf = append(w.buf, ',')
		w.buf = append(w.buf, text...)
		w.buf = append(w.buf, '\r', '\n')
		return
	}
	w.buf = redcon.AppendBulk(w.buf, text)
}

// BigNumber writes a decimal integer of any size: in RESP2 as a string.
func (w *Writer) BigNumber(digits string) {
	if w.resp3 {
		w.buf = append(w.buf, '(')
		w.buf = append(w.buf, digits...)
		w.buf = append(w.buf, '\r', '\n')
		return
	}
	w.BulkString(digits)
}

// Bool writes a boolean: in RESP2 the integer 1 or 0.
func (w *Writer) Bool(value bool) {
	text := ":0\r\n"
	switch {
	case w.resp3 && value:
		text = "#t\r\n"
	case w.resp3:
		text = "#f\r\n"
	case value:
		text = ":1\r\n"
	}
	w.buf = append(w.buf, text...)
}

// Verbatim writes a text with its format, of which three letters count, such as
// "txt": in RESP2 a string without the format.
func (w *Writer) Verbatim(format, text string) {
	if !w.resp3 {
		w.BulkString(text)
		return
	}
	w.buf = append(w.buf, '=')
	w.buf = strconv.AppendInt(w.buf, int64(len(text)+4), 10)
	w.buf = append(w.buf, '\r', '\n')
	for i := 0; i < 3; i++ {
		letter := byte(' ')
		if i < len(format) {
			letter = format[i]
		}
		w.buf = append(w.buf, letter)
	}
	w.buf = append(w.buf, ':')
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}

// Raw writes bytes that are RESP already, made by another Writer.
func (w *Writer) Raw(resp []byte) { w.buf = append(w.buf, resp...) }

// Mark returns the present end, for Truncate.
func (w *Writer) Mark() int { return len(w.buf) }

// Truncate takes back all that was written since Mark.
func (w *Writer) Truncate(mark int) { w.buf = w.buf[:mark] }

// AppendDouble appends a double as "%.17g" prints it, "inf", "-inf" or "nan".
func AppendDouble(dst []byte, value float64) []byte {
	switch {
	case math.IsInf(value, 1):
		return append(dst, "inf"...)
	case math.IsInf(value, -1):
		return append(dst, "-inf"...)
	case math.IsNaN(value):
		return append(dst, "nan"...)
	}
	// Integers of at most 15 digits print the same either way; -0 is no integer here.
	if integer := int64(value); value > -1e15 && value < 1e15 && float64(integer) == value &&
		(integer != 0 || !math.Signbit(value)) {
		return strconv.AppendInt(dst, integer, 10)
	}
	return strconv.AppendFloat(dst, value, 'g', 17, 64)
}
