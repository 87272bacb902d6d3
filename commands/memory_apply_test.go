package commands

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"reminis/engine"
)

// This file says of MEM.APPLY what no transcript can: that it is its commands one
// by one when all of them can happen, and nothing when one cannot, wherever that
// one stands and whoever looks.

// applied is a command of MEM.APPLY, and the line that does the same alone.
type applied struct{ json, alone string }

// drawCommand makes one that can happen, whatever stands: a key holds either
// objects or arrays.
func drawCommand(r *rand.Rand) applied {
	object, array := fmt.Sprintf("ai:u1:s%d:o%d", r.IntN(2), r.IntN(3)), fmt.Sprintf("ai:u1:s%d:a%d", r.IntN(2), r.IntN(2))
	kind := []string{"working", "session", "profile", "semantic"}[r.IntN(4)]
	value := fmt.Sprintf(`{"w%d":"tea %d"}`, r.IntN(4), r.IntN(1000))
	switch r.IntN(6) {
	case 0, 1:
		return applied{fmt.Sprintf(`{"action":"upsert","key":%q,"payload":%s,"kind":%q}`, object, value, kind),
			fmt.Sprintf("MEM.SET %s %q KIND %s", object, value, kind)}
	case 2, 3:
		return applied{fmt.Sprintf(`{"action":"patch","key":%q,"payload":%s}`, object, value),
			fmt.Sprintf("MEM.PATCH %s %q", object, value)}
	case 4:
		return applied{fmt.Sprintf(`{"action":"append","key":%q,"payload":[%s,5],"kind":%q}`, array, value, kind),
			fmt.Sprintf("MEM.APPEND %s KIND %s ITEMS 2 %q 5", array, kind, value)}
	}
	key := []string{object, array}[r.IntN(2)]
	return applied{fmt.Sprintf(`{"action":"delete","key":%q}`, key), "MEM.FORGET KEYS 1 " + key}
}

func applyLine(commands []applied) []string {
	texts := make([]string, len(commands))
	for i := range commands {
		texts[i] = commands[i].json
	}
	return []string{"MEM.APPLY", "ai:u1", "[" + strings.Join(texts, ",") + "]"}
}

// applyState is what can be read of the owner ai:u1, without sequences of batches.
func applyState(t *testing.T, c *testClient) string {
	t.Helper()
	var out strings.Builder
	for _, line := range []string{"MEM.NS LIST ai:u1", "MEM.RECALL ai:u1 QUERY tea TOPK 1000 FORMAT JSON", "MEM.SESSION LIST ai:u1",
		"MEM.AUDIT ai:u1 FORMAT TIMELINE COUNT 1000", "DBSIZE"} {
		out.WriteString(c.say(strings.Fields(line)...) + "\n")
	}
	out.WriteString(withoutSeq(strings.Join(bulks(t, c.say("MEM.LOAD", "ai:u1", "FORMAT", "JSON")), "\n")))
	for _, key := range bulks(t, c.say("MEM.NS", "LIST", "ai:u1"))[1:] {
		out.WriteString(c.say("MEM.GET", key, "WITHMETA") + c.say("PTTL", key) + "\n")
	}
	if err := c.server.core.Engine.Check(); err != nil {
		t.Fatal(err)
	}
	if r := c.say("MEM.AUDIT", "ai:u1", "VERIFY"); !strings.Contains(r, "ok\r\n:1\r\n") {
		t.Fatalf("%q", r)
	}
	return out.String()
}

// withoutSeq takes out the sequence of the last batch.
func withoutSeq(text string) string {
	before, after, found := strings.Cut(text, `"seq":`)
	if !found {
		return text
	}
	return before + strings.TrimLeft(after, "0123456789")
}

