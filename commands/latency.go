package commands

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns LATENCY: delays beyond latency-monitor-threshold as events with
// a history, and the distribution of every command's latencies. It must not know
// how commands are timed.

// latencySamplesMax is how many samples an event keeps (latency.h
// LATENCY_TS_LEN).
const latencySamplesMax = 160

// The events that are watched.
const (
	latencyCommands     = "command"
	latencyFastCommands = "fast-command"
	latencyExpiry       = "expire-cycle"
)

// latencySample is the worst delay of one second.
type latencySample struct{ atSeconds, ms int64 }

// latencySeries is the history of one event.
type latencySeries struct {
	samples []latencySample // the oldest first
	maxMs   int64
}

// latencyEvents are the events that happened, by name.
type latencyEvents struct {
	mu     sync.Mutex
	series map[string]*latencySeries
}

func (l *latencyEvents) note(event string, atSeconds, ms int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.series == nil {
		l.series = map[string]*latencySeries{}
	}
	series := l.series[event]
	if series == nil {
		series = &latencySeries{}
		l.series[event] = series
	}
	series.maxMs = max(series.maxMs, ms)
	if n := len(series.samples); n > 0 && series.samples[n-1].atSeconds == atSeconds {
		series.samples[n-1].ms = max(series.samples[n-1].ms, ms)
		return
	}
	if len(series.samples) == latencySamplesMax {
		series.samples = series.samples[1:]
	}
	series.samples = append(series.samples, latencySample{atSeconds, ms})
}

// named is a copy of one event's history.
func (l *latencyEvents) named(event string) (latencySeries, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	series, ok := l.series[event]
	if !ok {
		return latencySeries{}, false
	}
	return latencySeries{slices.Clone(series.samples), series.maxMs}, true
}

// names are the events that happened, in order.
func (l *latencyEvents) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name := range l.series {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// reset forgets events, all of them when none are named, and returns how many.
func (l *latencyEvents) reset(names []string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.series)
	if len(names) == 0 {
		l.series = nil
		return before
	}
	for _, name := range names {
		delete(l.series, name)
	}
	return before - len(l.series)
}

// noteLatency keeps a command's delay, if it is one.
func (k *Core) noteLatency(c *Command, took time.Duration) {
	event := latencyCommands
	if c.is(Fast) {
		event = latencyFastCommands
	}
	k.noteDelay(event, took)
}

// noteDelay keeps how long something took that clients had to wait for, if it is
// worth it.
func (k *Core) noteDelay(event string, took time.Duration) {
	threshold := k.Observation.LatencyMs.Load()
	if threshold <= 0 || took < time.Duration(threshold)*time.Millisecond {
		return
	}
	k.Observation.latency.note(event, k.Engine.NowMs()/1000, took.Milliseconds())
}

func latencyCommand() *Command {
	return container(Declaration{
		Name: "latency", Family: Server, Since: "2.8.13", Complexity: "Depends on subcommand.",
		Summary: "A container for latency diagnostics commands",
	},
		latencyDoctorCommand(), latencyGraphCommand(), latencyHistogramCommand(), latencyHistoryCommand(), latencyLatestCommand(), latencyResetCommand(),
		latencyHelpCommand(),
	)
}

const latencyFlags = Admin | NoScript | Loading | Stale

func latencyTips() []string {
	return []string{nondeterministicOutput, "request_policy:all_nodes", "response_policy:special"}
}

func latencyHelpCommand() *Command {
	help := helpSince("2.8.13", nil, "latency",
		"DOCTOR", "    Return a human readable latency analysis report.",
		"GRAPH <event>", "    Return an ASCII latency graph for the <event> class.",
		"HISTORY <event>", "    Return time-latency samples for the <event> class.",
		"LATEST", "    Return the latest latency samples for all events.",
		"RESET [<event> ...]", "    Reset latency data of one or more <event> classes.", "    (default: reset all data for all event classes)",
		"HISTOGRAM [COMMAND ...]", "    Return a cumulative distribution of latencies in the format of a histogram for the specified command names.",
		"    If no commands are specified then all histograms are replied.")
	help.Summary += "."
	return help
}

type latencyEventParams struct{ event []byte }

func latencyHistoryCommand() *Command {
	return onSession(Declaration{
		Name: "history", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Return timestamp-latency samples for the event.",
		Flags:   latencyFlags, Tips: latencyTips(),
		Reply: reply.ArrayOf(reply.Tuple(reply.Int(), reply.Int())),
	}, grammar.Compile[latencyEventParams](
		grammar.Bytes("event", func(p *latencyEventParams) *[]byte { return &p.event }),
	), func(s *Session, p *latencyEventParams, w *reply.Writer) error {
		series, _ := s.Core.Observation.latency.named(string(p.event))
		w.Array(len(series.samples))
		for _, sample := range series.samples {
			w.Array(2)
			w.Int(sample.atSeconds)
			w.Int(sample.ms)
		}
		return nil
	})
}

