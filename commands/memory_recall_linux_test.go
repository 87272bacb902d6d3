package commands

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"reminis/engine"
)

// This file owns what MEM.RECALL and MEM.LOAD cost, from the command line to the
// reply. Words are as frequent as in speech; REMINIS_LINES may name a file of real
// lines instead, of which every tenth is asked for.

// spokenLines makes lines of words whose frequencies fall as their ranks grow.
func spokenLines(r *rand.Rand, lines int) []string {
	if name := os.Getenv("REMINIS_LINES"); name != "" {
		data, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		read := strings.Split(strings.TrimSpace(string(data)), "\n")
		list := make([]string, lines)
		for i := range list {
			list[i] = read[i%len(read)]
		}
		return list
	}
	zipf := rand.NewZipf(r, 1.1, 8, 20_000)
	list := make([]string, lines)
	for i := range list {
		var line strings.Builder
		for range 10 + r.IntN(30) {
			fmt.Fprintf(&line, "w%d ", zipf.Uint64())
		}
		list[i] = line.String()
	}
	return list
}

// fillOwner stores so many facts of an owner, and gives questions about them.
func fillOwner(b *testing.B, c *testClient, records int) (questions []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for i, line := range spokenLines(r, records) {
		value := fmt.Sprintf(`{"speaker":"Ada","text":%q,"caption":"","date":"1:56 pm on %d May, 2023"}`, line, i%31)
		c.say("MEM.SET", fmt.Sprintf("bench:user:session_%d:%d", i/30, i), value, "KIND", "semantic", "ANCHOR", "Ada: "+line)
		if i%10 == 0 {
			words := strings.Fields(line)
			questions = append(questions, strings.Join(words[:min(len(words), 10)], " "))
		}
	}
	c.say("MEM.RECALL", "bench:user", "QUERY", "w1") // indexes
	return questions
}

// processorTime reports what the process used per operation from now on: on a
// machine that others use too, the time that passes says little.
func processorTime(b *testing.B) (report func()) {
	used := func() int64 {
		var usage unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return usage.Utime.Nano() + usage.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkMemRecall(b *testing.B) {
	for _, records := range []int{1_000, 10_000, 100_000} {
		for _, topK := range []string{"10", "50"} {
			b.Run(fmt.Sprintf("records=%d/topk=%s", records, topK), func(b *testing.B) {
				if testing.Short() && records > 1_000 {
					b.Skip()
				}
				s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
				c := s.connect(3)
				questions := fillOwner(b, c, records)
				s.core.Engine.RunIndexer()
				s.core.Engine.StopIndexer()
				b.ReportAllocs()
				b.ResetTimer()
				defer processorTime(b)()
				for i := range b.N {
					c.say("MEM.RECALL", "bench:user", "QUERY", questions[i%len(questions)], "TOPK", topK)
				}
			})
		}
	}
}

// BenchmarkMemLoad: 20 profile records, 50 turns, 1,000 facts, 16 KB.
func BenchmarkMemLoad(b *testing.B) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	c := s.connect(3)
	questions := fillOwner(b, c, 1_000)
	for i, line := range spokenLines(rand.New(rand.NewPCG(3, 4)), 20) {
		c.say("MEM.SET", fmt.Sprintf("bench:user:profile:%d", i), line, "TEXT")
	}
	for _, line := range spokenLines(rand.New(rand.NewPCG(5, 6)), 50) {
		c.say("MEM.APPEND", "bench:user:now:turns", "KIND", "session", "ITEMS", "1", fmt.Sprintf(`{"role":"user","text":%q}`, line))
	}
	for _, query := range []bool{true, false} {
		b.Run(fmt.Sprintf("query=%t", query), func(b *testing.B) {
			b.ReportAllocs()
			defer processorTime(b)()
			size := 0
			for i := range b.N {
				line := []string{"MEM.LOAD", "bench:user", "SESSION", "now", "BUDGET", "10000"}
				if query {
					line = append(line, "QUERY", questions[i%len(questions)])
				}
				size += len(c.say(line...))
			}
			b.ReportMetric(float64(size)/float64(b.N), "bytes/reply")
		})
	}
}

// BenchmarkMemRecallFilter: one of a hundred values, of 10,000 records.
func BenchmarkMemRecallFilter(b *testing.B) {
	records := 10_000
	if testing.Short() {
		records = 500
	}
	for _, indexed := range []bool{false, true} {
		s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
		c := s.connect(3)
		if indexed {
			c.say("MEM.POLICY", "SET", "bench:user", "INDEX", "$.topic")
		}
		for i, line := range spokenLines(rand.New(rand.NewPCG(1, 2)), records) {
			c.say("MEM.SET", fmt.Sprintf("bench:user:s:%d", i), fmt.Sprintf(`{"text":%q,"topic":"t%d"}`, line, i%100), "KIND", "semantic", "ANCHOR", line)
		}
		for _, query := range []bool{false, true} {
			b.Run(fmt.Sprintf("indexed=%t/query=%t", indexed, query), func(b *testing.B) {
				line := []string{"MEM.RECALL", "bench:user", "FILTER", `$.topic == "t7"`}
				if query {
					line = append(line, "QUERY", "w3 w40 w300")
				}
				c.say(line...) // indexes
				b.ReportAllocs()
				b.ResetTimer()
				defer processorTime(b)()
				for range b.N {
					c.say(line...)
				}
			})
		}
	}
}
