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
	return sortedSetOf(ks, x, ok)
}

// PeekSortedSet is SortedSet for a key that was looked up already: it is no
// access.
func (tx *Tx) PeekSortedSet(key []byte) (SortedSet, error) {
	ks, _, x, ok := tx.find(tx.DB, key)
	return sortedSetOf(ks, x, ok)
}

func sortedSetOf(ks *keyspace, x table.Entry, ok bool) (SortedSet, error) {
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
	rank = packSpan(z.pack, 0, func(x listpack.Element, _ int) bool { return !x.Equal(member) })
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
	to = packSpan(z.pack, 0, func(_ listpack.Element, scorePos int) bool {
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
// another, but for the first to skip or, with reverse, the last, of a set in which
// all have one score. Of others it is what Redis finds that looks for the first
// (last) member in the range, skips, and goes on as long as members are in it
// (t_zset.c genericZrangebylexCommand).
func (z SortedSet) SpanOfMembers(r MemberRange, reverse bool, skip int) (from, to int) {
	if z.Len() == 0 || r.empty() {
		return 0, 0
	}
	switch {
	case z.big != nil:
		from, to = z.big.belowBound(r.Min, r.Min.Open), z.big.belowBound(r.Max, !r.Max.Open)
		if reverse {
			to -= min(skip, to)
		} else {
			from += skip
		}
	case r.Min.isAbove(listpack.Get(z.pack, listpack.Prev(z.pack, listpack.Last(z.pack)))) ||
		r.Max.isBelow(listpack.Get(z.pack, listpack.First(z.pack))):
		return 0, 0
	case reverse:
		to = packSpanBack(z.pack, z.Len(), r.Max.isBelow)
		within := func(x listpack.Element) bool { return !r.Min.isAbove(x) }
		if packSpanBack(z.pack, to, within) == to {
			return 0, 0
		}
		to -= min(skip, to)
		from = packSpanBack(z.pack, to, within)
	default:
		from = packSpan(z.pack, 0, func(x listpack.Element, _ int) bool { return r.Min.isAbove(x) })
		within := func(x listpack.Element, _ int) bool { return !r.Max.isBelow(x) }
		if packSpan(z.pack, from, within) == from {
			return 0, 0
		}
		from += min(skip, z.Len())
		to = packSpan(z.pack, from, within)
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

// Choose visits count of the members, every choice equally likely. The sorted set
// has so many.
func (z SortedSet) Choose(count int, visit func(member []byte, score float64)) {
	if z.big == nil {
		choose(z.Len(), count, nil, z.eachBytes, func(member, score []byte) { visit(member, readScore(score)) })
		return
	}
	choose(z.Len(), count, z.big.scores, z.eachBytes, func(member, score []byte) { visit(member, readScore(score)) })
}

// eachBytes is Each with scores as tables have them.
func (z SortedSet) eachBytes(visit func(member, score []byte) bool) {
	var value [scoreBytes]byte
	z.Each(func(member []byte, score float64) bool {
		putScore(value[:], score)
		return visit(member, value[:])
	})
}

// SortedSetEdit is a sorted set that a transaction changes: begun by
// EditSortedSet or ReplaceSortedSet, ended by Close. Between them the transaction
// does nothing else. Members that are passed in do not alias the sorted set, and
// stay as they are until the next is passed in.
type SortedSetEdit struct {
	holder
	tx   *Tx
	key  []byte
	db   int
	kind uint8
	pack []byte
	big  *sortedSet

	member  []byte // that Find was asked for last
	pos     int    // where it stands, if the form is packed
	found   bool
	changed bool
}

// EditSortedSet begins to change the sorted set key, which need not exist;
// ErrWrongType when it holds another type.
func (tx *Tx) EditSortedSet(key []byte) (SortedSetEdit, error) {
	ks, at, entry, ok := tx.look(tx.DB, key)
	if ok && typeOf(entry.Kind()) != TypeSortedSet {
		return SortedSetEdit{}, ErrWrongType
	}
	return tx.editSortedSet(tx.DB, key, holderOf(TypeSortedSet, ks, at, entry, ok)), nil
}

// ReplaceSortedSet begins a sorted set in the place of whatever key holds; it gets
// one member at least, no more than count, and none longer than longest. No
// sorted set that was read before is valid then.
func (tx *Tx) ReplaceSortedSet(key []byte, count, longest int) SortedSetEdit {
	e := tx.editSortedSet(tx.DB, key, tx.replace(key))
	if count > int(tx.e.Limits.SortedSetListpackEntries.Load()) || longest > int(tx.e.Limits.SortedSetListpackValue.Load()) {
		e.kind = kindSortedSetWide
	}
	return e
}

func (tx *Tx) editSortedSet(db int, key []byte, h holder) SortedSetEdit {
	e := SortedSetEdit{holder: h, tx: tx, db: db, key: key, kind: kindSortedSetPack}
	switch x := e.object(); {
	case x != nil:
		e.kind, e.big = e.stored, x.(*sortedSet)
	case e.there:
		e.kind, e.pack = e.stored, append(tx.buf[:0], e.entry.Value()...)
	default:
		e.pack = append(tx.buf[:0], listpack.New(0)...)
	}
	return e
}

// View is the sorted set as it is now, valid until the next change.
func (e *SortedSetEdit) View() SortedSet {
	return SortedSet{pack: e.pack, big: e.big, wide: e.kind == kindSortedSetWide}
}

// Find is the score of a member, which Put and Take are about then.
func (e *SortedSetEdit) Find(member []byte) (score float64, ok bool) {
	e.member = member
	if e.big != nil {
		score, e.found = e.big.score(member)
		return score, e.found
	}
	if e.pos = e.View().position(member); e.pos == listpack.None {
		e.found = false
		return 0, false
	}
	e.found = true
	return packScore(e.pack, listpack.Next(e.pack, e.pos)), true
}

// Put gives the member that was found, or not, a score, which is not a NaN.
func (e *SortedSetEdit) Put(score float64) {
	e.grow()
	if score == 0 && e.kind == kindSortedSetPack {
		// Redis's listpack keeps no sign of a zero. The effect has none either, as
		// recovery may find a signed one among members that are packed by then.
		score = 0
	}
	e.put(score)
	e.emit(&effect.Effect{Kind: effect.ScoreSet, Field: e.member, Number: int64(math.Float64bits(score))})
}

// Take takes the member out that was found.
func (e *SortedSetEdit) Take() {
	e.take()
	e.emit(&effect.Effect{Kind: effect.ScoreRemove, Field: e.member})
}

// RemoveSpan takes out the members of the ranks from one to before another, and
// visits each.
func (e *SortedSetEdit) RemoveSpan(from, to int, reverse bool, visit func(member []byte, score float64)) {
	var member []byte
	for ; from < to; to-- {
		at := from
		if reverse {
			at = to - 1
		}
		e.View().Range(at, at+1, false, func(m []byte, score float64) bool {
			member = append(member[:0], m...)
			visit(member, score)
			return true
		})
		e.Find(member)
		e.Take()
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

// grow gives the sorted set the form in which it can have the member that Find was
// asked for; it never goes back, as in Redis.
func (e *SortedSetEdit) grow() {
	if e.big != nil || e.kind == kindSortedSetPack && e.found {
		return
	}
	entries := listpack.Len(e.pack) / 2
	if !e.found {
		entries++
	}
	limits := &e.tx.e.Limits
	// What an element and its score take beside the member's text.
	const headBytes = 2*10 + 25
	addedBytes := len(e.member) + headBytes
	if e.kind == kindSortedSetPack && entries <= int(limits.SortedSetListpackEntries.Load()) &&
		len(e.member) <= int(limits.SortedSetListpackValue.Load()) && listpack.Fits(e.pack, addedBytes) {
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

func (e *SortedSetEdit) put(score float64) {
	if e.big != nil {
		e.big.set(e.member, score)
		return
	}
	if e.found {
		e.pack = listpack.DeleteRange(e.pack, e.pos, 2)
	}
	e.pack = packInsert(e.pack, packPlace(e.pack, e.member, score), e.member, score)
}

func (e *SortedSetEdit) take() {
	if e.big != nil {
		e.big.remove(e.member)
		return
	}
	e.pack = listpack.DeleteRange(e.pack, e.pos, 2)
}

func (tx *Tx) applyScoreSet(db int, x *effect.Effect) {
	ks, at, entry, ok := tx.entry(db, x.Key)
	e := tx.editSortedSet(db, x.Key, holderOf(TypeSortedSet, ks, at, entry, ok))
	e.Find(x.Field)
	e.grow()
	e.put(math.Float64frombits(uint64(x.Number)))
	e.store()
}

func (tx *Tx) applyScoreRemove(db int, x *effect.Effect) {
	ks, at, entry, ok := tx.entry(db, x.Key)
	e := tx.editSortedSet(db, x.Key, holderOf(TypeSortedSet, ks, at, entry, ok))
	if _, there := e.Find(x.Field); there {
		e.take()
		e.store()
	}
}
