package lua

import (
	"fmt"
	"math"
	"runtime/metrics"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file owns the global functions of Lua 5.1 (lbaselib.c), and the hidden ones
// that the rewriter calls.

// libraries are all that scripts see, but for the two tables of parameters.
func (st *State) libraries() []library {
	return []library{
		st.baseLibrary(), st.hiddenLibrary(), st.redisLibrary(), st.stringLibrary(), st.tableLibrary(), st.mathLibrary(),
		st.coroutineLibrary(), st.bitLibrary(), st.jsonLibrary(), st.packLibrary(), st.structLibrary(),
	}
}

func (st *State) baseLibrary() library {
	return library{"", map[string]lua.LGFunction{
		"assert": st.assert, "collectgarbage": collectGarbage, "error": st.errorFunction, "gcinfo": gcInfo,
		"getmetatable": st.getMetatable, "ipairs": st.ipairs, "load": st.load, "loadstring": st.loadString,
		"next": st.next, "pairs": st.pairs, "pcall": st.pcall, "rawequal": rawEqual, "rawget": st.rawGet,
		"rawset": st.rawSet, "select": selectFunction, "setmetatable": st.setMetatable, "tonumber": toNumberFunction,
		"tostring": st.toStringFunction, "type": typeFunction, "unpack": st.unpack, "xpcall": st.xpcall,
	}, map[string]lua.LValue{"_VERSION": lua.LString("Lua 5.1")}, false}
}

// hiddenLibrary is what only the rewriter and other functions call.
func (st *State) hiddenLibrary() library {
	return library{"", map[string]lua.LGFunction{
		hiddenConcat: st.concat, hiddenLimit: forLimit, hiddenModulo: st.modulo, hiddenNext: st.next, hiddenIpairs: st.ipairsStep,
		memberName(redisName, "call") + discardMark:  func(l *lua.LState) int { return st.callCommand(l, true, true) },
		memberName(redisName, "pcall") + discardMark: func(l *lua.LState) int { return st.callCommand(l, false, true) },
	}, nil, true}
}

// What pairs and ipairs hand to the loop.
const (
	hiddenNext   = "(next)"
	hiddenIpairs = "(ipairs)"
)

// argumentError is luaL_argerror; the name of the function is found in the frame,
// as PUC Lua does.
func argumentError(l *lua.LState, n int, function, message string) {
	l.RaiseError("bad argument #%d to '%s' (%s)", n, function, message)
}

// typeName is what errors call the type of argument n.
func typeName(l *lua.LState, n int) string {
	if n > l.GetTop() {
		return "no value"
	}
	return l.Get(n).Type().String()
}

func typeError(l *lua.LState, n int, function, expected string) {
	argumentError(l, n, function, expected+" expected, got "+typeName(l, n))
}

func checkAny(l *lua.LState, n int, function string) lua.LValue {
	if n > l.GetTop() {
		argumentError(l, n, function, "value expected")
	}
	return l.Get(n)
}

func checkTable(l *lua.LState, n int, function string) *lua.LTable {
	t, ok := l.Get(n).(*lua.LTable)
	if !ok {
		typeError(l, n, function, "table")
	}
	return t
}

func checkNumber(l *lua.LState, n int, function string) float64 {
	v, ok := toNumber(l.Get(n))
	if !ok {
		typeError(l, n, function, "number")
	}
	return float64(v)
}

// checkInt is luaL_checkint: a cast, which cuts.
func checkInt(l *lua.LState, n int, function string) int {
	return int(toInteger(checkNumber(l, n, function)))
}

func optionalInt(l *lua.LState, n int, function string, otherwise int) int {
	if l.Get(n) == lua.LNil {
		return otherwise
	}
	return checkInt(l, n, function)
}

func checkString(l *lua.LState, n int, function string) string {
	switch v := l.Get(n).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return numberString(v)
	}
	typeError(l, n, function, "string")
	return ""
}

func checkFunction(l *lua.LState, n int, function string) *lua.LFunction {
	f, ok := l.Get(n).(*lua.LFunction)
	if !ok {
		typeError(l, n, function, "function")
	}
	return f
}

// text is a string or number as a string, "nil" else.
func text(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return numberString(v)
	}
	return "nil"
}

func (st *State) assert(l *lua.LState) int {
	if lua.LVAsBool(checkAny(l, 1, "assert")) {
		return l.GetTop()
	}
	message := "assertion failed!"
	if l.GetTop() > 1 && l.Get(2) != lua.LNil {
		message = checkString(l, 2, "assert")
	}
	st.raise(l, lua.LString(where(l, 1)+message))
	return 0
}

