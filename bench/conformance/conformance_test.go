package main

// This file owns the comparisons themselves: Redis with Redis, which finds
// faults of the comparison, and ours with Redis, which finds ours.

import (
	"errors"
	"flag"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reminis/bench/launch"
)

// Sizes and seed of the comparison with our server; a failure prints both.
var (
	linesFlag = flag.Int("conformance.lines", 20_000, "command lines per protocol that ours is compared with")
	seedFlag  = flag.Uint64("conformance.seed", 1, "the first case's seed")
)

// startRedis returns the address of a real Redis 7.0.
func startRedis(t *testing.T) string {
	t.Helper()
	path, err := launch.Find("redis-server")
	if errors.Is(err, launch.ErrNotInstalled) {
		t.Skip("redis-server is not installed")
	}
	return start(t, path)
}

func start(t *testing.T, path string) string {
	t.Helper()
	s, err := launch.Start(path, t.TempDir(), "--save", "", "--appendonly", "no")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s.Addr
}

func compareServers(t *testing.T, ours, peer string, seed uint64, count int) {
	t.Helper()
	lines, err := chosen("", ours)
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []int{2, 3} {
		var report strings.Builder
		r := runner{out: &report, ours: ours, peer: peer, protocol: protocol, lines: lines, tallies: map[string]*tally{}}
		err := r.run(seed, count)
		r.printTallies()
		if err != nil || r.reported > 0 {
			t.Errorf("%v\n%s", err, report.String())
			continue
		}
		t.Log(report.String())
		for name, tally := range r.tallies {
			if tally.lines > 100 && tally.errors == tally.lines {
				t.Errorf("all %d lines of %q are errors: the template generates nothing valid", tally.lines, name)
			}
		}
	}
	var report strings.Builder
	differing, err := compareRaw(&report, ours, peer)
	if err != nil || differing > 0 {
		t.Errorf("%v\n%s", err, report.String())
	}
}

func TestRedisEqualsRedis(t *testing.T) {
	compareServers(t, startRedis(t), startRedis(t), 1000, 3000)
}

func TestReminisEqualsRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server and compares tens of thousands of lines")
	}
	peer := startRedis(t)
	sources, err := filepath.Glob("../../cmd/reminis/*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) == 0 {
		t.Skip("there is no ./cmd/reminis to build")
	}
	path, err := launch.Build(t.TempDir(), "reminis/cmd/reminis")
	if err != nil {
		t.Fatal(err)
	}
	compareServers(t, start(t, path), peer, *seedFlag, *linesFlag)
}

// TestTemplates shows what the template language yields.
func TestTemplates(t *testing.T) {
	values := map[string]drawer{"key": anyOf("k"), "pair": func(*rand.Rand) [][]byte { return text("a", "b") }}
	tests := []struct {
		template string
		literals string
		want     []string // all lines that may come of it
	}{
		{"GET key", "GET", []string{"GET k"}},
		{"G (A|B key)", "GAB", []string{"G A", "G B k"}},
		{"G [A]", "GA", []string{"G", "G A"}},
		{"G key...", "G", []string{"G k", "G k k", "G k k k"}},
		{"G [A] [B]", "GAB", []string{"G", "G A", "G B", "G A B", "G B A"}},
		{"G pair", "G", []string{"G a b"}},
		{"G [A [B]]", "GAB", []string{"G", "G A", "G A B"}},
	}
	for _, tt := range tests {
		nodes, err := compileTemplate(tt.template, values)
		if err != nil {
			t.Errorf("%q: %v", tt.template, err)
			continue
		}
		r := rand.New(rand.NewPCG(1, 2))
		seen := map[string]bool{}
		for range 2000 {
			words := expand(r, nil, nodes)
			for i, word := range words {
				// Literals come in lower case at times; values do not.
				if strings.Contains(tt.literals, strings.ToUpper(string(word))) {
					words[i] = []byte(strings.ToUpper(string(word)))
				}
			}
			seen[strings.Join(asStrings(words), " ")] = true
		}
		for _, want := range tt.want {
			if !seen[want] {
				t.Errorf("%q never yields %q", tt.template, want)
			}
			delete(seen, want)
		}
		if len(seen) > 0 {
			t.Errorf("%q yields %v", tt.template, seen)
		}
	}
	for _, broken := range []string{"G (A", "G A)", "G [A|", "...", "G nosuch", "G ]"} {
		if _, err := compileTemplate(broken, values); err == nil {
			t.Errorf("%q was accepted", broken)
		}
	}
}

