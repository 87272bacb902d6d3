package memory

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

type patchCase struct {
	value, patch, want string // want begins with ERR for an error
}

func runPatches(t *testing.T, mode PatchMode, cases []patchCase) {
	t.Helper()
	for _, c := range cases {
		var value []byte
		if c.value != "" {
			value = []byte(c.value)
		}
		got, changed, err := Patch(mode, value, []byte(c.patch))
		if strings.HasPrefix(c.want, "ERR") || err != nil {
			if message(err) != c.want {
				t.Errorf("%.60s + %.80s: %v", c.value, c.patch, err)
			}
			continue
		}
		if string(got) != c.want {
			t.Errorf("%.60s + %.80s\n got %s\nwant %s", c.value, c.patch, got, c.want)
		}
		if same := c.value == c.want; value != nil && changed == same {
			t.Errorf("%.60s + %.80s: changed %v", c.value, c.patch, changed)
		}
		if string(value) != c.value {
			t.Errorf("%s + %s changed its argument to %s", c.value, c.patch, value)
		}
	}
}

func TestMerge(t *testing.T) {
	runPatches(t, PatchMerge, []patchCase{
		{`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
		{`{"a":1}`, `{"a":2}`, `{"a":2}`},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"c":3,"d":4}}`, `{"a":{"b":1,"c":3,"d":4}}`},
		// null never overwrites, and never arrives
		{`{"a":1}`, `{"a":null}`, `{"a":1}`},
		{`{"a":1}`, `{"b":null}`, `{"a":1}`},
		{`{"a":{"b":1}}`, `{"a":{"b":null,"c":null}}`, `{"a":{"b":1}}`},
		{`{"a":{"b":1}}`, `{"a":null}`, `{"a":{"b":1}}`},
		{`{}`, `{"a":{"b":null,"c":1}}`, `{"a":{"c":1}}`},
		{`{"a":1}`, `null`, `{"a":1}`},
		{`{"a":null}`, `{"a":2}`, `{"a":2}`},
		// arrays are replaced, as they are
		{`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`},
		{`{"a":[1,2]}`, `{"a":[null]}`, `{"a":[null]}`},
		{`{"a":[{"b":1}]}`, `{"a":[{"c":null}]}`, `{"a":[{"c":null}]}`},
		{`[1,2]`, `[3]`, `[3]`},
		{`{"a":5}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{`{"a":{"b":1}}`, `{"a":5}`, `{"a":5}`},
		{`[1]`, `{"a":1}`, `{"a":1}`},
		// a missing record starts from {}
		{"", `{"a":1,"b":null}`, `{"a":1}`},
		{"", `{}`, `{}`},
		{"", `null`, `{}`},
		// numbers keep their text, members their order, untouched values their space
		{`{"z":12345678901234567890,"a":1.50, "n": [ 1 , 2 ]}`, `{"b":0.10}`, `{"z":12345678901234567890,"a":1.50,"n":[ 1 , 2 ],"b":0.10}`},
		{`{"big":1e400}`, `{"x":-0}`, `{"big":1e400,"x":-0}`},
		{`{"a":"<&>\u2028"}`, `{"b":"<"}`, `{"a":"<&>\u2028","b":"<"}`},
		// the same value in other words is no change
		{`{"a":1.0,"b":"\u0041"}`, `{"b":"A","a":1}`, `{"a":1.0,"b":"\u0041"}`},
		// of repeated names the last counts, at the first place
		{`{"a":1,"b":2,"a":3}`, `{"c":4}`, `{"a":3,"b":2,"c":4}`},
		{`{"a":1}`, `{"a":2,"a":3}`, `{"a":3}`},
		{`{"\u0061":1}`, `{"a":2}`, `{"\u0061":2}`},
		{`{"\ud800":1}`, `{"\ud801":2}`, `{"\ud800":1,"\ud801":2}`},
		{`{"":1}`, `{"":2}`, `{"":2}`},
		// errors
		{`{}`, ``, "ERR patch is not valid JSON at offset 0"},
		{`{}`, `{"a":}`, "ERR patch is not valid JSON at offset 5"},
		{`{}`, strings.Repeat(`{"a":`, 129) + "1" + strings.Repeat("}", 129), "ERR patch is nested too deep at offset 640, limit mem-patch-depth is 128"},
		{`{}`, strings.Repeat(`[`, 100000), "ERR patch is nested too deep at offset 128, limit mem-patch-depth is 128"},
	})
}

// A member that stays unchanged in the middle of a change keeps its spelling.
func TestMergeManyMembers(t *testing.T) {
	var value, patch, want strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&value, `,"k%d":%d`, i, i)
		if i%3 == 0 {
			fmt.Fprintf(&patch, `,"k%d":"new"`, i)
			fmt.Fprintf(&want, `,"k%d":"new"`, i)
		} else {
			fmt.Fprintf(&want, `,"k%d":%d`, i, i)
		}
	}
	object := func(b *strings.Builder) string { return "{" + b.String()[1:] + "}" }
	runPatches(t, PatchMerge, []patchCase{{object(&value), object(&patch), object(&want)}})
}

// RFC 7396, appendix A.
func TestRFC7396(t *testing.T) {
	runPatches(t, PatchRFC7396, []patchCase{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{``, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		// a member that was deleted comes back at the end
		{`{"a":1,"b":2}`, `{"a":null,"c":3}`, `{"b":2,"c":3}`},
	})
}

// RFC 6902, appendix A, and what the RFC leaves to be read closely.
func TestRFC6902(t *testing.T) {
	runPatches(t, PatchRFC6902, []patchCase{
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"foo":"bar","baz":"qux"}`},
		{`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{`{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`,
			`{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		{`{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{`{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{`{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, "ERR patch operation 0: test failed at '/baz'"},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"foo":"bar","child":{"grandchild":{}}}`},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123}]`, `{"foo":"bar","baz":"qux"}`},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, "ERR patch operation 0: '/baz/bat' does not exist"},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, "ERR patch operation 0: test failed at '/~01'"},
		{`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},

		{`{"a":1}`, `[]`, `{"a":1}`},
		{``, `[{"op":"add","path":"/a","value":1}]`, `{"a":1}`},
		{`{"a":1}`, `[{"op":"add","path":"","value":7}]`, `7`},
		{`7`, `[{"op":"test","path":"","value":7.0},{"op":"replace","path":"","value":"x"}]`, `"x"`},
		{`{"a":1}`, `[{"op":"add","path":"/a","value":null}]`, `{"a":null}`},
		{`{"a":1}`, `[{"op":"add","path":"/","value":2}]`, `{"a":1,"":2}`},
		{`{"a":1,"b":2}`, `[{"op":"copy","from":"/a","path":"/c"}]`, `{"a":1,"b":2,"c":1}`},
		{`{"a":{"b":1}}`, `[{"op":"copy","from":"/a","path":"/a/b"}]`, `{"a":{"b":{"b":1}}}`},
		{`{"a":{"b":1}}`, `[{"op":"copy","from":"","path":"/a/b"}]`, `{"a":{"b":{"a":{"b":1}}}}`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"a":{"b":1}}`},
		{`{"a":{"b":[1,2]}}`, `[{"op":"move","from":"/a/b","path":""}]`, `[1,2]`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, "ERR patch operation 0: a value cannot be moved into itself"},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"","path":"/a"}]`, "ERR patch operation 0: a value cannot be moved into itself"},
		{`{"a":1}`, `[{"op":"move","from":"/x","path":"/x"}]`, "ERR patch operation 0: '/x' does not exist"},
		{`{"a":1}`, `[{"op":"remove","path":""}]`, "ERR patch operation 0: the whole value cannot be removed"},
		{`{"a":[1]}`, `[{"op":"add","path":"/a/2","value":1}]`, "ERR patch operation 0: index 2 is beyond the end of the array"},
		{`{"a":[1]}`, `[{"op":"add","path":"/a/01","value":1}]`, "ERR patch operation 0: '01' is not an index of an array"},
		{`{"a":[1]}`, `[{"op":"add","path":"/a/-1","value":1}]`, "ERR patch operation 0: '-1' is not an index of an array"},
		{`{"a":[1]}`, `[{"op":"remove","path":"/a/-"}]`, "ERR patch operation 0: '-' is not an index of an array"},
		{`{"a":[1]}`, `[{"op":"remove","path":"/a/99999999999"}]`, "ERR patch operation 0: '99999999999' is not an index of an array"},
		{`{"a":1}`, `[{"op":"replace","path":"/b","value":1}]`, "ERR patch operation 0: '/b' does not exist"},
		{`{"a":1}`, `[{"op":"test","path":"/b","value":null}]`, "ERR patch operation 0: '/b' does not exist"},
		{`{"a":1}`, `[{"op":"add","path":"/a/b","value":1}]`, "ERR patch operation 0: '/a/b' does not exist"},
		{`{"a":1.0}`, `[{"op":"test","path":"/a","value":10e-1}]`, `{"a":1.0}`},
		{`{"a":12345678901234567890}`, `[{"op":"test","path":"/a","value":12345678901234567891}]`, "ERR patch operation 0: test failed at '/a'"},
		{`{"a":{"x":1,"y":[2]}}`, `[{"op":"test","path":"/a","value":{"y":[2.0],"\u0078":1}}]`, `{"a":{"x":1,"y":[2]}}`},
		{`{"a":{"x":1,"y":2}}`, `[{"op":"test","path":"/a","value":{"x":1}}]`, "ERR patch operation 0: test failed at '/a'"},

		// all or none
		{`{"a":1}`, `[{"op":"add","path":"/b","value":2},{"op":"test","path":"/a","value":9}]`, "ERR patch operation 1: test failed at '/a'"},
		// what is no patch
		{`{}`, `{"op":"add"}`, "ERR patch is not an array of operations"},
		{`{}`, `[null]`, "ERR patch operation 0: it is not an object"},
		{`{}`, `[{}]`, `ERR patch operation 0: it has no string "op"`},
		{`{}`, `[{"op":"add","value":1}]`, `ERR patch operation 0: it has no string "path"`},
		{`{}`, `[{"op":1,"path":""}]`, `ERR patch operation 0: it has no string "op"`},
		{`{}`, `[{"op":"add","path":"/a"}]`, `ERR patch operation 0: it has no "value"`},
		{`{}`, `[{"op":"copy","path":"/a"}]`, `ERR patch operation 0: it has no string "from"`},
		{`{}`, `[{"op":"Add","path":"/a","value":1}]`, `ERR patch operation 0: "op" is not one of add, remove, replace, move, copy, test`},
		{`{}`, `[{"op":"add","path":"a","value":1}]`, "ERR patch operation 0: path 'a' does not begin with /"},
		{`{}`, `[{"op":"add","path":"/a~2","value":1}]`, "ERR patch operation 0: path has a ~ that is neither ~0 nor ~1"},
		{`{}`, `[{"op":"add","path":"/a~","value":1}]`, "ERR patch operation 0: path has a ~ that is neither ~0 nor ~1"},
		{`{}`, `[{"op":"add","path":"` + strings.Repeat("/a", 129) + `","value":1}]`, "ERR patch operation 0: path has more than 128 levels, limit mem-patch-depth"},
		{`{}`, `[` + strings.Repeat(`{},`, 10000) + `{}]`, "ERR patch has 10001 operations, limit mem-patch-operations is 10000"},
	})
}

// Patches that would take all memory or all day are refused, quickly.
func TestHostilePatches(t *testing.T) {
	long := `[` + strings.Repeat(`1,`, 1<<20) + `1]`
	doubling := `[{"op":"add","path":"/a","value":"` + strings.Repeat("x", 1000) + `"}`
	deeper := `[`
	for i := range 60 {
		doubling += fmt.Sprintf(`,{"op":"copy","from":"","path":"/b%d"}`, i)
	}
	for i := range 600 {
		deeper += fmt.Sprintf(`{"op":"add","path":"/n%d","value":{}},{"op":"move","from":"/a","path":"/n%d/a"},{"op":"move","from":"/n%d","path":"/a"},`, i, i, i)
	}
	shifting := `[` + strings.Repeat(`{"op":"add","path":"/0","value":1},`, 9999) + `{"op":"remove","path":"/0"}]`
	for _, c := range []patchCase{
		{`{}`, doubling + `]`, "ERR patch operation 15: the copy is larger than 8388608 bytes, limit mem-value-bytes"},
		{`{"a":1}`, deeper + `{"op":"test","path":"","value":1}]`, "ERR patch operation 1800: test failed at ''"},
		{`{"a":1}`, deeper + `{"op":"add","path":"/x","value":1}]`, "ERR value is nested too deep at offset 2560, limit mem-value-depth is 512"},
		{long, shifting, "ERR patch takes too much work on this value, limit mem-patch-work is 268435456"},
	} {
		_, _, err := Patch(PatchRFC6902, []byte(c.value), []byte(c.patch))
		if message(err) != c.want {
			t.Errorf("%.40s + %.40s: %v", c.value, c.patch, err)
		}
	}
	half := `{"a":"` + strings.Repeat("x", 5<<20) + `"}`
	if _, _, err := Patch(PatchMerge, []byte(half), []byte(strings.Replace(half, "a", "b", 1))); message(err) != "ERR value has 10485775 bytes, limit mem-value-bytes is 8388608" {
		t.Error(err)
	}
}

// drawJSON gives a random value; numbers are such that their text is their
// value, which the oracle compares by.
func drawJSON(r *rand.Rand, depth int) string {
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		parts := make([]string, r.IntN(4))
		for i := range parts {
			parts[i] = drawJSON(r, depth-1)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case n < 5 && depth > 0:
		var parts []string
		for _, name := range []string{"a", "b", "c", "d/e"} {
			if r.IntN(2) == 0 {
				parts = append(parts, fmt.Sprintf("%q:%s", name, drawJSON(r, depth-1)))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	case n == 5:
		return fmt.Sprint(r.IntN(4))
	case n == 6:
		return `"s"`
	}
	return "true"
}

func drawPointer(r *rand.Rand) string {
	text := ""
	for depth := range 1 + r.IntN(2) {
		text += "/" + []string{"a", "b", "c", "d~1e", "0", "1", "2", "-"}[r.IntN(4+4*depth)]
	}
	return text
}

// Where the library and RFC 6902 agree (see doc.go for where not), so do we.
func TestRFC6902AgainstLibrary(t *testing.T) {
	const seed = 42
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = false
	options.EscapeHTML = false
	applied := 0
	for range 20000 {
		value := fmt.Sprintf(`{"a":%s,"b":%s,"c":%s}`, drawJSON(r, 2), drawJSON(r, 2), drawJSON(r, 2))
		var ops []string
		for range 1 + r.IntN(2) {
			switch op := []string{"add", "remove", "replace", "move", "copy", "test"}[r.IntN(6)]; op {
			case "add", "replace", "test":
				ops = append(ops, fmt.Sprintf(`{"op":%q,"path":%q,"value":%s}`, op, drawPointer(r), drawJSON(r, 1)))
			case "move", "copy":
				ops = append(ops, fmt.Sprintf(`{"op":%q,"path":%q,"from":%q}`, op, drawPointer(r), drawPointer(r)))
			default:
				ops = append(ops, fmt.Sprintf(`{"op":%q,"path":%q}`, op, drawPointer(r)))
			}
		}
		text := "[" + strings.Join(ops, ",") + "]"
		got, _, err := Patch(PatchRFC6902, []byte(value), []byte(text))
		patch, decodeErr := jsonpatch.DecodePatch([]byte(text))
		if decodeErr != nil {
			t.Fatal(decodeErr)
		}
		want, wantErr := patch.ApplyWithOptions([]byte(value), options)
		if wantErr != nil && err == nil || err != nil && wantErr == nil {
			if err != nil && strings.Contains(err.Error(), "moved into itself") {
				continue // the library loses the value
			}
			t.Fatalf("%s + %s\n ours %s, %v\ntheir %s, %v", value, text, got, err, want, wantErr)
		}
		if err != nil {
			continue
		}
		applied++
		if same, _ := EqualJSON(got, want); !same {
			t.Fatalf("%s + %s\n ours %s\ntheir %s", value, text, got, want)
		}
	}
	t.Logf("%d patches applied by both", applied)
	if applied < 4000 {
		t.Error("too few patches apply for the comparison to mean anything")
	}
}

// Merge Patch against the library, which also drops nulls inside of arrays,
// against the RFC: patches here have no arrays.
func TestRFC7396AgainstLibrary(t *testing.T) {
	const seed = 43
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 20000 {
		value, patch := drawJSON(r, 3), strings.ReplaceAll(drawJSON(r, 3), "true", "null")
		if value[0] != '{' || patch[0] != '{' || strings.Contains(patch, "[") {
			continue
		}
		got, _, err := Patch(PatchRFC7396, []byte(value), []byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsonpatch.MergePatch([]byte(value), []byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		if same, _ := EqualJSON(got, want); !same {
			t.Fatalf("%s + %s\n ours %s\ntheir %s", value, patch, got, want)
		}
	}
}

func FuzzPatch(f *testing.F) {
	f.Add(byte(0), []byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":null,"c":[1]}}`))
	f.Add(byte(1), []byte(`{"a":1}`), []byte(`{"a":null}`))
	f.Add(byte(2), []byte(`{"a":[1,{"b":2}]}`), []byte(`[{"op":"move","from":"/a/1/b","path":"/c"},{"op":"test","path":"/c","value":2}]`))
	f.Add(byte(2), []byte(`[]`), []byte(`[{"op":"copy","from":"","path":"/-"},{"op":"remove","path":"/0"}]`))
	f.Fuzz(func(t *testing.T, mode byte, value, patch []byte) {
		if CheckValue(value, false) != nil {
			return
		}
		before := string(value)
		result, changed, err := Patch(PatchMode(mode%3), value, patch)
		if string(value) != before {
			t.Fatal("the value was changed in place")
		}
		if err != nil {
			return
		}
		if !json.Valid(result) {
			t.Fatalf("%s + %s = %s", value, patch, result)
		}
		if !changed && string(result) != before {
			t.Fatalf("%s + %s = %s, not changed", value, patch, result)
		}
		if mode%3 == 0 {
			again, changed, err := Patch(PatchMerge, result, patch)
			if err != nil || changed {
				t.Fatalf("merging %s twice: %s then %s, %v", patch, result, again, err)
			}
		}
	})
}

func TestEqualJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1`, `10e-1`, true}, {`-0`, `0.000`, true}, {`0e5`, `0`, true}, {`100`, `1e2`, true},
		{`1e400`, `10e399`, true}, {`1e400`, `1e401`, false}, {`-1`, `1`, false}, {`0.1`, `0.10000000000000000001`, false},
		{`1e99999999999999999999`, `1e99999999999999999999`, true}, {`1e99999999999999999999`, `10e99999999999999999998`, false},
		{`"a"`, `"\u0061"`, true}, {`"a"`, `1`, false}, {`true`, `false`, false}, {`null`, `null`, true},
		{`[1,2]`, `[2,1]`, false}, {`[1]`, `[1,1]`, false}, {`[]`, `{}`, false},
		{`{"a":1,"b":2}`, ` {"b" : 2, "a" : 1} `, true}, {`{"a":1}`, `{"b":1}`, false}, {`{"a":9,"a":1}`, `{"a":1}`, true},
	} {
		got, err := EqualJSON([]byte(c.a), []byte(c.b))
		if err != nil || got != c.want {
			t.Errorf("%s = %s: %v %v", c.a, c.b, got, err)
		}
	}
}

// The reasons in doc.go why JSON Patch is our own code: should one of these
// fail, the library has changed, and the decision may be looked at again.
func TestWhyNotTheLibrary(t *testing.T) {
	for _, c := range []struct{ value, patch, reason string }{
		{`{"a":[1,2]}`, `[{"op":"add","path":"/a/01","value":9}]`, "accepts a leading zero"},
		{`{"a":[1,2]}`, `[{"op":"remove","path":"/a/-1"}]`, "accepts a negative index"},
		{`{}`, `[{"op":"test","path":"/a","value":null}]`, "test of a missing member passes"},
	} {
		patch, err := jsonpatch.DecodePatch([]byte(c.patch))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := patch.Apply([]byte(c.value)); err != nil {
			t.Errorf("no longer true that it %s: %v", c.reason, err)
		}
	}
	for _, c := range []struct{ value, patch, reason string }{
		{`{"a":1.0}`, `[{"op":"test","path":"/a","value":1}]`, "finds 1 and 1.0 different"},
		{`7`, `[{"op":"replace","path":"","value":8}]`, "refuses a number at the root"},
	} {
		patch, err := jsonpatch.DecodePatch([]byte(c.patch))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := patch.Apply([]byte(c.value)); err == nil {
			t.Errorf("no longer true that it %s", c.reason)
		}
	}
}
