package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// This file owns the random command lines that the model knows. It must not
// know who runs them.

// generator makes command lines from a seed.
type generator struct {
	r     *rand.Rand
	clock *testClock
	// records is how many of twelve lines are about memory records.
	records int
	inMulti bool
	line    int // of lines made, for ids that are new
}

// pick gives each of a number of ways the same chance.
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// slotTag puts keys into one slot, hence into one table.
const slotTag = "{one}"

// key is one of few, so that lines meet; half of them share a table.
func (g *generator) key() string {
	if g.r.IntN(2) == 0 {
		return fmt.Sprintf("%s%d", slotTag, g.r.IntN(24))
	}
	return fmt.Sprintf("k%d", g.r.IntN(16))
}

func (g *generator) field() string { return fmt.Sprintf("f%d", g.r.IntN(14)) }

func (g *generator) value() string {
	switch g.r.IntN(8) {
	case 0:
		return ""
	case 1, 2:
		return fmt.Sprint(g.r.Int64N(2000) - 1000)
	case 3:
		return fmt.Sprint(pick[int64](g.r, math.MaxInt64, math.MinInt64, math.MaxInt64-1))
	case 4:
		return strings.Repeat("x", g.r.IntN(400))
	case 5:
		random := make([]byte, g.r.IntN(40))
		for i := range random {
			random[i] = byte(g.r.Uint32())
		}
		return string(random)
	}
	return fmt.Sprintf("value %d", g.line)
}

// number is an amount for INCRBY and its kin.
func (g *generator) number() string {
	return fmt.Sprint(pick(g.r, g.r.Int64N(100)-50, math.MaxInt64, math.MinInt64, 0))
}

func (g *generator) db() string { return fmt.Sprint(g.r.IntN(worldDatabases)) }

// soon is a moment near now, in the past now and then.
func (g *generator) soon() int64 { return g.clock.NowMs() + g.r.Int64N(120) - 10 }

// expiry is a unit and an amount as SET and GETEX take them.
func (g *generator) expiry() []string {
	switch g.r.IntN(4) {
	case 0:
		return []string{"EX", fmt.Sprint(1 + g.r.IntN(3))}
	case 1:
		return []string{"EXAT", fmt.Sprint(g.clock.NowMs()/1000 + g.r.Int64N(3))}
	case 2:
		return []string{"PXAT", fmt.Sprint(g.soon())}
	}
	return []string{"PX", fmt.Sprint(1 + g.r.IntN(100))}
}

// next is the next line.
func (g *generator) next() []string {
	g.line++
	if g.inMulti {
		switch g.r.IntN(6) {
		case 0:
			g.inMulti = false
			return []string{pick(g.r, "EXEC", "EXEC", "EXEC", "DISCARD")}
		case 1:
			if g.r.IntN(20) == 0 {
				return []string{pick(g.r, "MULTI", "NOSUCH")}
			}
		}
		return g.data()
	}
	switch g.r.IntN(24) {
	case 0, 1:
		g.inMulti = true
		return []string{"MULTI"}
	case 2:
		if g.r.IntN(8) == 0 {
			return []string{pick(g.r, "EXEC", "DISCARD", "NOSUCH")}
		}
	}
	return g.data()
}

// data is a line that works on data.
func (g *generator) data() []string {
	if g.r.IntN(12) < g.records {
		return g.record()
	}
	switch g.r.IntN(32) {
	case 0, 1, 2:
		return g.setting()
	case 3, 4, 5:
		return g.string()
	case 6, 7, 8, 9:
		return g.hash()
	case 10, 11:
		return g.deadline()
	case 12, 13:
		return g.moving()
	case 14:
		return g.reading()
	case 15, 16, 17:
		return g.set()
	case 18, 19, 20:
		return g.list()
	case 21, 22, 23:
		return g.stream()
	case 24, 25, 26:
		return g.sortedSet()
	case 27, 28, 29, 30:
		return g.script()
	}
	return g.database()
}

func (g *generator) setting() []string {
	key, value := g.key(), g.value()
	switch g.r.IntN(8) {
	case 0:
		return []string{"MSET", key, value, g.key(), g.value()}
	case 1:
		return []string{"MSETNX", key, value, g.key(), g.value()}
	case 2:
		return []string{"SETNX", key, value}
	case 3:
		return []string{"PSETEX", key, fmt.Sprint(g.r.IntN(100)), value}
	case 4:
		return []string{"GETSET", key, value}
	}
	line := []string{"SET", key, value}
	if g.r.IntN(3) == 0 {
		line = append(line, pick(g.r, "NX", "XX"))
	}
	if g.r.IntN(3) == 0 {
		line = append(line, "GET")
	}
	switch g.r.IntN(3) {
	case 0:
		line = append(line, g.expiry()...)
	case 1:
		line = append(line, "KEEPTTL")
	}
	return line
}

