package commands

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
)

// This file compares distances that are stored as scores with a redis-server's, to
// the last digit in all but a few of a thousand: C's sines are not always the nearest.

func TestStoredDistancesAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	_, client := newTestClient(t)
	const seed, points = 7, 1000
	r := rand.New(rand.NewPCG(seed, seed))
	line := []string{"GEOADD", "g"}
	for i := range points {
		line = append(line, fmt.Sprintf("%.6f", r.Float64()*360-180), fmt.Sprintf("%.6f", r.Float64()*170-85), fmt.Sprint("p", i))
	}
	search := func(store ...string) [][]string {
		return [][]string{
			line,
			append([]string{"GEOSEARCHSTORE"}, store...),
			{"ZRANGE", store[0], "0", "-1", "WITHSCORES"},
		}
	}
	for _, lines := range [][][]string{
		search("d", "g", "FROMLONLAT", "15.087269", "37.502669", "BYRADIUS", "30000", "km", "STOREDIST"),
		search("e", "g", "FROMMEMBER", "p7", "BYBOX", "20000", "20000", "mi", "STOREDIST"),
	} {
		for _, line := range lines {
			theirs, ours := strings.Fields(string(redis.Do(line...))), strings.Fields(client.say(line...))
			if len(theirs) != len(ours) {
				t.Fatalf("seed %d: %s gives %d words, and %d in redis", seed, line[0], len(ours), len(theirs))
			}
			others := 0
			for i := range theirs {
				if theirs[i] == ours[i] || theirs[i][0] == '$' {
					continue
				}
				others++
				their, _ := strconv.ParseFloat(theirs[i], 64)
				our, _ := strconv.ParseFloat(ours[i], 64)
				if math.Abs(our-their) > 1e-15*their {
					t.Errorf("seed %d: %s: %s, and %s in redis", seed, line[0], ours[i], theirs[i])
				}
			}
			if others > len(theirs)/100 {
				t.Errorf("seed %d: %s: %d of %d words differ", seed, line[0], others, len(theirs))
			}
		}
	}
}