// collectGarbage: memory is Go's, which collects when it must. What scripts ask for
// is answered and nothing else is done: a script must not stop the server.
func collectGarbage(l *lua.LState) int {
	option := "collect"
	if l.Get(1) != lua.LNil {
		option = checkString(l, 1, "collectgarbage")
	}
	switch option {
	case "count":
		l.Push(lua.LNumber(heapKilobytes()))
	case "collect", "stop", "restart", "setpause", "setstepmul":
		l.Push(lua.LNumber(0))
	case "step":
		l.Push(lua.LTrue)
	default:
		argumentError(l, 1, "collectgarbage", "invalid option '"+option+"'")
	}
	return 1
}

func heapKilobytes() float64 {
	sample := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	return float64(sample[0].Value.Uint64()) / 1024
}

func gcInfo(l *lua.LState) int {
	l.Push(lua.LNumber(math.Floor(heapKilobytes())))
	return 1
}

func (st *State) errorFunction(l *lua.LState) int {
	level := optionalInt(l, 2, "error", 1)
	value := l.Get(1)
	if said, ok := value.(lua.LString); ok && level > 0 {
		value = lua.LString(where(l, level)) + said
	}
	st.raise(l, value)
	return 0
}

// where is luaL_where: the position of the function at a level, if it is Lua's.
func where(l *lua.LState, level int) string {
	frame, ok := l.GetStack(level)
	if !ok {
		return ""
	}
	if _, err := l.GetInfo("Sl", frame, lua.LNil); err != nil || frame.CurrentLine <= 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", frame.Source, frame.CurrentLine)
}

func (st *State) getMetatable(l *lua.LState) int {
	v := checkAny(l, 1, "getmetatable")
	meta := l.GetMetatable(v)
	if own, ok := meta.(*lua.LTable); ok {
		if shown, hidden := st.sandbox.shown[own]; hidden {
			meta = shown
		}
	}
	l.Push(meta)
	return 1
}

func (st *State) setMetatable(l *lua.LState) int {
	t := checkTable(l, 1, "setmetatable")
	meta := l.Get(2)
	if _, ok := meta.(*lua.LTable); !ok && (meta != lua.LNil || l.GetTop() < 2) {
		argumentError(l, 2, "setmetatable", "nil or table expected")
	}
	st.writable(l, t)
	if old, ok := t.Metatable.(*lua.LTable); ok && old.RawGetString("__metatable") != lua.LNil {
		l.RaiseError("cannot change a protected metatable")
	}
	t.Metatable = meta
	l.SetTop(1)
	return 1
}

