package engine

import (
	"math/rand/v2"

	"reminis/engine/table"
)

// This file owns walks over the keys of a database: SCAN, KEYS, RANDOMKEY. They
// hold one shard at a time. It must not know patterns.

// shardBits is how many low bits of a scan cursor are the shard's number.
const shardBits = 6

// Scan visits some keys of the transaction's database, starting at cursor: at
// least count when there are so many, and whole buckets. It returns the cursor
// to go on with, 0 at the end. A key that is there during the whole scan is
// visited at least once. key is valid during the call.
func (tx *Tx) Scan(cursor uint64, count int, visit func(key []byte, t Type)) (next uint64) {
	number, at := int(cursor&(shardCount-1)), cursor>>shardBits
	// A sparse table is walked for at most ten buckets a key asked for, as in
	// Redis (db.c scanGenericCommand: `maxiterations = count*10`).
	steps := 10 * max(count, 1)
	for seen := 0; number < shardCount; number, at = number+1, 0 {
		done := false
		tx.within(number, func(s *shard) {
			ks := s.space(tx.DB)
			if ks == nil {
				done = true
				return
			}
			for seen < count && steps > 0 {
				steps--
				at = ks.keys.Scan(at, func(x table.Entry) {
					if !tx.expired(x) {
						seen++
						visit(x.Key(), typeOf(x.Kind()))
					}
				})
				if at == 0 {
					done = true
					return
				}
			}
		})
		if !done {
			return at<<shardBits | uint64(number)
		}
		if seen >= count && number+1 < shardCount {
			return uint64(number + 1)
		}
	}
	return 0
}

// Keys visits every key of the transaction's database.
func (tx *Tx) Keys(visit func(key []byte)) {
	for i := range tx.e.shards {
		tx.within(i, func(s *shard) {
			ks := s.space(tx.DB)
			if ks == nil {
				return
			}
			ks.keys.Each(func(x table.Entry) bool {
				if !tx.expired(x) {
					visit(x.Key())
				}
				return true
			})
		})
	}
}

// RandomKey appends a key of the transaction's database to dst, each about
// equally likely; ok is false when there is none.
func (tx *Tx) RandomKey(dst []byte) (key []byte, ok bool) {
	total, _ := tx.size()
	// Expired keys may be drawn; after a hundred of them every key is taken to
	// be expired, and any will do (db.c dbRandomKey).
	for try := 0; try < 100 && total > 0; try++ {
		n := rand.IntN(total)
		found := false
		for i := 0; i < shardCount && !found; i++ {
			tx.within(i, func(s *shard) {
				ks := s.space(tx.DB)
				if ks == nil {
					return
				}
				if n >= ks.keys.Len() {
					n -= ks.keys.Len()
					return
				}
				found = true
				if x, there := ks.keys.Random(rand.Uint64()); there && !tx.expired(x) {
					key, ok = append(dst, x.Key()...), true
				}
			})
		}
		if ok {
			return key, true
		}
	}
	return nil, false
}

// Size is the number of keys of the transaction's database.
func (tx *Tx) Size() int {
	total, _ := tx.size()
	return total
}

func (tx *Tx) size() (keys, withDeadline int) {
	for i := range tx.e.shards {
		tx.within(i, func(s *shard) {
			if ks := s.space(tx.DB); ks != nil {
				keys += ks.keys.Len()
				withDeadline += ks.deadlines.entries
			}
		})
	}
	return keys, withDeadline
}

// Loaded counts all keys of all databases, and how many of them are memory
// records.
func (e *Engine) Loaded() (keys, records int) {
	for db := range e.nDB {
		n, _ := e.Size(db)
		keys += n
		for _, owner := range e.owners.under(e.owners.space(db), "") {
			owner.mu.Lock()
			records += owner.records.Len()
			owner.mu.Unlock()
		}
	}
	return keys, records
}

// draw is a random number for choices that are not part of the data.
func (tx *Tx) draw() uint64 { return rand.Uint64() }
