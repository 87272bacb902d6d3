package lua

import lua "github.com/yuin/gopher-lua"

// This file owns the library coroutine. It is gopher-lua's, but that a coroutine
// is ended by the same interrupt as its script.

func (st *State) coroutineLibrary() library {
	made := map[string]lua.LGFunction{}
	other := lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 128, CallStackSize: 8})
	defer other.Close()
	lua.OpenCoroutine(other)
	for _, name := range []string{"create", "resume", "running", "status", "wrap", "yield"} {
		made[name] = other.GetField(other.GetGlobal("coroutine"), name).(*lua.LFunction).GFunction
	}
	create, wrap, resume := made["create"], made["wrap"], made["resume"]
	made["create"] = func(l *lua.LState) int { return st.interruptible(l, create) }
	made["wrap"] = func(l *lua.LState) int { return st.interruptible(l, wrap) }
	made["resume"] = st.counted(resume)
	return library{name: "coroutine", functions: made}
}

// counted is a function that runs a coroutine, of which there may not be too many
// inside each other.
func (st *State) counted(resume lua.LGFunction) lua.LGFunction {
	return func(l *lua.LState) int {
		st.enter(l)
		n := resume(l)
		st.depth--
		return n
	}
}

// interruptible makes a coroutine. gopher-lua would give it a context of its own,
// with a goroutine that waits for the script's; it gets the script's instead.
func (st *State) interruptible(l *lua.LState, create lua.LGFunction) int {
	checkFunction(l, 1, "create")
	ctx := l.Context()
	l.RemoveContext()
	n := create(l)
	coroutine, ok := l.Get(-1).(*lua.LState)
	if wrapped, isFunction := l.Get(-1).(*lua.LFunction); isFunction {
		coroutine, ok = wrapped.Upvalues[0].Value().(*lua.LState)
		wrapped.GFunction = st.counted(wrapped.GFunction)
	}
	if ctx != nil && ok {
		l.SetContext(ctx)
		coroutine.SetContext(ctx)
	}
	return n
}
