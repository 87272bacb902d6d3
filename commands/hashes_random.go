package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns HRANDFIELD.

type hRandParams struct {
	key        []byte
	count      int64
	hasCount   bool
	withValues bool
}

func hRandFieldCommand() *Command {
	return onData(Declaration{
		Name: "hrandfield", Family: Hashes, Since: "6.2.0", Complexity: "O(N) where N is the number of fields returned",
		Summary: "Get one or multiple random fields from a hash",
		Flags:   ReadOnly, Tips: []string{nondeterministicOutput},
		Reply: reply.OneOf(reply.Nullable(reply.Bulk()), reply.ArrayOf(reply.OneOf(reply.Bulk(), reply.Tuple(reply.Bulk(), reply.Bulk())))),
	}, grammar.Compile[hRandParams](
		grammar.Key("key", func(p *hRandParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Opt(grammar.Block("options",
			grammar.Int("count", func(p *hRandParams) *int64 { return &p.count }).
				Range(-math.MaxInt64, math.MaxInt64).
				Fail(grammar.OutOfRange, "value is out of range, value must between -9223372036854775807 and 9223372036854775807").
				Present(grammar.BoolOf(func(p *hRandParams) *bool { return &p.hasCount })),
			grammar.Opt(grammar.Token("WITHVALUES", func(p *hRandParams) *bool { return &p.withValues })),
		)),
	).WithArity(-2, "what follows WITHVALUES is a syntax error, not an arity error"), runHRandField)
}

func runHRandField(tx *engine.Tx, p *hRandParams, w *reply.Writer) error {
	if p.withValues && (p.count < -math.MaxInt64/2 || p.count > math.MaxInt64/2) {
		return ErrOutOfRange
	}
	h, err := hashForRead(tx, p.key)
	if err != nil {
		return err
	}
	if !p.hasCount {
		if h.Len() == 0 {
			w.Null()
			return nil
		}
		h.Random(func(field, _ []byte) { w.Bulk(field) })
		return nil
	}
	pairs := fieldWriter{w, p.withValues}
	if p.count == 0 || h.Len() == 0 {
		w.Array(0)
		return nil
	}
	if p.count < 0 || p.count == 1 {
		return pairs.repeated(h, max(p.count, -p.count))
	}
	count := int(min(p.count, int64(h.Len())))
	pairs.head(count)
	h.Choose(count, pairs.write)
	return nil
}

// fieldWriter writes fields, or fields and values: pairs in RESP3, flat in
// RESP2.
type fieldWriter struct {
	w          *reply.Writer
	withValues bool
}

func (f fieldWriter) head(count int) {
	if f.withValues && f.w.Proto() == 2 {
		count *= 2
	}
	f.w.Array(count)
}

func (f fieldWriter) write(field, value []byte) {
	if f.withValues && f.w.Proto() == 3 {
		f.w.Array(2)
	}
	f.w.Bulk(field)
	if f.withValues {
		f.w.Bulk(value)
	}
}

// repeated writes count fields, each drawn from all.
func (f fieldWriter) repeated(h engine.Hash, count int64) error {
	drawn, err := beginDraws(f.w, count)
	if err != nil {
		return err
	}
	f.head(int(count))
	h.Draw(count, func(field, value []byte) bool {
		f.write(field, value)
		return drawn.fits()
	})
	return drawn.end()
}
