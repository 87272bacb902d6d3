package memory

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var (
	plainLayout  = Layout{OwnerSegments: 2}
	taggedLayout = Layout{OwnerSegments: 2, OwnerTag: true}
)

func TestParseKey(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		key    string
		owner  string
		err    string
	}{
		{plainLayout, "ai-assist:user_123:session_456:preference", "ai-assist:user_123", ""},
		{plainLayout, "p:u:n", "p:u", ""},
		{plainLayout, "p:discord%3A123:n", "p:discord%3A123", ""},
		{plainLayout, "产品:用户:名字", "产品:用户", ""},
		{plainLayout, "p:u:what?", "p:u", ""}, // glob characters only matter in the owner
		{Layout{OwnerSegments: 3}, "p:t:u:n", "p:t:u", ""},
		{plainLayout, strings.Repeat("a:", 15) + "a", "a:a", ""},
		{plainLayout, "a:b:" + strings.Repeat("k", 1020), "a:b", ""},
		{taggedLayout, "{ai:u1}:s:n", "{ai:u1}", ""},

		{plainLayout, "", "", "ERR key has an empty segment at position 1"},
		{plainLayout, "p:u", "", "ERR key has 2 segments, at least 3 are needed, as in product:user:session:name"},
		{plainLayout, strings.Repeat("a:", 16) + "a", "", "ERR key has 17 segments, limit mem-key-segments is 16"},
		{Layout{OwnerSegments: 3}, "p:t:u", "", "ERR key has 3 segments, its owner alone has 3"},
		{plainLayout, "a:b:" + strings.Repeat("k", 1021), "", "ERR key has 1025 bytes, limit mem-key-bytes is 1024"},
		{plainLayout, "p::n", "", "ERR key has an empty segment at position 2"},
		{plainLayout, ":u:n", "", "ERR key has an empty segment at position 1"},
		{plainLayout, "p:u:n:", "", "ERR key has an empty segment at position 4"},
		{plainLayout, "p:u*:n", "", `ERR key has one of * ? [ \ inside its owner; percent-encode it`},
		{plainLayout, "p:u:a{b}", "", "ERR key has a brace inside a segment; percent-encode it as %7B or %7D"},
		{plainLayout, "{p:u}:n", "", "ERR key has its owner in braces, but this store was created with mem-owner-tag no"},
		{plainLayout, "p:u:a\nb", "", "ERR key has a control character at offset 5"},
		{plainLayout, "p:u:a\u202eb", "", "ERR key has a control character at offset 5"},
		{plainLayout, "p:u:\xff", "", "ERR key is not valid UTF-8 at offset 4"},
		{taggedLayout, "ai:u1:s:n", "", "ERR key needs its owner in braces, as in {product:user}:session:name: this store was created with mem-owner-tag yes"},
		{taggedLayout, "{ai:u1:s:n", "", "ERR key needs its owner in braces, as in {product:user}:session:name: this store was created with mem-owner-tag yes"},
		{taggedLayout, "{ai:u1}s:n", "", "ERR key needs its owner in braces, as in {product:user}:session:name: this store was created with mem-owner-tag yes"},
		{taggedLayout, "{ai}:u1:n", "", "ERR owner has 1 segments, mem-owner-segments is 2"},
		{taggedLayout, "{ai:u1}:{x}:n", "", "ERR key has a brace inside a segment; percent-encode it as %7B or %7D"},
		{taggedLayout, "{ai:u1}", "", "ERR key has 2 segments, at least 3 are needed, as in product:user:session:name"},
	} {
		key, err := c.layout.ParseKey([]byte(c.key))
		if message(err) != c.err {
			t.Errorf("ParseKey(%.60q): %v", c.key, err)
			continue
		}
		if err == nil && string(key.Owner()) != c.owner {
			t.Errorf("ParseKey(%.60q): owner %q", c.key, key.Owner())
		}
		if err == nil && c.layout.OwnerLen([]byte(c.key)) != len(c.owner) {
			t.Errorf("OwnerLen(%.60q) = %d", c.key, c.layout.OwnerLen([]byte(c.key)))
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParseOwner(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		owner  string
		err    string
	}{
		{plainLayout, "ai:u1", ""},
		{taggedLayout, "{ai:u1}", ""},
		{plainLayout, "ai", "ERR owner has 1 segments, mem-owner-segments is 2"},
		{plainLayout, "ai:u1:s", "ERR owner has 3 segments, mem-owner-segments is 2"},
		{plainLayout, "ai:*", `ERR owner has one of * ? [ \ inside its owner; percent-encode it`},
		{taggedLayout, "ai:u1", "ERR owner needs its owner in braces, as in {product:user}:session:name: this store was created with mem-owner-tag yes"},
	} {
		if err := c.layout.ParseOwner([]byte(c.owner)); message(err) != c.err {
			t.Errorf("ParseOwner(%q): %v", c.owner, err)
		}
	}
}

func TestScope(t *testing.T) {
	for _, c := range []struct {
		layout   Layout
		scope    string
		owner    string // "" when it may span several
		prefix   string // of owners
		rest     string // literal behind the owner
		contains []string
		excludes []string
	}{
		{plainLayout, "ai-assist:user_1", "ai-assist:user_1", "ai-assist:user_1", "",
			[]string{"ai-assist:user_1:s:n", "ai-assist:user_1:n"},
			[]string{"ai-assist:user_12:s:n", "ai-assist:user_", "ai-assist:user:x:y"}},
		{plainLayout, "ai", "", "ai", "", []string{"ai:u:n", "ai:v:s:n"}, []string{"ai2:u:n", "a:i:n"}},
		{plainLayout, "ai:u:s", "ai:u", "ai:u", "s",
			[]string{"ai:u:s", "ai:u:s:n"}, []string{"ai:u:s2", "ai:u:s2:n", "ai:u"}},
		{plainLayout, "ai:u:*", "ai:u", "ai:u", "",
			[]string{"ai:u:n", "ai:u:s:n"}, []string{"ai:u2:n"}},
		{plainLayout, "ai:u*", "", "ai:u", "", []string{"ai:u:n", "ai:u2:n"}, []string{"ai:v:n"}},
		{plainLayout, "ai:u:se*:n", "ai:u", "ai:u", "se", []string{"ai:u:session:n"}, []string{"ai:u:x:n"}},
		{plainLayout, "*:address", "", "", "", []string{"ai:u:address"}, []string{"ai:u:name"}},
		{taggedLayout, "{ai:u}", "{ai:u}", "{ai:u}", "", []string{"{ai:u}:n"}, []string{"{ai:u2}:n"}},
		{taggedLayout, "{ai:u}:s", "{ai:u}", "{ai:u}", "s", []string{"{ai:u}:s:n"}, []string{"{ai:u}:s2:n"}},
		{taggedLayout, "ai", "", "{ai", "", []string{"{ai:u}:n"}, []string{"{ai2:u}:n"}},
		{taggedLayout, "{ai:u}:*", "{ai:u}", "{ai:u}", "", []string{"{ai:u}:n"}, []string{"{ai:u2}:n"}},
		{taggedLayout, "{ai:u*", "", "{ai:u", "", []string{"{ai:u2}:n"}, []string{"{ai:v}:n"}},
	} {
		s, err := c.layout.ParseScope([]byte(c.scope))
		if err != nil {
			t.Errorf("ParseScope(%q): %v", c.scope, err)
			continue
		}
		owner, one := s.Owner()
		if string(owner) != c.owner || one != (c.owner != "") {
			t.Errorf("%q: owner %q", c.scope, owner)
		}
		if got := s.OwnerPrefix(c.layout); string(got) != c.prefix {
			t.Errorf("%q: prefix of owners %q", c.scope, got)
		}
		if got := s.RestLiteral(); one && string(got) != c.rest {
			t.Errorf("%q: literal behind the owner %q", c.scope, got)
		}
		for _, key := range c.contains {
			if !s.Contains([]byte(key)) {
				t.Errorf("%q does not contain %q", c.scope, key)
			}
		}
		for _, key := range c.excludes {
			if s.Contains([]byte(key)) {
				t.Errorf("%q contains %q", c.scope, key)
			}
		}
	}
}

func TestParseScopeErrors(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		scope  string
		err    string
	}{
		{plainLayout, "", "ERR scope is empty; * reads everything"},
		{plainLayout, "ai:", "ERR scope has an empty segment at position 2"},
		{plainLayout, "ai::x", "ERR scope has an empty segment at position 2"},
		{plainLayout, strings.Repeat("a:", 16) + "a", "ERR scope has 17 segments, limit mem-key-segments is 16"},
		{plainLayout, strings.Repeat("*", 1025), "ERR scope has 1025 bytes, limit mem-scope-bytes is 1024"},
		{plainLayout, "{ai:u}", "ERR scope has its owner in braces, but this store was created with mem-owner-tag no"},
		{taggedLayout, "ai:u", "ERR scope needs its owner in braces, as in {product:user}:session:name: this store was created with mem-owner-tag yes"},
	} {
		if _, err := c.layout.ParseScope([]byte(c.scope)); message(err) != c.err {
			t.Errorf("ParseScope(%.40q): %v", c.scope, err)
		}
	}
}

