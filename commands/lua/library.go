package lua

import (
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// This file owns libraries of functions (function_lua.c): code that runs once and
// registers functions, which are called by name later. It must not know how
// libraries are kept.
//
// Redis has one interpreter, so that local variables of a library are shared by
// all calls. Here each state that runs a library's functions has loaded it, so a
// function must not rely on what an earlier call left in such a variable; Redis's
// documentation asks the same.

// Library is a compiled library. It is never changed.
type Library struct {
	Functions []Function // in order of registration
	script    *Script
	idle      sync.Pool // *State, that have loaded it
	in        *Interpreter
	flag      func(word string) bool
}

// Function is a function of a library.
type Function struct {
	Name        string
	Description string
	Described   bool
	Flags       []string
}

// loadTime is how long the code of a library may run.
const loadTime = 500 * time.Millisecond

// loading collects what the code of a library registers.
type loading struct {
	functions []Function
	callbacks map[string]*lua.LFunction
	flag      func(word string) bool
}

// CompileLibrary compiles the code of a library and runs it. flag says which words
// are flags of functions.
func (in *Interpreter) CompileLibrary(text string, flag func(word string) bool) (*Library, error) {
	script, err := compile(text, "user_function", in.functionEnv)
	if err != nil {
		return nil, parseError("Error compiling function: " + err.Error())
	}
	lib := &Library{script: script, in: in, flag: flag}
	st, functions, failed := lib.load()
	if failed != nil {
		return nil, parseError("Error registering functions: " + failed.Text)
	}
	lib.Functions = functions
	lib.idle.Put(st)
	return lib, nil
}

// load makes a state that has loaded the library.
func (lib *Library) load() (*State, []Function, *Error) {
	st := newState(lib.in.version, lib.in.functionEnv, &lib.idle)
	st.prepare()
	st.script = lib.script
	st.loading = &loading{callbacks: map[string]*lua.LFunction{}, flag: lib.flag}
	st.l.SetContext(&st.stop)
	late := time.AfterFunc(loadTime, func() { st.Stop("FUNCTION LOAD timeout") })
	st.l.Push(st.l.NewFunctionFromProto(lib.script.proto))
	err := st.l.PCall(0, 0, nil)
	late.Stop()
	st.l.RemoveContext()
	if err != nil {
		return nil, nil, st.failure(err)
	}
	functions := st.loading.functions
	st.callbacks = st.loading.callbacks
	st.loading = nil
	st.sandbox.loaded()
	return st, functions, nil
}

// Take takes a state for a call of one of the library's functions, which Release
// gives back. The keys and arguments are copied.
func (lib *Library) Take(function string, keys, args [][]byte) (*State, *Error) {
	st, ok := lib.idle.Get().(*State)
	if !ok {
		var failed *Error
		if st, _, failed = lib.load(); failed != nil {
			return nil, failed
		}
	}
	st.prepare()
	st.endless = true
	st.l.Push(st.callbacks[function])
	st.l.Push(st.strings(keys))
	st.l.Push(st.strings(args))
	st.pending = 2
	return st, nil
}

// loadLibrary is what the code of a library sees while it is loaded: a table redis
// that registers functions, and nothing else.
func (st *State) loadLibrary() library {
	l := library{name: redisName, functions: map[string]lua.LGFunction{
		"register_function": st.registerFunction, "log": st.log,
	}, values: map[string]lua.LValue{}}
	for name, value := range st.redisLibrary().values {
		if !strings.HasPrefix(name, "REPL_") {
			l.values[name] = value
		}
	}
	return l
}

func (st *State) registerFunction(l *lua.LState) int {
	if st.loading == nil {
		st.raise(l, st.errorTable("redis.register_function can only be called on FUNCTION LOAD command"))
	}
	var f Function
	var callback *lua.LFunction
	wrong := ""
	switch l.GetTop() {
	case 1:
		f, callback, wrong = st.namedArguments(l.Get(1))
	case 2:
		f, callback, wrong = positionalArguments(l.Get(1), l.Get(2))
	default:
		wrong = "wrong number of arguments to redis.register_function"
	}
	switch {
	case wrong != "":
	case !IsName(f.Name):
		wrong = ErrName
	case st.loading.callbacks[f.Name] != nil:
		wrong = "Function already exists in the library"
	}
	if wrong != "" {
		st.raise(l, st.errorTable(wrong))
	}
	st.loading.callbacks[f.Name] = callback
	st.loading.functions = append(st.loading.functions, f)
	return 0
}

// ErrName is what is wrong with a name of a library or function.
const ErrName = "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"

// IsName says whether a text can be the name of a library or function.
func IsName(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; !isLetter(c) && !isDigit(c) && c != '_' {
			return false
		}
	}
	return text != ""
}

func positionalArguments(name, callback lua.LValue) (f Function, run *lua.LFunction, wrong string) {
	if !isText(name) {
		return f, nil, "first argument to redis.register_function must be a string"
	}
	run, ok := callback.(*lua.LFunction)
	if !ok {
		return f, nil, "second argument to redis.register_function must be a function"
	}
	return Function{Name: text(name)}, run, ""
}

func (st *State) namedArguments(arguments lua.LValue) (f Function, run *lua.LFunction, wrong string) {
	t, ok := arguments.(*lua.LTable)
	if !ok {
		return f, nil, "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments)."
	}
	named := false
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		if !isText(key) {
			return f, nil, "named argument key given to redis.register_function is not a string"
		}
		switch strings.ToLower(text(key)) {
		case "function_name":
			if !isText(value) {
				return f, nil, "function_name argument given to redis.register_function must be a string"
			}
			f.Name, named = text(value), true
		case "description":
			if !isText(value) {
				return f, nil, "description argument given to redis.register_function must be a string"
			}
			f.Description, f.Described = text(value), true
		case "callback":
			if run, ok = value.(*lua.LFunction); !ok {
				return f, nil, "callback argument given to redis.register_function must be a function"
			}
		case "flags":
			if f.Flags, wrong = st.flagArguments(value); wrong != "" {
				return f, nil, wrong
			}
		default:
			return f, nil, "unknown argument given to redis.register_function"
		}
	}
	if !named {
		return f, nil, "redis.register_function must get a function name argument"
	}
	if run == nil {
		return f, nil, "redis.register_function must get a callback argument"
	}
	return f, run, ""
}

func (st *State) flagArguments(value lua.LValue) (flags []string, wrong string) {
	t, ok := value.(*lua.LTable)
	if !ok {
		return nil, "flags argument to redis.register_function must be a table representing function flags"
	}
	for i := 1; t.RawGetInt(i) != lua.LNil; i++ {
		word := strings.ToLower(text(t.RawGetInt(i)))
		if !isText(t.RawGetInt(i)) || !st.loading.flag(word) {
			return nil, "unknown flag given"
		}
		flags = append(flags, word)
	}
	return flags, ""
}
