package memory

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckJSON(t *testing.T) {
	for _, c := range []struct{ text, err string }{
		{`{}`, ""},
		{` [ 1 , -0.5e+10 , "x" , true , false , null , { "a" : [ ] } ] `, ""},
		{`12345678901234567890`, ""},
		{`1e999999`, ""},
		{`{"a":1,"a":2}`, ""}, // the last counts
		{`"\ud800"`, ""},      // grammatical
		{`"ü😀"`, ""},

		{``, "ERR value is not valid JSON at offset 0"},
		{`   `, "ERR value is not valid JSON at offset 3"},
		{`{"a":1,}`, "ERR value is not valid JSON at offset 7"},
		{`[1,]`, "ERR value is not valid JSON at offset 3"},
		{`[1 2]`, "ERR value is not valid JSON at offset 3"},
		{`{"city":"Ham`, "ERR value is not valid JSON at offset 12"},
		{`{"a"}`, "ERR value is not valid JSON at offset 4"},
		{`{a:1}`, "ERR value is not valid JSON at offset 1"},
		{`{"a":1]`, "ERR value is not valid JSON at offset 6"},
		{`[1}`, "ERR value is not valid JSON at offset 2"},
		{`[`, "ERR value is not valid JSON at offset 1"},
		{`{}{}`, "ERR value is not valid JSON at offset 2"},
		{`]`, "ERR value is not valid JSON at offset 0"},
		{`01`, "ERR value is not valid JSON at offset 1"},
		{`+1`, "ERR value is not valid JSON at offset 0"},
		{`1.`, "ERR value is not valid JSON at offset 2"},
		{`.5`, "ERR value is not valid JSON at offset 0"},
		{`1e`, "ERR value is not valid JSON at offset 2"},
		{`-`, "ERR value is not valid JSON at offset 1"},
		{`NaN`, "ERR value is not valid JSON at offset 0"},
		{`nul`, "ERR value is not valid JSON at offset 3"},
		{`truth`, "ERR value is not valid JSON at offset 3"},
		{`"a` + "\n" + `b"`, "ERR value is not valid JSON at offset 2"},
		{`"\x"`, "ERR value is not valid JSON at offset 1"},
		{`"\u12g4"`, "ERR value is not valid JSON at offset 1"},
		{`'a'`, "ERR value is not valid JSON at offset 0"},
		{"\ufeff{}", "ERR value is not valid JSON at offset 0"},
		{"\"a\xff\"", "ERR value is not valid UTF-8 at offset 2"},
		{`hello`, "ERR value is not valid JSON at offset 0"},
		{strings.Repeat("[", 512) + strings.Repeat("]", 512), ""},
		{strings.Repeat("[", 513) + strings.Repeat("]", 513), "ERR value is nested too deep at offset 512, limit mem-value-depth is 512"},
		{strings.Repeat(`{"a":`, 100000), "ERR value is nested too deep at offset 2560, limit mem-value-depth is 512"},
		{strings.Repeat("[", 100000), "ERR value is nested too deep at offset 512, limit mem-value-depth is 512"},
	} {
		if err := CheckValue([]byte(c.text), false); message(err) != c.err {
			t.Errorf("%.40q: %v", c.text, err)
		}
	}
}

func TestCheckValue(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 8<<20+1)
	for _, c := range []struct {
		value []byte
		text  bool
		err   string
	}{
		{[]byte("any words"), true, ""},
		{nil, true, ""},
		{[]byte("a\xffb"), true, "ERR value is not valid UTF-8 at offset 1"},
		{big, true, "ERR value has 8388609 bytes, limit mem-value-bytes is 8388608"},
		{big, false, "ERR value has 8388609 bytes, limit mem-value-bytes is 8388608"},
		{big[1:], true, ""},
	} {
		if err := CheckValue(c.value, c.text); message(err) != c.err {
			t.Errorf("%.10q %v: %v", c.value, c.text, err)
		}
	}
	if err := CheckMeta([]byte(`{"a":}`)); message(err) != "ERR meta is not valid JSON at offset 5" {
		t.Error(err)
	}
	if err := CheckMeta(bytes.Repeat([]byte(" "), 65537)); message(err) != "ERR meta has 65537 bytes, limit mem-meta-bytes is 65536" {
		t.Error(err)
	}
}

// inspect agrees with encoding/json on every text that is UTF-8, and what it
// accepts is read to its end by everything that trusts it.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"\u00e9",{}],"b":null}`, `[[[]]]`, `"\ud83d\ude00"`, `-0.0e-0`, `{"a":1,"a":2}`, ` 1 `, `[,]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		verdict, offset := inspect(text, 64)
		if offset < 0 || offset > len(text) {
			t.Fatalf("%q: offset %d", text, offset)
		}
		if verdict == jsonTooDeep {
			return
		}
		if valid := json.Valid(text) && utf8.Valid(text); valid != (verdict == jsonFine) {
			t.Fatalf("%q: %v at %d, encoding/json %v", text, verdict, offset, valid)
		}
		if verdict != jsonFine {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatal(err)
		}
		if got := Compact(nil, text); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q: compact %q", text, got)
		}
		trimmed := trimSpace(text)
		if end := skipValue(trimmed, 0); end != len(trimmed) {
			t.Fatalf("%q: value ends at %d", trimmed, end)
		}
		if leaves := appendStringLeaves(nil, text); !utf8.Valid(leaves) {
			t.Fatalf("%q: leaves %q", text, leaves)
		}
		if trimmed[0] == '"' {
			var want string
			_ = json.Unmarshal(trimmed, &want)
			if got := repairUTF8(appendUnquoted(nil, trimmed), 0); utf8.Valid(appendUnquoted(nil, trimmed)) && string(got) != want {
				t.Fatalf("%q says %q", trimmed, got)
			}
		}
	})
}
