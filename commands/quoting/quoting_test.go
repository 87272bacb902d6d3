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
