package commands

import (
	"strconv"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns SCAN and what the SCAN family shares: cursors and options.

// scanOptions are the options of SCAN, HSCAN and their kin.
type scanOptions struct {
	cursor  uint64
	pattern []byte
	count   int64
}

// scanCountDefault is how many elements a call looks at when not told.
const scanCountDefault = 10

// accepts says whether an element passes MATCH.
func (o *scanOptions) accepts(element []byte) bool {
	return len(o.pattern) == 0 || len(o.pattern) == 1 && o.pattern[0] == '*' || memory.Match(o.pattern, element, false)
}

// parseCursor reads a cursor as Redis does, with strtoul: a sign is allowed and
// wraps, a space at the start or anything behind the digits is not.
func parseCursor(cursor *uint64, arg []byte) *grammar.Error {
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

func cursorNode[P any](field func(*P) *scanOptions) grammar.Node[P] {
	return grammar.Value("cursor", func(p *P, arg []byte) *grammar.Error {
		return parseCursor(&field(p).cursor, arg)
	}).Typed(grammar.TypeInteger).Sample("0")
}

func matchNode[P any](field func(*P) *scanOptions) grammar.Node[P] {
	return grammar.Pattern("pattern", func(p *P) *[]byte { return &field(p).pattern }).After("MATCH")
}

func countNode[P any](field func(*P) *scanOptions) grammar.Node[P] {
	return grammar.Int("count", func(p *P) *int64 { return &field(p).count }).After("COUNT").
		Range(1, 1<<62).FailAs(grammar.OutOfRange, grammar.Syntax).Default(scanCountDefault)
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
		Tips:  []string{"nondeterministic_output", "request_policy:special"},
		Reply: reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk())),
	}, grammar.Compile(
		cursorNode((*scanParams).options),
		grammar.Options(
			matchNode((*scanParams).options),
			countNode((*scanParams).options),
			grammar.Bytes("type", func(p *scanParams) *[]byte { return &p.typeName }).After("TYPE").Since("6.0.0"),
		),
	), runScan)
}

func runScan(tx *engine.Tx, p *scanParams, w *reply.Writer) error {
	var found [][]byte
	var text []byte
	next := tx.Scan(p.cursor, int(min(p.count, 1<<30)), func(key []byte, t engine.Type) {
		if p.typeName != nil && !equalFold(p.typeName, t.String()) || !p.accepts(key) {
			return
		}
		from := len(text)
		text = append(text, key...)
		found = append(found, text[from:len(text):len(text)])
	})
	w.Array(2)
	w.BulkString(strconv.FormatUint(next, 10))
	w.Array(len(found))
	for _, key := range found {
		w.Bulk(key)
	}
	return nil
}

// equalFold compares ASCII without regard to case.
func equalFold(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x >= 'A' && x <= 'Z' {
			x += 'a' - 'A'
		}
		if y >= 'A' && y <= 'Z' {
			y += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}
