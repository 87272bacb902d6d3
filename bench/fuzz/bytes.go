package main

// This file owns the bytes of a connection: lines as requests, and the damage done
// to them. It must not know what lines mean.

import (
	"math/rand/v2"
	"slices"
	"strings"

	"reminis/bench/resp"
)

const (
	// streamLinesMax bounds the lines of one connection.
	streamLinesMax = 60
	// longBytes is more than a line of the protocol may have.
	longBytes = 70_000
)

// stream draws what a connection sends.
func (v vocabulary) stream(r *rand.Rand) []byte {
	var out []byte
	for range 1 + r.IntN(streamLinesMax) {
		words := v.line(r)
		if r.IntN(10) == 0 {
			out = appendInline(out, words)
			continue
		}
		out = resp.AppendCommand(out, words...)
	}
	if r.IntN(16) == 0 {
		return multiplied(r, out)
	}
	for damages := r.IntN(3) * r.IntN(4); damages > 0; damages-- {
		out = damage(r, out)
	}
	return out
}

// streamLargeBytes is about how much a stream has that is sent over and over: more
// than the buffers of both sockets.
const streamLargeBytes = 1 << 20

// multiplied repeats a short stream, as a peer does that pipelines without end.
func multiplied(r *rand.Rand, stream []byte) []byte {
	stream = stream[:min(len(stream), 1+r.IntN(4096))]
	out := make([]byte, 0, streamLargeBytes)
	for len(out)+len(stream) <= streamLargeBytes {
		out = append(out, stream...)
	}
	return out
}

// appendInline writes a line as people type it, with or without quotes.
func appendInline(out []byte, words []string) []byte {
	for i, word := range words {
		if i > 0 {
			out = append(out, ' ')
		}
		if strings.ContainsAny(word, " \"\n\r\x00") {
			out = append(append(append(out, '"'), word...), '"')
			continue
		}
		out = append(out, word...)
	}
	return append(out, '\r', '\n')
}

// damage does one thing to a stream that no client does.
func damage(r *rand.Rand, stream []byte) []byte {
	if len(stream) == 0 {
		return []byte(fragments()[r.IntN(len(fragments()))])
	}
	at := r.IntN(len(stream))
	run := min(len(stream)-at, 1+r.IntN(20))
	switch r.IntN(8) {
	case 0:
		stream[at] ^= 1 << r.IntN(8)
	case 1:
		stream[at] = byte(r.Uint32())
	case 2:
		stream = slices.Delete(stream, at, at+run)
	case 3:
		stream = slices.Insert(stream, at, slices.Clone(stream[at:at+run])...)
	case 4:
		stream = stream[:at]
	case 5, 6:
		stream = relength(r, stream, at)
	case 7:
		stream = slices.Insert(stream, at, []byte(pick(r, fragments()))...)
	}
	return stream
}

// relength replaces the next count or length by another number.
func relength(r *rand.Rand, stream []byte, at int) []byte {
	first := slices.IndexFunc(stream[at:], func(b byte) bool { return b == '*' || b == '$' })
	if first < 0 {
		return stream
	}
	first += at + 1
	limit := first
	for limit < len(stream) && stream[limit] >= '0' && stream[limit] <= '9' {
		limit++
	}
	return slices.Replace(stream, first, limit, []byte(pick(r, numbers()))...)
}

// numbers are counts and lengths that a reader may stumble over.
func numbers() []string {
	return []string{
		"0", "-1", "-2", "1", "2", "7", "10", "11", "16384", "16385", "65536", "1048576", "536870912", "536870913", "2147483647", "2147483648", "4294967295", "4294967296",
		"9223372036854775807", "9223372036854775808", "18446744073709551615", "-9223372036854775808", "99999999999999999999", "", "+1", "01", " 1", "1 ", "0x10", "1e3", "--1",
		strings.Repeat("1", 40),
	}
}

// fragments are put between the requests, or into the middle of one.
func fragments() []string {
	return []string{
		"\r\n", "\n", "\r", "\x00", "*", "$", "*1\r\n", "*3\r\n$3\r\n", "$5\r\nhello\r\n", "*0\r\n", "*-1\r\n", "+OK\r\n", ":1\r\n", "%1\r\n", "\"", "'", "\"\\x", "PING\r\n", "PING\n",
		"*1\r\n$9223372036854775807\r\n", "*2147483647\r\n", "*1000000000000\r\n", "*100000\r\n", "*2\r\n$3\r\nGET\r\n$536870912\r\n", "*1\r\n*1\r\n$4\r\nPING\r\n",
		"*" + strings.Repeat("1", longBytes), "*1\r\n$" + strings.Repeat("1", longBytes), strings.Repeat("a", longBytes), strings.Repeat("a ", longBytes/2), strings.Repeat("\r\n", 2000), strings.Repeat("*1\r\n$0\r\n\r\n", 2000),
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "POST / HTTP/1.1\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "*3\r\n$3\r\nSET\r\n$5\r\nkey:1\r\n$100000\r\n" + strings.Repeat("z", 100_000) + "\r\n",
	}
}
