// This file owns the configuration's spec: files, flags, kinds, CONFIG GET and
// CONFIG SET, and the comparison of the table with a real Redis.

package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reminis/commands"
	"reminis/commands/quoting"
)

func load(t *testing.T, arguments ...string) *Config {
	t.Helper()
	c, err := Load(arguments, strings.NewReader(""))
	if err != nil {
		t.Fatalf("Load(%q): %v", arguments, err)
	}
	return c
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// globAll matches what tests ask for: everything, or a prefix.
func globAll(pattern, name string) bool {
	return strings.HasPrefix(name, strings.TrimSuffix(pattern, "*"))
}

func TestLoadValues(t *testing.T) {
	for _, test := range []struct{ line, name, want string }{
		{"port 7000", "port", "7000"},
		{"PORT 7000", "port", "7000"},
		{`port "7000"`, "port", "7000"},
		{"bind 127.0.0.1 -::1", "bind", "127.0.0.1 -::1"},
		{`bind "127.0.0.1 -::1"`, "bind", "127.0.0.1 -::1"},
		{"maxmemory 100mb", "maxmemory", "104857600"},
		{"maxmemory 100m", "maxmemory", "100000000"},
		{"maxmemory 1Kb", "maxmemory", "1024"},
		{"maxmemory 7B", "maxmemory", "7"},
		{"maxmemory-clients 5%", "maxmemory-clients", "5%"},
		{"maxmemory-clients 1k", "maxmemory-clients", "1000"},
		{"unixsocketperm 700", "unixsocketperm", "700"},
		{"appendonly YES", "appendonly", "yes"},
		{"appendfsync ALWAYS", "appendfsync", "always"},
		{`save ""`, "save", ""},
		{"save 10 1", "save", "10 1"},
		{"save 10 1\nsave 20 2", "save", "10 1 20 2"},
		{"save 10 1\nsave \"\"\nsave 30 3", "save", "30 3"},
		{"client-output-buffer-limit pubsub 1mb 2k 3", "client-output-buffer-limit",
			"normal 0 0 0 slave 268435456 67108864 60 pubsub 1048576 2000 3"},
		{"client-output-buffer-limit replica 1 2 3", "client-output-buffer-limit",
			"normal 0 0 0 slave 1 2 3 pubsub 33554432 8388608 60"},
		{"notify-keyspace-events KEA", "notify-keyspace-events", "AKE"},
		{"notify-keyspace-events xzE$n", "notify-keyspace-events", "$zxnE"},
		{"notify-keyspace-events Anm", "notify-keyspace-events", "Am"},
		{"shutdown-on-sigterm now NOSAVE", "shutdown-on-sigterm", "nosave now"},
		{"latency-tracking-info-percentiles 50 99.50 99.999", "latency-tracking-info-percentiles", "50 99.5 99.999"},
		{"hash-max-ziplist-entries 7", "hash-max-listpack-entries", "7"},
		{"slave-read-only no", "replica-read-only", "no"},
		{"requirepass 'a\"b'", "requirepass", `a"b`},
		{`requirepass "\x41\n"`, "requirepass", "A\n"},
		{"lua-replicate-commands yes", "port", "6379"},
		{"replicaof no one", "replicaof", ""},
		{"mem-idempotency-window 7d", "mem-idempotency-window", "7d"},
		{"mem-consent REQUIRED", "mem-consent", "required"},
		{"# port 1\n\n  \t port 2 ", "port", "2"},
	} {
		c, err := Load([]string{write(t, "redis.conf", test.line)}, nil)
		if err != nil {
			t.Errorf("%q: %v", test.line, err)
			continue
		}
		if got, _ := c.Text(test.name); got != test.want {
			t.Errorf("%q: %s is %q, want %q", test.line, test.name, got, test.want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	for _, test := range []struct{ lines, line, reason string }{
		{"port abc", "line 1\n>>> 'port abc'", "argument couldn't be parsed into an integer"},
		{"\nport 70000", "line 2\n>>> 'port 70000'", "argument must be between 0 and 65535 inclusive"},
		{"port 1 2", "line 1", "wrong number of arguments"},
		{"nonsense 1", "line 1", "Bad directive or wrong number of arguments"},
		{"port", "line 1", "wrong number of arguments"},
		{`port "1`, "line 1", "Unbalanced quotes in configuration line"},
		{"appendonly maybe", "line 1", "argument must be 'yes' or 'no'"},
		{"appendfsync sometimes", "line 1", "argument(s) must be one of the following: everysec, always, no"},
		{"maxmemory lots", "line 1", "argument must be a memory value"},
		{"maxmemory-clients lots", "line 1", "argument must be a memory or percent value"},
		{"maxmemory-clients 101%", "line 1", "percentage argument must be less or equal to 100"},
		{"unixsocketperm 999", "line 1", "argument couldn't be parsed as an octal number"},
		{"unixsocketperm 1000", "line 1", "argument must be between 0 and 777 inclusive"},
		{"save 1", "line 1", "Invalid save parameters"},
		{"save 0 1", "line 1", "Invalid save parameters"},
		{"client-output-buffer-limit wrong 0 0 0", "line 1", "Invalid client class specified in buffer limit configuration."},
		{"notify-keyspace-events Q", "line 1", "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."},
		{"dbfilename a/b", "line 1", "dbfilename can't be a path, just a filename"},
		{"shutdown-on-sigint save nosave", "line 1", "shutdown options SAVE and NOSAVE can't be used simultaneously"},
		{"mem-idempotency-window soon", "line 1", "argument must be a duration such as 30m, 24h or 7d"},
		// What would protect less or serve another topology stops the start.
		{"tls-ciphersuites TLS_AES_128_GCM_SHA256", "line 1", "this directive is not supported"},
		{"user foo on\nuser foo off", "line 2", "Error in user declaration 'foo': Duplicate user found. A user can only be defined once in config files"},
		{`rename-command FLUSHALL`, "line 1", "Bad directive or wrong number of arguments"},
		{"replicaof 10.0.0.1 6379", "line 1", "this directive is not supported"},
		{"cluster-enabled yes", "line 1", "this directive is not supported"},
		{"loadmodule x.so", "line 1", "this directive is not supported"},
	} {
		_, err := Load([]string{write(t, "redis.conf", test.lines)}, nil)
		if err == nil {
			t.Errorf("%q: no error", test.lines)
			continue
		}
		for _, want := range []string{"*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***", "Reading the configuration file, at " + test.line, "\n" + test.reason, "redis.conf)"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %q lacks %q", test.lines, err, want)
			}
		}
	}
	if _, err := Load([]string{"/nowhere/redis.conf"}, nil); err == nil || !strings.Contains(err.Error(), "Fatal error, can't open config file '/nowhere/redis.conf'") {
		t.Errorf("a missing file: %v", err)
	}
}

// Whatever is at its default may be written out, also what is refused otherwise.
func TestRefusedAtDefault(t *testing.T) {
	for _, d := range directives {
		if !d.refused {
			continue
		}
		line := d.name + " " + quoting.Quote(d.initial)
		if d.name == "replicaof" {
			line = "replicaof no one"
		}
		if _, err := Load([]string{write(t, "c", line)}, nil); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestRenameCommands(t *testing.T) {
	long := strings.Repeat("x", 64)
	c := load(t, write(t, "c", "rename-command FlushAll \"\"\nrename-command config "+long+"\nrename-command GET set2\n"))
	if err := c.RenameCommands(commands.DefaultTable()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ lines, want string }{
		{"port 1\nrename-command nosuch x", "line 2\n>>> 'rename-command nosuch x'\nNo such command in rename-command (in "},
		{"rename-command config|get x", "No such command in rename-command"},
		{"rename-command get SET", "Target command name already exists"},
		{"rename-command get x\nrename-command get y", "line 2\n>>> 'rename-command get y'\nNo such command in rename-command"},
	} {
		err := load(t, write(t, "c", test.lines)).RenameCommands(commands.DefaultTable())
		if !strings.Contains(errorText(err), test.want) {
			t.Errorf("%q: %v, want %q", test.lines, err, test.want)
		}
	}
}

func TestLoadSources(t *testing.T) {
	inner := write(t, "inner.conf", "timeout 5\nport 2")
	outer := write(t, "outer.conf", "port 1\ninclude "+inner+"\ninclude "+filepath.Dir(inner)+"/none*.conf\ntcp-keepalive 9")
	c, err := Load([]string{outer, "--maxclients", "77", "--save", "--requirepass", "-secret-", "-"}, strings.NewReader("port 3\nmaxclients 5\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"port": "3", "timeout": "5", "tcp-keepalive": "9", "maxclients": "77", "save": "", "requirepass": "-secret-",
	} {
		if got, _ := c.Text(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if c.Path != outer {
		t.Errorf("the path is %q", c.Path)
	}
	for _, test := range []struct {
		arguments  []string
		name, want string
	}{
		{[]string{"--port 1"}, "port", "1"},
		{[]string{"--port", "1", "--port", "2"}, "port", "2"},
		{[]string{"--bind", "127.0.0.1", "::1"}, "bind", "127.0.0.1 ::1"},
		{[]string{"--save", "60", "1", "--save", "30", "2"}, "save", "60 1 30 2"},
		{[]string{"--save"}, "save", ""},
		{[]string{"--logfile", "a b"}, "logfile", "a b"},
		// A value may begin with dashes.
		{[]string{"--requirepass", "--x"}, "requirepass", "--x"},
		{[]string{"--dir", "/data", "--logfile", "r.log"}, "logfile", "/data/r.log"},
	} {
		if got, _ := load(t, test.arguments...).Text(test.name); got != test.want {
			t.Errorf("%q: %s is %q, want %q", test.arguments, test.name, got, test.want)
		}
	}
	self := filepath.Join(t.TempDir(), "self.conf")
	if err := os.WriteFile(self, []byte("include "+self), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load([]string{self}, nil); err == nil || !strings.Contains(err.Error(), "include each other") {
		t.Errorf("a file that includes itself: %v", err)
	}
	_, err = Load([]string{"--port", "x"}, nil)
	if err == nil || !strings.Contains(err.Error(), "(in the command line)") {
		t.Errorf("a bad flag: %v", err)
	}
}

func TestDurability(t *testing.T) {
	for _, test := range []struct {
		arguments string
		want, mem Durability
	}{
		{"", DurabilityEverySecond, DurabilityAlways},
		{"--appendonly no", DurabilityEverySecond, DurabilityAlways},
		{"--appendonly no --appendfsync always", DurabilityEverySecond, DurabilityAlways},
		{"--appendonly no --save 60 1", DurabilityEverySecond, DurabilityAlways},
		{"--appendonly no --save", DurabilityNone, DurabilityNone},
		{"--save --appendonly no", DurabilityNone, DurabilityNone},
		{"--appendonly yes", DurabilityEverySecond, DurabilityAlways},
		{"--appendonly yes --save", DurabilityEverySecond, DurabilityAlways},
		{"--appendonly yes --appendfsync always", DurabilityAlways, DurabilityAlways},
		{"--appendonly yes --appendfsync no --mem-appendfsync everysec", DurabilityNo, DurabilityEverySecond},
	} {
		s := load(t, strings.Fields(test.arguments)...).Settings()
		if s.Durability != test.want || s.MemDurability != test.mem {
			t.Errorf("%q: %v and %v, want %v and %v", test.arguments, s.Durability, s.MemDurability, test.want, test.mem)
		}
	}
}

func TestConfigSet(t *testing.T) {
	for _, test := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"maxmemory", "1mb", "timeout", "5"}, ""},
		{[]string{"MAXMEMORY", "1mb"}, ""},
		{[]string{"save", "10 1 20 2"}, ""},
		{[]string{"save", ""}, ""},
		{[]string{"bind", ""}, ""},
		{[]string{"nonsense", "1"}, "Unknown option or number of arguments for CONFIG SET - 'nonsense'"},
		{[]string{"nonsense", "1", "port", "x"}, "Unknown option or number of arguments for CONFIG SET - 'nonsense'"},
		{[]string{"timeout", "x"}, "CONFIG SET failed (possibly related to argument 'timeout') - argument couldn't be parsed into an integer"},
		{[]string{"slave-read-only", "x"}, "CONFIG SET failed (possibly related to argument 'replica-read-only') - argument must be 'yes' or 'no'"},
		{[]string{"mem-owner-tag", "no"}, ""},
		{[]string{"mem-owner-tag", "yes"}, "CONFIG SET failed (possibly related to argument 'mem-owner-tag') - can't set immutable config"},
		{[]string{"databases", "5"}, "CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config"},
		{[]string{"dir", "/x"}, "CONFIG SET failed (possibly related to argument 'dir') - can't set protected config"},
		{[]string{"timeout", "1", "timeout", "2"}, "CONFIG SET failed (possibly related to argument 'timeout') - duplicate parameter"},
		{[]string{"hash-max-listpack-entries", "1", "hash-max-ziplist-entries", "2"}, "CONFIG SET failed (possibly related to argument 'hash-max-ziplist-entries') - duplicate parameter"},
		{[]string{"timeout"}, "syntax error"},
		{[]string{"tls-ciphersuites", "x"}, "CONFIG SET failed (possibly related to argument 'tls-ciphersuites') - this directive is not supported, and ignoring it would not be safe"},
	} {
		c := DefaultConfig()
		err := c.Set(test.pairs, true)
		if got := errorText(err); got != test.want {
			t.Errorf("CONFIG SET %q: %q, want %q", test.pairs, got, test.want)
		}
	}
	// All or nothing.
	c := DefaultConfig()
	before := c.Settings()
	if c.Set([]string{"timeout", "7", "maxmemory", "x"}, true) == nil || c.Settings() != before {
		t.Error("half a CONFIG SET took effect")
	}
	if err := c.Set([]string{"timeout", "7", "maxmemory", "1k"}, true); err != nil {
		t.Fatal(err)
	}
	if s := c.Settings(); s.IdleTimeoutSeconds != 7 || s.MaxMemoryBytes != 1000 || before.IdleTimeoutSeconds != 0 {
		t.Errorf("the settings are %d and %d", s.IdleTimeoutSeconds, s.MaxMemoryBytes)
	}
	local := load(t, "--enable-protected-configs", "local")
	if err := local.Set([]string{"dbfilename", "x.rdb"}, false); err == nil {
		t.Error("a remote client set a protected directive")
	}
	if err := local.Set([]string{"dbfilename", "x.rdb"}, true); err != nil {
		t.Error(err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestConfigHooks(t *testing.T) {
	c := DefaultConfig()
	var told []int64
	c.OnChange(func(next *Settings) error {
		told = append(told, next.IdleTimeoutSeconds)
		return nil
	}, "timeout")
	c.OnChange(func(next *Settings) error {
		if next.MaxClients > 100 {
			return errWordCount
		}
		return nil
	}, "maxclients", "port")
	if err := c.Set([]string{"timeout", "3"}, true); err != nil {
		t.Fatal(err)
	}
	if err := c.Set([]string{"timeout", "3"}, true); err != nil {
		t.Fatal(err)
	}
	err := c.Set([]string{"timeout", "4", "maxclients", "101"}, true)
	if got := errorText(err); got != "CONFIG SET failed (possibly related to argument 'maxclients') - wrong number of arguments" {
		t.Errorf("the error is %q", got)
	}
	if text, _ := c.Text("timeout"); text != "3" || c.Settings().IdleTimeoutSeconds != 3 {
		t.Errorf("after a refused change timeout is %s", text)
	}
	if len(told) != 3 || told[0] != 3 || told[1] != 4 || told[2] != 3 {
		t.Errorf("the hook was told %v, want 3, then 4, then 3 again", told)
	}
}

func TestConfigGet(t *testing.T) {
	c := DefaultConfig()
	for _, test := range []struct {
		patterns []string
		want     string
	}{
		{[]string{"port"}, "port=6379"},
		{[]string{"PORT", "port", "bind"}, "port=6379 bind=* -::*"},
		{[]string{"nonsense"}, ""},
		{[]string{"hash-max-*"}, "hash-max-listpack-entries=512 hash-max-ziplist-entries=512 hash-max-listpack-value=64 hash-max-ziplist-value=64"},
		{[]string{"slaveof"}, "slaveof="},
		{[]string{"key-load-delay"}, "key-load-delay=0"},
		{[]string{"key-load*"}, ""},
	} {
		var got []string
		for _, setting := range c.Get(test.patterns, globAll) {
			got = append(got, setting.Name+"="+setting.Value)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("CONFIG GET %q: %q, want %q", test.patterns, got, test.want)
		}
	}
	if !c.Late("DIR") || c.Late("port") || c.Late("nosuch") {
		t.Error("what is not to be set while data is read")
	}
	if !c.Sensitive("requirepass") || c.Sensitive("port") {
		t.Error("requirepass is no secret, or port is")
	}
}

// FuzzConfig: whatever redis.conf says, reading it ends, and what it sets can be
// asked for.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"port 7000\nbind 127.0.0.1 -::1", "maxmemory 100mb\nsave 10 1 20 2\nsave \"\"", "client-output-buffer-limit pubsub 1mb 2k 3", "user a on >x ~* +@all",
		"notify-keyspace-events KEA", "rename-command get \"\"", "oom-score-adj-values 0 200 800", "latency-tracking-info-percentiles 50 99.9", "appendonly", "port \"7000", "# nothing\n\n\x00",
		"maxmemory-clients 5%\ntimeout 18446744073709551616", "io-threads -1", "replicaof no one",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "include") {
			return // files are not what is tested
		}
		c, err := Load([]string{"-"}, strings.NewReader(text))
		if err != nil {
			return
		}
		if n := len(c.Get([]string{"*"}, globAll)); n < 100 {
			t.Fatalf("%q: %d directives", text, n)
		}
	})
}
