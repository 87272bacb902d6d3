package quoting

import (
	"bytes"
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
