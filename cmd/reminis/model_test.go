package main

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// This file owns the plain model of a Redis: Go maps, and commands as Redis
// documents them. It must not know anything of the engine.

// modelKey is a value: of the type whose part is not nil, else a string.
type modelKey struct {
	text       string
	fields     map[string]string
	members    map[string]bool
	scores     map[string]float64
	list       []string
	stream     *modelStream
	deadlineMs int64
}

func (v modelKey) isString() bool {
	return v.fields == nil && v.members == nil && v.scores == nil && v.list == nil && v.stream == nil
}

func (v modelKey) clone() modelKey {
	v.fields, v.members, v.scores = maps.Clone(v.fields), maps.Clone(v.members), maps.Clone(v.scores)
	return v
}

type model struct {
	databases []map[string]modelKey
	spaces    []int // which owners each database has: SWAPDB exchanges them
	rules     modelRules
	libraries map[string]string // code by name
	nowMs     int64
	db        int

	open    bool // inside MULTI
	spoiled bool
	queue   [][]string
	run     map[string]func(args []string) string
}

const (
	modelOK        = "+OK\r\n"
	modelNull      = "$-1\r\n"
	modelWrongType = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
	modelNotInt    = "-ERR value is not an integer or out of range\r\n"
	modelOverflow  = "-ERR increment or decrement would overflow\r\n"
	modelSame      = "-ERR source and destination objects are the same\r\n"
)

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
func number(n int64) string   { return fmt.Sprintf(":%d\r\n", n) }

func truth(condition bool) string {
	if condition {
		return number(1)
	}
	return number(0)
}

func newModel(databases int) *model {
	m := &model{rules: newModelRules(), libraries: map[string]string{}}
	for db := range databases {
		m.databases = append(m.databases, map[string]modelKey{})
		m.spaces = append(m.spaces, db)
	}
	m.define()
	return m
}

// clone is the model's data in a session of its own.
func (m *model) clone() *model {
	c := newModel(0)
	c.spaces, c.rules, c.libraries = slices.Clone(m.spaces), m.rules.clone(), maps.Clone(m.libraries)
	for _, keys := range m.databases {
		copied := maps.Clone(keys)
		for key, v := range copied {
			copied[key] = v.clone()
		}
		c.databases = append(c.databases, copied)
	}
	return c
}

// define lists the commands that the model knows.
func (m *model) define() {
	m.run = map[string]func(args []string) string{
		"MULTI": m.multi, "EXEC": m.exec, "DISCARD": m.discard, "SELECT": m.selectDB,
		"GET": m.get, "SET": m.set, "SETNX": m.setNX, "SETEX": m.setEX, "PSETEX": m.setEX, "GETSET": m.getSet,
		"GETDEL": m.getDel, "GETEX": m.getEX, "APPEND": m.append, "STRLEN": m.strLen, "SETRANGE": m.setRange,
		"INCR": m.incr, "DECR": m.decr, "INCRBY": m.incrBy, "DECRBY": m.decrBy,
		"SETBIT": m.setBit, "GETBIT": m.getBit, "BITCOUNT": m.bitCount, "MSET": m.mSet, "MSETNX": m.mSetNX, "MGET": m.mGet,
		"DEL": m.del, "UNLINK": m.del, "EXISTS": m.exists, "TYPE": m.typeOf, "RENAME": m.rename, "RENAMENX": m.renameNX,
		"COPY": m.copy, "MOVE": m.move, "EXPIRE": m.expire(1000, true), "PEXPIRE": m.expire(1, true),
		"EXPIREAT": m.expire(1000, false), "PEXPIREAT": m.expire(1, false), "PERSIST": m.persist,
		"PTTL": m.pTTL, "PEXPIRETIME": m.pExpireTime,
		"HSET": m.hSet, "HSETNX": m.hSetNX, "HDEL": m.hDel, "HGET": m.hGet, "HMGET": m.hMGet, "HEXISTS": m.hExists,
		"HLEN": m.hLen, "HINCRBY": m.hIncrBy,
		"SADD": m.sAdd, "SREM": m.sRem, "SMOVE": m.sMove, "SCARD": m.sCard, "SISMEMBER": m.sIsMember,
		"SINTERSTORE": m.sStore(intersect), "SUNIONSTORE": m.sStore(unite), "SDIFFSTORE": m.sStore(subtract),
		"ZADD": m.zAdd, "ZINCRBY": m.zIncrBy, "ZREM": m.zRem, "ZCARD": m.zCard, "ZSCORE": m.zScore, "ZRANK": m.zRank,
		"ZRANGE": m.zRange, "ZRANGESTORE": m.zRangeStore, "ZPOPMIN": m.zPop(false), "ZPOPMAX": m.zPop(true),
		"ZREMRANGEBYRANK": m.zRemRangeByRank, "ZREMRANGEBYSCORE": m.zRemRangeByScore,
		"ZUNIONSTORE": m.zStore(uniteScores), "ZINTERSTORE": m.zStore(intersectScores), "ZDIFFSTORE": m.zStore(subtractScores),
		"FLUSHDB": m.flushDB, "FLUSHALL": m.flushAll, "SWAPDB": m.swapDB,
		"LPUSH": m.lPush(true, false), "RPUSH": m.lPush(false, false), "LPUSHX": m.lPush(true, true), "RPUSHX": m.lPush(false, true),
		"LPOP": m.lPop(true), "RPOP": m.lPop(false), "LLEN": m.lLen, "LRANGE": m.lRange, "LTRIM": m.lTrim, "LSET": m.lSet,
		"LINSERT": m.lInsert, "LREM": m.lRem, "LMOVE": m.lMove,
		"XADD": m.xAdd, "XDEL": m.xDel, "XLEN": m.xLen, "XGROUP": m.xGroup, "XREADGROUP": m.xReadGroup, "XACK": m.xAck,
		"EVAL": m.eval, "FCALL": m.fCall, "FUNCTION": m.function,
		"MEM.SCHEMA": m.schema, "MEM.POLICY": m.policy, "MEM.CONSENT": m.consent, "MEM.GRANT": m.grant, "MEM.REVOKE": m.revoke,
	}
}

