package commands

import (
	"math"
	"math/bits"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns LCS: its options, its replies, and the longest common
// subsequence itself. It must not know how strings are kept.

// lcsParams keeps the first error of its options: Redis looks up both keys
// before it reads them (t_string.c lcsCommand).
type lcsParams struct {
	first, second []byte
	len, idx      bool
	minMatchLen   int64
	withMatchLen  bool
	late          error
}

func lcsCommand() *Command {
	position := reply.Tuple(reply.Int(), reply.Int())
	match := reply.OneOf(reply.Tuple(position, position), reply.Tuple(position, position, reply.Int()))
	return onData(Declaration{
		Name: "lcs", Family: Strings, Since: "7.0.0",
		Complexity: "O(N*M) where N and M are the lengths of s1 and s2, respectively",
		Summary:    "Find longest common substring",
		Flags:      ReadOnly,
		Reply: reply.OneOf(reply.Bulk(), reply.Int(), reply.Record(
			reply.Field{Key: "matches", Value: reply.ArrayOf(match)},
			reply.Field{Key: "len", Value: reply.Int()})),
	}, grammar.Compile[lcsParams](
		grammar.Key("key1", func(p *lcsParams) *[]byte { return &p.first }, grammar.RO|grammar.Access),
		grammar.Key("key2", func(p *lcsParams) *[]byte { return &p.second }, grammar.RO|grammar.Access).SameSpec(),
		grammar.Late(func(p *lcsParams) *error { return &p.late },
			grammar.Options(
				grammar.Token("LEN", func(p *lcsParams) *bool { return &p.len }),
				grammar.Token("IDX", func(p *lcsParams) *bool { return &p.idx }),
				grammar.Int("len", func(p *lcsParams) *int64 { return &p.minMatchLen }).After("MINMATCHLEN"),
				grammar.Token("WITHMATCHLEN", func(p *lcsParams) *bool { return &p.withMatchLen }),
			),
		),
	), runLCS)
}

func runLCS(tx *engine.Tx, p *lcsParams, w *reply.Writer) error {
	first, err := tx.String(p.first)
	second, err2 := tx.String(p.second)
	if err != nil || err2 != nil {
		return ErrLCSType
	}
	if p.late != nil {
		return p.late
	}
	if p.len && p.idx {
		return ErrLCSLenAndIdx
	}
	if len(first) >= math.MaxUint32-1 || len(second) >= math.MaxUint32-1 {
		return ErrLCSTooLong
	}
	// The bound is that of Redis's table of 32-bit numbers, so that a command
	// fails here exactly when it fails there; ours is 32 times smaller.
	if high, cells := bits.Mul64(uint64(len(first)+1), uint64(len(second)+1)); high != 0 || cells > uint64(tx.StringMax())/4 {
		return ErrLCSMemory
	}
	l := newLCS(first, second, !p.len)
	switch {
	case p.idx:
		p.writeMatches(l, w)
	case p.len:
		w.Int(int64(l.length))
	default:
		w.Bulk(l.text())
	}
	return nil
}

// writeMatches replies with the ranges of both strings that match, from the
// last to the first, without those shorter than MINMATCHLEN.
func (p *lcsParams) writeMatches(l *lcs, w *reply.Writer) {
	w.Map(2)
	w.BulkString("matches")
	matches := w.DeferArray(1)
	n := 0
	l.walk(func(i, j, size int) {
		if int64(size) < p.minMatchLen {
			return
		}
		n++
		if p.withMatchLen {
			w.Array(3)
		} else {
			w.Array(2)
		}
		for _, start := range [...]int{i, j} {
			w.Array(2)
			w.Int(int64(start))
			w.Int(int64(start + size - 1))
		}
		if p.withMatchLen {
			w.Int(int64(size))
		}
	})
	w.Close(matches, n)
	w.BulkString("len")
	w.Int(int64(l.length))
}

// lcs is the table of the lengths L(i, j) of the longest common subsequences of
// the first i bytes of one string and the first j of the other, kept as
// differences: along a row the length grows by 0 or 1 a column, so a row is one
// bit a column. A whole row follows from the one before with a few operations
// on 64 columns at a time (Hyyrö, "Bit-parallel LCS-length computation
// revisited", 2004).
type lcs struct {
	first, second []byte
	length        int
	words         int      // 64-bit words of a row
	rows          []uint64 // bit j of row i is 0 where L(i+1, j+1) = L(i+1, j) + 1; nil if not kept
}

// newLCS computes the table, and keeps its rows if a walk is to follow.
func newLCS(first, second []byte, keep bool) *lcs {
	l := &lcs{first: first, second: second, words: (len(second) + 63) / 64}
	if l.words == 0 || len(first) == 0 {
		return l
	}
	if keep {
		l.rows = make([]uint64, len(first)*l.words)
	}
	masks := l.masks()
	row := make([]uint64, l.words)
	for j := range row {
		row[j] = math.MaxUint64
	}
	for i, c := range first {
		nextRow(row, masks[c])
		if keep {
			copy(l.rows[i*l.words:], row)
		}
	}
	// The bits of columns beyond the string never match and stay 1.
	for _, word := range row {
		l.length += bits.OnesCount64(^word)
	}
	return l
}

// nextRow turns a row into the one below it; mask has the columns that match
// the lower row's byte.
func nextRow(row, mask []uint64) {
	if mask == nil {
		return
	}
	carry := uint64(0)
	mask = mask[:len(row)]
	for j, v := range row {
		u := v & mask[j]
		sum, out := bits.Add64(v, u, carry)
		row[j], carry = sum|(v-u), out
	}
}

// masks has for each byte of first the columns where second has it.
func (l *lcs) masks() *[256][]uint64 {
	var masks [256][]uint64
	for _, c := range l.first {
		if masks[c] == nil {
			masks[c] = make([]uint64, l.words)
		}
	}
	for j, c := range l.second {
		if masks[c] != nil {
			masks[c][j/64] |= 1 << (j % 64)
		}
	}
	return &masks
}

// walk visits the matching ranges of a longest common subsequence from the end:
// where they begin in both strings, and their size. Among several subsequences
// it takes the one that Redis takes: where the bytes differ, up the rows only
// if that is longer than to the left.
func (l *lcs) walk(visit func(i, j, size int)) {
	size := 0
	i, j := len(l.first), len(l.second)
	for i > 0 && j > 0 {
		if l.first[i-1] == l.second[j-1] {
			size++
			i--
			j--
			continue
		}
		if size > 0 {
			visit(i, j, size)
			size = 0
		}
		// L(i, j) is the greater of L(i-1, j) and L(i, j-1): it exceeds the
		// latter exactly if the former does.
		if l.rows[(i-1)*l.words+(j-1)/64]&(1<<((j-1)%64)) == 0 {
			i--
		} else {
			j--
		}
	}
	if size > 0 {
		visit(i, j, size)
	}
}

// text is the subsequence itself.
func (l *lcs) text() []byte {
	text := make([]byte, l.length)
	end := l.length
	l.walk(func(i, _, size int) {
		end -= size
		copy(text[end:], l.first[i:i+size])
	})
	return text
}
