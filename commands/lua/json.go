package lua

import (
	"fmt"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file owns the library cjson: its settings and encoding (lua_cjson.c 2.1.0).
// Decoding is json_decode.go's.

// jsonSettings are what the functions of one cjson do.
type jsonSettings struct {
	sparseConvert bool
	sparseRatio   int
	sparseSafe    int
	encodeDepth   int
	decodeDepth   int
	precision     int
	keepBuffer    bool
	encodeInvalid invalidNumbers
	decodeInvalid bool
}

// invalidNumbers is what becomes of numbers that JSON has not.
type invalidNumbers uint8

const (
	invalidRefused invalidNumbers = iota
	invalidWritten
	invalidNull
)

func newJSONSettings() jsonSettings {
	return jsonSettings{
		sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000, precision: numberDigits,
		keepBuffer: true, decodeInvalid: true,
	}
}

// jsonDepthMax bounds what the depth can be set to: Redis ends where Lua's stack is
// full, which takes three values for each level.
const jsonDepthMax = unpackMax / 3

func (st *State) jsonLibrary() library {
	st.null = &lua.LUserData{Metatable: lua.LNil}
	return library{"cjson", st.jsonFunctions(&st.json), map[string]lua.LValue{
		"null": st.null, "_NAME": lua.LString("cjson"), "_VERSION": lua.LString("2.1.0"),
	}, false}
}

func (st *State) jsonFunctions(s *jsonSettings) map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"encode":                  func(l *lua.LState) int { return st.jsonEncode(l, s) },
		"decode":                  func(l *lua.LState) int { return st.jsonDecode(l, s) },
		"encode_sparse_array":     func(l *lua.LState) int { return jsonSparse(l, s) },
		"encode_max_depth":        func(l *lua.LState) int { return jsonInt(l, "encode_max_depth", 1, &s.encodeDepth, 1, math.MaxInt32, 1) },
		"decode_max_depth":        func(l *lua.LState) int { return jsonInt(l, "decode_max_depth", 1, &s.decodeDepth, 1, math.MaxInt32, 1) },
		"encode_number_precision": func(l *lua.LState) int { return jsonInt(l, "encode_number_precision", 1, &s.precision, 1, 14, 1) },
		"encode_keep_buffer":      func(l *lua.LState) int { return jsonBool(l, "encode_keep_buffer", &s.keepBuffer) },
		"encode_invalid_numbers":  func(l *lua.LState) int { return jsonInvalid(l, s) },
		"decode_invalid_numbers":  func(l *lua.LState) int { return jsonBool(l, "decode_invalid_numbers", &s.decodeInvalid) },
		"new":                     st.jsonNew,
	}
}

// jsonNew makes another cjson, with settings of its own.
func (st *State) jsonNew(l *lua.LState) int {
	settings := newJSONSettings()
	t := l.NewTable()
	for name, function := range st.jsonFunctions(&settings) {
		t.RawSetString(name, l.NewFunction(function))
	}
	t.RawSetString("null", st.null)
	t.RawSetString("_NAME", lua.LString("cjson"))
	t.RawSetString("_VERSION", lua.LString("2.1.0"))
	l.Push(t)
	return 1
}

func jsonArguments(l *lua.LState, function string, most int) {
	if l.GetTop() > most {
		argumentError(l, most+1, function, "found too many arguments")
	}
}

func jsonInt(l *lua.LState, function string, n int, setting *int, least, most, arguments int) int {
	jsonArguments(l, function, arguments)
	if l.Get(n) != lua.LNil {
		value := checkInt(l, n, function)
		if value < least || value > most {
			argumentError(l, 1, function, fmt.Sprintf("expected integer between %d and %d", least, most))
		}
		*setting = value
	}
	l.Push(lua.LNumber(*setting))
	return 1
}

func jsonBool(l *lua.LState, function string, setting *bool) int {
	jsonArguments(l, function, 3)
	switch v := l.Get(1).(type) {
	case *lua.LNilType:
	case lua.LBool:
		*setting = bool(v)
	default:
		*setting = jsonOption(l, function, "off", "on") == 1
	}
	l.Push(lua.LBool(*setting))
	return 1
}

// jsonOption is which of words the first argument is.
func jsonOption(l *lua.LState, function string, words ...string) int {
	said := checkString(l, 1, function)
	for i, word := range words {
		if word == said {
			return i
		}
	}
	argumentError(l, 1, function, "invalid option '"+said+"'")
	return 0
}

func jsonInvalid(l *lua.LState, s *jsonSettings) int {
	jsonArguments(l, "encode_invalid_numbers", 1)
	switch v := l.Get(1).(type) {
	case *lua.LNilType:
	case lua.LBool:
		s.encodeInvalid = invalidRefused
		if v {
			s.encodeInvalid = invalidWritten
		}
	default:
		s.encodeInvalid = invalidNumbers(jsonOption(l, "encode_invalid_numbers", "off", "on", "null"))
	}
	if s.encodeInvalid == invalidNull {
		l.Push(lua.LString("null"))
	} else {
		l.Push(lua.LBool(s.encodeInvalid == invalidWritten))
	}
	return 1
}

