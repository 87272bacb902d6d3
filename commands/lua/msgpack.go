package lua

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// This file owns the library cmsgpack (lua_cmsgpack.c 0.4.0).

// packDepthMax is how deep tables are packed; those below become nil.
const packDepthMax = 16

// unpackDepthMax bounds the recursion over a packed value.
const unpackDepthMax = unpackMax / 2

func (st *State) packLibrary() library {
	return library{"cmsgpack", map[string]lua.LGFunction{
		"pack": st.pack, "unpack": st.unpackAll, "unpack_one": st.unpackOne, "unpack_limit": st.unpackLimit,
	}, map[string]lua.LValue{
		"_NAME": lua.LString("cmsgpack"), "_VERSION": lua.LString("lua-cmsgpack 0.4.0"),
		"_COPYRIGHT":   lua.LString("Copyright (C) 2012, Salvatore Sanfilippo"),
		"_DESCRIPTION": lua.LString("MessagePack C implementation for Lua"),
	}, false}
}

func (st *State) pack(l *lua.LState) int {
	if l.GetTop() == 0 {
		argumentError(l, 0, "pack", "MessagePack pack needs input.")
	}
	var out []byte
	for i := 1; i <= l.GetTop(); i++ {
		out = st.appendPacked(l, out, l.Get(i), 0)
		checkLength(l, len(out))
	}
	l.Push(lua.LString(out))
	return 1
}

func (st *State) appendPacked(l *lua.LState, out []byte, v lua.LValue, depth int) []byte {
	switch v := v.(type) {
	case lua.LString:
		return append(appendPackedHeader(out, len(v), 0xa0, 31, 0xd9), v...)
	case lua.LBool:
		if v {
			return append(out, 0xc3)
		}
		return append(out, 0xc2)
	case lua.LNumber:
		return appendPackedNumber(out, float64(v))
	case *lua.LTable:
		if depth == packDepthMax {
			break
		}
		return st.appendPackedTable(l, out, st.sandbox.open(v), depth)
	}
	return append(out, 0xc0)
}

// appendPackedHeader writes a length: in the first byte if it is at most small,
// else behind a byte that says its width; of three such bytes, wide is the first for
// strings, whose shortest width is 8 bits.
func appendPackedHeader(out []byte, n int, fixed byte, small int, wide byte) []byte {
	switch {
	case n <= small:
		return append(out, fixed|byte(n))
	case n <= 0xff && wide == 0xd9:
		return append(out, wide, byte(n))
	case n <= 0xffff:
		if wide == 0xd9 {
			wide++
		}
		return binary.BigEndian.AppendUint16(append(out, wide), uint16(n))
	}
	if wide == 0xd9 {
		wide++
	}
	return binary.BigEndian.AppendUint32(append(out, wide+1), uint32(n))
}

func appendPackedNumber(out []byte, n float64) []byte {
	if integer := toInteger(n); float64(integer) == n && n < 1<<63 {
		return appendPackedInt(out, integer)
	}
	if single := float32(n); float64(single) == n {
		return binary.BigEndian.AppendUint32(append(out, 0xca), math.Float32bits(single))
	}
	return binary.BigEndian.AppendUint64(append(out, 0xcb), math.Float64bits(n))
}

func appendPackedInt(out []byte, n int64) []byte {
	switch {
	case n >= -32 && n <= 127:
		return append(out, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		return append(out, 0xcc, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, 0xcd), uint16(n))
	case n >= 0 && n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(out, 0xce), uint32(n))
	case n >= 0:
		return binary.BigEndian.AppendUint64(append(out, 0xcf), uint64(n))
	case n >= math.MinInt8:
		return append(out, 0xd0, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(out, 0xd1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(out, 0xd2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(n))
}

// appendPackedTable writes an array if the keys are 1 to n, without a hole.
func (st *State) appendPackedTable(l *lua.LState, out []byte, t *lua.LTable, depth int) []byte {
	count, isArray, largest := 0, true, lua.LNumber(0)
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		count++
		n, ok := key.(lua.LNumber)
		if !ok || n <= 0 || math.Floor(float64(n)) != float64(n) || n > math.MaxInt32 {
			isArray = false
			continue
		}
		largest = max(largest, n)
	}
	checkLength(l, len(out)+count)
	if isArray && int(largest) == count {
		out = appendPackedHeader(out, count, 0x90, 15, 0xdc)
		for i := 1; i <= count; i++ {
			out = st.appendPacked(l, out, t.RawGetInt(i), depth+1)
		}
		return out
	}
	out = appendPackedHeader(out, count, 0x80, 15, 0xde)
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		out = st.appendPacked(l, out, key, depth+1)
		out = st.appendPacked(l, out, value, depth+1)
	}
	return out
}

