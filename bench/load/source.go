package main

// This file owns the requests that are sent. It must not know sockets.

import (
	"math/rand/v2"
	"strconv"

	"reminis/bench/resp"
)

const (
	keySizeBytes   = 16
	valueSizeBytes = 32
)

// source yields pipelines. Next returns the bytes of one and the number of its
// commands, or 0 when there are no more. The bytes may be kept in buf, which
// belongs to the connection, and must stay as they are until it asks again.
type source interface {
	next(buf []byte) (pipeline []byte, commands int)
}

// appendKey appends the key of a number: 16 bytes.
func appendKey(buf []byte, number int) []byte {
	buf = append(buf, "key:000000000000"...)
	for at := len(buf) - 1; number > 0; at-- {
		buf[at] = byte('0' + number%10)
		number /= 10
	}
	return buf
}

// appendValue appends a value of 32 bytes that depends on the number, so that
// neither server can share it between keys.
func appendValue(buf []byte, number int) []byte {
	start := len(buf)
	buf = appendKey(append(buf, "a value of 32 b:"...), number)
	return buf[:start+valueSizeBytes]
}

// prebuilt repeats a fixed sequence of pipelines.
type prebuilt struct {
	bytes    []byte
	ends     []int // of the pipelines within bytes
	commands int   // in each
	at       int
}

// build makes so many commands with random keys below keys, in pipelines.
func build(command request, keys, commands, pipeline int, seed uint64) *prebuilt {
	r := rand.New(rand.NewPCG(seed, uint64(pipeline)))
	p := &prebuilt{commands: pipeline}
	for range max(1, commands/pipeline) {
		for range pipeline {
			p.bytes = command(p.bytes, r.IntN(keys))
		}
		p.ends = append(p.ends, len(p.bytes))
	}
	return p
}

// request appends a command that is about the key of a number.
type request func(buf []byte, number int) []byte

// plain is GET key, DEL key or SET key value.
func plain(command string) request {
	return func(buf []byte, number int) []byte {
		var room [keySizeBytes + valueSizeBytes]byte
		key := appendKey(room[:0], number)
		if command != "SET" {
			return resp.AppendCommand(buf, []byte(command), key)
		}
		value := appendValue(key[keySizeBytes:keySizeBytes], number)
		return resp.AppendCommand(buf, []byte(command), key, value)
	}
}

func (p *prebuilt) next([]byte) ([]byte, int) {
	start := 0
	if p.at > 0 {
		start = p.ends[p.at-1]
	}
	pipeline := p.bytes[start:p.ends[p.at]]
	p.at = (p.at + 1) % len(p.ends)
	return pipeline, p.commands
}

// sequence yields a command for each number below limit that take says yes to,
// once, in order.
type sequence struct {
	command  request
	number   int
	limit    int
	pipeline int
	take     func(number int) bool
}

func everyKey(int) bool { return true }

func (s *sequence) next(buf []byte) ([]byte, int) {
	buf = buf[:0]
	commands := 0
	for ; s.number < s.limit && commands < s.pipeline; s.number++ {
		if s.take(s.number) {
			buf = s.command(buf, s.number)
			commands++
		}
	}
	return buf, commands
}

// pipelineLabel is how reports name a pipeline depth.
func pipelineLabel(depth int) string { return "P=" + strconv.Itoa(depth) }

// once yields each pipeline of a prebuilt sequence a single time.
type once struct {
	*prebuilt
	yielded int
}

func (o *once) next(buf []byte) ([]byte, int) {
	if o.yielded == len(o.ends) {
		return nil, 0
	}
	o.yielded++
	return o.prebuilt.next(buf)
}
