package grammar

// This file owns the vocabulary of declarations: the Node type, its constructors
// and its decorations. It must not know how a line is parsed (parse.go).

import (
	"math"
	"strings"
)

// Node is one argument, or one construction of arguments, of a command whose
// params are what T points to: all pointers share one instantiation of the
// decorations and the parser. Nodes are built once, at start; their decorations
// change the node in place and return it. A node belongs to one grammar.
type Node[T any] struct{ n *node[T] }

// node is what a Node wraps. Of the accessors only the one that the kind uses is
// set.
type node[T any] struct {
	*shape
	kids    []*node[T]
	toBytes func(T) *[]byte
	toList  func(T) *[][]byte
	toInt   func(T) *int64
	toFloat func(T) *float64
	toReals func(T) *[]float64
	toFlag  func(T) *bool
	toError func(T) *error
	present func(T) *bool
	choose  func(T, int)
	count   func(T) int64
	value   func(T, []byte) *Error
	custom  func(T, [][]byte) (int, *Error)
	check   func(T) *Error
	each    func(T, [][]byte, int) (int, *Error)
	keep    func(reset func(T)) func(T) // wraps the reset of the params so that an appended slice keeps its capacity
	preset  func(T)                     // writes the default
	entries []entry[T]                  // Options and OneOf: what each leading word stands for
	openKid int                         // OneOf: position of the alternative without a leading word, or 0
	element []*shape                    // Each: the nodes of an element
}

func leaf[T any](k nodeKind, name string, t ArgType) *node[T] {
	return &node[T]{shape: &shape{kind: k, name: name, argType: t, group: 1}}
}

// Key is one argument that names a key.
func Key[P any](name string, field func(*P) *[]byte, flags KeyFlags) Node[*P] {
	n := leaf[*P](kindBytes, name, TypeKey)
	n.toBytes, n.key = field, &keyFacts{flags: flags}
	return Node[*P]{n}
}

// Keys is 1..n keys up to the end of the line, or up to the arguments of fixed
// width that are declared behind it (BLPOP's timeout).
func Keys[P any](name string, field func(*P) *[][]byte, flags KeyFlags) Node[*P] {
	n := leaf[*P](kindTail, name, TypeKey)
	n.toList, n.key, n.multiple = field, &keyFacts{flags: flags}, true
	return Node[*P]{n}
}

// NumKeys is a count and as many keys. Range bounds the count (1..n unless said
// otherwise); Fail(Missing, …) is the error for a count greater than what is left.
func NumKeys[P any](countName, name string, field func(*P) *[][]byte, flags KeyFlags) Node[*P] {
	n := Counted(countName, name, field)
	n.n.argType, n.n.key = TypeKey, &keyFacts{flags: flags}
	return n
}

// KeyPairs is 1..n pairs of a key and a value up to the end, as one raw slice. An
// odd number is an Arity error.
func KeyPairs[P any](name, keyName, valueName string, field func(*P) *[][]byte, flags KeyFlags) Node[*P] {
	n := Pairs(name, keyName, valueName, field)
	n.n.kids[0].argType, n.n.key = TypeKey, &keyFacts{flags: flags}
	n.n.kids[0].key = n.n.key
	return n
}

// Streams is the rest of the line: n keys followed by n ids, as one raw slice. An
// odd number is an Arity error.
func Streams[P any](name, keyName, idName string, field func(*P) *[][]byte, flags KeyFlags) Node[*P] {
	n := KeyPairs(name, keyName, idName, field, flags)
	n.n.halves, n.n.multiple = true, false
	n.n.kids[0].multiple, n.n.kids[1].multiple = true, true
	return n
}

// Bytes is one argument as it is.
func Bytes[P any](name string, field func(*P) *[]byte) Node[*P] {
	n := leaf[*P](kindBytes, name, TypeString)
	n.toBytes = field
	return Node[*P]{n}
}

// Pattern is one argument that is a glob.
func Pattern[P any](name string, field func(*P) *[]byte) Node[*P] {
	return Bytes(name, field).Typed(TypePattern)
}

