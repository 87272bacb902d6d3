package engine

import (
	"math/rand/v2"
	"strconv"

	"reminis/engine/effect"
	"reminis/engine/intset"
	"reminis/engine/listpack"
	"reminis/engine/table"
)

// This file owns sets: integers in one sorted block, few members in a packed
// block, many in a table of their own. It must not know which command asks.
//
// Redis has a hash table as soon as a member is no integer; OBJECT ENCODING shows
// it. As with hashes, a set is a packed block instead while it is small.

// intsetMax bounds the integers of one block, whatever the setting allows: half of
// them move for each that is inserted.
const intsetMax = 1 << 16

// Set is a set as a transaction reads it, valid until its next write. The zero Set
// is empty: a key that does not exist.
type Set struct {
	kind  uint8
	block []byte // an intset or a listpack, as kind says
	big   *elementTable
}

// Set reads the set key: the empty Set when key does not exist, ErrWrongType when
// it holds another type.
func (tx *Tx) Set(key []byte) (Set, error) {
	ks, _, x, ok := tx.look(tx.DB, key)
	return setOf(ks, x, ok)
}

// PeekSet is Set for a key that was looked up already: it is no access.
func (tx *Tx) PeekSet(key []byte) (Set, error) {
	ks, _, x, ok := tx.find(tx.DB, key)
	return setOf(ks, x, ok)
}

func setOf(ks *keyspace, x table.Entry, ok bool) (Set, error) {
	if !ok {
		return Set{}, nil
	}
	switch x.Kind() {
	case kindSetInts, kindSetPack:
		return Set{kind: x.Kind(), block: x.Value()}, nil
	case kindSet:
		return Set{kind: kindSet, big: ks.objects.all[objectRef(x.Value())].(*elementTable)}, nil
	}
	return Set{}, ErrWrongType
}

// Len is the number of members.
func (s Set) Len() int {
	switch s.kind {
	case kindSetInts:
		return intset.Len(s.block)
	case kindSetPack:
		return listpack.Len(s.block)
	case kindSet:
		return s.big.len()
	}
	return 0
}

// Has says whether member is in the set.
func (s Set) Has(member []byte) bool {
	switch s.kind {
	case kindSetInts:
		n, isInt := listpack.ParseInt(member)
		return isInt && intset.Has(s.block, n)
	case kindSetPack:
		return s.position(member) != listpack.None
	case kindSet:
		_, ok := s.big.get(member)
		return ok
	}
	return false
}

// position is where member stands in the packed form.
func (s Set) position(member []byte) int {
	return listpack.Find(s.block, listpack.First(s.block), member, 0)
}

// Ints is the block of a set that is an intset, else nil (DUMP).
func (s Set) Ints() []byte {
	if s.kind == kindSetInts {
		return s.block
	}
	return nil
}

// Each visits the members until visit returns false, those of an intset in their
// order. A member is valid during the call.
func (s Set) Each(visit func(member []byte) bool) {
	s.each(func(member, _ []byte) bool { return visit(member) })
}

func (s Set) each(visit func(member, _ []byte) bool) {
	switch s.kind {
	case kindSetInts:
		var buf [20]byte
		for i := range intset.Len(s.block) {
			if !visit(strconv.AppendInt(buf[:0], intset.At(s.block, i), 10), nil) {
				return
			}
		}
	case kindSetPack:
		var digits []byte // allocated for the first integer; most sets have none
		for pos := listpack.First(s.block); pos != listpack.None; pos = listpack.Next(s.block, pos) {
			x := listpack.Get(s.block, pos)
			member := x.Text
			if member == nil {
				digits = x.AppendTo(digits[:0])
				member = digits
			}
			if !visit(member, nil) {
				return
			}
		}
	case kindSet:
		s.big.table.Each(func(x table.Entry) bool { return visit(x.Key(), nil) })
	}
}