func (g *generator) string() []string {
	key := g.key()
	switch g.r.IntN(9) {
	case 0:
		return []string{"APPEND", key, g.value()}
	case 1:
		return []string{"SETRANGE", key, fmt.Sprint(g.r.IntN(60) - 1), g.value()}
	case 2:
		return []string{pick(g.r, "INCR", "DECR"), key}
	case 3:
		return []string{pick(g.r, "INCRBY", "DECRBY"), key, g.number()}
	case 4:
		return []string{"SETBIT", key, fmt.Sprint(g.r.IntN(300)), pick(g.r, "0", "1")}
	case 5:
		return []string{"GETDEL", key}
	case 6:
		return append([]string{"GETEX", key}, g.expiry()...)
	case 7:
		return []string{"GETEX", key, "PERSIST"}
	}
	return []string{pick(g.r, "DEL", "UNLINK"), key, g.key()}
}

func (g *generator) hash() []string {
	key := g.key()
	switch g.r.IntN(6) {
	case 0:
		return []string{"HDEL", key, g.field(), g.field()}
	case 1:
		return []string{"HINCRBY", key, g.field(), g.number()}
	case 2:
		return []string{"HSETNX", key, g.field(), g.value()}
	}
	line := []string{"HSET", key}
	for range 1 + g.r.IntN(4) {
		line = append(line, g.field(), g.value())
	}
	return line
}

// member is an integer or a text, of few.
func (g *generator) member() string {
	if g.r.IntN(8) == 0 {
		return pick(g.r, "", "member", strings.Repeat("m", g.r.IntN(300)))
	}
	return fmt.Sprint(g.r.IntN(14) << (g.r.IntN(3) * 16))
}

func (g *generator) set() []string {
	key := g.key()
	switch g.r.IntN(8) {
	case 0:
		return []string{"SMOVE", key, g.key(), g.member()}
	case 1:
		return []string{pick(g.r, "SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE"), key, g.key(), g.key()}
	case 2:
		return []string{"SISMEMBER", key, g.member()}
	}
	line := []string{pick(g.r, "SADD", "SADD", "SREM"), key}
	for range 1 + g.r.IntN(5) {
		line = append(line, g.member())
	}
	return line
}

// score is a multiple of a half, so that sums are exact in any order.
func (g *generator) score() string {
	return pick(g.r, fmt.Sprint(g.r.IntN(20)-10), fmt.Sprint(float64(g.r.IntN(60)-30)/2), pick(g.r, "inf", "-inf", "0", "7"))
}

// ranking is mostly a key that no other type has, so that lines on sorted sets find
// members.
func (g *generator) ranking() string {
	return pick(g.r, g.key(), "z0", "z1", slotTag+"z2", slotTag+"z3")
}

func (g *generator) sortedSet() []string {
	key := g.ranking()
	switch g.r.IntN(20) {
	case 0:
		return []string{"ZINCRBY", key, g.score(), g.member()}
	case 1:
		return []string{"ZADD", key, pick(g.r, "NX", "XX", "GT", "LT"), "INCR", g.score(), g.member()}
	case 2:
		return []string{pick(g.r, "ZPOPMIN", "ZPOPMAX"), key, fmt.Sprint(g.r.IntN(6))}
	case 3:
		return []string{pick(g.r, "ZSCORE", "ZRANK"), key, g.member()}
	case 4:
		return []string{"ZRANGE", key, g.index(), g.index()}
	case 5:
		return []string{"ZRANGESTORE", key, g.ranking(), g.index(), g.index()}
	case 6:
		return []string{"ZREMRANGEBYRANK", key, fmt.Sprint(g.r.IntN(12)), fmt.Sprint(g.r.IntN(12))}
	case 7:
		low := g.r.IntN(20) - 10
		return []string{"ZREMRANGEBYSCORE", key, pick(g.r, "-inf", fmt.Sprint(low)), fmt.Sprint(low + g.r.IntN(6))}
	case 8, 9:
		return []string{"ZDIFFSTORE", key, "2", g.ranking(), g.ranking()}
	case 10, 11, 12:
		return []string{pick(g.r, "ZUNIONSTORE", "ZINTERSTORE"), key, "2", g.ranking(), g.ranking(), "AGGREGATE", pick(g.r, "SUM", "MIN", "MAX")}
	case 13, 14:
		return []string{"ZREM", key, g.member(), g.member(), g.member()}
	}
	line := []string{"ZADD", key}
	if g.r.IntN(3) == 0 {
		line = append(line, pick(g.r, "NX", "XX", "GT", "LT", "CH"))
	}
	for range 1 + g.r.IntN(5) {
		line = append(line, g.score(), g.member())
	}
	return line
}

// index is a place near an end of a list, or within.
func (g *generator) index() string { return fmt.Sprint(g.r.IntN(60) - 30) }

