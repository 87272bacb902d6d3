package commands

import (
	"testing"

	"reminis/engine"
)

// BenchmarkXAdd adds entries of two fields to one stream.
func BenchmarkXAdd(b *testing.B) {
	pipelined(b, argvOf("XADD", "stream", "*", "sensor", "123456", "note", "key:000000123456"))
}

// BenchmarkXRange reads ten entries of two fields.
func BenchmarkXRange(b *testing.B) {
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	c := s.connect(2)
	for range 1000 {
		c.say("XADD", "stream", "*", "sensor", "123456", "note", "key:000000123456")
	}
	argv := [][]byte{[]byte("XRANGE"), []byte("stream"), []byte("-"), []byte("+"), []byte("COUNT"), []byte("10")}
	out := make([]byte, 0, 1<<12)
	b.ReportAllocs()
	for b.Loop() {
		c.session.Execute(out, argv)
	}
}
