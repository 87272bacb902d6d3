// This file owns how one element is laid out. It must not know headers, nor
// what surrounds the element.

package listpack

import (
	"encoding/binary"
	"strconv"
)

// Element is a string or an integer.
type Element struct {
	Text []byte // the string; nil for an integer
	Int  int64  // the integer
}

// AppendTo appends the element's text to buf: an integer in decimal.
func (e Element) AppendTo(buf []byte) []byte {
	if e.Text == nil {
		return strconv.AppendInt(buf, e.Int, 10)
	}
	return append(buf, e.Text...)
}

// Equal reports whether the element's text is text. It does not allocate.
func (e Element) Equal(text []byte) bool {
	if e.Text == nil {
		n, isInt := ParseInt(text)
		return isInt && n == e.Int
	}
	return string(e.Text) == string(text)
}

// TextLen returns the length of the element's text in bytes.
func (e Element) TextLen() int {
	if e.Text != nil {
		return len(e.Text)
	}
	var buf [20]byte
	return len(strconv.AppendInt(buf[:0], e.Int, 10))
}

const (
	encodingString6  = 0x80
	encodingInt13    = 0xC0
	encodingString12 = 0xE0
	encodingString32 = 0xF0
	encodingInt16    = 0xF1
	encodingInt24    = 0xF2
	encodingInt32    = 0xF3
	encodingInt64    = 0xF4
)

// isShortString reports whether an element is a string of up to 63 bytes: it
// takes two bytes more.
func isShortString(first byte) bool { return first&0xC0 == encodingString6 }

// headBytes returns how many bytes tell an element's encoding and length, 0
// for a byte that begins no element.
func headBytes(first byte) int {
	switch {
	case first < encodingString12:
		return 1
	case first < encodingString32:
		return 2
	case first == encodingString32:
		return 5
	case first <= encodingInt64:
		return 1
	}
	return 0
}

// encodedBytes returns the length of an element without its backward length.
// data must hold what headBytes says.
func encodedBytes(data []byte) int {
	switch first := data[0]; {
	case first < encodingString6:
		return 1
	case first < encodingInt13:
		return 1 + int(first&0x3F)
	case first < encodingString12:
		return 2
	case first < encodingString32:
		return 2 + int(first&0x0F)<<8 + int(data[1])
	case first == encodingString32:
		// The clamp keeps a hostile length from overflowing a 32-bit int.
		return 5 + int(min(binary.LittleEndian.Uint32(data[1:]), 1<<31-6))
	case first == encodingInt16:
		return 3
	case first == encodingInt24:
		return 4
	case first == encodingInt32:
		return 5
	case first == encodingInt64:
		return 9
	}
	panic("listpack: not an element's first byte")
}

// elementBytes returns the whole length of the element at pos.
func elementBytes(lp []byte, pos int) int {
	encoded := encodedBytes(lp[pos:])
	return encoded + backLengthBytes(encoded)
}

// decode returns the element that data begins with, and its length without
// the backward length.
func decode(data []byte) (Element, int) {
	first := data[0]
	switch {
	case first < encodingString6:
		return Element{Int: int64(first)}, 1
	case first >= encodingInt13 && first < encodingString12:
		n := int64(first&0x1F)<<8 | int64(data[1])
		return Element{Int: n << 51 >> 51}, 2
	case first <= encodingString32:
		end := encodedBytes(data)
		head := headBytes(first)
		return Element{Text: data[head:end:end]}, end
	case first == encodingInt16:
		return Element{Int: int64(int16(binary.LittleEndian.Uint16(data[1:])))}, 3
	case first == encodingInt24:
		n := int64(data[1]) | int64(data[2])<<8 | int64(int8(data[3]))<<16
		return Element{Int: n}, 4
	case first == encodingInt32:
		return Element{Int: int64(int32(binary.LittleEndian.Uint32(data[1:])))}, 5
	case first == encodingInt64:
		return Element{Int: int64(binary.LittleEndian.Uint64(data[1:]))}, 9
	}
	panic("listpack: not an element's first byte")
}

