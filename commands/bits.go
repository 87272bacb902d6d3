package commands

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands on single bits and on runs of bits of one string.
// Bit 0 is the most significant bit of the first byte. It must not know
// bitfields (bitfield.go) nor operations between strings (bitop.go).

func bitCommands() []*Command {
	return []*Command{
		getBitCommand(), setBitCommand(), bitCountCommand(), bitPosCommand(),
		bitOpCommand(), bitFieldCommand(), bitFieldROCommand(),
	}
}

// bitOffset is the argument of a bit's position.
func bitOffset[T any](field func(T) *int64) grammar.Node {
	return grammar.Int("offset", field).Range(0, math.MaxInt64).
		Fail(grammar.NotInteger, string(ErrBitOffset)).Fail(grammar.OutOfRange, string(ErrBitOffset))
}

// checkBitOffset says whether a string may be so long that it has this bit.
func checkBitOffset(tx *engine.Tx, offset int64) error {
	if offset>>3 >= tx.StringMax() {
		return ErrBitOffset
	}
	return nil
}

type getBitParams struct {
	key    []byte
	offset int64
}

func getBitCommand() *Command {
	return onData(Declaration{
		Name: "getbit", Family: Bitmap, Since: "2.2.0", Complexity: "O(1)",
		Summary: "Returns the bit value at offset in the string value stored at key",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[getBitParams](
		grammar.Key("key", func(p *getBitParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		bitOffset(func(p *getBitParams) *int64 { return &p.offset }),
	), runGetBit)
}

func runGetBit(tx *engine.Tx, p *getBitParams, w *reply.Writer) error {
	if err := checkBitOffset(tx, p.offset); err != nil {
		return err
	}
	value, err := tx.String(p.key)
	if err != nil {
		return err
	}
	w.Int(bitAt(value, p.offset))
	return nil
}

// bitAt is one bit; behind the end all bits are 0.
func bitAt(value []byte, offset int64) int64 {
	if offset>>3 >= int64(len(value)) {
		return 0
	}
	return int64(value[offset>>3] >> (7 - offset&7) & 1)
}

// setBitParams keeps the error of its value: the offset's limit, which is a
// setting, is tested before. It has room for the byte that changes: on the
// stack it would be allocated, for what a transaction writes escapes.
type setBitParams struct {
	key     []byte
	offset  int64
	bit     int64
	late    error
	changed [1]byte
}

func setBitCommand() *Command {
	return onData(Declaration{
		Name: "setbit", Family: Bitmap, Since: "2.2.0", Complexity: "O(1)",
		Summary: "Sets or clears the bit at offset in the string value stored at key",
		Flags:   Write | DenyOOM,
		Reply:   reply.Int(),
	}, grammar.Compile[setBitParams](
		grammar.Key("key", func(p *setBitParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		bitOffset(func(p *setBitParams) *int64 { return &p.offset }),
		grammar.Late(func(p *setBitParams) *error { return &p.late },
			grammar.Int("value", func(p *setBitParams) *int64 { return &p.bit }).Range(0, 1).
				Fail(grammar.NotInteger, string(ErrBitValue)).Fail(grammar.OutOfRange, string(ErrBitValue)),
		),
	), runSetBit)
}

func runSetBit(tx *engine.Tx, p *setBitParams, w *reply.Writer) error {
	if err := checkBitOffset(tx, p.offset); err != nil {
		return err
	}
	if p.late != nil {
		return p.late
	}
	value, err := tx.StringForWrite(p.key)
	if err != nil {
		return err
	}
	at := int(p.offset >> 3)
	old := bitAt(value, p.offset)
	if at < len(value) && old == p.bit {
		tx.MarkRaw(p.key)
		w.Int(old)
		return nil
	}
	p.changed[0] = 0
	if at < len(value) {
		p.changed[0] = value[at]
	}
	shift := 7 - p.offset&7
	p.changed[0] = p.changed[0]&^(1<<shift) | byte(p.bit)<<shift
	tx.SpliceString(p.key, at, p.changed[:])
	tx.Notify(engine.EventString, "setbit", p.key)
	w.Int(old)
	return nil
}

// The units of a range.
const (
	unitByte = "BYTE"
	unitBit  = "BIT"
)

// bitRange is the range of BITCOUNT and BITPOS as it was given.
type bitRange struct {
	given    int // indexes given: 0, 1 or 2
	inBits   bool
	start    int64
	end      int64
	backward bool // BITCOUNT: two negative indexes in the wrong order
}

// indexUnit documents the unit of a range.
func indexUnit[T any]() grammar.Node {
	return grammar.Opt(grammar.OneOf("index_unit", grammar.Token[T](unitByte, nil), grammar.Token[T](unitBit, nil)).Since("7.0.0"))
}

// parseIndex reads args[at] into field.
func parseIndex(args [][]byte, at int, field *int64) *grammar.Error {
	var ok bool
	if *field, ok = grammar.ParseInt(args[at]); !ok {
		return &grammar.Error{Kind: grammar.NotInteger, Index: at}
	}
	return nil
}

func (r *bitRange) parseUnit(args [][]byte, at int) *grammar.Error {
	switch {
	case isWord(args[at], unitBit):
		r.inBits = true
	case isWord(args[at], unitByte):
	default:
		return &grammar.Error{Kind: grammar.Syntax, Index: at}
	}
	return nil
}

// isWord says whether an argument is a word, as the C function strcasecmp would.
func isWord(arg []byte, word string) bool {
	arg = upToNul(arg)
	// Equal lengths leave no room for letters that fold to ASCII from beyond it.
	return len(arg) == len(word) && strings.EqualFold(string(arg), word)
}

// bitSpan is the bytes of a range with the bits of its first and last byte that
// are outside of it.
type bitSpan struct {
	bytes      []byte
	firstByte  int64
	head, tail byte
}

// of applies a range to a value; ok is false when it is empty.
func (r *bitRange) of(value []byte) (s bitSpan, ok bool) {
	size := int64(len(value))
	first, last := int64(0), size-1
	if r.given > 0 {
		end := r.end
		if r.given == 1 {
			end = size - 1
		}
		if r.inBits {
			size *= 8
		}
		first, last = span(r.start, end, size)
	}
	if first > last {
		return s, false
	}
	if r.inBits {
		s.head, s.tail = ^byte(0xff>>(first&7)), 0x7f>>(last&7)
		first, last = first>>3, last>>3
	}
	s.bytes, s.firstByte = value[first:last+1], first
	return s, true
}

// bitCountParams keeps the error of its range: Redis looks the key up before
// (bitops.c bitcountCommand).
type bitCountParams struct {
	key  []byte
	span bitRange
	late error
}

func bitCountCommand() *Command {
	return onData(Declaration{
		Name: "bitcount", Family: Bitmap, Since: "2.6.0", Complexity: "O(N)",
		Summary: "Count set bits in a string",
		Flags:   ReadOnly,
		History: []Change{{"7.0.0", "Added the `BYTE|BIT` option."}},
		Reply:   reply.Int(),
	}, grammar.Compile[bitCountParams](
		grammar.Key("key", func(p *bitCountParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Late(func(p *bitCountParams) *error { return &p.late },
			grammar.Custom("", parseBitCount, grammar.Opt(grammar.Block("index",
				grammar.Int[*bitCountParams]("start", nil), grammar.Int[*bitCountParams]("end", nil), indexUnit[*bitCountParams]()))),
		),
	), runBitCount)
}

// parseBitCount reads [start end [BYTE|BIT]]. It is a Custom because Redis does
// not look at the unit when both indexes are negative and out of order.
func parseBitCount(p *bitCountParams, args [][]byte) (used int, err *grammar.Error) {
	r := &p.span
	if r.given = len(args); r.given == 0 {
		return 0, nil
	}
	if len(args) == 1 || len(args) > 3 {
		return 0, &grammar.Error{Kind: grammar.Syntax, Index: len(args) - 1}
	}
	if err = parseIndex(args, 0, &r.start); err == nil {
		err = parseIndex(args, 1, &r.end)
	}
	r.given = 2
	r.backward = r.start < 0 && r.end < 0 && r.start > r.end
	if err == nil && len(args) == 3 && !r.backward {
		err = r.parseUnit(args, 2)
	}
	return len(args), err
}

func runBitCount(tx *engine.Tx, p *bitCountParams, w *reply.Writer) error {
	value, err := tx.String(p.key)
	if err != nil {
		return err
	}
	if value != nil && p.late != nil {
		return p.late
	}
	s, ok := p.span.of(value)
	if value == nil || p.span.backward || !ok {
		w.Int(0)
		return nil
	}
	outside := bits.OnesCount8(s.bytes[0]&s.head) + bits.OnesCount8(s.bytes[len(s.bytes)-1]&s.tail)
	w.Int(countBits(s.bytes) - int64(outside))
	return nil
}

// countBits counts the bits that are set, 32 bytes a round.
func countBits(data []byte) int64 {
	n := 0
	for len(data) >= 32 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(data)) +
			bits.OnesCount64(binary.LittleEndian.Uint64(data[8:])) +
			bits.OnesCount64(binary.LittleEndian.Uint64(data[16:])) +
			bits.OnesCount64(binary.LittleEndian.Uint64(data[24:]))
		data = data[32:]
	}
	for ; len(data) >= 8; data = data[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(data))
	}
	for _, b := range data {
		n += bits.OnesCount8(b)
	}
	return int64(n)
}

// bitPosParams keeps the error of its range: Redis looks the key up before
// (bitops.c bitposCommand).
type bitPosParams struct {
	key  []byte
	bit  int64
	span bitRange
	late error
}

func bitPosCommand() *Command {
	return onData(Declaration{
		Name: "bitpos", Family: Bitmap, Since: "2.8.7", Complexity: "O(N)",
		Summary: "Find first bit set or clear in a string",
		Flags:   ReadOnly,
		History: []Change{{"7.0.0", "Added the `BYTE|BIT` option."}},
		Reply:   reply.Int(),
	}, grammar.Compile[bitPosParams](
		grammar.Key("key", func(p *bitPosParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Int("bit", func(p *bitPosParams) *int64 { return &p.bit }).Range(0, 1).Fail(grammar.OutOfRange, string(ErrBitPosBit)),
		grammar.Late(func(p *bitPosParams) *error { return &p.late },
			grammar.Custom("", parseBitPos, grammar.Opt(grammar.Block("index",
				grammar.Int[*bitPosParams]("start", nil),
				grammar.Opt(grammar.Block("end_index", grammar.Int[*bitPosParams]("end", nil), indexUnit[*bitPosParams]()))))),
		),
	), runBitPos)
}

// parseBitPos reads [start [end [BYTE|BIT]]]. It is a Custom because Redis reads
// the unit before the end.
func parseBitPos(p *bitPosParams, args [][]byte) (used int, err *grammar.Error) {
	r := &p.span
	if r.given = min(len(args), 2); r.given == 0 {
		return 0, nil
	}
	if len(args) > 3 {
		return 0, &grammar.Error{Kind: grammar.Syntax, Index: 3}
	}
	err = parseIndex(args, 0, &r.start)
	if err == nil && len(args) == 3 {
		err = r.parseUnit(args, 2)
	}
	if err == nil && len(args) >= 2 {
		err = parseIndex(args, 1, &r.end)
	}
	return len(args), err
}

func runBitPos(tx *engine.Tx, p *bitPosParams, w *reply.Writer) error {
	value, err := tx.String(p.key)
	if err != nil {
		return err
	}
	if value == nil {
		// A missing key is an endless string of zeros.
		w.Int(-p.bit)
		return nil
	}
	if p.late != nil {
		return p.late
	}
	s, ok := p.span.of(value)
	if !ok {
		w.Int(-1)
		return nil
	}
	at := s.find(p.bit)
	switch {
	case at >= 0:
		w.Int(s.firstByte*8 + at)
	case p.bit == 0 && p.span.given < 2:
		// Without an end zeros follow the string.
		w.Int((s.firstByte + int64(len(s.bytes))) * 8)
	default:
		w.Int(-1)
	}
	return nil
}

// find is the position of the first bit of the span with that value, from the
// span's first byte; -1 when there is none.
func (s *bitSpan) find(bit int64) int64 {
	invert := byte(bit - 1) // looking for zeros is looking for ones in the complement
	end := len(s.bytes) - 1
	if b := (s.bytes[0] ^ invert) &^ s.head; end == 0 || b != 0 {
		if end == 0 {
			b &^= s.tail
		}
		return firstBit(b, 0)
	}
	// A byte of nothing but the other value is invert itself.
	at := 1
	for word := uint64(invert) * 0x0101010101010101; at+8 <= end; at += 8 {
		if binary.LittleEndian.Uint64(s.bytes[at:]) != word {
			break
		}
	}
	for ; at < end; at++ {
		if b := s.bytes[at] ^ invert; b != 0 {
			return firstBit(b, at)
		}
	}
	return firstBit((s.bytes[end]^invert)&^s.tail, end)
}

func firstBit(b byte, at int) int64 {
	if b == 0 {
		return -1
	}
	return int64(at*8 + bits.LeadingZeros8(b))
}
