package commands

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
	"reminis/engine"
	"reminis/engine/dump"
	"reminis/engine/stream"
)

// This file compares random lines of streams with a real redis-server, and the
// streams that they leave: each server restores what the other one dumped.

// timed says whether a reply tells how long ago something was: the servers'
// clocks differ.
func timed(argv [][]byte) bool {
	line := strings.ToUpper(string(argv[0]))
	if len(argv) > 1 {
		line += " " + strings.ToUpper(string(argv[1]))
	}
	return strings.HasPrefix(line, "XPENDING") && len(argv) > 3 || line == "XINFO CONSUMERS" || line == "XINFO STREAM"
}

// ownClock says whether what a line does depends on the server's clock.
func ownClock(argv [][]byte) bool {
	if name := strings.ToUpper(string(argv[0])); (name == "XCLAIM" || name == "XAUTOCLAIM") && len(argv) > 4 && string(argv[4]) != "0" {
		return true
	}
	for _, arg := range argv[1:] {
		switch strings.ToUpper(string(arg)) {
		case "*", "BLOCK", "IDLE", "TIME":
			return true
		}
	}
	return false
}

// streamLine draws a line: most add to one of two streams, or read from it.
func streamLine(r *rand.Rand) string {
	key := fmt.Sprintf("key:%d", 1+r.IntN(2))
	id := fmt.Sprintf("%d-%d", 1+r.IntN(40), r.IntN(3))
	group, consumer := []string{"g", "h"}[r.IntN(2)], []string{"c", "d"}[r.IntN(2)]
	lines := []string{
		"XADD %s " + id + " f v", "XADD %s " + id + " f w g 7", "XADD %s 40-* f v", "XADD %s 40-* g v f 12345", "XADD %s 40-* f v",
		"XDEL %s " + id, "XDEL %s " + id + " 40-1 40-3", "XTRIM %s MAXLEN " + fmt.Sprint(r.IntN(30)), "XTRIM %s MAXLEN ~ " + fmt.Sprint(r.IntN(30)),
		"XTRIM %s MINID " + id, "XTRIM %s MINID ~ " + id, "XRANGE %s " + id + " +", "XREVRANGE %s " + id + " -",
		"XSETID %s " + id, "XGROUP CREATE %s " + group + " " + id + " MKSTREAM", "XGROUP CREATE %s " + group + " 0 MKSTREAM", "XGROUP SETID %s " + group + " " + id,
		"XREADGROUP GROUP " + group + " " + consumer + " COUNT 3 STREAMS %s >", "XREADGROUP GROUP " + group + " " + consumer + " STREAMS %s 0",
		"XACK %s " + group + " " + id + " 40-2", "XAUTOCLAIM %s " + group + " " + consumer + " 0 " + id + " COUNT 2", "XCLAIM %s " + group + " " + consumer + " 0 " + id + " FORCE",
		"XINFO GROUPS %s", "XPENDING %s " + group, "XGROUP DELCONSUMER %s " + group + " " + consumer, "XREAD STREAMS %s " + id, "XLEN %s",
	}
	return fmt.Sprintf(lines[r.IntN(len(lines))], key)
}

func TestStreamLinesAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	r := seeded(t)
	commands := streamCommands()
	for round := range 12 {
		proto := 2 + round%2
		s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
		entriesMax := 1 + r.IntN(7)
		s.core.Engine.Limits.StreamNodeEntries.Store(int64(entriesMax))
		c := s.connect(proto)
		redis.Do("HELLO", fmt.Sprint(proto))
		redis.Do("FLUSHALL")
		redis.Do("CONFIG", "SET", "stream-node-max-entries", fmt.Sprint(entriesMax))
		for range 300 {
			argv := words(t, streamLine(r))
			if r.IntN(4) == 0 {
				command := commands[r.IntN(len(commands))]
				argv = [][]byte{[]byte(command.Name)}
				if len(command.Subs) > 0 {
					command = command.Subs[r.IntN(len(command.Subs))]
					argv = append(argv, []byte(command.Name))
				}
				argv = append(argv, command.grammar.Generate(r, r.IntN(3) == 0)...)
			}
			if timed(argv) || ownClock(argv) {
				continue
			}
			same(t, redis, c, proto, argv...)
			for _, key := range []string{"key:1", "key:2"} {
				same(t, redis, c, proto, words(t, "XINFO STREAM "+key)...)
				same(t, redis, c, proto, words(t, "DEBUG DIGEST-VALUE "+key)...)
			}
			if t.Failed() {
				t.Fatalf("after %q", argv)
			}
		}
		if err := s.core.Engine.Check(); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"key:1", "key:2", "key:3", "key:4"} {
			exchange(t, redis, c, proto, key)
		}
	}
}

// exchange has each server restore what the other one dumped of key, and compares
// all that they tell of it; of a stream without groups, the dumps too.
func exchange(t *testing.T, redis *redistest.Conn, c *testClient, proto int, key string) {
	t.Helper()
	if c.say("TYPE", key) != "+stream\r\n" {
		return
	}
	ours, theirs := textsOf(t, []byte(c.say("DUMP", key)))[0], textsOf(t, redis.Do("DUMP", key))[0]
	if c.say("XINFO", "GROUPS", key) == "*0\r\n" {
		sameStream(t, ours, theirs)
	}
	for _, payload := range []string{ours, theirs} {
		same(t, redis, c, proto, []byte("RESTORE"), []byte("copy"), []byte("0"), []byte(payload), []byte("REPLACE"))
		same(t, redis, c, proto, words(t, "XINFO STREAM copy FULL COUNT 0")...)
		sameStream(t, textsOf(t, []byte(c.say("DUMP", "copy")))[0], textsOf(t, redis.Do("DUMP", "copy"))[0])
	}
	c.say("COPY", key, "copy", "REPLACE")
	if have := textsOf(t, []byte(c.say("DUMP", "copy")))[0]; have != ours {
		t.Errorf("a copy of %s is dumped as\n%x, not\n%x", key, have, ours)
	}
}

// sameStream compares two payloads of streams node by node. Their bytes may
// differ: what is left of a string once it is compressed is each server's own.
func sameStream(t *testing.T, ours, theirs string) {
	t.Helper()
	var values [2]*stream.Value
	for i, payload := range []string{ours, theirs} {
		value, err := dump.NewReader([]byte(payload), dump.Limits{StringBytes: 1 << 20, TotalBytes: 1 << 24}).Value()
		if err != nil {
			t.Fatalf("%x: %v", payload, err)
		}
		values[i] = value.Stream
	}
	if !reflect.DeepEqual(values[0], values[1]) {
		t.Errorf("DUMP:\nredis %+v\nours  %+v", values[1], values[0])
	}
}

// TestStreamKeysAsRedis compares where keys are found in lines that may say
// STREAMS several times.
func TestStreamKeysAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	_, c := newTestClient(t)
	for _, line := range []string{
		"XREAD COUNT 1 STREAMS a b 0 0", "XREAD STREAMS STREAMS 0", "XREADGROUP GROUP streams STREAMS STREAMS a b 0 0", "XREAD BLOCK STREAMS STREAMS a 0",
		"XREAD STREAMS a b 0", "XREAD foo STREAMS a 0", "XADD s * f v", "XGROUP CREATE s g 0", "XINFO STREAM s FULL", "XREAD COUNT STREAMS",
	} {
		same(t, redis, c, 2, append(words(t, "COMMAND GETKEYS"), words(t, line)...)...)
		same(t, redis, c, 2, append(words(t, "COMMAND GETKEYSANDFLAGS"), words(t, line)...)...)
	}
}
