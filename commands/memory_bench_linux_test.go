package commands

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"reminis/engine"
)

// groupOf is how many commands a loop gathers: what fifty connections send at P=16.
const groupOf = 800

// BenchmarkGroups reads and writes 200,000 records of 100,000 keys in groups, as an
// event loop does, beside plain keys: most of what that costs is memory that is in
// no cache.
func BenchmarkGroups(b *testing.B) {
	keys := 200_000
	if testing.Short() {
		keys = 1000
	}
	key := func(n int) []byte { return fmt.Appendf(nil, "bench:user%d:session:name%d", n/10, n%10) }
	value := []byte(`"value:000000000000000001234567"`)
	set := func(n int) [][]byte {
		return [][]byte{[]byte("MEM.SET"), key(n), value, []byte("KIND"), []byte("session")}
	}
	setPlain := func(n int) [][]byte { return [][]byte{[]byte("SET"), fmt.Appendf(nil, "key:%d", n), value} }
	for _, run := range []struct {
		name       string
		fill, line func(n int) [][]byte
	}{
		{"command=GET", setPlain, func(n int) [][]byte { return [][]byte{[]byte("GET"), fmt.Appendf(nil, "key:%d", n)} }},
		{"command=SET", setPlain, setPlain},
		{"command=MEM.GET", set, func(n int) [][]byte { return [][]byte{[]byte("MEM.GET"), key(n)} }},
		{"command=MEM.SET", set, set},
	} {
		b.Run(run.name, func(b *testing.B) {
			s := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
			c := s.connect(2)
			out := make([]byte, 0, 64<<10)
			for n := range keys {
				c.session.Execute(out, run.fill(n))
			}
			r := rand.New(rand.NewPCG(1, 2))
			lines := make([][][]byte, 64*groupOf)
			for i := range lines {
				lines[i] = run.line(r.IntN(keys))
			}
			b.ReportAllocs()
			b.ResetTimer()
			first := processorNs(b)
			for i := range b.N {
				if i%groupOf == 0 {
					c.session.EndBatch()
					announce(c.session, lines[i%len(lines):][:groupOf])
				}
				c.session.Execute(out, lines[i%len(lines)])
			}
			b.ReportMetric(float64(processorNs(b)-first)/float64(b.N), "cpu-ns/op")
		})
	}
}

// announce prefetches lines as a driver does.
func announce(s *Session, lines [][][]byte) {
	for phase := range 3 {
		for _, line := range lines {
			s.Prefetch(line, phase)
		}
	}
}
