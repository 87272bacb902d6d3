package commands

import (
	"math/rand/v2"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
	"reminis/engine"
)

// This file owns the tests of keyspace events: against a real redis-server, and
// what only here is told.

// eventLines are command lines that tell of something, or do not for a reason.
// %k stands for a key.
var eventLines = []string{
	"SET %k v", "SET %k v EX 100", "SET %k 7 NX", "SET %k v XX", "SET %k v KEEPTTL", "SET %k 1 GET", "SETNX %k 5", "SETEX %k 100 v", "PSETEX %k 100000 9",
	"GETSET %k v", "GETDEL %k", "GETEX %k", "GETEX %k PERSIST", "GETEX %k EX 100", "GETEX %k PXAT 1", "MSET %k a %k b", "MSETNX %k 1 %k 2",
	"APPEND %k x", "SETRANGE %k 3 xyz", "SETRANGE %k 0 \"\"", "INCR %k", "DECRBY %k 3", "INCRBY %k 2", "INCRBYFLOAT %k 1.5",
	"SETBIT %k 7 1", "SETBIT %k 70 0", "BITFIELD %k SET u8 0 1", "BITFIELD %k GET u8 0", "BITFIELD %k OVERFLOW FAIL INCRBY u2 0 3",
	"BITFIELD %k INCRBY u4 90 1 SET i5 100 -1", "BITOP AND %k %k %k", "BITOP NOT %k %k",
	"HSET %k f v g w", "HSET %k f v", "HMSET %k a b", "HSETNX %k f v", "HINCRBY %k n 1", "HINCRBYFLOAT %k x 0.5", "HDEL %k f", "HDEL %k f g a n x", "HGET %k f", "HGETALL %k",
	"LPUSH %k a 1 b", "RPUSH %k c", "LPUSHX %k d", "RPUSHX %k a", "LPOP %k", "RPOP %k", "LPOP %k 2", "RPOP %k 9", "LPOP %k 0", "LMPOP 2 %k %k LEFT COUNT 2",
	"LMOVE %k %k LEFT RIGHT", "LMOVE %k %k LEFT LEFT", "RPOPLPUSH %k %k", "LSET %k 0 x", "LSET %k 0 y", "LINSERT %k BEFORE a b", "LINSERT %k AFTER none b", "LREM %k 0 a", "LREM %k 1 b",
	"SORT %k", "SORT %k ALPHA STORE %k", "SORT %k BY nosort STORE %k", "SORT %k BY %k* GET %k* STORE %k", "SORT_RO %k ALPHA",
	"LTRIM %k 0 -1", "LTRIM %k 1 -2", "LTRIM %k 1 0", "LLEN %k", "LINDEX %k 0", "LRANGE %k 0 -1", "LPOS %k a",
	"SADD %k 1 2 3", "SADD %k a 1", "SADD %k 1", "SREM %k 1", "SREM %k 1 2 3 a", "SMOVE %k %k 1", "SMOVE %k %k a", "SPOP %k 100", "SPOP %k 0", "SPOP none",
	"SINTERSTORE %k %k %k", "SUNIONSTORE %k %k %k", "SDIFFSTORE %k %k %k", "SINTER %k %k", "SUNION %k %k", "SDIFF %k none", "SINTERCARD 2 %k %k",
	"SISMEMBER %k 1", "SMISMEMBER %k 1 2", "SCARD %k", "SMEMBERS %k", "SRANDMEMBER %k", "SSCAN %k 0",
	"PFADD %k a b", "PFADD %k a", "PFADD %k", "PFCOUNT %k", "PFCOUNT %k %k", "PFMERGE %k %k %k",
	"DEL %k", "DEL %k %k", "UNLINK %k", "EXPIRE %k 100", "EXPIRE %k -1", "PEXPIREAT %k 1", "EXPIRE %k 100 NX", "EXPIREAT %k 99999999999", "PERSIST %k",
	"RENAME %k %k", "RENAMENX %k %k", "COPY %k %k", "COPY %k %k REPLACE", "COPY %k %k DB 1 REPLACE", "MOVE %k 1", "TOUCH %k", "EXISTS %k", "TYPE %k", "TTL %k", "GET %k", "STRLEN %k", "MGET %k %k",
	"OBJECT ENCODING %k", "DUMP %k", "GETRANGE %k 0 1", "GETBIT %k 3", "BITCOUNT %k", "HLEN %k", "LCS %k %k", "SELECT 1", "SELECT 0", "SWAPDB 0 1", "FLUSHDB",
}

// TestEventsAsRedis: random commands tell the same events as in Redis, in the same
// order.
func TestEventsAsRedis(t *testing.T) {
	theirs := redistest.Start(t)
	theirEar := theirs.Dial()
	server := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	ours, ear := server.connect(2), server.connect(2)
	for _, set := range []string{"KEA", "KEAm", "Eg$", "Kxh", "KE", "AKEn"} {
		for _, client := range []func(words ...string){
			func(words ...string) { ours.say(words...) }, func(words ...string) { theirs.Do(words...) },
		} {
			client("CONFIG", "SET", "notify-keyspace-events", set)
			client("FLUSHALL")
		}
		ear.say("PSUBSCRIBE", "__key*")
		theirEar.Do("PSUBSCRIBE", "__key*")
		const seed = 3
		random := rand.New(rand.NewPCG(seed, uint64(len(set))))
		for step := range 1000 {
			line := randomLine(random)
			words := strings.Fields(strings.ReplaceAll(line, `""`, "\x00"))
			for i := range words {
				words[i] = strings.ReplaceAll(words[i], "\x00", "")
			}
			ours.say(words...)
			theirs.Do(words...)
			have := ear.say("PING")
			theirEar.Send("PING")
			want := string(theirEar.Next())
			for last := want; !strings.Contains(last, "\r\npong\r\n"); want += last {
				last = string(theirEar.Next())
			}
			if have != want {
				t.Fatalf("%s, seed %d, step %d: %s\nours  %s\nredis %s", set, seed, step, line, render(t, []byte(have), 2), render(t, []byte(want), 2))
			}
		}
	}
}

