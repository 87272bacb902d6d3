package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// This file owns bad command lines: arity, types, sizes, documents. What breaks
// the protocol itself is in hostile_test.go.

// Every command refuses one word too few, and one too many where their number is
// fixed.
func TestWrongArity(t *testing.T) {
	r := newRig(t)
	r.fill()
	c := r.dial()
	tried := 0
	r.unchanged("arity", func() {
		try := func(name string, words []string) {
			tried++
			got := c.do(words...)
			want := fmt.Sprintf("-ERR wrong number of arguments for '%s' command\r\n", name)
			if name == "exec" { // it gives up the transaction whatever is wrong (server.c rejectCommand)
				want = "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command\r\n"
			}
			if got != want {
				t.Errorf("%q: %q, want %q", words, got, want)
			}
		}
		check := func(name string, path []string) {
			arity := c.arity(name)
			words := path
			for len(words) < max(arity, -arity)-1 {
				words = append(words, "1")
			}
			if len(words) >= len(path) && max(arity, -arity) > len(path) {
				try(name, words)
			}
			if arity > 0 {
				try(name, append(words, "1", "1")[:arity+1])
			}
		}
		for _, command := range r.process.core.Table.All() {
			if len(command.Subs) == 0 {
				check(command.Name, []string{command.Name})
				continue
			}
			for _, sub := range command.Subs {
				check(sub.FullName(), []string{command.Name, sub.Name})
			}
		}
	})
	if tried < 150 {
		t.Errorf("only %d lines were tried", tried)
	}
	t.Logf("%d lines", tried)
}