// TestApplyIsItsCommands one by one, in order.
func TestApplyIsItsCommands(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 21))
		_, all := newTestClient(t)
		_, each := newTestClient(t)
		for range 8 {
			commands := make([]applied, 1+r.IntN(8))
			for i := range commands {
				commands[i] = drawCommand(r)
			}
			if reply := all.say(applyLine(commands)...); !strings.HasPrefix(reply, "*"+strconv.Itoa(len(commands))+"\r\n") {
				t.Fatalf("seed %d: %v: %q", seed, commands, reply)
			}
			for i := range commands {
				if reply := string(each.do(words(t, commands[i].alone)...)); reply[0] != ':' {
					t.Fatalf("seed %d: %s: %q", seed, commands[i].alone, reply)
				}
			}
			if have, want := applyState(t, all), applyState(t, each); have != want {
				t.Fatalf("seed %d: %v: %s", seed, commands, firstDifference(want, have))
			}
		}
	}
}

// TestApplyFailsAtEveryIndex: whichever command fails, for whatever reason, nothing
// is changed, told or remembered, and the same commands can follow without it.
func TestApplyFailsAtEveryIndex(t *testing.T) {
	failing := map[string]string{
		`{"action":"upsert","key":"ai:u1:text:t","payload":{}}`:                                   "WRONGTYPE Operation against a key holding the wrong kind of value",
		`{"action":"patch","key":"ai:u1:x:array","payload":[{}],"schema":"note"}`:                 "schema note@1: got array, want object",
		`{"action":"append","key":"ai:u1:x:object","payload":1}`:                                  "the value is an object, items are appended to an array",
		`{"action":"upsert","key":"ai:u1:x:new","payload":1,"ifversion":9}`:                       "there is no such record, ifversion is 9",
		`{"action":"delete","key":"ai:u1:x:object","ifversion":9}`:                                "version 1 stands, ifversion is 9",
		`{"action":"upsert","key":"ai:u1:sealed:a","payload":1,"kind":"semantic"}`:                "NOCONSENT ai:u1 has not consented to semantic records",
		`{"action":"upsert","key":"ai:u1:small:a","payload":"` + strings.Repeat("x", 9000) + `"}`: "QUOTA the owner would have",
		`{"action":"upsert","key":"ai:u1:x:new","payload":1,"command_id":"used"}`:                 "command id 'used' was already used for another change",
		`{"action":"upsert","key":"ai:u1:x:new","payload":1,"schema":"none-such"}`:                "schema none-such does not exist",
		`{"action":"upsert","key":"ai:u2:x:new","payload":1}`:                                     "the key is not one of the owner's",
		`{"action":"upsert","key":"ai:u1:x:new","payload":1,"ttl":1}`:                             "member ttl is not one of",
	}
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	c := s.connect(2)
	for _, line := range []string{
		"SET ai:u1:text:t x", `MEM.SET ai:u1:x:object {"n":1} ID used`, "MEM.APPEND ai:u1:x:array ITEMS 1 1", "MEM.APPEND ai:u1:s0:a0 KIND session EX 100 ITEMS 1 1",
		`MEM.SCHEMA SET note 1 {"type":"object"}`, "MEM.POLICY SET ai:u1:sealed CONSENT REQUIRED", "MEM.POLICY SET ai:u1:small MAXBYTES 9000",
		"CONFIG SET notify-keyspace-events EA",
	} {
		if r := c.say(strings.Fields(line)...); r[0] == '-' {
			t.Fatalf("%s: %s", line, r)
		}
	}
	listener := s.connect(3)
	listener.say("PSUBSCRIBE", "*")
	r := rand.New(rand.NewPCG(1, 22))
	before := applyState(t, c)
	for bad, reason := range failing {
		for index := range 6 {
			var commands []applied
			for range 5 {
				commands = append(commands, drawCommand(r))
			}
			commands = append(commands[:index:index], append([]applied{{json: bad}}, commands[index:]...)...)
			line := append(applyLine(commands), "ID", "all", "EX", "50")
			if reply := c.say(line...); !strings.HasPrefix(reply, fmt.Sprintf("-APPLYABORT %d %s", index, reason)) {
				t.Fatalf("%q: %q", line, reply)
			}
			if after := applyState(t, c); after != before {
				t.Fatalf("%q: %s", line, firstDifference(before, after))
			}
			if told := listener.say("PING"); told != "+PONG\r\n" {
				t.Fatalf("%q: %q was told", line, told)
			}
		}
	}
	// What failed left no trace of its ID.
	if reply := c.say(append(applyLine([]applied{drawCommand(r)}), "ID", "all")...); reply[0] != '*' || strings.Contains(reply, "duplicated") {
		t.Errorf("%q", reply)
	}
}

