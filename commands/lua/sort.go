package lua

import lua "github.com/yuin/gopher-lua"

// This file owns table.sort. It sorts as PUC Lua does (ltablib.c auxsort: quicksort
// with the median of three), so that a comparison is asked the same questions in the
// same order: with one that is no order, the result and the error are the same.

func (st *State) tableSort(l *lua.LState) int {
	t := st.writable(l, checkTable(l, 1, "sort"))
	s := sorter{st: st, l: l, t: t}
	if l.Get(2) != lua.LNil {
		s.less = checkFunction(l, 2, "sort")
	}
	s.sort(1, t.Len())
	return 0
}

type sorter struct {
	st   *State
	l    *lua.LState
	t    *lua.LTable
	less *lua.LFunction
}

func (s *sorter) at(i int) lua.LValue { return s.t.RawGetInt(i) }

func (s *sorter) swap(i, j int) {
	a, b := s.at(i), s.at(j)
	s.t.RawSetInt(i, b)
	s.t.RawSetInt(j, a)
}

func (s *sorter) before(a, b lua.LValue) bool {
	if err := s.st.stop.Err(); err != nil {
		s.l.RaiseError("%s", err.Error())
	}
	if s.less == nil {
		return s.st.lessThan(s.l, a, b)
	}
	s.l.Push(s.less)
	s.l.Push(a)
	s.l.Push(b)
	s.st.call(s.l, 2, 1)
	is := lua.LVAsBool(s.l.Get(-1))
	s.l.Pop(1)
	return is
}

// lessThan is the operator <, with PUC Lua's errors.
func (st *State) lessThan(l *lua.LState, a, b lua.LValue) bool {
	if x, ok := a.(lua.LNumber); ok {
		if y, ok := b.(lua.LNumber); ok {
			return x < y
		}
	}
	if a.Type() != b.Type() || a.Type() != lua.LTString && l.GetMetaField(a, "__lt") == lua.LNil {
		refuseCompare(l, a, b)
	}
	return l.LessThan(a, b)
}

func refuseCompare(l *lua.LState, a, b lua.LValue) {
	if a.Type() == b.Type() {
		l.RaiseError("attempt to compare two %s values", a.Type().String())
	}
	l.RaiseError("attempt to compare %s with %s", a.Type().String(), b.Type().String())
}

func (s *sorter) sort(low, high int) {
	for low < high {
		if s.before(s.at(high), s.at(low)) {
			s.swap(low, high)
		}
		if high-low == 1 {
			return
		}
		middle := (low + high) / 2
		if s.before(s.at(middle), s.at(low)) {
			s.swap(middle, low)
		} else if s.before(s.at(high), s.at(middle)) {
			s.swap(middle, high)
		}
		if high-low == 2 {
			return
		}
		border := s.partition(low, high, middle)
		// The smaller part by recursion, so that it is never deep.
		if border-low < high-border {
			s.sort(low, border-1)
			low = border + 1
		} else {
			s.sort(border+1, high)
			high = border - 1
		}
	}
}

// partition brings what is before the pivot in front of it, and returns where the
// pivot then is.
func (s *sorter) partition(low, high, middle int) int {
	pivot := s.at(middle)
	s.swap(middle, high-1)
	i, j := low, high-1
	for {
		for i++; s.before(s.at(i), pivot); i++ {
			if i > high {
				s.l.RaiseError("invalid order function for sorting")
			}
		}
		for j--; s.before(pivot, s.at(j)); j-- {
			if j < low {
				s.l.RaiseError("invalid order function for sorting")
			}
		}
		if j < i {
			s.swap(high-1, i)
			return i
		}
		s.swap(i, j)
	}
}
