package grammar

// This file owns the vocabulary of declarations: the Node type, its constructors
// and its decorations. It must not know how a line is parsed (parse.go).

import (
	"math"
	"strings"
)

// Node is one argument, or one construction of arguments, of a command. Nodes are
// built once, at start; their decorations change the node in place and return it.
// A node belongs to one grammar.
//
// Wherever a constructor takes an accessor, T is the pointer type *P of the
// params, so that the code is compiled once for all commands (see doc.go).
type Node struct{ n *node }

// node is what a Node wraps. Of the accessors only the one that the kind uses is
// set; they were bound to the type of params (bind.go).
type node struct {
	*shape
	params  any // a nil pointer of the type that the accessors take; nil: there are none
	kids    []*node
	field   any // a func(*P) *[]byte, the accessor of toBytes as it was given, if there is one
	toBytes func(any) *[]byte
	toList  func(any) *[][]byte
	toInt   func(any) *int64
	toFloat func(any) *float64
	toReals func(any) *[]float64
	toFlag  func(any) *bool
	toError func(any) *error
	present func(any) *bool
	choose  func(any, int)
	count   func(any) int64
	value   func(any, []byte) *Error
	custom  func(any, [][]byte) (int, *Error)
	check   func(any) *Error
	each    func(any, [][]byte, int) (int, *Error)
	keep    func(beginning) beginning // so that an appended slice keeps its capacity
	preset  func(any)                 // writes the default
	entries []entry                   // Options and OneOf: what each leading word stands for
	openKid int                       // OneOf: position of the alternative without a leading word, or 0
	element []*shape                  // Each: the nodes of an element
}

func leaf(k nodeKind, name string, t ArgType) *node {
	return &node{shape: &shape{kind: k, name: name, argType: t, group: 1}}
}

// Key is one argument that names a key.
func Key[T any](name string, field func(T) *[]byte, flags KeyFlags) Node {
	n := leaf(kindBytes, name, TypeKey)
	n.field, n.toBytes, n.key = field, bound(n, field), &keyFacts{flags: flags}
	return Node{n}
}

// Keys is 1..n keys up to the end of the line, or up to the arguments of fixed
// width that are declared behind it (BLPOP's timeout).
func Keys[T any](name string, field func(T) *[][]byte, flags KeyFlags) Node {
	n := leaf(kindTail, name, TypeKey)
	n.toList, n.key, n.multiple = bound(n, field), &keyFacts{flags: flags}, true
	return Node{n}
}

// NumKeys is a count and as many keys. Range bounds the count (1..n unless said
// otherwise); Fail(Missing, …) is the error for a count greater than what is left.
func NumKeys[T any](countName, name string, field func(T) *[][]byte, flags KeyFlags) Node {
	n := Counted(countName, name, field)
	n.n.argType, n.n.key = TypeKey, &keyFacts{flags: flags}
	return n
}

// KeyPairs is 1..n pairs of a key and a value up to the end, as one raw slice. An
// odd number is an Arity error.
func KeyPairs[T any](name, keyName, valueName string, field func(T) *[][]byte, flags KeyFlags) Node {
	n := Pairs(name, keyName, valueName, field)
	n.n.kids[0].argType, n.n.key = TypeKey, &keyFacts{flags: flags}
	n.n.kids[0].key = n.n.key
	return n
}

// Streams is the rest of the line: n keys followed by n ids, as one raw slice. An
// odd number is an Arity error.
func Streams[T any](name, keyName, idName string, field func(T) *[][]byte, flags KeyFlags) Node {
	n := KeyPairs(name, keyName, idName, field, flags)
	n.n.halves, n.n.multiple = true, false
	n.n.kids[0].multiple, n.n.kids[1].multiple = true, true
	return n
}

// Bytes is one argument as it is.
func Bytes[T any](name string, field func(T) *[]byte) Node {
	n := leaf(kindBytes, name, TypeString)
	n.field, n.toBytes = field, bound(n, field)
	return Node{n}
}

