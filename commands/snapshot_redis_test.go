package commands

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
)

// This file compares snapshots with a real redis-server: each loads what the other
// has written.

// digestOf is what DEBUG DIGEST answers.
func digestOf(c interface{ say(words ...string) string }) string { return c.say("DEBUG", "DIGEST") }

// redisClient is a redis-server as a client of ours is.
type redisClient struct{ *redistest.Conn }

func (c redisClient) say(words ...string) string { return string(c.Do(words...)) }

// shapes are directives that decide the form of values.
var shapes = [][]string{
	{},
	{"hash-max-listpack-entries", "4", "zset-max-listpack-entries", "4", "set-max-intset-entries", "4", "list-max-listpack-size", "3", "stream-node-max-entries", "5"},
	{"rdbcompression", "no", "list-max-listpack-size", "-1"},
}

// shape sets directives of both servers.
func shape(s *testServer, redis redisClient, pairs []string) {
	limits := &s.core.Engine.Limits
	for i := 0; i < len(pairs); i += 2 {
		redis.say("CONFIG", "SET", pairs[i], pairs[i+1])
		n := int64(0)
		_, _ = fmt.Sscan(pairs[i+1], &n)
		switch pairs[i] {
		case "hash-max-listpack-entries":
			limits.HashListpackEntries.Store(n)
		case "zset-max-listpack-entries":
			limits.SortedSetListpackEntries.Store(n)
		case "set-max-intset-entries":
			limits.SetIntsetEntries.Store(n)
		case "list-max-listpack-size":
			limits.ListNode.Store(n)
		case "stream-node-max-entries":
			limits.StreamNodeEntries.Store(n)
		case "rdbcompression":
			limits.Uncompressed.Store(true)
			s.snapshots.options.Plain = true
		}
	}
}

// encodings lists how each key of a database is kept. Of lists Redis 7.0 has one way.
func encodings(c interface{ say(words ...string) string }, keys []string) (lines []string) {
	for _, key := range keys {
		lines = append(lines, key+" "+c.say("OBJECT", "ENCODING", key))
	}
	return lines
}

func TestSnapshotsTravel(t *testing.T) {
	r := seeded(t)
	for n, pairs := range shapes {
		redis := redisClient{redistest.Start(t)}
		folder := redis.say("CONFIG", "GET", "dir")
		folder = strings.Split(folder, "\r\n")[4]
		file := filepath.Join(folder, "dump.rdb")
		s, c := newTestClient(t)
		s.core.Store = nil
		shape(s, redis, pairs)
		fillServer(t, c, eachType(r))
		var keys []string
		c.say("SELECT", "0")
		redis.say("SELECT", "0")
		for _, key := range strings.Split(c.say("KEYS", "*"), "\r\n") {
			if strings.Contains(key, ":") {
				keys = append(keys, key)
			}
		}

		// Ours to Redis.
		if got := c.say("SAVE"); got != "+OK\r\n" {
			t.Fatal(got)
		}
		if err := os.WriteFile(file, s.snapshots.data, 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("redis-check-rdb", file).CombinedOutput(); err != nil {
			t.Errorf("shape %d: redis-check-rdb: %v\n%s", n, err, out)
		}
		if got := redis.say("DEBUG", "RELOAD", "NOSAVE"); got != "+OK\r\n" {
			t.Fatalf("shape %d: redis: %s", n, got)
		}
		want := digestOf(c)
		if got := digestOf(redis); got != want {
			t.Errorf("shape %d: ours in Redis: want %s have %s", n, want, got)
		}
		if got := redis.say("FCALL", "f", "0"); got != ":7\r\n" {
			t.Errorf("shape %d: the function in Redis: %s", n, got)
		}

		// Redis's to us.
		if got := redis.say("SAVE"); got != "+OK\r\n" {
			t.Fatal(got)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		deadlines := fmt.Sprint(eachDeadline(s.core))
		s.snapshots.data = data
		if got := c.say("DEBUG", "RELOAD", "NOSAVE"); got != "+OK\r\n" {
			t.Fatalf("shape %d: %s %q", n, got, s.process.log)
		}
		if got := digestOf(c); got != want {
			t.Errorf("shape %d: Redis's here: want %s have %s", n, want, got)
		}
		if got := fmt.Sprint(eachDeadline(s.core)); got != deadlines {
			t.Errorf("shape %d: deadlines\nwant %s\nhave %s", n, deadlines, got)
		}
		if ours, theirs := encodings(c, keys), encodings(redis, keys); fmt.Sprint(ours) != fmt.Sprint(theirs) {
			t.Errorf("shape %d: encodings of Redis's\nredis %q\nours  %q", n, theirs, ours)
		}
		for _, group := range []string{"XPENDING stream:3 g", "XINFO GROUPS stream:3"} {
			words := strings.Fields(group)
			if ours, theirs := c.say(words...), redis.say(words...); !alike(t, words, ours, theirs) {
				t.Errorf("shape %d: %s\nredis %q\nours  %q", n, group, theirs, ours)
			}
		}
	}
}

// TestRecordsTravelAsStrings: a Redis has the value of each record, and its deadline.
func TestRecordsTravelAsStrings(t *testing.T) {
	redis := redisClient{redistest.Start(t)}
	folder := strings.Split(redis.say("CONFIG", "GET", "dir"), "\r\n")[4]
	s, c := newTestClient(t)
	s.core.Store = nil
	s.core.SaveRecords(true)
	fillRecords(t, c)
	c.say("PEXPIREAT", "app:u1:s1:turn", "4000000000000")
	if got := c.say("SAVE"); got != "+OK\r\n" {
		t.Fatal(got)
	}
	file := filepath.Join(folder, "dump.rdb")
	if err := os.WriteFile(file, s.snapshots.data, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("redis-check-rdb", file).CombinedOutput(); err != nil {
		t.Errorf("redis-check-rdb: %v\n%s", err, out)
	}
	if got := redis.say("DEBUG", "RELOAD", "NOSAVE"); got != "+OK\r\n" {
		t.Fatal(got)
	}
	for line, want := range map[string]string{
		"GET app:u1:profile:name": "$14\r\n{\"name\":\"Ada\"}\r\n", "GET app:u1:s1:turn": "$10\r\nplain text\r\n",
		"GET app:u2:notes:n": "$15\r\n[1,2.5,\"three\"]\r\n", "PEXPIRETIME app:u1:s1:turn": ":4000000000000\r\n", "DBSIZE": ":3\r\n",
	} {
		if got := redis.say(strings.Fields(line)...); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
}
