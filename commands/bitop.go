package commands

import (
	"crypto/subtle"
	"encoding/binary"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns BITOP, operations between whole strings. It must not know
// single bits (bits.go).

// bitOperation combines source into target, which is not shorter.
type bitOperation struct {
	word    string
	combine func(target, source []byte)
	// unary says that there is exactly one source, which is complemented.
	unary bool
	// absorbing says that where one source has ended, the result is zero.
	absorbing bool
}

func bitOperations() []bitOperation {
	return []bitOperation{
		{word: "AND", combine: andBytes, absorbing: true},
		{word: "OR", combine: orBytes},
		{word: "XOR", combine: func(target, source []byte) { subtle.XORBytes(target, target, source) }},
		{word: "NOT", combine: notBytes, unary: true},
	}
}

type bitOpParams struct {
	operation bitOperation
	target    []byte
	sources   [][]byte
}

func bitOpCommand() *Command {
	operations := bitOperations()
	words := make([]string, len(operations))
	for i := range operations {
		words[i] = operations[i].word
	}
	return onData(Declaration{
		Name: "bitop", Family: Bitmap, Since: "2.6.0", Complexity: "O(N)",
		Summary: "Perform bitwise operations between strings",
		Flags:   Write | DenyOOM,
		Reply:   reply.Int(),
	}, grammar.Compile[bitOpParams](
		grammar.Value("operation", func(p *bitOpParams, arg []byte) *grammar.Error {
			for i := range operations {
				if isWord(arg, operations[i].word) {
					p.operation = operations[i]
					return nil
				}
			}
			return grammar.Fail(grammar.Syntax, "")
		}).Sample(words...),
		grammar.Key("destkey", func(p *bitOpParams) *[]byte { return &p.target }, grammar.OW|grammar.Update),
		grammar.Keys("key", func(p *bitOpParams) *[][]byte { return &p.sources }, grammar.RO|grammar.Access),
		grammar.Check(func(p *bitOpParams) *grammar.Error {
			if p.operation.unary && len(p.sources) > 1 {
				return grammar.Fail(grammar.Other, string(ErrBitOpNot))
			}
			return nil
		}),
	), runBitOp)
}

// runBitOp reads all sources before it writes: the target may be one of them.
func runBitOp(tx *engine.Tx, p *bitOpParams, w *reply.Writer) error {
	longest, shortest := 0, 0
	for i, key := range p.sources {
		value, err := tx.String(key)
		if err != nil {
			return err
		}
		longest = max(longest, len(value))
		if i == 0 || len(value) < shortest {
			shortest = len(value)
		}
	}
	if longest == 0 {
		if tx.Delete(p.target) {
			tx.Notify(engine.EventGeneric, "del", p.target)
		}
		w.Int(0)
		return nil
	}
	result := make([]byte, longest)
	for i, key := range p.sources {
		// The look-up was counted above, and the type checked.
		value := tx.PeekString(key)
		switch {
		case i == 0 && !p.operation.unary:
			copy(result, value)
		case p.operation.absorbing:
			p.operation.combine(result[:shortest], value[:shortest])
		default:
			p.operation.combine(result[:len(value)], value)
		}
	}
	if p.operation.absorbing {
		clear(result[shortest:])
	}
	tx.SetString(p.target, result, 0)
	tx.MarkRaw(p.target)
	tx.Notify(engine.EventString, "set", p.target)
	w.Int(int64(longest))
	return nil
}

// The loops below work on 32 bytes a round, which the compiler keeps in
// registers and checks once.

func andBytes(target, source []byte) {
	source = source[:len(target)]
	for len(target) >= 32 {
		t, s := target[:32], source[:32]
		put(t, 0, get(t, 0)&get(s, 0))
		put(t, 8, get(t, 8)&get(s, 8))
		put(t, 16, get(t, 16)&get(s, 16))
		put(t, 24, get(t, 24)&get(s, 24))
		target, source = target[32:], source[32:]
	}
	for i := range target {
		target[i] &= source[i]
	}
}

func orBytes(target, source []byte) {
	source = source[:len(target)]
	for len(target) >= 32 {
		t, s := target[:32], source[:32]
		put(t, 0, get(t, 0)|get(s, 0))
		put(t, 8, get(t, 8)|get(s, 8))
		put(t, 16, get(t, 16)|get(s, 16))
		put(t, 24, get(t, 24)|get(s, 24))
		target, source = target[32:], source[32:]
	}
	for i := range target {
		target[i] |= source[i]
	}
}

func notBytes(target, source []byte) {
	source = source[:len(target)]
	for len(target) >= 32 {
		t, s := target[:32], source[:32]
		put(t, 0, ^get(s, 0))
		put(t, 8, ^get(s, 8))
		put(t, 16, ^get(s, 16))
		put(t, 24, ^get(s, 24))
		target, source = target[32:], source[32:]
	}
	for i := range target {
		target[i] = ^source[i]
	}
}

func get(data []byte, at int) uint64        { return binary.LittleEndian.Uint64(data[at:]) }
func put(data []byte, at int, value uint64) { binary.LittleEndian.PutUint64(data[at:], value) }