func TestGrantedBy(t *testing.T) {
	for _, c := range []struct {
		scope, pattern string
		want           bool
	}{
		{"ai:u1", "ai:u1:*", true},
		{"ai:u1", "ai:u1*", true},
		{"ai:u1", "ai:*", true},
		{"ai:u1", "*", true},
		{"ai:u1:*", "ai:u1:*", true},
		{"ai:u1:s*", "ai:u1:*", true},
		{"ai:u1", "ai:u1", false},     // not of the form L*
		{"ai:u1", "ai:?1:*", false},   // glob characters inside L
		{"ai:u1", "ai:u1:*:*", false}, //
		{"ai:u1", "ai:u1:s*", false},
		{"ai:u12", "ai:u1:*", false},
		{"ai:*", "ai:u1:*", false}, // never cut down to what is allowed
		{"*", "ai:*", false},
		{"ai:u1*", "ai:u1:*", false}, // would reach ai:u12
	} {
		s, err := plainLayout.ParseScope([]byte(c.scope))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.GrantedBy([]byte(c.pattern)); got != c.want {
			t.Errorf("scope %q by pattern %q: %v", c.scope, c.pattern, got)
		}
	}
}

// A namespace contains a key exactly when its segments are the key's first, and
// everything a scope contains lies in the ranges that it names.
func TestScopeModel(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	names := []string{"a", "ab", "b", "a1", "a12"}
	draw := func(low, high int) []string {
		path := make([]string, low+r.IntN(high-low+1))
		for i := range path {
			path[i] = names[r.IntN(len(names))]
		}
		return path
	}
	for range 20000 {
		path, space := draw(3, 6), draw(1, 6)
		for _, layout := range []Layout{plainLayout, taggedLayout} {
			keyText, spaceText := written(layout, path), written(layout, space)
			if r.IntN(3) == 0 {
				spaceText += "*"
			}
			s, err := layout.ParseScope([]byte(spaceText))
			if err != nil {
				t.Fatalf("%q: %v", spaceText, err)
			}
			key, err := layout.ParseKey([]byte(keyText))
			if err != nil {
				t.Fatalf("%q: %v", keyText, err)
			}
			inside := s.Contains(key.Text)
			if !s.IsGlob() {
				want := len(space) <= len(path) && fmt.Sprint(space) == fmt.Sprint(path[:min(len(space), len(path))])
				if inside != want {
					t.Fatalf("namespace %q, key %q: %v", spaceText, keyText, inside)
				}
			}
			owner, one := s.Owner()
			if inside && (one && !bytes.Equal(owner, key.Owner()) ||
				one && !bytes.HasPrefix(key.Rest(), s.RestLiteral()) ||
				!bytes.HasPrefix(key.Owner(), s.OwnerPrefix(layout)) && len(s.OwnerPrefix(layout)) <= len(key.Owner())) {
				t.Fatalf("scope %q: ranges miss key %q", spaceText, keyText)
			}
		}
	}
}