// Scan visits some members from cursor on, at least count where there are so many,
// and returns the cursor to go on with, 0 at the end. A set in one block is visited
// whole at once, as Redis does with an intset.
func (s Set) Scan(cursor uint64, count int, visit func(member []byte)) (next uint64) {
	if s.big == nil {
		s.Each(func(member []byte) bool {
			visit(member)
			return true
		})
		return 0
	}
	return s.big.scan(cursor, count, func(x table.Entry) { visit(x.Key()) })
}

// Random is one member, each equally likely. It is written into buf or aliases
// the set, which is not empty.
func (s Set) Random(buf []byte) []byte {
	switch s.kind {
	case kindSetInts:
		return strconv.AppendInt(buf[:0], intset.At(s.block, rand.IntN(intset.Len(s.block))), 10)
	case kindSetPack:
		return textOf(listpack.Get(s.block, listpack.Index(s.block, rand.IntN(listpack.Len(s.block)))), buf)
	}
	return s.big.random().Key()
}

// Choose visits count of the members, every choice equally likely. The set has so
// many.
func (s Set) Choose(count int, visit func(member []byte)) {
	choose(s.Len(), count, s.big, s.each, func(member, _ []byte) { visit(member) })
}

// add says whether member is new to a set whose block may be changed.
func (s *Set) add(e *Engine, member []byte) bool {
	if s.big != nil {
		return s.big.set(member, nil)
	}
	if s.kind != kindSetPack {
		if n, isInt := listpack.ParseInt(member); isInt {
			return s.addInt(e, n)
		}
	}
	if s.Has(member) {
		return false
	}
	s.insert(e, member)
	return true
}

// addInt is add for a set that has no texts.
func (s *Set) addInt(e *Engine, n int64) (added bool) {
	if s.kind == 0 {
		s.kind, s.block = kindSetInts, append(s.block[:0], intset.New(0)...)
	}
	s.block, added = intset.Add(s.block, n)
	if added && intset.Len(s.block) > int(min(e.Limits.SetIntsetEntries.Load(), intsetMax)) {
		s.leaveInts(e)
	}
	return added
}

// insert adds a member that is not there. A set leaves a form when it grows beyond
// it and never goes back (t_set.c setTypeAdd).
func (s *Set) insert(e *Engine, member []byte) {
	if s.kind == 0 || s.kind == kindSetInts {
		if n, isInt := listpack.ParseInt(member); isInt {
			s.addInt(e, n)
			return
		}
		if s.kind == 0 {
			s.kind, s.block = kindSetPack, append(s.block[:0], listpack.New(0)...)
		} else {
			s.leaveInts(e)
		}
	}
	switch {
	case s.kind == kindSetPack && s.fits(member):
		s.block = listpack.Append(s.block, member)
	default:
		if s.kind == kindSetPack {
			big := newElementTable(e)
			s.Each(func(member []byte) bool { return big.set(member, nil) })
			*s = Set{kind: kindSet, big: big}
		}
		s.big.set(member, nil)
	}
}

// fits says whether a packed set may be one with member too.
func (s *Set) fits(member []byte) bool {
	const headsBytes = 10 // what a member takes beside its text
	return listpack.Len(s.block) < wideMaxElements && len(s.block)+len(member)+headsBytes <= wideMaxBytes
}

// leaveInts makes an intset what Redis has in a hash table.
func (s *Set) leaveInts(e *Engine) {
	ints := *s
	*s = Set{kind: kindSetPack, block: listpack.New(0)}
	ints.Each(func(member []byte) bool {
		s.insert(e, member)
		return true
	})
}

// remove says whether member was in a set whose block may be changed.
func (s *Set) remove(member []byte) (removed bool) {
	switch s.kind {
	case kindSetInts:
		if n, isInt := listpack.ParseInt(member); isInt {
			s.block, removed = intset.Remove(s.block, n)
		}
	case kindSetPack:
		pos := s.position(member)
		if removed = pos != listpack.None; removed {
			s.block = listpack.DeleteRange(s.block, pos, 1)
		}
	case kindSet:
		removed = s.big.remove(member)
	}
	return removed
}

// setEdit is a set that is being changed: its block in the transaction's buffer as
// soon as it differs, or its table, which is changed in place.
type setEdit struct {
	holder
	Set
	changed bool
}

