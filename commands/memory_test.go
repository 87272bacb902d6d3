package commands

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/effect"
)

// This file owns what transcripts cannot show of the memory commands: allocations,
// many records, many clients at once, and what replies wait for.

// bulks are the strings of a reply, in order.
func bulks(t testing.TB, data string) []string {
	t.Helper()
	var list []string
	for rest := []byte(data); len(rest) > 0; {
		item, after, err := reply.Read(rest)
		if err != nil {
			t.Fatalf("%v: %q", err, data)
		}
		if item.Kind == reply.KindBulk {
			list = append(list, string(item.Text))
		}
		rest = after
	}
	return list
}

// TestMemGetAllocatesNothing: a record that stands is read like a string.
func TestMemGetAllocatesNothing(t *testing.T) {
	_, c := newTestClient(t)
	if r := c.say("MEM.SET", "ai:user_123:session_456:preference", `{"tea":"green"}`); r != ":1\r\n" {
		t.Fatal(r)
	}
	argv := [][]byte{[]byte("MEM.GET"), []byte("ai:user_123:session_456:preference")}
	out := make([]byte, 0, 1024)
	if n := fewestAllocations(func() { out, _ = c.session.Execute(out[:0], argv) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if string(out) != "$15\r\n{\"tea\":\"green\"}\r\n" {
		t.Errorf("%q", out)
	}
}

// TestMemNSListPages walks more records than a page has, of several owners, while
// some come and go.
func TestMemNSListPages(t *testing.T) {
	_, c := newTestClient(t)
	var want []string
	for i := range 2500 {
		key := fmt.Sprintf("ai:u%d:s:k%04d", i/900, i)
		c.say("MEM.SET", key, "1", "KIND", "session")
		want = append(want, key)
	}
	var got []string
	cursor := "0"
	for page := 0; ; page++ {
		list := bulks(t, c.say("MEM.NS", "LIST", "ai", "CURSOR", cursor))
		cursor = list[0]
		got = append(got, list[1:]...)
		if cursor == "0" {
			break
		}
		if page > 3 || len(list) != 1+namespacePage {
			t.Fatalf("page %d has %d keys", page, len(list)-1)
		}
		// What is listed already may go; the cursor's own key too.
		c.say("MEM.FORGET", "KEYS", "1", cursor)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d keys listed, %d are there", len(got), len(want))
	}
}

// TestMemRecallIsExact: however few are wanted, they are the first of all. Ages
// and confidences differ so much that text alone does not decide.
func TestMemRecallIsExact(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s, c := newTestClient(t)
	words := strings.Fields("tea green rain cat city home work sun bus book road sea")
	for i := range 900 {
		text := ""
		for range 1 + r.IntN(8) {
			text += words[r.IntN(len(words))] + " "
		}
		c.say("MEM.SET", fmt.Sprintf("ai:u:s%d:k%d", r.IntN(4), i), text, "TEXT", "KIND", "semantic",
			"CONFIDENCE", strconv.FormatFloat(r.Float64(), 'f', 3, 64),
			"TIME", strconv.FormatInt(s.clock.nowMs-r.Int64N(400*24*3600*1000), 10))
	}
	keys := func(args ...string) []string {
		var list []string
		for _, text := range bulks(t, c.say(append([]string{"MEM.RECALL", "ai:u", "QUERY", "tea city"}, args...)...)) {
			if strings.HasPrefix(text, "ai:u:s") {
				list = append(list, text)
			}
		}
		return list
	}
	for _, options := range [][]string{nil, {"WEIGHTS", "1", "1", "1"}, {"WEIGHTS", "1", "0", "5"}, {"SESSION", "s1", "HALFLIFE", "1000000"}} {
		all := keys(append(options, "TOPK", "1000")...)
		for _, k := range []int{1, 10, 40} {
			if some := keys(append(options, "TOPK", strconv.Itoa(k))...); !slices.Equal(some, all[:k]) {
				t.Errorf("%v TOPK %d: %v, want %v", options, k, some, all[:k])
			}
		}
	}
}

// TestMemRepliesWaitForTheirKind: profile and semantic writes, and who reads them,
// wait until they are durable; session and working ones do not. VERIFY waits for
// the whole chain.
func TestMemRepliesWaitForTheirKind(t *testing.T) {
	for _, test := range []struct {
		lines []string
		gate  uint64
	}{
		{[]string{"MEM.SET ai:u:s:a 1 KIND session"}, 0},
		{[]string{"MEM.SET ai:u:s:a 1 KIND working"}, 0},
		{[]string{"MEM.SET ai:u:s:a 1 KIND profile"}, 1},
		{[]string{"MEM.SET ai:u:s:a 1 KIND semantic"}, 1},
		{[]string{"MEM.SET ai:u:s:a {} KIND profile", "MEM.PATCH ai:u:s:a {\"a\":1}"}, 2},
		{[]string{"MEM.SET ai:u:s:a 1 KIND profile", "MEM.FORGET KEYS 1 ai:u:s:a"}, 2},
		{[]string{"MEM.SET ai:u:s:a 1 KIND profile", "EXPIRE ai:u:s:a 100"}, 2},
		{[]string{"MEM.SET ai:u:s:a 1 KIND profile", "MEM.SET ai:u:s:b 1 KIND session"}, 1},
		{[]string{"MEM.SET ai:u:s:a 1 KIND session", "MEM.AUDIT ai:u VERIFY"}, 1},
		{[]string{"MEM.SET ai:u:s:a 1 KIND session", "MEM.AUDIT ai:u"}, 0},
	} {
		s, writer := newTestClient(t)
		for _, line := range test.lines {
			if r := writer.say(strings.Fields(line)...); r[0] == '-' {
				t.Fatalf("%s: %s", line, r)
			}
		}
		if gate := writer.session.GateSeq(); gate != test.gate {
			t.Errorf("%v: the reply waits for batch %d, want %d", test.lines, gate, test.gate)
		}
		if strings.Contains(test.lines[len(test.lines)-1], "VERIFY") {
			continue
		}
		for _, read := range []string{"MEM.GET ai:u:s:a", "MEM.RECALL ai:u", "MEM.HISTORY ai:u:s:b"} {
			reader := s.connect(2)
			reader.say(strings.Fields(read)...)
			if gate := reader.session.GateSeq(); gate != test.gate {
				t.Errorf("%v, then %s: waits for batch %d, want %d", test.lines, read, gate, test.gate)
			}
		}
	}
}

// TestMemManyClients writes, patches, rolls back, recalls and audits at once.
// Versions count every write, and a recall sees what was acknowledged before it.
func TestMemManyClients(t *testing.T) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	var group sync.WaitGroup
	const writers, rounds = 4, 40
	clients := make([]*testClient, writers)
	for g := range clients {
		clients[g] = s.connect(2)
	}
	for g, c := range clients {
		group.Go(func() {
			for i := range rounds {
				word := fmt.Sprintf("w%dx%d", g, i)
				own := fmt.Sprintf("ai:u%d:s:k%d", i%2, g)
				c.say("MEM.PATCH", own, `{"word":"`+word+`"}`)
				if r := c.say("MEM.RECALL", "ai:u"+strconv.Itoa(i%2), "QUERY", word, "TOPK", "1"); !strings.Contains(r, own) {
					t.Errorf("%s is not recalled: %q", word, r)
				}
				if r := c.say("MEM.PATCH", "ai:shared:s:all", `{"`+word+`":1}`); r[0] != ':' {
					t.Errorf("%q", r)
				}
				c.say("MULTI")
				c.say("MEM.SET", "ai:u1:s:x", "1", "KIND", "session")
				c.say("MEM.SET", "ai:u0:s:x", "1", "KIND", "session")
				if r := c.say("EXEC"); r[0] != '*' {
					t.Errorf("%q", r)
				}
				if i%8 == 0 {
					if r := c.say("MEM.ROLLBACK", "ai:shared:s:all", "VERSION", "1"); r[0] != ':' {
						t.Errorf("%q", r)
					}
					if list := bulks(t, c.say("MEM.AUDIT", "ai:u0", "VERIFY")); len(list) < 3 {
						t.Errorf("%v", list)
					}
				}
			}
		})
	}
	group.Wait()
	want := writers * (rounds + rounds/8)
	c := s.connect(2)
	if r := c.say("MEM.GET", "ai:shared:s:all", "WITHMETA"); !strings.Contains(r, "version\r\n:"+strconv.Itoa(want)+"\r\n") {
		t.Errorf("want version %d: %q", want, r)
	}
	for _, owner := range []string{"ai:u0", "ai:u1", "ai:shared"} {
		if r := c.say("MEM.AUDIT", owner, "VERIFY"); !strings.Contains(r, "ok\r\n:1\r\n") {
			t.Errorf("%s: %q", owner, r)
		}
	}
	if err := s.core.Engine.Check(); err != nil {
		t.Error(err)
	}
}

// TestMemHostileInput: a clear error each, nothing changed, the server goes on.
func TestMemHostileInput(t *testing.T) {
	_, c := newTestClient(t)
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	c.say("MEM.SET", "ai:u:s:a", `{"a":1}`)
	for _, line := range [][]string{
		{"MEM.SET", "ai:u:s:a", deep},
		{"MEM.SET", "ai:u:s:a", strings.Repeat(`{"a":`, 100_000)},
		{"MEM.SET", "ai:u:s:a", "1", "META", deep},
		{"MEM.SET", "ai:u:s:a", `"` + strings.Repeat("x", 8<<20) + `"`},
		{"MEM.SET", "ai:u:s:" + strings.Repeat("k", 1025), "1"},
		{"MEM.SET", "ai:u:s:a", "1", "BY", strings.Repeat("b", 257)},
		{"MEM.SET", "ai:u:s:a", "1", "REASON", strings.Repeat("b", 4097)},
		{"MEM.SET", "ai:u:s:a", "1", "ANCHOR", strings.Repeat("b", 65537)},
		{"MEM.SET", "ai:u:s:a", "1", "ID", strings.Repeat("b", 257)},
		{"MEM.SET", "ai:u:s:a", "1", "BY", "\xff"},
		append([]string{"MEM.SET", "ai:u:s:a", "1", "TAGS", "65"}, strings.Fields(strings.Repeat("t ", 65))...),
		{"MEM.PATCH", "ai:u:s:a", deep},
		{"MEM.PATCH", "ai:u:s:a", deep, "RFC6902"},
		{"MEM.PATCH", "ai:u:s:a", `[{"op":"add","path":"/` + strings.Repeat("a/", 100_000) + `","value":1}]`, "RFC6902"},
		{"MEM.GET", "ai:u:s:a", "PATH", "$" + strings.Repeat("[0]", 100_000)},
		{"MEM.GET", "ai:u:s:a", "PATH", "$[?" + strings.Repeat("(", 4000)},
		{"MEM.RECALL", "ai:u", "QUERY", strings.Repeat("x ", 40_000)},
		{"MEM.RECALL", strings.Repeat("*", 2000)},
		{"MEM.AUDIT", strings.Repeat("a:", 600)},
		{"MEM.NS", "LIST", "ai:\x00"},
	} {
		if r := c.say(line...); !strings.HasPrefix(r, "-ERR ") || strings.Count(r, "\r\n") != 1 || len(r) > 500 {
			t.Errorf("%.60q: %.200q", line, r)
		}
	}
	if r := c.say("MEM.GET", "ai:u:s:a", "WITHMETA"); !strings.Contains(r, `{"a":1}`) || !strings.Contains(r, "version\r\n:1\r\n") {
		t.Errorf("%q", r)
	}
}

// TestLoadIsOneMoment: of owners that change in one transaction a load that shares
// them sees none or all of it.
func TestLoadIsOneMoment(t *testing.T) {
	s, writer := newTestClient(t)
	write := func(n int) {
		writer.say("MULTI")
		for _, key := range []string{"ai:me:s:a", "ai:all:s:a", "ai:zoe:s:a"} {
			writer.say("MEM.SET", key, fmt.Sprintf("fact number %s %d", key, n), "TEXT", "KIND", "semantic")
		}
		writer.say("EXEC")
	}
	write(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 400 {
			write(n)
		}
	}()
	reader, loads := s.connect(2), 0
	for running := true; running; loads++ {
		select {
		case <-done:
			running = false
		default:
		}
		values := loadedNumbers(reader.say("MEM.LOAD", "ai:me", "SHARED", "ai:*", "FORMAT", "JSON"))
		if len(values) != 3 || values[0] != values[1] || values[1] != values[2] {
			t.Fatalf("load %d: %q", loads, values)
		}
	}
	<-done
}

var loadedNumber = regexp.MustCompile(`fact number \S+ (\d+)`)

func loadedNumbers(reply string) (numbers []string) {
	for _, found := range loadedNumber.FindAllStringSubmatch(reply, -1) {
		numbers = append(numbers, found[1])
	}
	return numbers
}

// prunedArchive is an archive whose history no longer has the first versions.
type prunedArchive struct{ seq uint64 }

func (prunedArchive) History(uint32, []byte, uint64, uint64, bool, func(uint64, int64, *effect.Effect) bool) error {
	return nil
}

func (prunedArchive) Events(uint32, []byte, uint64, uint64, bool, func(uint64, int64, []byte) bool) error {
	return nil
}

func (prunedArchive) Items(uint32, []byte, uint64, uint64, uint64, func(uint64, []byte)) error {
	return nil
}

func (a prunedArchive) Pruned(uint32, []byte) (uint64, error) { return a.seq, nil }

func (prunedArchive) Names(uint32, []byte, func([]byte)) error { return nil }

// TestMemPastTheRetention is an error, never a guess.
func TestMemPastTheRetention(t *testing.T) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool(), Archive: prunedArchive{2}})
	c := s.connect(2)
	for i := range 4 {
		c.say("MEM.SET", "ai:u:s:a", strconv.Itoa(i+1), "ID", "c"+strconv.Itoa(i+1))
		if i == 1 {
			s.core.Engine.Checkpointed(2)
		}
	}
	for line, want := range map[string]string{
		"MEM.GET ai:u:s:a VERSION 3":             "$1\r\n3\r\n",
		"MEM.GET ai:u:s:a VERSION 2":             "-ERR that is before the retained history\r\n",
		"MEM.GET ai:u:s:a VERSION 9":             "$-1\r\n",
		"MEM.GET ai:u:s:a AT seq:3":              "$1\r\n3\r\n",
		"MEM.GET ai:u:s:a AT seq:1":              "-ERR that is before the retained history\r\n",
		"MEM.GET ai:u:s:a AT 1000":               "-ERR that is before the retained history\r\n",
		"MEM.ROLLBACK ai:u:s:a VERSION 1":        "-ERR that is before the retained history\r\n",
		"MEM.ROLLBACK ai:u:s:a AT seq:1":         "-ERR that is before the retained history\r\n",
		"MEM.SET ai:u:s:a 1 ID c1":               ":1\r\n",
		"MEM.SET ai:u:s:a 1 ID c1 RETURN RECORD": "-ERR the version that this command id made is no longer retained\r\n",
		"MEM.GET ai:u:s:a":                       "$1\r\n4\r\n",
	} {
		if r := c.say(strings.Fields(line)...); r != want {
			t.Errorf("%s: %q, want %q", line, r, want)
		}
	}
}
