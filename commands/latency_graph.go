package commands

import (
	"fmt"
	"slices"
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns LATENCY GRAPH: an event's history drawn with letters, as Redis
// draws it. It must not know how delays are collected.

// A graph has as many columns at most, and is as high without its labels. A row
// tells three heights.
const (
	graphColumns = 80
	graphRows    = 4
	graphSteps   = "_o#"
	graphAbove   = '|' // where a column goes on in the row above
)

func latencyGraphCommand() *Command {
	return onSession(Declaration{
		Name: "graph", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Return a latency graph for the event.",
		Flags:   latencyFlags, Tips: latencyTips(),
		Reply: reply.Verbatim(),
	}, grammar.Compile[latencyEventParams](
		grammar.Bytes("event", func(p *latencyEventParams) *[]byte { return &p.event }),
	), func(s *Session, p *latencyEventParams, w *reply.Writer) error {
		series, ok := s.Core.Observation.latency.named(string(p.event))
		if !ok {
			return errNoSamples(string(p.event))
		}
		w.Verbatim("txt", series.graph(string(p.event), s.Core.Engine.NowMs()/1000))
		return nil
	})
}

// graph draws the history as it looks at a moment.
func (l *latencySeries) graph(event string, nowSeconds int64) string {
	least, most := l.samples[0].ms, l.samples[0].ms
	for _, sample := range l.samples {
		least, most = min(least, sample.ms), max(most, sample.ms)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s - high %d ms, low %d ms (all time high %d ms)\n", event, most, least, l.maxMs)
	out.WriteString(strings.Repeat("-", graphColumns) + "\n")
	first := true
	for part := range slices.Chunk(l.samples, graphColumns) {
		if !first {
			out.WriteByte('\n')
		}
		first = false
		drawColumns(&out, part, least, most)
		drawAges(&out, part, nowSeconds)
	}
	return out.String()
}

// drawColumns draws samples between the least and the most.
func drawColumns(out *strings.Builder, samples []latencySample, least, most int64) {
	steps := int64(graphRows * len(graphSteps))
	for row := range graphRows {
		below := int64(graphRows-1-row) * int64(len(graphSteps))
		for _, sample := range samples {
			height := min((sample.ms-least)*steps/max(1, most-least), steps-1) - below
			switch {
			case height < 0:
				out.WriteByte(' ')
			case height < int64(len(graphSteps)):
				out.WriteByte(graphSteps[height])
			default:
				out.WriteByte(graphAbove)
			}
		}
		out.WriteByte('\n')
	}
}

// drawAges writes how long ago each sample was from top to bottom, below an empty
// row.
func drawAges(out *strings.Builder, samples []latencySample, nowSeconds int64) {
	ages, longest := make([]string, len(samples)), 0
	for i, sample := range samples {
		ages[i] = age(nowSeconds - sample.atSeconds)
		longest = max(longest, len(ages[i]))
	}
	for row := -1; row < longest; row++ {
		for _, text := range ages {
			if row < 0 || row >= len(text) {
				out.WriteByte(' ')
			} else {
				out.WriteByte(text[row])
			}
		}
		out.WriteByte('\n')
	}
}

// age is a time in its largest whole unit.
func age(seconds int64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 86400:
		return fmt.Sprintf("%dh", seconds/3600)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}
