package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"reminis/engine/sequence"
	"reminis/engine/table"
)

// This file owns the large form of a sorted set: a table from members to scores,
// and a sequence of blocks of them in the order of scores and then members. It
// must not know entries of keys.
//
// An element in a block is
//
//	score (64 bits) | length (1 byte) | member
//
// or, for a member longer than inlineMax, which would cost its length twice,
//
//	score (64 bits) | 0xFF | kind (1 byte) | hash of the member (64 bits)
//
// The member is then the entry of the table with that hash and kind: members of
// one hash have different kinds, counted from 1. (Short ones have kind 0.)

// sortedSet is a large sorted set.
type sortedSet struct {
	scores *elementTable // a value is a score
	order  *sequence.Sequence
}

const (
	// inlineMax is the longest member that a block holds itself. Beyond it, both
	// copies of a member would take more than Redis's one with its pointers.
	inlineMax = 32
	// stubMark is the length of a member that is only referred to.
	stubMark  = 0xFF
	stubBytes = 8 + 1 + 1 + 8

	scoreBytes = 8
	// scoreBlockBytes is how long a block may become; one that is shorter than a
	// quarter of it joins a neighbour.
	scoreBlockBytes = 2048
	// blockElementsMax bounds the elements of a block by their least size.
	blockElementsMax = scoreBlockBytes / (scoreBytes + 1)
)

func newSortedSet(e *Engine) *sortedSet {
	return &sortedSet{scores: newElementTable(e), order: sequence.New(e.pool)}
}

func (s *sortedSet) drop() {
	s.scores.drop()
	s.order.Clear()
}

func (s *sortedSet) clone(e *Engine) object {
	return &sortedSet{scores: s.scores.clone(e).(*elementTable), order: s.order.Clone()}
}

func (s *sortedSet) sizeBytes() int64 { return s.scores.sizeBytes() + s.order.SizeBytes() }

func readScore(from []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(from)) }

func putScore(to []byte, score float64) {
	binary.LittleEndian.PutUint64(to, math.Float64bits(score))
}

// scoreKey is a score as a number that orders alike; both zeros are one.
func scoreKey(score float64) uint64 {
	if score == 0 {
		return 1 << 63
	}
	bits := math.Float64bits(score)
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// score is that of a member.
func (s *sortedSet) score(member []byte) (float64, bool) {
	x, ok := s.scores.get(member)
	if !ok {
		return 0, false
	}
	return readScore(x.Value()), true
}

// set gives a member its score and says whether it is new.
func (s *sortedSet) set(member []byte, score float64) (added bool) {
	hash := table.Hash(member)
	x, existed := s.scores.table.Get(hash, member)
	if existed {
		s.unlink(member, readScore(x.Value()))
	} else {
		x, _ = s.scores.table.Put(hash, member, s.freeKind(hash, member), 0, scoreBytes)
	}
	putScore(x.Value(), score)
	var buf [stubBytes + inlineMax]byte
	s.link(appendElement(buf[:0], score, member, hash, x.Kind()), member)
	return !existed
}

// freeKind is the kind of a new member: what tells a long one from others with
// its hash.
func (s *sortedSet) freeKind(hash uint64, member []byte) uint8 {
	if len(member) <= inlineMax {
		return 0
	}
	for kind := uint8(1); kind <= table.MaxKind; kind++ {
		if _, taken := s.ofKind(hash, kind); !taken {
			return kind
		}
	}
	panic("engine: too many members of a sorted set have one hash of 64 bits")
}

func (s *sortedSet) ofKind(hash uint64, kind uint8) (table.Entry, bool) {
	return s.scores.table.GetHash(hash, func(x table.Entry) bool { return x.Kind() == kind })
}

// remove takes a member out and says whether it was there.
func (s *sortedSet) remove(member []byte) bool {
	hash := table.Hash(member)
	x, ok := s.scores.table.Get(hash, member)
	if !ok {
		return false
	}
	s.unlink(member, readScore(x.Value()))
	return s.scores.table.Delete(hash, member)
}

func appendElement(dst []byte, score float64, member []byte, hash uint64, kind uint8) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(score))
	if len(member) <= inlineMax {
		return append(append(dst, byte(len(member))), member...)
	}
	return binary.LittleEndian.AppendUint64(append(dst, stubMark, kind), hash)
}

// elementBytes is the length of the element that block begins with.
func elementBytes(block []byte) int {
	if n := block[scoreBytes]; n != stubMark {
		return scoreBytes + 1 + int(n)
	}
	return stubBytes
}