// wrongTypeLines are lines for a key of a type that they do not work on.
func wrongTypeLines() map[string][]string {
	onStrings := "GET %s|GETSET %s x|APPEND %s x|STRLEN %s|SETRANGE %s 1 x|GETRANGE %s 0 1|INCR %s|DECR %s|INCRBY %s 1|DECRBY %s 1|" +
		"INCRBYFLOAT %s 1.5|SETBIT %s 1 1|GETBIT %s 1|BITCOUNT %s|BITPOS %s 1|BITFIELD %s SET u8 0 1|BITFIELD_RO %s GET u8 0|" +
		"GETDEL %s|GETEX %s EX 5|SUBSTR %s 0 1|SET %s x GET|BITOP AND other %s"
	onHashes := "HSET %s f v|HSETNX %s f v|HMSET %s f v|HGET %s f|HMGET %s f|HDEL %s f|HEXISTS %s f|HLEN %s|HSTRLEN %s f|HGETALL %s|" +
		"HKEYS %s|HVALS %s|HSCAN %s 0|HRANDFIELD %s|HINCRBY %s f 1|HINCRBYFLOAT %s f 1.5"
	onStrings += "|PFADD %s x|PFCOUNT %s|PFCOUNT %s other|PFMERGE %s|PFMERGE other %s|PFDEBUG ENCODING %s"
	onSets := "SADD %s m|SREM %s m|SMOVE %s other m|SISMEMBER %s m|SMISMEMBER %s m|SCARD %s|SMEMBERS %s|SPOP %s|SPOP %s 2|SRANDMEMBER %s|" +
		"SRANDMEMBER %s 2|SSCAN %s 0|SINTER %s|SINTER other %s|SUNION %s|SDIFF %s|SINTERCARD 1 %s|SINTERSTORE other %s|SUNIONSTORE other %s|SDIFFSTORE other %s"
	onLists := "LPUSH %s a|RPUSH %s a|LPUSHX %s a|RPUSHX %s a|LPOP %s|RPOP %s 2|LLEN %s|LINDEX %s 0|LRANGE %s 0 1|LSET %s 0 a|LPOS %s a|LINSERT %s BEFORE a b|" +
		"LREM %s 0 a|LTRIM %s 0 1|LMOVE %s other LEFT LEFT|RPOPLPUSH %s other|LMPOP 1 %s LEFT|BLPOP %s 0|BRPOP %s 0|BLMOVE %s other LEFT LEFT 0|BRPOPLPUSH %s other 0|BLMPOP 0 1 %s LEFT"
	onStreams := "XADD %s * f v|XLEN %s|XDEL %s 1-1|XTRIM %s MAXLEN 1|XSETID %s 1-1|XRANGE %s - +|XREVRANGE %s + -|XREAD STREAMS %s 0|XREAD BLOCK 0 STREAMS %s 0|" +
		"XREADGROUP GROUP g c STREAMS %s >|XGROUP CREATE %s g 0|XGROUP SETID %s g 0|XGROUP DESTROY %s g|XGROUP CREATECONSUMER %s g c|XGROUP DELCONSUMER %s g c|" +
		"XACK %s g 1-1|XPENDING %s g|XCLAIM %s g c 0 1-1|XAUTOCLAIM %s g c 0 0|XINFO STREAM %s|XINFO GROUPS %s|XINFO CONSUMERS %s g"
	onSortedSets := "ZADD %s 1 m|ZADD %s INCR 1 m|ZINCRBY %s 1 m|ZREM %s m|ZSCORE %s m|ZMSCORE %s m|ZCARD %s|ZCOUNT %s 0 1|ZLEXCOUNT %s - +|ZRANK %s m|ZREVRANK %s m|" +
		"ZRANGE %s 0 1|ZRANGE %s 0 1 BYSCORE|ZRANGE %s - + BYLEX|ZREVRANGE %s 0 1|ZRANGEBYSCORE %s 0 1|ZREVRANGEBYSCORE %s 1 0|ZRANGEBYLEX %s - +|ZREVRANGEBYLEX %s + -|" +
		"ZRANGESTORE other %s 0 1|ZREMRANGEBYRANK %s 0 1|ZREMRANGEBYSCORE %s 0 1|ZREMRANGEBYLEX %s - +|ZPOPMIN %s|ZPOPMAX %s 2|ZMPOP 1 %s MIN|" +
		"BZPOPMIN %s 0|BZPOPMAX %s 0|BZMPOP 0 1 %s MIN|ZRANDMEMBER %s|ZRANDMEMBER %s 2|ZSCAN %s 0|ZUNION 1 %s|ZINTER 2 other %s|ZDIFF 1 %s|ZINTERCARD 1 %s|" +
		"ZUNIONSTORE other 1 %s|ZINTERSTORE other 1 %s|ZDIFFSTORE other 1 %s"
	onPlaces := "GEOADD %s 1 2 m|GEOPOS %s m|GEODIST %s m m|GEOHASH %s m|GEOSEARCH %s FROMLONLAT 1 2 BYRADIUS 1 km|GEOSEARCHSTORE other %s FROMLONLAT 1 2 BYRADIUS 1 km|" +
		"GEORADIUS %s 1 2 1 km|GEORADIUS_RO %s 1 2 1 km|GEORADIUSBYMEMBER %s m 1 km|GEORADIUSBYMEMBER_RO %s m 1 km"
	onSorted := "SORT %s|SORT_RO %s"
	onCollections := strings.Join([]string{onSets, onLists, onStreams, onSortedSets, onPlaces, onSorted}, "|")
	return map[string][]string{
		"hash":     strings.Split(onStrings+"|"+onCollections, "|"),
		"string":   strings.Split(onHashes+"|"+onCollections, "|"),
		"ranking":  strings.Split(onStrings+"|"+onHashes+"|"+onLists+"|"+onStreams, "|"),
		recordName: strings.Split(onStrings+"|"+onHashes+"|"+onCollections, "|"),
	}
}