// onRecord says whether a line is about memory records, which the model does
// not have.
func onRecord(words []string) bool {
	return !isRule(words) && (strings.HasPrefix(words[0], "MEM.") || len(words) > 1 && strings.HasPrefix(words[1], recordPrefix))
}

// do executes a command line at a time and returns the bytes of its reply, or
// nothing when records have a part in it.
func (m *model) do(nowMs int64, words []string) string {
	m.nowMs = nowMs
	name := words[0]
	if m.open && name != "EXEC" && name != "DISCARD" && name != "MULTI" {
		if m.run[name] == nil && !onRecord(words) {
			m.spoiled = true
			return unknownCommand(words)
		}
		m.queue = append(m.queue, words)
		return "+QUEUED\r\n"
	}
	if onRecord(words) {
		return ""
	}
	if m.run[name] == nil {
		return unknownCommand(words)
	}
	return m.run[name](words[1:])
}

func unknownCommand(words []string) string {
	return "-ERR unknown command '" + words[0] + "', with args beginning with: \r\n"
}

func (m *model) multi([]string) string {
	if m.open {
		return "-ERR MULTI calls can not be nested\r\n"
	}
	m.open = true
	return modelOK
}

func (m *model) discard([]string) string {
	if !m.open {
		return "-ERR DISCARD without MULTI\r\n"
	}
	m.leaveMulti()
	return modelOK
}

func (m *model) exec([]string) string {
	if !m.open {
		return "-ERR EXEC without MULTI\r\n"
	}
	queue, spoiled := m.queue, m.spoiled
	m.leaveMulti()
	if spoiled {
		return "-EXECABORT Transaction discarded because of previous errors.\r\n"
	}
	out, known := fmt.Sprintf("*%d\r\n", len(queue)), true
	for _, words := range queue {
		reply := ""
		if !onRecord(words) {
			reply = m.run[words[0]](words[1:])
		}
		known = known && reply != ""
		out += reply
	}
	if !known {
		return ""
	}
	return out
}

func (m *model) leaveMulti() { m.open, m.spoiled, m.queue = false, false, nil }

// leave ends the session and begins another.
func (m *model) leave() {
	m.leaveMulti()
	m.db = 0
}

func (m *model) selectDB(args []string) string {
	m.db, _ = strconv.Atoi(args[0])
	return modelOK
}

