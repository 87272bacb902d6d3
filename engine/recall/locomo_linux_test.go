// This file owns a check of recall on real conversations, outside of the
// project. It is skipped unless REMINIS_LOCOMO names the file.

package recall

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type locomoSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

func readLocomo(t testing.TB) []locomoSample {
	path := os.Getenv("REMINIS_LOCOMO")
	if path == "" {
		t.Skip("REMINIS_LOCOMO does not name locomo10.json")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var samples []locomoSample
	if err := json.Unmarshal(data, &samples); err != nil {
		t.Fatal(err)
	}
	return samples
}

// turns calls visit for each turn in the order of the sessions.
func (s *locomoSample) turns(t testing.TB, visit func(session int, turn locomoTurn, text string)) {
	for n := 1; ; n++ {
		raw, ok := s.Conversation[fmt.Sprintf("session_%d", n)]
		if !ok {
			if _, dated := s.Conversation[fmt.Sprintf("session_%d_date_time", n)]; dated {
				continue
			}
			return
		}
		var turns []locomoTurn
		var date string
		if err := json.Unmarshal(raw, &turns); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(s.Conversation[fmt.Sprintf("session_%d_date_time", n)], &date); err != nil {
			t.Fatal(err)
		}
		for _, turn := range turns {
			text := turn.Speaker + ": " + turn.Text
			if turn.Caption != "" {
				text += " [shared " + turn.Caption + "]"
			}
			visit(n, turn, text+" ("+date+")")
		}
	}
}

// threadTime is the processor time of the calling thread, which waiting for
// other work of the machine does not count into.
func threadTime(t testing.TB) time.Duration {
	var spec unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &spec); err != nil {
		t.Fatal(err)
	}
	return time.Duration(spec.Nano())
}

func TestLocomoEvidenceRecall(t *testing.T) {
	samples := readLocomo(t)
	depths := []int{5, 10, 25, 50}
	sums := map[int][]float64{}
	counts := map[int]int{}
	for i := range samples {
		sample := &samples[i]
		x := NewIndex()
		var names []string
		sample.turns(t, func(session int, turn locomoTurn, text string) {
			hash := fnv.New64a()
			fmt.Fprintf(hash, "%s:%d", sample.ID, session)
			names = append(names, turn.ID)
			x.Add(Doc{ID: uint64(len(names)), Text: text, Group: hash.Sum64(), Order: int64(len(names))})
		})
		v := x.View()
		var s Searcher
		for _, qa := range sample.QA {
			var found []string
			for _, hit := range s.Search(v, Query{Text: qa.Question, Limit: 50, Neighbours: DefaultNeighbours}).Hits {
				found = append(found, names[hit.ID-1])
			}
			for _, category := range []int{0, qa.Category} {
				counts[category]++
				if sums[category] == nil {
					sums[category] = make([]float64, len(depths))
				}
				for d, depth := range depths {
					share := 1.0
					if len(qa.Evidence) > 0 {
						n := 0
						for _, evidence := range qa.Evidence {
							if slices.Contains(found[:min(depth, len(found))], evidence) {
								n++
							}
						}
						share = float64(n) / float64(len(qa.Evidence))
					}
					sums[category][d] += share
				}
			}
		}
	}
	for category := range 6 {
		var line strings.Builder
		for d, depth := range depths {
			fmt.Fprintf(&line, " R@%d %.3f", depth, sums[category][d]/float64(counts[category]))
		}
		t.Logf("category %d (%d):%s", category, counts[category], line.String())
	}
	if got := sums[0][0] / float64(counts[0]); got < 0.60 {
		t.Errorf("R@5 %.3f, want at least 0.60", got)
	}
	if got := sums[0][1] / float64(counts[0]); got < 0.69 {
		t.Errorf("R@10 %.3f, want at least 0.69", got)
	}
}

// TestLocomoCost asks all questions of one owner that holds all conversations
// and as many copies of them as make 10,000 records.
func TestLocomoCost(t *testing.T) {
	samples := readLocomo(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, records := range []int{10_000, 200_000} {
		x := NewIndex()
		var questions []string
		id := uint64(0)
		for round := 0; int(id) < records; round++ {
			for i := range samples {
				samples[i].turns(t, func(session int, _ locomoTurn, text string) {
					if int(id) < records {
						id++
						x.Add(Doc{ID: id, Text: text, Group: uint64(round*1000_000 + i*1000 + session), Order: int64(id)})
					}
				})
				if round == 0 {
					for _, qa := range samples[i].QA {
						questions = append(questions, qa.Question)
					}
				}
			}
		}
		start := threadTime(t)
		x.Build()
		t.Logf("%d records: built in %v, %+v", records, threadTime(t)-start, x.Stats())
		v := x.View()
		var s Searcher
		var costs []time.Duration
		var total time.Duration
		scanned, pruned := 0, 0
		for _, q := range questions {
			began := threadTime(t)
			scanned += s.Search(v, Query{Text: q, Limit: 50, Neighbours: DefaultNeighbours}).Scanned
			costs = append(costs, threadTime(t)-began)
			total += costs[len(costs)-1]
			if len(s.positions) > 0 {
				pruned++
			}
		}
		slices.Sort(costs)
		n := len(costs)
		t.Logf("%d records: CPU of a query: mean %v, p50 %v, p99 %v, max %v; %d scanned, %d of %d pruned", records,
			total/time.Duration(n), costs[n/2], costs[n*99/100], costs[n-1], scanned/n, pruned, n)
	}
}
