package lua

import (
	"math"
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file owns what scripts read of operations on values that have them not: PUC
// Lua's errors, which name the variable (ldebug.c luaG_typeerror). It must not know
// what the operations do.
//
// gopher-lua asks the metatable of every value before it gives up, so nil, booleans,
// numbers, functions and coroutines get one that raises the error; scripts do not see
// it. Tables have none of that kind: what gopher-lua says of them is translated.
//
// A name is looked up by the line of the error, among what the script does there. If
// that leaves more than one, the error names none.

// siteKind is an operation that fails on some values.
type siteKind uint8

const (
	siteIndex siteKind = iota
	siteCall
	siteArithmetic
	siteLength
)

// site is where a script has such an operation.
type site struct {
	line int
	kind siteKind
	// names are what errors call the operands, "" for what has no name; key is a
	// constant that is indexed with.
	names [2]string
	key   string
}

// siteName is what a script calls an operand at a line, "" if that is not clear. key
// tells one index from another.
func (s *Script) siteName(line int, kind siteKind, operand int, key string) string {
	found, some := "", false
	for i := range s.sites {
		at := &s.sites[i]
		if at.line != line || at.kind != kind || kind == siteIndex && at.key != "" && at.key != key {
			continue
		}
		if some && found != at.names[operand] {
			return ""
		}
		found, some = at.names[operand], true
	}
	return found
}

// buildFaults gives the types their metatables.
func (st *State) buildFaults() {
	l := st.l
	index := l.NewFunction(func(l *lua.LState) int {
		return st.fault(l, siteIndex, 0, l.Get(1), text(l.Get(2)), "index")
	})
	meta := l.NewTable()
	meta.RawSetString("__index", index)
	meta.RawSetString("__newindex", index)
	meta.RawSetString("__call", l.NewFunction(func(l *lua.LState) int {
		return st.fault(l, siteCall, 0, l.Get(1), "", "call")
	}))
	meta.RawSetString("__len", l.NewFunction(func(l *lua.LState) int {
		return st.fault(l, siteLength, 0, l.Get(1), "", "get length of")
	}))
	st.addArithmetic(meta)
	st.sandbox.shown[meta] = lua.LNil
	noCall := l.NewTable() // functions are called
	meta.ForEach(func(key, value lua.LValue) {
		if key.String() != "__call" {
			noCall.RawSet(key, value)
		}
	})
	st.sandbox.shown[noCall] = lua.LNil
	for _, each := range []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(0), l} {
		l.SetMetatable(each, meta)
	}
	l.SetMetatable(index, noCall)
	st.null.Metatable = meta
}

const arithmeticVerb = "perform arithmetic on"

// fault raises the error of an operation on a value.
func (st *State) fault(l *lua.LState, kind siteKind, operand int, value lua.LValue, key, verb string) int {
	source, line := lineOf(l)
	name := ""
	if st.script != nil && source == st.script.proto.SourceName {
		name = st.script.siteName(line, kind, operand, key)
	}
	l.RaiseError("attempt to %s %s", verb, named(name, value))
	return 0
}

// addArithmetic gives a metatable the operations of arithmetic, which gopher-lua asks
// it for unless both operands are numbers.
func (st *State) addArithmetic(meta *lua.LTable) {
	for event, operate := range map[string]func(a, b float64) float64{
		"__add": func(a, b float64) float64 { return a + b },
		"__sub": func(a, b float64) float64 { return a - b },
		"__mul": func(a, b float64) float64 { return a * b },
		"__div": func(a, b float64) float64 { return a / b },
		"__mod": modulo, "__pow": math.Pow,
	} {
		meta.RawSetString(event, st.l.NewFunction(func(l *lua.LState) int { return st.arithmetic(l, event, operate) }))
	}
	meta.RawSetString("__unm", st.l.NewFunction(func(l *lua.LState) int {
		n, ok := toNumber(l.Get(1))
		if !ok {
			return st.fault(l, siteArithmetic, 0, l.Get(1), "", arithmeticVerb)
		}
		l.Push(-n)
		return 1
	}))
}

// arithmetic is an operation on strings that are numbers, or one that another operand
// knows, or a fault.
func (st *State) arithmetic(l *lua.LState, event string, operate func(a, b float64) float64) int {
	a, ok1 := toNumber(l.Get(1))
	b, ok2 := toNumber(l.Get(2))
	if ok1 && ok2 {
		l.Push(lua.LNumber(operate(float64(a), float64(b))))
		return 1
	}
	if n := st.otherOperand(l, event); n > 0 {
		return n
	}
	operand := 0
	if ok1 {
		operand = 1
	}
	return st.fault(l, siteArithmetic, operand, l.Get(operand+1), "", arithmeticVerb)
}

// modulo is the operator %.
func (st *State) modulo(l *lua.LState) int {
	a, ok1 := l.Get(1).(lua.LNumber)
	b, ok2 := l.Get(2).(lua.LNumber)
	if !ok1 || !ok2 {
		return st.arithmetic(l, "__mod", modulo)
	}
	l.Push(lua.LNumber(modulo(float64(a), float64(b))))
	return 1
}

// otherOperand has a table or userdata among the operands do an operation; it returns
// 0 when there is none that can.
func (st *State) otherOperand(l *lua.LState, event string) int {
	for i := 1; i <= 2; i++ {
		switch v := l.Get(i).(type) {
		case *lua.LTable, *lua.LUserData:
			meta := l.GetMetaField(v, event)
			if meta == lua.LNil || v == st.null {
				continue
			}
			l.SetTop(2)
			l.Insert(meta, 1)
			st.call(l, 2, 1)
			return 1
		}
	}
	return 0
}

// interpreterTexts are what gopher-lua says of tables, and PUC Lua's words for it.
var interpreterTexts = []struct {
	pattern *regexp.Regexp
	words   string
	kind    siteKind
	named   bool // a table is what the operation was on
}{
	{regexp.MustCompile(`attempt to call a non-function object$`), "attempt to call ", siteCall, true},
	{regexp.MustCompile(`__unm undefined$`), "attempt to perform arithmetic on ", siteArithmetic, true},
	{regexp.MustCompile(`cannot perform \w+ operation between table and \w+$`), "attempt to perform arithmetic on ", siteArithmetic, true},
	{regexp.MustCompile(`too many recursions in gettable$`), "loop in gettable", 0, false},
	{regexp.MustCompile(`too many recursions in settable$`), "loop in settable", 0, false},
	{regexp.MustCompile(`(lua callstack overflow|registry overflow|stack overflow)$`), "stack overflow", 0, false},
}

// translate says in PUC Lua's words what the interpreter raised.
func (st *State) translate(value lua.LValue) lua.LValue {
	said, ok := value.(lua.LString)
	if !ok || st.raised.value == value {
		return value
	}
	source, line, _ := position(string(said))
	for _, each := range interpreterTexts {
		at := each.pattern.FindStringIndex(string(said))
		if at == nil {
			continue
		}
		words := each.words
		if each.named {
			name := ""
			if st.script != nil && source == "@"+st.script.proto.SourceName {
				name = st.script.siteName(line, each.kind, 0, "")
			}
			words += strings.Replace(named(name, lua.LNil), "nil", "table", 1)
		}
		return said[:at[0]] + lua.LString(words)
	}
	if prefix, types, ok := strings.Cut(string(said), "attempt to compare "); ok {
		if a, b, ok := strings.Cut(types, " with "); ok && a == b {
			return lua.LString(prefix + "attempt to compare two " + a + " values")
		}
	}
	return value
}
