package lua

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"reminis/commands/reply"
)

// This file owns interpreters: how they are made, kept, and run a script.

// Host runs commands for a script.
type Host interface {
	// Call runs a command and returns its reply, which is valid until the next
	// call. argv is valid during the call.
	Call(argv [][]byte, proto int) []byte
	// Allowed says whether the user of the script may run a command; known is
	// false if there is none of that name.
	Allowed(argv [][]byte) (allowed, known bool)
	// Log writes a line for the operator: level is one of LogDebug to LogWarning.
	Log(level int, text string)
	// Paused is called between two instructions after State.Pause; the script goes on
	// when it returns.
	Paused()
}

// The levels of Host.Log.
const (
	LogDebug = iota
	LogVerbose
	LogNotice
	LogWarning
)

// Interpreter makes scripts and the states that run them.
type Interpreter struct {
	version     Version
	env         *environment // of scripts
	functionEnv *environment // of libraries of functions
	idle        sync.Pool    // *State
}

// NewInterpreter returns an interpreter that presents itself as the given version
// of Redis.
func NewInterpreter(version Version) *Interpreter {
	blank := &State{version: version}
	in := &Interpreter{version: version, env: newEnvironment(blank.libraries())}
	in.functionEnv = newEnvironment(blank.libraries())
	in.functionEnv.loads = true
	in.idle.New = func() any { return newState(version, in.env, &in.idle) }
	return in
}

// Version is a version of Redis.
type Version struct {
	Text   string
	Number int
}

// Take takes a state for a run of a script, which Release gives back. The script's
// keys and arguments are copied.
func (in *Interpreter) Take(script *Script, keys, args [][]byte) *State {
	st := in.idle.Get().(*State)
	st.prepare()
	st.setParameters(st.strings(keys), st.strings(args))
	st.heavy = sizeBytes(keys)+sizeBytes(args) > parametersKept
	st.script, st.endless = script, !script.Bounded
	st.l.Push(st.main(script))
	st.pending = 0
	return st
}

// main is the function that runs a script.
func (st *State) main(script *Script) *lua.LFunction {
	if !script.split {
		return st.l.NewFunctionFromProto(script.proto)
	}
	if main := st.mains[script]; main != nil {
		return main
	}
	if len(st.mains) >= mainsMax || st.mains == nil {
		st.mains = map[*Script]*lua.LFunction{}
	}
	st.l.Push(st.l.NewFunctionFromProto(script.proto))
	st.l.Call(0, 1) // it makes functions, which cannot fail
	main := st.l.Get(-1).(*lua.LFunction)
	st.l.Pop(1)
	st.mains[script] = main
	return main
}

// Release gives a state back to where it came from. It must not be used any more.
func (st *State) Release() {
	st.host = nil
	if st.heavy {
		// Not nil: gopher-lua never gives the place of a removed name back.
		st.setParameters(lua.LFalse, lua.LFalse)
		st.heavy = false
	}
	// One that grew, or broke off in the middle of something, is not kept.
	if !st.worn {
		st.home.Put(st)
	}
}

// State is an interpreter with its libraries. It is for one goroutine at a time.
type State struct {
	l         *lua.LState
	sandbox   sandbox
	version   Version
	host      Host
	proto     int // of the replies that the script sees: 2, or what redis.setresp said
	random    random
	json      jsonSettings
	null      *lua.LUserData // cjson.null
	env       *environment
	raised    raised
	uncounted string // the error that was returned, unless a command made it
	depth     int    // of Go functions that call Lua functions
	stop      interrupt
	args      argumentBuffer
	worn      bool
	heavy     bool       // KEYS and ARGV are too large to be kept for nothing
	home      *sync.Pool // where it is kept
	// What is to be run stands on the stack: a function and so many arguments; endless
	// says that it may have to be stopped.
	pending int
	endless bool
	script  *Script // whose code it is
	mains   map[*Script]*lua.LFunction
	// loading is the library that is being loaded, nil for none; callbacks are the
	// functions of the one that was.
	loading   *loading
	callbacks map[string]*lua.LFunction
}

// raised is the last error that was raised by a function of ours, and where.
type raised struct {
	value  lua.LValue
	source string
	line   int
}

// The sizes of a state. A call of a Lua function takes a frame; values are on a
// stack, which begins small and grows.
const (
	framesMax      = 4000 // gopher-lua describes the stack of each error, in a time that grows with its square
	stackBegin     = 1 << 10
	stackGrow      = 1 << 12
	stackMax       = 1 << 20
	goCallsMax     = 190 // luaconf.h LUAI_MAXCCALLS, less what Redis itself uses
	unpackMax      = 8000
	mainsMax       = 64      // scripts whose functions a state keeps
	stackRemembers = 1 << 16 // a state whose stack grew larger is not kept
)

// One assignment must not take much: gopher-lua fills an array up to the index that is
// set, so that t[50000000] = 1 would take 800 MB.
var _ = boundArrays(4 << 20)

func boundArrays(elements int) bool {
	lua.MaxArrayIndex = elements
	return true
}

func newState(version Version, env *environment, home *sync.Pool) *State {
	st := &State{version: version, env: env, home: home}
	st.random.seed(rand.Int32())
	st.stop.paused = func() {
		if st.host != nil {
			st.host.Paused()
		}
	}
	st.l = lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: framesMax, MinimizeStackMemory: true,
		RegistrySize: stackBegin, RegistryGrowStep: stackGrow, RegistryMaxSize: stackMax,
	})
	if env.loads {
		load := st.loadLibrary()
		st.sandbox.build(st.l, env, st.libraries(), []library{st.hiddenLibrary(), load})
	} else {
		st.sandbox.build(st.l, env, st.libraries(), nil)
	}
	st.buildStrings()
	st.buildFaults()
	return st
}

