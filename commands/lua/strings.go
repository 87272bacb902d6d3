package lua

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file owns the library string (lstrlib.c), but for format, and what strings
// are in arithmetic.

func (st *State) stringLibrary() library {
	return library{name: "string", functions: map[string]lua.LGFunction{
		"byte": stringByte, "char": stringChar, "dump": stringDump, "find": st.find, "format": st.format,
		"gfind": st.gmatch, "gmatch": st.gmatch, "gsub": st.gsub, "len": stringLen, "lower": stringLower,
		"match": st.matchFunction, "rep": stringRep, "reverse": stringReverse, "sub": stringSub, "upper": stringUpper,
	}}
}

// buildStrings gives strings their metatable: the library, for methods, and
// arithmetic, which PUC Lua does on strings that are numbers.
func (st *State) buildStrings() {
	l := st.l
	meta := l.NewTable()
	globals := st.sandbox.globals
	if st.sandbox.later != nil {
		globals = st.sandbox.later
	}
	library := globals.RawGetString("string").(*lua.LTable)
	meta.RawSetString("__index", st.sandbox.behind[library])
	st.addArithmetic(meta)
	l.SetMetatable(lua.LString(""), meta)
	shown := l.NewTable()
	shown.RawSetString("__index", library)
	st.sandbox.shown[meta] = st.sandbox.protect(l, shown)
}

func stringLen(l *lua.LState) int {
	l.Push(lua.LNumber(len(checkString(l, 1, "len"))))
	return 1
}

// span is what positions i and j, which may count from the end, cut of a text: from
// is the first byte, to the one behind the last.
func span(length, i, j int) (from, to int) {
	if i < 0 {
		i = max(i+length+1, 0)
	}
	if j < 0 {
		j = max(j+length+1, 0)
	}
	i, j = max(i, 1), min(j, length)
	if i > j {
		return 0, 0
	}
	return i - 1, j
}

func stringSub(l *lua.LState) int {
	s := checkString(l, 1, "sub")
	from, to := span(len(s), checkInt(l, 2, "sub"), optionalInt(l, 3, "sub", -1))
	l.Push(lua.LString(s[from:to]))
	return 1
}

func stringReverse(l *lua.LState) int {
	s := checkString(l, 1, "reverse")
	out := make([]byte, len(s))
	for i := range len(s) {
		out[len(s)-1-i] = s[i]
	}
	l.Push(lua.LString(out))
	return 1
}

// Letters outside of ASCII are no letters in the C locale.

func stringLower(l *lua.LState) int { return mapBytes(l, "lower", 'A', 'Z') }
func stringUpper(l *lua.LState) int { return mapBytes(l, "upper", 'a', 'z') }

func mapBytes(l *lua.LState, function string, first, last byte) int {
	out := []byte(checkString(l, 1, function))
	for i, c := range out {
		if c >= first && c <= last {
			out[i] = c ^ 0x20
		}
	}
	l.Push(lua.LString(out))
	return 1
}

func stringRep(l *lua.LState) int {
	s := checkString(l, 1, "rep")
	n := max(checkInt(l, 2, "rep"), 0)
	if len(s) > 0 && n > stringMax/len(s) {
		l.RaiseError("not enough memory")
	}
	l.Push(lua.LString(strings.Repeat(s, n)))
	return 1
}

func stringByte(l *lua.LState) int {
	s := checkString(l, 1, "byte")
	i := optionalInt(l, 2, "byte", 1)
	from, to := span(len(s), i, optionalInt(l, 3, "byte", i))
	if to-from >= unpackMax {
		l.RaiseError("string slice too long")
	}
	for _, c := range []byte(s[from:to]) {
		l.Push(lua.LNumber(c))
	}
	return to - from
}

func stringChar(l *lua.LState) int {
	out := make([]byte, l.GetTop())
	for i := range out {
		c := checkInt(l, i+1, "char")
		if c < 0 || c > 255 {
			argumentError(l, i+1, "char", "invalid value")
		}
		out[i] = byte(c)
	}
	l.Push(lua.LString(out))
	return 1
}

// stringDump: there is no byte code to give away. What is given is not loaded, as
// Redis loads none (ldo.c f_parser).
func stringDump(l *lua.LState) int {
	checkFunction(l, 1, "dump")
	l.Push(lua.LString(byteCodeMark))
	return 1
}

// byteCodeMark is in front of byte code (lua.h LUA_SIGNATURE).
const byteCodeMark = "\x1bLua"

func (st *State) find(l *lua.LState) int          { return st.search(l, "find", true) }
func (st *State) matchFunction(l *lua.LState) int { return st.search(l, "match", false) }

