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
	made["resume"] = resume
	return library{name: "coroutine", functions: made}
}

// interruptible makes a coroutine. gopher-lua would give it a context of its own,
// with a goroutine that waits for the script's; it gets the script's instead.
func (st *State) interruptible(l *lua.LState, create lua.LGFunction) int {
	checkFunction(l, 1, "create")
	ctx := l.Context()
	if ctx == nil {
		return create(l)
	}
	l.RemoveContext()
	n := create(l)
	l.SetContext(ctx)
	switch made := l.Get(-1).(type) {
	case *lua.LState:
		made.SetContext(ctx)
	case *lua.LFunction:
		made.Upvalues[0].Value().(*lua.LState).SetContext(ctx)
	}
	return n
}
