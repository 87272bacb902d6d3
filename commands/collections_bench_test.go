package commands

import (
	"strconv"
	"testing"

	"reminis/engine"
)

// BenchmarkLPush pushes values of 32 bytes to the front of one list, as bench/load
// does.
func BenchmarkLPush(b *testing.B) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	c := s.connect(2)
	argv := [][]byte{[]byte("LPUSH"), []byte("list"), []byte("value:00000000000000000123456789")}
	out := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		c.session.Execute(out, argv)
	}
}

// BenchmarkPushAndPop pushes two values to a list and pops one from its end, in turn.
func BenchmarkPushAndPop(b *testing.B) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	c := s.connect(2)
	value := []byte("value:00000000000000000123456789")
	push, pop := [][]byte{[]byte("LPUSH"), []byte("list"), value, value}, [][]byte{[]byte("RPOP"), []byte("list")}
	out := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			c.session.Execute(out, push)
		} else {
			c.session.Execute(out, pop)
		}
	}
}

// BenchmarkSet is what the others are compared with.
func BenchmarkSet(b *testing.B) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	c := s.connect(2)
	argv := [][]byte{[]byte("SET"), []byte("key"), []byte("value:00000000000000000123456789")}
	out := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		c.session.Execute(out, argv)
	}
}

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
