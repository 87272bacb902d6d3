package commands

import (
	"fmt"
	"strings"
	"testing"

	"reminis/engine"
)

// This file owns the tests of where MEM.LOAD runs.

// TestLoadRunsWhereItIsCheap: a load of little runs at once, all others on a worker.
func TestLoadRunsWhereItIsCheap(t *testing.T) {
	s, c := newTestClient(t)
	fill := func(owner string, records int, text string) {
		for i := range records {
			c.say("MEM.SET", fmt.Sprintf("%s:s:%d", owner, i), fmt.Sprint(text, i), "TEXT", "KIND", "semantic")
		}
		c.say("MEM.RECALL", owner, "QUERY", text) // indexes
	}
	fill("ai:few", 20, "tea")
	fill("ai:many", 2500, "tea")
	fill("ai:long", 2, strings.Repeat("tea ", 100_000))
	fill("ai:fresh", 20, "tea")
	for i := range 20 {
		c.say("MEM.SET", fmt.Sprintf("ai:fresh:s:%d", i), "coffee", "TEXT", "KIND", "semantic")
	}
	check := func(worker bool, words ...string) {
		t.Helper()
		argv := make([][]byte, len(words))
		for i, word := range words {
			argv[i] = []byte(word)
		}
		out, next := c.session.Execute(nil, argv)
		if next == Park {
			out = (<-c.resumed)(out)
		}
		if !strings.HasPrefix(string(out), "*8\r\n$7\r\nprofile") || (next == Park) != worker {
			t.Errorf("%q: on a worker %t, %.60q", words, next == Park, out)
		}
	}
	check(false, "MEM.LOAD", "ai:few", "QUERY", "tea")
	check(false, "MEM.LOAD", "ai:nobody", "QUERY", "tea")
	check(true, "MEM.LOAD", "ai:few", "QUERY", "tea", "AT", "seq:5")
	check(true, "MEM.LOAD", "ai:few", "QUERY", "tea", "SHARED", "ai:many")
	check(true, "MEM.LOAD", "ai:many", "QUERY", "tea")
	check(true, "MEM.LOAD", "ai:long")
	check(true, "MEM.LOAD", "ai:fresh", "QUERY", "tea")
	check(false, "MEM.LOAD", "ai:fresh", "QUERY", "tea") // indexed by now
	s.core.Engine.UseEmbedder(engine.Embedder{Query: func(string) []float32 { return nil }})
	check(true, "MEM.LOAD", "ai:few", "QUERY", "tea")
	check(false, "MEM.LOAD", "ai:few")
}
