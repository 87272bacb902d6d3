package quoting

import (
	"bytes"
	"slices"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, word := range []string{"", "a b", "\"'\\", "\x00\x01\xff\n\r\t\a\b", "ü"} {
		split, ok := Split([]byte(Quote(word)))
		if !ok || len(split) != 1 || !bytes.Equal(split[0], []byte(word)) {
			t.Errorf("%q comes back as %q", word, split)
		}
	}
}

func TestEqualFold(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{{"", "", true}, {"GET", "get", true}, {"a1_Z", "A1_z", true}, {"get", "gets", false}, {"[", "{", false}, {"@", "`", false},
		{"\u212a", "k", false}, {"É", "é", false}, {"É", "É", true}} {
		if EqualFold(test.a, []byte(test.b)) != test.want {
			t.Errorf("%q and %q are equal: %t", test.a, test.b, !test.want)
		}
	}
}

// FuzzSplit: any line ends, and the words that it has come back when they are quoted.
func FuzzSplit(f *testing.F) {
	for _, line := range []string{"", "SET a b\r\n", `a "b c" 'd\'e'`, `"\x00\xff\n"`, `"a`, `'a`, `"a"b`, "a\x00b", `"\x4`, "\v\f a", `\`, `"\`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		words, ok := Split(line)
		if !ok {
			return
		}
		var again []byte
		for _, word := range words {
			again = append(AppendQuoted(again, string(word)), ' ')
		}
		if got, ok := Split(again); !ok || !slices.EqualFunc(got, words, bytes.Equal) {
			t.Fatalf("%q has %q, and quoted again %q", line, words, got)
		}
	})
}
