package commands

import (
	"math"
	"strconv"

	"reminis/commands/grammar"
	"reminis/commands/quoting"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns SCAN and what the SCAN family shares: cursors and options.

// scanOptions are the options of SCAN, HSCAN and their kin.
type scanOptions struct {
	cursor     uint64
	pattern    []byte
	hasPattern bool
	count      int64
}

// scanCountDefault is how many elements a call looks at when not told.
const scanCountDefault = 10

// accepts says whether an element passes MATCH.
func (o *scanOptions) accepts(element []byte) bool {
	return !o.hasPattern || len(o.pattern) == 1 && o.pattern[0] == '*' || memory.Match(o.pattern, element, false)
}

// parseCursor reads a cursor as Redis does, with strtoul: a sign is allowed and
// wraps, a space at the start or anything behind the digits is not, and a NUL
// ends the text.
func parseCursor(cursor *uint64, arg []byte) *grammar.Error {
	arg = upToNul(arg)
	digits, negative := arg, false
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	if len(arg) == 0 {
		// strtoul reads nothing, finds the end, and is content.
		*cursor = 0
		return nil
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return grammar.Fail(grammar.Other, "invalid cursor")
	}
	if negative {
		n = -n
	}
	*cursor = n
	return nil
}

func cursorNode[T any](field func(T) *scanOptions) grammar.Node {
	return grammar.Value("cursor", func(p T, arg []byte) *grammar.Error {
		return parseCursor(&field(p).cursor, arg)
	}).Typed(grammar.TypeInteger).Sample("0")
}

func matchNode[T any](field func(T) *scanOptions) grammar.Node {
	return grammar.Pattern("pattern", func(p T) *[]byte { return &field(p).pattern }).After("MATCH").
		Present(grammar.BoolOf(func(p T) *bool { return &field(p).hasPattern }))
}

func countNode[T any](field func(T) *scanOptions) grammar.Node {
	return grammar.Int("count", func(p T) *int64 { return &field(p).count }).After("COUNT").
		Range(1, math.MaxInt64).FailAs(grammar.OutOfRange, grammar.Syntax).Default(scanCountDefault)
}

// elementScanParams are those of HSCAN and its kin.
type elementScanParams struct {
	key []byte
	scanOptions
	err error
}

func (p *elementScanParams) options() *scanOptions { return &p.scanOptions }

func elementScanGrammar() *grammar.Grammar {
	return grammar.Compile[elementScanParams](
		grammar.Key("key", func(p *elementScanParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		cursorNode((*elementScanParams).options),
		// The options are read only when the key is known to be of the type.
		grammar.Late(func(p *elementScanParams) *error { return &p.err },
			grammar.Options(matchNode((*elementScanParams).options), countNode((*elementScanParams).options))),
	)
}

type scanParams struct {
	scanOptions
	typeName []byte
}

func (p *scanParams) options() *scanOptions { return &p.scanOptions }

func scanCommand() *Command {
	return onData(Declaration{
		Name: "scan", Family: Generic, Since: "2.8.0",
		Complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.",
		Summary:    "Incrementally iterate the keys space",
		Flags:      ReadOnly | ArbitraryKeys, Lock: LockNone,
		Tips:    []string{nondeterministicOutput, "request_policy:special"},
		History: []Change{{"6.0.0", "Added the `TYPE` subcommand."}},
		Reply:   reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk())),
	}, grammar.Compile[scanParams](
		cursorNode((*scanParams).options),
		grammar.Options(
			matchNode((*scanParams).options),
			countNode((*scanParams).options),
			grammar.Bytes("type", func(p *scanParams) *[]byte { return &p.typeName }).After("TYPE").Since("6.0.0"),
		),
	), runScan)
}

func runScan(tx *engine.Tx, p *scanParams, w *reply.Writer) error {
	var found scanned
	next := tx.Scan(p.cursor, p.step(), func(key []byte, t engine.Type) {
		if (p.typeName == nil || equalFold(upToNul(p.typeName), t.String())) && p.accepts(key) {
			found.add(key)
		}
	})
	found.reply(w, next)
	return nil
}

// step is the count of one call. A greater one is no use to anybody.
func (o *scanOptions) step() int { return int(min(o.count, 1<<30)) }

// scanned is what one call of a scan found: the reply has the cursor, which is
// known last, first.
type scanned struct {
	text []byte
	ends []int
}

func (s *scanned) add(element []byte) {
	s.text = append(s.text, element...)
	s.ends = append(s.ends, len(s.text))
}

func (s *scanned) reply(w *reply.Writer, next uint64) {
	w.Array(2)
	w.BulkString(strconv.FormatUint(next, 10))
	w.Array(len(s.ends))
	from := 0
	for _, end := range s.ends {
		w.Bulk(s.text[from:end])
		from = end
	}
}

// equalFold compares words without regard to case.
func equalFold(a []byte, b string) bool { return quoting.EqualFold(a, b) }