func latencyLatestCommand() *Command {
	return onSession(Declaration{
		Name: "latest", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Return the latest latency samples for all events.",
		Flags:   latencyFlags, Tips: latencyTips(),
		Reply: reply.ArrayOf(reply.Tuple(reply.Bulk(), reply.Int(), reply.Int(), reply.Int())),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		events := &s.Core.Observation.latency
		rows, n := w.DeferArray(2), 0
		for _, name := range events.names() {
			series, ok := events.named(name)
			if !ok {
				continue
			}
			last := series.samples[len(series.samples)-1]
			w.Array(4)
			w.BulkString(name)
			w.Int(last.atSeconds)
			w.Int(last.ms)
			w.Int(series.maxMs)
			n++
		}
		w.Close(rows, n)
		return nil
	})
}

type latencyResetParams struct{ events [][]byte }

func latencyResetCommand() *Command {
	return onSession(Declaration{
		Name: "reset", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Reset latency data for one or more events.",
		Flags:   latencyFlags, Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Reply: reply.Int(),
	}, grammar.Compile[latencyResetParams](
		grammar.Opt(grammar.Rest("event", func(p *latencyResetParams) *[][]byte { return &p.events })),
	), func(s *Session, p *latencyResetParams, w *reply.Writer) error {
		w.Int(int64(s.Core.Observation.latency.reset(texts(p.events))))
		return nil
	})
}

func latencyDoctorCommand() *Command {
	return onSession(Declaration{
		Name: "doctor", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Return a human readable latency analysis report.",
		Flags:   latencyFlags, Tips: latencyTips(),
		Reply: reply.Verbatim(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		w.Verbatim("txt", s.Core.latencyReport())
		return nil
	})
}

// latencyReport says in words what is known of delays.
func (k *Core) latencyReport() string {
	threshold := k.Observation.LatencyMs.Load()
	if threshold <= 0 {
		return "Latency monitoring is disabled. Set a threshold in milliseconds with CONFIG SET latency-monitor-threshold <ms>.\n"
	}
	var out strings.Builder
	for _, name := range k.Observation.latency.names() {
		series, ok := k.Observation.latency.named(name)
		if !ok {
			continue
		}
		sum := int64(0)
		for _, sample := range series.samples {
			sum += sample.ms
		}
		fmt.Fprintf(&out, "%s: %d seconds with a delay of at least %d ms; mean %d ms, worst ever %d ms. SLOWLOG GET names the commands.\n",
			name, len(series.samples), threshold, sum/int64(len(series.samples)), series.maxMs)
	}
	if out.Len() == 0 {
		return fmt.Sprintf("No delay of %d ms or more since the last LATENCY RESET.\n", threshold)
	}
	return out.String()
}

type latencyHistogramParams struct{ names [][]byte }

func latencyHistogramCommand() *Command {
	return onSession(Declaration{
		Name: "histogram", Since: "7.0.0", Complexity: "O(N) where N is the number of commands with latency information being retrieved.",
		Summary: "Return the cumulative distribution of latencies of a subset of commands or all.",
		Flags:   latencyFlags, Tips: latencyTips(),
		Reply: reply.MapOf(reply.Bulk(), reply.Record(
			reply.Field{Key: "calls", Value: reply.Int()}, reply.Field{Key: "histogram_usec", Value: reply.MapOf(reply.Int(), reply.Int())},
		)),
	}, grammar.Compile[latencyHistogramParams](
		grammar.Opt(grammar.Rest("command", func(p *latencyHistogramParams) *[][]byte { return &p.names })),
	), runLatencyHistogram)
}

func runLatencyHistogram(s *Session, p *latencyHistogramParams, w *reply.Writer) error {
	rows, n := w.DeferMap(10), 0
	write := func(c *Command) {
		if c.stats.latency.count() > 0 {
			w.BulkString(c.FullName())
			c.stats.latency.write(w)
			n++
		}
	}
	if len(p.names) == 0 {
		s.Core.Table.each(write)
	}
	for _, name := range p.names {
		c := s.Core.Table.byFullName(name)
		if c == nil {
			continue
		}
		write(c)
		for _, sub := range c.Subs {
			write(sub)
		}
	}
	w.Close(rows, n)
	return nil
}

// histogramStep is the first border of LATENCY HISTOGRAM in nanoseconds; each
// next one is twice as far.
const histogramStep = 1024

// write writes calls and their cumulative distribution over doubling borders, as
// latency.c fillCommandCDF does. A border is named by the largest value that
// Redis's histogram, of two decimal digits, does not tell from it.
func (h *histogram) write(w *reply.Writer) {
	w.Map(2)
	w.BulkString("calls")
	w.Int(h.count())
	w.BulkString("histogram_usec")
	borders, n := w.DeferMap(8), 0
	seen, written, bucket := int64(0), int64(0), 0
	for border := int64(histogramStep); bucket < len(h); border *= 2 {
		for bucket < len(h) && histogramEnd(bucket) <= border {
			seen += h[bucket].Load()
			bucket++
		}
		if seen > written {
			w.Int((border + border/128 - 1) / 1000)
			w.Int(seen)
			written = seen
			n++
		}
	}
	w.Close(borders, n)
}
