package acl

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// This file tests rules without a server: what they make, and that what they are
// written as makes them again.

// testCatalog is a few commands, one of them a container.
func testCatalog() *Catalog {
	return NewCatalog([]string{"read", "write", "admin", "slow", "fast", "memory"}, []Entry{
		{Name: "get", Categories: []string{"read", "fast"}},
		{Name: "set", Categories: []string{"write", "slow"}},
		{Name: "mget", Categories: []string{"read", "fast"}},
		{Name: "select", Categories: []string{"fast"}},
		{Name: "config", Categories: []string{"slow"}},
		{Name: "config|get", Categories: []string{"admin", "slow"}, Sub: true},
		{Name: "config|set", Categories: []string{"admin", "slow"}, Sub: true},
		{Name: "ping", Categories: []string{"fast"}},
		{Name: "mem.get", Categories: []string{"memory", "read", "slow"}},
	})
}

func made(t *testing.T, rules ...string) *Rules {
	t.Helper()
	r := newRules(testCatalog(), false)
	for _, rule := range rules {
		if err := r.apply(rule, false); err != nil {
			t.Fatalf("%q: %v", rule, err)
		}
	}
	return r
}

func TestDescribe(t *testing.T) {
	hash := HashPassword([]byte("pw"))
	for _, test := range []struct{ rules, want string }{
		{"", "off resetchannels -@all"},
		{"on >pw ~a* &c +get", "on #" + hash + " ~a* resetchannels &c -@all +get"},
		{"on nopass ~* &* +@all", "on nopass ~* &* +@all"},
		{"+@all -config", "off resetchannels +@all -@admin -config"},
		{"+@all -config|set", "off resetchannels +@all -config|set"},
		{"+config -config|set", "off resetchannels -@all +config -config|set"},
		{"+config|get", "off resetchannels -@all +config|get"},
		{"+@read", "off resetchannels -@all +@read"},
		{"+@all -@write", "off resetchannels +@all -@write"},
		{"+@fast -ping", "off resetchannels -@all +@fast -ping"},
		{"+select|0 +select|1 +SELECT|0", "off resetchannels -@all +select|0 +select|1"},
		{"+select|0 +select", "off resetchannels -@all +select"},
		{"%R~a %W~a %w~b %rW~c ~d", "off ~a %W~b ~c ~d resetchannels -@all"},
		{"%R~x allkeys resetkeys", "off resetchannels -@all"},
		{"(+get ~x) clearselectors (%R~y &z +@read)", "off resetchannels -@all (%R~y resetchannels &z -@all +@read)"},
		{"on nopass skip-sanitize-payload", "on nopass skip-sanitize-payload resetchannels -@all"},
		{"on nopass ~* +@all >x (+get) reset", "off sanitize-payload resetchannels -@all"},
		{"AllKeys ALLCHANNELS allCommands nopass resetpass", "off ~* &* +@all"},
	} {
		merged, err := mergeSelectors(strings.Fields(test.rules))
		if err != nil {
			t.Fatal(err)
		}
		if have := made(t, merged...).String(); have != test.want {
			t.Errorf("%s:\nwant %s\nhave %s", test.rules, test.want, have)
		}
	}
}

func TestRefusedRules(t *testing.T) {
	for _, test := range []struct {
		rules []string
		want  RuleError
	}{
		{[]string{"nonsense"}, ErrSyntax},
		{[]string{"+nosuch"}, ErrUnknown},
		{[]string{"-nosuch"}, ErrUnknown},
		{[]string{"+@nosuch"}, ErrUnknown},
		{[]string{"+config|nosuch"}, ErrUnknown},
		{[]string{"+config|get|x"}, ErrFirstArg},
		{[]string{"+config|"}, ErrSyntax},
		{[]string{"-select|0"}, ErrUnknown},
		{[]string{"~*", "~a"}, ErrAllKeys},
		{[]string{"&*", "&a"}, ErrAllChannels},
		{[]string{"~a b"}, ErrSyntax},
		{[]string{"%~a"}, ErrSyntax},
		{[]string{"%RR~a"}, ErrSyntax},
		{[]string{"%x~a"}, ErrSyntax},
		{[]string{"%"}, ErrSyntax},
		{[]string{"#abc"}, ErrHash},
		{[]string{"<pw"}, ErrNoPassword},
		{[]string{"(nonsense)"}, ErrSyntax},
		{[]string{"(on)"}, ErrSyntax},
	} {
		r, err := newRules(testCatalog(), false), error(nil)
		for _, rule := range test.rules {
			err = r.apply(rule, false)
		}
		if err != test.want {
			t.Errorf("%q: want %v, have %v", test.rules, test.want, err)
		}
	}
}

