package engine

import (
	"bytes"
	"math"
	"math/rand/v2"

	"reminis/engine/effect"
	"reminis/engine/listpack"
	"reminis/engine/table"
)

// This file owns sorted sets as transactions read and change them. It must not
// know which command asks, nor how either form is laid out.
//
// A sorted set is packed while small, and beyond Redis's thresholds while it is
// smaller than a table would be, as a hash is (hash.go).

// SortedSet is a sorted set as a transaction reads it, valid until its next write
// to it. The zero SortedSet is empty: a key that does not exist. Its members have
// ranks from 0 in the order of scores and then of their bytes.
type SortedSet struct {
	pack []byte
	big  *sortedSet
	wide bool // packed, and beyond Redis's thresholds
}

// SortedSet reads the sorted set key: the empty one when key does not exist,
// ErrWrongType when it holds another type.
func (tx *Tx) SortedSet(key []byte) (SortedSet, error) {
	ks, _, x, ok := tx.look(tx.DB, key)
	if !ok {
		return SortedSet{}, nil
	}
	switch x.Kind() {
	case kindSortedSetPack, kindSortedSetWide:
		return SortedSet{pack: x.Value(), wide: x.Kind() == kindSortedSetWide}, nil
	case kindSortedSet:
		return SortedSet{big: ks.objects.all[objectRef(x.Value())].(*sortedSet)}, nil
	}
	return SortedSet{}, ErrWrongType
}

// Len is the number of members.
func (z SortedSet) Len() int {
	switch {
	case z.big != nil:
		return z.big.scores.len()
	case z.pack == nil:
		return 0
	}
	return listpack.Len(z.pack) / 2
}

// Score is the score of a member.
func (z SortedSet) Score(member []byte) (score float64, ok bool) {
	if z.big != nil {
		return z.big.score(member)
	}
	pos := z.position(member)
	if pos == listpack.None {
		return 0, false
	}
	return packScore(z.pack, listpack.Next(z.pack, pos)), true
}

// position is where a member stands in the packed form.
func (z SortedSet) position(member []byte) int {
	if z.pack == nil {
		return listpack.None
	}
	return listpack.Find(z.pack, listpack.First(z.pack), member, 1)
}

// Rank is the rank of a member.
func (z SortedSet) Rank(member []byte) (rank int, ok bool) {
	if z.big != nil {
		score, ok := z.big.score(member)
		if !ok {
			return 0, false
		}
		return z.big.rank(member, score), true
	}
	if z.pack == nil {
		return 0, false
	}
	rank = packSpan(z.pack, func(x listpack.Element, _ int) bool { return !x.Equal(member) })
	return rank, rank < z.Len()
}

// Range visits the members of the ranks from one to before another, in their
// order or, with reverse, from the last; as far as visit wants. A member is valid
// during the call.
func (z SortedSet) Range(from, to int, reverse bool, visit func(member []byte, score float64) bool) {
	switch {
	case from >= to:
	case z.big != nil && reverse:
		z.big.eachBack(from, to, visit)
	case z.big != nil:
		z.big.each(from, to, visit)
	case reverse:
		packWalk(z.pack, listpack.Index(z.pack, 2*(to-1)), to-from, packPrev, visit)
	default:
		packWalk(z.pack, listpack.Index(z.pack, 2*from), to-from, packNext, visit)
	}
}

// Each visits all members in their order, as far as visit wants.
func (z SortedSet) Each(visit func(member []byte, score float64) bool) {
	z.Range(0, z.Len(), false, visit)
}

// ScoreRange are scores from Min to Max, or, where open, behind or before them.
type ScoreRange struct {
	Min, Max         float64
	MinOpen, MaxOpen bool
}

