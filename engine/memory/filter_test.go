package memory

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/theory/jsonpath"
)

const tea = `{"preferences":{"tea":"longjing","cups":2.50},"age":18,"name":"Zoë","tags":["a","b","a"],` +
	`"big":12345678901234567890,"none":null,"o'k":1,"turns":[{"by":"user","n":1},{"by":"agent","n":2}]}`

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		filter string
		want   bool
	}{
		{`$.preferences.tea == "longjing" && $.age >= 18`, true},
		{`$.preferences.tea == 'longjing' && $.age > 18`, false},
		{`@.preferences.tea == "longjing"`, true},
		{`$.age < 18 || $.age == 18.0`, true},
		{`$.age == "18"`, false},
		{`$.age < "18"`, false},
		{`$.preferences.cups == 25e-1`, true},
		{`$.preferences['cups'] != 2.5`, false},
		{`$["o'k"] == 1 && $['o\'k'] == 1`, true},
		{`$.big == 12345678901234567890`, true},
		{`$.big == 12345678901234567891`, false},
		{`$.big < 12345678901234567891 && $.big > 12345678901234567889`, true},
		{`-1 < 0 && -12345678901234567891 < -12345678901234567890 && 1e400 > 1e399 && 1e-400 > 0`, true},
		{`$.name > "Zo" && $.name < "Zp"`, true},
		{`$.preferences`, true},
		{`$.nothing`, false},
		{`!$.nothing`, true},
		{`$.none`, true},
		{`$.none == null`, true},
		{`$.nothing == null`, false},
		{`$.nothing == $.missing`, true},
		{`$.nothing <= $.missing && !($.nothing < $.missing)`, true},
		{`$.nothing != 1`, true},
		{`!($.age == 18) || ($.tags[0] == "a" && $.tags[-1] == "a")`, true},
		{`$.tags[1] == "b" && !$.tags[3] && !$.tags[-4]`, true},
		{`$.tags[?@=="b"]`, true},
		{`$..n`, true},
		{`$.turns[*].none`, false},
		{`$.turns[?@.by == "agent" && @.n > $.turns[0].n]`, true},
		{`length($.tags) == 3 && length($.name) == 3 && length($.preferences) == 2`, true},
		{`length($.age) == 1`, false},
		{`count($.turns[*].n) == 2 && count($.age) == 1 && count($.nothing) == 0`, true},
		{`value($..tea) == "longjing"`, true},
		{`value($..n) == 1`, false},
		{`match($.preferences.tea, "long.*")`, true},
		{`match($.preferences.tea, "long")`, false},
		{`search($.preferences.tea, 'gj') && !search($.age, "1")`, true},
		{`$ .preferences ["cups"]  ==  2.5`, true},
		{`true == true && null != false && "a" == 'a'`, true},
	} {
		f, err := ParseFilter([]byte(c.filter))
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		got, err := f.Accepts([]byte(tea), false)
		if err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.filter, got, err)
		}
	}
}

func TestFilterOfTextAndRoots(t *testing.T) {
	for _, c := range []struct {
		filter, value string
		text, want    bool
	}{
		{`$ == "plain"`, "plain", true, true},
		{`search($, "la")`, "plain", true, true},
		{`$.a`, "plain", true, false},
		{`$ > 4`, "5", false, true},
		{`$[0] == 1`, "[1]", false, true},
		{`$.a == 2`, `{"a":1,"a":2}`, false, true},
		{`$.\u0061 == 2`, ``, false, false},
		{`$["\u0061"] == 1`, `{"\u0061":1}`, false, true},
	} {
		f, err := ParseFilter([]byte(c.filter))
		if err != nil {
			if c.value != "" {
				t.Errorf("%s: %v", c.filter, err)
			}
			continue
		}
		got, err := f.Accepts([]byte(c.value), c.text)
		if err != nil || got != c.want {
			t.Errorf("%s of %s: %v, %v", c.filter, c.value, got, err)
		}
	}
}

