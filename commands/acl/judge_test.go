package acl

import (
	"strings"
	"testing"

	"reminis/engine/memory"
)

// This file tests the judgement: one use at a time, then whole lines.

func TestJudgeScope(t *testing.T) {
	layout := memory.DefaultLayout()
	for _, test := range []struct {
		rules, scope string
		want         bool
	}{
		{"%R~ai:user_1:*", "ai:user_1", true},
		{"%R~ai:user_1:*", "ai:user_1:*", true},
		{"%R~ai:user_1:*", "ai:user_1:s", true},
		{"%R~ai:user_1:*", "ai:user_12", false},
		{"%R~ai:user_1:*", "ai:user_1*", false},
		{"%R~ai:user_1:*", "ai", false},
		{"%R~ai:user_1:*", "*", false},
		{"%R~ai:user_1*", "ai:user_12", true},
		{"%R~ai:user_12*", "ai:user_1", false},
		{"%R~ai:*", "ai", true},
		{"%R~ai:*", "ai:user_1", true},
		{"%R~ai:*", "aix:user_1", false},
		{"%R~ai*", "aix:user_1", true},
		{"%R~*", "*", true},
		{"~*", "*", true},
		{"~ai:user_1:*", "ai:user_1", true},
		{"%W~ai:user_1:*", "ai:user_1", false},
		{"%R~ai:user_1:[a-z]*", "ai:user_1:a", false},
		{"%R~ai:user_?:*", "ai:user_1", false},
		{"%R~ai:user_1", "ai:user_1", false},
		{"%R~ai:user_1:**", "ai:user_1", false},
		{`%R~ai:user_\1:*`, "ai:user_1", false},
		{"%R~ai:*:x", "ai:user_1", false},
		{"%R~ai:用户:*", "ai:用户", true},
		{"%R~ai:用户:*", "ai:用户1", false},
		{"%R~ai:用*", "ai:用户", true},
		{"%R~ai:discord%3A1:*", "ai:discord%3A1", true},
		{"%R~ai:discord%3A1:*", "ai:discord%3A12", false},
		{"%R~ai:discord:*", "ai:discord%3A1", false},
		{"%R~a:b:* %R~c:d:*", "c:d", true},
		{"", "ai:user_1", false},
	} {
		scope, err := layout.ParseScope([]byte(test.scope))
		if err != nil {
			t.Fatal(err)
		}
		r := made(t, append(strings.Fields(test.rules), "+@all")...)
		line := Line{Uses: []Use{{Kind: Scope, Need: Read, Text: []byte(test.scope), Scope: scope}}}
		if denial, _ := r.Judge(&line); (denial == Allowed) != test.want {
			t.Errorf("%s for %s: %s", test.rules, test.scope, denial)
		}
	}
	// A scope that means nothing is nobody's.
	line := Line{Uses: []Use{{Kind: Scope, Need: Read, Text: []byte("a:b:")}}}
	if denial, _ := made(t, "+@all", "~a:b:*").Judge(&line); denial != DeniedScope {
		t.Errorf("a scope that is none: %v", denial)
	}
}

func TestJudge(t *testing.T) {
	get, set := 0, 1
	key := func(text string, need Right) Use { return Use{Text: []byte(text), Need: need} }
	channel := func(text string, kind UseKind) Use { return Use{Kind: kind, Text: []byte(text)} }
	for _, test := range []struct {
		name, rules string
		line        Line
		want        Denial
		use         int
	}{
		{"no right at all", "", Line{Command: get}, DeniedCommand, 0},
		{"everybody's", "", Line{Command: get, Free: true}, Allowed, 0},
		{"another command", "+set", Line{Command: get}, DeniedCommand, 0},
		{"first argument", "+select|0", Line{Command: 3, FirstArg: []byte("0")}, Allowed, 0},
		{"other first argument", "+select|0", Line{Command: 3, FirstArg: []byte("1")}, DeniedCommand, 0},
		{"no first argument", "+select|0", Line{Command: 3}, DeniedCommand, 0},
		{"invalid UTF-8 is not alike", "+select|\xff", Line{Command: 3, FirstArg: []byte("\xfe")}, DeniedCommand, 0},
		{"read", "+get %R~a*", Line{Command: get, Uses: []Use{key("ab", Read)}}, Allowed, 0},
		{"no write", "+set %R~a*", Line{Command: set, Uses: []Use{key("ab", Write)}}, DeniedKey, 0},
		{"any right is enough", "+get %W~a*", Line{Command: get, Uses: []Use{key("ab", 0)}}, Allowed, 0},
		{"both in one pattern", "+set %R~a %W~a*", Line{Command: set, Uses: []Use{key("a", Read|Write)}}, DeniedKey, 0},
		{"second key", "+get ~a", Line{Command: get, Uses: []Use{key("a", Read), key("b", Read)}}, DeniedKey, 1},
		{"selectors do not add up", "(+get ~a)(+set ~b)", Line{Command: get, Uses: []Use{key("b", Read)}}, DeniedKey, 0},
		{"a selector is enough", "(+get ~a)(+get ~b)", Line{Command: get, Uses: []Use{key("b", Read)}}, Allowed, 0},
		{"the last that none matched", "+get ~a (+get ~a ~b)", Line{Command: get, Uses: []Use{key("a", Read), key("b", Read), key("c", Read)}}, DeniedKey, 2},
		{"channel", "+get &n:*", Line{Command: get, Uses: []Use{channel("n:1", Channel)}}, Allowed, 0},
		{"other channel", "+get &n:*", Line{Command: get, Uses: []Use{channel("m:1", Channel)}}, DeniedChannel, 0},
		{"pattern as written", "+get &n:*", Line{Command: get, Uses: []Use{channel("n:*", ChannelPattern)}}, Allowed, 0},
		{"pattern is not matched", "+get &n:*", Line{Command: get, Uses: []Use{channel("n:1", ChannelPattern)}}, DeniedChannel, 0},
	} {
		rules := strings.Fields(strings.ReplaceAll(test.rules, ")(", ") ("))
		merged, err := mergeSelectors(rules)
		if err != nil {
			t.Fatal(err)
		}
		if denial, use := made(t, merged...).Judge(&test.line); denial != test.want || use != test.use {
			t.Errorf("%s: %v at %d", test.name, denial, use)
		}
	}
}

func TestLog(t *testing.T) {
	var l Log
	add := func(object string, timeMs int64) {
		l.Add(Denied{Reason: DeniedKey, Context: "toplevel", Object: object, User: "a", TimeMs: timeMs, Client: object}, 3)
	}
	shown := func() string {
		text := ""
		for _, d := range l.Latest(10) {
			text += d.Object + strings.Repeat("'", int(d.Count))
		}
		return text
	}
	add("x", 0)
	add("y", 1)
	add("x", logAlikeMs)
	if have := shown(); have != "x''y'" {
		t.Error(have)
	}
	add("x", 2*logAlikeMs+1)
	if have := shown(); have != "x'x''y'" {
		t.Error(have)
	}
	add("z", 2*logAlikeMs+2)
	if have := shown(); have != "z'x'x''" {
		t.Error(have)
	}
	if l.Reset(); shown() != "" {
		t.Error("entries after Reset")
	}
	l.Add(Denied{Object: "x"}, 0)
	if shown() != "" {
		t.Error("an entry in a log that keeps none")
	}
}