// SpanOfScores is the ranks of the members with scores in a range: from one to
// before another.
func (z SortedSet) SpanOfScores(r ScoreRange) (from, to int) {
	if z.big != nil {
		from, to = z.big.belowScore(r.Min, r.MinOpen), z.big.belowScore(r.Max, !r.MaxOpen)
		return from, max(from, to)
	}
	if z.pack == nil {
		return 0, 0
	}
	within := func(score, bound float64, orEqual bool) bool {
		return score < bound || orEqual && score == bound
	}
	n := 0
	to = packSpan(z.pack, func(_ listpack.Element, scorePos int) bool {
		score := packScore(z.pack, scorePos)
		if from == n && within(score, r.Min, r.MinOpen) {
			from++
		}
		n++
		return within(score, r.Max, !r.MaxOpen)
	})
	return from, max(from, to)
}

// MemberBound is an end of a range of members.
type MemberBound struct {
	// Edge is -1 or 1 for what is before or behind every member; 0 for Member.
	Edge   int
	Member []byte
	Open   bool // Member itself is not in the range
}

// MemberRange are members from Min to Max, in the order of their bytes.
type MemberRange struct{ Min, Max MemberBound }

// SpanOfMembers is the ranks of the members in a range, from one to before
// another, of a set in which all have one score. Of others it is what Redis finds
// when it looks for the first or, with reverse, for the last member in the range
// and goes on from there (t_zset.c zzlFirstInLexRange, zzlLastInLexRange).
func (z SortedSet) SpanOfMembers(r MemberRange, reverse bool) (from, to int) {
	switch {
	case z.Len() == 0 || r.empty():
		return 0, 0
	case z.big != nil:
		from, to = z.big.belowBound(r.Min, r.Min.Open), z.big.belowBound(r.Max, !r.Max.Open)
	case r.Min.isAbove(listpack.Get(z.pack, listpack.Prev(z.pack, listpack.Last(z.pack)))) ||
		r.Max.isBelow(listpack.Get(z.pack, listpack.First(z.pack))):
		return 0, 0
	case reverse:
		to = packSpanBack(z.pack, r.Max.isBelow)
		from = packSpanBack(z.pack, func(x listpack.Element) bool { return !r.Min.isAbove(x) })
	default:
		from = packSpan(z.pack, func(x listpack.Element, _ int) bool { return r.Min.isAbove(x) })
		to = packSpan(z.pack, func(x listpack.Element, _ int) bool { return !r.Max.isBelow(x) })
	}
	return from, max(from, to)
}

// empty says whether no member can be in the range.
func (r MemberRange) empty() bool {
	if r.Min.Edge != 0 || r.Max.Edge != 0 {
		return r.Min.Edge == 1 || r.Max.Edge == -1
	}
	c := bytes.Compare(r.Min.Member, r.Max.Member)
	return c > 0 || c == 0 && (r.Min.Open || r.Max.Open)
}

// isAbove says, of a lower bound, whether an element is below the range.
func (b MemberBound) isAbove(x listpack.Element) bool {
	if b.Edge != 0 {
		return b.Edge > 0
	}
	c := compareText(x, b.Member)
	return c < 0 || b.Open && c == 0
}

// isBelow says, of an upper bound, whether an element is beyond the range.
func (b MemberBound) isBelow(x listpack.Element) bool {
	if b.Edge != 0 {
		return b.Edge < 0
	}
	c := compareText(x, b.Member)
	return c > 0 || b.Open && c == 0
}

// belowBound is belowMember for a bound.
func (s *sortedSet) belowBound(b MemberBound, orEqual bool) int {
	switch b.Edge {
	case -1:
		return 0
	case 1:
		return s.scores.len()
	}
	return s.belowMember(b.Member, orEqual)
}

// Scan visits some members from cursor on, at least count where there are so
// many, and returns the cursor to go on with, 0 at the end. A packed sorted set
// is visited whole at once, as in Redis.
func (z SortedSet) Scan(cursor uint64, count int, visit func(member []byte, score float64)) (next uint64) {
	if z.big == nil {
		z.Each(func(member []byte, score float64) bool {
			visit(member, score)
			return true
		})
		return 0
	}
	return z.big.scores.scan(cursor, count, func(x table.Entry) { visit(x.Key(), readScore(x.Value())) })
}