// find is a key that has not expired.
func (m *model) find(db int, key string) (modelKey, bool) {
	v, ok := m.databases[db][key]
	if ok && v.deadlineMs != 0 && m.nowMs > v.deadlineMs {
		delete(m.databases[db], key)
		return modelKey{}, false
	}
	return v, ok
}

func (m *model) put(key string, v modelKey) { m.databases[m.db][key] = v }

// onString finds a string, or an empty one; ok is false for another type.
func (m *model) onString(key string) (v modelKey, there, ok bool) {
	v, there = m.find(m.db, key)
	return v, there, v.isString()
}

// onHash finds a hash, or an empty one that may be written to.
func (m *model) onHash(key string) (v modelKey, ok bool) {
	v, there := m.find(m.db, key)
	if !there {
		v.fields = map[string]string{}
	}
	return v, v.fields != nil
}

// dump prints every key of every database.
func (m *model) dump(nowMs int64) string {
	m.nowMs = nowMs
	var out strings.Builder
	for db := range m.databases {
		for _, key := range slices.Sorted(maps.Keys(m.databases[db])) {
			v, ok := m.find(db, key)
			if !ok {
				continue
			}
			deadline := v.deadlineMs
			if deadline == 0 {
				deadline = -1
			}
			fmt.Fprintf(&out, "%d %q %s @%d\n", db, key, v.value(), deadline)
		}
	}
	return out.String()
}

// value prints a value as world.dump reads it from the server.
func (v modelKey) value() string {
	switch {
	case v.members != nil:
		return membersText(slices.Collect(maps.Keys(v.members)))
	case v.scores != nil:
		return scoresText(v.withScores(v.ranked()))
	case v.list != nil:
		return listText(v.list)
	case v.stream != nil:
		return v.stream.text()
	case v.fields != nil:
		var pairs []string
		for field, value := range v.fields {
			pairs = append(pairs, field, value)
		}
		return fieldsText(pairs)
	}
	return strconv.Quote(v.text)
}

func (m *model) get(args []string) string {
	v, there, ok := m.onString(args[0])
	switch {
	case !ok:
		return modelWrongType
	case !there:
		return modelNull
	}
	return bulk(v.text)
}

// set knows NX, XX, GET, KEEPTTL, EX, PX, EXAT and PXAT with a positive amount.
func (m *model) set(args []string) string {
	old, there, ok := m.onString(args[0])
	v := modelKey{text: args[1]}
	nx, xx, get := false, false, false
	for i := 2; i < len(args); i++ {
		switch args[i] {
		case "NX":
			nx = true
		case "XX":
			xx = true
		case "GET":
			get = true
		case "KEEPTTL":
			v.deadlineMs = old.deadlineMs
		default:
			v.deadlineMs = m.deadline(args[i], args[i+1])
			i++
		}
	}
	was := modelNull
	if there {
		was = bulk(old.text)
	}
	if get && !ok {
		return modelWrongType
	}
	answer := modelOK
	if nx && there || xx && !there {
		answer = modelNull
	} else {
		m.put(args[0], v)
	}
	if get {
		return was
	}
	return answer
}

func (m *model) deadline(unit, amount string) int64 {
	n, _ := strconv.ParseInt(amount, 10, 64)
	switch unit {
	case "EX":
		return m.nowMs + n*1000
	case "PX":
		return m.nowMs + n
	case "EXAT":
		return n * 1000
	}
	return n
}

func (m *model) setNX(args []string) string {
	_, there := m.find(m.db, args[0])
	if !there {
		m.put(args[0], modelKey{text: args[1]})
	}
	return truth(!there)
}

// setEX is PSETEX: the generator gives SETEX and PSETEX the same words but for
// the unit, which the amount's size tells.
func (m *model) setEX(args []string) string {
	n, _ := strconv.ParseInt(args[1], 10, 64)
	if n <= 0 {
		return "-ERR invalid expire time in 'psetex' command\r\n"
	}
	m.put(args[0], modelKey{text: args[2], deadlineMs: m.nowMs + n})
	return modelOK
}

func (m *model) getSet(args []string) string {
	answer := m.get(args[:1])
	if answer != modelWrongType {
		m.put(args[0], modelKey{text: args[1]})
	}
	return answer
}

func (m *model) getDel(args []string) string {
	answer := m.get(args)
	if answer != modelWrongType {
		delete(m.databases[m.db], args[0])
	}
	return answer
}