// TestDescribedAgain: what random rules are written as makes the same rules.
func TestDescribedAgain(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		r := newRules(testCatalog(), random.IntN(2) == 0)
		for range random.IntN(12) {
			_ = r.apply(randomRule(random), false)
		}
		line := r.String()
		merged, err := mergeSelectors(strings.Split(line, " "))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if again := made(t, merged...).String(); again != line {
			t.Fatalf("%s\nbecomes\n%s", line, again)
		}
	}
}

func randomRule(r *rand.Rand) string {
	rules := []string{
		"on", "off", "nopass", "resetpass", ">a", ">b", "<a", "skip-sanitize-payload", "sanitize-payload",
		"~*", "~a*", "~b", "%R~a*", "%W~c:?", "%RW~d", "allkeys", "resetkeys", "&*", "&x", "&y*", "allchannels", "resetchannels",
		"+@all", "-@all", "allcommands", "nocommands", "+get", "-get", "+set", "-set", "+config", "-config", "+config|get", "-config|set",
		"+@read", "-@read", "+@write", "-@fast", "+@fast", "+@slow", "-@slow", "+@admin", "-@admin", "+select|0", "+select|1", "-select", "+ping", "-ping",
		"clearselectors", "reset", "(+get ~a)", "(%R~b +@read &z)", "()", "(+@all -config|set ~* &*)",
	}
	return rules[r.IntN(len(rules))]
}

// TestImmutable: rules that were published do not change with their successors.
func TestImmutable(t *testing.T) {
	u := NewUsers(testCatalog())
	if err := u.Set("a", []string{"on", "nopass", "+get", "+select|0", "~x", "&c", "(+set ~y)"}); err != nil {
		t.Fatal(err)
	}
	before := u.Find("a").Rules()
	text := before.String()
	if err := u.Set("a", []string{"+set", "-get", "+select|1", "~z", "%R~x", "&d", ">p", "clearselectors", "(+@all)"}); err != nil {
		t.Fatal(err)
	}
	if before.String() != text {
		t.Errorf("%s became %s", text, before)
	}
	if err := u.Set("a", []string{"on", "off", "nonsense"}); err == nil || !u.Find("a").Rules().enabled {
		t.Errorf("a change that failed took effect: %v", err)
	}
}