// Pattern is one argument that is a glob.
func Pattern[T any](name string, field func(T) *[]byte) Node {
	return Bytes(name, field).Typed(TypePattern)
}

// Int is one argument that is an integer of 64 bits, read as string2ll does.
func Int[T any](name string, field func(T) *int64) Node {
	n := leaf(kindInt, name, TypeInteger)
	n.toInt, n.min, n.max, n.rangeKind = bound(n, field), math.MinInt64, math.MaxInt64, OutOfRange
	return Node{n}
}

// UnixTime is an Int that is a point in time; the unit is the name's business.
func UnixTime[T any](name string, field func(T) *int64) Node {
	return Int(name, field).Typed(TypeUnixTime)
}

// Float is one argument that is a double, read as strtod does.
func Float[T any](name string, field func(T) *float64) Node {
	n := leaf(kindFloat, name, TypeDouble)
	n.toFloat = bound(n, field)
	return Node{n}
}

// Value is one argument with a converter of its own. It needs Sample.
func Value[T any](name string, convert func(p T, arg []byte) *Error) Node {
	n := leaf(kindValue, name, TypeString)
	n.value = boundValue(n, convert)
	return Node{n}
}

// Token is a word that sets a bool. Its documented name is the word in lower case.
func Token[T any](word string, field func(T) *bool) Node {
	n := leaf(kindToken, strings.ToLower(word), TypePureToken)
	n.token, n.toFlag = word, bound(n, field)
	return Node{n}
}

// Enum is one word of several. The field becomes the position of the word among
// them, from 1; 0 is the default and means that none was given.
func Enum[T any, E ~int | ~uint8](name string, field func(T) *E, words ...string) Node {
	tokens := make([]Node, len(words))
	for i, word := range words {
		tokens[i] = Token[T](word, nil)
	}
	return Choice(name, field, tokens...)
}

// List is one argument that is appended each time its clause occurs; it belongs
// into Options and needs After (SORT … GET a GET b).
func List[T any](name string, field func(T) *[][]byte) Node {
	n := leaf(kindList, name, TypeString)
	n.toList, n.multiple, n.repeats = bound(n, field), true, true
	n.keep = keepSlice(n.toList)
	return Node{n}
}

// Floats is exactly as many doubles as count says when they are reached (ZUNION's
// WEIGHTS). Too few is a Missing error. It needs After.
func Floats[T any](name string, field func(T) *[]float64, count func(T) int64) Node {
	n := leaf(kindFloats, name, TypeDouble)
	n.toReals, n.count, n.multiple = bound(n, field), bound(n, count), true
	n.keep = keepSlice(n.toReals)
	return Node{n}
}

// Rest is 1..n arguments as they are, up to the end or to what is declared behind.
func Rest[T any](name string, field func(T) *[][]byte) Node {
	n := leaf(kindTail, name, TypeString)
	n.toList, n.multiple = bound(n, field), true
	return Node{n}
}

// Pairs is 1..n pairs up to the end, as one raw slice of even length. An odd
// number is an Arity error.
func Pairs[T any](name, firstName, secondName string, field func(T) *[][]byte) Node {
	n := leaf(kindTail, name, TypeBlock)
	n.toList, n.multiple, n.group = bound(n, field), true, 2
	n.kids = []*node{leaf(kindBytes, firstName, TypeString), leaf(kindBytes, secondName, TypeString)}
	return Node{n}
}

// Counted is a count and as many arguments as they are. Range bounds the count
// (1..n unless said otherwise); Fail(Missing, …) is the error for a count greater
// than what is left.
func Counted[T any](countName, name string, field func(T) *[][]byte) Node {
	n := leaf(kindCounted, name, TypeString)
	n.toList, n.multiple, n.countName = bound(n, field), true, countName
	n.min, n.max, n.rangeKind = 1, math.MaxInt64, OutOfRange
	return Node{n}
}

