package commands

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reminis/commands/reply"
)

// This file owns the tests of what is recorded of commands as they run: SLOWLOG,
// MONITOR, LATENCY. None of them waits.

// slowLines are the command lines in the slow log, the oldest first.
func slowLines(s *testServer) []string {
	var lines []string
	for _, e := range s.core.Observation.slow.last(1000) {
		lines = append(lines, strings.Join(e.argv, " "))
	}
	slices.Reverse(lines)
	return lines
}

func TestSlowLog(t *testing.T) {
	server, client := newTestClient(t)
	server.core.Observation.SlowMicroseconds.Store(0)
	for _, line := range []string{
		"GET k", "get k", "GET", "AUTH x y", "AUTH x", "HELLO 2 AUTH default pw SETNAME me", "CONFIG SET requirepass pw hz 10",
		"ACL SETUSER bob on", "MULTI", "SET k v", "EXEC", "NOSUCH",
		"MGET " + strings.Repeat("a ", 31), "MGET " + strings.Repeat("a ", 32),
		"ECHO " + strings.Repeat("A", 128), "ECHO " + strings.Repeat("A", 129),
	} {
		client.say(strings.Fields(line)...)
	}
	want := []string{
		"GET k", "get k", "AUTH (redacted) (redacted)", "AUTH (redacted)", "HELLO 2 AUTH (redacted) (redacted) SETNAME me",
		"CONFIG SET requirepass (redacted) hz 10", "ACL SETUSER (redacted) (redacted)", "MULTI", "SET k v",
		"MGET" + strings.Repeat(" a", 31), "MGET" + strings.Repeat(" a", 30) + " ... (2 more arguments)",
		"ECHO " + strings.Repeat("A", 128), "ECHO " + strings.Repeat("A", 128) + "... (1 more bytes)",
	}
	if have := slowLines(server); !slices.Equal(have, want) {
		t.Errorf("want %q\nhave %q", want, have)
	}
	entry := client.say("SLOWLOG", "GET", "1")
	if !regexp.MustCompile(`^\*1\r\n\*6\r\n:12\r\n:\d+\r\n:\d+\r\n\*2\r\n\$4\r\nECHO\r\n(?s:.*)\$15\r\n127\.0\.0\.1:40000\r\n\$2\r\nme\r\n$`).MatchString(entry) {
		t.Errorf("entry %q", entry)
	}
}

// TestSlowLogThreshold: a threshold that nothing reaches keeps nothing, as does
// none; the oldest entries go.
func TestSlowLogThreshold(t *testing.T) {
	server, client := newTestClient(t)
	for _, threshold := range []int64{1 << 40, -1} {
		server.core.Observation.SlowMicroseconds.Store(threshold)
		client.say("SET", "k", "v")
		if lines := slowLines(server); len(lines) != 0 {
			t.Errorf("threshold %d keeps %q", threshold, lines)
		}
	}
	server.core.Observation.SlowMicroseconds.Store(0)
	server.core.Observation.SlowMax.Store(3)
	for i := range 5 {
		client.say("ECHO", fmt.Sprint(i))
	}
	if lines := slowLines(server); !slices.Equal(lines, []string{"ECHO 2", "ECHO 3", "ECHO 4"}) {
		t.Errorf("have %q", lines)
	}
}

func TestMonitor(t *testing.T) {
	server, client := newTestClient(t)
	watcher := server.connect(2)
	client.say("GET", "unseen")
	watcher.say("MONITOR")
	client.say("SELECT", "3")
	client.say("SET", "k", "a \"b\"\\\n\r\t\a\b\x00\xff")
	client.say("CONFIG", "GET", "hz")
	client.say("AUTH", "secret")
	client.say("NOSUCH")
	client.say("MULTI")
	client.say("get", "k")
	client.say("EXEC")
	want := `[3 127.0.0.1:40000] "SELECT" "3"
[3 127.0.0.1:40000] "SET" "k" "a \"b\"\\\n\r\t\a\b\x00\xff"
[3 127.0.0.1:40000] "AUTH" "(redacted)"
[3 127.0.0.1:40000] "MULTI"
[3 127.0.0.1:40000] "get" "k"
[3 127.0.0.1:40000] "EXEC"
`
	lines := regexp.MustCompile(`(?m)^\+\d+\.\d{6} `).ReplaceAllString(string(watcher.pushed), "")
	if have := strings.ReplaceAll(lines, "\r\n", "\n"); have != want {
		t.Errorf("want %s\nhave %s", want, have)
	}
	watcher.pushed = nil
	for _, end := range []func(){func() { watcher.say("RESET") }, watcher.session.Close} {
		watcher.session.Authenticated = true
		watcher.say("MONITOR")
		end()
		watcher.pushed = nil
		client.say("PING")
		if len(watcher.pushed) > 0 {
			t.Errorf("sees %q after its end", watcher.pushed)
		}
	}
}

