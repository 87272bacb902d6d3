package memory

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDiffJSON(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{`1`, `1.0`, `[]`},
		{`{"a":1,"b":[2]}`, ` { "b" : [ 2 ], "a" : 1 } `, `[]`},
		{`1`, `"1"`, `[{"op":"replace","path":"","value":"1"}]`},
		{`{"a":1,"b":2}`, `{"b":3,"c":4}`, `[{"op":"remove","path":"/a"},{"op":"replace","path":"/b","value":3},{"op":"add","path":"/c","value":4}]`},
		{`{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":2}}}`, `[{"op":"replace","path":"/a/b/c","value":2}]`},
		{`{"a":{}}`, `{"a":[]}`, `[{"op":"replace","path":"/a","value":[]}]`},
		{`{"a/b~c":1}`, `{"a/b~c":2}`, `[{"op":"replace","path":"/a~1b~0c","value":2}]`},
		{`{"":{"\"":1}}`, `{"":{"\"":2}}`, `[{"op":"replace","path":"//\"","value":2}]`},
		{`[1,2,3]`, `[1,3]`, `[{"op":"remove","path":"/1"}]`},
		{`[1,3]`, `[1,2,3]`, `[{"op":"add","path":"/1","value":2}]`},
		{`[1,2,3]`, `[1,9,3]`, `[{"op":"replace","path":"/1","value":9}]`},
		{`[]`, `[1,2]`, `[{"op":"add","path":"/0","value":1},{"op":"add","path":"/1","value":2}]`},
		{`[1,2,3,4]`, `[]`, `[{"op":"remove","path":"/3"},{"op":"remove","path":"/2"},{"op":"remove","path":"/1"},{"op":"remove","path":"/0"}]`},
		{`[1,1,1]`, `[1,1]`, `[{"op":"remove","path":"/2"}]`},
		{`[{"a":1},{"b":1}]`, `[{"a":2},{"b":1}]`, `[{"op":"replace","path":"/0/a","value":2}]`},
		{`{"n":12345678901234567890}`, `{"n":12345678901234567891}`, `[{"op":"replace","path":"/n","value":12345678901234567891}]`},
		{`{"a":1,"a":2}`, `{"a":2}`, `[]`},
	} {
		got, err := DiffJSON([]byte(c.before), []byte(c.after))
		if err != nil || string(got) != c.want {
			t.Errorf("%s -> %s\n got %s, %v\nwant %s", c.before, c.after, got, err, c.want)
		}
	}
}

// TestDiffJSONBounds: what a patch could not say place by place, it says whole.
func TestDiffJSONBounds(t *testing.T) {
	nested := func(leaf string) []byte {
		return []byte(strings.Repeat(`[`, 200) + leaf + strings.Repeat(`]`, 200))
	}
	got, err := DiffJSON(nested("1"), nested("2"))
	want := `[{"op":"replace","path":"` + strings.Repeat("/0", 128) + `","value":` + strings.Repeat("[", 72) + "2" + strings.Repeat("]", 72) + `}]`
	if err != nil || string(got) != want {
		t.Errorf("deep: %s, %v", got, err)
	}
	long := func(digit string) []byte { return []byte("[" + strings.Repeat(digit+",", 10_000) + digit + "]") }
	got, err = DiffJSON(long("1"), long("2"))
	if want := `[{"op":"replace","path":"","value":` + string(long("2")) + `}]`; err != nil || string(got) != want {
		t.Errorf("long: %.80s, %v", got, err)
	}
}

// TestDiffJSONIsAPatch: the difference makes one value into the other.
func TestDiffJSONIsAPatch(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		before := randomJSON(r, 4)
		checkDiff(t, []byte(before), []byte(randomJSON(r, 4)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func randomJSON(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(4) == 0 {
		return []string{"1", "1.0", "2", `"a"`, `"a/~b"`, "null", "true", "{}", "[]"}[r.IntN(9)]
	}
	var parts []string
	object := r.IntN(2) == 0
	for range r.IntN(5) {
		part := randomJSON(r, depth-1)
		if object {
			part = fmt.Sprintf(`"%c~/":%s`, 'a'+rune(r.IntN(4)), part)
		}
		parts = append(parts, part)
	}
	if object {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func checkDiff(t *testing.T, before, after []byte) {
	t.Helper()
	patch, err := DiffJSON(before, after)
	if err != nil {
		t.Errorf("%s -> %s: %v", before, after, err)
		return
	}
	got, changed, err := Patch(PatchRFC6902, before, patch)
	if err != nil {
		t.Errorf("%s -> %s by %s: %v", before, after, patch, err)
		return
	}
	same, err := EqualJSON(got, after)
	if err != nil || !same || changed != (string(patch) != "[]") {
		t.Errorf("%s -> %s by %s: %s, changed %v, %v", before, after, patch, got, changed, err)
	}
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte(`{"a":[1,2]}`), []byte(`{"a":[2],"b":"\ud800"}`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if checkJSON("value", before, Limit{Default: 100}) != nil || checkJSON("value", after, Limit{Default: 100}) != nil {
			return
		}
		checkDiff(t, before, after)
	})
}