func (st *State) unpackAll(l *lua.LState) int {
	return st.unpackSome(l, "unpack", 0, 0)
}

func (st *State) unpackOne(l *lua.LState) int {
	return st.unpackSome(l, "unpack_one", 1, optionalInt(l, 2, "unpack_one", 0))
}

func (st *State) unpackLimit(l *lua.LState) int {
	return st.unpackSome(l, "unpack_limit", checkInt(l, 2, "unpack_limit"), optionalInt(l, 3, "unpack_limit", 0))
}

// unpackSome gives up to limit values from offset on, and in front of them where to
// go on, -1 at the end; with both 0 all values, and nothing in front.
func (st *State) unpackSome(l *lua.LState, function string, limit, offset int) int {
	data := checkString(l, 1, function)
	if offset < 0 || limit < 0 {
		l.RaiseError("Invalid request to unpack with offset of %d and limit of %d.", offset, len(data))
	}
	if offset > len(data) {
		l.RaiseError("Start offset %d greater than input length %d.", offset, len(data))
	}
	all := limit == 0 && offset == 0
	if all {
		limit = math.MaxInt32
	}
	u := unpacker{l: l, data: data[offset:]}
	var values []lua.LValue
	for len(u.data) > 0 && len(values) < limit {
		if len(values) >= unpackMax {
			l.RaiseError("stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)")
		}
		values = append(values, u.value(0))
	}
	n := len(values)
	if !all {
		next := len(data) - len(u.data)
		if len(u.data) == 0 {
			next = -1
		}
		l.Push(lua.LNumber(next))
		n++
	}
	for _, v := range values {
		l.Push(v)
	}
	return n
}

// unpacker reads packed values.
type unpacker struct {
	l    *lua.LState
	data string
}

// take cuts n bytes off.
func (u *unpacker) take(n int) string {
	if n > len(u.data) {
		u.l.RaiseError("Missing bytes in input.")
	}
	cut := u.data[:n]
	u.data = u.data[n:]
	return cut
}

// number reads a big-endian integer.
func (u *unpacker) number(width int) uint64 {
	n := uint64(0)
	for _, c := range []byte(u.take(width)) {
		n = n<<8 | uint64(c)
	}
	return n
}

func (u *unpacker) value(depth int) lua.LValue {
	if depth > unpackDepthMax {
		u.l.RaiseError("stack overflow (in function mp_decode_to_lua_array)")
	}
	c := u.take(1)[0]
	switch {
	case c < 0x80:
		return lua.LNumber(c)
	case c < 0x90:
		return u.table(int(c&0xf), depth)
	case c < 0xa0:
		return u.array(int(c&0xf), depth)
	case c < 0xc0:
		return lua.LString(u.take(int(c & 0x1f)))
	case c >= 0xe0:
		return lua.LNumber(int8(c))
	}
	return u.wide(c, depth)
}

// wide reads a value whose first byte says only what it is.
func (u *unpacker) wide(c byte, depth int) lua.LValue {
	switch c {
	case 0xc0:
		return lua.LNil
	case 0xc2:
		return lua.LFalse
	case 0xc3:
		return lua.LTrue
	case 0xca:
		return lua.LNumber(math.Float32frombits(uint32(u.number(4))))
	case 0xcb:
		return lua.LNumber(math.Float64frombits(u.number(8)))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return lua.LNumber(u.number(1 << (c - 0xcc)))
	case 0xd0:
		return lua.LNumber(int8(u.number(1)))
	case 0xd1:
		return lua.LNumber(int16(u.number(2)))
	case 0xd2:
		return lua.LNumber(int32(u.number(4)))
	case 0xd3:
		return lua.LNumber(int64(u.number(8)))
	case 0xd9, 0xda, 0xdb:
		return lua.LString(u.take(int(u.number(1 << (c - 0xd9)))))
	case 0xdc, 0xdd:
		return u.array(int(u.number(2<<(c-0xdc))), depth)
	case 0xde, 0xdf:
		return u.table(int(u.number(2<<(c-0xde))), depth)
	}
	u.l.RaiseError("Bad data format in input.")
	return lua.LNil
}

func (u *unpacker) array(n, depth int) lua.LValue {
	t := u.l.CreateTable(min(n, len(u.data)), 0)
	for i := range n {
		t.RawSetInt(i+1, u.value(depth+1))
	}
	return t
}

func (u *unpacker) table(n, depth int) lua.LValue {
	t := u.l.CreateTable(0, min(n, len(u.data)/2))
	for range n {
		key := u.value(depth + 1)
		value := u.value(depth + 1)
		u.l.RawSet(t, key, value)
	}
	return t
}
