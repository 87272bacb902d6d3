package reply

// This file owns the reading of reply bytes, one item at a time. It must not
// build trees: Check and scripts walk the items themselves.

import (
	"errors"
	"strconv"
)

// Kind is the first byte of an item in RESP.
type Kind byte

// The kinds of items. A null of RESP2 is KindNull with Item.NullOf set.
const (
	KindStatus    Kind = '+'
	KindError     Kind = '-'
	KindInt       Kind = ':'
	KindBulk      Kind = '$'
	KindArray     Kind = '*'
	KindNull      Kind = '_'
	KindDouble    Kind = ','
	KindBool      Kind = '#'
	KindBigNumber Kind = '('
	KindVerbatim  Kind = '='
	KindMap       Kind = '%'
	KindSet       Kind = '~'
	KindPush      Kind = '>'
	KindAttribute Kind = '|'
	KindBulkError Kind = '!'
)

// Item is one element of a reply: a scalar, or the header of an aggregate, whose
// members are the next items.
type Item struct {
	Kind Kind
	// Text is what a scalar says, aliasing the data; of a KindVerbatim the text behind
	// its format.
	Text []byte
	// Count is the number of items that follow as members: of maps and attributes two
	// for each pair.
	Count int
	// NullOf is KindBulk or KindArray for RESP2's two nulls.
	NullOf Kind
}

// ErrMalformed is returned by Read for bytes that are not a whole item of RESP.
var ErrMalformed = errors.New("reply: not a whole item of RESP")

// Read returns the first item of data and what follows it.
func Read(data []byte) (Item, []byte, error) {
	line, rest, ok := readLine(data)
	if !ok || len(line) == 0 {
		return Item{}, data, ErrMalformed
	}
	item := Item{Kind: Kind(line[0]), Text: line[1:]}
	switch item.Kind {
	case KindStatus, KindError, KindDouble, KindBigNumber:
		return item, rest, nil
	case KindInt:
		if _, err := strconv.ParseInt(string(item.Text), 10, 64); err != nil {
			return Item{}, data, ErrMalformed
		}
		return item, rest, nil
	case KindBool:
		if len(item.Text) != 1 || item.Text[0] != 't' && item.Text[0] != 'f' {
			return Item{}, data, ErrMalformed
		}
		return item, rest, nil
	case KindNull:
		if len(item.Text) != 0 {
			return Item{}, data, ErrMalformed
		}
		return item, rest, nil
	}
	return readSized(item, data, rest)
}

// readSized reads an item that begins with a length.
func readSized(item Item, data, rest []byte) (Item, []byte, error) {
	size, err := strconv.Atoi(string(item.Text))
	if err != nil || size < -1 {
		return Item{}, data, ErrMalformed
	}
	switch item.Kind {
	case KindBulk, KindVerbatim, KindBulkError:
		if size == -1 && item.Kind == KindBulk {
			return Item{Kind: KindNull, NullOf: KindBulk}, rest, nil
		}
		if size < 0 || size > len(rest)-2 || rest[size] != '\r' || rest[size+1] != '\n' {
			return Item{}, data, ErrMalformed
		}
		item.Text, rest = rest[:size], rest[size+2:]
		if item.Kind == KindVerbatim {
			if size < 4 || item.Text[3] != ':' {
				return Item{}, data, ErrMalformed
			}
			item.Text = item.Text[4:]
		}
		return item, rest, nil
	case KindArray, KindSet, KindPush, KindMap, KindAttribute:
		if size == -1 && item.Kind == KindArray {
			return Item{Kind: KindNull, NullOf: KindArray}, rest, nil
		}
		if size < 0 {
			return Item{}, data, ErrMalformed
		}
		item.Text, item.Count = nil, size
		if item.Kind == KindMap || item.Kind == KindAttribute {
			item.Count *= 2
		}
		return item, rest, nil
	}
	return Item{}, data, ErrMalformed
}

// readLine splits off a line that ends with CR LF.
func readLine(data []byte) (line, rest []byte, ok bool) {
	for i := 1; i < len(data); i++ {
		if data[i] == '\n' && data[i-1] == '\r' {
			return data[:i-1], data[i+1:], true
		}
	}
	return nil, nil, false
}

// Skip returns what follows the first whole reply of data: an item with all its
// members, and the attributes before it.
func Skip(data []byte) ([]byte, error) {
	for open := 1; open > 0; open-- {
		item, rest, err := Read(data)
		if err != nil {
			return data, err
		}
		if item.Kind == KindAttribute {
			// An attribute describes the reply after it and is none itself.
			open++
		}
		open += item.Count
		data = rest
	}
	return data, nil
}
