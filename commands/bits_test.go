package commands

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"reminis/commands/reply"
	"reminis/engine"
)

// This file compares the fast loops over bits with slow obvious ones. What the
// commands reply is the transcripts' business.

// seeded is a source of random numbers whose seed a failing test prints.
func seeded(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomBytes is up to most bytes, often long runs of zeros or ones.
func randomBytes(r *rand.Rand, most int) []byte {
	data := make([]byte, r.IntN(most+1))
	fill := []byte{0, 0xff, 0x55}[r.IntN(3)]
	for i := range data {
		if data[i] = fill; r.IntN(20) == 0 {
			data[i] = byte(r.Uint32())
		}
	}
	return data
}

func TestCountBits(t *testing.T) {
	r := seeded(t)
	for range 500 {
		data := randomBytes(r, 200)
		want := int64(0)
		for i := range int64(len(data)) * 8 {
			want += bitAt(data, i)
		}
		if have := countBits(data); have != want {
			t.Fatalf("%x: want %d, have %d", data, want, have)
		}
	}
}

// TestBitRange compares BITCOUNT and BITPOS over ranges with a loop over bits.
func TestBitRange(t *testing.T) {
	r := seeded(t)
	_, c := newTestClient(t)
	index := func(size int64) int64 { return r.Int64N(2*size+6) - size - 3 }
	for range 5000 {
		data := randomBytes(r, 30)
		inBits := r.IntN(2) == 0
		size, unit := int64(len(data)), int64(8)
		if inBits {
			size, unit = size*8, 1
		}
		rng := bitRange{given: 2, inBits: inBits, start: index(size), end: index(size)}
		first, last := span(rng.start, rng.end, size)
		count, position := int64(0), [2]int64{-1, -1}
		for i := first * unit; i < (last+1)*unit; i++ {
			bit := bitAt(data, i)
			count += bit
			if position[bit] < 0 {
				position[bit] = i
			}
		}
		argv := func(words ...any) [][]byte {
			out := [][]byte{}
			for _, word := range words {
				out = append(out, fmt.Append(nil, word))
			}
			return append(out, fmt.Append(nil, rng.start), fmt.Append(nil, rng.end), []byte(map[bool]string{true: unitBit, false: unitByte}[inBits]))
		}
		c.do([]byte("SET"), []byte("k"), data)
		if have, want := string(c.do(argv("BITCOUNT", "k")...)), fmt.Sprintf(":%d\r\n", count); have != want && !(rng.start < 0 && rng.end < 0 && rng.start > rng.end) {
			t.Fatalf("BITCOUNT %x %+v: want %q, have %q", data, rng, want, have)
		}
		for bit := range 2 {
			if have, want := string(c.do(argv("BITPOS", "k", bit)...)), fmt.Sprintf(":%d\r\n", position[bit]); have != want {
				t.Fatalf("BITPOS %d %x %+v: want %q, have %q", bit, data, rng, want, have)
			}
		}
	}
}

func TestBitOperations(t *testing.T) {
	r := seeded(t)
	slow := map[string]func(a, b byte) byte{
		"AND": func(a, b byte) byte { return a & b },
		"OR":  func(a, b byte) byte { return a | b },
		"XOR": func(a, b byte) byte { return a ^ b },
	}
	_, c := newTestClient(t)
	for range 500 {
		sources := make([][]byte, 1+r.IntN(4))
		longest := 0
		for i := range sources {
			sources[i] = randomBytes(r, 150)
			longest = max(longest, len(sources[i]))
			c.do([]byte("SET"), fmt.Appendf(nil, "s%d", i), sources[i])
		}
		for word, operation := range slow {
			want := make([]byte, longest)
			for at := range want {
				for i, source := range sources {
					b := byte(0)
					if at < len(source) {
						b = source[at]
					}
					if i == 0 {
						want[at] = b
					} else {
						want[at] = operation(want[at], b)
					}
				}
			}
			line := [][]byte{[]byte("BITOP"), []byte(word), []byte("t")}
			for i := range sources {
				line = append(line, fmt.Appendf(nil, "s%d", i))
			}
			c.do(line...)
			if have := c.say("GETRANGE", "t", "0", "-1"); have != string(bulk(want)) {
				t.Fatalf("BITOP %s of %x: want %x, have %q", word, sources, want, have)
			}
		}
	}
}

func bulk(data []byte) []byte {
	var w reply.Writer
	w.Bulk(data)
	return w.Bytes()
}

// TestBitField compares operations with the same on big integers, bit by bit.
func TestBitField(t *testing.T) {
	r := seeded(t)
	model := randomBytes(r, 20)
	_, c := newTestClient(t)
	c.do([]byte("SET"), []byte("k"), model)
	for range 3000 {
		f := bitField{signed: r.IntN(2) == 0, bits: uint(1 + r.IntN(63)), offset: int64(r.IntN(300)), amount: r.Int64() >> r.IntN(64)}
		if r.IntN(2) == 0 {
			f.amount = -f.amount
		}
		// Numbers far outside make Redis's own arithmetic overflow: transcripts show it.
		f.amount >>= 65 - f.bits
		policy := []string{wordWrap, wordSaturate, wordFail}[r.IntN(3)]
		set := r.IntN(2) == 0
		word, sign := wordIncrement, "u"
		if set {
			word = wordSet
		}
		if f.signed {
			sign = "i"
		}
		for int64(len(model))*8 < f.offset+int64(f.bits) {
			model = append(model, 0)
		}
		want := modelBitField(model, &f, set, policy)
		have := c.say("BITFIELD", "k", wordOverflow, policy, word, fmt.Sprint(sign, f.bits), fmt.Sprint(f.offset), fmt.Sprint(f.amount))
		if have != want {
			t.Fatalf("%s %s %+v: want %q, have %q", policy, word, f, want, have)
		}
		if have := c.say("GET", "k"); have != string(bulk(model)) {
			t.Fatalf("%s %s %+v: want %x, have %q", policy, word, f, model, have)
		}
	}
}

// modelBitField does an operation on data and returns its reply.
func modelBitField(data []byte, f *bitField, set bool, policy string) string {
	modulus := new(big.Int).Lsh(big.NewInt(1), f.bits)
	smallest, largest := big.NewInt(0), new(big.Int).Sub(modulus, big.NewInt(1))
	if f.signed {
		smallest.Neg(new(big.Int).Rsh(modulus, 1))
		largest.Rsh(largest, 1)
	}
	old := new(big.Int)
	for i := range int64(f.bits) {
		old.Lsh(old, 1).Add(old, big.NewInt(bitAt(data, f.offset+i)))
	}
	if old.Cmp(largest) > 0 {
		old.Sub(old, modulus)
	}
	number := big.NewInt(f.amount)
	if !set {
		number.Add(number, old)
	}
	if number.Cmp(smallest) < 0 || number.Cmp(largest) > 0 {
		switch {
		case policy == wordFail:
			return "*1\r\n$-1\r\n"
		case policy == wordWrap:
			number.Sub(number, smallest).Mod(number, modulus).Add(number, smallest)
		case number.Cmp(largest) > 0 || set && !f.signed:
			// A negative SET of an unsigned field is a huge number.
			number.Set(largest)
		default:
			number.Set(smallest)
		}
	}
	bits := new(big.Int).Mod(number, modulus)
	for i := range int64(f.bits) {
		at, mask := (f.offset+i)/8, byte(0x80)>>((f.offset+i)%8)
		data[at] &^= mask
		if bits.Bit(int(int64(f.bits)-1-i)) == 1 {
			data[at] |= mask
		}
	}
	if set {
		number = old
	}
	return fmt.Sprintf("*1\r\n:%d\r\n", number)
}

// TestSetBitWritesOneByte shows that a change of a bit of a large string does
// not put the string into the journal again.
func TestSetBitWritesOneByte(t *testing.T) {
	journal := &sizeJournal{}
	s := newTestServer(DefaultTable(), engine.Options{Pool: testPool(), Journal: journal})
	c := s.connect(2)
	c.do([]byte("SET"), []byte("k"), bytes.Repeat([]byte("x"), 1<<20))
	for _, line := range [][]string{
		{"SETBIT", "k", "77776", "1"},
		{"SETRANGE", "k", "5000", "abc"},
		{"APPEND", "k", "abc"},
		{"BITFIELD", "k", "SET", "i64", "4001", "-5"},
	} {
		journal.sizeBytes = 0
		c.say(line...)
		if journal.sizeBytes == 0 || journal.sizeBytes > 100 {
			t.Errorf("%q: %d bytes in the journal", line, journal.sizeBytes)
		}
	}
}
