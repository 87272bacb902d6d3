package commands

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// This file owns the test that a recall which looks at few hits answers what one
// that looks at all does.

// TestRecallOfFewIsThatOfMany: the first of a recall are those of a larger one, also
// where age, confidence and the session change the order of hits, and many say the
// same.
func TestRecallOfFewIsThatOfMany(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		s, c := newTestClient(t)
		const records = 700
		for i, line := range spokenLines(r, records) {
			if r.IntN(4) == 0 {
				line = "w1 w2 w3 w4 w5 w6 w7 w8"
			}
			at := s.clock.nowMs - r.Int64N(400*86400*1000)
			c.say("MEM.SET", fmt.Sprintf("ai:u:s%d:%d", i%7, i), line, "TEXT", "KIND", []string{"semantic", "session", "profile"}[r.IntN(3)],
				"CONFIDENCE", fmt.Sprint(r.Float64()), "TIME", strconv.FormatInt(at, 10), "EX", "999999")
		}
		for range 20 {
			query := fmt.Sprintf("w%d w%d w%d", r.IntN(8), r.IntN(60), r.IntN(400))
			words := []string{"MEM.RECALL", "ai:u", "QUERY", query, "SESSION", "s3", "NEIGHBOURS", fmt.Sprint(r.IntN(3)), "TOPK"}
			all := hitsOf(t, c.say(append(words, "1000")...))
			few := 1 + r.IntN(60)
			got, want := hitsOf(t, c.say(append(words, fmt.Sprint(few))...)), all[:min(few, len(all))]
			if strings.Join(got, "") != strings.Join(want, "") {
				t.Fatalf("seed %d, %q, TOPK %d:\n got %d %q\nwant %d %q", seed, query, few, len(got), got, len(want), want)
			}
		}
	}
}

// hitsOf are the hits of a reply, each as it is written.
func hitsOf(t *testing.T, reply string) []string {
	t.Helper()
	if !strings.HasPrefix(reply, "*") {
		t.Fatal(reply)
	}
	return strings.Split(reply, "*14\r\n$3\r\nkey")[1:]
}

// spokenLines makes lines of words whose frequencies fall as their ranks grow.
func spokenLines(r *rand.Rand, lines int) []string {
	zipf := rand.NewZipf(r, 1.1, 8, 20_000)
	list := make([]string, lines)
	for i := range list {
		var line strings.Builder
		for range 10 + r.IntN(30) {
			fmt.Fprintf(&line, "w%d ", zipf.Uint64())
		}
		list[i] = line.String()
	}
	return list
}
