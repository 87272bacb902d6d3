package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns SPOP and SRANDMEMBER. What SPOP takes is chosen here and now; the
// journal has the members, never the choice.

type countParams struct {
	key      []byte
	count    int64
	hasCount bool
}

func (p *countParams) keyField() *[]byte   { return &p.key }
func (p *countParams) countField() *int64  { return &p.count }
func (p *countParams) presentField() *bool { return &p.hasCount }

func sPopCommand() *Command {
	return onData(Declaration{
		Name: "spop", Family: Sets, Since: "1.0.0",
		Complexity: "Without the count argument O(1), otherwise O(N) where N is the value of the passed count.",
		Summary:    "Remove and return one or multiple random members from a set",
		Flags:      Write | Fast, Tips: []string{nondeterministicOutput},
		History: []Change{{"3.2.0", "Added the `count` argument."}},
		Reply:   reply.OneOf(reply.Nullable(reply.Bulk()), reply.SetOf(reply.Bulk())),
	}, grammar.Compile[countParams](
		grammar.Key("key", (*countParams).keyField, grammar.RW|grammar.Access|grammar.Delete),
		grammar.Opt(grammar.Int("count", (*countParams).countField).Defer().NonNegative().FailAs(grammar.NotInteger, grammar.NotPositive).
			Present(grammar.BoolOf((*countParams).presentField)).Since("3.2.0")),
	).WithArity(-2, "what follows the count is a syntax error, not an arity error"), runSPop)
}

func runSPop(tx *engine.Tx, p *countParams, w *reply.Writer) error {
	s, err := tx.Set(p.key)
	if err != nil {
		return err
	}
	count := 1
	switch {
	case p.hasCount:
		count = int(min(p.count, int64(s.Len())))
		w.Set(count)
	case s.Len() == 0:
		w.Null()
	}
	if count == 0 || s.Len() == 0 {
		return nil
	}
	tx.SetPop(p.key, count, w.Bulk)
	tx.Notify(engine.EventSet, "spop", p.key)
	tellIfGone(tx, p.key)
	return nil
}

func sRandMemberCommand() *Command {
	return onData(Declaration{
		Name: "srandmember", Family: Sets, Since: "1.0.0",
		Complexity: "Without the count argument O(1), otherwise O(N) where N is the absolute value of the passed count.",
		Summary:    "Get one or multiple random members from a set",
		Flags:      ReadOnly, Tips: []string{nondeterministicOutput},
		History: []Change{{"2.6.0", "Added the optional `count` argument."}},
		Reply:   reply.OneOf(reply.Nullable(reply.Bulk()), reply.ArrayOf(reply.Bulk())),
	}, grammar.Compile[countParams](
		grammar.Key("key", (*countParams).keyField, grammar.RO|grammar.Access),
		grammar.Opt(grammar.Int("count", (*countParams).countField).Defer().Range(-math.MaxInt64, math.MaxInt64).
			Present(grammar.BoolOf((*countParams).presentField)).Since("2.6.0")),
	).WithArity(-2, "what follows the count is a syntax error, not an arity error"), runSRandMember)
}

func runSRandMember(tx *engine.Tx, p *countParams, w *reply.Writer) error {
	s, err := setForRead(tx, p.key)
	if err != nil {
		return err
	}
	var buf [20]byte
	switch {
	case !p.hasCount && s.Len() == 0:
		w.Null()
	case !p.hasCount:
		w.Bulk(s.Random(buf[:]))
	case p.count == 0 || s.Len() == 0:
		w.Array(0)
	case p.count < 0 || p.count == 1:
		return writeRandomMembers(w, s, max(p.count, -p.count))
	default:
		count := int(min(p.count, int64(s.Len())))
		w.Array(count)
		s.Choose(count, w.Bulk)
	}
	return nil
}

// writeRandomMembers writes count members, each drawn from all.
func writeRandomMembers(w *reply.Writer, s engine.Set, count int64) error {
	drawn, err := beginDraws(w, count)
	if err != nil {
		return err
	}
	w.Array(int(count))
	var buf [20]byte
	for ; count > 0 && drawn.fits(); count-- {
		w.Bulk(s.Random(buf[:]))
	}
	return drawn.end()
}
