package commands

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
	"reminis/engine"
)

// This file compares random lines of strings and bitmaps with a real
// redis-server: the reply of each, and what the keys then hold.

func TestRandomLinesAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	r := seeded(t)
	lines := append(stringCommands(), bitCommands()...)
	for round := range 10 {
		proto := 2 + round%2
		s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
		c := s.connect(proto)
		redis.Do("HELLO", fmt.Sprint(proto))
		redis.Do("FLUSHALL")
		for range 100 {
			command := lines[r.IntN(len(lines))]
			argv := [][]byte{[]byte(command.Name)}
			argv = append(argv, command.grammar.Generate(r, r.IntN(3) == 0)...)
			if expiresSoon(argv) {
				continue
			}
			same(t, redis, c, proto, argv...)
			for i := range 4 {
				key := fmt.Appendf(nil, "key:%d", i+1)
				same(t, redis, c, proto, []byte("STRLEN"), key)
				same(t, redis, c, proto, []byte("BITCOUNT"), key)
				same(t, redis, c, proto, []byte("TTL"), key)
				// INCRBYFLOAT leaves an integer as text, which the engine cannot tell.
				if command.Name != "incrbyfloat" {
					same(t, redis, c, proto, []byte("OBJECT"), []byte("ENCODING"), key)
				}
			}
			if t.Failed() {
				t.Fatalf("after %q", argv)
			}
			if command.Name == "incrbyfloat" {
				// Both make it an integer again.
				for i := range 4 {
					same(t, redis, c, proto, []byte("INCRBY"), fmt.Appendf(nil, "key:%d", i+1), []byte("0"))
				}
			}
		}
	}
}

// TestDescribedAsRedis compares what COMMAND says of strings and bitmaps.
func TestDescribedAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	_, c := newTestClient(t)
	for _, command := range append(stringCommands(), bitCommands()...) {
		for _, sub := range []string{"INFO", "DOCS"} {
			if command.Name == bitFieldROCommand().Name && sub == "DOCS" {
				// A grammar cannot say yet that the word of a repeated block is repeated.
				continue
			}
			same(t, redis, c, 2, []byte("COMMAND"), []byte(sub), []byte(command.Name))
		}
	}
}

// leastSeconds is a time to live that no test outlasts, however busy the machine is.
const leastSeconds = 10_000

// expiresSoon tells lines whose outcome depends on how fast the test runs: their
// keys could expire on one side between a line and the next.
func expiresSoon(argv [][]byte) bool {
	inSeconds, isShort := false, false
	for _, arg := range argv {
		switch word := strings.ToUpper(string(arg)); word {
		case "PX", "PSETEX":
			return true
		case "EX", "SETEX":
			inSeconds = true
		default:
			n, err := strconv.ParseInt(word, 10, 64)
			isShort = isShort || err == nil && n > 0 && n < leastSeconds
		}
	}
	return inSeconds && isShort
}

// same sends a line to both. The clocks differ, so of a time to live it counts
// only that there is one.
func same(t *testing.T, redis *redistest.Conn, c *testClient, proto int, argv ...[]byte) {
	t.Helper()
	words := make([]string, len(argv))
	for i := range argv {
		words[i] = string(argv[i])
	}
	ours, theirs := render(t, c.do(argv...), proto), render(t, redis.Do(words...), proto)
	if words[0] == "TTL" {
		ours, theirs = ours[:2], theirs[:2]
		if ours != ":-" && theirs != ":-" {
			return
		}
	}
	if ours != theirs {
		t.Errorf("%q:\nredis %.1500s\nours  %.1500s", words, theirs, ours)
	}
}
