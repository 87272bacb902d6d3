package main

// This file owns the tests. No time that was measured fails one: that the
// figures are there, and that what must fail fails, is what is checked.

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reminis/bench/launch"
)

func TestCounterCountsWhateverTheSplit(t *testing.T) {
	stream := []byte("+OK\r\n$5\r\na\r\nbc\r\n$-1\r\n:-12\r\n$0\r\n\r\n-ERR no\r\n-ERR other\r\n$12\r\n+OK\r\n:1\r\n-a-\r\n+\r\n" +
		"*3\r\n*1\r\n:1\r\n$2\r\nab\r\n$-1\r\n*0\r\n*1\r\n*2\r\n*0\r\n:7\r\n*-1\r\n")
	for size := 1; size <= len(stream); size++ {
		var c counter
		for rest := stream; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if err := c.feed(rest[:min(size, len(rest))]); err != nil {
				t.Fatalf("pieces of %d: %v", size, err)
			}
		}
		if c.replies != 13 || c.errors != 2 || c.nils != 2 || c.first != "ERR no" {
			t.Fatalf("pieces of %d: %+v", size, c)
		}
	}
	for _, bad := range []string{"%1\r\n", "$x\r\n", "OK\r\n", "$99999999999\r\n"} {
		var c counter
		if err := c.feed([]byte(bad)); err == nil {
			t.Errorf("%q was counted: %+v", bad, c)
		}
	}
}

func TestCounterAllocatesNothing(t *testing.T) {
	var c counter
	stream := []byte("+OK\r\n$5\r\nabcde\r\n:12\r\n")
	if n := testing.AllocsPerRun(100, func() {
		if err := c.feed(stream); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per feed", n)
	}
}

func TestSequenceYieldsEachNumberOnce(t *testing.T) {
	s := &sequence{command: plain("DEL"), limit: 25, pipeline: 4, take: func(number int) bool { return number%10 != 0 }}
	var all strings.Builder
	commands := 0
	for {
		pipeline, n := s.next(nil)
		if n == 0 {
			break
		}
		commands += n
		all.Write(pipeline)
	}
	if commands != 22 || strings.Count(all.String(), "*2\r\n$3\r\nDEL\r\n$16\r\n") != 22 {
		t.Errorf("%d commands", commands)
	}
	for number, want := range map[string]int{"key:000000000009": 1, "key:000000000010": 0, "key:000000000024": 1, "key:000000000025": 0} {
		if got := strings.Count(all.String(), number); got != want {
			t.Errorf("%s comes %d times", number, got)
		}
	}
}

func TestPipelinesHaveTheirSizes(t *testing.T) {
	from := build(plain("SET"), 100, 64, 16, 1)
	if len(from.ends) != 4 {
		t.Fatalf("%d pipelines", len(from.ends))
	}
	firstPipeline, n := from.next(nil)
	want := len("*3\r\n$3\r\nSET\r\n$16\r\n\r\n$32\r\n\r\n") + keySizeBytes + valueSizeBytes
	if n != 16 || len(firstPipeline) != 16*want {
		t.Errorf("%d commands in %d bytes", n, len(firstPipeline))
	}
	for range 3 {
		from.next(nil)
	}
	again, _ := from.next(nil)
	if string(again) != string(firstPipeline) {
		t.Error("the sequence does not repeat")
	}
}

func tiny(t *testing.T, ours, peer program) (*bench, *strings.Builder) {
	t.Helper()
	var out strings.Builder
	return &bench{
		ours: ours, peer: peer, rounds: 2, limit: 10 * time.Millisecond, connections: 5, keys: 500, manyKeys: 2000,
		report: &report{out: &out, directory: t.TempDir(), now: func() time.Time { return time.Unix(1_700_000_000, 0) }},
	}, &out
}

// TestThroughputAgainstToy needs no Redis.
func TestThroughputAgainstToy(t *testing.T) {
	b, out := tiny(t, program{addr: startToy(t, nil)}, program{addr: startToy(t, nil)})
	chosen, err := choose("set,get", "1,16")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.runAll(chosen); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ours: redis_version toy", "set P=1: ", "set P=16: ", "get P=16: ", "ops_per_second"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	recorded, err := os.ReadFile(filepath.Join(b.report.directory, "get.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(recorded), "\n")
	if lines[0]+"\n" != columns || !strings.HasPrefix(lines[1], "2023-11-14T22:13:20Z\tget\t1\tops_per_second\t") {
		t.Errorf("recorded:\n%s", recorded)
	}
	for _, line := range lines[1 : len(lines)-1] {
		if got, want := strings.Count(line, "\t"), strings.Count(columns, "\t"); got != want {
			t.Errorf("%d tabs in %q", got, line)
		}
	}
}