func (tx *Tx) editSet(ks *keyspace, at Place, entry table.Entry, ok bool) setEdit {
	s := setEdit{holder: holderOf(TypeSet, ks, at, entry, ok)}
	if s.there {
		s.Set, _ = setOf(ks, entry, true)
	}
	return s
}

// own makes the block one that may be changed.
func (s *setEdit) own(tx *Tx) {
	if !s.changed {
		s.block = append(tx.buf[:0], s.block...)
	}
	s.changed = true
}

func (s *setEdit) add(tx *Tx, member []byte) bool {
	if s.big != nil {
		added := s.big.set(member, nil)
		s.changed = s.changed || added
		return added
	}
	if s.Has(member) {
		return false
	}
	s.own(tx)
	s.insert(tx.e, member)
	return true
}

func (s *setEdit) remove(tx *Tx, member []byte) bool {
	if s.big == nil {
		if !s.Has(member) {
			return false
		}
		s.own(tx)
	}
	removed := s.Set.remove(member)
	s.changed = s.changed || removed
	return removed
}

// store makes the key what was made of the set.
func (s *setEdit) store(tx *Tx, db int, key []byte) {
	if !s.changed {
		return
	}
	if s.big == nil {
		tx.buf = s.block
	}
	s.storeSet(tx, db, key, &s.Set)
}

// SetAdd adds members to the set key and says how many were new. The caller has
// checked the type; members must not alias the set.
func (tx *Tx) SetAdd(key []byte, members [][]byte) (added int) {
	s := tx.editSet(tx.look(tx.DB, key))
	for _, member := range members {
		if s.add(tx, member) {
			added++
			tx.addElement(effect.SetAdd, key, member)
		}
	}
	s.store(tx, tx.DB, key)
	return added
}

// SetRemove removes members from the set key and says how many were there; the
// last one takes the key with it. The caller has checked the type.
func (tx *Tx) SetRemove(key []byte, members [][]byte) (removed int) {
	s := tx.editSet(tx.look(tx.DB, key))
	for _, member := range members {
		if s.remove(tx, member) {
			removed++
			tx.addElement(effect.SetRemove, key, member)
		}
	}
	tx.endSet(&s, key)
	return removed
}

// endSet stores a set that lost members, or ends the key that has none left.
func (tx *Tx) endSet(s *setEdit, key []byte) {
	s.store(tx, tx.DB, key)
	if s.changed && s.Len() == 0 {
		tx.emit(&effect.Effect{Kind: effect.KeyDelete, DB: uint32(tx.DB), Key: key, Number: int64(effect.Deleted)})
	}
}

func (tx *Tx) applySetAdd(db int, x *effect.Effect) {
	s := tx.editSet(tx.entry(db, x.Key))
	s.add(tx, x.Field)
	s.store(tx, db, x.Key)
}

func (tx *Tx) applySetRemove(db int, x *effect.Effect) {
	s := tx.editSet(tx.entry(db, x.Key))
	s.remove(tx, x.Field)
	s.store(tx, db, x.Key)
}

// popKeepShare is when SetPop writes the members that stay instead of removing
// those that go: when they are fewer than a fifth of those (t_set.c
// SPOP_MOVE_STRATEGY_MUL; the form of the set that is left shows it).
const popKeepShare = 5

// SetPop removes count members of the set key, every choice equally likely, or all
// when there are no more, and visits each. The caller has checked that the set is
// there; visit must not use the transaction.
func (tx *Tx) SetPop(key []byte, count int, visit func(member []byte)) {
	s := tx.editSet(tx.look(tx.DB, key))
	left := s.Len() - count
	switch {
	case left <= 0:
		s.Each(func(member []byte) bool {
			visit(member)
			return true
		})
		tx.emit(&effect.Effect{Kind: effect.KeyDelete, DB: uint32(tx.DB), Key: key, Number: int64(effect.Deleted)})
	case left*popKeepShare > count:
		var buf [20]byte
		for ; count > 0; count-- {
			tx.keyBuf = append(tx.keyBuf[:0], s.Random(buf[:])...)
			s.remove(tx, tx.keyBuf)
			tx.addElement(effect.SetRemove, key, tx.keyBuf)
			visit(tx.keyBuf)
		}
		s.store(tx, tx.DB, key)
	default:
		stay := tx.NewSetResult()
		s.Choose(left, func(member []byte) { stay.Add(member) })
		s.Each(func(member []byte) bool {
			if !stay.Has(member) {
				visit(member)
			}
			return true
		})
		tx.storeSet(key, stay, s.deadlineMs)
	}
}