// Int is one argument that is an integer of 64 bits, read as string2ll does.
func Int[P any](name string, field func(*P) *int64) Node[*P] {
	n := leaf[*P](kindInt, name, TypeInteger)
	n.toInt, n.min, n.max, n.rangeKind = field, math.MinInt64, math.MaxInt64, OutOfRange
	return Node[*P]{n}
}

// UnixTime is an Int that is a point in time; the unit is the name's business.
func UnixTime[P any](name string, field func(*P) *int64) Node[*P] {
	return Int(name, field).Typed(TypeUnixTime)
}

// Float is one argument that is a double, read as strtod does.
func Float[P any](name string, field func(*P) *float64) Node[*P] {
	n := leaf[*P](kindFloat, name, TypeDouble)
	n.toFloat = field
	return Node[*P]{n}
}

// Value is one argument with a converter of its own. It needs Sample.
func Value[P any](name string, convert func(p *P, arg []byte) *Error) Node[*P] {
	n := leaf[*P](kindValue, name, TypeString)
	n.value = convert
	return Node[*P]{n}
}

// Token is a word that sets a bool. Its documented name is the word in lower case.
func Token[P any](word string, field func(*P) *bool) Node[*P] {
	n := leaf[*P](kindToken, strings.ToLower(word), TypePureToken)
	n.token, n.toFlag = word, field
	return Node[*P]{n}
}

// Enum is one word of several. The field becomes the position of the word among
// them, from 1; 0 is the default and means that none was given.
func Enum[P any, E ~int | ~uint8](name string, field func(*P) *E, words ...string) Node[*P] {
	tokens := make([]Node[*P], len(words))
	for i, word := range words {
		tokens[i] = Token[P](word, nil)
	}
	return Choice(name, field, tokens...)
}

// List is one argument that is appended each time its clause occurs; it belongs
// into Options and needs After (SORT … GET a GET b).
func List[P any](name string, field func(*P) *[][]byte) Node[*P] {
	n := leaf[*P](kindList, name, TypeString)
	n.toList, n.multiple, n.repeats = field, true, true
	n.keep = keepSlice(field)
	return Node[*P]{n}
}

// Floats is exactly as many doubles as count says when they are reached (ZUNION's
// WEIGHTS). Too few is a Missing error. It needs After.
func Floats[P any](name string, field func(*P) *[]float64, count func(*P) int64) Node[*P] {
	n := leaf[*P](kindFloats, name, TypeDouble)
	n.toReals, n.count, n.multiple = field, count, true
	n.keep = keepSlice(field)
	return Node[*P]{n}
}

// Rest is 1..n arguments as they are, up to the end or to what is declared behind.
func Rest[P any](name string, field func(*P) *[][]byte) Node[*P] {
	n := leaf[*P](kindTail, name, TypeString)
	n.toList, n.multiple = field, true
	return Node[*P]{n}
}

// Pairs is 1..n pairs up to the end, as one raw slice of even length. An odd
// number is an Arity error.
func Pairs[P any](name, firstName, secondName string, field func(*P) *[][]byte) Node[*P] {
	n := leaf[*P](kindTail, name, TypeBlock)
	n.toList, n.multiple, n.group = field, true, 2
	n.kids = []*node[*P]{leaf[*P](kindBytes, firstName, TypeString), leaf[*P](kindBytes, secondName, TypeString)}
	return Node[*P]{n}
}

// Counted is a count and as many arguments as they are. Range bounds the count
// (1..n unless said otherwise); Fail(Missing, …) is the error for a count greater
// than what is left.
func Counted[P any](countName, name string, field func(*P) *[][]byte) Node[*P] {
	n := leaf[*P](kindCounted, name, TypeString)
	n.toList, n.multiple, n.countName = field, true, countName
	n.min, n.max, n.rangeKind = 1, math.MaxInt64, OutOfRange
	return Node[*P]{n}
}

// Opt makes a node optional: it is skipped when no argument is left or its leading
// word does not match.
func Opt[T any](n Node[T]) Node[T] {
	n.n.optional = true
	return n
}

