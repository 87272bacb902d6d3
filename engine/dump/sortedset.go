package dump

// This file owns sorted sets, whose forms differ in how they write scores. It
// must not trust any byte of what it reads.

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"strconv"
)

// The types of sorted sets; those written are TypeSortedSet and
// TypeSortedSetListpack.
const (
	TypeSortedSetTexts    Type = 3 // a count, members and scores as texts
	TypeSortedSet         Type = 5 // a count, members and scores as doubles
	TypeSortedSetZiplist  Type = 12
	TypeSortedSetListpack Type = 17
)

// The lengths that stand for a score without a text.
const (
	scoreNaN         = 253
	scoreInfinite    = 254
	scoreMinInfinite = 255
)

// AppendPackedSortedSet appends a packed sorted set, a listpack of members and
// scores in turn, with its type.
func (f Form) AppendPackedSortedSet(dst, pack []byte) []byte {
	return f.AppendString(append(dst, byte(TypeSortedSetListpack)), pack)
}

// AppendSortedSet appends a sorted set of count members with its type. Redis
// writes them from the last to the first (rdb.c rdbSaveObject).
func (f Form) AppendSortedSet(dst []byte, count int, members iter.Seq2[[]byte, float64]) []byte {
	dst = AppendLength(append(dst, byte(TypeSortedSet)), uint64(count))
	for member, score := range members {
		dst = binary.LittleEndian.AppendUint64(f.AppendString(dst, member), math.Float64bits(score))
	}
	return dst
}

// sortedSet reads members, and their scores.
func (r *Reader) sortedSet(t Type) (members [][]byte, scores []float64, err error) {
	switch t {
	case TypeSortedSetTexts:
		members, scores, err = r.scored(r.scoreText, 1)
	case TypeSortedSet:
		members, scores, err = r.scored(r.scoreDouble, 8)
	default:
		elementsOf := listpackElements
		if t == TypeSortedSetZiplist {
			elementsOf = ziplistElements
		}
		var pairs [][]byte
		if pairs, err = r.packed(elementsOf); err == nil {
			members, scores, err = splitScores(pairs)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	for i, score := range scores {
		if math.IsNaN(score) {
			return nil, nil, fmt.Errorf("dump: member %.64q has a score that is not a number", members[i])
		}
	}
	return members, scores, checkNames(members, 1)
}

// scored reads a count and so many members with their scores, which take that many
// bytes at least.
func (r *Reader) scored(score func() (float64, error), scoreMinBytes int) (members [][]byte, scores []float64, err error) {
	count, err := r.Length()
	if err != nil {
		return nil, nil, err
	}
	if left := len(r.data) - r.at; count > uint64(left/(1+scoreMinBytes)) {
		return nil, nil, fmt.Errorf("%w: %d members in %d bytes", errEnd, count, left)
	}
	members, scores = make([][]byte, count), make([]float64, count)
	for i := range members {
		if members[i], err = r.String(); err != nil {
			return nil, nil, err
		}
		if scores[i], err = score(); err != nil {
			return nil, nil, err
		}
	}
	return members, scores, nil
}

func (r *Reader) scoreDouble() (float64, error) {
	data, err := r.Bytes(8)
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(data)), nil
}

func (r *Reader) scoreText() (float64, error) {
	first, err := r.Bytes(1)
	if err != nil {
		return 0, err
	}
	switch first[0] {
	case scoreMinInfinite:
		return math.Inf(-1), nil
	case scoreInfinite:
		return math.Inf(1), nil
	case scoreNaN:
		return math.NaN(), nil
	}
	text, err := r.Bytes(int(first[0]))
	if err != nil {
		return 0, err
	}
	return parseScore(text)
}

func parseScore(text []byte) (float64, error) {
	score, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, fmt.Errorf("dump: %.64q is no score", text)
	}
	return score, nil
}

// splitScores splits members and scores in turn.
func splitScores(pairs [][]byte) (members [][]byte, scores []float64, err error) {
	if len(pairs)%2 != 0 {
		return nil, nil, fmt.Errorf("dump: %d strings in a sorted set", len(pairs))
	}
	for i := 0; i < len(pairs); i += 2 {
		score, err := parseScore(pairs[i+1])
		if err != nil {
			return nil, nil, err
		}
		members, scores = append(members, pairs[i]), append(scores, score)
	}
	return members, scores, nil
}
