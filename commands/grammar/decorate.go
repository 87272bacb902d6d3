package grammar

// This file owns the decorations of a node: everything that is said of it after
// its construction. It must not know how a line is parsed (parse.go).

import "math"

// After puts a word in front of the node: EX seconds.
func (n Node) After(word string) Node {
	n.n.token = word
	return n
}

// Range bounds an Int, or the count of a counted list, both ends included.
func (n Node) Range(first, last int64) Node {
	n.n.min, n.n.max = first, last
	return n
}

// NonNegative is Range(0, MaxInt64) with the error NotPositive.
func (n Node) NonNegative() Node {
	n.n.min, n.n.max, n.n.rangeKind = 0, math.MaxInt64, NotPositive
	return n
}

// Default is the value of an Int that is not given; 0 unless said.
func (n Node) Default(value int64) Node {
	field := n.n.toInt
	n.n.preset = func(p any) { *field(p) = value }
	return n
}

// DefaultFloat is the value of a Float that is not given; 0 unless said.
func (n Node) DefaultFloat(value float64) Node {
	field := n.n.toFloat
	n.n.preset = func(p any) { *field(p) = value }
	return n
}

// Present also sets a bool when the node is given.
func (n Node) Present(field Bool) Node {
	n.n.bind(field.params)
	n.n.present = field.to
	return n
}

// Defer converts the argument only once the whole line is known to be free of
// syntax errors. It is for Int, Float, Value and Check.
func (n Node) Defer() Node {
	n.n.deferred = true
	return n
}

// Together lets the alternatives of a OneOf stand side by side: documented as
// alternatives, parsed as independent words, judged by a Check or the handler.
func (n Node) Together() Node {
	n.n.together = true
	return n
}

// Required makes a OneOf in Options mandatory; without it the error is Missing.
func (n Node) Required() Node {
	n.n.required = true
	return n
}

// Fail answers the kind with a text of the node's own; see Error.Text.
func (n Node) Fail(when Kind, text string) Node {
	n.n.failures = append(n.n.failures, failure{when: when, as: when, text: text})
	return n
}

// FailNumber answers every way in which a number may be bad with one text, as
// Redis's conversions with a message do.
func (n Node) FailNumber(text string) Node {
	for _, kind := range []Kind{NotInteger, NotFloat, OutOfRange, NotPositive} {
		n.Fail(kind, text)
	}
	return n
}

// FailAs answers the first kind with the second: SCAN's COUNT 0 is a syntax error.
func (n Node) FailAs(when, as Kind) Node {
	n.n.failures = append(n.n.failures, failure{when: when, as: as})
	return n
}

// Sample gives valid arguments for Generate; Value needs it, the others may.
// A sample stands for the argument alone, without a leading word.
func (n Node) Sample(arguments ...string) Node {
	n.n.samples = arguments
	return n
}

// Named replaces the documented name.
func (n Node) Named(name string) Node {
	n.n.name = name
	return n
}

// Typed replaces the documented type.
func (n Node) Typed(t ArgType) Node {
	n.n.argType = t
	return n
}

// Since documents the version that brought the argument.
func (n Node) Since(version string) Node {
	n.n.since = version
	return n
}

// DeprecatedSince documents the version that deprecated the argument.
func (n Node) DeprecatedSince(version string) Node {
	n.n.deprecatedSince = version
	return n
}

// Display documents a name for people where it differs from the name.
func (n Node) Display(text string) Node {
	n.n.displayText = text
	return n
}

// Summary documents the argument in a sentence.
func (n Node) Summary(text string) Node {
	n.n.summary = text
	return n
}

// Notes documents the key spec of a key.
func (n Node) Notes(text string) Node {
	n.n.key.notes = text
	return n
}

// SameSpec puts a key into the key spec of the key before it, instead of one of
// its own (LCS key1 key2).
func (n Node) SameSpec() Node {
	n.n.key.same = true
	return n
}

// Multiple documents that the node may be given several times.
func (n Node) Multiple() Node {
	n.n.multiple = true
	return n
}

// WordMultiple documents that the node's leading word stands before each
// occurrence (BITFIELD_RO … GET u8 0 GET u8 8).
func (n Node) WordMultiple() Node {
	n.n.multiple, n.n.repeats = true, true
	return n
}

// Searched documents a key's spec as unknown to clients: the word in front may
// stand anywhere (SORT … STORE). The key itself is still found.
func (n Node) Searched() Node {
	n.n.key.unknown = true
	return n
}

// StartFrom replaces where the search for a key's word starts: a position counted
// with the command's name, or from the end when negative (MIGRATE … KEYS: -2).
func (n Node) StartFrom(position int) Node {
	n.n.key.startFrom = position
	return n
}

// KeySource says that the argument, a pattern, leads to keys that only the data
// knows; it gets an unknown key spec and is no key itself (SORT … BY).
func (n Node) KeySource(flags KeyFlags, notes string) Node {
	n.n.key = &keyFacts{flags: flags, notes: notes, unknown: true, source: true}
	return n
}

// DocumentedAs documents the node as other nodes, which are never parsed, where
// Redis documents a structure that its parser does not have (BITFIELD). A key
// among them needs InSpec. Without nodes it is not documented at all.
func (n Node) DocumentedAs(nodes ...Node) Node {
	n.n.documented = make([]*shape, 0, len(nodes))
	for _, documented := range nodes {
		adopt(documented.n)
		n.n.documented = append(n.n.documented, documented.n.shape)
	}
	return n
}

// InSpec gives the index of the key spec that a key of DocumentedAs belongs to.
func (n Node) InSpec(index int) Node {
	n.n.inSpec = index + 1
	return n
}

// adopt lets the shapes of nodes that are not compiled know their members.
func adopt(n *node) {
	for _, kid := range n.kids {
		adopt(kid)
	}
	n.shape.kids = shapesOf(n.kids)
	if n.kind == kindOptions || n.kind == kindEach {
		n.shape.kids = append(n.shape.kids, n.element...)
	}
}