// SetResult is a set that is no key's: what a command makes of others.
type SetResult struct {
	Set
	e *Engine
}

// resultBytes is room for a small result.
const resultBytes = 256

// NewSetResult is an empty set, to be stored or dropped.
func (tx *Tx) NewSetResult() *SetResult {
	return &SetResult{Set: Set{block: make([]byte, 0, resultBytes)}, e: tx.e}
}

// Add adds member, which may alias another set, and says whether it is new.
func (s *SetResult) Add(member []byte) bool { return s.add(s.e, member) }

// Remove removes member and says whether it was there.
func (s *SetResult) Remove(member []byte) bool { return s.remove(member) }

// Unite adds the members of other.
func (s *SetResult) Unite(other Set) {
	if other.kind == kindSetInts {
		i, count := 0, intset.Len(other.block)
		for ; i < count && (s.kind == 0 || s.kind == kindSetInts); i++ {
			s.addInt(s.e, intset.At(other.block, i))
		}
		if i == count {
			return
		}
	}
	other.Each(func(member []byte) bool {
		s.add(s.e, member)
		return true
	})
}

// EachCommon visits the members that all sets have until visit returns false: in
// the order of the first, which should be the smallest.
func EachCommon(sets []Set, visit func(member []byte) bool) {
	first, others := sets[0], sets[1:]
	if first.kind != kindSetInts {
		first.Each(func(member []byte) bool { return !inAll(others, member) || visit(member) })
		return
	}
	var buf [20]byte
	for i := range intset.Len(first.block) {
		n := intset.At(first.block, i)
		if intInAll(others, n) && !visit(strconv.AppendInt(buf[:0], n, 10)) {
			return
		}
	}
}

func inAll(sets []Set, member []byte) bool {
	for i := range sets {
		if !sets[i].Has(member) {
			return false
		}
	}
	return true
}

func intInAll(sets []Set, n int64) bool {
	var buf [20]byte
	for i := range sets {
		if sets[i].kind == kindSetInts {
			if !intset.Has(sets[i].block, n) {
				return false
			}
		} else if !sets[i].Has(strconv.AppendInt(buf[:0], n, 10)) {
			return false
		}
	}
	return true
}

// Drop gives the memory of a set back that was not stored.
func (s *SetResult) Drop() {
	if s.big != nil {
		s.big.drop()
	}
}

// StoreSet makes key the set s, which is not empty, replacing any type; s is the
// key's then.
func (tx *Tx) StoreSet(key []byte, s *SetResult) { tx.storeSet(key, s, 0) }

func (tx *Tx) storeSet(key []byte, s *SetResult, deadlineMs int64) {
	whole := tx.replace(key)
	s.Each(func(member []byte) bool {
		tx.addElement(effect.SetAdd, key, member)
		return true
	})
	if deadlineMs != 0 {
		tx.batch.Add(&effect.Effect{Kind: effect.DeadlineSet, DB: uint32(tx.DB), Key: key, DeadlineMs: deadlineMs})
	}
	whole.deadlineMs = deadlineMs
	whole.storeSet(tx, tx.DB, key, &s.Set)
}

// storeSet makes the key the set.
func (h *holder) storeSet(tx *Tx, db int, key []byte, s *Set) {
	if s.big == nil {
		h.storePack(tx, db, key, s.kind, s.block)
	} else {
		h.storeObject(tx, db, key, s.kind, s.big)
	}
	tx.hit = found{}
}