func TestWrongTypes(t *testing.T) {
	r := newRig(t)
	r.fill()
	r.unchanged("wrong types", func() {
		for key, lines := range wrongTypeLines() {
			for _, line := range lines {
				r.mustRefuse(strings.Fields(fmt.Sprintf(line, key)), "WRONGTYPE ")
			}
		}
		// Keys of other types cannot even be named as records unless they have
		// enough segments; these have.
		c := r.dial()
		for _, words := range [][]string{{"SET", "app:u9:s1:text", "x"}, {"HSET", "app:u9:s1:hash", "f", "v"}, {"SADD", "app:u9:s1:set", "m"}, {"RPUSH", "app:u9:s1:list", "a"}, {"XADD", "app:u9:s1:stream", "1-1", "f", "v"}, {"ZADD", "app:u9:s1:ranking", "1", "m"}} {
			c.do(words...)
			for _, line := range []string{`MEM.SET %s {}`, `MEM.PATCH %s {"a":1}`, `MEM.GET %s`, `MEM.FORGET KEYS 1 %s`, `MEM.ROLLBACK %s VERSION 1`, `MEM.HISTORY %s`, `MEM.GET %s VERSION 1`} {
				r.mustRefuse(strings.Fields(fmt.Sprintf(line, words[1])), "WRONGTYPE ")
			}
			c.do("DEL", words[1])
		}
	})
}

// deep is a document that is nested so many levels.
func deep(open, core, close string, levels int) string {
	return strings.Repeat(open, levels) + core + strings.Repeat(close, levels)
}

func TestBrokenDocuments(t *testing.T) {
	r := newRig(t)
	r.fill()
	const levels = 100_000
	documents := map[string]string{
		"nothing": "", "a word": "hello", "an open object": `{"a":1`, "an open array": `[1,2`, "an open string": `"abc`,
		"two values": `{} {}`, "a trailing comma": `[1,]`, "a bare key": `{a:1}`, "NaN": `NaN`, "infinity": `{"a":Infinity}`,
		"a leading zero": `01`, "a control character": "\"a\x01b\"", "a lone surrogate half of an escape": `"\u12`, "bytes that are not UTF-8": "\"\xff\xfe\"",
		"a comment": `{/* */}`, "100,000 arrays": deep("[", "", "]", levels), "100,000 objects": deep(`{"a":`, "1", "}", levels),
		"100,000 open arrays": strings.Repeat("[", levels), "100,000 open objects": strings.Repeat(`{"a":`, levels),
	}
	r.unchanged("broken documents", func() {
		for name, document := range documents {
			for _, words := range [][]string{
				{"MEM.SET", recordName, document}, {"MEM.SET", "app:u1:s1:new", document},
				{"MEM.PATCH", recordName, document}, {"MEM.PATCH", recordName, document, "RFC7396"}, {"MEM.PATCH", recordName, document, "RFC6902"},
				{"MEM.SET", recordName, "{}", "META", document},
			} {
				if name == "nothing" && words[len(words)-2] == "META" {
					continue // an empty META is none
				}
				if name == "bytes that are not UTF-8" {
					continue // judged below: JSON texts are kept as they come or refused
				}
				r.mustRefuse(words, "-")
			}
		}
		for _, words := range [][]string{
			{"MEM.PATCH", recordName, `{"a":1}`, "RFC6902"}, {"MEM.PATCH", recordName, `[{"op":"no"}]`, "RFC6902"},
			{"MEM.PATCH", recordName, `[{"op":"remove","path":"/none"}]`, "RFC6902"},
			{"MEM.PATCH", recordName, `[{"op":"add","path":"/list/9","value":1}]`, "RFC6902"},
			{"MEM.PATCH", recordName, `[{"op":"add","path":"/x","value":` + deep("[", "", "]", levels) + `}]`, "RFC6902"},
			{"MEM.PATCH", recordName, `{"x":` + deep(`{"a":`, "1", "}", levels) + `}`},
			{"MEM.PATCH", recordName, deep(`{"a":`, "1", "}", 200)},
			{"MEM.GET", recordName, "PATH", "$[" + strings.Repeat("(", levels)}, {"MEM.GET", recordName, "PATH", "$" + strings.Repeat("..a", levels)},
			{"MEM.GET", recordName, "PATH", "$["}, {"MEM.GET", recordName, "PATH", "no path"}, {"MEM.GET", recordName, "PATH", ""},
		} {
			r.mustRefuse(words, "-")
		}
	})
}

