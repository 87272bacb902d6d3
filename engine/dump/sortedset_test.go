package dump

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"reminis/engine/listpack"
)

// sortedSetForms are one sorted set in the forms of several servers.
var sortedSetForms = []struct {
	name, value, scored string
}{
	{"listpack of Redis 7.0.15", "11 21 21000000 0800 0c01 dff902 816102 0101 816202 83322e3504 816302 83696e6604 ff", "12:-7 a:1 b:2.5 c:+Inf"},
	{"doubles of Redis 7.0.15", "05 03 0163 000000000000f07f 0162 0000000000000440 0161 000000000000f03f", "c:+Inf b:2.5 a:1"},
	{"texts", "03 04 0161 0131 0162 fe 0163 ff c00c 03322e35", "a:1 b:+Inf c:-Inf 12:2.5"},
	{"ziplist", "0c 16 16000000 12000000 0400 00 0161 03f2 02 0162 03 fe08 ff", "a:1 b:8"},
}

// scoredText shows what was read.
func scoredText(v Value) string {
	var text [][]byte
	for i, member := range v.Members {
		text = append(text, fmt.Appendf(nil, "%s:%v", member, v.Scores[i]))
	}
	return string(bytes.Join(text, []byte(" ")))
}

func TestReadSortedSets(t *testing.T) {
	for _, test := range sortedSetForms {
		v, err := NewReader(unhex(t, test.value), testLimits).Value()
		if err != nil || v.Type.Content() != SortedSet || scoredText(v) != test.scored {
			t.Errorf("%s: want %s, have %s, %v", test.name, test.scored, scoredText(v), err)
		}
	}
}

func TestSortedSetsAsRedisWritesThem(t *testing.T) {
	have := Form{}.AppendSortedSet(nil, 3, func(yield func([]byte, float64) bool) {
		_ = yield([]byte("c"), math.Inf(1)) && yield([]byte("b"), 2.5) && yield([]byte("a"), 1)
	})
	if want := unhex(t, sortedSetForms[1].value); !bytes.Equal(have, want) {
		t.Errorf("as doubles:\nwant %x\nhave %x", want, have)
	}
	pack := listpack.New(0)
	for _, text := range []string{"12", "-7", "a", "1", "b", "2.5", "c", "inf"} {
		pack = listpack.Append(pack, []byte(text))
	}
	if want := unhex(t, sortedSetForms[0].value); !bytes.Equal(Form{}.AppendPackedSortedSet(nil, pack), want) {
		t.Errorf("packed:\nwant %x\nhave %x", want, Form{}.AppendPackedSortedSet(nil, pack))
	}
}

func TestRefusedSortedSets(t *testing.T) {
	for _, test := range []struct{ why, value string }{
		{"no members", "05 00"},
		{"no members in a listpack", "11 07 07000000 0000 ff"},
		{"more members than bytes", "05 81 00ffffffffffffff 0161 000000000000f03f"},
		{"a score cut off", "05 01 0161 00"},
		{"a text cut off", "03 01 0161 09 31"},
		{"a text that is no number", "03 01 0161 0178"},
		{"a score that is not a number", "03 01 0161 fd"},
		{"a double that is not a number", "05 01 0161 000000000000f87f"},
		{"a member twice", "05 02 0161 000000000000f03f 0161 0000000000000440"},
		{"a member without a score", "11 0a 0a000000 0100 816102 ff"},
		{"a packed score that is no number", "11 0d 0d000000 0200 816102 816202 ff"},
		{"a packed member twice", "11 11 11000000 0400 816102 0101 816102 0201 ff"},
	} {
		if v, err := NewReader(unhex(t, test.value), testLimits).Value(); err == nil {
			t.Errorf("%s: read %s", test.why, scoredText(v))
		}
	}
}
