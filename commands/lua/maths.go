package lua

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// This file owns the library math (lmathlib.c), with Redis's random numbers.

func (st *State) mathLibrary() library {
	functions := map[string]lua.LGFunction{
		"atan2": ofTwo("atan2", math.Atan2), "fmod": ofTwo("fmod", remainder), "mod": ofTwo("fmod", remainder),
		"pow": ofTwo("pow", math.Pow), "frexp": mathFrexp, "ldexp": mathLdexp, "modf": mathModf, "max": mathMax, "min": mathMin,
		"random": st.mathRandom, "randomseed": st.mathRandomSeed,
	}
	for name, operate := range map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "ceil": math.Ceil, "cos": math.Cos,
		"cosh": math.Cosh, "exp": math.Exp, "floor": math.Floor, "log": math.Log, "log10": math.Log10, "sin": math.Sin,
		"sinh": math.Sinh, "sqrt": math.Sqrt, "tan": math.Tan, "tanh": math.Tanh,
		"deg": func(n float64) float64 { return n / (math.Pi / 180) },
		"rad": func(n float64) float64 { return n * (math.Pi / 180) },
	} {
		functions[name] = ofOne(name, operate)
	}
	return library{name: "math", functions: functions, values: map[string]lua.LValue{
		"pi": lua.LNumber(math.Pi), "huge": lua.LNumber(math.Inf(1)),
	}}
}

// modulo is Lua's %: the result has the sign of the divisor (luaconf.h luai_nummod).
func modulo(a, b float64) float64 { return a - math.Floor(a/b)*b }

// remainder is C's fmod; what is no number has the sign that x86 gives it.
func remainder(a, b float64) float64 {
	if r := math.Mod(a, b); !math.IsNaN(r) {
		return r
	}
	return math.Copysign(math.NaN(), -1)
}

func ofOne(function string, operate func(float64) float64) lua.LGFunction {
	return func(l *lua.LState) int {
		l.Push(lua.LNumber(operate(checkNumber(l, 1, function))))
		return 1
	}
}

func ofTwo(function string, operate func(a, b float64) float64) lua.LGFunction {
	return func(l *lua.LState) int {
		l.Push(lua.LNumber(operate(checkNumber(l, 1, function), checkNumber(l, 2, function))))
		return 1
	}
}

func mathFrexp(l *lua.LState) int {
	fraction, exponent := math.Frexp(checkNumber(l, 1, "frexp"))
	l.Push(lua.LNumber(fraction))
	l.Push(lua.LNumber(exponent))
	return 2
}

func mathLdexp(l *lua.LState) int {
	l.Push(lua.LNumber(math.Ldexp(checkNumber(l, 1, "ldexp"), checkInt(l, 2, "ldexp"))))
	return 1
}

func mathModf(l *lua.LState) int {
	n := checkNumber(l, 1, "modf")
	whole, fraction := math.Trunc(n), math.Copysign(n-math.Trunc(n), n)
	if math.IsInf(n, 0) {
		fraction = math.Copysign(0, n)
	}
	l.Push(lua.LNumber(whole))
	l.Push(lua.LNumber(fraction))
	return 2
}

func mathMax(l *lua.LState) int {
	best := checkNumber(l, 1, "max")
	for i := 2; i <= l.GetTop(); i++ {
		if n := checkNumber(l, i, "max"); n > best {
			best = n
		}
	}
	l.Push(lua.LNumber(best))
	return 1
}

func mathMin(l *lua.LState) int {
	best := checkNumber(l, 1, "min")
	for i := 2; i <= l.GetTop(); i++ {
		if n := checkNumber(l, i, "min"); n < best {
			best = n
		}
	}
	l.Push(lua.LNumber(best))
	return 1
}

// random is the generator of drand48's family that Redis uses, so that a script
// that seeds it draws the same numbers there and here (rand.c).
type random struct{ x uint64 }

const (
	randomFactor = 0x5DEECE66D
	randomAdd    = 0xB
	randomMax    = 1<<31 - 1
)

func (r *random) seed(n int32) { r.x = uint64(uint32(n))<<16 | 0x330E }

// next is a number from 0 to randomMax.
func (r *random) next() int32 {
	r.x = (r.x*randomFactor + randomAdd) & (1<<48 - 1)
	return int32(r.x >> 17)
}

func (st *State) mathRandom(l *lua.LState) int {
	r := float64(st.random.next()%randomMax) / randomMax
	switch l.GetTop() {
	case 0:
		l.Push(lua.LNumber(r))
	case 1:
		upper := checkInt(l, 1, "random")
		if upper < 1 {
			argumentError(l, 1, "random", "interval is empty")
		}
		l.Push(lua.LNumber(math.Floor(r*float64(upper)) + 1))
	case 2:
		lower, upper := checkInt(l, 1, "random"), checkInt(l, 2, "random")
		if lower > upper {
			argumentError(l, 2, "random", "interval is empty")
		}
		l.Push(lua.LNumber(math.Floor(r*float64(upper-lower+1)) + float64(lower)))
	default:
		l.RaiseError("wrong number of arguments")
	}
	return 1
}

func (st *State) mathRandomSeed(l *lua.LState) int {
	st.random.seed(int32(checkInt(l, 1, "randomseed")))
	return 0
}
