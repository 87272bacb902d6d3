package commands

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
	"reminis/engine"
	"reminis/engine/dump"
)

// This file compares keys, databases, hashes, sets and serialised values with a real
// redis-server: random lines and what the keys then hold, and payloads both
// ways.

// looksAtKeys are lines that show all there is to see of a key.
var looksAtKeys = []string{"TYPE %k", "HGETALL %k", "HLEN %k", "SMEMBERS %k", "SCARD %k", "DEBUG DIGEST-VALUE %k", "STRLEN %k", "LLEN %k", "LRANGE %k 0 -1", "ZRANGE %k 0 -1 WITHSCORES", "ZCARD %k", "OBJECT ENCODING %k", "TTL %k"}

func TestRandomKeysAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	r := seeded(t)
	lines := slices.Concat(hashCommands(), listCommands(), setCommands(), sortedSetCommands(), keyCommands(), databaseCommands())
	table := DefaultTable()
	for round := range 8 {
		proto := 2 + round%2
		s := newTestServer(table, engine.Options{Pool: testPool()})
		c := s.connect(proto)
		redis.Do("RESET")
		redis.Do("HELLO", fmt.Sprint(proto))
		redis.Do("FLUSHALL")
		for range 100 {
			command := lines[r.IntN(len(lines))]
			argv := []string{command.Name}
			if command.subs != nil {
				continue
			}
			for _, arg := range command.grammar.Generate(r, r.IntN(3) == 0) {
				argv = append(argv, string(arg))
			}
			if r.IntN(8) == 0 {
				argv = []string{"set", fmt.Sprintf("key:%d", 1+r.IntN(4)), strconv.Itoa(r.IntN(200) - 100)}
			}
			if dependsOnClock(argv) || command.Name == "spop" || command.Name == "migrate" {
				// What SPOP takes is each server's own choice; whom MIGRATE reaches is the
				// network's.
				continue
			}
			if command.is(Blocking) {
				// Inside EXEC nothing waits.
				c.say("MULTI")
				c.say(argv...)
				redis.Do("MULTI")
				redis.Do(argv...)
				argv = []string{"exec"}
			}
			ours, theirs := c.say(argv...), string(redis.Do(argv...))
			if !alike(t, argv, ours, theirs) {
				t.Errorf("%q:\nredis %.300q\nours  %.300q", argv, theirs, ours)
			}
			for i := range 4 {
				for _, look := range looksAtKeys {
					line := strings.Fields(strings.ReplaceAll(look, "%k", fmt.Sprintf("key:%d", i+1)))
					if ours, theirs := c.say(line...), string(redis.Do(line...)); !alike(t, line, ours, theirs) {
						t.Errorf("%q:\nredis %.300q\nours  %.300q", line, theirs, ours)
					}
				}
			}
			if t.Failed() {
				t.Fatalf("after %q", argv)
			}
		}
	}
}

// dependsOnClock tells lines whose outcome depends on how fast the test runs, or
// on the time of day: the clocks differ.
func dependsOnClock(argv []string) bool {
	switch strings.ToLower(argv[0]) {
	case "pexpire", "expireat", "pexpireat", "expiretime", "pexpiretime", "restore":
		return true
	case "expire":
		n, err := strconv.Atoi(argv[min(2, len(argv)-1)])
		return err == nil && n > 0 && n < leastSeconds
	}
	return false
}

