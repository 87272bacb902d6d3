package commands

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"reminis/engine"
	"reminis/engine/effect"
)

// This file owns the tests of FILTER with an index: it changes what a recall costs,
// never what it answers.

// tape is a journal that keeps batches, to start again from.
type tape struct {
	mu      sync.Mutex
	seq     uint64
	batches [][]byte
}

func (t *tape) Ready() error { return nil }

func (t *tape) Append(b *effect.Batch) (uint64, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	t.batches = append(t.batches, append(b.AppendHead(nil, t.seq, b.TimeMs), b.Body()...))
	return t.seq, b.TimeMs
}

// filterWorld is a server whose records are filtered.
type filterWorld struct {
	*testing.T
	r       *rand.Rand
	tape    *tape
	s       *testServer
	c       *testClient
	written int
}

// start is a server that has what the tape says.
func (w *filterWorld) start() {
	nowMs := int64(testStartMs)
	if w.s != nil {
		nowMs = w.s.clock.nowMs
	}
	w.s = newTestServer(DefaultTable(), engine.Options{Pool: testPool(), Journal: w.tape})
	w.s.clock.nowMs = nowMs
	for _, b := range w.tape.batches {
		r, err := effect.NewReader(b)
		if err != nil {
			w.Fatal(err)
		}
		if err := w.s.core.Engine.Batch(&r); err != nil {
			w.Fatal(err)
		}
	}
	w.c = w.s.connect(3)
}

// say is a command that must not fail.
func (w *filterWorld) say(words ...string) string {
	w.Helper()
	reply := w.c.say(words...)
	if strings.HasPrefix(reply, "-") {
		w.Fatalf("%q: %s", words, reply)
	}
	return reply
}

func (w *filterWorld) pick(list ...string) string { return list[w.r.IntN(len(list))] }

func (w *filterWorld) scalar() string {
	return w.pick("1", "2", "2.0", "3e0", "-1", "17", `"a"`, `"b"`, `"red"`, `"longjing"`, "true", "false", "null", "[1]", `{"x":1}`)
}

func (w *filterWorld) key() string {
	return fmt.Sprintf("ai:u:%s:%d", w.pick("s1", "s2", "notes"), w.r.IntN(150))
}

// change changes something: mostly records, sometimes the rules or the server.
func (w *filterWorld) change() {
	w.written++
	value := fmt.Sprintf(`{"n":%d,"a":%s,"b":{"c":%s},"secret":%s}`, w.written, w.scalar(), w.scalar(), w.scalar())
	anchor := w.pick("tea in the garden", "coffee at work", "tea at work")
	switch w.r.IntN(60) {
	case 0:
		w.say("MEM.FORGET", "SCOPE", w.pick("ai:u:s1", "ai:u:notes"))
	case 1:
		w.say("MEM.POLICY", "SET", w.pick("ai:u", "ai", "ai:u:s1", "ai:u:n*"), "INDEX", w.pick("$.a", "$.b.c", "$['a']", "$.secret", "$.n", "$", "$[0]"))
	case 2:
		w.say("MEM.POLICY", "SET", w.pick("ai:u:s1", "ai:u:s2"), "ENCRYPT", "$.secret")
	case 3:
		w.say("MEM.POLICY", "DEL", w.pick("ai:u", "ai", "ai:u:s1", "ai:u:s2", "ai:u:n*"))
	case 4:
		w.start()
	case 5:
		w.say("MEM.CONSENT", w.pick("GRANT", "REVOKE"), "ai:u", "KINDS", "1", "semantic")
	case 6:
		if w.r.IntN(4) == 0 {
			w.say("MEM.ERASE", w.pick("ai:u:s2", "ai:u:notes", "ai:u"))
		}
	case 7, 8, 9, 10, 11, 12:
		w.say("MEM.FORGET", "KEYS", "1", w.key())
	case 13, 14, 15, 16:
		w.say("MEM.APPEND", "ai:u:s1:turns", "MAXLEN", "40", "KIND", "session", "ITEMS", "2", value, w.scalar())
	case 17:
		w.say("EXPIRE", w.key(), "1")
	default:
		words := []string{"MEM.SET", w.key(), value, "KIND", w.pick("profile", "semantic", "session", "working"), "ANCHOR", anchor}
		if w.r.IntN(8) == 0 {
			words = []string{"MEM.SET", w.key(), w.pick("a", "b", "longjing"), "TEXT", "ANCHOR", anchor}
		}
		w.c.say(words...) // where consent was taken back it is refused
	}
	if w.r.IntN(5) == 0 {
		w.s.clock.nowMs += 300
	}
}