// Random visits one member, each equally likely. The sorted set is not empty.
func (z SortedSet) Random(visit func(member []byte, score float64)) {
	if z.big != nil {
		x := z.big.scores.random()
		visit(x.Key(), readScore(x.Value()))
		return
	}
	rank := rand.IntN(z.Len())
	z.Range(rank, rank+1, false, func(member []byte, score float64) bool {
		visit(member, score)
		return true
	})
}

// Walked says whether a member is found by walking, not by its hash.
func (z SortedSet) Walked() bool { return z.big == nil }

// Pack is the packed form while the sorted set is one by Redis's thresholds, else
// nil (DUMP).
func (z SortedSet) Pack() []byte {
	if z.wide {
		return nil
	}
	return z.pack
}

// AppendScore appends a score as ZSCAN shows it: what Redis stores of it in a
// listpack, or as "%.17g" prints it where Redis has a skip list.
func (z SortedSet) AppendScore(dst []byte, score float64) []byte {
	if z.Pack() != nil {
		return appendScore(dst, score)
	}
	return appendDouble(dst, score)
}

// SortedSetEdit is a sorted set that a transaction changes: begun by
// EditSortedSet or ReplaceSortedSet, ended by Close. Between them the transaction
// does nothing else. Members passed in do not alias the sorted set.
type SortedSetEdit struct {
	holder
	tx   *Tx
	key  []byte
	db   int
	kind uint8
	pack []byte
	big  *sortedSet

	changed bool
}

// EditSortedSet begins to change the sorted set key, which need not exist;
// ErrWrongType when it holds another type.
func (tx *Tx) EditSortedSet(key []byte) (SortedSetEdit, error) {
	ks, at, entry, ok := tx.look(tx.DB, key)
	if ok && typeOf(entry.Kind()) != TypeSortedSet {
		return SortedSetEdit{}, ErrWrongType
	}
	return tx.editSortedSet(tx.DB, key, ks, at, entry, ok), nil
}

// ReplaceSortedSet begins a sorted set of so many members, or fewer, none of them
// longer than longest, in the place of whatever key holds.
func (tx *Tx) ReplaceSortedSet(key []byte, count, longest int) SortedSetEdit {
	if _, _, x, ok := tx.find(tx.DB, key); ok {
		tx.remove(tx.DB, key, x, effect.Overwritten)
	}
	ks, at, entry, ok := tx.entry(tx.DB, key)
	e := tx.editSortedSet(tx.DB, key, ks, at, entry, ok)
	if count > int(tx.e.Limits.SortedSetListpackEntries.Load()) || longest > int(tx.e.Limits.SortedSetListpackValue.Load()) {
		e.kind = kindSortedSetWide
	}
	return e
}

func (tx *Tx) editSortedSet(db int, key []byte, ks *keyspace, at Place, entry table.Entry, ok bool) SortedSetEdit {
	e := SortedSetEdit{holder: holderOf(TypeSortedSet, ks, at, entry, ok), tx: tx, db: db, key: key, kind: kindSortedSetPack}
	switch x := e.object(); {
	case x != nil:
		e.kind, e.big = e.stored, x.(*sortedSet)
	case e.there:
		e.kind, e.pack = e.stored, append(tx.buf[:0], entry.Value()...)
	default:
		e.pack = append(tx.buf[:0], listpack.New(0)...)
	}
	return e
}

// View is the sorted set as it is now, valid until the next change.
func (e *SortedSetEdit) View() SortedSet {
	return SortedSet{pack: e.pack, big: e.big, wide: e.kind == kindSortedSetWide}
}

// Set gives a member its score, which is not a NaN.
func (e *SortedSetEdit) Set(member []byte, score float64) {
	pos := e.View().position(member)
	e.grow(member, pos == listpack.None)
	if score == 0 && e.kind == kindSortedSetPack {
		// Redis's listpack keeps no sign of a zero. Where it is decided, so that
		// recovery may find a zero with one among members that are packed by then.
		score = 0
	}
	e.set(member, score, pos)
	e.emit(&effect.Effect{Kind: effect.ScoreSet, Field: member, Number: int64(math.Float64bits(score))})
}

// Remove takes a member out and says whether it was there.
func (e *SortedSetEdit) Remove(member []byte) bool {
	if !e.remove(member) {
		return false
	}
	e.emit(&effect.Effect{Kind: effect.ScoreRemove, Field: member})
	return true
}

