// This file owns the reader's spec: what is a request, what is none and why,
// in whatever pieces it comes, in linear time and memory.

package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// readAll feeds pieces to a session-like reader: what is not consumed is kept
// in front of the next piece, at another address each time.
func readAll(pieces [][]byte, limits readLimits) (commands [][]string, failure string, rest int) {
	var r reader
	var data []byte
	for _, piece := range pieces {
		data = append(append([]byte(nil), data...), piece...)
		for failure == "" {
			size, found := r.next(data, limits)
			if found == failed {
				failure = r.failure
			}
			if found != complete {
				break
			}
			var words []string
			for _, at := range r.spans {
				words = append(words, string(data[at.first:at.limit]))
			}
			for _, word := range r.inline {
				words = append(words, string(word))
			}
			if len(words) > 0 {
				commands = append(commands, words)
			}
			r.reset()
			data = data[size:]
		}
	}
	return commands, failure, len(data)
}

func testLimits() readLimits { return readLimits{bulkMaxBytes: 512 << 20, authenticated: true} }

func TestReader(t *testing.T) {
	for _, test := range []struct{ input, commands, failure string }{
		{"*1\r\n$4\r\nPING\r\n", `[["PING"]]`, ""},
		{"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", `[["GET" ""]]`, ""},
		{"*2\r\n$4\r\nECHO\r\n$4\r\n\r\n*1\r\n*1\r\n$4\r\nPING\r\n", `[["ECHO" "\r\n*1"] ["PING"]]`, ""},
		// Nothing, in all forms.
		{"", `[]`, ""},
		{"\r\n\n\r\n*0\r\n*-1\r\n*-9223372036854775808\r\nPING\r\n", `[["PING"]]`, ""},
		{"   \r\nPING\r\n", `[["PING"]]`, ""},
		// Inline.
		{"PING\n", `[["PING"]]`, ""},
		{"SET a \"b c\" 'd\\'e'\r\n", `[["SET" "a" "b c" "d'e"]]`, ""},
		{`SET "\x41\n\r\t\b\a\q\x4"` + "\n", `[["SET" "A\n\r\t\b\aqx4"]]`, ""},
		{"SET '' \"\"\n", `[["SET" "" ""]]`, ""},
		{"SET a\"b\"\n", `[["SET" "ab"]]`, ""},
		{"SET a\vb\v c\n", `[["SET" "a\vb\v" "c"]]`, ""},
		{"\vPING\f\n", `[["PING\f"]]`, ""},
		{"PING\r\r\n", `[["PING"]]`, ""},
		{"SET \"a\n", `[]`, "unbalanced quotes in request"},
		{"SET \"a\"b\n", `[]`, "unbalanced quotes in request"},
		{"SET 'a'b\n", `[]`, "unbalanced quotes in request"},
		{"SET \"a\\\n", `[]`, "unbalanced quotes in request"},
		// Incomplete requests wait.
		{"*", `[]`, ""}, {"*1\r", `[]`, ""}, {"*1\r\n$4", `[]`, ""}, {"*1\r\n$4\r\nPING", `[]`, ""}, {"*1\r\n$4\r\nPING\r", `[]`, ""},
		// Lengths that are none, each after a valid command.
		{"PING\n*x\r\n", `[["PING"]]`, "invalid multibulk length"},
		{"PING\n*\r\n", `[["PING"]]`, "invalid multibulk length"},
		{"PING\n*+1\r\n", `[["PING"]]`, "invalid multibulk length"},
		{"PING\n*01\r\n", `[["PING"]]`, "invalid multibulk length"},
		{"PING\n*1 \r\n", `[["PING"]]`, "invalid multibulk length"},
		{"PING\n*-0\r\n", `[["PING"]]`, "invalid multibulk length"},
		{"PING\n*2147483648\r\n", `[["PING"]]`, "invalid multibulk length"},
		{"PING\n*9223372036854775808\r\n", `[["PING"]]`, "invalid multibulk length"},
		{"PING\n*99999999999999999999999\r\n", `[["PING"]]`, "invalid multibulk length"},
		{"PING\n*1\r\n$-1\r\n", `[["PING"]]`, "invalid bulk length"},
		{"PING\n*1\r\n$-100\r\nPING\r\n", `[["PING"]]`, "invalid bulk length"},
		{"PING\n*1\r\n$+4\r\nPING\r\n", `[["PING"]]`, "invalid bulk length"},
		{"PING\n*1\r\n$04\r\nPING\r\n", `[["PING"]]`, "invalid bulk length"},
		{"PING\n*1\r\n$\r\n", `[["PING"]]`, "invalid bulk length"},
		{"PING\n*1\r\n$536870913\r\n", `[["PING"]]`, "invalid bulk length"},
		{"PING\n*1\r\n$9223372036854775807\r\n", `[["PING"]]`, "invalid bulk length"},
		{"PING\n*1\r\n$18446744073709551616\r\n", `[["PING"]]`, "invalid bulk length"},
		{"PING\n*1\r\nPING\r\n", `[["PING"]]`, "expected '$', got 'P'"},
		{"PING\n*1\r\n\r\n", `[["PING"]]`, "expected '$', got ' '"},
		{"PING\n*1\r\n\n\r\n", `[["PING"]]`, "expected '$', got ' '"},
		{"PING\n*2\r\n$1\r\nabc\r\n$1\r\nx\r\n", `[["PING"]]`, "expected '$', got '\r'"},
		// The largest that is allowed only waits.
		{"*2147483647\r\n", `[]`, ""}, {"*1\r\n$536870912\r\n", `[]`, ""},
		// Lines without an end.
		{strings.Repeat("x", inlineMaxBytes), `[]`, ""},
		{strings.Repeat("x", inlineMaxBytes+1), `[]`, "too big inline request"},
		{strings.Repeat("x", inlineMaxBytes+1) + "\n", `[]`, "too big inline request"},
		{"*" + strings.Repeat("1", inlineMaxBytes), `[]`, "too big mbulk count string"},
		{"*1\r\n$" + strings.Repeat("1", inlineMaxBytes), `[]`, "too big bulk count string"},
		// A NUL hides the end of its line.
		{"\x00\n" + strings.Repeat("x\n", inlineMaxBytes/2), `[]`, "too big inline request"},
		{"*\x00\r\n" + strings.Repeat("x\r\n", inlineMaxBytes/3), `[]`, "too big mbulk count string"},
		{"*1\r\n$\x00\r\n" + strings.Repeat("x\r\n", inlineMaxBytes/3), `[]`, "too big bulk count string"},
		{"*1\x00\r\n", `[]`, ""},
	} {
		test.failure = strings.ReplaceAll(test.failure, "\r", " ")
		for _, pieces := range [][][]byte{{[]byte(test.input)}, bytewise(test.input)} {
			if len(pieces) > 1 && len(test.input) > 1000 {
				pieces = [][]byte{[]byte(test.input[:1]), []byte(test.input[1:100]), []byte(test.input[100:])}
			}
			commands, failure, _ := readAll(pieces, testLimits())
			if got := fmt.Sprintf("%q", commands); got != test.commands || failure != test.failure {
				t.Errorf("%.60q in %d pieces:\n got %s, %q\nwant %s, %q", test.input, len(pieces), got, failure, test.commands, test.failure)
			}
		}
	}
}

