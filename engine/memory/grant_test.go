package memory

import (
	"bytes"
	"strings"
	"testing"
)

func TestProject(t *testing.T) {
	for _, test := range []struct{ value, paths, want string }{
		{`{"a":1,"b":2}`, "$.a", `{"a":1}`},
		{`{"a":1,"b":2}`, "$.b $.a", `{"a":1,"b":2}`},
		{`{"a":1}`, "$.x", `{}`},
		{`{"a":{"b":1.50,"c":[1, 2]},"d":3}`, "$.a.b", `{"a":{"b":1.50}}`},
		{`{"a":{"b":1,"c":{"d":2,"e":3}}}`, "$.a.c.e $.a.b", `{"a":{"b":1,"c":{"e":3}}}`},
		{`{"a":{"b":1}}`, "$.a $.a.b", `{"a":{"b":1}}`},
		{`{"a":{"b":1}}`, "$.a.x", `{}`},
		{`{"a":1,"b":2}`, "$.a.x $.b", `{"b":2}`},
		{`{"b":2,"a":1}`, "$.a.x $.b", `{"b":2}`},
		{`{"a":[{"b":1}]}`, "$.a.b", `{}`},
		{`{"a":null}`, "$.a", `{"a":null}`},
		{`{"\u0061":1}`, "$.a", `{"\u0061":1}`},
		{`{"名":{"前":1,"x":2}}`, "$.名.前", `{"名":{"前":1}}`},
		{`[1]`, "$.a", `null`},
		{`"a"`, "$.a", `null`},
		{` { "a" : { "b" : 1 , "c" : 2 } } `, "$.a.c", `{"a":{"c":2}}`},
	} {
		var paths [][]string
		for _, text := range strings.Fields(test.paths) {
			path, err := ParseMemberPath([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path.names)
		}
		if have := string(Project([]byte(test.value), paths)); have != test.want {
			t.Errorf("%s of %s: want %s, have %s", test.paths, test.value, test.want, have)
		}
	}
}

func TestMemberPath(t *testing.T) {
	for _, text := range []string{"", "a", "$", "$.", "$.a.", "$..a", "$.*", "$.a[0]", "$['a']", "$.a b", "$.a.@", strings.Repeat("$.a", 4000)} {
		if _, err := ParseMemberPath([]byte(text)); err == nil {
			t.Errorf("%.20s is taken for a path", text)
		}
	}
}

func testGrant(t *testing.T, user, scope string, untilMs int64, paths ...string) *Grant {
	t.Helper()
	parsed, err := DefaultLayout().ParseScope([]byte(scope))
	if err != nil {
		t.Fatal(err)
	}
	g := &Grant{User: user, Scope: parsed, UntilMs: untilMs}
	for _, text := range paths {
		path, err := ParseMemberPath([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		g.Members = append(g.Members, path)
	}
	return g
}

func TestGrantCovers(t *testing.T) {
	for _, test := range []struct {
		grant, scope string
		want         bool
	}{
		{"ai:bob", "ai:bob", true}, {"ai:bob", "ai:bob:s", true}, {"ai:bob", "ai:bob:*", true}, {"ai:bob", "ai:bobby", false},
		{"ai:bob", "ai:bob*", false}, {"ai:bob", "ai", false}, {"ai:bob", "*", false}, {"ai", "ai:bob", true},
		{"ai:bob:*", "ai:bob", true}, {"ai:bob:*", "ai:bob:s", true}, {"ai:b*", "ai:bob", true}, {"ai:?ob", "ai:bob", false},
		{"*", "*", true}, {"ai:bob:[s]*", "ai:bob:s", false},
	} {
		scope, err := DefaultLayout().ParseScope([]byte(test.scope))
		if err != nil {
			t.Fatal(err)
		}
		if have := testGrant(t, "u", test.grant, 0).CoversScope(scope); have != test.want {
			t.Errorf("%s for %s: %v", test.grant, test.scope, have)
		}
	}
}

// TestGrantSet: sets do not change with their successors, and a grant comes back
// from what is kept of it.
func TestGrantSet(t *testing.T) {
	var none *GrantSet
	if none.Len() != 0 || none.Of("u") != nil || none.Without("u", []byte("ai")).Len() != 0 {
		t.Error("no set is not empty")
	}
	one := none.With(testGrant(t, "u", "ai:b", 5, "$.a", "$.b.c"))
	two := one.With(testGrant(t, "u", "ai:a", 0)).With(testGrant(t, "v", "ai:a", 0))
	again := two.With(testGrant(t, "u", "ai:b", 6))
	less := two.Without("u", []byte("ai:b")).Without("v", []byte("ai:a")).Without("v", []byte("ai:a"))
	for _, test := range []struct {
		set    *GrantSet
		count  int
		scopes string
	}{{one, 1, "ai:b"}, {two, 3, "ai:a ai:b"}, {again, 3, "ai:a ai:b"}, {less, 1, "ai:a"}} {
		var scopes []string
		for _, g := range test.set.Of("u") {
			scopes = append(scopes, string(g.Scope.Text()))
		}
		if test.set.Len() != test.count || strings.Join(scopes, " ") != test.scopes {
			t.Errorf("%d, %q; want %d, %s", test.set.Len(), scopes, test.count, test.scopes)
		}
	}
	g := one.Find("u", []byte("ai:b"))
	back, err := DecodeGrant("u", g.Scope, g.Encode())
	if err != nil || !back.Equal(g) || back.Equal(again.Find("u", []byte("ai:b"))) {
		t.Errorf("%v, %v", back, err)
	}
	for i := range g.Encode() {
		if back, err := DecodeGrant("u", g.Scope, g.Encode()[:i]); err == nil && back.Equal(g) {
			t.Errorf("%d bytes of it are the whole grant", i)
		}
	}
}

func TestLens(t *testing.T) {
	l := &Lens{
		Own:    func(key []byte) bool { return bytes.HasPrefix(key, []byte("ai:eve:")) },
		Grants: []*Grant{testGrant(t, "eve", "ai:bob", 0, "$.a"), testGrant(t, "eve", "ai:amy", 0, "$.a"), testGrant(t, "eve", "ai:amy:s:x", 0)},
	}
	for _, test := range []struct{ key, want string }{
		{"ai:eve:s:k", `{"a":1,"b":2}`}, {"ai:bob:s:k", `{"a":1}`}, {"ai:amy:s:k", `{"a":1}`}, {"ai:amy:s:x", `{"a":1,"b":2}`}, {"ai:joe:s:k", "null"},
	} {
		r := Record{Value: []byte(`{"a":1,"b":2}`), Anchor: []byte("2")}
		l.Apply([]byte(test.key), &r, false)
		if whole := len(test.want) > 8; string(r.Value) != test.want || whole != (r.Anchor != nil) {
			t.Errorf("%s: %s, anchor %s", test.key, r.Value, r.Anchor)
		}
	}
	r := Record{Value: []byte("text"), Text: true}
	if l.Apply([]byte("ai:bob:s:k"), &r, false); string(r.Value) != "null" || r.Text {
		t.Errorf("a text is shown as %s", r.Value)
	}
	r = Record{Value: []byte(`{"a":1}`)}
	if l.Apply([]byte("ai:bob:s:k"), &r, true); string(r.Value) != "null" {
		t.Errorf("an item is shown as %s", r.Value)
	}
	(*Lens)(nil).Apply([]byte("ai:bob:s:k"), &r, false)
}
