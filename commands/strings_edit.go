package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands that read or change a part of a string. It must
// not know bits (bits.go).

func appendCommand() *Command {
	return onData(Declaration{
		Name: "append", Family: Strings, Since: "2.0.0",
		Complexity: "O(1). The amortized time complexity is O(1) assuming the appended value is small and the already present value is of any size, since the dynamic string library used by Redis will double the free space available on every reallocation.",
		Summary:    "Append a value to a key",
		Flags:      Write | DenyOOM | Fast,
		Reply:      reply.Int(),
	}, grammar.Compile[keyValueParams](
		grammar.Key("key", (*keyValueParams).keyField, grammar.RW|grammar.Insert),
		grammar.Bytes("value", (*keyValueParams).valueField),
	), runAppend)
}

func runAppend(tx *engine.Tx, p *keyValueParams, w *reply.Writer) error {
	old, err := tx.StringForWrite(p.key)
	if err != nil {
		return err
	}
	if old == nil {
		tx.SetString(p.key, p.value, 0)
		tx.Notify(engine.EventString, "append", p.key)
		w.Int(int64(len(p.value)))
		return nil
	}
	size := len(old)
	if err := checkLength(tx, int64(size), len(p.value)); err != nil {
		return err
	}
	tx.SpliceString(p.key, size, p.value)
	tx.Notify(engine.EventString, "append", p.key)
	w.Int(int64(size + len(p.value)))
	return nil
}

// checkLength says whether a string of offset and then added bytes is allowed.
func checkLength(tx *engine.Tx, offset int64, added int) error {
	if limit := tx.StringMax(); offset > limit || int64(added) > limit-offset {
		return ErrStringTooLong
	}
	return nil
}

func strLenCommand() *Command {
	return onData(Declaration{
		Name: "strlen", Family: Strings, Since: "2.2.0", Complexity: "O(1)",
		Summary: "Get the length of the value stored in a key",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[keyParams](
		grammar.Key("key", (*keyParams).keyField, grammar.RO),
	), runStrLen)
}

func runStrLen(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	value, err := tx.String(p.key)
	if err != nil {
		return err
	}
	w.Int(int64(len(value)))
	return nil
}

type getRangeParams struct {
	key        []byte
	start, end int64
}

func getRangeCommand() *Command {
	return onData(Declaration{
		Name: "getrange", Family: Strings, Since: "2.4.0",
		Complexity: getRangeComplexity,
		Summary:    "Get a substring of the string stored at a key",
		Flags:      ReadOnly,
		Reply:      reply.Bulk(),
	}, getRangeGrammar(), runGetRange)
}

// subStrCommand is the name that GETRANGE had before 2.4.
func subStrCommand() *Command {
	return onData(Declaration{
		Name: "substr", Family: Strings, Since: "1.0.0",
		Complexity:      getRangeComplexity,
		DeprecatedSince: "2.0.0", ReplacedBy: "`GETRANGE`",
		Summary: "Get a substring of the string stored at a key",
		Flags:   ReadOnly,
		Reply:   reply.Bulk(),
	}, getRangeGrammar(), runGetRange)
}

const getRangeComplexity = "O(N) where N is the length of the returned string. The complexity is ultimately determined by the returned length, but because creating a substring from an existing string is very cheap, it can be considered O(1) for small strings."

func getRangeGrammar() *grammar.Grammar {
	return grammar.Compile[getRangeParams](
		grammar.Key("key", func(p *getRangeParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Int("start", func(p *getRangeParams) *int64 { return &p.start }),
		grammar.Int("end", func(p *getRangeParams) *int64 { return &p.end }),
	)
}

func runGetRange(tx *engine.Tx, p *getRangeParams, w *reply.Writer) error {
	value, err := tx.String(p.key)
	if err != nil {
		return err
	}
	first, last := span(p.start, p.end, int64(len(value)))
	if first > last || p.start < 0 && p.end < 0 && p.start > p.end {
		w.Bulk(value[:0])
		return nil
	}
	w.Bulk(value[first : last+1])
	return nil
}

// span turns Redis's two inclusive indexes, negative ones counted from the
// end, into positions 0 <= first and last < size; first > last is an empty
// span, and the only one that size 0 has.
func span(start, end, size int64) (first, last int64) {
	if start < 0 {
		start += size
	}
	if end < 0 {
		end += size
	}
	return max(start, 0), min(max(end, 0), size-1)
}

type setRangeParams struct {
	key    []byte
	offset int64
	value  []byte
}

func setRangeCommand() *Command {
	return onData(Declaration{
		Name: "setrange", Family: Strings, Since: "2.2.0",
		Complexity: "O(1), not counting the time taken to copy the new string in place. Usually, this string is very small so the amortized complexity is O(1). Otherwise, complexity is O(M) with M being the length of the value argument.",
		Summary:    "Overwrite part of a string at key starting at the specified offset",
		Flags:      Write | DenyOOM,
		Reply:      reply.Int(),
	}, grammar.Compile[setRangeParams](
		grammar.Key("key", func(p *setRangeParams) *[]byte { return &p.key }, grammar.RW|grammar.Update),
		grammar.Int("offset", func(p *setRangeParams) *int64 { return &p.offset }).
			Range(0, math.MaxInt64).Fail(grammar.OutOfRange, string(ErrOffset)),
		grammar.Bytes("value", func(p *setRangeParams) *[]byte { return &p.value }),
	), runSetRange)
}

func runSetRange(tx *engine.Tx, p *setRangeParams, w *reply.Writer) error {
	old, err := tx.StringForWrite(p.key)
	if err != nil {
		return err
	}
	size := len(old)
	if len(p.value) == 0 {
		w.Int(int64(size))
		return nil
	}
	if err := checkLength(tx, p.offset, len(p.value)); err != nil {
		return err
	}
	tx.SpliceString(p.key, int(p.offset), p.value)
	tx.Notify(engine.EventString, "setrange", p.key)
	w.Int(max(int64(size), p.offset+int64(len(p.value))))
	return nil
}