func TestHistogramBuckets(t *testing.T) {
	// Every duration lies before the end of its bucket, and not before the end of
	// the one in front.
	for _, ns := range []int64{0, 1, 63, 64, 79, 80, 127, 128, 1000, 1023, 1024, 1 << 20, 1<<20 + 1, 1e9, 1 << 42} {
		bucket := histogramBucket(ns)
		if ns >= histogramEnd(bucket) || bucket > 0 && ns < histogramEnd(bucket-1) {
			t.Errorf("%d ns is in bucket %d, which ends at %d", ns, bucket, histogramEnd(bucket))
		}
	}
	if bucket := histogramBucket(1 << 62); bucket != len(histogram{})-1 {
		t.Errorf("the longest is in bucket %d", bucket)
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	for _, sample := range []struct{ calls, ns int64 }{{5, 300}, {2, 1500}, {2, 40_000}, {1, 3_000_000}} {
		h.add(sample.calls, sample.ns)
	}
	if h.count() != 10 {
		t.Errorf("%d calls", h.count())
	}
	for _, test := range []struct {
		percent    float64
		atLeast    int64
		lessThanNs int64
	}{{50, 300, 400}, {70, 1500, 2000}, {90, 40_000, 50_000}, {100, 3_000_000, 3_800_000}} {
		if have := h.percentile(test.percent); have < test.atLeast || have >= test.lessThanNs {
			t.Errorf("p%v = %d, want %d up to %d", test.percent, have, test.atLeast, test.lessThanNs)
		}
	}
	var w reply.Writer
	w.SetProto(3)
	h.write(&w)
	want := `{"calls" :10 "histogram_usec" {:1 :5 :2 :7 :66 :9 :4227 :10}}`
	if have := render(t, w.Bytes(), 3); have != want {
		t.Errorf("want %s, have %s", want, have)
	}
	h.reset()
	if h.count() != 0 {
		t.Error("reset leaves calls")
	}
}

func TestLatencyEvents(t *testing.T) {
	server, client := newTestClient(t)
	note := func(c string, ms int64) {
		server.core.noteLatency(server.core.Table.byName[c], time.Duration(ms)*time.Millisecond)
	}
	note("set", 1000) // nobody watches
	server.core.Observation.LatencyMs.Store(100)
	note("set", 99)
	note("set", 100)
	note("set", 300)
	note("set", 200)
	server.clock.nowMs += 1000
	note("set", 150)
	note("get", 120)
	for _, test := range []struct{ line, want string }{
		{"LATENCY HISTORY command", "[[:1700000000 :300] [:1700000001 :150]]"},
		{"LATENCY HISTORY fast-command", "[[:1700000001 :120]]"},
		{"LATENCY HISTORY nosuch", "[]"},
		{"LATENCY LATEST", `[["command" :1700000001 :150 :300] ["fast-command" :1700000001 :120 :120]]`},
		{"LATENCY DOCTOR", `"command: 2 seconds with a delay of at least 100 ms; mean 225 ms, worst ever 300 ms. SLOWLOG GET names the commands.\nfast-command: 1 seconds with a delay of at least 100 ms; mean 120 ms, worst ever 120 ms. SLOWLOG GET names the commands.\n"`},
		{"LATENCY RESET nosuch command", ":1"},
		{"LATENCY HISTORY command", "[]"},
		{"LATENCY RESET", ":1"},
		{"LATENCY LATEST", "[]"},
		{"LATENCY DOCTOR", `"No delay of 100 ms or more since the last LATENCY RESET.\n"`},
	} {
		if have := render(t, []byte(client.say(strings.Fields(test.line)...)), 2); have != test.want {
			t.Errorf("%s: want %s, have %s", test.line, test.want, have)
		}
	}
	for range latencySamplesMax + 5 {
		server.clock.nowMs += 1000
		note("set", 100)
	}
	if series, _ := server.core.Observation.latency.named(latencyCommands); len(series.samples) != latencySamplesMax {
		t.Errorf("%d samples are kept", len(series.samples))
	}
}

// TestLatencyStats: INFO shows percentiles of what ran.
func TestLatencyStats(t *testing.T) {
	server, client := newTestClient(t)
	config := server.core.Config.(fakeConfig)
	config.values["latency-tracking-info-percentiles"], config.values["latency-tracking"] = "50 99.9", "yes"
	client.say("ECHO", "x")
	want := regexp.MustCompile(`# Latencystats\r\nlatency_percentiles_usec_echo:p50=\d+\.\d{3},p99\.9=\d+\.\d{3}\r\n`)
	if info := client.say("INFO", "latencystats"); !want.MatchString(info) {
		t.Errorf("have %q", info)
	}
	config.values["latency-tracking"] = "no"
	if info := client.say("INFO", "latencystats"); strings.Contains(info, "usec") {
		t.Errorf("have %q", info)
	}
}
