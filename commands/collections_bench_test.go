package commands

import (
	"slices"
	"strconv"
	"testing"

	"reminis/engine"
)

// pipelined executes lines in turn, in pipelines of 16 as bench/load does.
func pipelined(b *testing.B, lines ...[][]byte) {
	b.Helper()
	c := newTestServer(DefaultTable(), engine.Options{Pool: testPool()}).connect(2)
	pipeline := make([][][]byte, 16)
	for i := range pipeline {
		pipeline[i] = slices.Clone(lines[i%len(lines)])
	}
	out := make([]byte, 0, 4<<10)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i %= len(pipeline); i == 0 {
			c.session.EndBatch()
			for phase := range 2 {
				for _, line := range pipeline {
					c.session.Prefetch(line, phase)
				}
			}
			out = out[:0]
		}
		out, _ = c.session.Execute(out, pipeline[i])
	}
}

func argvOf(line ...string) (argv [][]byte) {
	for _, word := range line {
		argv = append(argv, []byte(word))
	}
	return argv
}

// value32 is a value of 32 bytes.
const value32 = "value:00000000000000000123456789"

// BenchmarkLPush pushes values to the front of one list.
func BenchmarkLPush(b *testing.B) { pipelined(b, argvOf("LPUSH", "list", value32)) }

// BenchmarkPushAndPop pushes two values to a list and pops one from its end, in turn.
func BenchmarkPushAndPop(b *testing.B) {
	pipelined(b, argvOf("LPUSH", "list", value32, value32), argvOf("RPOP", "list"))
}

// BenchmarkSet is what the others are compared with.
func BenchmarkSet(b *testing.B) { pipelined(b, argvOf("SET", "key", value32)) }

// BenchmarkZRange reads ten members of a sorted set of a thousand.
func BenchmarkZRange(b *testing.B) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	c := s.connect(2)
	for i := range 1000 {
		c.say("ZADD", "z", strconv.Itoa(i), "member:"+strconv.Itoa(i))
	}
	argv := [][]byte{[]byte("ZRANGE"), []byte("z"), []byte("500"), []byte("509")}
	out := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		c.session.Execute(out, argv)
	}
}

// BenchmarkZAdd changes scores of a sorted set of ten thousand members.
func BenchmarkZAdd(b *testing.B) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	c := s.connect(2)
	lines := make([][][]byte, 10_000)
	for i := range lines {
		lines[i] = [][]byte{[]byte("ZADD"), []byte("z"), []byte(strconv.Itoa(i * 7919 % 10_000)), []byte("member:" + strconv.Itoa(i))}
		c.session.Execute(nil, lines[i])
	}
	out := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		line := lines[i%len(lines)]
		line[2] = strconv.AppendInt(line[2][:0], int64(i*6007%10_000), 10)
		c.session.Execute(out, line)
	}
}
