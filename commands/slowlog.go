package commands

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns SLOWLOG: the last commands that took long. It must not know how
// commands are timed.

// Observation is what is recorded of commands as they run. Each setting is safe
// to read and set at any time.
type Observation struct {
	// SlowMicroseconds is how long a command must take to be kept by SLOWLOG; a
	// negative number keeps none. SlowMax is how many are kept.
	SlowMicroseconds, SlowMax atomic.Int64
	// LatencyMs is from how long on a delay is an event of LATENCY; 0 is never.
	LatencyMs atomic.Int64

	slow     slowLog
	latency  latencyEvents
	monitors monitors
}

func (o *Observation) open() {
	o.SlowMicroseconds.Store(10_000)
	o.SlowMax.Store(128)
}

// Redis's bounds of an entry (slowlog.h).
const (
	slowArgumentsMax     = 32
	slowArgumentBytesMax = 128
)

// slowEntry is one slow command.
type slowEntry struct {
	id           int64
	atSeconds    int64
	microseconds int64
	argv         []string
	addr, name   string
}

// slowLog is the entries, the oldest first.
type slowLog struct {
	mu      sync.Mutex
	nextID  int64
	entries []slowEntry
}

// add keeps an entry and lets the oldest go.
func (l *slowLog) add(e slowEntry, most int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.id = l.nextID
	l.nextID++
	l.entries = append(l.entries, e)
	if excess := int64(len(l.entries)) - max(0, most); excess > 0 {
		l.entries = append(l.entries[:0:0], l.entries[excess:]...)
	}
}

// last is a copy of at most count entries, the newest first.
func (l *slowLog) last(count int64) []slowEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(count, int64(len(l.entries)))
	out := make([]slowEntry, 0, n)
	for i := range int(n) {
		out = append(out, l.entries[len(l.entries)-1-i])
	}
	return out
}

