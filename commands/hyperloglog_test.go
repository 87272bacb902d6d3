package commands

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
)

// This file compares values that count elements with those of a real redis-server,
// byte for byte: grown from the same lines, and damaged in the same way.

func TestHyperLogLogsAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	r := seeded(t)
	_, c := newTestClient(t)
	say := func(line ...string) string {
		t.Helper()
		ours, theirs := c.say(line...), string(redis.Do(line...))
		if ours != theirs {
			t.Fatalf("%.200q:\nredis %.300q\nours  %.300q", line, theirs, ours)
		}
		return ours
	}
	keys := []string{"a", "b", "c"}
	for _, test := range []struct{ rounds, elements, of int }{{200, 3, 50}, {100, 40, 3000}, {60, 300, 100_000}, {20, 3000, 10_000_000}} {
		for range test.rounds {
			key := keys[r.IntN(len(keys))]
			switch r.IntN(8) {
			case 0:
				say("PFCOUNT", key)
			case 1:
				say("PFCOUNT", "a", "b", "c")
			case 2:
				say("PFMERGE", key, keys[r.IntN(len(keys))], "none")
			case 3:
				if r.IntN(4) == 0 {
					say("DEL", key)
				}
			default:
				line := []string{"PFADD", key}
				for range r.IntN(test.elements) {
					line = append(line, strings.Repeat("x", r.IntN(20))+strconv.Itoa(r.IntN(test.of)))
				}
				say(line...)
			}
			for _, key := range keys {
				say("GET", key)
			}
		}
		say("FLUSHALL")
	}
}

// endsWithinRun says whether the last run of a sparse value lacks its second byte.
// Redis reads, and writes, the byte behind a string then.
func endsWithinRun(value string) bool {
	at := 16
	for at < len(value) {
		if value[at]&0xC0 == 0x40 {
			at++
		}
		at++
	}
	return at > len(value)
}

func TestDamagedHyperLogLogsAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	r := seeded(t)
	_, c := newTestClient(t)
	corrupt := 0
	for i := range 1500 {
		elements := []string{"PFADD", "h"}
		for range 1 + r.IntN(1<<r.IntN(9)) {
			elements = append(elements, strconv.Itoa(r.IntN(100_000)))
		}
		lines := [][]string{{"FLUSHALL"}, elements}
		for range 1 + r.IntN(3) {
			at := 16 + r.IntN(max(1, len(elements)))
			lines = append(lines, []string{"SETRANGE", "h", strconv.Itoa(at), string(randomBytes(r, 2))})
		}
		lines = append(lines, []string{"PFDEBUG", "DECODE", "h"}, []string{"PFCOUNT", "h", "none"}, []string{"PFCOUNT", "h"}, []string{"PFADD", "h", "x" + strconv.Itoa(i)},
			[]string{"GET", "h"}, []string{"PFADD", "h", "y" + strconv.Itoa(i)}, []string{"GET", "h"}, []string{"PFMERGE", "d", "h"}, []string{"GET", "d"}, []string{"PFMERGE", "h", "h"})
		for _, line := range lines {
			value := c.say("GET", "h")
			ours, theirs := c.say(line...), string(redis.Do(line...))
			if strings.HasPrefix(ours, "-INVALIDOBJ") {
				corrupt++
			}
			if ours == theirs {
				continue
			}
			if _, text, _ := strings.Cut(strings.TrimSuffix(value, "\r\n"), "\r\n"); line[0] == "PFADD" && endsWithinRun(text) {
				break
			}
			t.Fatalf("%s: %.200q on %q:\nredis %.300q\nours  %.300q", fmt.Sprint(lines[:4]), line, value, theirs, ours)
		}
	}
	if corrupt < 100 {
		t.Errorf("%d corrupt values: the test shows too little", corrupt)
	}
}