// OneOf is one alternative, chosen by its leading word; at most one alternative
// may have none, and takes what no word matches. As a clause of Options, a second,
// different alternative is a Conflict; the same one again overwrites, as in Redis.
func OneOf[T any](name string, alternatives ...Node[T]) Node[T] {
	n := leaf[T](kindOneOf, name, TypeOneOf)
	n.kids = unwrap(alternatives)
	return Node[T]{n}
}

// Choice is OneOf that also sets the field to the position of the alternative,
// from 1; 0 is the default and means that none was given.
func Choice[P any, E ~int | ~uint8](name string, field func(*P) *E, alternatives ...Node[*P]) Node[*P] {
	n := OneOf(name, alternatives...)
	n.n.choose = func(p *P, position int) { *field(p) = E(position) }
	return n
}

// Block is its nodes in order.
func Block[T any](name string, nodes ...Node[T]) Node[T] {
	n := leaf[T](kindBlock, name, TypeBlock)
	n.kids = unwrap(nodes)
	return Node[T]{n}
}

// Options is optional clauses in any order, each with a leading word, until an
// argument matches none of them. What follows an Options that is last is a Syntax
// error of that Options. A OneOf in it may be Required.
func Options[T any](clauses ...Node[T]) Node[T] {
	n := leaf[T](kindOptions, "", TypeBlock)
	n.kids = unwrap(clauses)
	for _, kid := range n.kids {
		kid.optional = true
	}
	return Node[T]{n}
}

// Each is 1..n elements, each of the given nodes, appended to the field as structs;
// up to the end, to what is declared behind, or to what does not begin an element.
func Each[P, E any](name string, field func(*P) *[]E, nodes ...Node[*E]) Node[*P] {
	n := leaf[*P](kindEach, name, TypeBlock)
	element := newCore(unwrap(nodes), new(E))
	n.multiple, n.element = true, element.shapes()
	n.each = func(p *P, argv [][]byte, i int) (int, *Error) {
		list := append(*field(p), *element.defaults)
		*field(p) = list
		return element.parseFrom(argv, i, &list[len(list)-1])
	}
	n.keep = keepSlice(field)
	return Node[*P]{n}
}

// Check is a rule between arguments, tested when it is reached, before any
// deferred conversion; with Defer it takes its turn among those.
func Check[P any](rule func(p *P) *Error) Node[*P] {
	n := leaf[*P](kindCheck, "", TypeBlock)
	n.check = rule
	return Node[*P]{n}
}

// Late keeps the first error of its nodes, and of everything behind them, in the
// field instead of returning it: Redis looks up the key before it reads these
// arguments. The handler returns the error after its own look-ups. It is the last
// node of a grammar. Without nodes it keeps the errors of deferred conversions
// alone (GETEX, where a missing key comes before a bad expiry but not before a
// syntax error).
func Late[P any](field func(*P) *error, nodes ...Node[*P]) Node[*P] {
	n := leaf[*P](kindLate, "", TypeBlock)
	n.kids, n.toError = unwrap(nodes), field
	return Node[*P]{n}
}

// Custom parses args, the rest of the line, with a function of its own that
// returns how many it used. The documented nodes stand for it everywhere else:
// arity, keys, docs, syntax and generated lines.
func Custom[P any](name string, parse func(p *P, args [][]byte) (used int, err *Error), documentedAs ...Node[*P]) Node[*P] {
	n := leaf[*P](kindCustom, name, TypeBlock)
	n.kids, n.custom = unwrap(documentedAs), parse
	return Node[*P]{n}
}

func unwrap[T any](nodes []Node[T]) []*node[T] {
	out := make([]*node[T], len(nodes))
	for i := range nodes {
		out[i] = nodes[i].n
	}
	return out
}

// keepSlice wraps a reset so that the slice of the field is emptied, not dropped.
func keepSlice[T, E any](field func(T) *[]E) func(reset func(T)) func(T) {
	return func(reset func(T)) func(T) {
		return func(p T) {
			saved := (*field(p))[:0]
			reset(p)
			*field(p) = saved
		}
	}
}
