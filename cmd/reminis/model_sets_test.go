package main

import "maps"

// This file owns the model's commands on sets. It must not know anything of the
// engine.

// onSet finds a set, or an empty one that may be written to.
func (m *model) onSet(key string) (v modelKey, ok bool) {
	v, there := m.find(m.db, key)
	if !there {
		v.members = map[string]bool{}
	}
	return v, v.members != nil
}

// putSet keeps a set that has members, and ends the key of one that has none.
func (m *model) putSet(key string, v modelKey) {
	if len(v.members) == 0 {
		delete(m.databases[m.db], key)
		return
	}
	m.put(key, v)
}

func (m *model) sAdd(args []string) string {
	v, ok := m.onSet(args[0])
	if !ok {
		return modelWrongType
	}
	before := len(v.members)
	for _, member := range args[1:] {
		v.members[member] = true
	}
	m.putSet(args[0], v)
	return number(int64(len(v.members) - before))
}

func (m *model) sRem(args []string) string {
	v, ok := m.onSet(args[0])
	if !ok {
		return modelWrongType
	}
	before := len(v.members)
	for _, member := range args[1:] {
		delete(v.members, member)
	}
	m.putSet(args[0], v)
	return number(int64(before - len(v.members)))
}

// sMove looks at the target's type only when there is a source.
func (m *model) sMove(args []string) string {
	source, ok := m.onSet(args[0])
	if !ok {
		return modelWrongType
	}
	if _, ok := m.onSet(args[1]); !ok && len(source.members) > 0 {
		return modelWrongType
	}
	if !source.members[args[2]] {
		return number(0)
	}
	if args[0] != args[1] {
		m.sRem([]string{args[0], args[2]})
		m.sAdd([]string{args[1], args[2]})
	}
	return number(1)
}

func (m *model) sCard(args []string) string {
	v, ok := m.onSet(args[0])
	if !ok {
		return modelWrongType
	}
	return number(int64(len(v.members)))
}

func (m *model) sIsMember(args []string) string {
	v, ok := m.onSet(args[0])
	if !ok {
		return modelWrongType
	}
	return truth(v.members[args[1]])
}

// sStore combines two sets into a key.
func (m *model) sStore(combine func(a, b map[string]bool) map[string]bool) func(args []string) string {
	return func(args []string) string {
		a, ok := m.onSet(args[1])
		if !ok {
			return modelWrongType
		}
		b, ok := m.onSet(args[2])
		if !ok {
			return modelWrongType
		}
		result := combine(a.members, b.members)
		m.putSet(args[0], modelKey{members: result})
		return number(int64(len(result)))
	}
}

func intersect(a, b map[string]bool) map[string]bool {
	result := maps.Clone(a)
	maps.DeleteFunc(result, func(member string, _ bool) bool { return !b[member] })
	return result
}

func unite(a, b map[string]bool) map[string]bool {
	result := maps.Clone(a)
	maps.Copy(result, b)
	return result
}

func subtract(a, b map[string]bool) map[string]bool {
	result := maps.Clone(a)
	maps.DeleteFunc(result, func(member string, _ bool) bool { return b[member] })
	return result
}
