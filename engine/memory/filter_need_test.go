package memory

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// meets says whether a value meets a need, without an index.
func (n *Need) meets(columns map[string]Column, value []byte) bool {
	if len(n.Parts) == 0 {
		c := columns[n.Column]
		key, ok := c.AppendKey(nil, value, false)
		return ok && bytes.Compare(n.First, key) <= 0 && bytes.Compare(key, n.Last) <= 0
	}
	for i := range n.Parts {
		if n.Parts[i].meets(columns, value) == n.Any {
			return n.Any
		}
	}
	return !n.Any
}

func columnsNamed(t *testing.T, paths ...string) map[string]Column {
	t.Helper()
	columns := map[string]Column{}
	for _, path := range paths {
		c, ok := ParseColumn(path)
		if !ok {
			t.Fatalf("%s is no column", path)
		}
		columns[c.Name] = c
	}
	return columns
}

// TestNeed: a filter holds of nothing that does not meet its need.
func TestNeed(t *testing.T) {
	columns := columnsNamed(t, "$.a", "$.b", "$.b.a", "$[0]", "$[-1]", "$")
	literals := []string{`1`, `1.0`, `-0`, `0`, `1e400`, `-1e400`, `12345678901234567890`, `12345678901234567891`, `0.1`, `-3`,
		`"a"`, `""`, `"a/~b"`, `"b"`, `"\u0061"`, `null`, `true`, `false`, `"` + strings.Repeat("x", keyTextMax) + `y"`, `"` + strings.Repeat("x", keyTextMax) + `z"`}
	var atoms []string
	for _, path := range []string{"$.a", "@['b']", "$.b.a", "@[0]", "$[-1]", "$"} {
		for _, op := range []string{"==", "!=", "<", "<=", ">", ">="} {
			for _, literal := range literals {
				atoms = append(atoms, path+op+literal, literal+op+path)
			}
		}
		atoms = append(atoms, path, "length("+path+") > 1")
	}
	atoms = append(atoms, "$.a == $.b", "$.*", "$.a[?@ == 1]")
	held, needed := 0, 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 3))
		text := randomFilter(r, atoms, 2)
		value := strings.NewReplacer("c~/", "a", "d~/", "b", "a~/", "a", "b~/", "b").Replace(randomJSON(r, 2))
		if r.IntN(2) == 0 {
			value = fmt.Sprintf(`{"a":%s,"b":{"a":%s}}`, literals[r.IntN(len(literals))], literals[r.IntN(len(literals))])
		}
		f, err := ParseFilter([]byte(text))
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		need, ok := f.Need()
		if !ok {
			continue
		}
		needed++
		holds, err := f.Accepts([]byte(value), false)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		if holds {
			held++
		}
		if holds && !need.meets(columns, []byte(value)) {
			t.Fatalf("seed %d: %s holds of %s, which does not meet %+v", seed, text, value, need)
		}
	}
	if needed < 5000 || held < 300 {
		t.Errorf("%d of the filters had a need, %d held", needed, held)
	}
}

// TestNeedIsNarrow: what a need leaves out.
func TestNeedIsNarrow(t *testing.T) {
	columns := columnsNamed(t, "$.a", "$.b")
	for _, c := range []struct {
		filter, value string
		meets         bool
	}{
		{`$.a == 1`, `{"a":1.0}`, true},
		{`$.a == 1`, `{"a":2}`, false},
		{`$.a == 1`, `{"a":"1"}`, false},
		{`$.a == 1`, `{}`, false},
		{`$.a < 5`, `{"a":7}`, false},
		{`$.a < 5`, `{"a":-7}`, true},
		{`5 < $.a`, `{"a":4}`, false},
		{`5 < $.a`, `{"a":1e300}`, true},
		{`$.a >= "m"`, `{"a":"l"}`, false},
		{`$.a >= "m"`, `{"a":"z"}`, true},
		{`$.a <= true`, `{"a":true}`, true},
		{`$.a <= true`, `{"a":false}`, false},
		{`$.a`, `{"a":[]}`, true},
		{`$.a`, `{"b":1}`, false},
		{`$.a == 1 && $.b == 2`, `{"a":1,"b":3}`, false},
		{`$.a == 1 || $.b == 2`, `{"a":3,"b":2}`, true},
		{`$.a == 1 || $.b == 2`, `{"a":3,"b":3}`, false},
		{`$.a == 1 && $..x`, `{"a":2,"x":1}`, false},
	} {
		f, err := ParseFilter([]byte(c.filter))
		if err != nil {
			t.Fatal(err)
		}
		need, ok := f.Need()
		if got := need.meets(columns, []byte(c.value)); !ok || got != c.meets {
			t.Errorf("%s of %s: %v, %v", c.filter, c.value, got, ok)
		}
	}
	for _, filter := range []string{`$..a || $.a == 1`, `!$.a`, `!($.a == 1)`, `$.a != 1`, `$.a == $.b`, `count($.*) == 1`} {
		f, err := ParseFilter([]byte(filter))
		if err != nil {
			t.Fatal(err)
		}
		if need, ok := f.Need(); ok {
			t.Errorf("%s needs %+v", filter, need)
		}
	}
}
