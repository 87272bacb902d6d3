package engine

// This file owns the count of values whose memory is given back in the background
// (INFO's lazyfreed_objects). All memory is: blocks of tables when no loop looks at
// them any more, the rest by Go's collector. What is counted is what Redis counts.

// lazyFreeEffort is how many parts a value has at least that Redis frees beside
// its commands; a smaller one takes longer to hand over (lazyfree.c).
const lazyFreeEffort = 64

// Unlink is Delete for a client that does not want to wait for the memory.
func (tx *Tx) Unlink(key []byte) bool {
	ks, _, x, ok := tx.find(tx.DB, key)
	if !ok {
		return false
	}
	if holdsObject(x.Kind()) && freeEffort(ks.objects.all[objectRef(x.Value())]) > lazyFreeEffort {
		tx.e.stats.LazyFreed.Add(1)
	}
	return tx.Delete(key)
}

// FlushLazily is Flush for a client that does not want to wait for the memory. All
// shards are locked.
func (tx *Tx) FlushLazily(db int) {
	for i := range tx.e.shards {
		if ks := tx.e.shards[i].space(db); ks != nil {
			tx.e.stats.LazyFreed.Add(int64(ks.keys.Len()))
		}
	}
	tx.Flush(db)
}

// freeEffort is of how many parts a value is.
func freeEffort(x object) int {
	switch x := x.(type) {
	case *elementTable:
		return x.len()
	case *sortedSet:
		return x.scores.len()
	case *list:
		return x.blocks.Blocks()
	case *streamObject:
		effort := radixNodes(x.index)
		if groups := x.groups; groups != nil && len(groups.named) > 0 {
			// As in Redis, the first group speaks for all.
			effort += len(groups.named) * (1 + groups.named[0].pending.Len())
		}
		return effort
	}
	return 1
}