func (g *generator) list() []string {
	key, end := g.key(), pick(g.r, "LEFT", "RIGHT")
	switch g.r.IntN(16) {
	case 0:
		return []string{pick(g.r, "LPOP", "RPOP"), key}
	case 1:
		return []string{pick(g.r, "LPOP", "RPOP"), key, fmt.Sprint(g.r.IntN(20))}
	case 2:
		return []string{"LSET", key, g.index(), g.value()}
	case 3, 4:
		return []string{"LINSERT", key, pick(g.r, "BEFORE", "AFTER"), g.element(), g.value()}
	case 5:
		return []string{"LREM", key, fmt.Sprint(g.r.IntN(7) - 3), g.element()}
	case 6:
		return []string{"LTRIM", key, fmt.Sprint(g.r.IntN(4)), fmt.Sprint(-g.r.IntN(4) - 1)}
	case 7:
		return []string{"LRANGE", key, g.index(), g.index()}
	case 8, 9:
		return []string{"LMOVE", key, g.key(), end, pick(g.r, "LEFT", "RIGHT")}
	}
	line := []string{pick(g.r, "LPUSH", "RPUSH", "RPUSH", "LPUSHX", "RPUSHX"), key}
	for range 1 + g.r.IntN(1+g.r.IntN(40)) {
		line = append(line, pick(g.r, g.element(), g.value()))
	}
	return line
}

func (g *generator) stream() []string {
	key, consumer := g.key(), streamConsumers()[g.r.IntN(2)]
	id := func() string { return fmt.Sprintf("%d-%d", 1+g.r.IntN(40), g.r.IntN(4)) }
	switch g.r.IntN(10) {
	case 0:
		return []string{"XDEL", key, id(), id(), id()}
	case 1:
		return []string{"XLEN", key}
	case 2, 3:
		return []string{"XGROUP", "CREATE", key, "g", "0", "MKSTREAM"}
	case 4, 5:
		return []string{"XREADGROUP", "GROUP", "g", consumer, "COUNT", fmt.Sprint(1 + g.r.IntN(4)), "STREAMS", key, ">"}
	case 6:
		return []string{"XACK", key, "g", id(), id(), id()}
	}
	return []string{"XADD", key, "MAXLEN", "=", fmt.Sprint(3 + g.r.IntN(60)), fmt.Sprintf("%d-*", 1+g.r.IntN(40)), "f", g.value()}
}

// element is a text that lists often have.
func (g *generator) element() string { return fmt.Sprint(g.r.IntN(12)) }

func (g *generator) deadline() []string {
	key := g.key()
	line := []string{"PERSIST", key}
	switch g.r.IntN(5) {
	case 0:
		return line
	case 1:
		line = []string{"EXPIRE", key, fmt.Sprint(g.r.IntN(4) - 1)}
	case 2:
		line = []string{"EXPIREAT", key, fmt.Sprint(g.clock.NowMs()/1000 + g.r.Int64N(4) - 1)}
	case 3:
		line = []string{"PEXPIREAT", key, fmt.Sprint(g.soon())}
	case 4:
		line = []string{"PEXPIRE", key, fmt.Sprint(g.r.IntN(120) - 10)}
	}
	if g.r.IntN(2) == 0 {
		line = append(line, pick(g.r, "NX", "XX", "GT", "LT"))
	}
	return line
}

func (g *generator) moving() []string {
	switch g.r.IntN(4) {
	case 0:
		return []string{pick(g.r, "RENAME", "RENAMENX"), g.key(), g.key()}
	case 1:
		return []string{"MOVE", g.key(), g.db()}
	}
	line := []string{"COPY", g.key(), g.key(), "DB", g.db()}
	if g.r.IntN(2) == 0 {
		line = append(line, "REPLACE")
	}
	return line
}

func (g *generator) reading() []string {
	key := g.key()
	switch g.r.IntN(8) {
	case 0:
		return []string{"GETBIT", key, fmt.Sprint(g.r.IntN(300))}
	case 1:
		return []string{"MGET", key, g.key(), g.key()}
	case 2:
		return []string{"HMGET", key, g.field(), g.field()}
	case 3:
		return []string{pick(g.r, "HGET", "HEXISTS"), key, g.field()}
	case 4:
		return []string{"EXISTS", key, key, g.key()}
	}
	return []string{pick(g.r, "GET", "STRLEN", "BITCOUNT", "TYPE", "PTTL", "PEXPIRETIME", "HLEN", "SCARD", "LLEN", "ZCARD"), key}
}

func (g *generator) database() []string {
	switch g.r.IntN(12) {
	case 0:
		return []string{"FLUSHDB"}
	case 1:
		if g.r.IntN(4) == 0 {
			return []string{"FLUSHALL"}
		}
	case 2, 3, 4:
		return []string{"SWAPDB", g.db(), g.db()}
	}
	return []string{"SELECT", g.db()}
}

// populate is lines that make one table grow: it splits a bucket for each eight
// keys.
func (g *generator) populate() [][]string {
	var lines [][]string
	for i := range 24 {
		lines = append(lines, []string{"SET", fmt.Sprintf("%s%d", slotTag, i), g.value()})
	}
	return lines
}
