package commands

import (
	"strconv"
	"testing"

	"reminis/engine"
)

// ofTwoSets are lines of more than one key, with what they may allocate.
var ofTwoSets = []struct {
	line        []string
	allocations float64
}{
	{[]string{"SINTER", "a", "b"}, 0},
	{[]string{"SINTERCARD", "2", "a", "b"}, 0},
	{[]string{"SMOVE", "a", "b", "missing"}, 0},
	{[]string{"SINTERSTORE", "c", "a", "b"}, 3}, // operands, and the result with its block
}

// runner returns what runs a line on two sets with five of ten members in common.
func runner(line []string) func() {
	c := newTestServer(DefaultTable(), engine.Options{Pool: testPool()}).connect(2)
	for i := range 10 {
		c.say("SADD", "a", "member:"+strconv.Itoa(i))
		c.say("SADD", "b", "member:"+strconv.Itoa(i+5))
	}
	var argv [][]byte
	for _, word := range line {
		argv = append(argv, []byte(word))
	}
	out := make([]byte, 0, 1<<12)
	return func() { c.session.Execute(out, argv) }
}

func TestLinesOfTwoKeysAllocateLittle(t *testing.T) {
	for _, test := range ofTwoSets {
		if n := fewestAllocations(runner(test.line)); n > test.allocations {
			t.Errorf("%v: %v allocations, at most %v expected", test.line, n, test.allocations)
		}
	}
}

func BenchmarkLinesOfTwoKeys(b *testing.B) {
	for _, bench := range ofTwoSets {
		b.Run(bench.line[0], func(b *testing.B) {
			run := runner(bench.line)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
