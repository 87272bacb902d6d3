package memory

import (
	"strings"
	"testing"
)

// This file says what rules make of values: members added, parts rewritten,
// redacted, masked. What they do not touch stays byte for byte.

func TestAddMembers(t *testing.T) {
	for _, test := range []struct {
		value string
		path  string
		name  string
		want  string
	}{
		{`{}`, "", "a", `{"a":1}`},
		{`{ "b" : 1.50 }`, "", "a", `{"b":1.50,"a":1}`},
		{`{"a": 2 }`, "", "a", `{"a":2}`},
		{`[{},{ "x":[ ] }]`, "1", "a", `[{},{"x":[ ],"a":1}]`},
		{`[{}]`, "7", "a", `[{}]`},
		{`{"x":3}`, "x", "a", `{"x":3}`},
		{`{"x":{}}`, "x", "q\"", `{"x":{"q\"":1}}`},
	} {
		var path []string
		if test.path != "" {
			path = strings.Split(test.path, "/")
		}
		got, err := AddMembers([]byte(test.value), []Addition{{Path: path, Name: test.name, Value: []byte("1")}})
		if err != nil || string(got) != test.want {
			t.Errorf("%s at %s: got %s %v, want %s", test.value, test.path, got, err, test.want)
		}
	}
}

func TestRedact(t *testing.T) {
	secret := &OwnerKey{1}
	hash := func(s string) string { return `"` + hashed(s, secret) + `"` }
	for _, test := range []struct {
		value, path string
		how         Redaction
		want        string
	}{
		{`{"mail": "a@b.c", "n": 1.50}`, "$.mail", RedactHash, `{"mail":` + hash("a@b.c") + `,"n":1.50}`},
		{`{"mail":` + hash("a@b.c") + `}`, "$.mail", RedactHash, `{"mail":` + hash("a@b.c") + `}`},
		{`{"card":"4111 1111 1111 1234"}`, "$.card", RedactLast4, `{"card":"****1234"}`},
		{`{"card":"****1234"}`, "$.card", RedactLast4, `{"card":"****1234"}`},
		{`{"card":4111111111111234}`, "$.card", RedactLast4, `{"card":"****1234"}`},
		{`{"pin":"12345"}`, "$.pin", RedactLast4, `{"pin":"****"}`},
		{`{"name":"张三李四王五赵六"}`, "$.name", RedactLast4, `{"name":"****王五赵六"}`},
		{`{"a":null,"b":[1]}`, "$.*", RedactLast4, `{"a":null,"b":"****"}`},
		{`{"a":1,"b":2,"c":3}`, "$.b", RedactDrop, `{"a":1,"c":3}`},
		{`{"l":[1,{"s":2},{"s":3}]}`, "$..s", RedactDrop, `{"l":[1,{},{}]}`},
		{`{"l":[1,2,3,4]}`, "$.l[1,2]", RedactDrop, `{"l":[1,4]}`},
		{`{"l":[1,2]}`, "$.l[0,0]", RedactDrop, `{"l":[2]}`},
		{`{"a":{"s":1},"s":{"s":2}}`, "$..s", RedactDrop, `{"a":{}}`},
		{`{"a":1}`, "$", RedactDrop, `null`},
		{`{ "a": 1 }`, "$.x", RedactDrop, `{ "a": 1 }`},
		{`{"u":[{"k":"mail","v":"x"},{"k":"age","v":3}]}`, "$.u[?@.k == 'mail'].v", RedactDrop, `{"u":[{"k":"mail"},{"k":"age","v":3}]}`},
	} {
		got, err := Redact([]byte(test.value), []ProtectedPath{{test.path, test.how}}, secret)
		if err != nil || string(got) != test.want {
			t.Errorf("%s of %s: got %s %v, want %s", test.path, test.value, got, err, test.want)
		}
		again, err := Redact(got, []ProtectedPath{{test.path, test.how}}, secret)
		if err != nil || test.path != "$.l[1,2]" && test.path != "$.l[0,0]" && string(again) != string(got) {
			t.Errorf("%s of %s again: got %s %v, want %s", test.path, test.value, again, err, got)
		}
	}
	other, _ := Redact([]byte(`"a"`), []ProtectedPath{{"$", RedactHash}}, &OwnerKey{2})
	if string(other) == hash("a") {
		t.Error("two owners have one hash")
	}
}

func TestMask(t *testing.T) {
	value := []byte(`{"a":{"secret":"x"},"b":[1, 2]}`)
	shown, err := Mask(value, []string{"$..secret"}, AppendQuoted(nil, []byte(MaskedText)))
	if err != nil || string(shown) != `{"a":{"secret":"[encrypted]"},"b":[1,2]}` {
		t.Errorf("shown as %s, %v", shown, err)
	}
	indexed, err := Mask(value, []string{"$..secret", "$.b"}, nil)
	if err != nil || string(indexed) != `{"a":{}}` {
		t.Errorf("indexed as %s, %v", indexed, err)
	}
}
