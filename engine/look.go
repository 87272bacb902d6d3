package engine

// This file owns look-ups that tell type and deadline of a key. They differ in
// what they leave behind, which OBJECT IDLETIME and INFO show. It must not know
// values.

// Peek is the type and deadline of key, TypeNone and 0 when it does not exist.
// It counts a hit or a miss and is no access (db.c, LOOKUP_NOTOUCH).
func (tx *Tx) Peek(key []byte) (t Type, deadlineMs int64) {
	_, _, x, ok := tx.find(tx.DB, key)
	tx.CountHit(key, ok)
	if !ok {
		return TypeNone, 0
	}
	return typeOf(x.Kind()), x.DeadlineMs()
}

// Glance says whether key exists. It counts a hit or a miss, is no access, and
// tells nobody of a miss (object.c objectCommandLookup, LOOKUP_NONOTIFY).
func (tx *Tx) Glance(key []byte) bool {
	_, _, _, ok := tx.find(tx.DB, key)
	tx.count(ok)
	return ok
}

// CountHit counts a look-up of key by a command that reads, as a hit or a miss,
// and tells of the miss.
func (tx *Tx) CountHit(key []byte, hit bool) {
	tx.count(hit)
	if !hit {
		tx.Notify(EventMiss, "keymiss", key)
	}
}

func (tx *Tx) count(hit bool) {
	if hit {
		tx.e.stats.Hits.Add(1)
	} else {
		tx.e.stats.Misses.Add(1)
	}
}

// Use is Peek for a command that writes: it is an access and counts nothing
// (db.c lookupKeyWrite).
func (tx *Tx) Use(key []byte) (t Type, deadlineMs int64) {
	_, _, x, ok := tx.look(tx.DB, key)
	if !ok {
		return TypeNone, 0
	}
	return typeOf(x.Kind()), x.DeadlineMs()
}

// PeekString is the value of the string key, aliasing the table, or nil when
// key holds no string. It counts nothing and is no access.
func (tx *Tx) PeekString(key []byte) []byte {
	_, _, x, ok := tx.find(tx.DB, key)
	if !ok || typeOf(x.Kind()) != TypeString {
		return nil
	}
	return x.Value()
}
