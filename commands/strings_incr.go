package commands

import (
	"math"
	"strconv"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns strings as numbers: INCR and its relatives. How a float reads
// and prints is commands/reply's business.

// incrParams has room for the digits of the result: on the stack they would
// be allocated, for what a transaction writes escapes.
type incrParams struct {
	key    []byte
	amount int64
	digits [20]byte
}

func (p *incrParams) keyField() *[]byte   { return &p.key }
func (p *incrParams) amountField() *int64 { return &p.amount }

func incrCommand() *Command {
	return onData(Declaration{
		Name: "incr", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Increment the integer value of a key by one",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[incrParams](
		grammar.Key("key", (*incrParams).keyField, grammar.RW|grammar.Access|grammar.Update),
	), func(tx *engine.Tx, p *incrParams, w *reply.Writer) error { return p.add(tx, 1, w) })
}

func decrCommand() *Command {
	return onData(Declaration{
		Name: "decr", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Decrement the integer value of a key by one",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[incrParams](
		grammar.Key("key", (*incrParams).keyField, grammar.RW|grammar.Access|grammar.Update),
	), func(tx *engine.Tx, p *incrParams, w *reply.Writer) error { return p.add(tx, -1, w) })
}

func incrByCommand() *Command {
	return onData(Declaration{
		Name: "incrby", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Increment the integer value of a key by the given amount",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[incrParams](
		grammar.Key("key", (*incrParams).keyField, grammar.RW|grammar.Access|grammar.Update),
		grammar.Int("increment", (*incrParams).amountField),
	), func(tx *engine.Tx, p *incrParams, w *reply.Writer) error { return p.add(tx, p.amount, w) })
}

func decrByCommand() *Command {
	return onData(Declaration{
		Name: "decrby", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Decrement the integer value of a key by the given number",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[incrParams](
		grammar.Key("key", (*incrParams).keyField, grammar.RW|grammar.Access|grammar.Update),
		// The smallest integer has no negative.
		grammar.Int("decrement", (*incrParams).amountField).
			Range(math.MinInt64+1, math.MaxInt64).Fail(grammar.OutOfRange, string(ErrDecrOverflow)),
	), func(tx *engine.Tx, p *incrParams, w *reply.Writer) error { return p.add(tx, -p.amount, w) })
}

// add adds to the integer at the key, 0 when there is none: no allocation.
func (p *incrParams) add(tx *engine.Tx, amount int64, w *reply.Writer) error {
	old, err := tx.StringForWrite(p.key)
	if err != nil {
		return err
	}
	value := int64(0)
	if old != nil {
		var ok bool
		if value, ok = grammar.ParseInt(old); !ok {
			return ErrNotInteger
		}
	}
	sum := value + amount
	if amount > 0 && sum < value || amount < 0 && sum > value {
		return ErrOverflow
	}
	tx.ReplaceString(p.key, strconv.AppendInt(p.digits[:0], sum, 10))
	tx.Notify(engine.EventString, "incrby", p.key)
	w.Int(sum)
	return nil
}

// incrByFloatParams keeps the error of its amount: Redis looks the key up and
// reads its value before (t_string.c incrbyfloatCommand).
type incrByFloatParams struct {
	key    []byte
	amount reply.LongDouble
	late   error
}

func incrByFloatCommand() *Command {
	return onData(Declaration{
		Name: "incrbyfloat", Family: Strings, Since: "2.6.0", Complexity: "O(1)",
		Summary: "Increment the float value of a key by the given amount",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Bulk(),
	}, grammar.Compile[incrByFloatParams](
		grammar.Key("key", func(p *incrByFloatParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Late(func(p *incrByFloatParams) *error { return &p.late },
			grammar.Value("increment", func(p *incrByFloatParams, arg []byte) *grammar.Error {
				var ok bool
				if p.amount, ok = reply.ParseLongDouble(arg); !ok {
					return grammar.Fail(grammar.NotFloat, "")
				}
				return nil
			}).Typed(grammar.TypeDouble).Sample("0", "1", "1.5", "-2.25", "3e2", "1e-3", "0.1", "inf"),
		),
	), runIncrByFloat)
}

func runIncrByFloat(tx *engine.Tx, p *incrByFloatParams, w *reply.Writer) error {
	old, err := tx.StringForWrite(p.key)
	if err != nil {
		return err
	}
	var value reply.LongDouble
	if old != nil {
		var ok bool
		if value, ok = reply.ParseLongDouble(old); !ok {
			return ErrNotFloat
		}
	}
	if p.late != nil {
		return p.late
	}
	sum, ok := value.Add(&p.amount)
	if !ok {
		return ErrFloatNaN
	}
	text := sum.Append(nil)
	tx.ReplaceString(p.key, text)
	tx.MarkText(p.key)
	tx.Notify(engine.EventString, "incrbyfloat", p.key)
	w.Bulk(text)
	return nil
}
