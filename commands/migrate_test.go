package commands

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"reminis/commands/reply/redistest"
)

// This file shows how MIGRATE moves keys, to a redis-server and to a target whose
// answers the test chooses.

// dialTo has a server's MIGRATE reach what open opens.
func dialTo(server *testServer, open func() (net.Conn, error)) {
	server.core.Dial = func(string, string, time.Duration) (Link, error) { return open() }
}

func TestMigrateToRedis(t *testing.T) {
	redis := redistest.Start(t)
	server, client := newTestClient(t)
	dialTo(server, redis.Open)
	for _, line := range []string{
		"SET text v", "SET later v PX 100000", "RPUSH list a b 3", "SADD set a b", "SADD ints 1 2 3", "HSET hash f v", "ZADD sorted 1 a 2.5 b",
		"XADD stream 1-1 f v", "XGROUP CREATE stream group 0", "XREADGROUP GROUP group alice STREAMS stream >", "SET empty v",
	} {
		client.say(strings.Fields(line)...)
	}
	show := func(say func(argv ...string) []byte, key string) string {
		lines := []string{"GET " + key, "LRANGE " + key + " 0 -1", "SORT " + key + " ALPHA", "HGETALL " + key,
			"ZRANGE " + key + " 0 -1 WITHSCORES", "XRANGE " + key + " - +", "XPENDING " + key + " group"}
		var out []string
		for _, line := range lines {
			if text := render(t, say(strings.Fields(line)...), 2); !strings.HasPrefix(text, "-") {
				out = append(out, text)
			}
		}
		return strings.Join(out, " ")
	}
	ours := func(argv ...string) []byte { return []byte(client.say(argv...)) }
	keys := []string{"text", "later", "list", "set", "ints", "hash", "sorted", "stream"}
	had := map[string]string{}
	for _, key := range keys {
		had[key] = show(ours, key)
	}
	argv := append([]string{"MIGRATE", "host", "1", "", "3", "1000", "KEYS", "none"}, keys...)
	if have := client.say(argv...); have != "+OK\r\n" {
		t.Fatalf("the keys did not move: %q", have)
	}
	redis.Do("SELECT", "3")
	for _, key := range keys {
		if have := show(func(argv ...string) []byte { return redis.Do(argv...) }, key); have != had[key] {
			t.Errorf("%s: it was %s, redis has %s", key, had[key], have)
		}
		if have := client.say("EXISTS", key); have != ":0\r\n" {
			t.Errorf("%s is still here", key)
		}
	}
	if ttl := render(t, redis.Do("PTTL", "later"), 2); !strings.HasPrefix(ttl, ":9") && ttl != ":100000" {
		t.Errorf("the deadline is %s ms away", ttl)
	}
	for _, test := range []struct{ line, want, left string }{
		{"SET text other", "+OK", "other"},
		{"MIGRATE host 1 text 3 1000", "-ERR Target instance replied with error: BUSYKEY Target key name already exists.", "other"},
		{"MIGRATE host 1 text 99 1000", "-ERR Target instance replied with error: ERR DB index is out of range", "other"},
		{"MIGRATE host 1 text 3 1000 AUTH x", "-ERR Target instance replied with error: ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?", "other"},
		{"MIGRATE host 1 text 3 1000 AUTH2 u p REPLACE", "-ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled.", "other"},
		{"MIGRATE host 1 text 3 1000 COPY REPLACE", "+OK", "other"},
		{"MIGRATE host 1 text 3 1000 REPLACE", "+OK", ""},
		{"MIGRATE host 1 text 3 1000", "+NOKEY", ""},
	} {
		if have := strings.TrimSuffix(client.say(strings.Fields(test.line)...), "\r\n"); have != test.want {
			t.Errorf("%s: want %s, have %s", test.line, test.want, have)
		}
		if have := client.say("GET", "text"); have != "$-1\r\n" && !strings.Contains(have, test.left) {
			t.Errorf("%s leaves %q, not %q", test.line, have, test.left)
		}
	}
}

