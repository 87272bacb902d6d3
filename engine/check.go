package engine

import (
	"fmt"

	"reminis/engine/intset"
	"reminis/engine/listpack"
	"reminis/engine/table"
)

// This file owns the structure check that tests run after every step. It must
// not repair anything.

// check says where a keyspace's parts disagree.
func (ks *keyspace) check(shard, db int) error {
	if err := ks.keys.Check(); err != nil {
		return fmt.Errorf("shard %d, database %d: %w", shard, db, err)
	}
	var err error
	withDeadline, withObject := 0, 0
	earliestMs := map[uint64]int64{}
	ks.deadlines.tree.Reverse(func(at deadline) bool {
		earliestMs[at.hash] = at.ms
		return true
	})
	ks.keys.Each(func(x table.Entry) bool {
		if shardOf(x.Key()) != shard {
			err = fmt.Errorf("shard %d, database %d: key %q belongs to shard %d", shard, db, x.Key(), shardOf(x.Key()))
			return false
		}
		if ms := x.DeadlineMs(); ms != 0 {
			withDeadline++
			if at := earliestMs[table.Hash(x.Key())]; at == 0 || at > ms {
				err = fmt.Errorf("shard %d, database %d: deadline %d of key %q is not in the order", shard, db, ms, x.Key())
				return false
			}
		}
		if holdsObject(x.Kind()) {
			withObject++
			i := int(objectRef(x.Value()))
			if i >= len(ks.objects.all) || ks.objects.all[i] == nil {
				err = fmt.Errorf("shard %d, database %d: key %q holds object %d, which is not there", shard, db, x.Key(), i)
				return false
			}
			if bad := ks.objects.all[i].check(); bad != nil {
				err = fmt.Errorf("shard %d, database %d: key %q: %w", shard, db, x.Key(), bad)
				return false
			}
		}
		if problem := ks.checkSet(x); problem != nil {
			err = fmt.Errorf("shard %d, database %d: set %q: %w", shard, db, x.Key(), problem)
			return false
		}
		if problem := ks.checkList(x); problem != nil {
			err = fmt.Errorf("shard %d, database %d: list %q: %w", shard, db, x.Key(), problem)
			return false
		}
		return true
	})
	if err != nil {
		return err
	}
	if n := ks.deadlines.entries; n != withDeadline {
		return fmt.Errorf("shard %d, database %d: %d deadlines are counted for %d entries that have one", shard, db, n, withDeadline)
	}
	if n := len(ks.objects.all) - len(ks.objects.free); n != withObject {
		return fmt.Errorf("shard %d, database %d: %d objects for %d entries that hold one", shard, db, n, withObject)
	}
	return nil
}

// checkSet says what is wrong with the form of a set; entries of other types pass.
func (ks *keyspace) checkSet(x table.Entry) error {
	if typeOf(x.Kind()) != TypeSet {
		return nil
	}
	s, _ := setOf(ks, x, true)
	if s.Len() == 0 {
		return fmt.Errorf("it has no member")
	}
	switch s.kind {
	case kindSetInts:
		return intset.Validate(s.block)
	case kindSetPack:
		if s.Len() > wideMaxElements || len(s.block) > wideMaxBytes {
			return fmt.Errorf("%d members in %d bytes are packed", s.Len(), len(s.block))
		}
		return listpack.Validate(s.block)
	}
	return s.big.table.Check()
}

// checkList says what is wrong with the blocks of a list; entries of other types
// pass.
func (ks *keyspace) checkList(x table.Entry) error {
	if typeOf(x.Kind()) != TypeList {
		return nil
	}
	l, _ := listOf(ks, x)
	count := 0
	for b := l.first(); !b.none(); b = l.next(b) {
		if n := l.run(b).Len(); n != b.count {
			return fmt.Errorf("a block of %d elements is said to have %d", n, b.count)
		}
		if b.count > blockMaxElements || b.sizeBytes > blockMaxBytes && b.count > 1 {
			return fmt.Errorf("a block of %d elements and %d bytes", b.count, b.sizeBytes)
		}
		count += b.count
	}
	if count != l.Len() || count == 0 {
		return fmt.Errorf("a list of %d elements is said to have %d", count, l.Len())
	}
	return nil
}