// alike compares replies: exactly, but for what is random, ordered by a random
// seed, or read off the clock.
func alike(t *testing.T, argv []string, ours, theirs string) bool {
	t.Helper()
	if ours == theirs {
		return true
	}
	if ours == "" || theirs == "" || ours[0] != theirs[0] || ours[0] == '-' {
		return false
	}
	switch strings.ToLower(argv[0]) {
	case "sort", "sort_ro", "hgetall", "hkeys", "hvals", "keys", "smembers", "sinter", "sunion", "sdiff":
		a, b := textsOf(t, []byte(ours)), textsOf(t, []byte(theirs))
		slices.Sort(a)
		slices.Sort(b)
		return slices.Equal(a, b)
	case "hrandfield", "randomkey", "srandmember", "zrandmember":
		return len(textsOf(t, []byte(ours))) == len(textsOf(t, []byte(theirs)))
	case "ttl", "pttl":
		return ours[1] != '-' && theirs[1] != '-'
	case "scan", "hscan", "sscan", "zscan", "dump":
		return true
	case "object":
		// Redis turns a small sorted set that SORT reads into a skiplist. Here a
		// read changes nothing.
		sorted := strings.EqualFold(argv[1], "encoding") && ours == "$8\r\nlistpack\r\n" && theirs == "$8\r\nskiplist\r\n"
		return sorted || strings.EqualFold(argv[1], "idletime")
	}
	return false
}

// TestRecordsAsStringsInRedis: what DUMP says of a record a Redis restores as its
// value, also when it looks at every byte, and another server of ours as the record.
func TestRecordsAsStringsInRedis(t *testing.T) {
	redis := redistest.Start(t)
	redis.Do("CONFIG", "SET", "sanitize-dump-payload", "yes")
	_, c := newTestClient(t)
	_, other := newTestClient(t)
	for i, line := range [][]string{
		{"MEM.SET", "ai:u:s:a", `{"tea":"绿茶"}`, "TAGS", "2", "x", "y", "CONFIDENCE", "0.5", "META", "[1]", "KIND", "semantic", "VALIDUNTIL", "1800000000000"},
		{"MEM.SET", "ai:u:s:a", "a \"text\"\x00\n", "TEXT", "PIN", "SOURCE", "chat"},
		{"MEM.SET", "ai:u:s:a", `"` + strings.Repeat("long ", 10000) + `"`, "KIND", "working"},
		{"MEM.APPEND", "ai:u:s:list", "ITEMS", "2", "1", `{"b":2}`},
	} {
		c.say(line...)
		key := line[1]
		value, dumped := textsOf(t, []byte(c.say("MEM.GET", key))), textsOf(t, []byte(c.say("DUMP", key)))
		if have := redis.Do("RESTORE", key, "0", dumped[0], "REPLACE"); string(have) != "+OK\r\n" {
			t.Fatalf("%d: Redis does not restore it: %s", i, have)
		}
		if have := textsOf(t, redis.Do("GET", key)); have[0] != value[0] {
			t.Errorf("%d: Redis has %.200q, want %.200q", i, have, value)
		}
		if have := other.say("RESTORE", key, "0", dumped[0], "REPLACE"); have != "+OK\r\n" {
			t.Fatalf("%d: %s", i, have)
		}
		want := strings.ReplaceAll(c.say("MEM.GET", key, "WITHMETA", "FORMAT", "JSON"), `"version":2`, `"version":1`)
		if have := other.say("MEM.GET", key, "WITHMETA", "FORMAT", "JSON"); withoutDeadline(have) != withoutDeadline(want) {
			t.Errorf("%d: restored %.300q, want %.300q", i, have, want)
		}
		c.say("DEL", key)
	}
}

var deadlineMember = regexp.MustCompile(`^\$\d+|"deadline":(null|\d+)`)

// withoutDeadline takes out what RESTORE is told beside the payload.
func withoutDeadline(json string) string { return deadlineMember.ReplaceAllString(json, "") }