func TestOversized(t *testing.T) {
	r := newRig(t)
	r.fill()
	long := strings.Repeat("x", 1<<10)
	many := func(n int) []string { return strings.Split(strings.TrimSuffix(strings.Repeat("t,", n), ","), ",") }
	r.unchanged("oversized", func() {
		for _, test := range []struct {
			words []string
			want  string
		}{
			{[]string{"SETRANGE", "string", "536870912", "x"}, "string exceeds maximum allowed size"},
			{[]string{"SETRANGE", "string", "9223372036854775807", "x"}, "-ERR"},
			{[]string{"SETBIT", "string", "4294967296", "1"}, "bit offset is not an integer or out of range"},
			{[]string{"INCRBY", "number", "9223372036854775807"}, "overflow"},
			{[]string{"SET", "string", "x", "EX", "9223372036854775807"}, "invalid expire time"},
			{[]string{"EXPIRE", "string", "9223372036854775807"}, "invalid expire time"},
			{[]string{"SELECT", "99999999999"}, "-ERR"},
			{[]string{"SCAN", "0", "COUNT", "0"}, "syntax error"},
			{[]string{"MEM.SET", "app:u1:" + long + ":x", "{}"}, "1024"},
			{[]string{"MEM.SET", "app:u1" + strings.Repeat(":x", 20), "{}"}, "16"},
			{[]string{"MEM.SET", "app:u1:s1:large", `"` + strings.Repeat("x", 8<<20) + `"`}, "mem-value-bytes"},
			{[]string{"MEM.SET", "app:u1:s1:large", strings.Repeat("x", 8<<20+1), "TEXT"}, "mem-value-bytes"},
			{[]string{"MEM.PATCH", recordName, `{"a":"` + strings.Repeat("x", 8<<20) + `"}`}, "mem-value-bytes"},
			{append([]string{"MEM.SET", recordName, "{}", "TAGS", "65"}, many(65)...), "mem-tags"},
			{[]string{"MEM.SET", recordName, "{}", "TAGS", "5", "a"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "TAGS", "99999999999999999999"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "SOURCE", long}, "mem-name-bytes"},
			{[]string{"MEM.SET", recordName, "{}", "REASON", strings.Repeat(long, 5)}, "mem-note-bytes"},
			{[]string{"MEM.SET", recordName, "{}", "CONFIDENCE", "NaN"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "CONFIDENCE", "1.5"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "CONFIDENCE", "1e999"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "KIND", "eternal"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "TIME", "yesterday"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "NOSUCH"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "ID"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "EX", "0"}, "-ERR"},
			{[]string{"MEM.SET", recordName, "{}", "SCHEMA", "later"}, "-ERR"},
			{[]string{"MEM.SET", "no-key", "{}"}, "-ERR"},
			{[]string{"MEM.SET", "", "{}"}, "-ERR"},
			{[]string{"MEM.SET", "app::s1:x", "{}"}, "-ERR"},
			{[]string{"MEM.GET", recordName, "AT", "seq:x"}, "-ERR"},
			{[]string{"MEM.GET", recordName, "VERSION", "-1"}, "-ERR"},
			{[]string{"MEM.ROLLBACK", recordName, "VERSION", "99"}, "-ERR"},
			{[]string{"MEM.FORGET", "KEYS", "2", recordName}, "-ERR"},
			{[]string{"MEM.RECALL", "app:u1", "TOPK", "1001"}, "-ERR"},
			{[]string{"MEM.RECALL", "app:u1", "WEIGHTS", "NaN", "1", "1"}, "-ERR"},
			{[]string{"MEM.AUDIT", "app:u1", "CURSOR", "x"}, "-ERR"},
			{[]string{"MEM.APPEND", recordName, "ITEMS", "1", "{}"}, "-ERR"},
			{[]string{"MEM.ERASE", ""}, "-ERR"},
			{[]string{"MEM.ERASE", strings.Repeat("x", 2000)}, "mem-scope-bytes"},
			{[]string{"MEM.APPLY", "app:u1", "[{}]"}, "-APPLYABORT 0"},
			{[]string{"MEM.APPLY", "app:u1", strings.Repeat("[", 100_000)}, "-"},
			{[]string{"MEM.APPLY", "app:u1", "[" + strings.Repeat("{},", 1000) + "{}]"}, "mem-apply-commands"},
			{[]string{"MEM.RECALL", "app:u1", "FILTER", strings.Repeat("(", 10_000)}, "-ERR"},
			{[]string{"MEM.RECALL", "app:u1", "VECTOR", "abc"}, "-ERR"},
			{[]string{"MEM.RECALL", "app:u1", "VECTOR", strings.Repeat("abcd", 4097)}, "-ERR"},
			{[]string{"MEM.SCHEMA", "SET", "s", "1", strings.Repeat(`{"not":`, 10_000)}, "-ERR"},
			{[]string{"MEM.POLICY", "SET", "app", "MAXRECORDS", "-1"}, "-ERR"},
			{[]string{"MEM.LINK", recordName, strings.Repeat("r", 2000), recordName}, "-ERR"},
			{[]string{"MEM.SESSION", "OPEN", "app:u1", "REUSE", "-1"}, "-ERR"},
			{[]string{"RENAME", recordName, "app:u2:s1:x"}, "-ERR"},
			{[]string{"MOVE", recordName, "1"}, "-ERR"},
		} {
			r.mustRefuse(test.words, test.want)
		}
	})
}