func asStrings(args [][]byte) []string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = string(arg)
	}
	return words
}

// TestDocumentedLines: Redis's documentation yields lines that Redis accepts, and
// the options that it declares come up.
func TestDocumentedLines(t *testing.T) {
	addr := startRedis(t)
	templates, err := documented(addr, families())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	seen := map[string]bool{}
	r := rand.New(rand.NewPCG(3, 3))
	for _, template := range templates {
		names = append(names, template[0].word)
		for range 300 {
			words := asStrings(expand(r, nil, template))
			for _, word := range words[1:] {
				seen[strings.ToUpper(words[0]+" … "+word)] = true
			}
		}
	}
	for _, name := range []string{"SET", "GETEX", "BITFIELD", "LCS", "COPY", "EXPIRE", "HRANDFIELD", "SCAN", "OBJECT", "RESTORE"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not documented: %v", name, names)
		}
	}
	for _, want := range []string{"SET … KEEPTTL", "SET … EXAT", "GETEX … PERSIST", "BITFIELD … OVERFLOW", "LCS … WITHMATCHLEN", "COPY … REPLACE", "EXPIRE … GT", "SCAN … TYPE", "OBJECT … ENCODING", "RESTORE … ABSTTL"} {
		if !seen[want] {
			t.Errorf("%s never comes", want)
		}
	}
}

// TestLinesAreTheirSeed: a seed is all that a report needs to name.
func TestLinesAreTheirSeed(t *testing.T) {
	groups, err := compiled(families())
	if err != nil {
		t.Fatal(err)
	}
	lines := generated(groups)
	show := func(seed uint64) string {
		var all []string
		for l := range first(lines(seed), caseLines) {
			all = append(all, l.String())
		}
		return strings.Join(all, "\n")
	}
	one, again, two := show(1), show(1), show(2)
	if one != again || one == two {
		t.Error("lines do not follow from their seed")
	}
}

// TestNoDeadlinePasses looks for deadlines that would pass within a case.
func TestNoDeadlinePasses(t *testing.T) {
	for in, want := range map[string]string{
		"EXPIRE k 1":                  "EXPIRE k 100000",
		"EXPIRE k -1":                 "EXPIRE k -1",
		"SET k 1 EX 10":               "SET k 1 EX 100000",
		"SET k 1 exat 10":             "SET k 1 exat 4000000000000",
		"GETEX k 2":                   "GETEX k 2",
		"EXPIREAT k 1":                "EXPIREAT k 1",
		"SETEX k 5 5":                 "SETEX k 100000 100000",
		"INCRBY k 5":                  "INCRBY k 5",
		"RESTORE k 9 payload replace": "RESTORE k 100000 payload replace",
	} {
		got := strings.Join(asStrings(longLived(text(strings.Fields(in)...))), " ")
		if got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestShrinkKeepsWhatMatters(t *testing.T) {
	var lines []line
	for i := range 100 {
		lines = append(lines, line{args: text("ECHO", string(rune('0'+i%10)), "more")})
	}
	lines[13].args = text("SET", "k", "v", "extra")
	lines[77].args = text("GET", "k", "extra")
	has := func(lines []line, want string) bool {
		return slices.ContainsFunc(lines, func(l line) bool { return strings.HasPrefix(l.String(), "0> "+want) })
	}
	left := shrink(lines, func(candidate []line) bool { return has(candidate, "SET k") && has(candidate, "GET") })
	if len(left) != 2 || left[0].String() != "0> SET k" || left[1].String() != "0> GET" {
		t.Errorf("left: %v", left)
	}
}

func TestAroundShowsWhereRepliesPart(t *testing.T) {
	long := strings.Repeat("same ", 200)
	for _, tt := range []struct{ ours, peer, wantOurs, wantPeer string }{
		{":1", ":2", ":1", ":2"},
		{"", "+OK", "", "+OK"},
		{long + "one", long + "two", "… " + strings.Repeat("same ", 20) + "one", "… " + strings.Repeat("same ", 20) + "two"},
		{"a" + long, "b" + long, ("a" + long)[:300] + " …", ("b" + long)[:300] + " …"},
	} {
		if ours, peer := around(tt.ours, tt.peer); ours != tt.wantOurs || peer != tt.wantPeer {
			t.Errorf("got %q and %q", ours, peer)
		}
	}
}
