package commands

import (
	"strings"
	"testing"
)

// This file owns the tests of what sessions are told while data is being read.

func TestCommandsWhileLoading(t *testing.T) {
	server, client := newTestClient(t)
	client.say("SET", "key", "value")
	loaded := int64(0)
	server.core.BeginLoading(func() (loadedBytes, totalBytes int64) { return loaded, 400 })
	const refused = "-LOADING Redis is loading the dataset in memory\r\n"
	for _, line := range []string{
		"PING", "GET key", "SET key other", "EVAL return 0", "FCALL f 0", "DBSIZE", "FLUSHALL", "SAVE", "BGREWRITEAOF", "MEMORY STATS",
		"DEBUG RELOAD", "DEBUG LOADAOF", "DEBUG DIGEST", "DEBUG POPULATE 1", "DEBUG OBJECT key", "DEBUG DIGEST-VALUE key", "MEM.GET app:u1:s1:a",
		"CONFIG SET maxmemory 5 dir elsewhere",
	} {
		if line == "EVAL return 0" {
			line += " 0"
		}
		if got := client.say(strings.Fields(line)...); got != refused {
			t.Errorf("%s: %q", line, got)
		}
	}
	for line, want := range map[string]string{
		"ECHO text": "$4\r\ntext\r\n", "SELECT 0": "+OK\r\n", "CLIENT SETNAME name": "+OK\r\n", "PUBLISH channel text": ":0\r\n",
		"CONFIG SET port dir": "+OK\r\n", "CONFIG SET maxmemory 1": "+OK\r\n", "WATCH key": "+OK\r\n", "NOSUCH": "-ERR unknown command 'NOSUCH', with args beginning with: \r\n",
		"GET": "-ERR wrong number of arguments for 'get' command\r\n",
	} {
		if got := client.say(strings.Fields(line)...); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	// What is refused spoils a transaction.
	for _, step := range [][2]string{{"MULTI", "+OK\r\n"}, {"GET key", refused}, {"EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n"}} {
		if got := client.say(strings.Fields(step[0])...); got != step[1] {
			t.Errorf("%s: %q, want %q", step[0], got, step[1])
		}
	}
	server.clock.nowMs += 10_000
	loaded = 99
	info := client.say("INFO")
	for _, want := range []string{
		"loading:1\r\n", "loading_start_time:1700000000\r\n", "loading_total_bytes:400\r\n", "loading_loaded_bytes:99\r\n",
		"loading_loaded_perc:24.75\r\n", "loading_eta_seconds:30\r\n", "number_of_libraries:0\r\n",
	} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO has no %q: %s", want, info)
		}
	}
	client.say("CONFIG", "SET", "maxmemory", "0")
	server.core.Store = nil
	server.clock.nowMs += 10_000_000
	if server.core.SaveIfDue(1, 1) {
		t.Error("a save point replaced the file that is being read")
	}
	server.core.EndLoading()
	if got := client.say("GET", "key"); got != "$5\r\nvalue\r\n" {
		t.Errorf("GET: %q", got)
	}
	if info := client.say("INFO", "persistence"); !strings.Contains(info, "loading:0\r\n") || strings.Contains(info, "loading_") {
		t.Errorf("INFO: %s", info)
	}
}

// Whoever asks for it before the data is there hears of changes from then on.
func TestTrackingSinceLoading(t *testing.T) {
	server, client := newTestClient(t)
	server.core.BeginLoading(func() (loadedBytes, totalBytes int64) { return 0, 0 })
	client.say("HELLO", "3")
	if got := client.say("CLIENT", "TRACKING", "on"); got != "+OK\r\n" {
		t.Fatal(got)
	}
	server.core.EndLoading()
	client.say("GET", "key")
	server.connect(2).say("SET", "key", "value")
	if got := client.say("ECHO", "text"); !strings.Contains(got, "invalidate") {
		t.Errorf("%q", got)
	}
}
