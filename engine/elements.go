package engine

import (
	"math/rand/v2"
	"sync/atomic"

	"reminis/engine/table"
)

// This file owns the large form of hashes and sets: a table of its own. It must
// not know thresholds.

// elementTable is a large hash or set: fields are the keys of its table, and members
// keys without a value.
type elementTable struct {
	table *table.Table
	// key is the hash of the key that it was last found under, for Prefetch.
	key atomic.Uint64
}

func newElementTable(e *Engine) *elementTable { return &elementTable{table: table.New(e.pool)} }

// remember lets Prefetch know the large hash or set that a command has found: the
// next ones are likely to be about its elements. Prefetch reads unlocked, so it may
// find what is gone; of that nothing is read but what the table publishes.
func (ks *keyspace) remember(hash uint64, x table.Entry) {
	big, ok := ks.objects.all[objectRef(x.Value())].(*elementTable)
	if ok && (ks.recent.Load() != big || big.key.Load() != hash) {
		big.key.Store(hash)
		ks.recent.Store(big)
	}
}

func (s *elementTable) drop() { s.table.Clear() }

func (s *elementTable) sizeBytes() int64 {
	stats := s.table.Stats()
	return stats.BlockBytes + stats.BucketBytes
}

func (s *elementTable) clone(e *Engine) object {
	c := newElementTable(e)
	s.table.Each(func(x table.Entry) bool {
		to, _ := c.table.Put(table.Hash(x.Key()), x.Key(), x.Kind(), 0, len(x.Value()))
		copy(to.Value(), x.Value())
		return true
	})
	return c
}

func (s *elementTable) check() error { return s.table.Check() }

func (s *elementTable) len() int { return s.table.Len() }

func (s *elementTable) get(name []byte) (table.Entry, bool) {
	return s.table.Get(table.Hash(name), name)
}

func (s *elementTable) set(name, value []byte) (added bool) {
	x, existed := s.table.Put(table.Hash(name), name, 0, 0, len(value))
	copy(x.Value(), value)
	return !existed
}

func (s *elementTable) remove(name []byte) bool { return s.table.Delete(table.Hash(name), name) }

// scan visits some elements from cursor on, at least count where there are so
// many, and returns the cursor to go on with, 0 at the end.
func (s *elementTable) scan(cursor uint64, count int, visit func(x table.Entry)) (next uint64) {
	seen := 0
	for steps := 10 * max(count, 1); steps > 0 && seen < count; steps-- {
		cursor = s.table.Scan(cursor, func(x table.Entry) {
			seen++
			visit(x)
		})
		if cursor == 0 {
			break
		}
	}
	return cursor
}

// random is one element, each equally likely. There is one at least.
func (s *elementTable) random() table.Entry {
	x, _ := s.table.Random(rand.Uint64())
	return x
}

// choose visits count of length elements, every choice equally likely: by drawing
// again when few are wanted of many in a table, else in one walk that takes each
// with the chance that what is left to take has in what is left to see.
func choose(length, count int, big *elementTable, each func(visit func(name, value []byte) bool), visit func(name, value []byte)) {
	if big != nil && count < length/3 {
		taken := make(map[string]bool, count)
		for len(taken) < count {
			if x := big.random(); !taken[string(x.Key())] {
				taken[string(x.Key())] = true
				visit(x.Key(), x.Value())
			}
		}
		return
	}
	each(func(name, value []byte) bool {
		if rand.IntN(length) < count {
			visit(name, value)
			count--
		}
		length--
		return count > 0
	})
}