func bytewise(text string) [][]byte {
	return bytes.SplitAfter([]byte(text), nil)
}

func TestReaderBeforeAuth(t *testing.T) {
	limits := readLimits{bulkMaxBytes: 512 << 20}
	for _, test := range []struct{ input, failure string }{
		{"*10\r\n", ""},
		{"*11\r\n", "unauthenticated multibulk length"},
		{"*1\r\n$16384\r\n", ""},
		{"*1\r\n$16385\r\n", "unauthenticated bulk length"},
	} {
		if _, failure, _ := readAll([][]byte{[]byte(test.input)}, limits); failure != test.failure {
			t.Errorf("%q: %q, want %q", test.input, failure, test.failure)
		}
	}
}

// Whatever the pieces, the commands are the same.
func checkSplits(t *testing.T, data []byte, random *rand.Rand) {
	t.Helper()
	commands, failure, rest := readAll([][]byte{data}, testLimits())
	for range 4 {
		var pieces [][]byte
		for left := data; len(left) > 0; {
			n := min(len(left), 1+random.IntN(1+random.IntN(len(left))))
			pieces = append(pieces, left[:n])
			left = left[n:]
		}
		gotCommands, gotFailure, gotRest := readAll(pieces, testLimits())
		if fmt.Sprint(commands) != fmt.Sprint(gotCommands) || failure != gotFailure || failure == "" && rest != gotRest {
			t.Fatalf("%.200q\nin one piece: %.200q, %q, %d left\nin %d pieces: %.200q, %q, %d left",
				data, commands, failure, rest, len(pieces), gotCommands, gotFailure, gotRest)
		}
	}
}

