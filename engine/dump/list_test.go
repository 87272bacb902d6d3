package dump

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"reminis/engine/listpack"
)

// listForms are lists in the forms of several servers.
var listForms = []struct {
	name, value, elements string
}{
	{"a count and elements", "01 02 026531 c00c", "e1 12"},
	{"ziplist", "0a 13 13000000 0e000000 0200 00 02 6531 04 02 6532 ff", "e1 e2"},
	{"ziplists, one of them empty", "0e 03 0f 0f000000 0a000000 0100 00 02 6531 ff 0b 0b000000 0a000000 0000 ff 0f 0f000000 0a000000 0100 00 02 6532 ff", "e1 e2"},
	{"nodes", "12 02 02 0d 0d000000 0200 82 6531 03 01 01 ff 01 05 706c61696e", "e1 1 plain"},
}

func TestReadLists(t *testing.T) {
	for _, test := range listForms {
		v, err := NewReader(unhex(t, test.value), testLimits).Value()
		if have := string(bytes.Join(v.Elements, []byte(" "))); err != nil || v.Type.Content() != List || have != test.elements {
			t.Errorf("%s: want %s, have %s, %v", test.name, test.elements, have, err)
		}
	}
}

func TestListsRefused(t *testing.T) {
	for _, test := range []struct{ why, value string }{
		{"no elements", "01 00"},
		{"an element cut off", "01 02 0161 05"},
		{"more elements than bytes", "01 81 7fffffffffffffff 0161"},
		{"no ziplist", "0a 00"},
		{"a ziplist without elements", "0a 0b 0b000000 0a000000 0000 ff"},
		{"ziplists without elements", "0e 01 0b 0b000000 0a000000 0000 ff"},
		{"no nodes", "12 00"},
		{"a node cut off", "12 01 02"},
		{"a form of a node that is none", "12 01 03 0161"},
		{"a node that is no listpack", "12 01 02 0161"},
		{"a plain node without an element", "12 01 01 00"},
		{"nodes without elements", "12 01 02 07 07000000 0000 ff"},
		{"a listpack with another number of elements", "12 01 02 09 09000000 0200 01 01 ff"},
	} {
		if v, err := NewReader(unhex(t, test.value), testLimits).Value(); err == nil {
			t.Errorf("%s: read %q", test.why, v.Elements)
		}
	}
}

// TestNodesOfLists packs elements under each kind of limit and reads them again.
func TestNodesOfLists(t *testing.T) {
	for _, test := range []struct {
		limit           NodeLimit
		elements, bytes int // of each element
		nodes           byte
	}{
		{-2, 1, 10, 1}, {-2, 1000, 10, 2}, {-1, 1000, 10, 3}, {-9, 1000, 10, 1}, {-1, 3, 5000, 3},
		{5, 12, 10, 3}, {5, 5, 10, 1}, {0, 3, 10, 3}, {1000, 100, 200, 3},
	} {
		want := slices.Repeat([]string{strings.Repeat("v", test.bytes)}, test.elements)
		value := Form{}.AppendList(nil, test.limit, func(visit func(x listpack.Element)) {
			for _, text := range want {
				visit(listpack.Element{Text: []byte(text)})
			}
		})
		if value[0] != byte(TypeListNodes) || value[1] != test.nodes {
			t.Errorf("limit %d, %d elements of %d bytes: %d nodes, want %d", test.limit, test.elements, test.bytes, value[1], test.nodes)
		}
		v, err := NewReader(value, testLimits).Value()
		if err != nil || len(v.Elements) != len(want) {
			t.Fatalf("limit %d: %d elements of %d, %v", test.limit, len(v.Elements), len(want), err)
		}
		for i, text := range v.Elements {
			if string(text) != want[i] {
				t.Fatalf("limit %d: element %d is %.40q", test.limit, i, text)
			}
		}
	}
}
