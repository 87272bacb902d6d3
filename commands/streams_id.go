package commands

import (
	"bytes"
	"math"
	"strconv"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine/stream"
)

// This file owns how ids of streams are read from arguments and written into
// replies, letter for letter as Redis does. It must not know any command.

// idTextMax is the longest text that is looked at as an id, and more than one
// has (t_stream.c streamGenericParseIDOrReply).
const idTextMax = 127

// idSamples are ids for generated lines.
func idSamples() []string {
	return []string{"1", "2", "3-1", "5-0", "5-3", "0", "0-0", "7", "9-9", "18446744073709551615-18446744073709551615", "-", "+", "(3", "x", "1-x"}
}

// parseID reads ms or ms-seq; a seq that is missing is missingSeq.
func parseID(text []byte, missingSeq uint64) (id stream.ID, ok bool) {
	id, automatic, ok := parseAutomaticID(text, missingSeq)
	return id, ok && !automatic
}

// parseAutomaticID is parseID that also takes ms-*: seq is for the server to
// choose.
func parseAutomaticID(text []byte, missingSeq uint64) (id stream.ID, automatic, ok bool) {
	if len(text) > idTextMax {
		return stream.ID{}, false, false
	}
	ms, seq, hasSeq := bytes.Cut(upToNul(text), []byte("-"))
	id.Seq = missingSeq
	if id.Ms, ok = parseUnsigned(ms); !ok || !hasSeq {
		return id, false, ok
	}
	if len(seq) == 1 && seq[0] == '*' {
		id.Seq = 0
		return id, true, true
	}
	id.Seq, ok = parseUnsigned(seq)
	return id, false, ok
}

// parseEndID is parseID that also takes - and +, the least and the greatest id.
func parseEndID(text []byte, missingSeq uint64) (id stream.ID, ok bool) {
	if len(text) <= idTextMax {
		switch string(upToNul(text)) {
		case "-":
			return stream.ID{}, true
		case "+":
			return stream.Max, true
		}
	}
	return parseID(text, missingSeq)
}

// parseUnsigned reads an unsigned integer as util.c string2ull does: what is no
// signed one goes through strtoull, which takes spaces before it, a sign, and
// leading zeros; what has a minus there wraps.
func parseUnsigned(text []byte) (uint64, bool) {
	if n, ok := grammar.ParseInt(text); ok {
		return uint64(n), n >= 0
	}
	digits := bytes.TrimLeft(text, " \t\n\v\f\r")
	negative := len(digits) > 0 && digits[0] == '-'
	if negative || len(digits) > 0 && digits[0] == '+' {
		digits = digits[1:]
	}
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}

// interval is the ids from first to last.
type interval struct{ first, last stream.ID }

// parseInterval reads both ends of an interval; "(" leaves one out. The first is
// read first, wherever it stands in the line.
func parseInterval(first, last []byte) (in interval, err *grammar.Error) {
	open, ok := parseOpenEnd(first, &in.first, 0)
	if !ok {
		return in, grammar.Fail(grammar.Other, string(errStreamID))
	}
	if open {
		if in.first, ok = in.first.Next(); !ok {
			return in, grammar.Fail(grammar.Other, string(errIntervalStart))
		}
	}
	if open, ok = parseOpenEnd(last, &in.last, math.MaxUint64); !ok {
		return in, grammar.Fail(grammar.Other, string(errStreamID))
	}
	if open {
		if in.last, ok = in.last.Previous(); !ok {
			return in, grammar.Fail(grammar.Other, string(errIntervalEnd))
		}
	}
	return in, nil
}

// parseOpenEnd reads one end of an interval; open says that it is left out.
func parseOpenEnd(text []byte, id *stream.ID, missingSeq uint64) (open, ok bool) {
	if len(text) > 1 && text[0] == '(' {
		*id, ok = parseID(text[1:], missingSeq)
		return true, ok
	}
	*id, ok = parseEndID(text, missingSeq)
	return false, ok
}

// parseIDs reads ids that must all be such before the first counts.
func parseIDs(texts [][]byte) ([]stream.ID, error) {
	ids := make([]stream.ID, len(texts))
	for i, text := range texts {
		var ok bool
		if ids[i], ok = parseID(text, 0); !ok {
			return nil, errStreamID
		}
	}
	return ids, nil
}

// idTextBytes is room for the text of any id.
const idTextBytes = 2*20 + 1

func writeID(w *reply.Writer, id stream.ID) {
	var buf [idTextBytes]byte
	w.Bulk(id.AppendText(buf[:0]))
}

// writeEntry writes an entry: its id, and its fields and values in turn.
func writeEntry(w *reply.Writer, e *stream.Entry) {
	w.Array(2)
	writeID(w, e.ID)
	w.Array(2 * e.Pairs)
	e.Each(func(field, value []byte) {
		w.Bulk(field)
		w.Bulk(value)
	})
}

// The shapes of entries in replies.

func entryShape() reply.Shape {
	return reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk()))
}

func entriesShape() reply.Shape { return reply.ArrayOf(entryShape()) }
