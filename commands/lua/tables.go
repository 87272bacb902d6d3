package lua

import (
	lua "github.com/yuin/gopher-lua"
)

// This file owns the library table (ltablib.c).

func (st *State) tableLibrary() library {
	return library{name: "table", functions: map[string]lua.LGFunction{
		"concat": st.tableConcat, "foreach": st.tableForeach, "foreachi": st.tableForeachi, "getn": st.tableGetN,
		"insert": st.tableInsert, "maxn": st.tableMaxN, "remove": st.tableRemove, "setn": tableSetN, "sort": st.tableSort,
	}}
}

func (st *State) tableConcat(l *lua.LState) int {
	t := st.sandbox.open(checkTable(l, 1, "concat"))
	separator := ""
	if l.Get(2) != lua.LNil {
		separator = checkString(l, 2, "concat")
	}
	from, to := optionalInt(l, 3, "concat", 1), 0
	if l.Get(4) == lua.LNil {
		to = t.Len()
	} else {
		to = checkInt(l, 4, "concat")
	}
	var out []byte
	for i := from; i <= to; i++ {
		v := t.RawGetInt(i)
		if !isText(v) {
			l.RaiseError("invalid value (%s) at index %d in table for 'concat'", v.Type().String(), i)
		}
		out = appendText(out, v)
		if i < to {
			out = append(out, separator...)
		}
		checkLength(l, len(out))
	}
	l.Push(lua.LString(out))
	return 1
}

func (st *State) tableForeach(l *lua.LState) int {
	t := st.sandbox.open(checkTable(l, 1, "foreach"))
	visit := checkFunction(l, 2, "foreach")
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		if st.visit(l, visit, key, value) {
			return 1
		}
	}
	return 0
}

func (st *State) tableForeachi(l *lua.LState) int {
	t := st.sandbox.open(checkTable(l, 1, "foreachi"))
	visit := checkFunction(l, 2, "foreachi")
	for i, n := 1, t.Len(); i <= n; i++ {
		if st.visit(l, visit, lua.LNumber(i), t.RawGetInt(i)) {
			return 1
		}
	}
	return 0
}

// visit calls a visitor, whose result stays on the stack if it is to end the walk.
func (st *State) visit(l *lua.LState, visit, key, value lua.LValue) bool {
	l.Push(visit)
	l.Push(key)
	l.Push(value)
	st.call(l, 2, 1)
	if l.Get(-1) != lua.LNil {
		return true
	}
	l.Pop(1)
	return false
}

func (st *State) tableGetN(l *lua.LState) int {
	l.Push(lua.LNumber(st.sandbox.open(checkTable(l, 1, "getn")).Len()))
	return 1
}

func tableSetN(l *lua.LState) int {
	checkTable(l, 1, "setn")
	l.RaiseError("'setn' is obsolete")
	return 0
}

func (st *State) tableMaxN(l *lua.LState) int {
	t := st.sandbox.open(checkTable(l, 1, "maxn"))
	largest := lua.LNumber(0)
	t.ForEach(func(key, _ lua.LValue) {
		if n, ok := key.(lua.LNumber); ok {
			largest = max(largest, n)
		}
	})
	l.Push(largest)
	return 1
}

func (st *State) tableInsert(l *lua.LState) int {
	t := st.writable(l, checkTable(l, 1, "insert"))
	end := t.Len() + 1
	switch l.GetTop() {
	case 2:
		t.RawSetInt(end, l.Get(2))
	case 3:
		position := checkInt(l, 2, "insert")
		if position > end {
			end = position
		}
		if position < 1 {
			// The elements are shifted up from where there were none.
			for i := end; i > position; i-- {
				t.RawSet(lua.LNumber(i), t.RawGet(lua.LNumber(i-1)))
			}
			t.RawSet(lua.LNumber(position), l.Get(3))
			return 0
		}
		for i := end; i > position; i-- {
			t.RawSetInt(i, t.RawGetInt(i-1))
		}
		t.RawSetInt(position, l.Get(3))
	default:
		l.RaiseError("wrong number of arguments to 'insert'")
	}
	return 0
}

func (st *State) tableRemove(l *lua.LState) int {
	t := st.writable(l, checkTable(l, 1, "remove"))
	end := t.Len()
	position := optionalInt(l, 2, "remove", end)
	if position < 1 || position > end {
		return 0
	}
	l.Push(t.RawGetInt(position))
	for i := position; i < end; i++ {
		t.RawSetInt(i, t.RawGetInt(i+1))
	}
	t.RawSetInt(end, lua.LNil)
	return 1
}