func written(layout Layout, path []string) string {
	if !layout.OwnerTag || len(path) < layout.OwnerSegments {
		return strings.Join(path, ":")
	}
	text := "{" + strings.Join(path[:layout.OwnerSegments], ":") + "}"
	for _, segment := range path[layout.OwnerSegments:] {
		text += ":" + segment
	}
	return text
}

func FuzzPaths(f *testing.F) {
	for _, seed := range []string{"a:b:c", "{a:b}:c", "a:b*", "a:b:[x", "::", "{}", "{a:b}", "\xff:a:b", "a:b:c\x00"} {
		f.Add([]byte(seed), []byte("a:b:c"))
	}
	f.Fuzz(func(t *testing.T, text, other []byte) {
		for _, layout := range []Layout{plainLayout, taggedLayout, {OwnerSegments: 1}} {
			key, err := layout.ParseKey(text)
			if err == nil {
				if layout.OwnerLen(text) != key.OwnerLen || layout.ParseOwner(key.Owner()) != nil {
					t.Fatalf("key %q: owner %q does not stand alone", text, key.Owner())
				}
				scope, err := layout.ParseScope(key.Owner())
				if err != nil || !scope.Contains(text) || scope.IsGlob() {
					t.Fatalf("key %q is not in the scope of its owner: %v", text, err)
				}
			}
			if scope, err := layout.ParseScope(text); err == nil {
				scope.Contains(other)
				scope.GrantedBy(other)
				scope.OwnerPrefix(layout)
				if _, one := scope.Owner(); one {
					scope.RestLiteral()
				}
			}
		}
	})
}
