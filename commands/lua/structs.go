package lua

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file owns the library struct: values in C's binary formats (lua_struct.c).

const (
	structIntMax   = 32 // bytes of the widest integer
	structAlignMax = 8  // what "!" alone means
)

func (st *State) structLibrary() library {
	return library{name: "struct", functions: map[string]lua.LGFunction{
		"pack": structPack, "unpack": structUnpack, "size": structSize,
	}}
}

// structFormat reads a format, option by option.
type structFormat struct {
	l     *lua.LState
	name  string // of the function
	rest  string
	big   bool
	align int
}

// newStructFormat begins a format, which ends at a NUL.
func newStructFormat(l *lua.LState, name string) structFormat {
	format, _, _ := strings.Cut(checkString(l, 1, name), "\x00")
	return structFormat{l: l, name: name, rest: format, align: 1}
}

// next is the next option, its size, and how many bytes align it at position at.
func (f *structFormat) next(at int) (option byte, size, padding int) {
	option, f.rest = f.rest[0], f.rest[1:]
	size = f.size(option)
	if size == 0 || option == 'c' {
		return option, size, 0
	}
	aligned := min(size, f.align)
	return option, size, (aligned - at&(aligned-1)) & (aligned - 1)
}

func (f *structFormat) size(option byte) int {
	switch option {
	case 'B', 'b', 'x':
		return 1
	case 'H', 'h':
		return 2
	case 'L', 'l', 'T', 'd':
		return 8
	case 'f':
		return 4
	case 'c':
		return f.number(1)
	case 'i', 'I':
		size := f.number(4)
		if size > structIntMax {
			f.l.RaiseError("integral size %d is larger than limit of %d", size, structIntMax)
		}
		return size
	}
	return 0
}

// number is the number that stands next in the format.
func (f *structFormat) number(otherwise int) int {
	if f.rest == "" || !isDigit(f.rest[0]) {
		return otherwise
	}
	n := 0
	for f.rest != "" && isDigit(f.rest[0]) {
		digit := int(f.rest[0] - '0')
		if n > (math.MaxInt32-digit)/10 {
			f.l.RaiseError("integral size overflow")
		}
		n, f.rest = n*10+digit, f.rest[1:]
	}
	return n
}

// control obeys an option that has no value.
func (f *structFormat) control(option byte) {
	switch option {
	case ' ':
	case '>':
		f.big = true
	case '<':
		f.big = false
	case '!':
		f.align = f.number(structAlignMax)
		if bits.OnesCount(uint(f.align)) != 1 {
			f.l.RaiseError("alignment %d is not a power of 2", f.align)
		}
	default:
		argumentError(f.l, 1, f.name, fmt.Sprintf("invalid format option '%s'", string([]byte{option})))
	}
}

// ordered brings the bytes of a little-endian number into the format's order.
func (f *structFormat) ordered(b []byte) []byte {
	if f.big {
		slices.Reverse(b)
	}
	return b
}

func structPack(l *lua.LState) int {
	f := newStructFormat(l, "pack")
	var out []byte
	argument := 2
	for f.rest != "" {
		option, size, padding := f.next(len(out))
		out = append(out, make([]byte, padding)...)
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			n := checkNumber(l, argument, "pack")
			value := toUnsigned(n)
			if n < 0 {
				value = uint64(toInteger(n))
			}
			out = append(out, f.ordered(littleEndian(value, size))...)
			argument++
		case 'x':
			out = append(out, 0)
		case 'f':
			b := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(checkNumber(l, argument, "pack"))))
			out = append(out, f.ordered(b)...)
			argument++
		case 'd':
			b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(checkNumber(l, argument, "pack")))
			out = append(out, f.ordered(b)...)
			argument++
		case 'c', 's':
			s := checkString(l, argument, "pack")
			argument++
			if size == 0 {
				size = len(s)
			}
			if len(s) < size {
				argumentError(l, argument, "pack", "string too short")
			}
			out = append(out, s[:size]...)
			if option == 's' {
				out = append(out, 0)
			}
		default:
			f.control(option)
		}
		checkLength(l, len(out))
	}
	l.Push(lua.LString(out))
	return 1
}

// littleEndian is the low bytes of a value; those above 64 bits are zero.
func littleEndian(value uint64, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(value)
		value >>= 8
	}
	return b
}

func structUnpack(l *lua.LState) int {
	f := newStructFormat(l, "unpack")
	data := checkString(l, 2, "unpack")
	at := optionalInt(l, 3, "unpack", 1)
	if at <= 0 {
		argumentError(l, 3, "unpack", "offset must be 1 or greater")
	}
	at--
	short := func(size int) {
		if size < 0 || size > len(data) || at > len(data)-size {
			argumentError(l, 2, "unpack", "data string too short")
		}
	}
	var values []lua.LValue
	for f.rest != "" {
		option, size, padding := f.next(at)
		at += padding
		short(size)
		if len(values) >= unpackMax {
			l.RaiseError("stack overflow (too many results)")
		}
		switch option {
		case 'x':
		case 'c':
			if size == 0 {
				n, ok := lua.LNumber(0), false
				if len(values) > 0 {
					n, ok = toNumber(values[len(values)-1])
				}
				if !ok {
					l.RaiseError("format 'c0' needs a previous size")
				}
				values = values[:len(values)-1]
				size = int(toInteger(float64(n)))
				short(size)
			}
			values = append(values, lua.LString(data[at:at+size]))
		case 's':
			end := strings.IndexByte(data[at:], 0)
			if end < 0 {
				l.RaiseError("unfinished string in data")
			}
			values = append(values, lua.LString(data[at:at+end]))
			size = end + 1
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I', 'f', 'd':
			values = append(values, f.decode(option, data[at:at+size]))
		default:
			f.control(option)
		}
		at += size
	}
	for _, v := range values {
		l.Push(v)
	}
	l.Push(lua.LNumber(at + 1))
	return len(values) + 1
}

// decode reads a number from bytes.
func (f *structFormat) decode(option byte, data string) lua.LValue {
	b := f.ordered([]byte(data))
	switch option {
	case 'f':
		return lua.LNumber(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case 'd':
		return lua.LNumber(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	value := uint64(0)
	for i := len(b) - 1; i >= 0; i-- {
		value = value<<8 | uint64(b[i])
	}
	if option >= 'A' && option <= 'Z' {
		return lua.LNumber(value)
	}
	if width := len(b) * 8; width > 0 && width < 64 {
		value = uint64(int64(value<<(64-width)) >> (64 - width))
	}
	return lua.LNumber(int64(value))
}

func structSize(l *lua.LState) int {
	f := newStructFormat(l, "size")
	at := 0
	for f.rest != "" {
		option, size, padding := f.next(at)
		at += padding
		switch {
		case option == 's':
			argumentError(l, 1, "size", "option 's' has no fixed size")
		case option == 'c' && size == 0:
			argumentError(l, 1, "size", "option 'c0' has no fixed size")
		}
		if !isDigit(option) && !isLetter(option) {
			f.control(option)
		}
		at += size
	}
	l.Push(lua.LNumber(at))
	return 1
}
