package engine

import (
	"sync"
	"sync/atomic"

	"reminis/engine/table"
)

// This file owns WATCH: who must be told when a key changes.

// Watch is one session's set of watched keys. Dirty becomes true when one of
// them changes; it may be read without a lock.
type Watch struct {
	dirty atomic.Bool
	keys  []watchedKey
	bytes int
}

type watchedKey struct {
	db  int
	key string
}

// watcher is a Watch as the keyspace knows it.
type watcher struct {
	watch *Watch
	// expired notes a key that had passed its deadline, but was still there,
	// when it was watched: its removal later changes nothing (multi.c
	// watchForKey).
	expired bool
}

// Dirty says whether a watched key changed since it was watched.
func (w *Watch) Dirty() bool { return w.dirty.Load() }

// HeldBytes is what the watched keys take, here and with their shards.
func (w *Watch) HeldBytes() int { return w.bytes }

// watchedBytes is what a watched key takes beside its name, which both sides have:
// the key here, and there a place in a map and a list of one.
const watchedBytes = 128

// Len is the number of watched keys.
func (w *Watch) Len() int { return len(w.keys) }

// Watch adds keys of the transaction's database to w. Their shards are locked.
func (tx *Tx) Watch(w *Watch, keys [][]byte) {
	for _, key := range keys {
		if w.has(tx.DB, key) {
			continue
		}
		at := tx.at(tx.DB, key)
		ks := tx.e.ensure(&tx.e.shards[at.shard()], tx.DB)
		x, there := ks.keys.Get(at.hash, key)
		expired := there && tx.expired(x)
		w.keys = append(w.keys, watchedKey{tx.DB, string(key)})
		w.bytes += watchedBytes + 2*len(key)
		if ks.watched == nil {
			ks.watched = map[string][]watcher{}
		}
		ks.watched[string(key)] = append(ks.watched[string(key)], watcher{w, expired})
	}
}

func (w *Watch) has(db int, key []byte) bool {
	for i := range w.keys {
		if w.keys[i].db == db && w.keys[i].key == string(key) {
			return true
		}
	}
	return false
}

// Keys visits the watched keys, for locking their shards before EXEC.
func (w *Watch) Keys(visit func(db int, key string)) {
	for i := range w.keys {
		visit(w.keys[i].db, w.keys[i].key)
	}
}

// CheckWatch says whether w is dirty, counting keys whose deadline has passed
// since they were watched. Their shards are locked.
func (tx *Tx) CheckWatch(w *Watch) bool {
	if w.dirty.Load() {
		return true
	}
	for i := range w.keys {
		k := &w.keys[i]
		at := Locate(k.db, []byte(k.key))
		ks := tx.e.shards[at.shard()].space(k.db)
		if ks == nil || ks.tookForExpired(k.key, w) {
			continue
		}
		if x, ok := ks.keys.Get(at.hash, []byte(k.key)); ok && tx.expired(x) {
			return true
		}
	}
	return false
}

// tookForExpired says whether w knows that key had expired.
func (ks *keyspace) tookForExpired(key string, w *Watch) bool {
	for _, other := range ks.watched[key] {
		if other.watch == w {
			return other.expired
		}
	}
	return false
}

// Unwatch forgets w's keys and makes it clean. No lock is held. It reports false where
// a transaction holds locks for long: w is then of no use any more, and the caller
// calls Forget where it may wait for locks.
func (e *Engine) Unwatch(w *Watch) bool {
	if !e.forgetWatched(w, e.lockUnlessStalled) {
		return false
	}
	w.keys, w.bytes = nil, 0
	w.dirty.Store(false)
	return true
}

// Forget forgets the keys of a watch that is not used any more.
func (e *Engine) Forget(w *Watch) {
	e.forgetWatched(w, func(mu *sync.Mutex) bool {
		mu.Lock()
		return true
	})
}

// forgetWatched takes w out of what its keys know, as long as lock locks.
func (e *Engine) forgetWatched(w *Watch, lock func(mu *sync.Mutex) bool) bool {
	for i := range w.keys {
		k := &w.keys[i]
		s := &e.shards[shardOf([]byte(k.key))]
		if !lock(&s.mu) {
			return false
		}
		if ks := s.space(k.db); ks != nil {
			ks.unwatch(k.key, w)
		}
		s.mu.Unlock()
	}
	return true
}

func (ks *keyspace) unwatch(key string, w *Watch) {
	list := ks.watched[key]
	for j, other := range list {
		if other.watch == w {
			list = append(list[:j], list[j+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(ks.watched, key)
	} else {
		ks.watched[key] = list
	}
}

// changed tells the watchers of key, and who waits for it, that it changed.
func (ks *keyspace) changed(key []byte) {
	if len(ks.waiting.queues) > 0 {
		ks.waiting.note(key)
	}
	ks.noteChange(key)
	if len(ks.watched) == 0 {
		return
	}
	list := ks.watched[string(key)]
	for i := range list {
		if list[i].expired {
			list[i].expired = false
			continue
		}
		list[i].watch.dirty.Store(true)
	}
}

// changedAll tells the watchers of every key that changes when ks is replaced by
// other, nil for nothing (multi.c touchAllWatchedKeysInDb). A key that is not
// there, or has expired, before and after does not change.
func (ks *keyspace) changedAll(tx *Tx, other *keyspace) {
	for key, list := range ks.watched {
		hash := table.Hash([]byte(key))
		_, before := ks.keys.Get(hash, []byte(key))
		after, afterExpired := false, false
		if other != nil {
			if x, ok := other.keys.Get(hash, []byte(key)); ok {
				after, afterExpired = true, tx.expired(x)
			}
		}
		if !before && !after {
			continue
		}
		for i := range list {
			w := &list[i]
			switch {
			case w.expired && !after:
				w.expired = false // gone, which is what the watcher took it for
			case w.expired && afterExpired:
			case !w.expired && !before && afterExpired:
				w.expired = true
			default:
				w.watch.dirty.Store(true)
			}
		}
	}
}