// stringBytes returns the whole length of a string of textLen bytes.
func stringBytes(textLen int) int {
	encoded := stringHead(textLen) + textLen
	return encoded + backLengthBytes(encoded)
}

func stringHead(textLen int) int {
	switch {
	case textLen < 1<<6:
		return 1
	case textLen < 1<<12:
		return 2
	}
	return 5
}

// putString writes a string that takes stringBytes.
func putString(to, text []byte) {
	n := len(text)
	head := stringHead(n)
	switch head {
	case 1:
		to[0] = encodingString6 | byte(n)
	case 2:
		to[0], to[1] = encodingString12|byte(n>>8), byte(n)
	default:
		to[0] = encodingString32
		binary.LittleEndian.PutUint32(to[1:], uint32(n))
	}
	copy(to[head:], text)
	putBackLength(to[head+n:], head+n)
}

// intBytes returns the whole length of an integer.
func intBytes(n int64) int { return encodedIntBytes(n) + 1 }

func encodedIntBytes(n int64) int {
	switch {
	case n >= 0 && n < 1<<7:
		return 1
	case n >= -1<<12 && n < 1<<12:
		return 2
	case n >= -1<<15 && n < 1<<15:
		return 3
	case n >= -1<<23 && n < 1<<23:
		return 4
	case n >= -1<<31 && n < 1<<31:
		return 5
	}
	return 9
}

// putInt writes an integer that takes intBytes.
func putInt(to []byte, n int64) {
	encoded := encodedIntBytes(n)
	switch encoded {
	case 1:
		to[0] = byte(n)
	case 2:
		to[0], to[1] = encodingInt13|byte(n>>8)&0x1F, byte(n)
	case 3:
		to[0] = encodingInt16
		binary.LittleEndian.PutUint16(to[1:], uint16(n))
	case 4:
		to[0], to[1], to[2], to[3] = encodingInt24, byte(n), byte(n>>8), byte(n>>16)
	case 5:
		to[0] = encodingInt32
		binary.LittleEndian.PutUint32(to[1:], uint32(n))
	default:
		to[0] = encodingInt64
		binary.LittleEndian.PutUint64(to[1:], uint64(n))
	}
	putBackLength(to[encoded:], encoded)
}

// backLengthBytes returns how many bytes the backward length of an element
// takes. The bounds are those of Redis, each one below what its bytes could
// hold from the second on.
func backLengthBytes(encoded int) int {
	switch {
	case encoded <= 1<<7-1:
		return 1
	case encoded < 1<<14-1:
		return 2
	case encoded < 1<<21-1:
		return 3
	case encoded < 1<<28-1:
		return 4
	}
	return 5
}

// putBackLength writes it: seven bits a byte, the last byte the lowest, all
// but the first with the high bit set.
func putBackLength(to []byte, encoded int) {
	for i := backLengthBytes(encoded) - 1; i >= 0; i-- {
		to[i] = byte(encoded&0x7F | 0x80)
		encoded >>= 7
	}
	to[0] &= 0x7F
}

// backLength reads the backward length that ends before pos, or -1 when it is
// longer than five bytes.
func backLength(lp []byte, pos int) int {
	length := 0
	for i := range 5 {
		pos--
		length |= int(lp[pos]&0x7F) << (7 * i)
		if lp[pos]&0x80 == 0 {
			return length
		}
	}
	return -1
}

// ParseInt returns the integer that text is the decimal form of. There is one
// text for each integer: no sign but a minus, no leading zeros, no spaces.
func ParseInt(text []byte) (int64, bool) {
	digits := text
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(text) == 1
	}
	n := uint64(0) // 19 digits do not overflow it
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	switch {
	case negative && n <= 1<<63:
		return -int64(n), true
	case !negative && n < 1<<63:
		return int64(n), true
	}
	return 0, false
}
