package commands

import (
	"fmt"
	"strings"
	"testing"
)

// This file shows what INFO counts as freed in the background: as in Redis, large
// values that were unlinked, and every key of a database that was flushed ASYNC.

func TestLazyFreedObjects(t *testing.T) {
	_, client := newTestClient(t)
	many := func(line string, each func(i int) string) []string {
		words := strings.Fields(line)
		for i := range 2000 {
			words = append(words, strings.Fields(each(i))...)
		}
		return words
	}
	fill := func() {
		client.say(many("SADD set", func(i int) string { return fmt.Sprint("m", i) })...)
		client.say(many("HSET hash", func(i int) string { return fmt.Sprint("f", i, " v") })...)
		client.say(many("ZADD sorted", func(i int) string { return fmt.Sprint(i, " m", i) })...)
		client.say(many("RPUSH list", func(i int) string { return strings.Repeat("x", 1000) })...)
		client.say("SET", "text", strings.Repeat("x", 100_000))
		client.say("SADD", "small", "a", "b")
	}
	for _, test := range []struct {
		line string
		want int
	}{
		{"UNLINK set", 1},
		{"UNLINK hash sorted list", 3},
		{"UNLINK text small none", 0},
		{"DEL set hash", 0},
		{"FLUSHALL", 0},
		{"FLUSHDB SYNC", 0},
		{"FLUSHDB ASYNC", 6},
		{"FLUSHALL ASYNC", 6},
	} {
		client.say("FLUSHALL")
		fill()
		client.say("CONFIG", "RESETSTAT")
		client.say(strings.Fields(test.line)...)
		if info := client.say("INFO", "memory"); !strings.Contains(info, fmt.Sprintf("\r\nlazyfreed_objects:%d\r\n", test.want)) {
			t.Errorf("%s: want %d freed in the background, have\n%s", test.line, test.want, info)
		}
	}
}

// TestLazyFreedStream is "lazy free a stream with all types of metadata" and "with
// deleted cgroup" of Redis's test suite.
func TestLazyFreedStream(t *testing.T) {
	server, client := newTestClient(t)
	server.core.Engine.Limits.StreamNodeEntries.Store(5)
	for i := range 1000 {
		client.say("XADD", "stream", "*", "foo", fmt.Sprint(i))
	}
	client.say("XGROUP", "CREATE", "stream", "group", "0")
	client.say("XREADGROUP", "GROUP", "group", "alice", "COUNT", "2", "STREAMS", "stream", ">")
	client.say("UNLINK", "stream")
	client.say("XADD", "s", "*", "a", "b")
	client.say("XGROUP", "CREATE", "s", "group", "$")
	client.say("XGROUP", "DESTROY", "s", "group")
	client.say("UNLINK", "s")
	if info := client.say("INFO", "memory"); !strings.Contains(info, "\r\nlazyfreed_objects:1\r\n") {
		t.Error(info)
	}
}