// TestApplyShowsNoPart: a reader beside it sees all of a change, or nothing.
func TestApplyShowsNoPart(t *testing.T) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	writer, reader := s.connect(2), s.connect(2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			n := strconv.Itoa(i)
			line := fmt.Sprintf(`[{"action":"upsert","key":"ai:u:s:a","payload":%s},{"action":"upsert","key":"ai:u:s:b","payload":%s},{"action":"delete","key":"ai:u:s:c","ifversion":%d}]`, n, n, i%2)
			if i%2 == 0 {
				line = strings.Replace(line, `,"ifversion":0`, "", 1)
			}
			writer.say("MEM.APPLY", "ai:u", line)
		}
	}()
	for {
		pair := bulks(t, reader.say("MEM.MGET", "2", "ai:u:s:a", "ai:u:s:b"))
		if len(pair) == 2 && pair[0] != pair[1] || len(pair) == 1 {
			t.Fatalf("%v", pair)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestApplyHostileInput is a clear error each.
func TestApplyHostileInput(t *testing.T) {
	_, c := newTestClient(t)
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	one := `{"action":"upsert","key":"ai:u1:s:a","payload":1}`
	big := `{"action":"upsert","key":"ai:u1:s:a","payload":"` + strings.Repeat("x", 8<<20) + `"}`
	for text, want := range map[string]string{
		deep: "-ERR commands is nested too deep",
		"[" + strings.Repeat(one+",", 1000) + one + "]":                                  "-ERR commands has 1001 commands, limit mem-apply-commands is 1000",
		`[{"action":"upsert","key":"ai:u1:s:a","payload":` + deep[99_400:100_600] + `}]`: "-ERR commands is nested too deep",
		"[" + big + "]": "-APPLYABORT 0 value has 8388610 bytes, limit mem-value-bytes is 8388608",
		"[" + strings.Repeat(" ", 64<<20) + one + "]":                                                       "-ERR commands has 67108915 bytes, limit mem-apply-bytes is 67108864",
		`[{"action":"upsert","key":"ai:u1:s:` + strings.Repeat("k", 1100) + `","payload":1}]`:               "-APPLYABORT 0 key has",
		`[{"action":"upsert","key":"ai:u1:s:a","payload":1,"operator":"` + strings.Repeat("k", 300) + `"}]`: "-APPLYABORT 0 operator has 300 bytes, limit mem-name-bytes is 256",
		"[\xff]": "-ERR commands is not valid",
	} {
		reply := c.say("MEM.APPLY", "ai:u1", text)
		if !strings.HasPrefix(reply, want) || strings.Count(reply, "\r\n") != 1 {
			t.Errorf("%.60q: %.200q, want %q", text, reply, want)
		}
	}
	if r := c.say("MEM.NS", "LIST", "ai:u1"); r != "*2\r\n$1\r\n0\r\n*0\r\n" {
		t.Errorf("%q", r)
	}
	// What patches make is bounded too, though each is small.
	c.say("MEM.SET", "ai:u1:s:a", `{"big":"`+strings.Repeat("x", 8_000_000)+`"}`)
	patch := `{"action":"patch","key":"ai:u1:s:a","payload":{"n":%d}}`
	var patches []string
	for i := range 20 {
		patches = append(patches, fmt.Sprintf(patch, i))
	}
	if r := c.say("MEM.APPLY", "ai:u1", "["+strings.Join(patches, ",")+"]"); !strings.HasPrefix(r, "-APPLYABORT 8 change has 72") {
		t.Errorf("%q", r)
	}
	if r := c.say("MEM.GET", "ai:u1:s:a", "PATH", "$.n"); r != "$2\r\n[]\r\n" {
		t.Errorf("%q", r)
	}
}
