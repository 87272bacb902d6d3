package schema

import (
	"fmt"
	"strings"
	"testing"

	"reminis/engine/memory"
)

// This file says, as tables, what schemas accept, in which words they refuse,
// what they fill in, and what lies between versions.

func compiled(t testing.TB, document string) *Schema {
	t.Helper()
	s, err := Compile("p", 1, []byte(document), nil)
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	return s
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCompile(t *testing.T) {
	for _, test := range []struct{ document, want string }{
		{`true`, ""},
		{`{}`, ""},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`, ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, ""},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, ""},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, ""},
		{`{`, "ERR schema is not valid JSON at offset 1"},
		{`3`, "ERR schema p@1 is not usable: got number, want boolean or object"},
		{`{"type":"strnig"}`, "ERR schema p@1 is not usable: /type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'"},
		{`{"properties":{"a":{"minLength":-1}}}`, "ERR schema p@1 is not usable: /properties/a/minLength: is -1, the minimum is 0"},
		{`{"$ref":"http://example.com/x.json"}`, "ERR schema p@1 is not usable: it refers to http://example.com/x.json, outside of itself"},
		{`{"$ref":"file:///etc/passwd"}`, "ERR schema p@1 is not usable: it refers to file:///etc/passwd, outside of itself"},
		{`{"$ref":"other.json"}`, "ERR schema p@1 is not usable: it refers to other.json, outside of itself"},
		{`{"$id":"http://example.com/a/","$ref":"b"}`, "ERR schema p@1 is not usable: it refers to http://example.com/a/b, outside of itself"},
		{`{"$schema":"http://example.com/meta"}`, "ERR schema p@1 is not usable: it refers to http://example.com/meta, outside of itself"},
		{`{"pattern":"("}`, "ERR schema p@1 is not usable: /pattern: is not a valid regex"},
		{`{"$ref":"#/$defs/a"}`, "ERR schema p@1 is not usable: json-pointer in \"#/$defs/a\" not found"},
		{`{"maximum":1e999999999}`, "ERR a number in the schema has 1000000000 digits, limit mem-schema-number is 1000"},
		{strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200), "ERR schema is nested too deep at offset 896, limit mem-schema-depth is 128"},
		{`"` + strings.Repeat("x", 300<<10) + `"`, "ERR schema has 307202 bytes, limit mem-schema-bytes is 262144"},
	} {
		_, err := Compile("p", 1, []byte(test.document), nil)
		if got := errorText(err); got != test.want {
			t.Errorf("Compile(%.80s)\n got %s\nwant %s", test.document, got, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	const user = `{"type":"object","properties":{"name":{"type":"string","minLength":2},"age":{"type":"integer","minimum":0},
		"mail":{"anyOf":[{"type":"string"},{"type":"null"}]},"tags":{"type":"array","items":{"type":"string"}}},
		"required":["name"],"additionalProperties":false}`
	for _, test := range []struct{ document, value, want string }{
		{user, `{"name":"Al"}`, ""},
		{user, `{"name":"Al","mail":null,"age":3,"tags":[]}`, ""},
		{user, `{"name":"Al","age":"x"}`, "/age: got string, want integer"},
		{user, `{"name":"Al","age":1.0}`, ""},
		{user, `{"name":"Al","age":-1}`, "/age: is -1, the minimum is 0"},
		{user, `{"age":"x"}`, "missing property 'name'"},
		{user, `{"name":"A"}`, "/name: has 1 characters, needs at least 2"},
		{user, `{"name":"Al","mail":3}`, "/mail: got number, want string or null"},
		{user, `{"name":"Al","z":1,"y":2}`, "additional properties 'y', 'z' not allowed"},
		{user, `{"name":"Al","tags":["a","b",3,"c",4,"d","e","f","g","h",5]}`, "/tags/2: got number, want string"},
		{`{"items":{"type":"string"}}`, `["a","b","a","b","a","b","a","b","a",1,2]`, "/9: got number, want string"},
		{`{"items":{"type":"string"}}`, `["a","b","a","b","a","b","a","b","a","b",1]`, "/10: got number, want string"},
		{user, `[]`, "got array, want object"},
		{`{"oneOf":[{"required":["a"]},{"properties":{"b":{"properties":{"c":{"type":"string"}}}},"required":["b"]}]}`, `{"b":{"c":1}}`, "/b/c: got number, want string"},
		{`{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `3`, "'oneOf' failed, subschemas 0, 1 matched"},
		{`{"properties":{"a/b~":{"type":"string"}}}`, `{"a/b~":1}`, "/a~1b~0: got number, want string"},
		{`{"pattern":"^a"}`, `"secret"`, "does not match the pattern ^a"},
		{`{"not":{"type":"string"}}`, `"a"`, "fits what it must not"},
		{`{"properties":{"a":false}}`, `{"a":1}`, "/a: is not allowed"},
		{`{"maximum":1500}`, `1000000.5`, "is 1.0000005e+06, the maximum is 1500"},
		{`{"multipleOf":0.1}`, `0.3`, ""},
		{`{"maximum":9007199254740992}`, `9007199254740993`, "is 9007199254740993, the maximum is 9007199254740992"},
		{`{"format":"email"}`, `"x"`, ""},
		{`{"$ref":"#"}`, `1`, "the schema refers to itself without end"},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, "items at 0 and 2 are equal"},
		{`{"const":{"a":1}}`, `{"a":1.0}`, ""},
		{`{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, "has 3 characters, needs at most 2"},
	} {
		want := test.want
		if want != "" {
			want = "ERR schema p@1: " + want
		}
		s := compiled(t, test.document)
		for range 5 { // the library walks maps
			if got := errorText(s.Check([]byte(test.value))); got != want {
				t.Errorf("%s of %s\n got %s\nwant %s", test.document, test.value, got, want)
				break
			}
		}
	}
}

// TestCheckIsBounded: values and schemas made to be expensive are refused at
// once.
func TestCheckIsBounded(t *testing.T) {
	doubling := compiled(t, `{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`)
	deep := strings.Repeat(`{"x":`, 100) + "1" + strings.Repeat("}", 100)
	var chain strings.Builder
	for i := range 40 {
		fmt.Fprintf(&chain, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	wide := compiled(t, `{"$ref":"#/$defs/d0","$defs":{`+chain.String()+`"d40":{"type":"string"}}}`)
	const work = "ERR schema p@1 takes too much work on this value, limit mem-schema-work is 2000000"
	for _, test := range []struct {
		s           *Schema
		value, want string
	}{
		{doubling, deep, work},
		{wide, `1`, work},
		{compiled(t, `{"minimum":0}`), "1e1000000000", "ERR a number in the value has 1000000001 digits, limit mem-schema-number is 1000"},
		{compiled(t, `{"minimum":0}`), "1e99999999999999999999", "ERR a number in the value has 1073741825 digits, limit mem-schema-number is 1000"},
		{compiled(t, `{"type":"integer"}`), strings.Repeat("9", 2000), "ERR a number in the value has 2000 digits, limit mem-schema-number is 1000"},
		{compiled(t, `{"type":"integer"}`), `{"1e999999":["-1e999999"]}`, "ERR schema p@1: got object, want integer"},
	} {
		if got := errorText(test.s.Check([]byte(test.value))); got != test.want {
			t.Errorf("%.60s: got %s, want %s", test.value, got, test.want)
		}
		if _, err := test.s.Fill([]byte(test.value)); err != nil && err.Error() != test.want {
			t.Errorf("Fill of %.60s: got %s, want %s", test.value, err, test.want)
		}
	}
}

func TestFill(t *testing.T) {
	for _, test := range []struct{ document, value, want string }{
		{`{"properties":{"b":{"default":2},"a":{"default":"x"}}}`, `{ }`, `{"a":"x","b":2}`},
		{`{"properties":{"a":{"default":1}}}`, `{"a" : 5.0, "z":1e2 }`, `{"a" : 5.0, "z":1e2 }`},
		{`{"properties":{"a":{"default":1},"z":{}}}`, `{"z":[1.50,  2]}`, `{"z":[1.50,  2],"a":1}`},
		{`{"properties":{"a":{"default":null}}}`, `{}`, `{"a":null}`},
		{`{"properties":{"a":{"default":12345678901234567890.10}}}`, `{}`, `{"a":12345678901234567890.10}`},
		{`{"properties":{"a":{"default":"<&>"}}}`, `{}`, `{"a":"<&>"}`},
		{`{"properties":{"a":{"default":{},"properties":{"b":{"default":1}}}}}`, `{}`, `{"a":{"b":1}}`},
		{`{"properties":{"a":{"properties":{"b":{"default":1}}}}}`, `{}`, `{}`},
		{`{"properties":{"a":{"properties":{"b":{"default":1}}}}}`, `{"a":{"c":2}}`, `{"a":{"c":2,"b":1}}`},
		{`{"items":{"properties":{"a":{"default":1}}}}`, `[{},{"a":2},3]`, `[{"a":1},{"a":2},3]`},
		{`{"prefixItems":[{"properties":{"a":{"default":1}}}]}`, `[{},{}]`, `[{"a":1},{}]`},
		{`{"additionalProperties":{"properties":{"a":{"default":1}}}}`, `{"x":{}}`, `{"x":{"a":1}}`},
		{`{"$ref":"#/$defs/d","$defs":{"d":{"properties":{"a":{"default":1}}}}}`, `{}`, `{"a":1}`},
		{`{"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"default":7}}}`, `{}`, `{"a":7}`},
		{`{"allOf":[{"properties":{"a":{"default":1}}},{"properties":{"a":{"default":2}}}]}`, `{}`, `{"a":1}`},
		{`{"anyOf":[{"properties":{"a":{"default":1}}}]}`, `{}`, `{}`},
		{`{"properties":{"a\"b":{"default":1}}}`, `{}`, `{"a\"b":1}`},
		{`{"properties":{"a":{"default":1}}}`, `[]`, `[]`},
		{`{"properties":{"x":{"default":{},"$ref":"#"}}}`, `{}`, strings.Repeat(`{"x":`, 130) + `{}` + strings.Repeat(`}`, 130)},
	} {
		got, err := compiled(t, test.document).Fill([]byte(test.value))
		if err != nil || string(got) != test.want {
			t.Errorf("%s of %s\n got %s %v\nwant %s", test.document, test.value, got, err, test.want)
		}
	}
}

func TestRemoved(t *testing.T) {
	for _, test := range []struct{ old, newer, want string }{
		{`{"properties":{"a":{},"b":{}}}`, `{"properties":{"a":{},"b":{},"c":{}}}`, ""},
		{`{"properties":{"a":{},"b":{}}}`, `{"properties":{"b":{"deprecated":true}}}`, "/a"},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":false}}`, "/a"},
		{`{"properties":{"a":false}}`, `{}`, ""},
		{`{"properties":{"a":{}}}`, `true`, "/a"},
		{`{"properties":{"a":{"properties":{"b":{},"c":{}}}}}`, `{"properties":{"a":{"properties":{"c":{}}}}}`, "/a/b"},
		{`{"properties":{"a":{"properties":{"b":{}}}}}`, `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"properties":{"b":{}}}}}`, ""},
		{`{"items":{"properties":{"a":{}}}}`, `{"items":{}}`, "/*/a"},
		{`{"allOf":[{"properties":{"a":{}}}],"anyOf":[{"properties":{"b":{}}}]}`, `{"properties":{"a":{},"b":{}}}`, ""},
		{`{"properties":{"next":{"$ref":"#"},"v":{}}}`, `{"properties":{"next":{"$ref":"#"}}}`, "/v /next/v"},
		{`{"properties":{"next":{"$ref":"#"},"v":{}}}`, `{"properties":{"next":{"properties":{"next":{"$ref":"#/properties/next"},"v":{}}},"v":{}}}`, ""},
	} {
		if got := strings.Join(Removed(compiled(t, test.old), compiled(t, test.newer)), " "); got != test.want {
			t.Errorf("%s to %s: got %q, want %q", test.old, test.newer, got, test.want)
		}
	}
}

func TestMigrate(t *testing.T) {
	version := func(n int64, migrate string) *Schema {
		var patch []byte
		if migrate != "" {
			patch = []byte(migrate)
		}
		s, err := Compile("p", n, []byte(`{}`), patch)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var r *Registry
	r = r.With(version(1, "")).With(version(5, ` [{"op":"move","from":"/nick","path":"/name"}]`)).With(version(3, `{"lang":"en","nick":null}`)).With(version(4, ""))
	for _, test := range []struct{ label, value, want, newest string }{
		{"p@1", `{"nick":"a"}`, `{"lang":"en","name":"a"}`, "p@5"},
		{"p@2", `{"nick":"a"}`, `{"lang":"en","name":"a"}`, "p@5"},
		{"p@3", `{"nick":"a"}`, `{"name":"a"}`, "p@5"},
		{"p@5", `{"nick":"a"}`, `{"nick":"a"}`, ""},
		{"p@9", `{"nick":"a"}`, `{"nick":"a"}`, ""},
		{"q@1", `{"nick":"a"}`, `{"nick":"a"}`, ""},
		{"", `{"nick":"a"}`, `{"nick":"a"}`, ""},
		{"p@1", `{}`, "ERR schema p@5: its migration fails: patch operation 0: '/nick' does not exist", "p@5"},
	} {
		value, newest, err := r.Migrate([]byte(test.label), []byte(test.value))
		got, label := string(value), ""
		if err != nil {
			got = err.Error()
		}
		if newest != nil {
			label = newest.Label()
		}
		if got != test.want || label != test.newest {
			t.Errorf("%s %s: got %s %s, want %s %s", test.label, test.value, got, label, test.want, test.newest)
		}
	}
	if r.Len() != 4 || r.Without("p", 5).Newest("p").Version != 4 || r.Newest("p").Version != 5 || r.Without("p", 5).Len() != 3 {
		t.Error("a registry counts or orders its versions wrongly")
	}
	if _, err := Compile("p", 2, []byte(`{}`), []byte(`3`)); errorText(err) != "ERR schema p@2 is not usable: MIGRATE takes a JSON Patch (an array) or an object to merge" {
		t.Errorf("a migration of 3: %v", err)
	}
}

func TestSplitLabel(t *testing.T) {
	for _, test := range []struct {
		label, name string
		version     int64
		ok          bool
	}{{"a@1", "a", 1, true}, {"a@b@12", "a@b", 12, true}, {"@1", "", 0, false}, {"a", "", 0, false}, {"a@", "a", 0, false}, {"a@0", "a", 0, false}, {"a@-1", "a", -1, false}} {
		name, version, ok := SplitLabel([]byte(test.label))
		if ok != test.ok || ok && (name != test.name || version != test.version) {
			t.Errorf("%s: got %s %d %v", test.label, name, version, ok)
		}
	}
}

// FuzzSchema: no document and no value makes anything but an error, and what is
// filled in still is JSON.
func FuzzSchema(f *testing.F) {
	f.Add(`{"properties":{"a":{"default":1}}}`, `{"a":"b"}`)
	f.Add(`{"$ref":"#","items":{"$dynamicRef":"#"}}`, `[[1]]`)
	f.Fuzz(func(t *testing.T, document, value string) {
		s, err := Compile("p", 1, []byte(document), nil)
		if err != nil || memory.CheckValue([]byte(value), false) != nil {
			return
		}
		s.Check([]byte(value))
		filled, err := s.Fill([]byte(value))
		if err == nil && memory.CheckValue(filled, false) != nil {
			t.Errorf("%s of %s fills to %s", document, value, filled)
		}
		Removed(s, s)
	})
}

func BenchmarkCheck(b *testing.B) {
	s := compiled(b, `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0},"tags":{"type":"array","items":{"type":"string"}}},"required":["name"]}`)
	value := []byte(`{"name":"Ada","age":36,"tags":["a","b"]}`)
	for b.Loop() {
		if _, err := s.Fill(value); err != nil {
			b.Fatal(err)
		}
		if err := s.Check(value); err != nil {
			b.Fatal(err)
		}
	}
}
