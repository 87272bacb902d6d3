package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// This file owns what transcripts cannot show of commands on the server: what
// the process is asked to do, replies that are two, and sections without end.

func TestShutdownRequests(t *testing.T) {
	server, client := newTestClient(t)
	for _, words := range [][]string{{}, {"NOSAVE"}, {"SAVE"}, {"save", "now", "force"}} {
		out, next := client.session.Execute(nil, words2argv(append([]string{"SHUTDOWN"}, words...)))
		if len(out) != 0 || next != CloseAfterReply {
			t.Errorf("SHUTDOWN %q: %q, next %d", words, out, next)
		}
	}
	want := []ShutdownRequest{{}, {NoSave: true}, {Save: true}, {Save: true, Now: true, Force: true}}
	if !slices.Equal(server.process.shutdowns, want) {
		t.Errorf("want %v, have %v", want, server.process.shutdowns)
	}
}

func words2argv(words []string) [][]byte {
	argv := make([][]byte, len(words))
	for i, word := range words {
		argv[i] = []byte(word)
	}
	return argv
}

func TestStoreRequests(t *testing.T) {
	server, client := newTestClient(t)
	client.say("DEBUG", "RELOAD")
	client.say("DEBUG", "LOADAOF")
	client.say("BACKUP", "/some/where")
	if server.store.reloads != 2 || !slices.Equal(server.store.backups, []string{"/some/where"}) {
		t.Errorf("have %+v", server.store)
	}
	client.say("DEBUG", "LOG", "hello")
	if !slices.Equal(server.process.log, []string{"2 DB saved on disk", "DEBUG LOG: hello"}) {
		t.Errorf("have %q", server.process.log)
	}
	server.core.Store = nil
	for _, words := range [][]string{{"DEBUG", "LOADAOF"}, {"BACKUP", "/some/where"}} {
		if reply := client.say(words...); reply != "-"+string(errNoStore)+"\r\n" {
			t.Errorf("%q without a store: %q", words, reply)
		}
	}
}

func TestDebugPush(t *testing.T) {
	server, client := newTestClient(t)
	if reply := client.say("DEBUG", "PROTOCOL", "push"); reply != "-"+string(errResp2)+"\r\n" {
		t.Errorf("RESP2: %q", reply)
	}
	want := ">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n$40\r\nSome real reply following the push reply\r\n"
	if reply := server.connect(3).say("DEBUG", "PROTOCOL", "push"); reply != want {
		t.Errorf("RESP3: %q", reply)
	}
}

func TestKilledByItself(t *testing.T) {
	_, client := newTestClient(t)
	out, next := client.session.Execute(nil, words2argv([]string{"CLIENT", "KILL", "ID", "1", "SKIPME", "no"}))
	if string(out) != ":1\r\n" || next != CloseAfterReply {
		t.Errorf("have %q, next %d", out, next)
	}
}

// TestInfoSections: what INFO prints for words, in the order of the table.
func TestInfoSections(t *testing.T) {
	byDefault := []string{"Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "CPU", "Modules", "Memory_records", "Errorstats", "Cluster", "Keyspace"}
	all := []string{"Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "CPU", "Modules", "Memory_records", "Commandstats", "Errorstats", "Latencystats", "Cluster", "Keyspace"}
	_, client := newTestClient(t)
	for _, test := range []struct {
		words string
		want  []string
	}{
		{"", byDefault},
		{"default", byDefault},
		{"DEFAULT server", byDefault},
		{"default commandstats", []string{"Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "CPU", "Modules", "Memory_records", "Commandstats", "Errorstats", "Cluster", "Keyspace"}},
		{"all", all},
		{"Everything", all},
		{"cpu all", all},
		{"keyspace cpu cpu", []string{"CPU", "Keyspace"}},
		{"modules", []string{"Modules"}},
		{"module_list", []string{"Modules"}},
		{"nosuch", nil},
	} {
		var have []string
		for line := range strings.Lines(client.say(append([]string{"INFO"}, strings.Fields(test.words)...)...)) {
			if title, ok := strings.CutPrefix(line, "# "); ok {
				have = append(have, strings.TrimSpace(title))
			}
		}
		if !slices.Equal(have, test.want) {
			t.Errorf("INFO %s: want %q, have %q", test.words, test.want, have)
		}
	}
}

// TestCommandStats: calls, rejections and failures are told apart, also in EXEC.
func TestCommandStats(t *testing.T) {
	_, client := newTestClient(t)
	for _, line := range []string{"GET k", "GET", "HSET h f v", "GET h", "MULTI", "GET k", "GET h", "EXEC", "CONFIG GET hz"} {
		client.say(strings.Fields(line)...)
	}
	stats := client.say("INFO", "commandstats")
	for name, want := range map[string]string{
		"get":        "calls=4,rejected_calls=1,failed_calls=2",
		"hset":       "calls=1,rejected_calls=0,failed_calls=0",
		"config|get": "calls=1,rejected_calls=0,failed_calls=0",
	} {
		_, line, found := strings.Cut(stats, "cmdstat_"+name+":")
		if !found {
			t.Errorf("no line of %s in %q", name, stats)
			continue
		}
		line, _, _ = strings.Cut(line, "\r\n")
		var kept []string
		for _, field := range strings.Split(line, ",") {
			if !strings.HasPrefix(field, "usec") {
				kept = append(kept, field)
			}
		}
		if have := strings.Join(kept, ","); have != want {
			t.Errorf("%s: want %s, have %s", name, want, have)
		}
	}
}

func TestErrorCodesAreBounded(t *testing.T) {
	var counts errorCounts
	for i := range errorCodesMax + 10 {
		counts.count(fmt.Sprintf("CODE%d text", i))
	}
	counts.count("CODE0 text")
	all := counts.all()
	if len(all) != errorCodesMax || all[0] != (errorCount{"CODE0", 2}) {
		t.Errorf("%d codes, the first %v", len(all), all[0])
	}
	counts.reset()
	if len(counts.all()) != 0 {
		t.Error("reset leaves codes")
	}
}

func TestHumanBytes(t *testing.T) {
	for _, test := range []struct {
		bytes int64
		want  string
	}{
		{0, "0B"}, {1023, "1023B"}, {1024, "1.00K"}, {1536, "1.50K"}, {1 << 20, "1.00M"}, {1<<20 - 1, "1024.00K"},
		{5 << 30, "5.00G"}, {3 << 40, "3.00T"}, {2 << 50, "2.00P"},
	} {
		if have := humanBytes(test.bytes); have != test.want {
			t.Errorf("%d: want %s, have %s", test.bytes, test.want, have)
		}
	}
}