func (st *State) next(l *lua.LState) int {
	t := st.sandbox.open(checkTable(l, 1, "next"))
	key, value := t.Next(l.Get(2))
	if key == lua.LNil {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(key)
	l.Push(value)
	return 2
}

func (st *State) pairs(l *lua.LState) int {
	t := checkTable(l, 1, "pairs")
	l.Push(st.sandbox.globals.RawGetString(hiddenNext))
	l.Push(t)
	l.Push(lua.LNil)
	return 3
}

func (st *State) ipairs(l *lua.LState) int {
	t := checkTable(l, 1, "ipairs")
	l.Push(st.sandbox.globals.RawGetString(hiddenIpairs))
	l.Push(t)
	l.Push(lua.LNumber(0))
	return 3
}

func (st *State) ipairsStep(l *lua.LState) int {
	i := checkInt(l, 2, "ipairs") + 1
	t := st.sandbox.open(checkTable(l, 1, "ipairs"))
	value := t.RawGetInt(i)
	if value == lua.LNil {
		return 0
	}
	l.Push(lua.LNumber(i))
	l.Push(value)
	return 2
}

// pcall is Redis's: of an error that is a table with a member err, the function
// gets the text only (script_lua.c luaRedisPcall).
func (st *State) pcall(l *lua.LState) int {
	checkAny(l, 1, "pcall")
	failed := st.protected(l, l.GetTop()-1)
	if failed == nil {
		l.Insert(lua.LTrue, 1)
		return l.GetTop()
	}
	l.Push(lua.LFalse)
	l.Push(plainError(failed))
	return 2
}

// protected calls a function and returns what it raised, nil when it returned.
func (st *State) protected(l *lua.LState, arguments int) lua.LValue {
	depth := st.depth
	st.enter(l)
	err := l.PCall(arguments, lua.MultRet, nil)
	st.depth = depth
	if err == nil {
		return nil
	}
	return st.raisedBy(err)
}

func plainError(raised lua.LValue) lua.LValue {
	if t, ok := raised.(*lua.LTable); ok {
		switch said := t.RawGetString("err").(type) {
		case lua.LString, lua.LNumber:
			return said
		}
	}
	return raised
}

func (st *State) xpcall(l *lua.LState) int {
	checkAny(l, 2, "xpcall")
	handler := l.Get(2)
	l.SetTop(1)
	failed := st.protected(l, 0)
	if failed == nil {
		l.Insert(lua.LTrue, 1)
		return l.GetTop()
	}
	l.SetTop(0)
	l.Push(handler)
	l.Push(failed)
	if again := st.protected(l, 1); again != nil {
		l.SetTop(0)
		l.Push(lua.LFalse)
		l.Push(again)
		return 2
	}
	l.Insert(lua.LFalse, 1)
	return l.GetTop()
}

func rawEqual(l *lua.LState) int {
	a, b := checkAny(l, 1, "rawequal"), checkAny(l, 2, "rawequal")
	l.Push(lua.LBool(a == b))
	return 1
}

func (st *State) rawGet(l *lua.LState) int {
	t := checkTable(l, 1, "rawget")
	l.Push(st.sandbox.open(t).RawGet(checkAny(l, 2, "rawget")))
	return 1
}

func (st *State) rawSet(l *lua.LState) int {
	t := st.writable(l, checkTable(l, 1, "rawset"))
	l.RawSet(t, checkAny(l, 2, "rawset"), checkAny(l, 3, "rawset"))
	l.SetTop(1)
	return 1
}

func selectFunction(l *lua.LState) int {
	top := l.GetTop()
	if s, ok := l.Get(1).(lua.LString); ok && strings.HasPrefix(string(s), "#") {
		l.Push(lua.LNumber(top - 1))
		return 1
	}
	n := checkInt(l, 1, "select")
	if n < 0 {
		n = top + n
	} else if n > top {
		n = top
	}
	if n < 1 {
		argumentError(l, 1, "select", "index out of range")
	}
	return top - n
}

func toNumberFunction(l *lua.LState) int {
	base := optionalInt(l, 2, "tonumber", 10)
	if base == 10 {
		if n, ok := toNumber(checkAny(l, 1, "tonumber")); ok {
			l.Push(n)
			return 1
		}
		l.Push(lua.LNil)
		return 1
	}
	digits := checkString(l, 1, "tonumber")
	if base < 2 || base > 36 {
		argumentError(l, 2, "tonumber", "base out of range")
	}
	if n, ok := parseInBase(digits, base); ok {
		l.Push(n)
		return 1
	}
	l.Push(lua.LNil)
	return 1
}

func (st *State) toStringFunction(l *lua.LState) int {
	v := checkAny(l, 1, "tostring")
	if meta, ok := l.GetMetaField(v, "__tostring").(*lua.LFunction); ok {
		l.Push(meta)
		l.Push(v)
		st.call(l, 1, 1)
		return 1
	}
	l.Push(lua.LString(st.tostring(v)))
	return 1
}

// tostring is a value as a string, without its metatable.
func (st *State) tostring(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LNumber:
		return numberString(v)
	case *lua.LFunction:
		return fmt.Sprintf("function: %p", v)
	case *lua.LUserData:
		if v == st.null {
			return "userdata: (nil)"
		}
	}
	return v.String()
}

func typeFunction(l *lua.LState) int {
	l.Push(lua.LString(checkAny(l, 1, "type").Type().String()))
	return 1
}

func (st *State) unpack(l *lua.LState) int {
	t := st.sandbox.open(checkTable(l, 1, "unpack"))
	from := optionalInt(l, 2, "unpack", 1)
	to := t.Len()
	if l.Get(3) != lua.LNil {
		to = checkInt(l, 3, "unpack")
	}
	if from > to {
		return 0
	}
	if n := to - from + 1; n <= 0 || n >= unpackMax || !roomFor(l, n) {
		l.RaiseError("too many results to unpack")
	}
	for i := from; i <= to; i++ {
		l.Push(t.RawGetInt(i))
	}
	return to - from + 1
}

// roomFor says whether n values fit on the stack (lua_checkstack).
func roomFor(l *lua.LState, n int) bool { return l.GetTop()+n <= unpackMax }

