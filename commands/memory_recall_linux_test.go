package commands

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"reminis/engine"
)

// This file owns what MEM.RECALL and MEM.LOAD cost, from the command line to the
// reply. Words are as frequent as in speech, and the first words of every tenth line
// are asked for; REMINIS_LINES and REMINIS_QUESTIONS may name files of real ones.

// fileLines are the lines of the file that a variable of the environment names, nil
// when it names none.
func fileLines(b *testing.B, variable string) []string {
	name := os.Getenv(variable)
	if name == "" {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// fillOwner stores so many facts of an owner, and gives questions about them.
func fillOwner(b *testing.B, c *testClient, records int) (questions []string) {
	lines, questions := fileLines(b, "REMINIS_LINES"), fileLines(b, "REMINIS_QUESTIONS")
	made := lines == nil
	if made {
		lines = spokenLines(rand.New(rand.NewPCG(1, 2)), records)
	}
	for i := range records {
		line := lines[i%len(lines)]
		value := fmt.Sprintf(`{"speaker":"Ada","text":%q,"caption":"","date":"1:56 pm on %d May, 2023"}`, line, i%31)
		c.say("MEM.SET", fmt.Sprintf("bench:user:session_%d:%d", i/30, i), value, "KIND", "semantic", "ANCHOR", line)
		if i%10 == 0 && made {
			words := strings.Fields(line)
			questions = append(questions, strings.Join(words[:min(len(words), 10)], " "))
		}
	}
	c.say("MEM.RECALL", "bench:user", "QUERY", "w1") // indexes
	return questions
}

// processorNs is what the process has used: on a machine that others use too, the
// time that passes says little.
func processorNs(b *testing.B) int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// measure runs b.N operations and reports what they cost: on average, and the one
// of a hundred that costs most.
func measure(b *testing.B, run func(i int)) {
	costs, times := make([]int64, b.N), make([]int64, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	first := processorNs(b)
	used, now := first, time.Now()
	for i := range b.N {
		run(i)
		usedThen, then := used, now
		used, now = processorNs(b), time.Now()
		costs[i], times[i] = used-usedThen, now.Sub(then).Nanoseconds()
	}
	slices.Sort(costs)
	slices.Sort(times)
	b.ReportMetric(float64(used-first)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(costs[b.N*99/100]), "p99-cpu-ns")
	b.ReportMetric(float64(times[b.N*99/100]), "p99-ns")
}

func BenchmarkMemRecall(b *testing.B) {
	for _, size := range []struct{ records, owners int }{{1_000, 1}, {10_000, 1}, {100_000, 1}, {10_000, 100_000}} {
		if testing.Short() {
			size.records, size.owners = size.records/100, min(size.owners, 100)
		}
		b.Run(fmt.Sprintf("records=%d/owners=%d", size.records, size.owners), func(b *testing.B) {
			s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
			c := s.connect(3)
			s.core.Engine.RunIndexer() // as in a server, which indexes while records come
			questions := fillOwner(b, c, size.records)
			for i := range size.owners - 1 {
				for _, name := range []string{"a", "b", "c"} {
					c.say("MEM.SET", fmt.Sprintf("bench:other%d:session:%s", i, name), questions[i%len(questions)], "TEXT", "KIND", "semantic")
				}
			}
			s.core.Engine.StopIndexer()
			for _, topK := range []string{"10", "50"} {
				b.Run("topk="+topK, func(b *testing.B) {
					measure(b, func(i int) {
						c.say("MEM.RECALL", "bench:user", "QUERY", questions[i%len(questions)], "TOPK", topK)
					})
				})
			}
		})
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
			size := 0
			measure(b, func(i int) {
				line := []string{"MEM.LOAD", "bench:user", "SESSION", "now", "BUDGET", "10000"}
				if query {
					line = append(line, "QUERY", questions[i%len(questions)])
				}
				size += len(c.say(line...))
			})
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
				measure(b, func(int) { c.say(line...) })
			})
		}
	}
}
