package commands

import (
	"encoding/json"
	"strings"
	"testing"

	"reminis/engine/dump"
)

// This file owns the fuzz targets of what clients give in a form of its own:
// serialised values, libraries of functions, exported records. A target judges what
// was taken by reading it and giving it again.

// FuzzRestore: what RESTORE takes can be looked at, dumped, and restored as the same.
func FuzzRestore(f *testing.F) {
	_, c := newTestClient(f)
	for _, value := range damageable {
		f.Add(value)
	}
	for _, line := range []string{"ZADD k 1 a 2.5 b -inf c", "XADD k 1-1 f v g w", "SADD k a b c", "SADD k 1 2 300000", "RPUSH k a 1 b", "HSET k f 1 g w", "PFADD k a b"} {
		c.say("DEL", "k")
		c.say(strings.Fields(line)...)
		payload := textsOf(f, []byte(c.say("DUMP", "k")))[0]
		f.Add([]byte(payload[:len(payload)-dump.FooterBytes]))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) == 0 {
			return
		}
		c.say("FLUSHALL")
		if got := c.say("RESTORE", "k", "0", string(dump.Seal(value))); got != "+OK\r\n" {
			if got[0] != '-' || c.say("EXISTS", "k") != ":0\r\n" {
				t.Fatalf("%q: %q, and something is there", value, got)
			}
			return
		}
		for _, look := range []string{
			"TYPE k", "OBJECT ENCODING k", "MEMORY USAGE k", "STRLEN k", "LRANGE k 0 -1", "SMEMBERS k", "HGETALL k", "ZRANGE k 0 -1 WITHSCORES", "XRANGE k - +", "XINFO STREAM k FULL", "PFCOUNT k", "BITCOUNT k",
		} {
			c.say(strings.Fields(look)...)
		}
		digest := c.say("DEBUG", "DIGEST-VALUE", "k")
		again := textsOf(t, []byte(c.say("DUMP", "k")))[0]
		if got := c.say("RESTORE", "k", "0", again, "REPLACE"); got != "+OK\r\n" {
			t.Fatalf("%q: its dump %q is not taken: %q", value, again, got)
		}
		if got := c.say("DEBUG", "DIGEST-VALUE", "k"); got != digest {
			t.Fatalf("%q: restored again it is another value", value)
		}
		for _, change := range []string{"APPEND k x", "RPUSH k x", "LPOP k", "SADD k x", "SPOP k", "HSET k x y", "ZADD k 1 x", "ZPOPMIN k", "XADD k * f v", "XTRIM k MAXLEN 0", "PERSIST k", "DEL k"} {
			c.say(strings.Fields(change)...)
		}
		if got := c.say("DBSIZE"); got != ":0\r\n" {
			t.Fatalf("%q: something is left: %q", value, got)
		}
	})
}

// FuzzFunctions: libraries that FUNCTION RESTORE takes are dumped as they are.
func FuzzFunctions(f *testing.F) {
	_, c := newTestClient(f)
	const library = "#!lua name=mine\nredis.register_function('f', function(keys, args) return args[1] end)"
	for _, code := range []string{library, "#!lua name=other\nredis.register_function{function_name='g', callback=function() return 1 end, flags={'no-writes'}}", "#!lua", "#!lua name=\nx", "return 1", "#!lua name=a\nerror({err='x'})"} {
		f.Add([]byte(code), false)
	}
	c.say("FUNCTION", "LOAD", library)
	payload := textsOf(f, []byte(c.say("FUNCTION", "DUMP")))[0]
	f.Add([]byte(payload[:len(payload)-dump.FooterBytes]), true)
	f.Fuzz(func(t *testing.T, data []byte, serialised bool) {
		if strings.Contains(string(data), "while") || strings.Contains(string(data), "for") || strings.Contains(string(data), "repeat") || strings.Contains(string(data), "goto") {
			return // a loop without end is not what is tested
		}
		c.say("FUNCTION", "FLUSH")
		got := ""
		if serialised {
			got = c.say("FUNCTION", "RESTORE", string(dump.Seal(data)))
		} else {
			got = c.say("FUNCTION", "LOAD", string(data))
		}
		if got[0] == '-' {
			if list := c.say("FUNCTION", "LIST"); list != "*0\r\n" {
				t.Fatalf("%q: %q, and there is %q", data, got, list)
			}
			return
		}
		list := c.say("FUNCTION", "LIST", "WITHCODE")
		dumped := textsOf(t, []byte(c.say("FUNCTION", "DUMP")))[0]
		if got := c.say("FUNCTION", "RESTORE", dumped, "FLUSH"); got != "+OK\r\n" {
			t.Fatalf("%q: its dump is not taken: %q", data, got)
		}
		if got := c.say("FUNCTION", "LIST", "WITHCODE"); len(got) != len(list) {
			t.Fatalf("%q: %q becomes %q", data, list, got)
		}
	})
}

// FuzzImport: a line that MEM.IMPORT takes is exported, and that line is taken again
// and changes nothing.
func FuzzImport(f *testing.F) {
	_, c := newTestClient(f)
	for _, line := range [][]string{
		{"MEM.SET", "app:u1:s1:a", `{"a":[1,null]}`, "KIND", "semantic", "TAGS", "1", "t", "META", "{}", "CONFIDENCE", "0.5"}, {"MEM.PATCH", "app:u1:s1:a", `{"b":1}`},
		{"MEM.SET", "app:u1:s1:b", "words", "TEXT", "PIN"}, {"MEM.APPEND", "app:u1:s1:c", "ITEMS", "2", "1", `"x"`}, {"MEM.SET", "app:u1:s1:d", "1", "VECTOR", "\x00\x00\x80\x3f"}, {"MEM.FORGET", "KEYS", "1", "app:u1:s1:d"},
	} {
		if got := c.say(line...); got[0] == '-' {
			f.Fatalf("%q: %s", line, got)
		}
	}
	for _, line := range exported(f, c, "app:u1") {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"key":"app:u1:s1:a","value":1,"history":[{"version":18446744073709551615,"op":"set"}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var record struct {
			Key string `json:"key"`
		}
		if json.Unmarshal(line, &record) != nil {
			return // what is no JSON is no record; FuzzJSON is about that
		}
		c.say("FLUSHALL")
		if got := c.say("MEM.IMPORT", string(line)); !strings.Contains(got, "written\r\n:1\r\n") {
			return
		}
		segments := strings.SplitN(record.Key, ":", 3)
		owner := segments[0] + ":" + segments[1]
		lines := exported(t, c, owner)
		for _, again := range lines {
			if got := c.say("MEM.IMPORT", again); !strings.Contains(got, "failed\r\n:0\r\n") {
				t.Fatalf("%q is exported as %q, which is not taken: %q", line, again, got)
			}
		}
		if got := exported(t, c, owner); withoutSeqs(got) != withoutSeqs(lines) {
			t.Fatalf("%q: %q, and imported again %q", line, lines, got)
		}
	})
}
