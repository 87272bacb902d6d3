package lua

import (
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"reminis/commands/reply"
)

// This file owns the conversions between replies and values (script_lua.c
// redisProtocolToLuaType and luaReplyToRedisReply). It must not know commands.

// fromReply is a reply as a value. Replies are made by our own writer, so that they
// are whole.
func fromReply(l *lua.LState, data []byte) lua.LValue {
	v, _ := fromItem(l, data)
	return v
}

// fromItem converts the first item of data and returns what follows it.
func fromItem(l *lua.LState, data []byte) (lua.LValue, []byte) {
	item, rest, err := reply.Read(data)
	if err != nil {
		panic("lua: a command's reply is not RESP")
	}
	switch item.Kind {
	case reply.KindStatus:
		return member(l, "ok", lua.LString(item.Text)), rest
	case reply.KindError, reply.KindBulkError:
		t := member(l, "err", lua.LString(item.Text))
		t.RawSetString(countedField, lua.LTrue)
		return t, rest
	case reply.KindInt:
		n, _ := strconv.ParseInt(string(item.Text), 10, 64)
		return lua.LNumber(n), rest
	case reply.KindBulk:
		return lua.LString(item.Text), rest
	case reply.KindNull:
		if item.NullOf == 0 {
			return lua.LNil, rest
		}
		return lua.LFalse, rest
	case reply.KindDouble:
		n, _ := parseNumber(string(item.Text))
		return member(l, "double", n), rest
	case reply.KindBool:
		return lua.LBool(item.Text[0] == 't'), rest
	case reply.KindBigNumber:
		return member(l, "big_number", lua.LString(item.Text)), rest
	case reply.KindVerbatim:
		return verbatim(l, data, item), rest
	}
	return fromAggregate(l, item, rest)
}

func member(l *lua.LState, name string, value lua.LValue) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(name, value)
	return t
}

// verbatim has the format, which stands in front of the text.
func verbatim(l *lua.LState, data []byte, item reply.Item) lua.LValue {
	t := member(l, "string", lua.LString(item.Text))
	line := len(data) - len(data[1:]) // the first byte
	for data[line] != '\n' {
		line++
	}
	t.RawSetString("format", lua.LString(data[line+1:line+4]))
	return member(l, "verbatim_string", t)
}

func fromAggregate(l *lua.LState, item reply.Item, rest []byte) (lua.LValue, []byte) {
	switch item.Kind {
	case reply.KindMap:
		t := l.CreateTable(0, item.Count/2)
		for range item.Count / 2 {
			var key, value lua.LValue
			key, rest = fromItem(l, rest)
			value, rest = fromItem(l, rest)
			t.RawSet(key, value)
		}
		return member(l, "map", t), rest
	case reply.KindSet:
		t := l.CreateTable(0, item.Count)
		for range item.Count {
			var element lua.LValue
			element, rest = fromItem(l, rest)
			t.RawSet(element, lua.LTrue)
		}
		return member(l, "set", t), rest
	case reply.KindAttribute:
		for range item.Count {
			_, rest = fromItem(l, rest)
		}
		return fromItem(l, rest)
	}
	t := l.CreateTable(item.Count, 0)
	for i := range item.Count {
		var element lua.LValue
		element, rest = fromItem(l, rest)
		t.RawSetInt(i+1, element)
	}
	return t, rest
}

// replyDepthMax is how deep tables may be inside each other in a reply. Redis ends
// where Lua's stack does, which takes four values for each.
const replyDepthMax = unpackMax / 4

// reply writes a value as the reply of a script.
func (st *State) reply(w *reply.Writer, v lua.LValue, depth int) {
	if depth >= replyDepthMax {
		w.ErrorLine(errStackLimit)
		return
	}
	switch v := v.(type) {
	case lua.LString:
		w.BulkString(string(v))
	case lua.LNumber:
		w.Int(toInteger(float64(v)))
	case lua.LBool:
		switch {
		case st.proto == 3:
			w.Bool(bool(v))
		case bool(v):
			w.Int(1)
		default:
			w.Null()
		}
	case *lua.LTable:
		st.replyTable(w, v, depth)
	default:
		w.Null()
	}
}

func (st *State) replyTable(w *reply.Writer, t *lua.LTable, depth int) {
	if said, ok := t.RawGetString("err").(lua.LString); ok {
		if depth == 0 && t.RawGetString(countedField) != lua.LTrue {
			st.uncounted = string(said)
		}
		w.ErrorLine(string(said))
	} else if said, ok := t.RawGetString("ok").(lua.LString); ok {
		w.Status(string(said))
	} else if n, ok := t.RawGetString("double").(lua.LNumber); ok {
		w.Double(float64(n))
	} else if digits, ok := t.RawGetString("big_number").(lua.LString); ok {
		w.BigNumber(oneLine(string(digits)))
	} else if format, said, ok := verbatimOf(t); ok {
		w.Verbatim(format, said)
	} else if pairs, ok := t.RawGetString("map").(*lua.LTable); ok {
		d, n := w.DeferMap(pairs.Len()), 0
		for key, value := pairs.Next(lua.LNil); key != lua.LNil; key, value = pairs.Next(key) {
			st.reply(w, key, depth+1)
			st.reply(w, value, depth+1)
			n++
		}
		w.Close(d, n)
	} else if set, ok := t.RawGetString("set").(*lua.LTable); ok {
		d, n := w.DeferSet(set.Len()), 0
		for key, _ := set.Next(lua.LNil); key != lua.LNil; key, _ = set.Next(key) {
			st.reply(w, key, depth+1)
			n++
		}
		w.Close(d, n)
	} else {
		d, n := w.DeferArray(t.Len()), 0
		for v := t.RawGetInt(1); v != lua.LNil; v = t.RawGetInt(n + 1) {
			st.reply(w, v, depth+1)
			n++
		}
		w.Close(d, n)
	}
}

func verbatimOf(t *lua.LTable) (format, said string, ok bool) {
	inner, ok := t.RawGetString("verbatim_string").(*lua.LTable)
	if !ok {
		return "", "", false
	}
	f, ok1 := inner.RawGetString("format").(lua.LString)
	s, ok2 := inner.RawGetString("string").(lua.LString)
	return string(f), string(s), ok1 && ok2
}

// oneLine is a text without line breaks.
func oneLine(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c == '\r' || c == '\n' {
			out[i] = ' '
		}
	}
	return string(out)
}
