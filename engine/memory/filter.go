package memory

// This file owns FILTER: what an expression says about a value. Its grammar is
// that of filters in RFC 9535, with $ and @ both the record's value; how a text
// becomes an expression is filter_parse.go's. Queries are JSONPath (jsonpath.go),
// but those that lead to one node at most are followed over the text, because a
// recall asks every value of a scope.

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// Filter is one parsed expression. It bounds its work over all values that it is
// asked about, and is not safe for concurrent use.
type Filter struct {
	root    logical
	bytes   *work
	steps   *work
	regexes *regexes
	value   []byte // asked about
	err     error  // the first
}

// logical is a node of an expression that is true or false.
type logical struct {
	kind        logicalKind
	not         bool
	parts       []logical // of or, and
	op          comparison
	left, right operand // of compare; left alone of test
}

type logicalKind uint8

const (
	logicalOr logicalKind = iota
	logicalAnd
	logicalCompare
	logicalTest // a query selects something, or a function says so
)

type comparison uint8

const (
	opEqual comparison = iota
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
)

// operand is what is compared or tested.
type operand struct {
	kind      operandKind
	text      []byte // of a literal, as JSON
	steps     []step // of a singular query
	path      *Path  // of any other query
	function  string // of a call
	arguments []operand
}

type operandKind uint8

const (
	operandLiteral operandKind = iota
	operandSingular
	operandQuery
	operandCall
)

// step leads from a value to a member or an element.
type step struct {
	name  []byte // nil: an index
	index int
}

// Accepts says whether the expression is true of a record's value; a text counts
// as a JSON string. It fails once the work of all calls together is too much.
func (f *Filter) Accepts(value []byte, text bool) (bool, error) {
	if f.err != nil {
		return false, f.err
	}
	if text {
		value = AppendQuoted(nil, value)
	}
	if f.value = trimSpace(value); len(f.value) == 0 {
		return false, nil
	}
	yes := f.holds(&f.root)
	f.value = nil
	if f.err == nil {
		f.err = f.regexes.err
	}
	return yes && f.err == nil, f.err
}

func (f *Filter) holds(l *logical) bool {
	yes := false
	switch l.kind {
	case logicalOr:
		for i := range l.parts {
			if yes = f.holds(&l.parts[i]); yes {
				break
			}
		}
	case logicalAnd:
		for i := range l.parts {
			if yes = f.holds(&l.parts[i]); !yes {
				break
			}
		}
	case logicalCompare:
		yes = f.compare(l.op, f.valueOf(&l.left), f.valueOf(&l.right))
	case logicalTest:
		yes = f.test(&l.left)
	}
	return yes != l.not
}

// test says whether a query selects something, or what a logical function says.
func (f *Filter) test(o *operand) bool {
	switch o.kind {
	case operandSingular:
		return f.valueOf(o) != nil
	case operandQuery:
		return len(f.nodes(o)) > 0
	}
	text, expression := f.valueOf(&o.arguments[0]), f.valueOf(&o.arguments[1])
	if len(text) == 0 || text[0] != '"' || len(expression) == 0 || expression[0] != '"' {
		return false
	}
	return f.regexes.match(nameOf(text), nameOf(expression), o.function == matchName)
}

// valueOf is an operand's value as JSON, nil for nothing.
func (f *Filter) valueOf(o *operand) []byte {
	switch o.kind {
	case operandLiteral:
		return o.text
	case operandSingular:
		return f.follow(o.steps)
	case operandCall:
		return f.call(o)
	}
	return nil
}

// call is what one of the functions gives that give values.
func (f *Filter) call(o *operand) []byte {
	argument := &o.arguments[0]
	switch o.function {
	case "count":
		return strconv.AppendInt(nil, int64(len(f.nodes(argument))), 10)
	case "value":
		if nodes := f.nodes(argument); len(nodes) == 1 {
			return nodes[0].text
		}
		return nil
	}
	value := f.valueOf(argument)
	if len(value) == 0 {
		return nil
	}
	switch value[0] {
	case '"':
		return strconv.AppendInt(nil, int64(utf8.RuneCount(appendUnquoted(nil, value))), 10)
	case '{', '[':
		n := newNode(value)
		parts, err := n.open(f.bytes)
		if err != nil {
			f.fail(err)
			return nil
		}
		return strconv.AppendInt(nil, int64(parts.count()), 10)
	}
	return nil
}

// nodes are what a query selects.
func (f *Filter) nodes(o *operand) []*node {
	if o.kind == operandSingular {
		if value := f.follow(o.steps); value != nil {
			return []*node{{text: value}}
		}
		return nil
	}
	if f.err != nil {
		return nil
	}
	walk := &pathWalk{root: newNode(f.value), steps: f.steps, bytes: f.bytes}
	nodes, err := walk.run(o.path)
	if err != nil {
		f.fail(err)
	}
	return nodes
}