// member is that of the element that block begins with.
func (s *sortedSet) member(block []byte) []byte {
	if n := int(block[scoreBytes]); n != stubMark {
		return block[scoreBytes+1 : scoreBytes+1+n]
	}
	x, ok := s.ofKind(binary.LittleEndian.Uint64(block[scoreBytes+2:]), block[scoreBytes+1])
	if !ok {
		panic("engine: an element of a sorted set refers to a member that is not there")
	}
	return x.Key()
}

// upTo says whether the element that block begins with comes before another,
// or is it.
func (s *sortedSet) upTo(block []byte, score float64, member []byte) bool {
	own := readScore(block)
	return own < score || own == score && bytes.Compare(s.member(block), member) <= 0
}

// blockOf is the block that has or would have an element: the last that begins
// with it or before it; nowhere when none does.
func (s *sortedSet) blockOf(score float64, member []byte) sequence.Place {
	return s.order.Find(scoreKey(score), func(block []byte) bool { return s.upTo(block, score, member) })
}

// seek is where in a block the first element stands that is not below, and how
// many come before it.
func seek(block []byte, below func(element []byte) bool) (offset, index int) {
	for offset < len(block) && below(block[offset:]) {
		offset += elementBytes(block[offset:])
		index++
	}
	return offset, index
}

// seekMember is seek for an element.
func (s *sortedSet) seekMember(block []byte, score float64, member []byte) (offset, index int) {
	return seek(block, func(element []byte) bool {
		own := readScore(element)
		return own < score || own == score && bytes.Compare(s.member(element), member) < 0
	})
}

// link puts an element, whose member is in no block, where it belongs.
func (s *sortedSet) link(element, member []byte) {
	score := readScore(element)
	p := s.blockOf(score, member)
	if p.None() {
		p = s.order.First()
	}
	if p.None() {
		s.order.Insert(p, scoreKey(score), 1, element)
		return
	}
	block := s.order.Block(p)
	offset, _ := s.seekMember(block, score, member)
	if len(block)+len(element) > scoreBlockBytes {
		switch {
		case offset == len(block) && s.order.Next(p).None():
			// Who adds at an end fills blocks, instead of leaving halves behind.
			s.order.Insert(p, scoreKey(score), 1, element)
			return
		case offset == 0 && s.order.Prev(p).None():
			s.order.Insert(sequence.Place{}, scoreKey(score), 1, element)
			return
		}
		p, offset = s.split(p, offset)
	}
	s.order.Splice(p, offset, 0, element, s.order.Count(p)+1)
	if offset == 0 {
		s.order.Rekey(p, scoreKey(score))
	}
}

// split makes two blocks of one and returns where an offset is then.
func (s *sortedSet) split(p sequence.Place, offset int) (sequence.Place, int) {
	var buf [scoreBlockBytes]byte
	block := append(buf[:0], s.order.Block(p)...)
	half := len(block) / 2
	at, left := 0, 0
	for at < half {
		at += elementBytes(block[at:])
		left++
	}
	count := s.order.Count(p)
	s.order.Splice(p, at, len(block)-at, nil, left)
	right := s.order.Insert(p, scoreKey(readScore(block[at:])), count-left, block[at:])
	if offset > at {
		return right, offset - at
	}
	return s.order.Prev(right), offset
}

// unlink takes an element out of its block.
func (s *sortedSet) unlink(member []byte, score float64) {
	p := s.blockOf(score, member)
	block := s.order.Block(p)
	offset, _ := s.seekMember(block, score, member)
	count := s.order.Count(p) - 1
	if count == 0 {
		s.order.Delete(p)
		return
	}
	s.order.Splice(p, offset, elementBytes(block[offset:]), nil, count)
	block = s.order.Block(p)
	if offset == 0 {
		s.order.Rekey(p, scoreKey(readScore(block)))
	}
	if len(block) >= scoreBlockBytes/4 {
		return
	}
	if next := s.order.Next(p); !next.None() && s.fitTogether(p, next) {
		s.merge(p, next)
	} else if prev := s.order.Prev(p); !prev.None() && s.fitTogether(prev, p) {
		s.merge(prev, p)
	}
}

// fitTogether leaves room, so that the next element does not split them again.
func (s *sortedSet) fitTogether(left, right sequence.Place) bool {
	return len(s.order.Block(left))+len(s.order.Block(right)) <= scoreBlockBytes*3/4
}

