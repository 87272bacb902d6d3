package commands

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
)

// This file compares users with a real redis-server: random rules, what GETUSER
// and LIST make of them, and what they allow. How commands are described depends
// on all commands that there are, so of these the permissions are compared.

func TestUsersAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	r := seeded(t)
	for round := range 40 {
		_, c := newTestClient(t)
		redis.Do("ACL", "DELUSER", "u")
		for range 12 {
			argv := [][]byte{[]byte("ACL"), []byte("SETUSER"), []byte("u")}
			for range 1 + r.IntN(4) {
				argv = append(argv, []byte(randomUserRule(r)))
			}
			same(t, redis, c, 2, argv...)
			sameUser(t, redis, c)
			if t.Failed() {
				t.Fatalf("round %d, after %q", round, argv)
			}
		}
		for range 20 {
			line := append([][]byte{[]byte("ACL"), []byte("DRYRUN"), []byte("u")}, randomUserLine(r)...)
			same(t, redis, c, 2, line...)
		}
		if t.Failed() {
			t.Fatalf("%s", c.say("ACL", "LIST"))
		}
	}
}

// sameUser compares what both show of the user u, but for its commands.
func sameUser(t *testing.T, redis *redistest.Conn, c *testClient) {
	t.Helper()
	ours := withoutCommands(render(t, []byte(c.say("ACL", "GETUSER", "u")), 2))
	theirs := withoutCommands(render(t, redis.Do("ACL", "GETUSER", "u"), 2))
	if ours != theirs {
		t.Errorf("GETUSER:\nredis %s\nours  %s", theirs, ours)
	}
	ours = withoutCommands(c.say("ACL", "LIST"))
	theirs = withoutCommands(string(redis.Do("ACL", "LIST")))
	if ours != theirs {
		t.Errorf("LIST:\nredis %q\nours  %q", theirs, ours)
	}
}

// withoutCommands removes rules of commands, and the lengths of texts that have
// them.
func withoutCommands(text string) string {
	var kept []string
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \"()\r\n", c) }) {
		if word[0] != '+' && word[0] != '-' && word[0] != '$' {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}

func randomUserRule(r *rand.Rand) string {
	key := func() string { return []string{"a*", "b", "*", "?c", "[xy]*", "", "a b", "ü*"}[r.IntN(8)] }
	command := func() string {
		return []string{"get", "SET", "mget", "copy", "hset", "hget", "ping", "config", "config|get", "config|set", "client|id", "client", "select",
			"select|0", "debug|object", "nosuch", "config|nosuch", "config|get|x", "", "@all", "@read", "@write", "@string", "@hash", "@fast", "@slow",
			"@admin", "@connection", "@nosuch", "@KEYSPACE", "mset", "rename", "getdel", "exists", "expire"}[r.IntN(35)]
	}
	switch r.IntN(12) {
	case 0:
		return []string{"on", "off", "nopass", "resetpass", "reset", "ON", "skip-sanitize-payload", "sanitize-payload", "clearselectors", "nonsense", "", ")"}[r.IntN(12)]
	case 1:
		return []string{">", "<", "#", "!"}[r.IntN(4)] + []string{"pw", "other", "", "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"}[r.IntN(4)]
	case 2, 3:
		return []string{"~", "%R~", "%W~", "%RW~", "%rw~", "%", "%~", "%RR~", "%R"}[r.IntN(9)] + key()
	case 4:
		return "&" + key()
	case 5:
		return []string{"allkeys", "resetkeys", "allchannels", "resetchannels", "allcommands", "nocommands", "~*", "&*"}[r.IntN(8)]
	case 6, 7:
		rules := []string{"(", "( "}[r.IntN(2)]
		for range r.IntN(4) {
			if rule := randomUserRule(r); !strings.ContainsAny(rule, "()") {
				rules += rule + " "
			}
		}
		return strings.TrimSuffix(rules, " ") + []string{")", " )", ")", ""}[r.IntN(4)]
	}
	return []string{"+", "-", "+"}[r.IntN(3)] + command()
}

func randomUserLine(r *rand.Rand) [][]byte {
	key := func() string { return []string{"a", "ab", "b", "xc", "y", "z", "ü1"}[r.IntN(7)] }
	lines := [][]string{
		{"GET", key()}, {"set", key(), "v"}, {"set", key(), "v", "get"}, {"MGET", key(), key(), key()}, {"COPY", key(), key()},
		{"HSET", key(), "f", "v"}, {"HGET", key(), "f"}, {"PING"}, {"CONFIG", "GET", "x"}, {"CONFIG", "SET", "x", "y"}, {"CONFIG", "RESETSTAT"},
		{"CLIENT", "ID"}, {"CLIENT", "GETNAME"}, {"SELECT", "0"}, {"SELECT", "1"}, {"DEBUG", "OBJECT", key()}, {"DEBUG", "x"}, {"MSET", key(), "1", key(), "2"},
		{"RENAME", key(), key()}, {"GETDEL", key()}, {"EXISTS", key(), key()}, {"EXPIRE", key(), "1"}, {"AUTH", "x"}, {"HELLO"}, {"STRLEN", key()},
		{"BITFIELD", key(), "GET", "u4", "0"}, {"BITFIELD", key(), "SET", "u4", "0", "1"}, {"BITOP", "AND", key(), key(), key()}, {"NOSUCH"}, {"GET"}, {"CONFIG"}, {"CONFIG", "NOSUCH"},
	}
	var argv [][]byte
	for _, word := range lines[r.IntN(len(lines))] {
		argv = append(argv, []byte(word))
	}
	return argv
}

// TestDenialsAsRedis compares what limited users are answered, and the log of it.
func TestDenialsAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	_, c := newTestClient(t)
	for _, line := range []string{
		"ACL SETUSER u on >pw +get +set +multi +exec +incr +acl|whoami +acl|setuser +discard ~a* (+mget ~b ~c)",
		"ACL LOG RESET", "AUTH u wrong", "HELLO 2 AUTH nosuch pw", "auth u pw", "ACL WHOAMI", "ACL LIST", "GET a1", "GET b", "SET z 1", "SET z 1",
		"MGET b d c", "MGET b c", "DEL a1", "CONFIG GET x", "MULTI", "SET a1 x", "SET z x", "EXEC", "MULTI", "SET a1 5", "INCR a1", "GET nosuch", "DISCARD",
		// Denied when it runs, not when it is queued.
		"MULTI", "ACL SETUSER u -incr", "INCR a1", "EXEC",
		"AUTH default x", "ACL DRYRUN u GET z", "ACL LOG NOSUCH", "ACL LOG 1 2", "ACL CAT a b", "ACL GENPASS 1 2", "ACL DELUSER nosuch", "ACL SETUSER \"a b\" on",
		"CLIENT KILL USER nosuch", "CLIENT KILL USER u",
	} {
		argv := words(t, line)
		same(t, redis, c, 2, argv...)
	}
	ours, theirs := denials(t, []byte(c.say("ACL", "LOG", "100"))), denials(t, redis.Do("ACL", "LOG", "100"))
	if ours != theirs {
		t.Errorf("LOG:\nredis %s\nours  %s", theirs, ours)
	}
}

// denials is a log without times and clients.
func denials(t *testing.T, data []byte) string {
	var shown []string
	for _, entry := range strings.Split(render(t, data, 2), "[\"count\"")[1:] {
		entry, _, _ = strings.Cut(entry, "\"age-seconds\"")
		shown = append(shown, entry)
	}
	return fmt.Sprint(len(shown), shown)
}