func (f *Filter) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// follow is the node that steps lead to, nil when there is none.
func (f *Filter) follow(steps []step) []byte {
	if err := f.bytes.spend(1 + len(f.value)); err != nil {
		f.fail(err)
		return nil
	}
	return followSteps(f.value, steps)
}

// followSteps is the node of a value that steps lead to, nil when there is none.
func followSteps(value []byte, steps []step) []byte {
	for i := range steps {
		s := &steps[i]
		if s.name != nil {
			value = memberOf(value, s.name)
		} else {
			value = elementOf(value, s.index)
		}
		if value == nil {
			return nil
		}
	}
	return value
}

// memberOf is a member of a JSON object, of repeated ones the last; nil when there
// is none.
func memberOf(text, name []byte) (value []byte) {
	if text[0] != '{' {
		return nil
	}
	for i := skipSpace(text, 1); text[i] != '}'; {
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
		end := skipString(text, i)
		same := isNamed(text[i:end], name)
		i = skipSpace(text, skipSpace(text, end)+1)
		end = skipValue(text, i)
		if same {
			value = text[i:end:end]
		}
		i = skipSpace(text, end)
	}
	return value
}

// isNamed says whether a quoted name reads as name.
func isNamed(quoted, name []byte) bool {
	if inside := quoted[1 : len(quoted)-1]; bytes.IndexByte(inside, '\\') < 0 {
		return bytes.Equal(inside, name)
	}
	return nameOf(quoted) == string(name)
}

// elementOf is an element of a JSON array, counted from its end when index is
// negative; nil when there is none.
func elementOf(text []byte, index int) []byte {
	if text[0] != '[' {
		return nil
	}
	if index < 0 {
		for i := skipSpace(text, 1); text[i] != ']'; index++ {
			if text[i] == ',' {
				i = skipSpace(text, i+1)
			}
			i = skipSpace(text, skipValue(text, i))
		}
		if index < 0 {
			return nil
		}
	}
	for i := skipSpace(text, 1); text[i] != ']'; index-- {
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
		end := skipValue(text, i)
		if index == 0 {
			return text[i:end:end]
		}
		i = skipSpace(text, end)
	}
	return nil
}

// compare compares by RFC 9535, section 2.3.5.2.2: nothing equals nothing, and
// only two numbers or two strings have an order.
func (f *Filter) compare(op comparison, a, b []byte) bool {
	switch op {
	case opEqual:
		return f.equal(a, b)
	case opNotEqual:
		return !f.equal(a, b)
	case opLess:
		return less(a, b)
	case opGreater:
		return less(b, a)
	case opLessEqual:
		return less(a, b) || f.equal(a, b)
	}
	return less(b, a) || f.equal(a, b)
}

func (f *Filter) equal(a, b []byte) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if bytes.Equal(a, b) {
		return true
	}
	left, right := node{text: a}, node{text: b}
	same, err := equalNodes(&left, &right, f.bytes)
	if err != nil {
		f.fail(err)
	}
	return same
}

func less(a, b []byte) bool {
	switch {
	case len(a) == 0 || len(b) == 0:
		return false
	case a[0] == '"' && b[0] == '"':
		return bytes.Compare(appendUnquoted(nil, a), appendUnquoted(nil, b)) < 0
	case isNumber(a[0]) && isNumber(b[0]):
		return lessNumber(a, b)
	}
	return false
}

// exactDigits is the length up to which any two decimals are told apart by their
// floats.
const exactDigits = 15

// lessNumber compares numbers exactly, whatever their digits.
func lessNumber(a, b []byte) bool {
	x, _ := strconv.ParseFloat(string(a), 64)
	y, _ := strconv.ParseFloat(string(b), 64)
	if x != y || len(a) <= exactDigits && len(b) <= exactDigits && x != 0 && !math.IsInf(x, 0) {
		return x < y
	}
	left, right := decimalOf(a), decimalOf(b)
	if left.negative != right.negative {
		return left.negative
	}
	if left.negative {
		left, right = right, left
	}
	return left.lessMagnitude(&right)
}

func (d *decimal) lessMagnitude(other *decimal) bool {
	if len(d.digits) == 0 || len(other.digits) == 0 {
		return len(d.digits) < len(other.digits)
	}
	size, otherSize := d.exponent+int64(len(d.digits)), other.exponent+int64(len(other.digits))
	if size != otherSize {
		return size < otherSize
	}
	return bytes.Compare(d.digits, other.digits) < 0
}