// TestPayloadsAsRedis has each server restore what the other serialised.
func TestPayloadsAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	r := seeded(t)
	_, c := newTestClient(t)
	for range 300 {
		makeAny(r, func(argv ...string) {
			redis.Do(argv...)
			c.say(argv...)
		})
		theirSay := func(argv ...string) string { return string(redis.Do(argv...)) }
		want := canonical(t, theirSay)
		ours, theirs := textsOf(t, []byte(c.say("DUMP", "k"))), textsOf(t, redis.Do("DUMP", "k"))
		if strings.Contains(c.say("TYPE", "k"), "list") && ours[0][:2] != theirs[0][:2] {
			t.Fatalf("a list that was only appended to has other nodes:\nredis %.200q\nours  %.200q", theirs[0], ours[0])
		}
		redis.Do("FLUSHALL")
		c.say("FLUSHALL")
		if have := c.say("RESTORE", "k", "0", theirs[0]); have != "+OK\r\n" {
			t.Fatalf("we do not restore %q: %s", theirs[0], have)
		}
		if have := redis.Do("RESTORE", "k", "0", ours[0]); string(have) != "+OK\r\n" {
			t.Fatalf("Redis does not restore %q: %s", ours[0], have)
		}
		if have := canonical(t, c.say); have != want {
			t.Fatalf("restored by us:\nwant %.300q\nhave %.300q", want, have)
		}
		if have := canonical(t, theirSay); have != want {
			t.Fatalf("restored by Redis:\nwant %.300q\nhave %.300q", want, have)
		}
		if a, b := c.say("OBJECT", "ENCODING", "k"), theirSay("OBJECT", "ENCODING", "k"); a != b {
			t.Fatalf("encoding: redis %q, ours %q", b, a)
		}
	}
}

// makeAny makes k a random string, hash, list, set or sorted set.
func makeAny(r *rand.Rand, do func(argv ...string)) {
	text := func() string {
		switch r.IntN(4) {
		case 0:
			return strconv.Itoa(int(r.Int64() >> r.IntN(63)))
		case 1:
			return strings.Repeat("abc", r.IntN(30))
		case 2:
			return string(randomBytes(r, 50))
		}
		return fmt.Sprintf("field-%d", r.IntN(100))
	}
	do("DEL", "k")
	switch r.IntN(6) {
	case 4:
		for range 1 + r.IntN(200) {
			do("ZADD", "k", randomScore(r), text())
		}
		return
	case 0, 1:
		do("SET", "k", text()+strings.Repeat(text(), r.IntN(40)))
		return
	case 2:
		numbers, shift := r.IntN(2) == 0, r.IntN(63)
		for range 1 + r.IntN(30) {
			if numbers {
				do("SADD", "k", strconv.Itoa(int(r.Int64()>>shift)))
			} else {
				do("SADD", "k", text())
			}
		}
		return
	case 3:
		for range 1 + r.IntN(60) {
			do("RPUSH", "k", text(), strings.Repeat(text(), r.IntN(40)))
		}
		return
	}
	for range 1 + r.IntN(30) {
		do("HSET", "k", text(), text())
	}
	if r.IntN(4) == 0 {
		for i := range 520 {
			do("HSET", "k", strconv.Itoa(i), "v")
		}
	}
}

// randomScore is a double of any kind, as a text.
func randomScore(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return []string{"inf", "-inf", "0", "-0", "1e300", "-1e-300", "0.1"}[r.IntN(7)]
	case 1:
		return strconv.FormatFloat(r.NormFloat64(), 'g', -1, 64)
	case 2:
		return strconv.FormatInt(r.Int64()>>r.IntN(63), 10)
	}
	return strconv.Itoa(r.IntN(20) - 10)
}

