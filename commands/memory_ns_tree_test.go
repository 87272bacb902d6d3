package commands

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns the test that MEM.NS TREE shows every namespace once, however
// many pages it takes.

func TestNamespaceTreePages(t *testing.T) {
	for _, layout := range []memory.Layout{{OwnerSegments: 2}, {OwnerSegments: 2, OwnerTag: true}, {OwnerSegments: 1}, {OwnerSegments: 3}} {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		s := newTestServer(DefaultTable(), engine.Options{Pool: testPool(), Memory: engine.MemoryOptions{Layout: layout}})
		c := s.connect(2)
		want := map[string]int{}
		for range 4000 {
			// Names that sort otherwise before a colon than alone.
			segments := make([]string, layout.OwnerSegments+1+r.IntN(3))
			for i := range segments {
				segments[i] = []string{"a", "a1", "a-", "b", "ü"}[r.IntN(5)] + []string{"", fmt.Sprint(r.IntN(9))}[r.IntN(2)]
			}
			if len(segments) < 3 {
				continue
			}
			key := spell(layout, segments)
			if c.say("MEM.SET", key, "1", "NX", "KIND", "session") != ":1\r\n" {
				continue
			}
			for n := 1; n < len(segments); n++ {
				want[spell(layout, segments[:n])]++
			}
		}
		got := map[string]int{}
		for cursor := "0"; ; {
			page := scalars(t, c.say("MEM.NS", "TREE", "*", "CURSOR", cursor))
			for i := 1; i < len(page); i += 2 {
				n, err := strconv.Atoi(page[i+1])
				if err != nil {
					t.Fatal(err)
				}
				got[page[i]] += n
			}
			if cursor = page[0]; cursor == "0" {
				break
			}
			if len(page) != 1+2*namespacePage {
				t.Fatalf("a page of %d", len(page)/2)
			}
		}
		for name, n := range want {
			if got[name] != n {
				t.Fatalf("%+v: %q has %d records, listed are %d", layout, name, n, got[name])
			}
		}
		if len(got) != len(want) || len(want) <= namespacePage {
			t.Errorf("%d namespaces, %d listed", len(want), len(got))
		}
	}
}

// scalars are the strings and numbers of a reply, in order.
func scalars(t *testing.T, data string) (list []string) {
	t.Helper()
	for rest := []byte(data); len(rest) > 0; {
		item, after, err := reply.Read(rest)
		if err != nil {
			t.Fatalf("%v: %q", err, data)
		}
		if item.Kind != reply.KindArray {
			list = append(list, string(item.Text))
		}
		rest = after
	}
	return list
}

// spell writes segments as a layout has them.
func spell(layout memory.Layout, segments []string) string {
	n := layout.OwnerSegments
	if !layout.OwnerTag || len(segments) < n {
		return strings.Join(segments, ":")
	}
	return strings.Join(slices.Concat([]string{"{" + strings.Join(segments[:n], ":") + "}"}, segments[n:]), ":")
}