// merge moves the elements of a block to the one before it.
func (s *sortedSet) merge(left, right sequence.Place) {
	var buf [scoreBlockBytes]byte
	moved := append(buf[:0], s.order.Block(right)...)
	count := s.order.Count(left) + s.order.Count(right)
	s.order.Splice(left, len(s.order.Block(left)), 0, moved, count)
	s.order.Delete(right)
}

// rank is the number of elements before a member with this score.
func (s *sortedSet) rank(member []byte, score float64) int {
	p := s.blockOf(score, member)
	_, index := s.seekMember(s.order.Block(p), score, member)
	return s.order.Rank(p) + index
}

// span is the number of elements that are below; p is the last block that begins
// with such a one.
func (s *sortedSet) span(p sequence.Place, below func(element []byte) bool) int {
	if p.None() {
		return 0
	}
	_, index := seek(s.order.Block(p), below)
	return s.order.Rank(p) + index
}

// belowScore is the number of elements with a score below another, or, with
// orEqual, up to it.
func (s *sortedSet) belowScore(score float64, orEqual bool) int {
	starts := func([]byte) bool { return orEqual }
	return s.span(s.order.Find(scoreKey(score), starts), func(element []byte) bool {
		own := readScore(element)
		return own < score || orEqual && own == score
	})
}

// belowMember is the number of elements with a member below another, or, with
// orEqual, up to it, if all have one score.
func (s *sortedSet) belowMember(member []byte, orEqual bool) int {
	below := func(element []byte) bool {
		c := bytes.Compare(s.member(element), member)
		return c < 0 || orEqual && c == 0
	}
	return s.span(s.order.Search(below), below)
}

// each visits the elements from one rank to before another, as far as visit
// wants.
func (s *sortedSet) each(from, to int, visit func(member []byte, score float64) bool) {
	p, within := s.order.At(from)
	for left := to - from; left > 0; p, within = s.order.Next(p), 0 {
		block := s.order.Block(p)
		for i := 0; len(block) > 0 && left > 0; i++ {
			if i >= within {
				if !visit(s.member(block), readScore(block)) {
					return
				}
				left--
			}
			block = block[elementBytes(block):]
		}
	}
}

// eachBack is each from the end.
func (s *sortedSet) eachBack(from, to int, visit func(member []byte, score float64) bool) {
	p, within := s.order.At(to - 1)
	for left := to - from; left > 0; {
		block := s.order.Block(p)
		var offsets [blockElementsMax]int16
		count := 0
		for offset := 0; count <= within; count++ {
			offsets[count] = int16(offset)
			offset += elementBytes(block[offset:])
		}
		for ; count > 0 && left > 0; left-- {
			count--
			element := block[offsets[count]:]
			if !visit(s.member(element), readScore(element)) {
				return
			}
		}
		if p = s.order.Prev(p); !p.None() {
			within = s.order.Count(p) - 1
		}
	}
}

// check says where the two halves disagree.
func (s *sortedSet) check() error {
	if err := s.scores.check(); err != nil {
		return err
	}
	if err := s.order.Check(); err != nil {
		return err
	}
	if s.scores.len() != s.order.Len() {
		return fmt.Errorf("a sorted set has %d members, %d of them in order", s.scores.len(), s.order.Len())
	}
	var err error
	var last []byte
	lastScore := math.Inf(-1)
	s.each(0, s.order.Len(), func(member []byte, score float64) bool {
		if own, ok := s.score(member); !ok || math.Float64bits(own) != math.Float64bits(score) {
			err = fmt.Errorf("member %q has the score %v in order, and in the table %v", member, score, own)
		}
		if last != nil && (score < lastScore || score == lastScore && bytes.Compare(member, last) <= 0) {
			err = fmt.Errorf("member %q of score %v comes behind %q of %v", member, score, last, lastScore)
		}
		last, lastScore = append([]byte{}, member...), score
		return err == nil
	})
	if err != nil {
		return err
	}
	return s.checkBlocks()
}

// checkBlocks compares the blocks with what the sequence knows of them.
func (s *sortedSet) checkBlocks() error {
	for p := s.order.First(); !p.None(); p = s.order.Next(p) {
		block := s.order.Block(p)
		_, count := seek(block, func([]byte) bool { return true })
		if key := scoreKey(readScore(block)); count != s.order.Count(p) || key != s.order.Key(p) || len(block) > scoreBlockBytes {
			return fmt.Errorf("a block of %d elements and %d bytes from %#x on is said to be of %d from %#x on", count, len(block), key, s.order.Count(p), s.order.Key(p))
		}
	}
	return nil
}