// canonical is what k holds, for comparing.
func canonical(t *testing.T, say func(argv ...string) string) string {
	t.Helper()
	switch kind := say("TYPE", "k"); {
	case strings.Contains(kind, "zset"):
		return say("ZRANGE", "k", "0", "-1", "WITHSCORES")
	case strings.Contains(kind, "string"):
		return say("GET", "k")
	case strings.Contains(kind, "list"):
		return say("LRANGE", "k", "0", "-1")
	case strings.Contains(kind, "set"):
		members := textsOf(t, []byte(say("SMEMBERS", "k")))
		slices.Sort(members)
		return fmt.Sprintf("%q", members)
	}
	list := textsOf(t, []byte(say("HGETALL", "k")))
	pairs := make([]string, 0, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%q:%q", list[i], list[i+1]))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

// TestDamagedPayloadsAsRedis damages values behind a good checksum: both servers
// take the same of them, to the same value. Redis checks packed hashes only when
// sanitize-dump-payload says so.
func TestDamagedPayloadsAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	r := seeded(t)
	redis.Do("CONFIG", "SET", "sanitize-dump-payload", "yes")
	_, c := newTestClient(t)
	taken, refused := 0, 0
	for range 3000 {
		value := bytes.Clone(damageable[r.IntN(len(damageable))])
		for range 1 + r.IntN(2) {
			switch at := r.IntN(len(value)); r.IntN(4) {
			case 0:
				value = append(value[:at:at], value[min(len(value), at+1+r.IntN(3)):]...)
			case 1:
				value = slices.Insert(value, at, byte(r.Uint32()))
			default:
				value[at] = byte(r.Uint32()) >> r.IntN(8)
			}
			if len(value) == 0 {
				value = []byte{0}
			}
		}
		if t := dump.Type(value[0]); t == dump.TypeSetListpack || t == dump.TypeStreamActive {
			continue // of Redis 7.2
		}
		payload := string(dump.Seal(value))
		ours := c.say("RESTORE", "k", "0", payload, "REPLACE")
		if redisMakesRoom(payload) {
			if ours[0] != '-' {
				t.Fatalf("%q: taken", payload)
			}
			continue
		}
		theirs := string(redis.Do("RESTORE", "k", "0", payload, "REPLACE"))
		if strings.Contains(ours, "not support") {
			continue
		}
		if ours[0] == '-' && redisLooksAway(value) {
			continue
		}
		if ours != theirs {
			t.Fatalf("%q:\nredis %s\nours  %s", payload, theirs, ours)
		}
		if ours[0] == '-' {
			refused++
			continue
		}
		taken++
		for _, line := range [][]string{{"TYPE", "k"}, {"GET", "k"}, {"HGETALL", "k"}, {"LRANGE", "k", "0", "-1"}, {"SMEMBERS", "k"}} {
			if ours, theirs := c.say(line...), string(redis.Do(line...)); !alike(t, line, ours, theirs) {
				t.Fatalf("%q, %s:\nredis %q\nours  %q", payload, line[0], theirs, ours)
			}
		}
	}
	if taken < 100 || refused < 100 {
		t.Errorf("%d taken, %d refused: the test shows too little", taken, refused)
	}
}

// redisLooksAway tells values of types whose numbers Redis does not check: a score
// in a packed sorted set, a length among a stream's.
func redisLooksAway(value []byte) bool {
	switch dump.Type(value[0]) {
	case dump.TypeSortedSetZiplist, dump.TypeSortedSetListpack, dump.TypeStreamNodes, dump.TypeStreamBounds:
		return true
	}
	return false
}

// redisMakesRoom tells payloads that say that they have more than sixteen million
// members. Redis makes a table for as many before it reads the first one, and then looks
// through all of it to let it go: half a minute for three billions, on an idle machine.
func redisMakesRoom(payload string) bool {
	const most, count32, count64 = 16 << 20, "\x80", "\x81"
	switch dump.Type(payload[0]) {
	case dump.TypeSet, dump.TypeHash, dump.TypeSortedSet, dump.TypeSortedSetTexts:
		count := []byte(payload[2:10]) // what is too short goes on in its version and checksum
		return payload[1:2] == count32 && binary.BigEndian.Uint32(count) > most ||
			payload[1:2] == count64 && binary.BigEndian.Uint64(count) > most
	}
	return false
}

// TestNumbersThatRedisDoesNotCheck: what redisLooksAway excuses is that Redis takes
// these, a score as 0 and a stream's ID as the greatest one; here they are refused.
func TestNumbersThatRedisDoesNotCheck(t *testing.T) {
	redis := redistest.Start(t)
	redis.Do("CONFIG", "SET", "sanitize-dump-payload", "yes")
	_, c := newTestClient(t)
	for name, value := range map[string]string{
		"a score that is a word":               "\x0c\x1b\x1b\x00\x00\x00\x16\x00\x00\x00\x04\x00\x00\x02f1\x04\x02v1\x04\x02f2\x04\x02v2\xff",
		"an ID in no form of a number":         "\x0f\x00\x00\x85",
		"an ID in none behind a packed number": "\x0f\x00\xc0\x85",
	} {
		payload := string(dump.Seal([]byte(value)))
		if !redisLooksAway([]byte(value)) {
			t.Errorf("%s: it is not excused", name)
		}
		if theirs := string(redis.Do("RESTORE", "k", "0", payload, "REPLACE")); theirs != "+OK\r\n" {
			t.Errorf("%s: redis %s", name, theirs)
		}
		if ours := c.say("RESTORE", "k", "0", payload, "REPLACE"); ours != "-ERR Bad data format\r\n" {
			t.Errorf("%s: ours %s", name, ours)
		}
	}
}

// damageable are values in all forms that are read.
var damageable = [][]byte{
	[]byte("\x00\x05hello"),
	[]byte("\x00\x40\x05hello"),
	[]byte("\x00\x80\x00\x00\x00\x05hello"),
	[]byte("\x00\xc0\x85"), []byte("\x00\xc1\x39\x30"), []byte("\x00\xc2\x15\xcd\x5b\x07"),
	[]byte("\x00\xc3\x06\x15\x01aa\xe0\x0a\x00"),
	[]byte("\x00\xc3\x0b\x40\x5a\x03abca\xe0\x4b\x02\x01bc"),
	[]byte("\x04\x02\x02f1\x02v1\x02f2\xc0\x0c"),
	[]byte("\x10\x13\x13\x00\x00\x00\x04\x00\x82f1\x03\x01\x01\x82f2\x03\x0c\x01\xff"),
	[]byte("\x10\x1c\x1c\x00\x00\x00\x04\x00\x81f\x02\xdf\xfb\x02\xf1\x00\x10\x03\xe0\x0aabcdefghij\x0c\xff"),
	[]byte("\x0d\x1b\x1b\x00\x00\x00\x16\x00\x00\x00\x04\x00\x00\x02f1\x04\x02v1\x04\x02f2\x04\x02v2\xff"),
	[]byte("\x0d//\x00\x00\x00*\x00\x00\x00\x08\x00\x00\xc090\x04\xf1\x02\xfe\x80\x03\xfd\x02\xf0\xff\xff\xff\x05\xd0\x15\xcd[\x07\x06\xe0\xff\xff\xff\xff\xff\xff\xff\x7f\x0a\x02zz\xff"),
	[]byte("\x02\x03\x01a\x01b\xc0\x05"),
	[]byte("\x0b\x0e\x02\x00\x00\x00\x03\x00\x00\x00\xff\xff\x01\x00\x02\x00"),
	[]byte("\x0b\x10\x04\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x01\x00"),
	[]byte("\x09\x10\x02\x02f1\x02\x00v1\x02f2\x02\x00v2\xff"),
	[]byte("\x09\x0b\x01\x01a\x02\x03bbxxx\xff"),
	[]byte("\x01\x02\x02e1\xc0\x0c"),
	[]byte("\x0a\x1b\x1b\x00\x00\x00\x16\x00\x00\x00\x04\x00\x00\x02e1\x04\x02e2\x04\x02e3\x04\x02e4\xff"),
	[]byte("\x0e\x02\x0f\x0f\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x02e1\xff\x0f\x0f\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x02e2\xff"),
	[]byte("\x12\x02\x02\x0d\x0d\x00\x00\x00\x02\x00\x82e1\x03\x01\x01\xff\x01\x05plain"),
}
