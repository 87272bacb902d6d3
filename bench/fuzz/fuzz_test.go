package main

// This file owns the tiny run, and the proof that what a server does wrong is seen.

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"reminis/bench/launch"
)

func TestServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc here")
	}
	server, err := launch.Build(t.TempDir(), "reminis/cmd/reminis")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("authenticated", func(t *testing.T) { runTiny(t, server) })
	t.Run("guest", func(t *testing.T) { runTiny(t, server, "-guest") })
	t.Run("gone", func(t *testing.T) { runWithoutServer(t, server) })
}

func runTiny(t *testing.T, server string, flags ...string) {
	var out strings.Builder
	err := command(&out, append(flags, "-server", server, "-duration", "2s", "-round", "1s", "-connections", "8", "-limit", "1m", "-repro", t.TempDir()))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
	if !strings.Contains(out.String(), "goroutines: ") {
		t.Error("nothing is said of goroutines")
	}
}

// testVocabulary is a vocabulary without a server.
func testVocabulary() vocabulary {
	return vocabulary{
		{words: []string{"GET"}, arguments: []argument{{name: "key", kind: "key"}}},
		{words: []string{"MEM.NS", "LIST"}, arguments: []argument{{name: "scope", kind: "string"}, {name: "cursor", kind: "string", token: "CURSOR", optional: true}}},
		{words: []string{"SET"}, arguments: []argument{{name: "key", kind: "key"}, {name: "value", kind: "string"}, {kind: "oneof", optional: true, inner: []argument{{kind: "pure-token", token: "NX"}, {kind: "pure-token", token: "XX"}}}}},
	}
}

func TestPlansFollowFromTheSeed(t *testing.T) {
	v := testVocabulary()
	for number := range 200 {
		a, b := v.plan(1, 2, number, nil), v.plan(1, 2, number, nil)
		if !bytes.Equal(a.stream, b.stream) || a.sending != b.sending || a.reading != b.reading || a.ending != b.ending || a.pieces != b.pieces {
			t.Fatalf("connection %d differs", number)
		}
	}
}

func TestLinesKeepTheirNames(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	v := testVocabulary()
	names := []string{"GET", "MEM.NS", "SET"}
	for _, line := range switches() {
		names = append(names, line[0])
	}
	for range 1000 {
		line := v.line(r)
		if len(line) == 0 || !slices.Contains(names, line[0]) || left(strings.Join(line[:min(2, len(line))], " ")) && line[1] != "PAUSE" {
			t.Fatalf("%q", line)
		}
	}
}

func TestRecordedAgain(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var m memory
	for number := range 5 {
		m.keep(number%2, sent{0, number, testVocabulary().plan(seed, 0, number, []byte("hello\r\n"))})
	}
	var out strings.Builder
	path := filepath.Join(t.TempDir(), "x.repro")
	if err := m.report(&out, path); err != nil {
		t.Fatal(err)
	}
	attacks, err := recorded(path)
	if err != nil || len(attacks) != 5 {
		t.Fatalf("%d attacks, %v", len(attacks), err)
	}
	for i, want := range m.all() {
		if have := attacks[i]; !bytes.Equal(have.stream, want.attack.stream) || string(have.hello) != "hello\r\n" || have.pieces != want.attack.pieces || have.ending != want.attack.ending {
			t.Errorf("attack %d is not what was sent", i)
		}
	}
	if err := os.WriteFile(path, []byte("1 2 whole everything never 0 \"\" \"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := recorded(path); err == nil {
		t.Error("an ending that does not exist was read")
	}
}

// runWithoutServer: a server that goes away is a failure, and leaves a file.
func runWithoutServer(t *testing.T, path string) {
	folder := t.TempDir()
	s, err := launch.Start(path, t.TempDir(), "--appendonly", "no", "--save", "")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	f := &fuzzer{out: &out, target: &target{addr: s.Addr, pid: s.PID, limit: time.Minute}, seed: 7, workers: 2, round: 500 * time.Millisecond, reproFolder: folder}
	if _, err := f.begin(); err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	_, err = f.attackFor(0, time.Minute)
	if err == nil {
		t.Fatal("nothing is said of a server that has gone")
	}
	if err := f.fail(err); !strings.Contains(out.String(), "seed 7") {
		t.Errorf("%v: %s", err, out.String())
	}
	if attacks, err := recorded(filepath.Join(folder, "fuzz-7.repro")); err != nil || len(attacks) == 0 {
		t.Errorf("%d attacks are kept, %v", len(attacks), err)
	}
}

func TestGrowthIsSeen(t *testing.T) {
	f := &fuzzer{out: &strings.Builder{}}
	var left []holding
	for i := range 20 {
		left = append(left, holding{residentBytes: int64(100+5*i) << 20})
	}
	if f.grown(left) == nil {
		t.Error("5 MB a round are no growth")
	}
	for i := range left {
		left[i].residentBytes = int64(100+i%3) << 20
	}
	if err := f.grown(left); err != nil {
		t.Error(err)
	}
}