// search is find and match.
func (st *State) search(l *lua.LState, function string, find bool) int {
	s, pattern := checkString(l, 1, function), checkString(l, 2, function)
	start := optionalInt(l, 3, function, 1)
	if start < 0 {
		start = max(start+len(s)+1, 1)
	}
	start = min(max(start, 1)-1, len(s))
	if find && (lua.LVAsBool(l.Get(4)) || !strings.ContainsAny(pattern, "^$*+?.([%-")) {
		at := strings.Index(s[start:], pattern)
		if at < 0 {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(lua.LNumber(start + at + 1))
		l.Push(lua.LNumber(start + at + len(pattern)))
		return 2
	}
	m := matcher{l: l, stop: &st.stop, text: s, pattern: pattern}
	begin := 0
	if strings.HasPrefix(pattern, "^") {
		begin = 1
	}
	for at := start; at <= len(s); at++ {
		m.captures = m.captures[:0]
		if end := m.match(at, begin); end >= 0 {
			if !find {
				return m.pushCaptures(at, end, true)
			}
			l.Push(lua.LNumber(at + 1))
			l.Push(lua.LNumber(end))
			return 2 + m.pushCaptures(at, end, false)
		}
		if begin == 1 {
			break
		}
	}
	l.Push(lua.LNil)
	return 1
}

// captured is capture i of a match from start to end; a pattern without captures
// captures all, when whole.
func (m *matcher) captured(i, start, end int) lua.LValue {
	if i >= len(m.captures) {
		if i > 0 {
			m.l.RaiseError("invalid capture index")
		}
		return lua.LString(m.text[start:end])
	}
	c := m.captures[i]
	switch c.length {
	case captureOpen:
		m.l.RaiseError("unfinished capture")
	case capturePosition:
		return lua.LNumber(c.from + 1)
	}
	return lua.LString(m.text[c.from : c.from+c.length])
}

func (m *matcher) pushCaptures(start, end int, whole bool) int {
	n := len(m.captures)
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		m.l.Push(m.captured(i, start, end))
	}
	return n
}

func (st *State) gmatch(l *lua.LState) int {
	s, pattern := checkString(l, 1, "gmatch"), checkString(l, 2, "gmatch")
	from := 0
	l.Push(l.NewFunction(func(l *lua.LState) int {
		m := matcher{l: l, stop: &st.stop, text: s, pattern: pattern}
		for at := from; at <= len(s); at++ {
			m.captures = m.captures[:0]
			if end := m.match(at, 0); end >= 0 {
				from = end
				if end == at {
					from++ // an empty match does not stand still
				}
				return m.pushCaptures(at, end, true)
			}
		}
		from = len(s) + 1
		return 0
	}))
	return 1
}

func (st *State) gsub(l *lua.LState) int {
	s, pattern := checkString(l, 1, "gsub"), checkString(l, 2, "gsub")
	replacement := l.Get(3)
	switch replacement.Type() {
	case lua.LTNumber, lua.LTString, lua.LTTable, lua.LTFunction:
	default:
		argumentError(l, 3, "gsub", "string/function/table expected")
	}
	most := optionalInt(l, 4, "gsub", len(s)+1)
	m := matcher{l: l, stop: &st.stop, text: s, pattern: pattern}
	begin, anchored := 0, strings.HasPrefix(pattern, "^")
	if anchored {
		begin = 1
	}
	var out []byte
	at, count := 0, 0
	for count < most {
		m.captures = m.captures[:0]
		end := m.match(at, begin)
		if end >= 0 {
			count++
			out = st.replace(&m, out, replacement, at, end)
			checkLength(l, len(out))
		}
		switch {
		case end > at:
			at = end
		case at < len(s):
			out = append(out, s[at])
			at++
		default:
			at = len(s) + 1
		}
		if at > len(s) || anchored {
			break
		}
	}
	if at < len(s) {
		out = append(out, s[at:]...)
	}
	l.Push(lua.LString(out))
	l.Push(lua.LNumber(count))
	return 2
}

// replace appends what stands for a match.
func (st *State) replace(m *matcher, out []byte, by lua.LValue, start, end int) []byte {
	l := m.l
	var value lua.LValue
	switch by := by.(type) {
	case lua.LString, lua.LNumber:
		return m.expand(out, text(by), start, end)
	case *lua.LTable:
		value = l.GetTable(by, m.captured(0, start, end))
	default:
		l.Push(by)
		n := m.pushCaptures(start, end, true)
		st.call(l, n, 1)
		value = l.Get(-1)
		l.Pop(1)
	}
	if lua.LVIsFalse(value) {
		return append(out, m.text[start:end]...)
	}
	if !isText(value) {
		l.RaiseError("invalid replacement value (a %s)", value.Type().String())
	}
	return appendText(out, value)
}

// expand appends a replacement text, in which %0 to %9 are captures.
func (m *matcher) expand(out []byte, by string, start, end int) []byte {
	for i := 0; i < len(by); i++ {
		c := by[i]
		if c != '%' {
			out = append(out, c)
			continue
		}
		i++
		switch {
		case i >= len(by):
			out = append(out, 0) // C reads the text's end
		case !isDigit(by[i]):
			out = append(out, by[i])
		case by[i] == '0':
			out = append(out, m.text[start:end]...)
		default:
			out = appendText(out, m.captured(int(by[i]-'1'), start, end))
		}
	}
	return out
}
