package commands

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file says of MEM.IMPORT what no transcript can: whatever happened to an
// owner's records, a copy is the same as they are, with their history, and copying
// again changes nothing.

// seqMember is what a copy cannot have: batches are numbered where they are made.
var seqMember = regexp.MustCompile(`"seq":\d+,`)

func exported(t testing.TB, c *testClient, scope string) []string {
	t.Helper()
	return bulks(t, c.say("MEM.EXPORT", scope, "WITHHISTORY", "COUNT", "1000"))[1:]
}

// withoutSeqs is lines as a copy of them has to be.
func withoutSeqs(lines []string) string {
	return seqMember.ReplaceAllString(strings.Join(lines, "\n"), "")
}

// drawChange is a line that changes a record of ai:u1 in some way that history
// tells of.
func drawChange(r *rand.Rand, n int) string {
	key := fmt.Sprintf("ai:u1:s%d:r%d", r.IntN(2), r.IntN(4))
	options := []string{"", " TAGS 2 a b", " CONFIDENCE 0.25 SOURCE chat", ` META {"m":1} REASON why BY agent TRACE t`, " VALIDUNTIL 1800000000000",
		" EX 5000", " PIN", " ANCHOR words", " TIME 1600000000000"}[r.IntN(9)]
	switch r.IntN(8) {
	case 0:
		return "MEM.FORGET KEYS 1 " + key
	case 1:
		return "MEM.ROLLBACK " + key + " VERSION 1"
	case 2:
		return fmt.Sprintf("MEM.SET %s text%d TEXT KIND semantic%s", key, n, options)
	case 3:
		return fmt.Sprintf("MEM.APPEND ai:u1:s0:turns KIND session EX 9000 ITEMS 1 %d", n)
	case 4:
		return fmt.Sprintf(`MEM.SET %s {"n":%d} KIND profile%s VECTOR %s`, key, n, options, `\x00\x00\x80?\x00\x00\x00\x00`)
	case 5:
		return fmt.Sprintf(`MEM.PATCH %s {"p":%d}%s`, key, n, options)
	}
	return fmt.Sprintf(`MEM.SET %s {"n":%d}%s`, key, n, options)
}

func TestImportIsWhatWasExported(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 31))
		_, from := newTestClient(t)
		_, to := newTestClient(t)
		changes := func() {
			for n := range 30 {
				from.do(words(t, drawChange(r, n))...)
			}
		}
		changes()
		for round := range 3 { // a copy that is brought up to date is one, too
			lines := exported(t, from, "ai:u1")
			state := func() string {
				return to.say("MEM.AUDIT", "ai:u1", "COUNT", "1000", "OP", "5", "init", "set", "patch", "append", "forget")
			}
			for _, pass := range []string{"written", "skipped"} {
				before := state()
				reply := bulksOrNumbers(to.say(append([]string{"MEM.IMPORT"}, lines...)...))
				if reply["failed"] != "0" || pass == "skipped" && (reply["skipped"] != fmt.Sprint(len(lines)) || state() != before) {
					t.Fatalf("seed %d, round %d, %s: %v of %d lines", seed, round, pass, reply, len(lines))
				}
				if have, want := withoutSeqs(exported(t, to, "ai:u1")), withoutSeqs(lines); have != want && round == 0 {
					t.Fatalf("seed %d, %s: %s", seed, pass, firstDifference(want, have))
				}
				if have, want := standing(t, to), standing(t, from); have != want {
					t.Fatalf("seed %d, round %d, %s: %s", seed, round, pass, firstDifference(want, have))
				}
			}
			if got := to.say("MEM.AUDIT", "ai:u1", "VERIFY"); !strings.Contains(got, "ok\r\n:1\r\n") {
				t.Fatalf("seed %d: %q", seed, got)
			}
			if err := to.server.core.Engine.Check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			changes()
		}
	}
}

// standing is what stands of ai:u1.
func standing(t *testing.T, c *testClient) string {
	t.Helper()
	lines := bulks(t, c.say("MEM.EXPORT", "ai:u1", "COUNT", "1000"))[1:]
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// bulksOrNumbers reads a map of numbers by name.
func bulksOrNumbers(reply string) map[string]string {
	numbers := map[string]string{}
	parts := strings.Split(strings.TrimSuffix(reply, "\r\n"), "\r\n")[1:]
	for ; len(parts) >= 3; parts = parts[3:] {
		numbers[parts[1]] = strings.TrimPrefix(parts[2], ":")
	}
	return numbers
}