func TestFilterErrors(t *testing.T) {
	long := strings.Repeat("(", 40) + "$.a" + strings.Repeat(")", 40)
	for _, c := range []struct{ filter, want string }{
		{``, "ERR filter '' is not an expression: expected a query, a literal or a function at position 1"},
		{`$.a ==`, "ERR filter '$.a ==' is not an expression: expected a query, a literal or a function at position 7"},
		{`$.a = 1`, "ERR filter '$.a = 1' is not an expression: unexpected text at position 5"},
		{`$.a == 1 extra`, "ERR filter '$.a == 1 extra' is not an expression: unexpected text at position 10"},
		{`1`, "ERR filter '1' is not an expression: expected a comparison at position 2"},
		{`length($.a)`, "ERR filter 'length($.a)' is not an expression: expected a comparison at position 12"},
		{`!$.a == 1`, "ERR filter '!$.a == 1' is not an expression: ! needs parentheses around a comparison at position 8"},
		{`($.a`, "ERR filter '($.a' is not an expression: expected ) at position 5"},
		{`$.a[*] == 1`, "ERR filter '$.a[*] == 1' is not an expression: only single values can be compared at position 12"},
		{`match($.a, "x") == true`, "ERR filter 'match($.a, \"x\") == true' is not an expression: only single values can be compared at position 24"},
		{`match($.a)`, "ERR filter 'match($.a)' is not an expression: expected , at position 10"},
		{`count(1) == 1`, "ERR filter 'count(1) == 1' is not an expression: an argument is of another kind at position 8"},
		{`length($..a) == 1`, "ERR filter 'length($..a) == 1' is not an expression: an argument is of another kind at position 12"},
		{`size($.a) == 1`, "ERR filter 'size($.a) == 1' is not an expression: unknown function at position 1"},
		{`$.a == ["x"]`, "ERR filter '$.a == [\"x\"]' is not an expression: expected a query, a literal or a function at position 8"},
		{`$.a == 'x`, "ERR filter '$.a == 'x' is not an expression: a string has no end at position 8"},
		{`$.a == "\x"`, "ERR filter '$.a == \"\\x\"' is not an expression: a string is malformed at position 8"},
		{`$.a == 01`, "ERR filter '$.a == 01' is not an expression: a number is malformed at position 8"},
		{`$.a == -`, "ERR filter '$.a == -' is not an expression: a number is malformed at position 8"},
		{`$.[ == 1`, "ERR path '$.[ == 1' is not a JSONPath: unexpected '[' at position 3"},
		{"$.a == \"\xff\"", "ERR filter is not valid UTF-8 at offset 8"},
		{long, "ERR filter is nested too deep at offset 32, limit mem-filter-depth is 32"},
		{strings.Repeat("x", 5000), "ERR filter has 5000 bytes, limit mem-filter-bytes is 4096"},
	} {
		_, err := ParseFilter([]byte(c.filter))
		if message(err) != c.want {
			t.Errorf("%.60s\n got %v\nwant %s", c.filter, err, c.want)
		}
	}
}

// TestFilterWork: what many values cost together has a bound.
func TestFilterWork(t *testing.T) {
	f, err := ParseFilter([]byte(`$..a`))
	if err != nil {
		t.Fatal(err)
	}
	f.steps.left = 1000
	for range 1000 {
		if _, err = f.Accepts([]byte(tea), false); err != nil {
			break
		}
	}
	if want := "mem-filter-steps"; !strings.Contains(message(err), want) {
		t.Errorf("%v, not %s", err, want)
	}
}

// TestFilterAgainstLibrary compares with the library's evaluation of the same
// expression, in which @ is the value.
func TestFilterAgainstLibrary(t *testing.T) {
	atoms := []string{`@.a`, `@.b.a`, `@[0]`, `@["b"]`, `@.a == 1`, `@.a < @.b`, `@.b.a >= "x"`, `@.a != @[1]`, `@[-1] <= 2`,
		`@ == 1`, `@.* `, `count(@.*) == 2`, `length(@) > 1`, `value(@..a) == 1`, `1 == 1`, `@.a == null`, `@.a == @.b`, `@..a`}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		text := randomFilter(r, atoms, 3)
		value := strings.NewReplacer("c~/", "a", "d~/", "b", "a~/", "a", "b~/", "b").Replace(randomJSON(r, 3))
		f, err := ParseFilter([]byte(text))
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		got, err := f.Accepts([]byte(value), false)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		var plain any
		if err := json.Unmarshal([]byte(value), &plain); err != nil {
			t.Fatal(err)
		}
		path, err := jsonpath.Parse("$[?" + text + "]")
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		if want := len(path.Select([]any{plain})) == 1; got != want {
			t.Fatalf("seed %d: %s of %s: %v", seed, text, value, got)
		}
	}
}

func randomFilter(r *rand.Rand, atoms []string, depth int) string {
	if depth == 0 || r.IntN(3) == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	left, right := randomFilter(r, atoms, depth-1), randomFilter(r, atoms, depth-1)
	switch r.IntN(3) {
	case 0:
		return left + " && " + right
	case 1:
		return left + " || " + right
	}
	return "!(" + left + ")"
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte(`$.a == "x" && !search($.b, 'y') || count($..c) > 1`), []byte(tea))
	f.Fuzz(func(t *testing.T, text, value []byte) {
		filter, err := ParseFilter(text)
		if err != nil || CheckJSON("value", value) != nil {
			return
		}
		if _, err := filter.Accepts(value, false); err != nil && message(err) == "" {
			t.Error(err)
		}
	})
}
