package resp

// This file owns the parsed form of one reply. It must not know sockets.

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/tidwall/redcon"
)

// depthMax bounds the nesting of aggregates, so that a broken server cannot
// exhaust the stack. Redis nests COMMAND DOCS about ten deep.
const depthMax = 64

// errIncomplete says that more bytes are needed; it never leaves the package.
var errIncomplete = errors.New("incomplete reply")

// Reply is one reply. Data, Items and Raw alias the bytes it was parsed from.
type Reply struct {
	Kind  byte    // the first byte on the wire: + - : $ * or RESP3's _ # , ( ! = % ~ > |
	Null  bool    // $-1, *-1 or _
	Data  []byte  // the text of a scalar, without length and line end
	Items []Reply // the elements; a map (%) has its keys and values in turn
	Raw   []byte  // all bytes of the reply
}

// Next parses the reply at the start of b and returns it with its length. A
// length of 0 without an error says that b ends before the reply does. An error
// says that no further bytes can make it a reply.
func Next(b []byte) (Reply, int, error) {
	reply, n, err := parse(b, 0)
	if errors.Is(err, errIncomplete) {
		return Reply{}, 0, nil
	}
	return reply, n, err
}

// IsError says whether the reply is an error of either protocol.
func (r Reply) IsError() bool { return r.Kind == '-' || r.Kind == '!' }

// Text is the text of a scalar as a string; of a verbatim string without its
// format.
func (r Reply) Text() string {
	if r.Kind == '=' && len(r.Data) >= 4 {
		return string(r.Data[4:])
	}
	return string(r.Data)
}

// Int is the value of an integer, or of a string that holds one.
func (r Reply) Int() (int64, error) {
	n, err := strconv.ParseInt(string(r.Data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reply %q is no integer: %w", r.Raw, err)
	}
	return n, nil
}

func parse(b []byte, depth int) (Reply, int, error) {
	if depth > depthMax {
		return Reply{}, 0, fmt.Errorf("reply nested deeper than %d", depthMax)
	}
	if len(b) == 0 {
		return Reply{}, 0, errIncomplete
	}
	switch b[0] {
	case '+', '-', ':':
		return line(b)
	case '$':
		if reply, n := scalar(b); n > 0 {
			return reply, n, nil
		}
		_, _, err := block(b)
		if err == nil {
			err = fmt.Errorf("malformed bulk string: %.40q", b)
		}
		return Reply{}, 0, err
	case '!', '=':
		return block(b)
	case '_', '#', ',', '(':
		return typedLine(b)
	case '*', '~', '>', '%', '|':
		return aggregate(b, depth)
	}
	return Reply{}, 0, fmt.Errorf("not a reply: %.40q", b)
}

// scalar parses a scalar of RESP2; n is 0 if it is broken or not all there.
func scalar(b []byte) (Reply, int) {
	n, parsed := redcon.ReadNextRESP(b)
	null := n > 0 && parsed.Type == redcon.Bulk && parsed.Data == nil
	if n == 0 || null && string(b[:n]) != "$-1\r\n" {
		return Reply{}, 0
	}
	return Reply{
		Kind: b[0],
		Null: null,
		Data: parsed.Data,
		Raw:  b[:n],
	}, n
}

// line parses a simple string, an error or an integer.
func line(b []byte) (Reply, int, error) {
	if reply, n := scalar(b); n > 0 {
		return reply, n, nil
	}
	if bytes.IndexByte(b, '\n') < 0 {
		return Reply{}, 0, errIncomplete
	}
	return Reply{}, 0, fmt.Errorf("malformed line: %.40q", b)
}

// header splits off the first line: its text after the kind, and its length.
func header(b []byte) (text []byte, n int, err error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return nil, 0, errIncomplete
	}
	if end < 2 || b[end-1] != '\r' {
		return nil, 0, fmt.Errorf("malformed header: %.40q", b)
	}
	return b[1 : end-1], end + 1, nil
}

// count parses a header that is a length; -1 stands for RESP2's nil.
func count(b []byte) (length, n int, err error) {
	text, n, err := header(b)
	if err != nil {
		return 0, 0, err
	}
	length, err = strconv.Atoi(string(text))
	if err != nil || length < -1 {
		return 0, 0, fmt.Errorf("malformed length: %.40q", b)
	}
	return length, n, nil
}

// block parses a string with a length in front of it.
func block(b []byte) (Reply, int, error) {
	length, n, err := count(b)
	if err != nil {
		return Reply{}, 0, err
	}
	if length < 0 {
		return Reply{Kind: b[0], Null: true, Raw: b[:n]}, n, nil
	}
	end := n + length
	if len(b) < end+2 {
		return Reply{}, 0, errIncomplete
	}
	if b[end] != '\r' || b[end+1] != '\n' {
		return Reply{}, 0, fmt.Errorf("string of %d bytes without a line end: %.40q", length, b)
	}
	return Reply{Kind: b[0], Data: b[n:end], Raw: b[:end+2]}, end + 2, nil
}

// typedLine parses RESP3's scalars that fit on one line.
func typedLine(b []byte) (Reply, int, error) {
	if b[0] == '_' && len(b) >= 3 && string(b[:3]) == "_\r\n" {
		return Reply{Kind: '_', Null: true, Raw: b[:3]}, 3, nil
	}
	text, n, err := header(b)
	if err != nil {
		return Reply{}, 0, err
	}
	if b[0] == '_' || b[0] == '#' && string(text) != "t" && string(text) != "f" {
		return Reply{}, 0, fmt.Errorf("malformed scalar: %.40q", b)
	}
	return Reply{Kind: b[0], Data: text, Raw: b[:n]}, n, nil
}

func aggregate(b []byte, depth int) (Reply, int, error) {
	length, n, err := count(b)
	if err != nil {
		return Reply{}, 0, err
	}
	if length < 0 {
		return Reply{Kind: b[0], Null: true, Raw: b[:n]}, n, nil
	}
	reply := Reply{Kind: b[0]}
	if b[0] == '%' || b[0] == '|' {
		length *= 2
	}
	for range length {
		item, size, err := parse(b[n:], depth+1)
		if err != nil {
			return Reply{}, 0, err
		}
		reply.Items = append(reply.Items, item)
		n += size
	}
	reply.Raw = b[:n]
	return reply, n, nil
}
