package commands

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// This file says of rules what no transcript can: that no way of writing gets
// around them.

// TestRedactedPartsAreNowhere: whichever way a value is written, nothing that can
// be read afterwards has what is to be redacted.
func TestRedactedPartsAreNowhere(t *testing.T) {
	for seed := range uint64(9) {
		random := rand.New(rand.NewPCG(seed, 11))
		_, c := newTestClient(t)
		c.say("MEM.POLICY", "SET", "ai", "REDACT", "$..secret", []string{"HASH", "LAST4", "DROP"}[seed%3])
		secret := func() string { return fmt.Sprintf(`"cleartext %d"`, random.IntN(10000)) }
		key := func() string { return fmt.Sprintf("ai:u1:s:k%d", random.IntN(3)) }
		var said []string
		say := func(words ...string) { said = append(said, c.say(words...)) }
		for range 40 {
			switch random.IntN(7) {
			case 0:
				say("MEM.SET", key(), `{"secret":`+secret()+`,"a":[{"secret":`+secret()+`}]}`, "RETURN", "RECORD")
			case 1:
				say("MEM.PATCH", key(), `{"secret":`+secret()+`}`, "RETURN", "RECORD")
			case 2:
				say("MEM.PATCH", key(), `{"b":{"secret":`+secret()+`}}`, "RFC7396", "RETURN", "RECORD")
			case 3:
				say("MEM.PATCH", key(), `[{"op":"add","path":"/secret","value":`+secret()+`}]`, "RFC6902")
			case 4:
				say("MEM.ROLLBACK", key(), "VERSION", fmt.Sprint(1+random.IntN(4)))
			case 5:
				say("COPY", key(), key())
			case 6:
				say("MEM.FORGET", "KEYS", "1", key())
			}
		}
		for i := range 3 {
			say("MEM.GET", fmt.Sprintf("ai:u1:s:k%d", i), "WITHMETA")
			say("MEM.HISTORY", fmt.Sprintf("ai:u1:s:k%d", i))
		}
		say("MEM.RECALL", "ai:u1", "TOPK", "100", "FORMAT", "JSON")
		say("MEM.AUDIT", "ai:u1", "WITHDIFF", "COUNT", "1000")
		say("MEM.AUDIT", "ai:u1", "FORMAT", "TIMELINE")
		for _, reply := range said {
			if strings.Contains(reply, "cleartext") {
				t.Fatalf("seed %d: %q", seed, reply)
			}
		}
		if found := c.say("MEM.RECALL", "ai:u1", "QUERY", "cleartext"); found != "*0\r\n" {
			t.Fatalf("seed %d: found by what was redacted: %q", seed, found)
		}
	}
}

// TestWhatStandsFitsItsSchema: a write that is acknowledged fits the schema, and
// one that is refused changes nothing, whichever way it came.
func TestWhatStandsFitsItsSchema(t *testing.T) {
	for seed := range uint64(9) {
		random := rand.New(rand.NewPCG(seed, 12))
		_, c := newTestClient(t)
		c.say("MEM.SCHEMA", "SET", "note", "1", `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string","default":"x"}},"required":["n"]}`)
		c.say("MEM.POLICY", "SET", "ai", "SCHEMA", "note")
		pick := func(words ...string) string { return words[random.IntN(len(words))] }
		value := func() string {
			return `{"n":` + pick("1", `"one"`, "null", "2.5", "3.0") + pick("", `,"s":"y"`, `,"s":4`, `,"more":[]`) + `}`
		}
		for range 60 {
			before := c.say("MEM.GET", "ai:u1:s:k")
			var reply string
			switch random.IntN(5) {
			case 0:
				reply = c.say("MEM.SET", "ai:u1:s:k", pick(value(), "5", "[]"))
			case 1:
				reply = c.say("MEM.PATCH", "ai:u1:s:k", value())
			case 2:
				reply = c.say("MEM.PATCH", "ai:u1:s:k", value(), "RFC7396")
			case 3:
				reply = c.say("MEM.PATCH", "ai:u1:s:k", `[{"op":"remove","path":"/`+pick("n", "s")+`"}]`, "RFC6902")
			case 4:
				reply = c.say("MEM.ROLLBACK", "ai:u1:s:k", "VERSION", fmt.Sprint(1+random.IntN(5)))
			}
			after := c.say("MEM.GET", "ai:u1:s:k")
			if strings.HasPrefix(reply, "-") && before != after {
				t.Fatalf("seed %d: %q changed %q to %q", seed, reply, before, after)
			}
			if after == "$-1\r\n" {
				continue
			}
			if checked := c.say("MEM.SCHEMA", "CHECK", "note", bulks(t, after)[0]); checked != "+OK\r\n" {
				t.Fatalf("seed %d: after %q stands %q: %q", seed, reply, after, checked)
			}
		}
	}
}

// TestSchemaMigratePages: what is more than a page is left for the next call,
// which goes on behind what cannot be migrated.
func TestSchemaMigratePages(t *testing.T) {
	_, c := newTestClient(t)
	c.say("MEM.SCHEMA", "SET", "note", "1", `{}`)
	const failing, more = 3, 2
	for i := range failing + migratePage + more {
		value := `{"x":1}`
		if i < failing {
			value = `{}`
		}
		c.say("MEM.SET", fmt.Sprintf("ai:u%d:s:k%05d", i/9000, i), value, "KIND", "working", "SCHEMA", "note")
	}
	c.say("MEM.SCHEMA", "SET", "note", "2", `{}`, "MIGRATE", `[{"op":"move","from":"/x","path":"/y"}]`)
	for _, want := range [][3]int{{migratePage, failing, more}, {more, failing, 0}, {0, failing, 0}} {
		reply := c.say("MEM.SCHEMA", "MIGRATE", "note")
		if wanted := fmt.Sprintf("*6\r\n$8\r\nmigrated\r\n:%d\r\n$6\r\nfailed\r\n:%d\r\n$4\r\nleft\r\n:%d\r\n", want[0], want[1], want[2]); reply != wanted {
			t.Fatalf("%q, want %q", reply, wanted)
		}
	}
	if reply := c.say("MEM.GET", "ai:u1:s:k10000"); reply != "$7\r\n{\"y\":1}\r\n" {
		t.Errorf("%q", reply)
	}
}