// An EXEC of broken commands answers each of them and does nothing.
func TestHostileTransactions(t *testing.T) {
	r := newRig(t)
	r.fill()
	r.unchanged("transactions", func() {
		c := r.dial()
		defer c.Close()
		c.do("MULTI")
		c.do("HSET", "string", "f", "v")
		c.do("MEM.SET", recordName, "{")
		c.do("INCR", "string")
		if got := c.do("EXEC"); strings.Count(got, "\r\n-") != 3 || !strings.HasPrefix(got, "*3\r\n") {
			t.Errorf("EXEC of three errors: %q", got)
		}
		c.do("MULTI")
		c.do("SET", "string", "other")
		c.do("SET", "string")
		if got := c.do("EXEC"); !strings.HasPrefix(got, "-EXECABORT ") {
			t.Errorf("EXEC of a spoiled transaction: %q", got)
		}
		// A client that goes away inside MULTI leaves nothing.
		gone := r.dial()
		gone.do("MULTI")
		gone.do("SET", "string", "other")
		gone.Close()
	})
}

// Any bytes leave the server answering.
func FuzzWire(f *testing.F) {
	r := newRig(f, "--appendonly", "no", "--save", "")
	for _, test := range hostileBytes() {
		f.Add([]byte(test.sent))
	}
	for _, words := range [][]string{
		{"SET", "k", "v", "EX", "1"}, {"HSET", "h", "f", "v"}, {"MEM.SET", recordName, `{"a":1}`, "KIND", "semantic", "TAGS", "1", "t"},
		{"MEM.PATCH", recordName, `[{"op":"add","path":"/a","value":1}]`, "RFC6902"}, {"MEM.RECALL", "app:u1", "QUERY", "words", "EXPLAIN"},
		{"MEM.AUDIT", "app:u1", "FORMAT", "TIMELINE"}, {"MULTI"}, {"EXEC"}, {"SCAN", "0", "MATCH", "*[^]*", "COUNT", "10"}, {"HELLO", "3"},
		{"BITFIELD", "b", "SET", "u8", "#1", "255", "GET", "i64", "0"}, {"CLIENT", "REPLY", "SKIP"}, {"COMMAND", "DOCS", "get"}, {"RESTORE", "r", "0", "\x00\x01v\x0b\x00"},
	} {
		f.Add([]byte(request(words...) + request("PING")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &rig{TB: t, network: r.network, address: r.address}
		c := r.dial()
		defer c.Close()
		// In two pieces, so that requests end in the middle. The server may close
		// the connection before it has taken all.
		_, _ = c.Write(data[:len(data)/2])
		_, _ = c.Write(data[len(data)/2:])
		if err := c.CloseWrite(); err != nil {
			return // closed by the server already
		}
		if _, err := io.Copy(io.Discard, c.in); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatalf("%q: the server neither answers nor closes", data)
		}
		fresh := r.dial()
		defer fresh.Close()
		fresh.aside(request("PING"))
		if got, err := fresh.reply(); err != nil {
			t.Fatalf("%q: a fresh client's PING: %q, %v", data, got, err)
		}
	})
}