// randomLine fills a line with keys, of which there are few.
func randomLine(random *rand.Rand) string {
	line := eventLines[random.IntN(len(eventLines))]
	for strings.Contains(line, "%k") {
		line = strings.Replace(line, "%k", string("abcd"[random.IntN(4)]), 1)
	}
	return line
}

// TestEventsOfRecords: records tell of themselves, and as keys do.
func TestEventsOfRecords(t *testing.T) {
	server, client := newTestClient(t)
	ear := server.connect(3)
	client.say("CONFIG", "SET", "notify-keyspace-events", "EA")
	ear.say("PSUBSCRIBE", "__keyevent@0__:*")
	for _, test := range []struct{ line, want string }{
		{`MEM.SET a:b:c 1`, "mem.set"},
		{`MEM.SET a:b:c {"x":1}`, "mem.set"},
		{`MEM.PATCH a:b:c {"y":2}`, "mem.patch"},
		{`MEM.PATCH a:b:c {"y":2}`, ""},
		{`MEM.SET a:b:w 1 KIND working EX 100`, "mem.set expire"},
		{`MEM.SET a:b:c 1 NX`, ""},
		{`EXPIRE a:b:c 100`, "expire"},
		{`PERSIST a:b:c`, "persist"},
		{`RENAME a:b:c a:b:d`, "mem.forget mem.set rename_from rename_to"},
		{`COPY a:b:d a:b:c`, "mem.set copy_to"},
		{`MEM.FORGET KEYS 1 a:b:c`, "mem.forget del"},
		{`MEM.ROLLBACK a:b:c VERSION 1`, "mem.set"},
		{`DEL a:b:c a:b:c`, "mem.forget del"},
		{`EXPIRE a:b:d -1`, "mem.forget del"},
		{`SET a:b:w v`, "mem.forget set"},
		{`MEM.SET a:b:x 1 PX 10`, "mem.set expire"},
	} {
		if have := events(t, client, ear, test.line); have != test.want {
			t.Errorf("%s: told %q, want %q", test.line, have, test.want)
		}
	}
	server.clock.nowMs += 11
	server.core.Engine.ExpireDue()
	if have := events(t, client, ear, "PING"); have != "expired mem.expired" {
		t.Errorf("expiry told %q", have)
	}
	client.say("CONFIG", "SET", "notify-keyspace-events", "Ed")
	if have := events(t, client, ear, "MEM.SET a:b:z 1 EX 100"); have != "mem.set" {
		t.Errorf("class d told %q", have)
	}
}

// events are the names of the events that a line tells ear of.
func events(t *testing.T, client, ear *testClient, line string) string {
	t.Helper()
	client.say(strings.Fields(line)...)
	var names []string
	for _, message := range splitReplies(t, ear.TakePushed(nil)) {
		// pmessage, pattern, channel, key
		_, name, _ := strings.Cut(strings.Split(message, "\r\n")[6], "__:")
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestEventsOfExec: the events of a transaction come in order, once it is over.
func TestEventsOfExec(t *testing.T) {
	server, client := newTestClient(t)
	ear := server.connect(3)
	client.say("CONFIG", "SET", "notify-keyspace-events", "EA")
	ear.say("PSUBSCRIBE", "__keyevent@*")
	for _, line := range []string{"MULTI", "SET a 1", "SELECT 2", "INCR a", "DEL a"} {
		client.say(strings.Fields(line)...)
		if len(ear.pushed) > 0 {
			t.Errorf("%s tells %q", line, ear.pushed)
		}
	}
	if have := events(t, client, ear, "EXEC"); have != "set incrby del" {
		t.Errorf("EXEC told %q", have)
	}
	client.say("SELECT", "0")
	client.say("CONFIG", "SET", "notify-keyspace-events", "")
	if have := events(t, client, ear, "SET a 2"); have != "" {
		t.Errorf("told %q although nothing is to be told", have)
	}
}

// TestEventsOfExpiry: a key that has expired is told of once, by whoever finds it.
func TestEventsOfExpiry(t *testing.T) {
	server, client := newTestClient(t)
	ear := server.connect(3)
	client.say("CONFIG", "SET", "notify-keyspace-events", "EAm")
	ear.say("PSUBSCRIBE", "__keyevent@*")
	for _, find := range []struct{ line, want string }{
		{"GET k", "expired keymiss"}, {"SET k v", "expired set"}, {"DEL k", "expired"}, {"HSET k f v", "expired hset"},
		{"RENAME other k", "expired rename_from rename_to"},
	} {
		client.say("SET", "k", "v", "PX", "10")
		client.say("SET", "other", "v")
		server.clock.nowMs += 11
		ear.pushed = nil
		if have := events(t, client, ear, find.line); have != find.want {
			t.Errorf("%s: told %q, want %q", find.line, have, find.want)
		}
		client.say("DEL", "k")
	}
}

// TestEventsCost: what nobody asked for allocates nothing.
func TestEventsCost(t *testing.T) {
	_, client := newTestClient(t)
	line := [][]byte{[]byte("SET"), []byte("k"), []byte("v")}
	out := make([]byte, 0, 64)
	if n := fewestAllocations(func() { client.session.Execute(out, line) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