// getEX: a deadline that is not in the future deletes (t_string.c getexCommand).
func (m *model) getEX(args []string) string {
	answer := m.get(args[:1])
	v, there, ok := m.onString(args[0])
	if !there || !ok || len(args) == 1 {
		return answer
	}
	if v.deadlineMs = 0; args[1] != "PERSIST" {
		if v.deadlineMs = m.deadline(args[1], args[2]); v.deadlineMs <= m.nowMs {
			delete(m.databases[m.db], args[0])
			return answer
		}
	}
	m.put(args[0], v)
	return answer
}

func (m *model) append(args []string) string {
	v, _, ok := m.onString(args[0])
	if !ok {
		return modelWrongType
	}
	v.text += args[1]
	m.put(args[0], v)
	return number(int64(len(v.text)))
}

func (m *model) strLen(args []string) string {
	v, _, ok := m.onString(args[0])
	if !ok {
		return modelWrongType
	}
	return number(int64(len(v.text)))
}

func (m *model) setRange(args []string) string {
	at, _ := strconv.Atoi(args[1])
	if at < 0 {
		return "-ERR offset is out of range\r\n"
	}
	v, _, ok := m.onString(args[0])
	if !ok {
		return modelWrongType
	}
	if args[2] == "" {
		return number(int64(len(v.text)))
	}
	text := []byte(v.text)
	for len(text) < at+len(args[2]) {
		text = append(text, 0)
	}
	copy(text[at:], args[2])
	v.text = string(text)
	m.put(args[0], v)
	return number(int64(len(v.text)))
}

func (m *model) incr(args []string) string   { return m.add(args[0], 1) }
func (m *model) decr(args []string) string   { return m.add(args[0], -1) }
func (m *model) incrBy(args []string) string { return m.add(args[0], integer(args[1])) }

func (m *model) decrBy(args []string) string {
	by := integer(args[1])
	if by == math.MinInt64 {
		return "-ERR decrement would overflow\r\n"
	}
	return m.add(args[0], -by)
}

func integer(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// strictInteger reads what Redis's string2ll takes.
func strictInteger(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

func overflows(a, b int64) bool {
	return b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b
}

func (m *model) add(key string, by int64) string {
	v, there, ok := m.onString(key)
	if !ok {
		return modelWrongType
	}
	n := int64(0)
	if there {
		if n, ok = strictInteger(v.text); !ok {
			return modelNotInt
		}
	}
	if overflows(n, by) {
		return modelOverflow
	}
	v.text = strconv.FormatInt(n+by, 10)
	m.put(key, v)
	return number(n + by)
}

func (m *model) setBit(args []string) string {
	at := int(integer(args[1]))
	v, _, ok := m.onString(args[0])
	if !ok {
		return modelWrongType
	}
	text := []byte(v.text)
	for len(text) <= at/8 {
		text = append(text, 0)
	}
	mask := byte(0x80) >> (at % 8)
	old := text[at/8]&mask != 0
	if text[at/8] &^= mask; args[2] == "1" {
		text[at/8] |= mask
	}
	v.text = string(text)
	m.put(args[0], v)
	return truth(old)
}

func (m *model) getBit(args []string) string {
	at := int(integer(args[1]))
	v, _, ok := m.onString(args[0])
	if !ok {
		return modelWrongType
	}
	return truth(at/8 < len(v.text) && v.text[at/8]&(0x80>>(at%8)) != 0)
}

func (m *model) bitCount(args []string) string {
	v, _, ok := m.onString(args[0])
	if !ok {
		return modelWrongType
	}
	n := 0
	for _, b := range []byte(v.text) {
		n += bits.OnesCount8(b)
	}
	return number(int64(n))
}

func (m *model) mSet(args []string) string {
	for i := 0; i < len(args); i += 2 {
		m.put(args[i], modelKey{text: args[i+1]})
	}
	return modelOK
}

func (m *model) mSetNX(args []string) string {
	for i := 0; i < len(args); i += 2 {
		if _, there := m.find(m.db, args[i]); there {
			return number(0)
		}
	}
	m.mSet(args)
	return number(1)
}

func (m *model) mGet(args []string) string {
	out := fmt.Sprintf("*%d\r\n", len(args))
	for _, key := range args {
		if v, there, ok := m.onString(key); there && ok {
			out += bulk(v.text)
		} else {
			out += modelNull
		}
	}
	return out
}