func (l *slowLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

func (l *slowLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// preciseArguments is from how many words on a fast command is measured by
// itself: what is O(1) for each argument may yet be slow.
const preciseArguments = 8

// preciseMicroseconds is the threshold below which all commands are.
const preciseMicroseconds = 1000

// precise says whether a call must be timed by itself for SLOWLOG's sake.
func (s *Session) precise(c *Command, argv [][]byte) bool {
	slow := s.Core.Observation.SlowMicroseconds.Load()
	return slow >= 0 && (!c.is(Fast) || len(argv) > preciseArguments || slow < preciseMicroseconds)
}

// endPrecise ends the call that runs and keeps it if it was slow.
func (s *Session) endPrecise(c *Command, argv [][]byte) {
	took := s.chargeTiming()
	s.noteSlow(c, argv, s.timing.now(), took)
}

// noteSlow keeps a command that took long.
func (s *Session) noteSlow(c *Command, argv [][]byte, at time.Time, took time.Duration) {
	o := &s.Core.Observation
	slow := o.SlowMicroseconds.Load()
	if slow < 0 || took.Microseconds() < slow || c.is(SkipSlowlog) {
		return
	}
	o.slow.add(slowEntry{
		atSeconds: at.Unix(), microseconds: took.Microseconds(), argv: s.slowArguments(c, argv),
		addr: s.Peer.RemoteAddr(), name: s.Name,
	}, o.SlowMax.Load())
}

// slowArguments copies a command line, without secrets and within bounds
// (slowlog.c slowlogCreateEntry).
func (s *Session) slowArguments(c *Command, argv [][]byte) []string {
	out := make([]string, 0, min(len(argv), slowArgumentsMax))
	for i, arg := range argv {
		if i == slowArgumentsMax-1 && len(argv) > slowArgumentsMax {
			return append(out, fmt.Sprintf("... (%d more arguments)", len(argv)-i))
		}
		switch {
		case s.secret(c, argv, i):
			out = append(out, redacted)
		case len(arg) > slowArgumentBytesMax:
			out = append(out, fmt.Sprintf("%s... (%d more bytes)", arg[:slowArgumentBytesMax], len(arg)-slowArgumentBytesMax))
		default:
			out = append(out, string(arg))
		}
	}
	return out
}

// redacted stands for a secret.
const redacted = "(redacted)"

// secret says whether word i of a command line must not be shown.
func (s *Session) secret(c *Command, argv [][]byte, i int) bool {
	return c.Secret != nil && i >= c.words() && c.Secret(s.Core, argv[c.words():], i-c.words())
}

// everyArgument is a Secret.
func everyArgument(*Core, [][]byte, int) bool { return true }

func slowLogCommand() *Command {
	return container(Declaration{
		Name: "slowlog", Family: Server, Since: "2.2.12", Complexity: "Depends on subcommand.",
		Summary: "A container for slow log commands",
	},
		slowLogGetCommand(), slowLogLenCommand(), slowLogResetCommand(),
		helpSince("6.2.0", nil, "slowlog",
			"GET [<count>]", "    Return top <count> entries from the slowlog (default: 10, -1 mean all).", "    Entries are made of:",
			"    id, timestamp, time in microseconds, arguments array, client IP and port,", "    client name",
			"LEN", "    Return the length of the slowlog.",
			"RESET", "    Reset the slowlog."),
	)
}

type slowLogGetParams struct{ count int64 }

func slowLogGetCommand() *Command {
	return onSession(Declaration{
		Name: "get", Since: "2.2.12", Complexity: "O(N) where N is the number of entries returned",
		Summary: "Get the slow log's entries",
		Flags:   Admin | Loading | Stale, Tips: []string{"request_policy:all_nodes", nondeterministicOutput},
		History: []Change{{"4.0.0", "Added client IP address, port and name to the reply."}},
		Reply:   reply.ArrayOf(reply.Tuple(reply.Int(), reply.Int(), reply.Int(), reply.ArrayOf(reply.Bulk()), reply.Bulk(), reply.Bulk())),
	}, grammar.Compile[slowLogGetParams](
		grammar.Opt(grammar.Int("count", func(p *slowLogGetParams) *int64 { return &p.count }).Default(10).Range(-1, math.MaxInt64).
			FailNumber("ERR count should be greater than or equal to -1")),
	).WithArity(-1, "a second argument is an error of the handler's"), runSlowLogGet)
}

func runSlowLogGet(s *Session, p *slowLogGetParams, w *reply.Writer) error {
	count := p.count
	if count < 0 {
		count = math.MaxInt64
	}
	entries := s.Core.Observation.slow.last(count)
	w.Array(len(entries))
	for i := range entries {
		e := &entries[i]
		w.Array(6)
		w.Int(e.id)
		w.Int(e.atSeconds)
		w.Int(e.microseconds)
		w.Array(len(e.argv))
		for _, arg := range e.argv {
			w.BulkString(arg)
		}
		w.BulkString(e.addr)
		w.BulkString(e.name)
	}
	return nil
}

func slowLogLenCommand() *Command {
	return onSession(Declaration{
		Name: "len", Since: "2.2.12", Complexity: "O(1)",
		Summary: "Get the slow log's length",
		Flags:   Admin | Loading | Stale,
		Tips:    []string{"request_policy:all_nodes", "response_policy:agg_sum", nondeterministicOutput},
		Reply:   reply.Int(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		w.Int(int64(s.Core.Observation.slow.len()))
		return nil
	})
}

func slowLogResetCommand() *Command {
	return onSession(Declaration{
		Name: "reset", Since: "2.2.12", Complexity: "O(N) where N is the number of entries in the slowlog",
		Summary: "Clear all entries from the slow log",
		Flags:   Admin | Loading | Stale, Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Reply: reply.OK(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		s.Core.Observation.slow.reset()
		w.OK()
		return nil
	})
}

// wordsOf is a command line made again from the command and its arguments.
func wordsOf(c *Command, args [][]byte) [][]byte {
	var argv [][]byte
	for _, name := range strings.Split(c.FullName(), "|") {
		argv = append(argv, []byte(name))
	}
	return append(argv, args...)
}
