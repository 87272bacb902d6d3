package engine

// This file owns look-ups that tell type and deadline of a key. They differ in
// what they leave behind, which OBJECT IDLETIME and INFO show. It must not know
// values.

// Peek is the type and deadline of key, TypeNone and 0 when it does not exist.
// It counts a hit or a miss and is no access (db.c, LOOKUP_NOTOUCH).
func (tx *Tx) Peek(key []byte) (t Type, deadlineMs int64) {
	_, _, x, ok := tx.find(tx.DB, key)
	tx.CountHit(ok)
	if !ok {
		return TypeNone, 0
	}
	return typeOf(x.Kind()), x.DeadlineMs()
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
