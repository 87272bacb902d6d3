package engine

import (
	"bytes"
	"math"
	"strconv"

	"reminis/engine/listpack"
)

// This file owns the packed form of a sorted set: a listpack of members and
// scores in turn, in the order of scores and then members. It must not know
// entries of keys, nor when a set is packed.

// packScore is the score at a position of a pack.
func packScore(pack []byte, pos int) float64 {
	x := listpack.Get(pack, pos)
	if x.Text == nil {
		return float64(x.Int)
	}
	score, err := strconv.ParseFloat(string(x.Text), 64)
	if err != nil {
		panic("engine: a packed score is no number: " + err.Error())
	}
	return score
}

// integerScore is a score as an integer where Redis stores it as one (util.c
// double2ll); -0 is none.
func integerScore(score float64) (n int64, ok bool) {
	const most = 1 << 62
	if score < -most || score > most || score == 0 && math.Signbit(score) {
		return 0, false
	}
	n = int64(score)
	return n, float64(n) == score
}

// appendScore appends a score as Redis writes doubles that are stored (util.c
// d2string).
func appendScore(dst []byte, score float64) []byte {
	if n, ok := integerScore(score); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	return appendDouble(dst, score)
}

// appendDouble appends a score as "%.17g" prints it.
func appendDouble(dst []byte, score float64) []byte {
	switch {
	case math.IsInf(score, 1):
		return append(dst, "inf"...)
	case math.IsInf(score, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, score, 'g', 17, 64)
}

// compareText compares an element's text with text.
func compareText(x listpack.Element, text []byte) int {
	var buf [20]byte
	return bytes.Compare(textOf(x, buf[:]), text)
}

// packPlace is where a member that is not in the pack belongs: the position
// before which it has to be inserted.
func packPlace(pack, member []byte, score float64) int {
	end := listpack.End(pack)
	// Scores often grow, so the last element is looked at first.
	if last := listpack.Last(pack); last == listpack.None || packScore(pack, last) < score {
		return end
	}
	for pos := listpack.First(pack); pos != listpack.None; {
		scorePos := listpack.Next(pack, pos)
		if s := packScore(pack, scorePos); s > score || s == score && compareText(listpack.Get(pack, pos), member) > 0 {
			return pos
		}
		pos = listpack.Next(pack, scorePos)
	}
	return end
}

// packInsert puts a member with its score before the position.
func packInsert(pack []byte, pos int, member []byte, score float64) []byte {
	if n, ok := integerScore(score); ok {
		pack = listpack.InsertInt(pack, pos, n)
	} else {
		var text [32]byte
		pack = listpack.Insert(pack, pos, appendScore(text[:0], score))
	}
	return listpack.Insert(pack, pos, member)
}

// packWalk visits so many members from a position on, each followed by the one
// that next says, as far as visit wants. It allocates when one is an integer.
func packWalk(pack []byte, pos, count int, next func(pack []byte, pos int) int, visit func(member []byte, score float64) bool) {
	var buf []byte
	for ; count > 0; count-- {
		x := listpack.Get(pack, pos)
		member := x.Text
		if member == nil {
			buf = x.AppendTo(buf[:0])
			member = buf
		}
		if !visit(member, packScore(pack, listpack.Next(pack, pos))) {
			return
		}
		pos = next(pack, pos)
	}
}

// packNext is the position of the member behind the one at pos.
func packNext(pack []byte, pos int) int { return listpack.Next(pack, listpack.Next(pack, pos)) }

// packPrev is the position of the member before the one at pos.
func packPrev(pack []byte, pos int) int {
	if pos = listpack.Prev(pack, pos); pos == listpack.None {
		return pos
	}
	return listpack.Prev(pack, pos)
}

// packSpan is the rank of the first member from a rank on for which below does
// not hold.
func packSpan(pack []byte, rank int, below func(member listpack.Element, scorePos int) bool) int {
	for pos := listpack.Index(pack, 2*rank); pos != listpack.None; rank++ {
		scorePos := listpack.Next(pack, pos)
		if !below(listpack.Get(pack, pos), scorePos) {
			return rank
		}
		pos = listpack.Next(pack, scorePos)
	}
	return rank
}

// packSpanBack is the rank behind the last member before a rank for which above
// does not hold; 0 when there is none.
func packSpanBack(pack []byte, rank int, above func(member listpack.Element) bool) int {
	if rank <= 0 {
		return rank
	}
	for pos := listpack.Index(pack, 2*(rank-1)); pos != listpack.None; rank-- {
		if !above(listpack.Get(pack, pos)) {
			return rank
		}
		pos = packPrev(pack, pos)
	}
	return rank
}
