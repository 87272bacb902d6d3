package main

import (
	"fmt"
	"slices"
	"strconv"
)

// This file owns the model's commands on lists. It must not know anything of the
// engine. Lists are never changed in place: a copied key has the same slice.

// onList finds a list, or an empty one that may be written to.
func (m *model) onList(key string) (v modelKey, ok bool) {
	v, there := m.find(m.db, key)
	if !there {
		v.list = []string{}
	}
	return v, v.list != nil
}

// putList keeps a list that has elements, and ends the key of one that has none.
func (m *model) putList(key string, v modelKey) {
	if len(v.list) == 0 {
		delete(m.databases[m.db], key)
		return
	}
	m.put(key, v)
}

// lPush is LPUSH and its kin.
func (m *model) lPush(front, existing bool) func(args []string) string {
	return func(args []string) string {
		v, ok := m.onList(args[0])
		if !ok {
			return modelWrongType
		}
		if existing && len(v.list) == 0 {
			return number(0)
		}
		added := slices.Clone(args[1:])
		if front {
			slices.Reverse(added)
			v.list = slices.Concat(added, v.list)
		} else {
			v.list = slices.Concat(v.list, added)
		}
		m.putList(args[0], v)
		return number(int64(len(v.list)))
	}
}

// bulks is an array of strings.
func bulks(list []string) string {
	out := fmt.Sprintf("*%d\r\n", len(list))
	for _, text := range list {
		out += bulk(text)
	}
	return out
}

func (m *model) lPop(front bool) func(args []string) string {
	return func(args []string) string {
		v, ok := m.onList(args[0])
		if !ok {
			return modelWrongType
		}
		count := 1
		if len(args) > 1 {
			count, _ = strconv.Atoi(args[1])
		}
		switch n := len(v.list); {
		case n == 0 && len(args) > 1:
			return "*-1\r\n"
		case n == 0:
			return modelNull
		}
		count = min(count, len(v.list))
		taken := v.list[:count]
		if front {
			v.list = v.list[count:]
		} else {
			taken = slices.Clone(v.list[len(v.list)-count:])
			slices.Reverse(taken)
			v.list = v.list[:len(v.list)-count]
		}
		m.putList(args[0], v)
		if len(args) > 1 {
			return bulks(taken)
		}
		return bulk(taken[0])
	}
}

func (m *model) lLen(args []string) string {
	v, ok := m.onList(args[0])
	if !ok {
		return modelWrongType
	}
	return number(int64(len(v.list)))
}

// span is what LRANGE and LTRIM mean of a list.
func span(list []string, start, stop string) []string {
	n := int64(len(list))
	from, to := integer(start), integer(stop)
	if from < 0 {
		from = max(0, from+n)
	}
	if to < 0 {
		to += n
	}
	if to = min(to, n-1); from > to {
		return []string{}
	}
	return list[from : to+1]
}

func (m *model) lRange(args []string) string {
	v, ok := m.onList(args[0])
	if !ok {
		return modelWrongType
	}
	return bulks(span(v.list, args[1], args[2]))
}

func (m *model) lTrim(args []string) string {
	v, ok := m.onList(args[0])
	if !ok {
		return modelWrongType
	}
	v.list = span(v.list, args[1], args[2])
	m.putList(args[0], v)
	return modelOK
}

func (m *model) lSet(args []string) string {
	v, ok := m.onList(args[0])
	if !ok {
		return modelWrongType
	}
	if len(v.list) == 0 {
		return "-ERR no such key\r\n"
	}
	at := integer(args[1])
	if at < 0 {
		at += int64(len(v.list))
	}
	if at < 0 || at >= int64(len(v.list)) {
		return "-ERR index out of range\r\n"
	}
	v.list = slices.Clone(v.list)
	v.list[at] = args[2]
	m.putList(args[0], v)
	return modelOK
}

func (m *model) lInsert(args []string) string {
	v, ok := m.onList(args[0])
	if !ok {
		return modelWrongType
	}
	if len(v.list) == 0 {
		return number(0)
	}
	at := slices.Index(v.list, args[2])
	if at < 0 {
		return number(-1)
	}
	if args[1] == "AFTER" {
		at++
	}
	v.list = slices.Concat(v.list[:at], args[3:], v.list[at:])
	m.putList(args[0], v)
	return number(int64(len(v.list)))
}

func (m *model) lRem(args []string) string {
	v, ok := m.onList(args[0])
	if !ok {
		return modelWrongType
	}
	limit := integer(args[1])
	list := slices.Clone(v.list)
	if limit < 0 {
		slices.Reverse(list)
	}
	removed := int64(0)
	list = slices.DeleteFunc(list, func(text string) bool {
		if text != args[2] || limit != 0 && removed == max(limit, -limit) {
			return false
		}
		removed++
		return true
	})
	if limit < 0 {
		slices.Reverse(list)
	}
	v.list = list
	m.putList(args[0], v)
	return number(removed)
}

func (m *model) lMove(args []string) string {
	source, ok := m.onList(args[0])
	if !ok {
		return modelWrongType
	}
	if len(source.list) == 0 {
		return modelNull
	}
	target, ok := m.onList(args[1])
	if !ok {
		return modelWrongType
	}
	at, rest := 0, source.list[1:]
	if args[2] == "RIGHT" {
		at = len(source.list) - 1
		rest = source.list[:at]
	}
	moved := []string{source.list[at]}
	if args[0] == args[1] {
		target.list = rest
	}
	if args[3] == "LEFT" {
		target.list = slices.Concat(moved, target.list)
	} else {
		target.list = slices.Concat(target.list, moved)
	}
	if args[0] != args[1] {
		source.list = rest
		m.putList(args[0], source)
	}
	m.putList(args[1], target)
	return bulk(moved[0])
}

// listText prints a list.
func listText(list []string) string {
	return fmt.Sprintf("list of %d %q", len(list), list)
}