// load gives code that was compiled at run time; it is rewritten as scripts are.
func (st *State) load(l *lua.LState) int {
	reader := checkFunction(l, 1, "load")
	name := "=(load)"
	if l.Get(2) != lua.LNil {
		name = checkString(l, 2, "load")
	}
	var source strings.Builder
	for {
		l.Push(reader)
		st.call(l, 0, 1)
		piece := l.Get(-1)
		l.Pop(1)
		s, ok := piece.(lua.LString)
		if piece == lua.LNil || ok && s == "" {
			break
		}
		if !ok {
			l.RaiseError("reader function must return a string")
		}
		source.WriteString(string(s))
	}
	return st.loaded(l, source.String(), name)
}

func (st *State) loadString(l *lua.LState) int {
	source := checkString(l, 1, "loadstring")
	name := source
	if l.Get(2) != lua.LNil {
		name = checkString(l, 2, "loadstring")
	}
	return st.loaded(l, source, name)
}

func (st *State) loaded(l *lua.LState, source, name string) int {
	script, err := compile(source, chunkName(name), st.env)
	if err != nil {
		l.Push(lua.LNil)
		l.Push(lua.LString(err.Error()))
		return 2
	}
	l.Push(l.NewFunctionFromProto(script.proto))
	return 1
}

// chunkName is how errors name a chunk (lobject.c luaO_chunkid).
func chunkName(name string) string {
	const longest = 60
	if name != "" && (name[0] == '=' || name[0] == '@') {
		return name[1:min(len(name), longest)]
	}
	line, _, more := strings.Cut(name, "\n")
	if room := longest - len(`[string "..."]`) - 1; len(line) > room {
		line, more = line[:room], true
	}
	if more {
		line += "..."
	}
	return `[string "` + line + `"]`
}

// concat joins operands from the right, two strings or numbers at a time, or by
// the metatable of one of them (lvm.c luaV_concat). Its first argument has the names
// of the operands.
func (st *State) concat(l *lua.LState) int {
	top := l.GetTop()
	size := 0
	for i := 2; i <= top; i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			size += len(v)
		case lua.LNumber:
			size += 24
		default:
			return st.concatSlowly(l, top)
		}
	}
	checkLength(l, size)
	joined := make([]byte, 0, size)
	for i := 2; i <= top; i++ {
		joined = appendText(joined, l.Get(i))
	}
	l.Push(lua.LString(joined))
	return 1
}

func appendText(dst []byte, v lua.LValue) []byte {
	switch v := v.(type) {
	case lua.LString:
		return append(dst, v...)
	case lua.LNumber:
		return appendNumber(dst, float64(v))
	}
	return dst
}

func (st *State) concatSlowly(l *lua.LState, top int) int {
	right := l.Get(top)
	for i := top - 1; i >= 2; i-- {
		left := l.Get(i)
		if isText(left) && isText(right) {
			joined := appendText(appendText(nil, left), right)
			checkLength(l, len(joined))
			right = lua.LString(joined)
			continue
		}
		meta := l.GetMetaField(left, "__concat")
		if meta == lua.LNil {
			meta = l.GetMetaField(right, "__concat")
		}
		if meta == lua.LNil {
			at, culprit := i, left
			if isText(left) {
				at, culprit = i+1, right
			}
			l.RaiseError("attempt to concatenate %s", named(operandName(l, at-2), culprit))
		}
		l.Push(meta)
		l.Push(left)
		l.Push(right)
		st.call(l, 2, 1)
		right = l.Get(-1)
		l.Pop(1)
	}
	l.Push(right)
	return 1
}

func isText(v lua.LValue) bool {
	t := v.Type()
	return t == lua.LTString || t == lua.LTNumber
}

// operandName is what the script calls an operand of a chain.
func operandName(l *lua.LState, at int) string {
	names := strings.Split(string(l.Get(1).(lua.LString)), "\x00")
	return names[at]
}

// named is a value in an error: local 'x' (a nil value), or a nil value.
func named(name string, v lua.LValue) string {
	if name == "" {
		return "a " + v.Type().String() + " value"
	}
	return name + " (a " + v.Type().String() + " value)"
}

// stringMax is the longest string that a script may make.
const stringMax = 512 << 20

func checkLength(l *lua.LState, size int) {
	if size < 0 || size > stringMax {
		l.RaiseError("string length overflow")
	}
}

// forLimit makes a number of a limit of a numeric for.
func forLimit(l *lua.LState) int {
	n, ok := toNumber(l.Get(1))
	if !ok {
		l.RaiseError("'for' %s must be a number", text(l.Get(2))+limitNoun(text(l.Get(2))))
	}
	l.Push(n)
	return 1
}

func limitNoun(which string) string {
	if which == "initial" {
		return " value"
	}
	return ""
}
