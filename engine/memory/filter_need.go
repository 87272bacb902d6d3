package memory

// This file owns what must be so of a value for a filter to hold of it, in terms
// that an index can answer: columns, which are paths that lead to one node at
// most, and ranges of what they lead to. It must not know who keeps such an index.
//
// A need is necessary, not sufficient: whoever finds values by it still asks the
// filter. So keys may be coarser than values (numbers are floats, texts are cut),
// as long as they have their order.

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
)

// Column is a path of a value that leads to one node at most.
type Column struct {
	// Name is the same for all spellings of a path.
	Name  string
	steps []step
}

// ParseColumn reads a path; ok is false when it may lead to several nodes.
func ParseColumn(path string) (c Column, ok bool) {
	parsed, err := ParsePath([]byte(path))
	if err != nil {
		return Column{}, false
	}
	steps, singular := stepsOf(parsed.segments)
	return Column{columnName(steps), steps}, singular
}

// columnName spells steps in one way.
func columnName(steps []step) string {
	name := []byte{'$'}
	for i := range steps {
		name = append(name, '[')
		if s := &steps[i]; s.name != nil {
			name = strconv.AppendQuote(name, string(s.name))
		} else {
			name = strconv.AppendInt(name, int64(s.index), 10)
		}
		name = append(name, ']')
	}
	return string(name)
}

// Need is a necessary condition: a range of a column, or, where it has parts, all
// or any of these.
type Need struct {
	Column      string
	First, Last []byte // keys, both included
	Parts       []Need
	Any         bool // of the parts one is enough
}

// The first bytes of keys, which order values of different types. A key that
// begins with one of them and goes on with 0xFF is behind all others of its type.
const (
	keyNull = 1 + iota
	keyFalse
	keyTrue
	keyNumber
	keyText
	keyParts // objects and arrays, whatever is in them
)

// keyTextMax is where texts are cut in keys: what they begin with tells most
// apart, and an index holds no documents.
const keyTextMax = 48

// AppendKey appends the key of what the column leads to in a record's value; ok is
// false when that is nothing.
func (c *Column) AppendKey(dst, value []byte, text bool) (key []byte, ok bool) {
	if text {
		value = AppendQuoted(nil, value)
	}
	if value = trimSpace(value); len(value) == 0 {
		return dst, false
	}
	if value = followSteps(value, c.steps); value == nil {
		return dst, false
	}
	return appendKey(dst, value), true
}

func appendKey(dst, value []byte) []byte {
	switch c := value[0]; {
	case c == 'n':
		return append(dst, keyNull)
	case c == 'f':
		return append(dst, keyFalse)
	case c == 't':
		return append(dst, keyTrue)
	case c == '"':
		first := len(dst) + 1
		dst = appendUnquoted(append(dst, keyText), value)
		return dst[:min(len(dst), first+keyTextMax)]
	case isNumber(c):
		// What has no place in a float64 becomes the nearest end of its range.
		number, _ := strconv.ParseFloat(string(value), 64)
		if number == 0 {
			number = 0 // not -0
		}
		bits := math.Float64bits(number)
		if bits>>63 != 0 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(append(dst, keyNumber), bits)
	}
	return append(dst, keyParts)
}

// Need is what must be so of a value for the filter to hold; ok is false when it
// could hold of any.
func (f *Filter) Need() (need Need, ok bool) { return f.root.need() }

func (l *logical) need() (need Need, ok bool) {
	switch {
	case l.not:
		return Need{}, false
	case l.kind == logicalAnd:
		for i := range l.parts {
			if part, helps := l.parts[i].need(); helps {
				need.Parts = append(need.Parts, part)
			}
		}
		return need, len(need.Parts) > 0
	case l.kind == logicalOr:
		need.Any = true
		for i := range l.parts {
			part, helps := l.parts[i].need()
			if !helps {
				return Need{}, false
			}
			need.Parts = append(need.Parts, part)
		}
		return need, true
	case l.kind == logicalCompare:
		return l.comparedRange()
	case l.left.kind == operandSingular:
		return Need{Column: columnName(l.left.steps), First: []byte{keyNull}, Last: []byte{keyParts}}, true
	}
	return Need{}, false
}

// comparedRange is what a comparison of a column with a literal asks of the column.
func (l *logical) comparedRange() (need Need, ok bool) {
	column, literal, op := &l.left, &l.right, l.op
	if column.kind == operandLiteral {
		column, literal, op = literal, column, mirrored(op)
	}
	if column.kind != operandSingular || literal.kind != operandLiteral || op == opNotEqual {
		return Need{}, false
	}
	key := appendKey(nil, literal.text)
	need = Need{Column: columnName(column.steps), First: key, Last: key}
	if key[0] != keyNumber && key[0] != keyText {
		return need, true // only numbers and texts have an order
	}
	switch op {
	case opLess, opLessEqual:
		need.First = key[:1]
	case opGreater, opGreaterEqual:
		need.Last = bytes.Repeat([]byte{0xFF}, 1+8+1)
		need.Last[0] = key[0]
	}
	return need, true
}

// mirrored is what a comparison is with its sides exchanged.
func mirrored(op comparison) comparison {
	switch op {
	case opLess:
		return opGreater
	case opLessEqual:
		return opGreaterEqual
	case opGreater:
		return opLess
	case opGreaterEqual:
		return opLessEqual
	}
	return op
}