// Run runs what the state was taken for. What it returns is written to w; an error
// is what ended it, and then nothing is written.
func (st *State) Run(host Host, w *reply.Writer) *Error {
	st.host, st.uncounted = host, ""
	if st.endless {
		st.l.SetContext(&st.stop)
		defer st.l.RemoveContext()
	}
	if err := st.l.PCall(st.pending, 1, nil); err != nil {
		return st.failure(err)
	}
	result := st.l.Get(-1)
	st.l.Pop(1)
	st.reply(w, result, 0)
	return nil
}

// Uncounted is the error that the run has returned, rather than raised, "" if it has
// not, or if it is one that a command of the script has made.
func (st *State) Uncounted() string { return st.uncounted }

// prepare makes the state as it is when a script begins.
func (st *State) prepare() {
	st.proto, st.depth = 2, 0
	st.json = newJSONSettings()
	st.raised = raised{}
	st.stop.reset()
}

func (st *State) setParameters(keys, args lua.LValue) {
	st.sandbox.setVisible(keysName, keys)
	st.sandbox.setVisible(argvName, args)
}

// parametersKept bounds the bytes of KEYS and ARGV, and some for each of their elements,
// that a state holds until it is taken again: taking them away costs as much as a call
// of a command.
const parametersKept = 4 << 10

// sizeBytes is about what texts take as values.
func sizeBytes(texts [][]byte) int {
	const each = 48
	size := each * len(texts)
	for _, text := range texts {
		size += len(text)
	}
	return size
}

// strings makes a table of texts, which share one copy.
func (st *State) strings(texts [][]byte) *lua.LTable {
	size := 0
	for _, each := range texts {
		size += len(each)
	}
	var all strings.Builder
	all.Grow(size)
	t := st.l.CreateTable(len(texts), 0)
	for _, each := range texts {
		from := all.Len()
		all.Write(each)
		t.Append(lua.LString(all.String()[from:]))
	}
	return t
}

// Stop ends what runs, with an error of that text. Any goroutine may call it, between
// Take and Release.
func (st *State) Stop(text string) { st.stop.set(text) }

// Pause has what runs call Host.Paused soon. Any goroutine may call it, at any time:
// nothing happens if nothing runs that could go on for long, and it may be the next
// script that pauses.
func (st *State) Pause() { st.stop.pause() }

// failure is the error that ended a script.
func (st *State) failure(err error) *Error {
	if text := st.stop.text(); text != "" {
		e := &Error{Text: "ERR " + text}
		e.Source, e.Line, _ = position(err.Error())
		return e
	}
	return st.explain(st.raisedBy(err))
}

// raisedBy is the value that a call of a Lua function ended with.
func (st *State) raisedBy(err error) lua.LValue {
	failed, ok := err.(*lua.ApiError)
	if !ok {
		return lua.LString(err.Error())
	}
	if failed.Type != lua.ApiErrorPanic {
		return st.translate(failed.Object)
	}
	// The interpreter itself gave up, and says where only in the trace.
	st.worn = true
	_, trace, _ := strings.Cut(failed.StackTrace, "\n\t")
	if source, line, ok := position(trace); ok {
		where := fmt.Sprintf("%s:%d: ", source[1:], line)
		return st.translate(lua.LString(where + failed.Object.String()))
	}
	return st.translate(failed.Object)
}

// explain makes an error of what was raised: a table with a member err, or any
// other value.
func (st *State) explain(value lua.LValue) *Error {
	e := &Error{}
	if t, ok := value.(*lua.LTable); ok {
		e.Text = "ERR " + st.tostring(value)
		switch said := t.RawGetString("err").(type) {
		case lua.LString:
			e.Text = string(said)
		case lua.LNumber:
			e.Text = numberString(said)
		}
		e.Counted = t.RawGetString(countedField) == lua.LTrue
	} else {
		e.Text = "ERR " + st.tostring(value)
	}
	if st.raised.line > 0 && st.raised.value == value {
		e.Source, e.Line = "@"+st.raised.source, st.raised.line
	} else if s, ok := value.(lua.LString); ok {
		e.Source, e.Line, _ = position(string(s))
	}
	return e
}

// position reads where an error of the interpreter happened, which is in front of
// its text.
func position(text string) (source string, line int, ok bool) {
	source, rest, ok := strings.Cut(text, ":")
	if !ok {
		return "", 0, false
	}
	digits, _, ok := strings.Cut(rest, ":")
	line, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return "", 0, false
	}
	return "@" + source, line, true
}

// raise raises an error and remembers where.
func (st *State) raise(l *lua.LState, value lua.LValue) {
	st.raised = raised{value: value}
	st.raised.source, st.raised.line = lineOf(l)
	l.Error(value, 0)
}

// lineOf is the line of the innermost Lua function that runs.
func lineOf(l *lua.LState) (source string, line int) {
	for level := 1; ; level++ {
		frame, ok := l.GetStack(level)
		if !ok {
			return "", 0
		}
		if _, err := l.GetInfo("Sl", frame, lua.LNil); err == nil && frame.CurrentLine > 0 {
			return frame.Source, frame.CurrentLine
		}
	}
}

// call calls a function from Go; the results stand on the stack then.
func (st *State) call(l *lua.LState, arguments, results int) {
	st.enter(l)
	l.Call(arguments, results)
	st.depth--
}

// enter counts a call from Go, of which there may not be too many inside each
// other: Go's stack cannot be given back to an error once it is exhausted.
func (st *State) enter(l *lua.LState) {
	if st.depth++; st.depth > goCallsMax {
		l.RaiseError("C stack overflow")
	}
}