func (w *filterWorld) condition() string {
	path := w.pick("$.a", "@['a']", "$.b.c", "$.secret", "$.n", "$", "$[0]")
	if w.r.IntN(8) == 0 {
		return w.pick(path, "$.a == $.b.c", `search($.a, "r")`, "$.b[?@ == 1]")
	}
	literal := w.pick("1", "2", "2.5", `"a"`, `"b"`, `"longjing"`, `"[encrypted]"`, "true", "null", strconv.Itoa(w.r.IntN(w.written+1)))
	op := w.pick("==", "==", "<", "<=", ">", ">=", "!=")
	if w.r.IntN(3) == 0 {
		return literal + op + path
	}
	return path + op + literal
}

func (w *filterWorld) expression(depth int) string {
	if depth == 0 || w.r.IntN(3) == 0 {
		return w.condition()
	}
	joined := w.expression(depth-1) + w.pick(" && ", " && ", " || ") + w.expression(depth-1)
	return w.pick("", "", "", "!") + "(" + joined + ")"
}

// compare asks for what an expression holds of, so that it may be looked up, and so
// that it cannot be.
func (w *filterWorld) compare() {
	w.Helper()
	expression := w.expression(2)
	words := []string{"MEM.RECALL", w.pick("ai:u", "ai:u", "ai", "ai:u:s1", "ai:u:*s:*"), "TOPK", w.pick("5", "1000"), "FILTER", expression}
	if w.r.IntN(2) == 0 {
		words = append(words, "QUERY", w.pick("tea", "coffee at work", "garden"))
	}
	if w.r.IntN(6) == 0 {
		words = append(words, "AT", strconv.FormatInt(w.s.clock.nowMs-int64(w.r.IntN(2000)), 10))
	}
	got := w.c.say(words...)
	words[5] = "(" + expression + ") || $.nowhere[?@ == 1]"
	if want := w.c.say(words...); got != want {
		w.Fatalf("%q\n got %q\nwant %q", words, got, want)
	}
}

func TestFilterMetamorphic(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := &filterWorld{T: t, r: rand.New(rand.NewPCG(seed, 7)), tape: &tape{}}
			w.start()
			for range 1000 {
				w.change()
				if w.r.IntN(3) == 0 {
					w.compare()
				}
			}
		})
	}
}

// TestFilterScansFew: with an index a recall looks at what the filter may hold of
// and at what is newer than the index, with and without a query, until the policy
// ends.
func TestFilterScansFew(t *testing.T) {
	_, c := newTestClient(t)
	c.say("MEM.POLICY", "SET", "ai:u", "INDEX", "$.n")
	const records = 500
	for i := range records {
		c.say("MEM.SET", fmt.Sprintf("ai:u:s:%d", i), fmt.Sprintf(`{"n":%d}`, i), "ANCHOR", "tea")
	}
	scanned := func(words ...string) int {
		reply := c.say(append([]string{"MEM.RECALL", "ai:u", "EXPLAIN"}, words...)...)
		_, after, _ := strings.Cut(reply, "scanned\r\n:")
		n, err := strconv.Atoi(after[:strings.Index(after, "\r")])
		if err != nil {
			t.Fatalf("%q: %s", words, reply)
		}
		return n
	}
	for _, step := range []struct {
		change []string
		filter string
		want   int
	}{
		{nil, "$.n == 17", 1},
		{nil, "$.n >= 490 && $.n < 495 && $.m != 1", 10},
		{nil, "$.n == 17 || 20 == $.n", 2},
		{nil, "$.n != 17", records},
		{[]string{"MEM.SET", "ai:u:s:new", `{"n":17}`}, "$.n == 17", 2},
		{[]string{"MEM.SET", "ai:u:s:new", `{"n":18}`}, "$.n == 17", 2},
		{[]string{"MEM.FORGET", "KEYS", "1", "ai:u:s:20"}, "$.n == 17 || $.n == 20", 2},
		{[]string{"MEM.POLICY", "SET", "ai:u", "INDEX", "$.m"}, "$.n == 17", 1},
		{[]string{"MEM.POLICY", "DEL", "ai:u"}, "$.n == 17", records},
	} {
		if step.change != nil {
			c.say(step.change...)
		}
		if got := scanned("FILTER", step.filter); got != step.want {
			t.Errorf("%q, %s: %d records scanned, want %d", step.change, step.filter, got, step.want)
		}
	}
}
