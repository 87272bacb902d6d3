package lua

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file owns the library redis. It must not know commands.

// countedField is the member of an error's table that says that the error was
// counted already.
const countedField = "ignore_error_stats_update"

// What redis.set_repl takes. What a script changes is always kept whole, so the
// flags change nothing.
const (
	replNone    = 0
	replAOF     = 1
	replReplica = 2
	replAll     = replAOF | replReplica
)

func (st *State) redisLibrary() library {
	return library{redisName, map[string]lua.LGFunction{
		"call":  func(l *lua.LState) int { return st.callCommand(l, true, false) },
		"pcall": func(l *lua.LState) int { return st.callCommand(l, false, false) },
		"log":   st.log, "sha1hex": st.sha1hex, "error_reply": st.errorReply, "status_reply": st.statusReply,
		"setresp": st.setResp, "set_repl": st.setRepl, "acl_check_cmd": st.aclCheck,
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
		// There is no debugger; redis.breakpoint says so.
		"breakpoint": func(l *lua.LState) int { l.Push(lua.LFalse); return 1 },
		"debug":      func(*lua.LState) int { return 0 },
	}, map[string]lua.LValue{
		"LOG_DEBUG": lua.LNumber(LogDebug), "LOG_VERBOSE": lua.LNumber(LogVerbose),
		"LOG_NOTICE": lua.LNumber(LogNotice), "LOG_WARNING": lua.LNumber(LogWarning),
		"REPL_NONE": lua.LNumber(replNone), "REPL_AOF": lua.LNumber(replAOF), "REPL_SLAVE": lua.LNumber(replReplica),
		"REPL_REPLICA": lua.LNumber(replReplica), "REPL_ALL": lua.LNumber(replAll),
		"REDIS_VERSION": lua.LString(st.version.Text), "REDIS_VERSION_NUM": lua.LNumber(st.version.Number),
	}, false}
}

// argumentBuffer has the arguments of one call of a command.
type argumentBuffer struct {
	bytes []byte
	ends  []int
	argv  [][]byte
}

// argumentBufferMax is how large a buffer is kept for the next call.
const argumentBufferMax = 64 << 10

// arguments are the values on the stack as a command line, valid until the next
// call; "" or what is wrong with them. Numbers keep their precision.
func (st *State) arguments(l *lua.LState) (argv [][]byte, wrong string) {
	top := l.GetTop()
	if top == 0 {
		return nil, errNoArguments
	}
	b := &st.args
	b.bytes, b.ends, b.argv = b.bytes[:0], b.ends[:0], b.argv[:0]
	for i := 1; i <= top; i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			b.bytes = append(b.bytes, v...)
		case lua.LNumber:
			b.bytes = appendArgument(b.bytes, float64(v))
		default:
			return nil, errArguments
		}
		b.ends = append(b.ends, len(b.bytes))
	}
	from := 0
	for _, end := range b.ends {
		b.argv = append(b.argv, b.bytes[from:end:end])
		from = end
	}
	return b.argv, ""
}

// appendArgument prints a number as "%.17g".
func appendArgument(dst []byte, n float64) []byte {
	if n > -1e14 && n < 1e14 {
		return appendWide(dst, n)
	}
	return appendGeneral(dst, n, 17)
}

func appendWide(dst []byte, n float64) []byte {
	if integer := int64(n); float64(integer) == n && integer != 0 {
		return appendNumber(dst, n)
	}
	return appendGeneral(dst, n, 17)
}

// callCommand is redis.call and redis.pcall. What nobody reads is not converted.
func (st *State) callCommand(l *lua.LState, raises, discarded bool) int {
	if st.host == nil {
		st.raise(l, st.errorTable(errOutside))
	}
	argv, wrong := st.arguments(l)
	if wrong != "" {
		return st.refused(l, st.errorTable(wrong), raises)
	}
	answer := st.host.Call(argv, st.proto)
	if cap(st.args.bytes) > argumentBufferMax {
		st.args.bytes = nil
	}
	if len(answer) > 0 && answer[0] == '-' {
		return st.refused(l, fromReply(l, answer), raises)
	}
	if discarded {
		return 0
	}
	l.Push(fromReply(l, answer))
	return 1
}

// refused raises an error, or makes it the result.
func (st *State) refused(l *lua.LState, failure lua.LValue, raises bool) int {
	if raises {
		st.raise(l, failure)
	}
	l.Push(failure)
	return 1
}

// errorTable is an error as scripts have it.
func (st *State) errorTable(text string) *lua.LTable {
	t := st.l.CreateTable(0, 1)
	t.RawSetString("err", lua.LString(errorLine(text)))
	return t
}

func (st *State) log(l *lua.LState) int {
	top := l.GetTop()
	if top < 2 {
		st.raise(l, st.errorTable(errLogArguments))
	}
	level, ok := toNumber(l.Get(1))
	if !ok {
		st.raise(l, st.errorTable("First argument must be a number (log level)."))
	}
	if level < LogDebug || level > LogWarning {
		st.raise(l, st.errorTable(errLogLevel))
	}
	var line strings.Builder
	for i := 2; i <= top; i++ {
		if v := l.Get(i); isText(v) {
			if i > 2 {
				line.WriteByte(' ')
			}
			line.WriteString(text(v))
		}
	}
	if st.host != nil {
		st.host.Log(int(level), line.String())
	}
	return 0
}

func (st *State) sha1hex(l *lua.LState) int {
	if l.GetTop() != 1 {
		st.raise(l, st.errorTable(errSha1hex))
	}
	said := ""
	if v := l.Get(1); isText(v) {
		said = text(v)
	}
	digest := sha1.Sum([]byte(said))
	l.Push(lua.LString(hex.EncodeToString(digest[:])))
	return 1
}

func (st *State) errorReply(l *lua.LState) int {
	said, ok := l.Get(1).(lua.LString)
	if l.GetTop() != 1 || !ok {
		l.Push(st.errorTable(errOneString))
		return 1
	}
	l.Push(st.errorTable("-" + strings.TrimPrefix(string(said), "-")))
	return 1
}

func (st *State) statusReply(l *lua.LState) int {
	said, ok := l.Get(1).(lua.LString)
	if l.GetTop() != 1 || !ok {
		l.Push(st.errorTable(errOneString))
		return 1
	}
	t := l.CreateTable(0, 1)
	t.RawSetString("ok", said)
	l.Push(t)
	return 1
}

func (st *State) setResp(l *lua.LState) int {
	if l.GetTop() != 1 {
		st.raise(l, st.errorTable(errRespCount))
	}
	n, _ := toNumber(l.Get(1))
	if proto := int(n); proto == 2 || proto == 3 {
		st.proto = proto
		return 0
	}
	st.raise(l, st.errorTable(errRespVersion))
	return 0
}

func (st *State) setRepl(l *lua.LState) int {
	if l.GetTop() != 1 {
		st.raise(l, st.errorTable(errReplCount))
	}
	if n, _ := toNumber(l.Get(1)); int(n)&^replAll != 0 {
		st.raise(l, st.errorTable(errReplFlags))
	}
	return 0
}

func (st *State) aclCheck(l *lua.LState) int {
	if st.host == nil {
		st.raise(l, st.errorTable(errOutside))
	}
	argv, wrong := st.arguments(l)
	if wrong != "" {
		st.raise(l, st.errorTable(wrong))
	}
	allowed, known := st.host.Allowed(argv)
	if !known {
		st.raise(l, st.errorTable(errACLCommand))
	}
	l.Push(lua.LBool(allowed))
	return 1
}
