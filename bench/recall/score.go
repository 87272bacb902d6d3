package main

// This file owns the figures: recall at a depth, by category, and percentiles.
// It must not know the server.

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// depths are how many of the first records are looked at.
var depths = [...]int{5, 10, 25, 50}

// topK is how many records a question asks for.
const topK = 50

// isHeldOut says whether a conversation is of the half that nobody looks at who
// chooses a weight: every second one of the file.
func isHeldOut(conversation int) bool { return conversation%2 == 1 }

// categoryNames are LoCoMo's; index 0 is all of them.
var categoryNames = [...]string{"all", "multi-hop", "temporal", "open-domain", "single-hop", "adversarial"}

// recallAt answers the share of the evidence among the first depth turns found,
// 1 if there is none to find.
func recallAt(depth int, found, evidence []string) float64 {
	if len(evidence) == 0 {
		return 1
	}
	n := 0
	for _, id := range evidence {
		if slices.Contains(found[:min(depth, len(found))], id) {
			n++
		}
	}
	return float64(n) / float64(len(evidence))
}

// tally sums up questions, by category and all together.
type tally struct {
	counts [len(categoryNames)]int
	sums   [len(categoryNames)][len(depths)]float64
}

// add counts a question whose turns were found in that order, an error if its
// category is not known.
func (t *tally) add(q question, found []string) error {
	if q.category < 1 || q.category >= len(categoryNames) {
		return fmt.Errorf("question %q has the unknown category %d", q.text, q.category)
	}
	for _, category := range [2]int{0, q.category} {
		t.counts[category]++
		for i, depth := range depths {
			t.sums[category][i] += recallAt(depth, found, q.evidence)
		}
	}
	return nil
}

// mean answers the recall at depths[i] of a category.
func (t *tally) mean(category, i int) float64 {
	return t.sums[category][i] / float64(t.counts[category])
}

// write prints a line per category that has questions, and one for all.
func (t *tally) write(w io.Writer) {
	for category := len(categoryNames) - 1; category >= 0; category-- {
		if t.counts[category] == 0 {
			continue
		}
		fmt.Fprintf(w, "%-11s %5d questions", categoryNames[category], t.counts[category])
		for i, depth := range depths {
			fmt.Fprintf(w, "  R@%d %.3f", depth, t.mean(category, i))
		}
		fmt.Fprintln(w)
	}
}

// percentile answers the smallest duration that share of all do not exceed.
// The durations get sorted.
func percentile(durations []time.Duration, share float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	return durations[max(int(math.Ceil(share*float64(len(durations))))-1, 0)]
}
