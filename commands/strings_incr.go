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

func incrCommand() *Command {
	return onData(Declaration{
		Name: "incr", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Increment the integer value of a key by one",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile(
		grammar.Key("key", (*keyParams).keyField, grammar.RW|grammar.Access|grammar.Update),
	), func(tx *engine.Tx, p *keyParams, w *reply.Writer) error { return increment(tx, p.key, 1, w) })
}

func decrCommand() *Command {
	return onData(Declaration{
		Name: "decr", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Decrement the integer value of a key by one",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile(
		grammar.Key("key", (*keyParams).keyField, grammar.RW|grammar.Access|grammar.Update),
	), func(tx *engine.Tx, p *keyParams, w *reply.Writer) error { return increment(tx, p.key, -1, w) })
}

type incrByParams struct {
	key    []byte
	amount int64
}

func incrByCommand() *Command {
	return onData(Declaration{
		Name: "incrby", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Increment the integer value of a key by the given amount",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile(
		grammar.Key("key", func(p *incrByParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Int("increment", func(p *incrByParams) *int64 { return &p.amount }),
	), func(tx *engine.Tx, p *incrByParams, w *reply.Writer) error { return increment(tx, p.key, p.amount, w) })
}

func decrByCommand() *Command {
	return onData(Declaration{
		Name: "decrby", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Decrement the integer value of a key by the given number",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile(
		grammar.Key("key", func(p *incrByParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		// The smallest integer has no negative.
		grammar.Int("decrement", func(p *incrByParams) *int64 { return &p.amount }).
			Range(math.MinInt64+1, math.MaxInt64).Fail(grammar.OutOfRange, string(ErrDecrOverflow)),
	), func(tx *engine.Tx, p *incrByParams, w *reply.Writer) error { return increment(tx, p.key, -p.amount, w) })
}

// increment adds to the integer at key, 0 when there is none: no allocation.
func increment(tx *engine.Tx, key []byte, amount int64, w *reply.Writer) error {
	old, err := tx.StringForWrite(key)
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
	var digits [20]byte
	tx.ReplaceString(key, strconv.AppendInt(digits[:0], sum, 10))
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
	}, grammar.Compile(
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
	w.Bulk(text)
	return nil
}
