// This file owns the spec of CONFIG REWRITE, and its comparison with a real Redis.

package server

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reminis/commands"
	"reminis/engine"
)

// dirLine is what every rewritten file has: the directory.
func dirLine(c *Config) string { return `dir "` + c.values["dir"].text + `"` }

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRewrite(t *testing.T) {
	const save = "save 3600 1\nsave 300 100\nsave 60 10000\n"
	for _, test := range []struct {
		name, before string
		set          []string
		after        string // <dir> stands for the line of the directory
	}{
		{"nothing is said", "", nil, rewriteMark + "\n<dir>\n"},
		{"the usual save points, given", "dir x\n", []string{"save", "3600 1 300 100 60 10000"}, "<dir>\n\n" + rewriteMark + "\n" + save},
		{"what is there stays, default or not", "# a\n\ntimeout 0\n  Hz   10 \ndir x\n# b\n" + save, nil,
			"# a\n\ntimeout 0\nhz 10\n<dir>\n# b\n" + save},
		{"values that hold now", "dir x\ntimeout 5\n# end\n" + save, []string{"timeout", "7", "maxmemory", "2048", "slowlog-max-len", "5", "appendfsync", "always"},
			"<dir>\ntimeout 7\n# end\n" + save + "\n" + rewriteMark + "\nappendfsync always\nslowlog-max-len 5\nmaxmemory 2kb\n"},
		{"a mark that is there", "dir x\n" + save + rewriteMark + "\ntimeout 5\n", []string{"timeout", "0", "hz", "20"},
			"<dir>\n" + save + rewriteMark + "\ntimeout 0\n\nhz 20\n"},
		{"save points, fewer and more", "save 1 1\ndir x\nsave 2 2\nsave 3 3\n", []string{"save", "5 6"}, "save 5 6\n<dir>\n\n"},
		{"no save point", "save 1 1\ndir x\n", []string{"save", ""}, "save \"\"\n<dir>\n"},
		{"one directive several times", "dir x\ntimeout 1\ntimeout 2\n\n\n\n# c\ntimeout 3\n" + save, nil, "<dir>\ntimeout 3\n\n# c\n\n" + save},
		{"aliases have their name", "dir x\nhash-max-ziplist-entries 7\n" + save, nil, "<dir>\nhash-max-listpack-entries 7\n" + save},
		{"sizes", "dir x\n" + save, []string{"maxmemory", "3221225472", "maxmemory-clients", "5%", "proto-max-bulk-len", "1048577"},
			"<dir>\n" + save + "\n" + rewriteMark + "\nproto-max-bulk-len 1048577\nmaxmemory 3gb\nmaxmemory-clients 5%\n"},
		{"limits of classes", "client-output-buffer-limit normal 1 1 1\n# a\nclient-output-buffer-limit slave 2 2 2\ndir x\n" + save,
			[]string{"client-output-buffer-limit", "replica 5242880 1000 7 normal 0 0 0"},
			"client-output-buffer-limit normal 0 0 0\n# a\nclient-output-buffer-limit replica 5mb 1000 7\n<dir>\n" + save},
		{"limits stay if they are there", "client-output-buffer-limit normal 0 0 0\ndir x\n" + save, nil, "client-output-buffer-limit normal 0 0 0\n<dir>\n" + save},
		{"texts are quoted", "dir x\nlogfile \"\"\n" + save, []string{"requirepass", "a \"b\"\n", "notify-keyspace-events", "Kx"},
			"<dir>\n\n" + save + "\n" + rewriteMark + "\nrequirepass \"a \\\"b\\\"\\n\"\nnotify-keyspace-events \"xK\"\n"},
		{"several words", "bind 127.0.0.1 -::1\ndir x\nlatency-tracking-info-percentiles 50\n" + save, []string{"latency-tracking-info-percentiles", ""},
			"bind 127.0.0.1 -::1\n<dir>\nlatency-tracking-info-percentiles \"\"\n" + save},
		{"our own", "dir x\n" + save, []string{"mem-consent", "required", "mem-idempotency-window", "36h"},
			"<dir>\n" + save + "\n" + rewriteMark + "\nmem-consent required\nmem-idempotency-window 36h\n"},
		{"no address", "dir x\n" + save, []string{"bind", ""}, "<dir>\n" + save + "\n" + rewriteMark + "\nbind \"\"\n"},
		{"what only a file says", "rename-command FLUSHALL \"\"\ndir x\n" + save, nil, "rename-command FLUSHALL \"\"\n<dir>\n" + save},
		{"carriage returns", "dir x\r\ntimeout 1\r\n" + save, nil, "<dir>\ntimeout 1\n" + save},
	} {
		path := write(t, "c", test.before)
		c := load(t, path)
		if err := c.Set(test.set, true); len(test.set) > 0 && err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		for range 2 { // the second time nothing changes
			if err := c.Rewrite(false); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			got := strings.ReplaceAll(readFile(t, path), dirLine(c), "<dir>")
			if strings.TrimRight(got, "\n") != strings.TrimRight(test.after, "\n") {
				t.Errorf("%s:\n%q, want\n%q", test.name, got, test.after)
			}
		}
		// What was written is what holds.
		again := load(t, path)
		for name, v := range c.values {
			if again.values[name].text != v.text {
				t.Errorf("%s: %s is %q after a restart, was %q", test.name, name, again.values[name].text, v.text)
			}
		}
	}
}

