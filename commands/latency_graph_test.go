package commands

import (
	"strings"
	"testing"
)

// This file holds the graphs of LATENCY GRAPH to what redis-server 7.0.15 draws.

func TestLatencyGraph(t *testing.T) {
	const now = 1_000_000
	line := strings.Repeat("-", 80)
	for _, test := range []struct {
		samples []latencySample
		maxMs   int64
		want    []string
	}{
		{
			[]latencySample{{now - 5, 2}, {now - 4, 12}, {now - 3, 30}, {now - 2, 5}}, 30,
			[]string{"command - high 30 ms, low 2 ms (all time high 30 ms)", line,
				"  # ",
				"  | ",
				" o| ",
				"_||o",
				"    ",
				"5432",
				"ssss", ""},
		},
		{
			[]latencySample{{now - 100_000, 7}, {now - 7200, 7}, {now - 600, 7}}, 9,
			[]string{"command - high 7 ms, low 7 ms (all time high 9 ms)", line,
				"   ",
				"   ",
				"   ",
				"___",
				"   ",
				"121",
				"dh0",
				"  m", ""},
		},
	} {
		series := latencySeries{samples: test.samples, maxMs: test.maxMs}
		if have := series.graph("command", now); have != strings.Join(test.want, "\n") {
			t.Errorf("have\n%s\nwant\n%s", have, strings.Join(test.want, "\n"))
		}
	}
}

// TestLatencyGraphOfManySamples: after 80 columns a new graph begins.
func TestLatencyGraphOfManySamples(t *testing.T) {
	var series latencySeries
	for i := range int64(latencySamplesMax) {
		series.samples = append(series.samples, latencySample{i, i + 1})
	}
	lines := strings.Split(series.graph("e", latencySamplesMax), "\n")
	if blank := 2 + graphRows + 1 + len("2m"); len(lines) <= blank+1 || lines[blank] != "" || len(lines[blank+1]) != 80 {
		t.Errorf("the graph is\n%s", strings.Join(lines, "\n"))
	}
}