func TestMigrateWithPassword(t *testing.T) {
	redis := redistest.Start(t)
	redis.Do("CONFIG", "SET", "requirepass", "secret")
	redis.Do("AUTH", "secret")
	server, client := newTestClient(t)
	dialTo(server, redis.Open)
	for _, test := range []struct{ options, want string }{
		{"", "-ERR Target instance replied with error: NOAUTH Authentication required."},
		{"AUTH wrong", "-ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled."},
		{"AUTH secret", "+OK"},
		{"AUTH2 default secret REPLACE", "+OK"},
	} {
		client.say("SET", "k", "v")
		if have := strings.TrimSuffix(client.say(strings.Fields("MIGRATE host 1 k 0 1000 "+test.options)...), "\r\n"); have != test.want {
			t.Errorf("%s: want %s, have %s", test.options, test.want, have)
		}
	}
}

// target answers each command that MIGRATE sends as answer says; "" ends the
// connection.
type target struct {
	mu     sync.Mutex
	heard  []string
	answer func(n int, words []string) string
}

func (x *target) open() (net.Conn, error) {
	ours, theirs := net.Pipe()
	answers := make(chan string, 16)
	go func() {
		defer theirs.Close()
		for answer := range answers {
			if answer == "" {
				return
			}
			_, _ = theirs.Write([]byte(answer + "\r\n"))
		}
	}()
	go func() {
		defer close(answers)
		var buf []byte
		chunk := make([]byte, 4096)
		for {
			n, err := theirs.Read(chunk)
			if err != nil {
				return
			}
			buf = append(buf, chunk[:n]...)
			for {
				words, rest := firstCommand(buf)
				if words == nil {
					break
				}
				buf = rest
				x.mu.Lock()
				x.heard = append(x.heard, strings.Join(shortened(words), " "))
				answer := x.answer(len(x.heard), words)
				x.mu.Unlock()
				answers <- answer
			}
		}
	}()
	return ours, nil
}

// shortened leaves out payloads, which are RESTORE's third argument.
func shortened(words []string) []string {
	if words[0] == "RESTORE" {
		words = append(words[:3:3], words[4:]...)
	}
	return words
}

// firstCommand cuts a command off a request, nil when it is not whole.
func firstCommand(buf []byte) (words []string, rest []byte) {
	text := string(buf)
	var count int
	if _, err := fmt.Sscanf(text, "*%d\r\n", &count); err != nil {
		return nil, buf
	}
	at := strings.Index(text, "\r\n") + 2
	for range count {
		var size int
		if _, err := fmt.Sscanf(text[at:], "$%d\r\n", &size); err != nil {
			return nil, buf
		}
		at += strings.Index(text[at:], "\r\n") + 2
		if at+size+2 > len(text) {
			return nil, buf
		}
		words = append(words, text[at:at+size])
		at += size + 2
	}
	return words, buf[at:]
}

// TestMigrateOfChangingKeys: what changed while it was sent is sent again, and what
// went is taken back; the key goes only once the target has what is here.
func TestMigrateOfChangingKeys(t *testing.T) {
	for _, test := range []struct {
		name    string
		changes []string // one for each RESTORE, while it is answered
		want    []string
		left    string
	}{
		{"once", []string{"SET k new"}, []string{"SELECT 0", "RESTORE k 0", "RESTORE k 0 REPLACE"}, "$-1"},
		{"its deadline", []string{"PEXPIRE k 5000"}, []string{"SELECT 0", "RESTORE k 0", "RESTORE k 5000 REPLACE"}, "$-1"},
		{"to the end", []string{"DEL k"}, []string{"SELECT 0", "RESTORE k 0", "DEL k"}, "$-1"},
		{"back", []string{"SET k other", "SET k v"}, []string{"SELECT 0", "RESTORE k 0", "RESTORE k 0 REPLACE", "RESTORE k 0 REPLACE"}, "$-1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, client := newTestClient(t)
			other := server.connect(2)
			changes := test.changes
			x := &target{}
			x.answer = func(_ int, words []string) string {
				if words[0] == "RESTORE" && len(changes) > 0 {
					line := changes[0]
					changes = changes[1:]
					other.say(strings.Fields(line)...)
				}
				return "+OK"
			}
			dialTo(server, x.open)
			client.say("SET", "k", "v")
			if have := client.say("MIGRATE", "host", "1", "k", "0", "1000"); have != "+OK\r\n" {
				t.Fatalf("the key did not move: %q", have)
			}
			if have := strings.Join(x.heard, ", "); have != strings.Join(test.want, ", ") {
				t.Errorf("the target heard %s, want %s", have, strings.Join(test.want, ", "))
			}
			if have := strings.TrimSuffix(client.say("GET", "k"), "\r\n"); have != test.left {
				t.Errorf("what is left is %q", have)
			}
		})
	}
}