// TestWrongRepliesEndTheRun: a figure is worth nothing if the work was not done.
func TestWrongRepliesEndTheRun(t *testing.T) {
	tests := []struct {
		name    string
		replace func([]string) (string, bool)
		want    string
	}{
		{"an error", func(args []string) (string, bool) { return "-OOM no memory\r\n", args[0] == "GET" }, "OOM no memory"},
		{"a missing key", func(args []string) (string, bool) { return "$-1\r\n", args[0] == "GET" }, "keys were missing"},
		{"a reply too many", func(args []string) (string, bool) { return "+OK\r\n+OK\r\n", args[0] == "GET" }, "more than requests"},
		{"a kind that is not counted", func(args []string) (string, bool) { return "%0\r\n", args[0] == "GET" }, "are not counted"},
		{"a write that is lost", func(args []string) (string, bool) { return "+OK\r\n", args[0] == "SET" }, "holds 0 keys"},
	}
	for _, tt := range tests {
		b, _ := tiny(t, program{addr: startToy(t, tt.replace)}, program{addr: startToy(t, nil)})
		chosen, err := choose("get", "16")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.runAll(chosen); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestScenariosRunTiny runs everything, Redis beside Redis.
func TestScenariosRunTiny(t *testing.T) {
	path, err := launch.Find("redis-server")
	if errors.Is(err, launch.ErrNotInstalled) {
		t.Skip("redis-server is not installed")
	}
	b, out := tiny(t, program{path: path}, program{path: path})
	ofKeys := slices.DeleteFunc(scenarios(), func(s scenario) bool { return strings.HasPrefix(s.name, "mem-") })
	if err := b.runAll(ofKeys); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, s := range ofKeys {
		if _, err := os.Stat(filepath.Join(b.report.directory, s.name+".tsv")); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{"cpu_us_per_op", "resident_percent_after_delete", "ready_keys_per_second", "written_bytes_per_user_byte"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}

// TestRecordScenariosRunTiny runs what only our own server has commands for.
func TestRecordScenariosRunTiny(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the server")
	}
	path, err := launch.Build(t.TempDir(), "reminis/cmd/reminis")
	if err != nil {
		t.Fatal(err)
	}
	b, out := tiny(t, program{path: path}, program{path: path})
	chosen, err := choose("mem-get,mem-set,mem-profile,mem-size", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.runAll(chosen); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, s := range chosen {
		if _, err := os.Stat(filepath.Join(b.report.directory, s.name+".tsv")); err != nil {
			t.Error(err)
		}
	}
}

func TestChooseNamesWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ only, depths, want string }{
		{"nosuch", "", "no scenario"}, {"", "0", "no pipeline depth"}, {"set", "1,x", "no pipeline depth"},
	} {
		if _, err := choose(tt.only, tt.depths); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestAddressIsRefusedWhereSettingsMatter(t *testing.T) {
	b, _ := tiny(t, program{addr: startToy(t, nil)}, program{addr: startToy(t, nil)})
	for _, name := range []string{"memory", "restart", "written", "set-always"} {
		chosen, err := choose(name, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.runAll(chosen); !errors.Is(err, errNeedsProgram) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMedianAndRatios(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{1, 4, 2, 100}, 3}} {
		if got := median(tt.values); got != tt.want {
			t.Errorf("median(%v) = %v", tt.values, got)
		}
	}
	f := figure{values: [2][]float64{{2, 3, 5}, {1, 0, 10}}}
	if got := spread(f.ratios()); got != "1.25 [0.50 .. 2.00]" {
		t.Errorf("ratios: %s", got)
	}
}