// Opt makes a node optional: it is skipped when no argument is left or its leading
// word does not match.
func Opt(n Node) Node {
	n.n.optional = true
	return n
}

// OneOf is one alternative, chosen by its leading word; at most one alternative
// may have none, and takes what no word matches. As a clause of Options, a second,
// different alternative is a Conflict; the same one again overwrites, as in Redis.
func OneOf(name string, alternatives ...Node) Node {
	n := leaf(kindOneOf, name, TypeOneOf)
	n.kids = unwrap(alternatives)
	return Node{n}
}

// Choice is OneOf that also sets the field to the position of the alternative,
// from 1; 0 is the default and means that none was given.
func Choice[T any, E ~int | ~uint8](name string, field func(T) *E, alternatives ...Node) Node {
	n := OneOf(name, alternatives...)
	n.n.bind(*new(T))
	n.n.choose = func(p any, position int) { *field(p.(T)) = E(position) }
	return n
}

// Block is its nodes in order.
func Block(name string, nodes ...Node) Node {
	n := leaf(kindBlock, name, TypeBlock)
	n.kids = unwrap(nodes)
	return Node{n}
}

// Options is optional clauses in any order, each with a leading word, until an
// argument matches none of them. What follows an Options that is last is a Syntax
// error of that Options. A OneOf in it may be Required.
func Options(clauses ...Node) Node {
	n := leaf(kindOptions, "", TypeBlock)
	n.kids = unwrap(clauses)
	for _, kid := range n.kids {
		kid.optional = true
	}
	return Node{n}
}

// Each is 1..n elements, each of the given nodes, appended to the field as structs;
// up to the end, to what is declared behind, or to what does not begin an element.
func Each[T, E any](name string, field func(T) *[]E, nodes ...Node) Node {
	n := leaf(kindEach, name, TypeBlock)
	defaults := new(E)
	element := newCore(unwrap(nodes), paramsOf(defaults))
	n.multiple, n.element = true, element.shapes()
	elements := bound(n, field)
	n.each = func(p any, argv [][]byte, i int) (int, *Error) {
		field := elements(p)
		list := append(*field, *defaults)
		*field = list
		return element.parseFrom(argv, i, &list[len(list)-1])
	}
	n.keep = keepSlice(elements)
	return Node{n}
}

// Check is a rule between arguments, tested when it is reached, before any
// deferred conversion; with Defer it takes its turn among those.
func Check[T any](rule func(p T) *Error) Node {
	n := leaf(kindCheck, "", TypeBlock)
	n.check = bound(n, rule)
	return Node{n}
}

// Late keeps the first error of its nodes, and of everything behind them, in the
// field instead of returning it: Redis looks up the key before it reads these
// arguments. The handler returns the error after its own look-ups. It is the last
// node of a grammar. Without nodes it keeps the errors of deferred conversions
// alone (GETEX, where a missing key comes before a bad expiry but not before a
// syntax error).
func Late[T any](field func(T) *error, nodes ...Node) Node {
	n := leaf(kindLate, "", TypeBlock)
	n.kids, n.toError = unwrap(nodes), bound(n, field)
	return Node{n}
}

// Custom parses args, the rest of the line, with a function of its own that
// returns how many it used. The documented nodes stand for it everywhere else:
// arity, keys, docs, syntax and generated lines.
func Custom[T any](name string, parse func(p T, args [][]byte) (used int, err *Error), documentedAs ...Node) Node {
	n := leaf(kindCustom, name, TypeBlock)
	n.kids, n.custom = unwrap(documentedAs), boundCustom(n, parse)
	return Node{n}
}

func unwrap(nodes []Node) []*node {
	out := make([]*node, len(nodes))
	for i := range nodes {
		out[i] = nodes[i].n
	}
	return out
}
