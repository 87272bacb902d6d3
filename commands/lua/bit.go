package lua

import (
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

// This file owns the library bit: operations on 32 bits (lua_bit.c).

func (st *State) bitLibrary() library {
	return library{name: "bit", functions: map[string]lua.LGFunction{
		"tobit": func(l *lua.LState) int { return pushBits(l, checkBits(l, 1, "tobit")) },
		"bnot":  func(l *lua.LState) int { return pushBits(l, ^checkBits(l, 1, "bnot")) },
		"bswap": func(l *lua.LState) int { return pushBits(l, bits.ReverseBytes32(checkBits(l, 1, "bswap"))) },
		"tohex": bitToHex,

		"band": bitFold("band", func(a, b uint32) uint32 { return a & b }),
		"bor":  bitFold("bor", func(a, b uint32) uint32 { return a | b }),
		"bxor": bitFold("bxor", func(a, b uint32) uint32 { return a ^ b }),

		"lshift":  bitShift("lshift", func(b uint32, n int) uint32 { return b << n }),
		"rshift":  bitShift("rshift", func(b uint32, n int) uint32 { return b >> n }),
		"arshift": bitShift("arshift", func(b uint32, n int) uint32 { return uint32(int32(b) >> n) }),
		"rol":     bitShift("rol", bits.RotateLeft32),
		"ror":     bitShift("ror", func(b uint32, n int) uint32 { return bits.RotateLeft32(b, -n) }),
	}}
}

// checkBits takes the low 32 bits of a number: adding 2^52+2^51 brings them to the
// low end of the double, rounded to an integer.
func checkBits(l *lua.LState, n int, function string) uint32 {
	const shift = 1<<52 + 1<<51
	return uint32(math.Float64bits(checkNumber(l, n, function) + shift))
}

func pushBits(l *lua.LState, b uint32) int {
	l.Push(lua.LNumber(int32(b)))
	return 1
}

func bitFold(function string, operate func(a, b uint32) uint32) lua.LGFunction {
	return func(l *lua.LState) int {
		b := checkBits(l, 1, function)
		for i := l.GetTop(); i > 1; i-- {
			b = operate(b, checkBits(l, i, function))
		}
		return pushBits(l, b)
	}
}

func bitShift(function string, operate func(b uint32, n int) uint32) lua.LGFunction {
	return func(l *lua.LState) int {
		return pushBits(l, operate(checkBits(l, 1, function), int(checkBits(l, 2, function)&31)))
	}
}

func bitToHex(l *lua.LState) int {
	b := checkBits(l, 1, "tohex")
	n := int32(8)
	if l.GetTop() > 1 {
		n = int32(checkBits(l, 2, "tohex"))
	}
	digits := "0123456789abcdef"
	if n < 0 {
		n, digits = -max(n, -8), "0123456789ABCDEF"
	}
	out := make([]byte, min(n, 8))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = digits[b&15]
		b >>= 4
	}
	l.Push(lua.LString(out))
	return 1
}