func TestAuthenticate(t *testing.T) {
	u := NewUsers(testCatalog())
	for name, rules := range map[string]string{
		"any": "on nopass", "one": "on >a >b <a", "off": "nopass", "none": "on",
		"hashed": "on #" + HashPassword([]byte("h")),
	} {
		if err := u.Set(name, strings.Fields(rules)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, password string
		want           bool
	}{
		{"any", "", true}, {"any", "x", true}, {"one", "a", false}, {"one", "b", true}, {"one", "", false},
		{"off", "", false}, {"none", "", false}, {"hashed", "h", true}, {"nosuch", "", false}, {"default", "x", true},
	} {
		if have := u.Authenticate(test.name, []byte(test.password)) != nil; have != test.want {
			t.Errorf("%s with %q: %v", test.name, test.password, have)
		}
	}
	u.SetPassword("secret")
	if u.Default().Open() || u.Authenticate("default", nil) != nil || u.Authenticate("default", []byte("secret")) == nil {
		t.Error("the default user has not the password alone")
	}
	u.SetPassword("")
	if !u.Default().Open() {
		t.Error("the default user needs a password")
	}
}

func TestLimits(t *testing.T) {
	u := NewUsers(testCatalog())
	for _, test := range []struct {
		rules string
		want  bool
	}{
		{"", true}, {"+@all ~* &*", false}, {"+@all ~*", true}, {"+@all ~* &* -get", true}, {"+@all ~* &* -get +get", true},
		{"(+@all ~* &*)", false}, {"+@all ~* &* resetkeys %RW~*", true},
	} {
		if err := u.Set("a", strings.Fields("reset "+test.rules)); test.rules[:min(1, len(test.rules))] != "(" && err != nil {
			t.Fatal(err)
		}
		if test.rules != "" && test.rules[0] == '(' {
			if err := u.Set("a", []string{"reset", test.rules}); err != nil {
				t.Fatal(err)
			}
		}
		if have := u.Find("a").Limits() != nil; have != test.want {
			t.Errorf("%s: limited %v", test.rules, have)
		}
	}
	user := u.Find("a")
	if removed := u.Remove([]string{"a", "default", "nosuch"}); len(removed) != 1 || !user.Removed() || user.Limits() == nil {
		t.Error("a removed user may do something")
	}
}

func TestLoad(t *testing.T) {
	u := NewUsers(testCatalog())
	if err := u.Set("old", nil); err != nil {
		t.Fatal(err)
	}
	old := u.Find("old")
	const file = "user alice on >a ~* (+get ~x)\n\n  user default on nopass +@all ~* -get \r\nuser old on\n"
	removed, err := u.Load("f", file)
	if err != nil || len(removed) != 1 || removed[0] != old || !old.Removed() || u.Find("old") == old {
		t.Fatalf("%v, %v", removed, err)
	}
	if have := u.Default().Line(); have != "user default on nopass ~* resetchannels +@all -get" {
		t.Error(have)
	}
	text := u.Text()
	if _, err := u.Load("f", text); err != nil || u.Text() != text {
		t.Errorf("%v:\n%s\nbecomes\n%s", err, text, u.Text())
	}
	const end = "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
	for _, test := range []struct{ file, want string }{
		{"nonsense", "f:1 should start with user keyword followed by the username. " + end},
		{"user a on\nuser a off", "WARNING: Duplicate user 'a' found on line 2. " + end},
		{"user a +nosuch nonsense ~* ~b", "f:1: Error in applying operation '+nosuch': Unknown command or category name in ACL. f:1: Syntax error. " + end},
		{"user a (+get", "f:1: Unmatched parenthesis in selector definition." + end},
	} {
		if _, err := u.Load("f", test.file); err == nil || err.Error() != test.want {
			t.Errorf("%s:\nwant %s\nhave %v", test.file, test.want, err)
		}
		if u.Text() != text {
			t.Fatalf("%s changed the users", test.file)
		}
	}
	if _, err := u.Load("f", ""); err != nil || u.Text() != "user default on nopass ~* &* +@all\n" {
		t.Errorf("an empty file: %v, %s", err, u.Text())
	}
}

// FuzzRules: whatever rules say, they end, and what they make can be written and
// read again.
func FuzzRules(f *testing.F) {
	for _, rule := range []string{"+get", "-@all", "%RW~a", "( +get ~x )", "(", ")", "#", ">", "&", "+config|get|x", "(~\"a\\x20b\")", "~\xff", "+select|\xff", "\x00"} {
		f.Add(rule, "~a")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		u := NewUsers(testCatalog())
		if u.Set("a", []string{first, second}) != nil {
			return
		}
		line := u.Find("a").Line()
		if strings.ContainsAny(line, "\n\r\t\v\f\x00\"'") || strings.Contains(line, "  ") {
			return // a first argument, or a pattern in quotes
		}
		if _, err := u.Load("f", line); err != nil || u.Find("a").Line() != line {
			t.Fatalf("%q: %v, becomes %q", line, err, u.Find("a").Line())
		}
	})
}

// FuzzLoad: whatever a file of users says, it is taken whole or not at all, and what
// it makes can be written and read again.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		"user default on nopass ~* &* +@all\n", "user a on >x ~a* -@all +get\nuser b off", "user a (+get ~a) (+set %W~b)", "user a\r\n\r\n  user b on", "user", "user a +nosuch",
		"user a #" + strings.Repeat("0", 64), "user \"a b\" on", "user a on\nuser a on", "user a reset resetkeys ~\xff",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u := NewUsers(testCatalog())
		before := u.Text()
		if _, err := u.Load("f", text); err != nil {
			if u.Text() != before {
				t.Fatalf("%q is refused and changed the users", text)
			}
			return
		}
		if strings.ContainsAny(text, "\v\f\x00\"'") || strings.Contains(text, "))") {
			return // names and patterns that the form of the file cannot hold, as in Redis
		}
		written := u.Text()
		if _, err := u.Load("f", written); err != nil || u.Text() != written {
			t.Fatalf("%q: %v, becomes %q", written, err, u.Text())
		}
	})
}