func FuzzReaderSplits(f *testing.F) {
	for _, seed := range []string{
		"*1\r\n$4\r\nPING\r\n", "PING\r\n", "*2\r\n$1\r\na\r\n$0\r\n\r\n*1\r\n", "*0\r\n*-1\r\n\r\n", "SET \"a\\x41\" 'b'\n",
		"*1\r\n$-100\r\n", "*\x00", "$3\r\nfoo\r\n", "*1000000000000000000\r\n$3\r\nSET\r\n", "*3\r\n$3\r\nSET\r\n$1\r\n",
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if len(data) > 4096 {
			t.Skip("pieces of long inputs are tested elsewhere")
		}
		checkSplits(t, data, rand.New(rand.NewPCG(seed, 0)))
	})
}

// Random requests, damaged at random, in random pieces.
func TestReaderSplits(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 2))
	for range 2000 {
		var data []byte
		for range 1 + random.IntN(5) {
			words := make([]string, random.IntN(4))
			for i := range words {
				words[i] = strings.Repeat("a\r\n$*1"[random.IntN(6):], random.IntN(5))
			}
			data = append(data, request(words...)...)
		}
		if random.IntN(2) == 0 && len(data) > 0 {
			data[random.IntN(len(data))] = "\r\n*$-0\x00x "[random.IntN(9)]
		}
		checkSplits(t, data, random)
	}
}

// A request of n arguments that comes in pieces of a few bytes costs time linear
// in its size: what was looked at is not looked at again. The measure is how
// far the reader steps, not a clock.
func TestReaderIsLinear(t *testing.T) {
	const arguments = 100_000
	data := []byte(request(strings.Split(strings.Repeat("x,", arguments), ",")...))
	var r reader
	calls := 0
	for end := 1; ; end += 100 {
		calls++
		before := r.at
		size, found := r.next(data[:min(end, len(data))], testLimits())
		if r.at < before {
			t.Fatalf("the reader went back from %d to %d", before, r.at)
		}
		if found == complete {
			if size != len(data) || len(r.spans) != arguments+1 {
				t.Fatalf("%d bytes and %d arguments, want %d and %d", size, len(r.spans), len(data), arguments+1)
			}
			break
		}
	}
	t.Logf("%d bytes in %d pieces", len(data), calls)
}

// A huge count or length allocates nothing up front.
func TestReaderHugeCounts(t *testing.T) {
	for _, input := range []string{"*2147483647\r\n$3\r\nSET\r\n", "*1\r\n$536870912\r\nx"} {
		used := ^uint64(0) // by the best of several, for others allocate too
		for range 20 {
			var r reader
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, found := r.next([]byte(input), testLimits()); found != incomplete {
				t.Fatalf("%q: %v", input, found)
			}
			runtime.ReadMemStats(&after)
			used = min(used, after.TotalAlloc-before.TotalAlloc)
		}
		if used > 4096 {
			t.Errorf("%q allocated %d bytes", input, used)
		}
	}
}

// A reader that has seen a command reads the next ones without allocating.
func TestReaderAllocations(t *testing.T) {
	data := []byte(request("SET", "key", "value"))
	var r reader
	if n := testing.AllocsPerRun(100, func() {
		if _, found := r.next(data, testLimits()); found != complete || len(r.spans) != 3 {
			t.Fatal("not read")
		}
		r.reset()
	}); n > 0 {
		t.Errorf("%v allocations a command", n)
	}
}

func BenchmarkReader(b *testing.B) {
	data := []byte(strings.Repeat(request("SET", "key:000000012345", "0123456789abcdef0123456789abcdef"), 64))
	var r reader
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for rest := data; len(rest) > 0; {
			size, found := r.next(rest, testLimits())
			if found != complete {
				b.Fatal(found)
			}
			r.reset()
			rest = rest[size:]
		}
	}
}