// RemoveSpan takes out the members of the ranks from one to before another.
func (e *SortedSetEdit) RemoveSpan(from, to int) {
	var member []byte
	for range to - from {
		e.View().Range(from, from+1, false, func(m []byte, _ float64) bool {
			member = append(member[:0], m...)
			return true
		})
		e.Remove(member)
	}
}

func (e *SortedSetEdit) emit(x *effect.Effect) {
	e.changed = true
	x.DB, x.Key = uint32(e.db), e.key
	e.tx.batch.Add(x)
}

// Close stores the sorted set; an empty one is no key.
func (e *SortedSetEdit) Close() {
	if !e.changed {
		return
	}
	if e.View().Len() > 0 {
		e.store()
		return
	}
	e.tx.hit = found{}
	if e.big != nil && e.object() == nil {
		e.big.drop()
	}
	if e.there {
		e.tx.emit(&effect.Effect{Kind: effect.KeyDelete, DB: uint32(e.db), Key: e.key, Number: int64(effect.Deleted)})
	}
}

func (e *SortedSetEdit) store() {
	if e.pack != nil {
		e.tx.buf = e.pack
	}
	if e.big == nil {
		e.storePack(e.tx, e.db, e.key, e.kind, e.pack)
	} else {
		e.storeObject(e.tx, e.db, e.key, kindSortedSet, e.big)
	}
	e.tx.hit = found{}
}

// grow gives the sorted set the form in which it can have the member; it never
// goes back, as in Redis.
func (e *SortedSetEdit) grow(member []byte, isNew bool) {
	if e.big != nil {
		return
	}
	entries := listpack.Len(e.pack) / 2
	if isNew {
		entries++
	}
	limits := &e.tx.e.Limits
	// What an element and its score take beside the member's text.
	const headBytes = 2*10 + 25
	addedBytes := len(member) + headBytes
	if e.kind == kindSortedSetPack && (!isNew || entries <= int(limits.SortedSetListpackEntries.Load()) &&
		len(member) <= int(limits.SortedSetListpackValue.Load()) && listpack.Fits(e.pack, addedBytes)) {
		return
	}
	if e.kind = kindSortedSetWide; entries <= wideMaxElements && len(e.pack)+addedBytes <= wideMaxBytes {
		return
	}
	e.kind, e.big = kindSortedSet, newSortedSet(e.tx.e)
	SortedSet{pack: e.pack}.Each(func(member []byte, score float64) bool {
		e.big.set(member, score)
		return true
	})
	e.tx.buf, e.pack = e.pack, nil
}

// set gives a member, which stands at pos if the form is packed, its score.
func (e *SortedSetEdit) set(member []byte, score float64, pos int) {
	if e.big != nil {
		e.big.set(member, score)
		return
	}
	if pos != listpack.None {
		e.pack = listpack.DeleteRange(e.pack, pos, 2)
	}
	e.pack = packInsert(e.pack, packPlace(e.pack, member, score), member, score)
}

func (e *SortedSetEdit) remove(member []byte) bool {
	if e.big != nil {
		return e.big.remove(member)
	}
	pos := e.View().position(member)
	if pos == listpack.None {
		return false
	}
	e.pack = listpack.DeleteRange(e.pack, pos, 2)
	return true
}

func (tx *Tx) applyScoreSet(db int, x *effect.Effect) {
	ks, at, entry, ok := tx.entry(db, x.Key)
	e := tx.editSortedSet(db, x.Key, ks, at, entry, ok)
	pos := e.View().position(x.Field)
	e.grow(x.Field, pos == listpack.None)
	e.set(x.Field, math.Float64frombits(uint64(x.Number)), pos)
	e.store()
}

func (tx *Tx) applyScoreRemove(db int, x *effect.Effect) {
	ks, at, entry, ok := tx.entry(db, x.Key)
	e := tx.editSortedSet(db, x.Key, ks, at, entry, ok)
	if e.there && e.remove(x.Field) {
		e.store()
	}
}
