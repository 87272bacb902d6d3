package commands

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// pipelineLine is a line that a client may send in a pipeline. Keys are few, so that most
// lines meet what others left, and some are in a row.
func pipelineLine(r *rand.Rand, last string) (line []string, key string) {
	key = last
	if r.IntN(3) == 0 {
		key = "k" + strconv.Itoa(r.IntN(4))
	}
	value := strconv.Itoa(r.IntN(1000))
	if r.IntN(2) == 0 {
		value = "value of some length " + value
	}
	lines := [][]string{
		{"SET", key, value}, {"GET", key}, {"DEL", key}, {"INCR", key}, {"APPEND", key, value},
		{"LPUSH", key, value}, {"RPUSH", key, value, value}, {"LPUSH", key, value}, {"RPOP", key}, {"LPOP", key, "3"},
		{"LRANGE", key, "0", "-1"}, {"LINSERT", key, "BEFORE", value, "x"}, {"LSET", key, "0", value}, {"LTRIM", key, "0", "200"},
		{"HSET", key, "f" + value, value}, {"HGETALL", key}, {"HDEL", key, "f" + value},
		{"SADD", key, value}, {"SMEMBERS", key}, {"ZADD", key, value, value}, {"ZRANGE", key, "0", "-1"},
		{"XADD", key, "*", "field", value}, {"XADD", key, "1700000000000-*", "field", value}, {"XLEN", key}, {"XRANGE", key, "-", "+"},
		{"XTRIM", key, "MAXLEN", "5"}, {"XDEL", key, "1700000000000-0"}, {"XSETID", key, "1800000000000-0"},
		{"PEXPIRE", key, "100000"}, {"PTTL", key}, {"TYPE", key}, {"OBJECT", "ENCODING", key}, {"RENAME", key, "k1"}, {"COPY", key, "k2", "REPLACE"},
		{"LPUSH", key}, {"LPUSH"}, {"LPUSH", "", value}, {"NOSUCH", key},
		{"SELECT", strconv.Itoa(r.IntN(2))}, {"CLIENT", "SETNAME", "name" + strconv.Itoa(r.IntN(3))}, {"CLIENT", "GETNAME"},
		{"MULTI"}, {"EXEC"}, {"WATCH", key}, {"FLUSHDB"}, {"DBSIZE"}, {"CLIENT", "REPLY", "SKIP"},
		{"MEM.SET", "ai:u1:s1:" + key, strconv.Itoa(r.IntN(10))}, {"MEM.GET", "ai:u1:s1:" + key},
		{"EVAL", "return redis.call('LPUSH', KEYS[1], ARGV[1])", "1", key, value},
	}
	return lines[r.IntN(len(lines))], key
}

// A pipeline of commands answers, and does, what the same commands do one at a time:
// whatever a batch keeps from one command to the next.
func TestPipelinesDoWhatLinesDo(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			serverOne, one := newTestClient(t)
			serverMany, many := newTestClient(t)
			var buffer []byte // every pipeline's arguments lie in the same memory
			key := "k0"
			for range 100 {
				var lines [][]string
				var pipeline [][][]byte
				buffer = buffer[:0]
				want := ""
				for range 1 + r.IntN(20) {
					var line []string
					line, key = pipelineLine(r, key)
					if r.IntN(8) == 0 {
						line, key = []string{"LPUSH", key, "one", "more"}, "k3"
					}
					lines = append(lines, line)
					want += one.say(line...)
				}
				for _, line := range lines {
					argv := make([][]byte, len(line))
					for i, word := range line {
						from := len(buffer)
						if cap(buffer)-from < len(word) {
							buffer, from = make([]byte, 0, 1<<16), 0
						}
						buffer = append(buffer, word...)
						argv[i] = buffer[from:len(buffer):len(buffer)]
					}
					pipeline = append(pipeline, argv)
				}
				for phase := range 3 {
					for _, argv := range pipeline {
						many.session.Prefetch(argv, phase)
					}
				}
				got := ""
				for _, argv := range pipeline {
					got += string(many.do(argv...))
				}
				many.session.EndBatch()
				if got != want {
					t.Fatalf("seed %d: the pipeline %q answers\n%q, line by line it is\n%q", seed, lines, got, want)
				}
			}
			for _, line := range [][]string{{"EXEC"}, {"CLIENT", "REPLY", "ON"}, {"INFO", "COMMANDSTATS"}, {"MEM.AUDIT", "ai:u1", "COUNT", "1000", "FORMAT", "TIMELINE"}, {"MEM.AUDIT", "ai:u1", "COUNT", "1000", "FORMAT", "JSON"}} {
				got, want := many.say(line...), one.say(line...)
				if line[0] != "INFO" && got != want {
					t.Errorf("seed %d: %q answers\n%q after pipelines, else\n%q", seed, line, got, want)
				}
			}
			for _, s := range []*testServer{serverOne, serverMany} {
				if err := s.core.Engine.Check(); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}
