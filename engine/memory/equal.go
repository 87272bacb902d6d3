package memory

// This file owns when two JSON values are the same: by RFC 6902 section 4.6.
// Numbers compare by value at any precision, strings by what they say, objects
// without order.

import (
	"bytes"
	"math"
	"strconv"
)

// EqualJSON says whether two valid JSON texts are the same value. Of repeated
// member names the last counts.
func EqualJSON(a, b []byte) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	left, right := newNode(a), newNode(b)
	return equalNodes(&left, &right, newWork("comparison", limitPatchWork()))
}

func equalNodes(a, b *node, w *work) (bool, error) {
	kind := a.kind()
	if a.box == nil && b.box == nil && bytes.Equal(a.text, b.text) {
		return true, w.spend(len(a.text))
	}
	switch kind {
	case '{', '[':
		if b.kind() != kind {
			return false, nil
		}
		return equalBoxes(a, b, w)
	case '"':
		if b.kind() != '"' {
			return false, nil
		}
		if err := w.spend(len(a.text) + len(b.text)); err != nil {
			return false, err
		}
		return bytes.Equal(appendUnquoted(nil, a.text), appendUnquoted(nil, b.text)), nil
	case 't', 'f', 'n':
		return b.kind() == kind, nil
	}
	if !isNumber(b.kind()) {
		return false, nil
	}
	return equalNumbers(a.text, b.text), w.spend(len(a.text) + len(b.text))
}

func isNumber(kind byte) bool { return kind == '-' || isDigit(kind) }

func equalBoxes(a, b *node, w *work) (bool, error) {
	left, err := a.open(w)
	if err != nil {
		return false, err
	}
	right, err := b.open(w)
	if err != nil {
		return false, err
	}
	if !left.object {
		if len(left.elements) != len(right.elements) {
			return false, nil
		}
		for i := range left.elements {
			if same, err := equalNodes(&left.elements[i], &right.elements[i], w); !same {
				return false, err
			}
		}
		return true, nil
	}
	if left.size() != right.size() {
		return false, nil
	}
	for i := range left.members {
		m := &left.members[i]
		if m.gone {
			continue
		}
		at := right.find(m.name)
		if at < 0 {
			return false, nil
		}
		if same, err := equalNodes(&m.value, &right.members[at].value, w); !same {
			return false, err
		}
	}
	return true, nil
}

// size is the number of members.
func (b *box) size() int {
	count := 0
	for i := range b.members {
		if !b.members[i].gone {
			count++
		}
	}
	return count
}

// equalNumbers compares JSON numbers by value, exactly: 1, 1.0 and 10e-1 are
// one number, 12345678901234567890 and ...891 are two.
func equalNumbers(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	left, right := decimalOf(a), decimalOf(b)
	return left.exact && right.exact && left.negative == right.negative &&
		left.exponent == right.exponent && bytes.Equal(left.digits, right.digits)
}

// decimal is a number as digits without zeros at either end, times ten to the
// exponent. Zero has no digits, no sign and exponent 0.
type decimal struct {
	negative bool
	digits   []byte
	exponent int64
	exact    bool // false when the exponent has no place in an int64
}

func decimalOf(text []byte) decimal {
	d := decimal{exact: true}
	if text[0] == '-' {
		d.negative = true
		text = text[1:]
	}
	mantissa := text
	if at := bytes.IndexAny(text, "eE"); at >= 0 {
		mantissa = text[:at]
		n, err := strconv.ParseInt(string(bytes.TrimPrefix(text[at+1:], []byte("+"))), 10, 64)
		if err != nil || n > math.MaxInt32*1024 || n < -math.MaxInt32*1024 {
			d.exact = false
		}
		d.exponent = n
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	d.exponent -= int64(len(fraction))
	digits = bytes.TrimLeft(digits, "0")
	trimmed := bytes.TrimRight(digits, "0")
	d.exponent += int64(len(digits) - len(trimmed))
	d.digits = trimmed
	if len(trimmed) == 0 {
		return decimal{exact: true}
	}
	return d
}
