package grammar

// This file owns the kinds of parse errors and how a node replaces them. It must
// not know the texts of the error vocabulary: they belong to package commands.

import "strings"

// Kind says what was wrong with a command line. The caller has one text for each.
type Kind uint8

// The kinds of parse errors. Conflict and Missing are what a node's Fail or
// FailAs may single out; unless it does, they are reported as Syntax.
const (
	// Syntax: an unknown word, a word without its argument, or words that exclude each other.
	Syntax Kind = iota + 1
	// Arity: too few or too many arguments, or an odd number where pairs are asked for.
	Arity
	// NotInteger: not a decimal integer of 64 bits in its only canonical form.
	NotInteger
	// NotFloat: not a number that strtod reads to its end, or not a number at all.
	NotFloat
	// OutOfRange: an integer outside of Range; Error.Min and Error.Max say which.
	OutOfRange
	// NotPositive: a negative integer where NonNegative was asked for.
	NotPositive
	// Conflict: a second alternative of one OneOf. Reported as Syntax by default.
	Conflict
	// Missing: a counted list that is shorter than its count, or a required
	// alternative that was not given. Reported as Syntax by default.
	Missing
	// Other: the text alone tells; it is never empty for this kind.
	Other
)

// String returns the kind's name for test output, not for users.
func (k Kind) String() string {
	switch k {
	case Syntax:
		return "syntax"
	case Arity:
		return "arity"
	case NotInteger:
		return "not an integer"
	case NotFloat:
		return "not a float"
	case OutOfRange:
		return "out of range"
	case NotPositive:
		return "not positive"
	case Conflict:
		return "conflict"
	case Missing:
		return "missing"
	case Other:
		return "other"
	}
	return "unknown"
}

// Error is what Parse returns for a line that the grammar does not accept.
type Error struct {
	Kind Kind
	// Text replaces the kind's own text when the node named one. It may hold
	// {command} and {argument}; Format fills them in.
	Text string
	// Node is the name of the node that refused, "" when none did.
	Node string
	// Index is the position of the refused argument in the argv given to Parse;
	// len(argv) when an argument was missing.
	Index int
	// Min and Max are the bounds of the node's Range for kind OutOfRange.
	Min, Max int64
}

// Fail makes an error for a Value, Custom or Check function. The parser fills in
// the node and the position.
func Fail(kind Kind, text string) *Error { return &Error{Kind: kind, Text: text, Index: -1} }

// Error describes the error for logs and tests.
func (e *Error) Error() string {
	text := e.Kind.String()
	if e.Text != "" {
		text = e.Text
	}
	if e.Node == "" {
		return "grammar: " + text
	}
	return "grammar: " + e.Node + ": " + text
}

// Format returns Text with {command} replaced by the command's name and
// {argument} by the refused argument, or "" when the node named no text.
func (e *Error) Format(command string, argv [][]byte) string {
	if !strings.Contains(e.Text, "{") {
		return e.Text
	}
	argument := ""
	if e.Index >= 0 && e.Index < len(argv) {
		// Redis prints it with %s: up to its first NUL byte.
		before, _, _ := strings.Cut(string(argv[e.Index]), "\x00")
		argument = before
	}
	return strings.NewReplacer("{command}", command, "{argument}", argument).Replace(e.Text)
}

// failure is a node's own answer to one kind.
type failure struct {
	when Kind
	as   Kind
	text string
}

// fail makes the error of this node for a kind, with the node's own answer to it.
func (s *shape) fail(kind Kind, index int) *Error {
	err := &Error{Kind: kind, Node: s.name, Index: index}
	if kind == OutOfRange {
		err.Min, err.Max = s.min, s.max
	}
	for i := range s.failures {
		if s.failures[i].when == kind {
			err.Kind, err.Text = s.failures[i].as, s.failures[i].text
			break
		}
	}
	if err.Kind == Conflict || err.Kind == Missing {
		if err.Text != "" {
			err.Kind = Other
		} else {
			err.Kind = Syntax
		}
	}
	return err
}

// adopt completes an error made by a caller's function with node and position.
func (s *shape) adopt(err *Error, index int) *Error {
	if err.Index < 0 {
		err.Index = index
	}
	if err.Node == "" {
		err.Node = s.name
	}
	return err
}
