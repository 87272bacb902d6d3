// This file owns the request side of RESP: finding whole commands in bytes, in
// linear time however they are split. It must not know sockets, buffers'
// lifetimes or commands.

package server

import (
	"bytes"

	"reminis/commands/quoting"
)

// A span is where an argument lies, relative to the first byte of its command.
// A command is bounded by client-query-buffer-limit; more than 4 GB of one is
// refused by the reader, so that 32 bits suffice.
type span struct{ first, limit uint32 }

// commandMaxBytes is what a span can address.
const commandMaxBytes = 1<<32 - 1

// An outcome is what the reader found.
type outcome uint8

const (
	// incomplete: more bytes are needed.
	incomplete outcome = iota
	// complete: one command, possibly without arguments (to be skipped).
	complete
	// failed: the bytes are not a request; reader.failure says why.
	failed
)

// readLimits are the bounds of a request that depend on settings and on the
// connection's state.
type readLimits struct {
	bulkMaxBytes  int
	authenticated bool
}

// A reader finds commands, one per call of next. Between calls it remembers how
// far the command in progress has been understood, so that nothing is looked
// at twice. The zero value is ready.
type reader struct {
	// spans are the arguments of a multibulk command found so far.
	spans []span
	// inline holds the arguments of an inline command, decoded; nil otherwise.
	inline [][]byte
	// remaining is how many arguments are still to come; 0 between commands.
	remaining int
	// bulkBytes is the length of the argument in progress, valid if inBulk.
	bulkBytes int
	inBulk    bool
	// at is how much of the command in progress is understood, seen how far it
	// has been searched for the end of a line.
	at, seen int
	// failure is the text after "Protocol error: ".
	failure string
}

// reset forgets the command in progress: the next call starts at a command's
// first byte.
func (r *reader) reset() {
	*r = reader{spans: r.spans[:0]}
}

// wanted is how many bytes, from the command's first byte, are needed before
// its argument in progress is whole; 0 when that is not known yet.
func (r *reader) wanted() int {
	if !r.inBulk {
		return 0
	}
	return r.at + r.bulkBytes + 2
}

// next continues the command whose first byte is data[0]. When complete it
// returns the command's size, and the caller takes the arguments (spans, or
// inline) before it calls reset. Otherwise the caller comes again with the same
// bytes and more, at any address.
func (r *reader) next(data []byte, limits readLimits) (size int, found outcome) {
	if r.remaining == 0 {
		if len(data) == 0 {
			return 0, incomplete
		}
		if data[0] != '*' {
			return r.nextInline(data)
		}
		count, found := r.number(data, 1, "too big mbulk count string")
		if found != complete {
			return 0, r.keep(found, "invalid multibulk length")
		}
		if count > argumentsMax {
			return 0, r.fail("invalid multibulk length")
		}
		if count > unauthenticatedArgumentsMax && !limits.authenticated {
			return 0, r.fail("unauthenticated multibulk length")
		}
		if count <= 0 {
			return r.at, complete
		}
		r.remaining = int(count)
	}
	return r.nextBulks(data, limits)
}

// nextBulks reads the arguments of a multibulk command.
func (r *reader) nextBulks(data []byte, limits readLimits) (size int, found outcome) {
	for r.remaining > 0 {
		if !r.inBulk {
			if found := r.bulkHeader(data, limits); found != complete {
				return 0, found
			}
		}
		limit := r.at + r.bulkBytes
		if len(data)-2 < limit {
			return 0, incomplete
		}
		// Redis does not look at the two bytes behind a bulk; nor do we.
		r.spans = append(r.spans, span{uint32(r.at), uint32(limit)})
		r.at, r.seen = limit+2, limit+2
		r.inBulk = false
		r.remaining--
	}
	return r.at, complete
}

// bulkHeader reads "$<length>\r\n" at r.at.
func (r *reader) bulkHeader(data []byte, limits readLimits) outcome {
	first := r.at
	if first < len(data) && data[first] == '$' {
		if length, next, ok := shortNumber(data, first+1); ok {
			r.at, r.seen = next, next
			return r.startBulk(int64(length), limits)
		}
	}
	end, found := r.lineEnd(data, first, "too big bulk count string")
	if found != complete {
		return found
	}
	if data[first] != '$' {
		return r.fail("expected '$', got '" + printable(data[first]) + "'")
	}
	length, ok := parseInteger(data[first+1 : end])
	if !ok {
		return r.fail("invalid bulk length")
	}
	r.at, r.seen = end+2, end+2
	return r.startBulk(length, limits)
}