// With all, what is at its default is written too, and can be read again.
func TestRewriteAll(t *testing.T) {
	path := write(t, "c", "port 7\n")
	c := load(t, path)
	if err := c.Rewrite(true); err != nil {
		t.Fatal(err)
	}
	again := load(t, path)
	for name, v := range c.values {
		if again.values[name].text != v.text {
			t.Errorf("%s is %q after a restart, was %q", name, again.values[name].text, v.text)
		}
	}
	if text := readFile(t, path); !strings.Contains(text, "\nhz 10\n") {
		t.Errorf("a default is not there: %s", text)
	}
}

// A file that includes another, or that somebody broke since the start, keeps its
// lines; the broken ones as comments.
func TestRewriteKeepsWhatItDoesNotKnow(t *testing.T) {
	other := write(t, "other", "timeout 9\n")
	path := write(t, "c", "include "+other+"\n")
	c := load(t, path)
	err := errors.Join(os.WriteFile(path, []byte("include "+other+"\nnosuch 1\n\"open\n# ok\n"), 0o600), os.Chmod(path, 0o640))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(false); err != nil {
		t.Fatal(err)
	}
	want := "include " + other + "\n# ??? nosuch 1\n# ??? \"open\n# ok\n\n" + rewriteMark + "\ntimeout 9\n"
	if got := readFile(t, path); !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q first", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestRewriteFails(t *testing.T) {
	if err := DefaultConfig().Rewrite(false); err != ErrNoConfigFile {
		t.Errorf("without a file: %v", err)
	}
	path := write(t, "c", "timeout 1\n")
	c := load(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(false); err != nil || !strings.Contains(readFile(t, path), "timeout 1\n") {
		t.Errorf("a file that is gone is made again: %v", err)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(false); err == nil || err.Error() != "Rewriting config file: No such file or directory" {
		t.Errorf("a directory that is gone: %v", err)
	}
}

// TestRewriteAsRedis compares the files that both write.
func TestRewriteAsRedis(t *testing.T) {
	const content = "# mine\n\ntimeout 5\nsave 10 1\nsave 20 2\nhash-max-ziplist-entries 100\n\n\n# tail\nMAXMEMORY 100mb\n" +
		"notify-keyspace-events Kx\nclient-output-buffer-limit pubsub 1mb 2kb 3\nuser ada on nopass ~* +@all\nlist-max-ziplist-size 5\n" +
		"appendonly no\nmaxclients 500\ntimeout 6\nunixsocketperm 700\nhz 10\n"
	set := []string{"timeout", "0", "maxmemory", "3000000", "hash-max-listpack-entries", "512", "slowlog-log-slower-than", "1", "notify-keyspace-events", "",
		"maxmemory-policy", "allkeys-lru", "client-output-buffer-limit", "normal 1024 1000 7", "lfu-log-factor", "3", "latency-tracking-info-percentiles", "1 99.5",
		"oom-score-adj-values", "1 2 3", "maxmemory-clients", "7%", "shutdown-on-sigterm", "nosave now", "proto-max-bulk-len", "1048577", "appendfsync", "always"}
	theirs := write(t, "redis.conf", content)
	redis := newAsker(t, startRedis(t, theirs))
	for _, line := range [][]string{append([]string{"CONFIG", "SET"}, set...), {"CONFIG", "SET", "save", "7 8"}, {"ACL", "SETUSER", "bob", "on", ">secret", "~b*", "-@all", "+get"}, {"CONFIG", "REWRITE"}} {
		if got := redis.ask(line...); len(got) != 1 || got[0] != "+OK" {
			t.Fatalf("%q: %q", line, got)
		}
	}
	ours := write(t, "redis.conf", content)
	c := load(t, ours, "--save", "", "--appendonly", "no")
	core := commands.NewCore(engine.Open(engine.Options{}), commands.DefaultTable())
	if err := OpenUsers(c, core); err != nil {
		t.Fatal(err)
	}
	if err := core.Users.Set("bob", []string{"on", ">secret", "~b*", "-@all", "+get"}); err != nil {
		t.Fatal(err)
	}
	for _, pairs := range [][]string{set, {"save", "7 8"}} {
		if err := c.Set(pairs, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Rewrite(false); err != nil {
		t.Fatal(err)
	}
	wantOld, wantNew := splitRewritten(readFile(t, theirs))
	gotOld, gotNew := splitRewritten(readFile(t, ours))
	if gotOld != wantOld {
		t.Errorf("what was there:\n%q\nRedis has\n%q", gotOld, wantOld)
	}
	if !slices.Equal(gotNew, wantNew) {
		t.Errorf("what is new:\n%s\nRedis has\n%s", strings.Join(gotNew, "\n"), strings.Join(wantNew, "\n"))
	}
}

// splitRewritten gives what a file had, and what came: that in order of the text,
// as Redis has none, and without what is another server's own.
func splitRewritten(text string) (old string, added []string) {
	old, rest, _ := strings.Cut(text, rewriteMark+"\n")
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "dir ") && !strings.HasPrefix(line, "port ") {
			added = append(added, strings.TrimSpace(line))
		}
	}
	slices.Sort(added)
	return old, added
}