// TestMigrateHoldsAtLast: a key that changes at every try is sent once more while
// its shard is locked.
func TestMigrateHoldsAtLast(t *testing.T) {
	server, client := newTestClient(t)
	other := server.connect(2)
	x, tries := &target{}, 0
	x.answer = func(_ int, words []string) string {
		if words[0] == "RESTORE" {
			if tries++; tries <= migrateTries {
				other.say("APPEND", "k", "x")
			}
		}
		return "+OK"
	}
	dialTo(server, x.open)
	client.say("SET", "k", "v")
	if have := client.say("MIGRATE", "host", "1", "k", "0", "1000"); have != "+OK\r\n" || tries != migrateTries+1 {
		t.Errorf("after %d tries: %q", tries, have)
	}
	if have := client.say("EXISTS", "k"); have != ":0\r\n" {
		t.Error("the key is still here")
	}
}

// TestMigrateToBadTargets: keys go as far as the target has answered for them.
func TestMigrateToBadTargets(t *testing.T) {
	for _, test := range []struct {
		answers []string // to SELECT and three keys
		want    string
		left    string
	}{
		{[]string{"+OK", "+OK", "-BUSYKEY x", "+OK"}, "-ERR Target instance replied with error: BUSYKEY x", `["b"]`},
		{[]string{"+OK", "+OK", ""}, "-IOERR error or timeout reading to target instance", `["b" "c"]`},
		{[]string{""}, "-IOERR error or timeout reading to target instance", `["a" "b" "c"]`},
		{[]string{"-ERR no", "+OK", "+OK", "+OK"}, "-ERR Target instance replied with error: ERR no", `["a" "b" "c"]`},
	} {
		server, client := newTestClient(t)
		x := &target{answer: func(n int, _ []string) string {
			if n > len(test.answers) {
				return ""
			}
			return test.answers[n-1]
		}}
		dialTo(server, x.open)
		client.say("MSET", "a", "1", "b", "2", "c", "3")
		if have := strings.TrimSuffix(client.say("MIGRATE", "host", "1", "", "0", "1000", "KEYS", "a", "b", "c"), "\r\n"); have != test.want {
			t.Errorf("answers %q: want %s, have %s", test.answers, test.want, have)
		}
		var left []string
		for _, key := range []string{"a", "b", "c"} {
			if client.say("EXISTS", key) == ":1\r\n" {
				left = append(left, fmt.Sprintf("%q", key))
			}
		}
		if have := "[" + strings.Join(left, " ") + "]"; have != test.left {
			t.Errorf("answers %q leave %s, want %s", test.answers, have, test.left)
		}
	}
}

// TestMigrateWithoutAWay: a processor that cannot reach anybody says so.
func TestMigrateWithoutAWay(t *testing.T) {
	server, client := newTestClient(t)
	server.core.Dial = nil
	client.say("SET", "k", "v")
	if have := client.say("MIGRATE", "host", "1", "k", "0", "1000"); have != "-IOERR error or timeout connecting to the client\r\n" {
		t.Error(have)
	}
}
