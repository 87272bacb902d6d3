package commands

import (
	"encoding/binary"
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns BITFIELD and BITFIELD_RO: integers of 1 to 64 bits at any bit
// of a string. It must not know single bits (bits.go).

// bitFieldKind is what one operation of a BITFIELD does.
type bitFieldKind uint8

const (
	fieldGet bitFieldKind = iota + 1
	fieldSet
	fieldIncrement
	fieldOverflow // says what the operations behind it do on overflow
)

// The words of BITFIELD.
const (
	wordGet       = "GET"
	wordSet       = "SET"
	wordIncrement = "INCRBY"
	wordOverflow  = "OVERFLOW"
	wordWrap      = "WRAP"
	wordSaturate  = "SAT"
	wordFail      = "FAIL"
)

// overflow is what becomes of a number that does not fit.
type overflow uint8

const (
	overflowWrap overflow = iota
	overflowSaturate
	overflowFail
)

// bitField is one operation. An operation with an error in its value is in the
// list as well, because its offset is checked before.
type bitField struct {
	kind     bitFieldKind
	signed   bool
	bits     uint
	offset   int64
	amount   int64
	overflow overflow
}

// bitFieldParams keeps the error of its operations: the limit of an offset is a
// setting, so it is tested by the handler, in its turn.
type bitFieldParams struct {
	key    []byte
	fields []bitField
	late   error
}

func bitFieldCommand() *Command {
	number := func(name string) grammar.Node { return grammar.Int[*bitField](name, nil) }
	encoding := func() grammar.Node {
		return grammar.Bytes[*bitField]("encoding", nil).Sample("u8", "i5", "u63", "i64", "i16", "u1")
	}
	offset := func() grammar.Node { return number("offset").Sample("0", "1", "7", "100", "#0", "#2") }
	word := func(word string) grammar.Node { return grammar.Token[*bitField](word, nil) }
	return onData(Declaration{
		Name: "bitfield", Family: Bitmap, Since: "3.2.0", Complexity: "O(1) for each subcommand specified",
		Summary: "Perform arbitrary bitfield integer operations on strings",
		Flags:   Write | DenyOOM,
		Reply:   reply.ArrayOf(reply.Nullable(reply.Int())),
	}, bitFieldGrammar(grammar.RW|grammar.Update|grammar.Access|grammar.VariableFlags,
		"This command allows both access and modification of the key",
		grammar.OneOf("operation",
			grammar.Block("encoding_offset", encoding(), offset()).After(wordGet),
			grammar.Block("write",
				grammar.Opt(grammar.OneOf("wrap_sat_fail", word(wordWrap), word(wordSaturate), word(wordFail)).After(wordOverflow)),
				grammar.OneOf("write_operation",
					grammar.Block("encoding_offset_value", encoding(), offset(), number("value")).After(wordSet),
					grammar.Block("encoding_offset_increment", encoding(), offset(), number("increment")).After(wordIncrement)),
			),
		),
	).WithKeys("BITFIELD only reads when all its operations do", bitFieldKeys), runBitField)
}

// bitFieldKeys is db.c's bitfieldGetKeys: what is no operation is taken for a
// write.
func bitFieldKeys(dst []grammar.KeyRef, argv [][]byte) ([]grammar.KeyRef, bool) {
	flags := grammar.RO | grammar.Access
	for i := 1; i < len(argv); {
		left := len(argv) - i - 1
		switch {
		case equalFold(argv[i], wordGet) && left >= 2:
			i += 3
		case equalFold(argv[i], wordOverflow) && left >= 1:
			i += 2
		default:
			flags, i = grammar.RW|grammar.Access|grammar.Update, len(argv)
		}
	}
	return append(dst, grammar.KeyRef{Index: 0, Flags: flags}), true
}

func bitFieldROCommand() *Command {
	return onData(Declaration{
		Name: "bitfield_ro", Family: Bitmap, Since: "6.0.0", Complexity: "O(1) for each subcommand specified",
		Summary: "Perform arbitrary bitfield integer operations on strings. Read-only variant of BITFIELD",
		Flags:   ReadOnly | Fast,
		Reply:   reply.ArrayOf(reply.Int()),
	}, bitFieldGrammar(grammar.RO|grammar.Access, "",
		grammar.Block("encoding_offset",
			grammar.Bytes[*bitField]("encoding", nil).Sample("u8", "i5", "u63", "i64"),
			grammar.Int[*bitField]("offset", nil).Sample("0", "1", "7", "#1"),
		).After(wordGet).WordMultiple(),
	), runBitFieldRO)
}

// bitFieldGrammar is a key and operations, which are documented as said. They
// are a Custom because Redis counts the arguments of an operation before it
// reads any.
func bitFieldGrammar(flags grammar.KeyFlags, notes string, operation grammar.Node) *grammar.Grammar {
	return grammar.Compile[bitFieldParams](
		grammar.Key("key", func(p *bitFieldParams) *[]byte { return &p.key }, flags).Notes(notes),
		grammar.Late(func(p *bitFieldParams) *error { return &p.late },
			grammar.Opt(grammar.Each("", func(p *bitFieldParams) *[]bitField { return &p.fields },
				grammar.Custom("", parseBitField, operation))),
		),
	)
}

// parseBitField reads one operation.
func parseBitField(f *bitField, args [][]byte) (used int, err *grammar.Error) {
	syntax := &grammar.Error{Kind: grammar.Syntax}
	switch {
	case isWord(args[0], wordGet) && len(args) >= 3:
		f.kind, used = fieldGet, 3
	case isWord(args[0], wordSet) && len(args) >= 4:
		f.kind, used = fieldSet, 4
	case isWord(args[0], wordIncrement) && len(args) >= 4:
		f.kind, used = fieldIncrement, 4
	case isWord(args[0], wordOverflow) && len(args) >= 2:
		f.kind = fieldOverflow
		return 2, f.parseOverflow(args[1])
	default:
		return 0, syntax
	}
	if err := f.parseEncoding(args[1]); err != nil {
		return 0, err
	}
	if err := f.parseOffset(args[2]); err != nil {
		return 0, err
	}
	if f.kind != fieldGet {
		err = parseIndex(args, 3, &f.amount)
	}
	return used, err
}

func (f *bitField) parseOverflow(arg []byte) *grammar.Error {
	switch {
	case isWord(arg, wordWrap):
		f.overflow = overflowWrap
	case isWord(arg, wordSaturate):
		f.overflow = overflowSaturate
	case isWord(arg, wordFail):
		f.overflow = overflowFail
	default:
		return grammar.Fail(grammar.Other, string(ErrBitFieldOverflow))
	}
	return nil
}

// parseEncoding reads i1 to i64 and u1 to u63: replies have no 64-bit unsigned
// integers.
func (f *bitField) parseEncoding(arg []byte) *grammar.Error {
	arg = upToNul(arg)
	refused := grammar.Fail(grammar.Other, string(ErrBitFieldType))
	if len(arg) == 0 || arg[0] != 'i' && arg[0] != 'u' {
		return refused
	}
	f.signed = arg[0] == 'i'
	width, ok := grammar.ParseInt(arg[1:])
	if !ok || width < 1 || width > 64 || width == 64 && !f.signed {
		return refused
	}
	f.bits = uint(width)
	return nil
}

// parseOffset reads a bit's position or, behind a #, a multiple of the width,
// which wraps around as in Redis.
func (f *bitField) parseOffset(arg []byte) *grammar.Error {
	unit := int64(1)
	if len(arg) > 0 && arg[0] == '#' {
		arg, unit = arg[1:], int64(f.bits)
	}
	number, ok := grammar.ParseInt(arg)
	if !ok || number*unit < 0 {
		return grammar.Fail(grammar.Other, string(ErrBitOffset))
	}
	f.offset = number * unit
	return nil
}

// check is the first error of the operations, in the order in which Redis finds
// them; it also says how far the string must reach for them to write.
func (p *bitFieldParams) check(tx *engine.Tx) (writes bool, highest int64, err error) {
	for i := range p.fields {
		f := &p.fields[i]
		if err := checkBitOffset(tx, f.offset); err != nil {
			return false, 0, err
		}
		if f.kind == fieldSet || f.kind == fieldIncrement {
			writes, highest = true, max(highest, f.offset+int64(f.bits)-1)
		}
	}
	return writes, highest, p.late
}

func runBitFieldRO(tx *engine.Tx, p *bitFieldParams, w *reply.Writer) error {
	writes, _, err := p.check(tx)
	if err != nil {
		return err
	}
	if writes {
		return ErrBitFieldReadOnly
	}
	return readBitFields(tx, p, w)
}

func runBitField(tx *engine.Tx, p *bitFieldParams, w *reply.Writer) error {
	writes, highest, err := p.check(tx)
	if err != nil {
		return err
	}
	if !writes {
		return readBitFields(tx, p, w)
	}
	value, err := tx.StringForWrite(p.key)
	if err != nil {
		return err
	}
	// The string reaches as far as the furthest operation, even if that fails
	// to write.
	grown := false
	if last := int(highest >> 3); last >= len(value) {
		grown = true
		tx.SpliceString(p.key, last, []byte{0})
	} else {
		tx.MarkRaw(p.key)
	}
	w.Array(p.replies())
	policy, changed := overflowWrap, false
	for i := range p.fields {
		switch f := &p.fields[i]; f.kind {
		case fieldOverflow:
			policy = f.overflow
		case fieldGet:
			value, _ := tx.StringForWrite(p.key)
			w.Int(f.read(value))
		default:
			written, differs := f.write(tx, p.key, policy, w)
			changed = changed || differs || written && grown
		}
	}
	if changed {
		tx.Notify(engine.EventString, "setbit", p.key)
	}
	return nil
}

func readBitFields(tx *engine.Tx, p *bitFieldParams, w *reply.Writer) error {
	value, err := tx.String(p.key)
	if err != nil {
		return err
	}
	w.Array(p.replies())
	for i := range p.fields {
		if f := &p.fields[i]; f.kind == fieldGet {
			w.Int(f.read(value))
		}
	}
	return nil
}

// replies is the number of operations that are answered.
func (p *bitFieldParams) replies() int {
	n := 0
	for i := range p.fields {
		if p.fields[i].kind != fieldOverflow {
			n++
		}
	}
	return n
}

// write does a SET or INCRBY and replies with the old or the new number, or
// null if it does not fit and that was to fail. It writes only the bytes that
// the number touches, and only when they change; it says whether it did either.
func (f *bitField) write(tx *engine.Tx, key []byte, policy overflow, w *reply.Writer) (written, differs bool) {
	// The type was checked, and the string made long enough, before.
	value, _ := tx.StringForWrite(key)
	old := f.read(value)
	base, amount := old, f.amount
	if f.kind == fieldSet {
		base, amount = f.amount, 0
	}
	number, fits := f.add(base, amount, policy)
	if !fits && policy == overflowFail {
		w.Null()
		return false, false
	}
	differs = number != old
	if differs {
		var buf [9]byte
		changed := f.place(buf[:], value, uint64(number))
		tx.SpliceString(key, int(f.offset>>3), changed)
	}
	if f.kind == fieldSet {
		number = old
	}
	w.Int(number)
	return true, differs
}

// read is the number in value, behind whose end all bits are 0.
func (f *bitField) read(value []byte) int64 {
	var window [16]byte
	if at := f.offset >> 3; at < int64(len(value)) {
		copy(window[:9], value[at:])
	}
	// The first 64 bits from the offset, then those of the number.
	shift := uint(f.offset & 7)
	high := binary.BigEndian.Uint64(window[:])<<shift | uint64(window[8])>>(8-shift)
	if f.signed {
		return int64(high) >> (64 - f.bits)
	}
	return int64(high >> (64 - f.bits))
}

// place returns, in buf, the bytes of value that the number touches, changed.
func (f *bitField) place(buf, value []byte, number uint64) []byte {
	at := f.offset >> 3
	size := int(uint(f.offset&7)+f.bits+7) / 8
	copy(buf[:size], value[at:])
	position := uint(f.offset & 7)
	for left := f.bits; left > 0; {
		// The bits that fit into the byte at position.
		run := min(left, 8-position&7)
		shift := 8 - position&7 - run
		mask := byte(1<<run-1) << shift
		b := &buf[position>>3]
		*b = *b&^mask | byte(number>>(left-run))<<shift&mask
		position, left = position+run, left-run
	}
	return buf[:size]
}

// add is base + amount as the field can hold it: the sum if it fits, else
// wrapped around or the nearest that fits.
func (f *bitField) add(base, amount int64, policy overflow) (number int64, fits bool) {
	if f.signed {
		return f.addSigned(base, amount, policy)
	}
	return f.addUnsigned(uint64(base), amount, policy)
}

func (f *bitField) addSigned(base, amount int64, policy overflow) (number int64, fits bool) {
	largest := int64(math.MaxInt64 >> (64 - f.bits))
	smallest := -largest - 1
	// The room upwards overflows for a base far below smallest, which Redis then
	// takes for too large: SAT makes it largest (bitops.c
	// checkSignedBitfieldOverflow).
	up, down := largest-base, smallest-base
	narrow := f.bits < 64
	limit := largest
	switch {
	case base > largest, narrow && amount > up, base >= 0 && amount > 0 && amount > up:
	case base < smallest, narrow && amount < down, base < 0 && amount < 0 && amount < down:
		limit = smallest
	default:
		return base + amount, true
	}
	if policy == overflowSaturate {
		return limit, false
	}
	unused := 64 - f.bits
	return (base + amount) << unused >> unused, false
}

// addUnsigned: a field has at most 63 bits, so all that fits is an int64 too.
func (f *bitField) addUnsigned(base uint64, amount int64, policy overflow) (number int64, fits bool) {
	largest := uint64(math.MaxUint64) >> (64 - f.bits)
	limit := largest
	switch {
	case base > largest, amount > 0 && amount > int64(largest-base):
	case amount < 0 && amount < -int64(base):
		limit = 0
	default:
		return int64(base) + amount, true
	}
	if policy == overflowSaturate {
		return int64(limit), false
	}
	return int64((base + uint64(amount)) & largest), false
}