func (r *reader) startBulk(length int64, limits readLimits) outcome {
	if length < 0 || length > int64(limits.bulkMaxBytes) || int64(r.at)+length+2 > commandMaxBytes {
		return r.fail("invalid bulk length")
	}
	if length > unauthenticatedBulkMaxBytes && !limits.authenticated {
		return r.fail("unauthenticated bulk length")
	}
	r.bulkBytes, r.inBulk = int(length), true
	return complete
}

// number reads the integer between first and the end of its line and moves
// r.at behind the line. A failed outcome without a failure text means that the
// line is there but is not an integer.
func (r *reader) number(data []byte, first int, tooLong string) (int64, outcome) {
	if value, next, ok := shortNumber(data, first); ok {
		r.at, r.seen = next, next
		return int64(value), complete
	}
	end, found := r.lineEnd(data, r.at, tooLong)
	if found != complete {
		return 0, found
	}
	value, ok := parseInteger(data[first:end])
	if !ok {
		return 0, failed
	}
	r.at, r.seen = end+2, end+2
	return value, complete
}

// lineEnd finds the '\r' that ends the line which starts at first, and asks for
// one byte behind it. As in Redis (strchr), a NUL hides what comes after it.
func (r *reader) lineEnd(data []byte, first int, tooLong string) (int, outcome) {
	end, found := r.search(data, first, '\r')
	if !found {
		if len(data)-first > inlineMaxBytes {
			return 0, r.fail(tooLong)
		}
		return 0, incomplete
	}
	if end-first > inlineMaxBytes {
		return 0, r.fail(tooLong)
	}
	if end+1 >= len(data) {
		return 0, incomplete
	}
	return end, complete
}

// search looks for ending from where the last search stopped.
func (r *reader) search(data []byte, first int, ending byte) (int, bool) {
	from := max(first, r.seen)
	if from > len(data) {
		return 0, false
	}
	rest := data[from:]
	end := bytes.IndexByte(rest, ending)
	if end < 0 {
		if nul := bytes.IndexByte(rest, 0); nul >= 0 {
			r.seen = from + nul
		} else {
			r.seen = len(data)
		}
		return 0, false
	}
	if nul := bytes.IndexByte(rest[:end], 0); nul >= 0 {
		r.seen = from + nul
		return 0, false
	}
	r.seen = from + end
	return from + end, true
}

// nextInline reads a line of words.
func (r *reader) nextInline(data []byte) (size int, found outcome) {
	end, ok := r.search(data, 0, '\n')
	if !ok {
		if len(data) > inlineMaxBytes {
			return 0, r.fail("too big inline request")
		}
		return 0, incomplete
	}
	if end > inlineMaxBytes {
		return 0, r.fail("too big inline request")
	}
	line := data[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	split, ok := quoting.Split(line)
	if !ok {
		return 0, r.fail("unbalanced quotes in request")
	}
	r.inline = split
	r.at = end + 1
	return r.at, complete
}

// keep turns a failed outcome without text into text.
func (r *reader) keep(found outcome, text string) outcome {
	if found == failed && r.failure == "" {
		r.failure = text
	}
	return found
}

func (r *reader) fail(text string) outcome {
	r.failure = text
	return failed
}

// shortNumber is the fast path for the counts and lengths that clients send:
// up to nine digits, a '\r' and one more byte. Whatever else there is, it
// answers false and the careful path decides.
func shortNumber(data []byte, first int) (value, next int, ok bool) {
	at := first
	limit := min(len(data), first+9)
	for at < limit {
		digit := data[at] - '0'
		if digit > 9 {
			break
		}
		value = value*10 + int(digit)
		at++
	}
	if at == first || at+1 >= len(data) || data[at] != '\r' || (data[first] == '0' && at > first+1) {
		return 0, 0, false
	}
	return value, at + 2, true
}

// parseInteger is Redis's string2ll: an optional minus, no plus, no leading
// zero, no space, within 64 bits.
func parseInteger(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > 20 {
		return 0, false
	}
	if len(text) == 1 && text[0] == '0' {
		return 0, true
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || text[0] < '1' || text[0] > '9' {
		return 0, false
	}
	var value uint64
	for _, c := range text {
		digit := uint64(c - '0')
		if c < '0' || c > '9' || value > (1<<64-1)/10 || value*10 > (1<<64-1)-digit {
			return 0, false
		}
		value = value*10 + digit
	}
	if negative {
		if value > 1<<63 {
			return 0, false
		}
		return -int64(value), true
	}
	if value > 1<<63-1 {
		return 0, false
	}
	return int64(value), true
}

// printable is a byte as an error line may carry it: line ends become spaces.
func printable(c byte) string {
	if c == '\r' || c == '\n' {
		return " "
	}
	return string([]byte{c})
}
