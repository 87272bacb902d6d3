package lua

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file owns what scripts see: the libraries, and that none of it can be
// changed. It must not know what the functions do.

// library is a table of functions and values that scripts see under a name, or,
// with the name "", the global functions.
type library struct {
	name      string
	functions map[string]lua.LGFunction
	values    map[string]lua.LValue
	// hidden says that scripts do not see it.
	hidden bool
}

// environment is what the names of a script's libraries are, for the rewriter.
type environment struct {
	members map[string]bool
	// loads says that code sees other names while it is loaded than later.
	loads bool
}

// memberName is the hidden name of a library's member. In it the point is part of
// one name, which no script can spell.
func memberName(library, member string) string { return library + "." + member }

// isMemberName says whether a name is the hidden one of a library's member.
func isMemberName(name string) bool { return strings.Contains(name, ".") }

func (env *environment) hasMember(library, member string) bool {
	return env.members[memberName(library, member)]
}

func newEnvironment(libraries []library) *environment {
	env := &environment{members: map[string]bool{}}
	for _, l := range libraries {
		if l.name == "" {
			continue
		}
		for name := range l.functions {
			env.members[memberName(l.name, name)] = true
		}
		for name := range l.values {
			env.members[memberName(l.name, name)] = true
		}
	}
	return env
}

// sandbox is the tables of a state that scripts cannot change.
type sandbox struct {
	// globals is where code finds global names, hidden ones too; visible what a
	// script sees of it as _G.
	globals, visible *lua.LTable
	// behind has the table that each protected one stands for.
	behind map[*lua.LTable]*lua.LTable
	// refuse is what protected tables do when they are written to.
	refuse *lua.LFunction
	// shown is what getmetatable shows of a metatable that scripts must not change.
	shown map[*lua.LTable]lua.LValue
	// later is where code of a library finds global names once it is loaded.
	later *lua.LTable
	// choose is the metatable that leads to what is seen now.
	choose *lua.LTable
}

// build fills the environment of l with libraries. With load, they are what is seen
// later (loaded); until then it is load.
func (b *sandbox) build(l *lua.LState, env *environment, libraries, load []library) {
	b.behind, b.shown = map[*lua.LTable]*lua.LTable{}, map[*lua.LTable]lua.LValue{}
	b.refuse = l.NewFunction(func(l *lua.LState) int {
		l.RaiseError(errReadonly)
		return 0
	})
	if load == nil {
		b.fill(l, env, l.G.Global, libraries, true)
		return
	}
	b.later = l.NewTable()
	b.fill(l, env, b.later, libraries, true)
	before := l.NewTable()
	b.fill(l, env, before, load, false)
	b.globals = before
	b.choose = l.NewTable()
	b.choose.RawSetString("__index", before)
	l.G.Global.Metatable = b.choose
}

// loaded shows the code of a library what functions see when they are called.
func (b *sandbox) loaded() {
	b.globals = b.later
	b.choose.RawSetString("__index", b.later)
}

// fill puts libraries into a table of globals.
func (b *sandbox) fill(l *lua.LState, env *environment, globals *lua.LTable, libraries []library, showsAll bool) {
	b.globals, b.visible = globals, l.NewTable()
	nonexistent := l.NewTable()
	nonexistent.RawSetString("__index", l.NewFunction(func(l *lua.LState) int { return refuseName(l, env, globals) }))
	for _, each := range libraries {
		real := b.add(l, each)
		if !showsAll {
			real.Metatable = nonexistent // what is missing there is an error, too
		}
	}
	globals.Metatable, b.visible.Metatable = nonexistent, nonexistent
	whole := b.protect(l, b.visible)
	b.setHidden(hiddenWrite, whole)
	if showsAll {
		b.setVisible("_G", whole)
	}
	b.shown[whole.Metatable.(*lua.LTable)] = b.protect(l, nonexistent)
	b.shown[nonexistent] = lua.LNil
}

// refuseName is the error of a global name that does not exist. Of a library's
// member it is the library's name, if that does not exist either.
func refuseName(l *lua.LState, env *environment, globals *lua.LTable) int {
	name := text(l.Get(2))
	if env.members[name] {
		library, member, _ := strings.Cut(name, ".")
		if name = member; globals.RawGetString(library) == lua.LNil {
			name = library
		}
	}
	l.RaiseError("Script attempted to access nonexistent global variable '%s'", name)
	return 0
}

// add adds a library and returns its table.
func (b *sandbox) add(l *lua.LState, each library) *lua.LTable {
	real := l.NewTable()
	for name, function := range each.functions {
		b.member(real, each, name, l.NewFunction(function))
	}
	for name, value := range each.values {
		b.member(real, each, name, value)
	}
	if each.name != "" {
		b.setVisible(each.name, b.protect(l, real))
	}
	return real
}

// member adds a member to a library's table, or a global.
func (b *sandbox) member(real *lua.LTable, of library, name string, value lua.LValue) {
	switch {
	case of.hidden:
		b.setHidden(name, value)
	case of.name == "":
		b.setVisible(name, value)
	default:
		real.RawSetString(name, value)
		b.setHidden(memberName(of.name, name), value)
	}
}

func (b *sandbox) setHidden(name string, value lua.LValue) { b.globals.RawSetString(name, value) }

func (b *sandbox) setVisible(name string, value lua.LValue) {
	b.globals.RawSetString(name, value)
	b.visible.RawSetString(name, value)
}

// protect makes a table that reads from real and refuses to be changed.
func (b *sandbox) protect(l *lua.LState, real *lua.LTable) *lua.LTable {
	meta := l.CreateTable(0, 2)
	meta.RawSetString("__index", real)
	meta.RawSetString("__newindex", b.refuse)
	shown := l.CreateTable(0, 0)
	shown.Metatable = meta
	b.behind[shown] = real
	b.shown[meta] = lua.LNil
	return shown
}

// open is the table to read of one that a script has.
func (b *sandbox) open(t *lua.LTable) *lua.LTable {
	if t.Metatable == lua.LNil {
		return t
	}
	if real := b.behind[t]; real != nil {
		return real
	}
	return t
}

// writable raises an error unless a script may change t. It has no position, as
// in Redis, where the functions that go around metatables raise it.
func (st *State) writable(l *lua.LState, t *lua.LTable) *lua.LTable {
	if t.Metatable != lua.LNil && st.sandbox.behind[t] != nil {
		st.raise(l, lua.LString(errReadonly))
	}
	return t
}
