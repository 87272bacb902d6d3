package main

import (
	"fmt"
	"strconv"
)

// This file owns the model's commands on keys, databases and hashes. It must
// not know anything of the engine.

func (m *model) del(args []string) string {
	n := int64(0)
	for _, key := range args {
		if _, there := m.find(m.db, key); there {
			delete(m.databases[m.db], key)
			n++
		}
	}
	return number(n)
}

func (m *model) exists(args []string) string {
	n := int64(0)
	for _, key := range args {
		if _, there := m.find(m.db, key); there {
			n++
		}
	}
	return number(n)
}

func (m *model) typeOf(args []string) string {
	v, there := m.find(m.db, args[0])
	switch {
	case !there:
		return "+none\r\n"
	case v.fields != nil:
		return "+hash\r\n"
	case v.members != nil:
		return "+set\r\n"
	case v.scores != nil:
		return "+zset\r\n"
	case v.list != nil:
		return "+list\r\n"
	case v.stream != nil:
		return "+stream\r\n"
	}
	return "+string\r\n"
}

func (m *model) rename(args []string) string {
	v, there := m.find(m.db, args[0])
	if !there {
		return "-ERR no such key\r\n"
	}
	delete(m.databases[m.db], args[0])
	m.put(args[1], v)
	return modelOK
}

func (m *model) renameNX(args []string) string {
	if _, there := m.find(m.db, args[0]); !there {
		return "-ERR no such key\r\n"
	}
	if _, there := m.find(m.db, args[1]); there {
		return number(0)
	}
	m.rename(args)
	return number(1)
}

// copy is COPY source target DB n [REPLACE].
func (m *model) copy(args []string) string {
	to, replace := int(integer(args[3])), len(args) > 4
	if args[0] == args[1] && to == m.db {
		return modelSame
	}
	v, there := m.find(m.db, args[0])
	if _, taken := m.find(to, args[1]); !there || taken && !replace {
		return number(0)
	}
	m.databases[to][args[1]] = v.clone()
	return number(1)
}

func (m *model) move(args []string) string {
	to := int(integer(args[1]))
	if to == m.db {
		return modelSame
	}
	v, there := m.find(m.db, args[0])
	if _, taken := m.find(to, args[0]); !there || taken {
		return number(0)
	}
	delete(m.databases[m.db], args[0])
	m.databases[to][args[0]] = v
	return number(1)
}

func (m *model) expire(unitMs int64, relative bool) func(args []string) string {
	return func(args []string) string {
		when := integer(args[1]) * unitMs
		if relative {
			when += m.nowMs
		}
		v, there := m.find(m.db, args[0])
		has, option := v.deadlineMs != 0, ""
		if len(args) > 2 {
			option = args[2]
		}
		switch {
		case !there,
			option == "NX" && has,
			option == "XX" && !has,
			option == "GT" && (!has || when <= v.deadlineMs),
			option == "LT" && has && when >= v.deadlineMs:
			return number(0)
		case when <= m.nowMs:
			delete(m.databases[m.db], args[0])
		default:
			v.deadlineMs = when
			m.put(args[0], v)
		}
		return number(1)
	}
}

func (m *model) persist(args []string) string {
	v, there := m.find(m.db, args[0])
	if !there || v.deadlineMs == 0 {
		return number(0)
	}
	v.deadlineMs = 0
	m.put(args[0], v)
	return number(1)
}

func (m *model) pTTL(args []string) string {
	switch v, there := m.find(m.db, args[0]); {
	case !there:
		return number(-2)
	case v.deadlineMs == 0:
		return number(-1)
	default:
		return number(v.deadlineMs - m.nowMs)
	}
}

func (m *model) pExpireTime(args []string) string {
	switch v, there := m.find(m.db, args[0]); {
	case !there:
		return number(-2)
	case v.deadlineMs == 0:
		return number(-1)
	default:
		return number(v.deadlineMs)
	}
}

func (m *model) flushDB([]string) string {
	m.databases[m.db] = map[string]modelKey{}
	return modelOK
}

func (m *model) flushAll([]string) string {
	for db := range m.databases {
		m.databases[db] = map[string]modelKey{}
	}
	return modelOK
}

func (m *model) swapDB(args []string) string {
	a, b := integer(args[0]), integer(args[1])
	m.databases[a], m.databases[b] = m.databases[b], m.databases[a]
	m.spaces[a], m.spaces[b] = m.spaces[b], m.spaces[a]
	return modelOK
}

func (m *model) hSet(args []string) string {
	v, ok := m.onHash(args[0])
	if !ok {
		return modelWrongType
	}
	added := int64(0)
	for i := 1; i < len(args); i += 2 {
		if _, there := v.fields[args[i]]; !there {
			added++
		}
		v.fields[args[i]] = args[i+1]
	}
	m.put(args[0], v)
	return number(added)
}

func (m *model) hSetNX(args []string) string {
	v, ok := m.onHash(args[0])
	if !ok {
		return modelWrongType
	}
	if _, there := v.fields[args[1]]; there {
		return number(0)
	}
	return m.hSet(args)
}

func (m *model) hDel(args []string) string {
	v, ok := m.onHash(args[0])
	if !ok {
		return modelWrongType
	}
	n := int64(0)
	for _, field := range args[1:] {
		if _, there := v.fields[field]; there {
			delete(v.fields, field)
			n++
		}
	}
	if len(v.fields) == 0 {
		delete(m.databases[m.db], args[0])
	}
	return number(n)
}

func (m *model) hGet(args []string) string {
	v, ok := m.onHash(args[0])
	if !ok {
		return modelWrongType
	}
	return fieldReply(v, args[1])
}

func fieldReply(v modelKey, field string) string {
	if value, there := v.fields[field]; there {
		return bulk(value)
	}
	return modelNull
}

func (m *model) hMGet(args []string) string {
	v, ok := m.onHash(args[0])
	if !ok {
		return modelWrongType
	}
	out := fmt.Sprintf("*%d\r\n", len(args)-1)
	for _, field := range args[1:] {
		out += fieldReply(v, field)
	}
	return out
}

func (m *model) hExists(args []string) string {
	v, ok := m.onHash(args[0])
	if !ok {
		return modelWrongType
	}
	_, there := v.fields[args[1]]
	return truth(there)
}

func (m *model) hLen(args []string) string {
	v, ok := m.onHash(args[0])
	if !ok {
		return modelWrongType
	}
	return number(int64(len(v.fields)))
}

func (m *model) hIncrBy(args []string) string {
	v, ok := m.onHash(args[0])
	if !ok {
		return modelWrongType
	}
	old, n := int64(0), integer(args[2])
	if text, there := v.fields[args[1]]; there {
		if old, ok = strictInteger(text); !ok {
			return "-ERR hash value is not an integer\r\n"
		}
	}
	if overflows(old, n) {
		return modelOverflow
	}
	v.fields[args[1]] = strconv.FormatInt(old+n, 10)
	m.put(args[0], v)
	return number(old + n)
}
