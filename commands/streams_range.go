package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/stream"
)

// This file owns XRANGE and XREVRANGE. It must not know how a stream is stored.

type xRangeParams struct {
	key, start, end []byte
	interval
	count   int64
	counted bool
}

func (p *xRangeParams) startField() *[]byte { return &p.start }
func (p *xRangeParams) endField() *[]byte   { return &p.end }

func (p *xRangeParams) convert() (err *grammar.Error) {
	p.interval, err = parseInterval(p.start, p.end)
	return err
}

func xRangeCommand() *Command {
	return rangeCommand("xrange", "Return a range of elements in a stream, with IDs matching the specified IDs interval", "being returned",
		grammar.Bytes("start", (*xRangeParams).startField), grammar.Bytes("end", (*xRangeParams).endField), false)
}

func xRevRangeCommand() *Command {
	return rangeCommand("xrevrange", "Return a range of elements in a stream, with IDs matching the specified IDs interval, in reverse order (from greater to smaller IDs) compared to XRANGE", "returned",
		grammar.Bytes("end", (*xRangeParams).endField), grammar.Bytes("start", (*xRangeParams).startField), true)
}

// rangeCommand declares a command whose second and third argument are the ends of
// an interval; returned is how its documentation says that elements are.
func rangeCommand(name, summary, returned string, one, other grammar.Node, back bool) *Command {
	return onData(Declaration{
		Name: name, Family: Streams, Since: "5.0.0",
		Complexity: "O(N) with N being the number of elements " + returned + ". If N is constant (e.g. always asking for the first 10 elements with COUNT), you can consider it O(1).",
		Summary:    summary,
		Flags:      ReadOnly,
		History:    []Change{{"6.2.0", "Added exclusive ranges."}},
		Reply:      reply.OneOf(entriesShape(), reply.NullArray()),
	}, grammar.Compile[xRangeParams](
		grammar.Key("key", func(p *xRangeParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		one.Sample(idSamples()...), other.Sample(idSamples()...),
		grammar.Check((*xRangeParams).convert),
		grammar.Options(
			grammar.Int("count", func(p *xRangeParams) *int64 { return &p.count }).After("COUNT").
				Present(grammar.BoolOf(func(p *xRangeParams) *bool { return &p.counted })),
		),
	), func(tx *engine.Tx, p *xRangeParams, w *reply.Writer) error {
		s, err := streamForRead(tx, p.key)
		if err != nil {
			return err
		}
		if s.Exists() && p.counted && p.count <= 0 {
			w.NullArray()
			return nil
		}
		writeEntries(w, s, p.first, p.last, p.count, back)
		return nil
	})
}

// writeEntries writes an array of the entries between two ids, in one direction,
// count at most unless that is 0.
func writeEntries(w *reply.Writer, s engine.Stream, first, last stream.ID, count int64, back bool) {
	entries, n := w.DeferArray(int(min(max(count, 1), 1<<20))), int64(0)
	visit := func(e *stream.Entry) bool {
		writeEntry(w, e)
		n++
		return n != count
	}
	if back {
		s.EachBack(first, last, visit)
	} else {
		s.Each(first, last, visit)
	}
	w.Close(entries, int(n))
}
