package commands

import "testing"

// BenchmarkScripts is what scripts cost that call few commands.
func BenchmarkScripts(b *testing.B) {
	for _, bench := range []struct{ name, script string }{
		{"get", `return redis.call('GET', KEYS[1])`},
		{"compare-and-set", `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0`},
		{"loop of three", `local sum = 0 for i = 1, 3 do sum = sum + #redis.call('GET', KEYS[1]) end return sum`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			_, client := newTestClient(b)
			client.say("SET", "key", "a value of some bytes")
			line := [][]byte{[]byte("EVAL"), []byte(bench.script), []byte("1"), []byte("key"), []byte("a value of some bytes"), []byte("a value of some bytes")}
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				var next Next
				if out, next = client.session.Execute(out[:0], line); next == Park {
					out = (<-client.resumed)(out)
				}
			}
			if out[0] == '-' {
				b.Fatalf("%s", out)
			}
		})
	}
}