func jsonSparse(l *lua.LState, s *jsonSettings) int {
	const function = "encode_sparse_array"
	jsonBool(l, function, &s.sparseConvert)
	l.Pop(1)
	jsonInt(l, function, 2, &s.sparseRatio, 0, math.MaxInt32, 3)
	l.Pop(1)
	jsonInt(l, function, 3, &s.sparseSafe, 0, math.MaxInt32, 3)
	l.Pop(1)
	l.Push(lua.LBool(s.sparseConvert))
	l.Push(lua.LNumber(s.sparseRatio))
	l.Push(lua.LNumber(s.sparseSafe))
	return 3
}

// jsonEncoder writes one value.
type jsonEncoder struct {
	st  *State
	l   *lua.LState
	s   *jsonSettings
	out []byte
}

func (st *State) jsonEncode(l *lua.LState, s *jsonSettings) int {
	if l.GetTop() != 1 {
		argumentError(l, 1, "encode", "expected 1 argument")
	}
	e := jsonEncoder{st: st, l: l, s: s}
	e.value(l.Get(1), 0)
	l.Push(lua.LString(e.out))
	return 1
}

func (e *jsonEncoder) refuse(v lua.LValue, reason string) {
	e.l.RaiseError("Cannot serialise %s: %s", v.Type().String(), reason)
}

func (e *jsonEncoder) value(v lua.LValue, depth int) {
	switch v := v.(type) {
	case lua.LString:
		e.string(string(v))
	case lua.LNumber:
		e.number(v)
	case lua.LBool:
		e.out = append(e.out, v.String()...)
	case *lua.LNilType:
		e.out = append(e.out, "null"...)
	case *lua.LTable:
		if depth++; depth > min(e.s.encodeDepth, jsonDepthMax) {
			e.l.RaiseError("Cannot serialise, excessive nesting (%d)", depth)
		}
		t := e.st.sandbox.open(v)
		if n := e.length(t); n > 0 {
			e.array(t, n, depth)
		} else {
			e.object(t, depth)
		}
		checkLength(e.l, len(e.out))
	case *lua.LUserData:
		if v != e.st.null {
			e.refuse(v, "type not supported")
		}
		e.out = append(e.out, "null"...)
	default:
		e.refuse(v, "type not supported")
	}
}

func (e *jsonEncoder) number(v lua.LNumber) {
	n := float64(v)
	if n-n != 0 { // infinite or not a number
		switch {
		case e.s.encodeInvalid == invalidRefused:
			e.refuse(v, "must not be NaN or Inf")
		case e.s.encodeInvalid == invalidNull:
			e.out = append(e.out, "null"...)
			return
		case math.IsNaN(n):
			e.out = append(e.out, "nan"...)
			return
		}
	}
	if e.s.precision == numberDigits {
		e.out = appendNumber(e.out, n)
		return
	}
	e.out = appendGeneral(e.out, n, e.s.precision)
}

// length is the number of elements of an array, -1 for what is none: with a key
// that is no positive integer, or so sparse that it is to be an object.
func (e *jsonEncoder) length(t *lua.LTable) int {
	largest, items := 0.0, 0
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		n, ok := key.(lua.LNumber)
		if !ok || n < 1 || math.Floor(float64(n)) != float64(n) {
			return -1
		}
		largest = max(largest, float64(n))
		items++
	}
	if e.s.sparseRatio > 0 && largest > float64(items*e.s.sparseRatio) && largest > float64(e.s.sparseSafe) {
		if !e.s.sparseConvert {
			e.refuse(t, "excessively sparse array")
		}
		return -1
	}
	return int(largest)
}

func (e *jsonEncoder) array(t *lua.LTable, n, depth int) {
	e.out = append(e.out, '[')
	for i := 1; i <= n; i++ {
		if i > 1 {
			e.out = append(e.out, ',')
		}
		e.value(t.RawGetInt(i), depth)
	}
	e.out = append(e.out, ']')
}

func (e *jsonEncoder) object(t *lua.LTable, depth int) {
	e.out = append(e.out, '{')
	first := true
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		switch k := key.(type) {
		case lua.LString:
			e.string(string(k))
		case lua.LNumber:
			e.out = append(e.out, '"')
			e.number(k)
			e.out = append(e.out, '"')
		default:
			e.refuse(key, "table key must be a number or string")
		}
		e.out = append(e.out, ':')
		e.value(value, depth)
	}
	e.out = append(e.out, '}')
}

// string writes a string; bytes outside of ASCII are written as they are.
func (e *jsonEncoder) string(s string) {
	e.out = append(e.out, '"')
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"' || c == '\\' || c == '/':
			e.out = append(e.out, '\\', c)
		case c >= 0x20 && c != 0x7f:
			e.out = append(e.out, c)
		default:
			if at := strings.IndexByte("\b\t\n\f\r", c); at >= 0 {
				e.out = append(e.out, '\\', "btnfr"[at])
				continue
			}
			const digits = "0123456789abcdef"
			e.out = append(e.out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	e.out = append(e.out, '"')
}
