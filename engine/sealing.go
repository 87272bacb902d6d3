package engine

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns the border between memory, where an owner's payloads are in the
// clear, and everything else, where they are sealed with its key: effects on
// their way into a batch, and what comes back of batches, rows and the archive.
// It must not know where keys are kept, nor what a payload says.
//
// Sealed are the records, the bodies of events, the digests of commands and the
// facets of owners. Plain keys, names, and the facets of the server are not.

// Keyring is where owners have their keys from.
type Keyring interface {
	// Take gives a key that no owner ever had, and its number, from 1. It is
	// called with the locks of a transaction held.
	Take() (number uint64, key [32]byte)
	// Key gives the key with a number; ok is false when it was destroyed.
	Key(number uint64) (key [32]byte, ok bool, err error)
	// Destroy returns once nothing can give that key back.
	Destroy(number uint64) error
}

// keyFacet is the facet that holds the number of an owner's key. It comes first
// in the order of names, because others are sealed with the key.
const keyFacet = "!key"

// cipherMax bounds the ciphers that are kept, 1 to 2 KB each, as much as an owner
// takes without one: an owner that has none makes one in about a microsecond, a
// tenth of what a write takes.
const cipherMax = 16 << 10

// ciphers is the owners that have a cipher, the oldest to lose it next.
type ciphers struct {
	mu   sync.Mutex
	ring [cipherMax]*Owner
	next int
}

// of is an owner's cipher.
func (c *ciphers) of(owner *Owner) *memory.Cipher {
	if known := owner.cipher.Load(); known != nil {
		return known
	}
	made := memory.NewCipher(&owner.key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.ring[c.next]; old != nil {
		old.cipher.Store(nil)
	}
	c.ring[c.next] = owner
	c.next = (c.next + 1) % cipherMax
	owner.cipher.Store(made)
	return made
}

// setKey gives the owner the key with a number; without ok only the number is
// left of it.
func (o *Owner) setKey(number uint64, key memory.OwnerKey, ok bool) {
	o.keyNumber, o.key, o.destroyed = number, key, !ok
	o.cipher.Store(nil)
}

// ensureKey gives an owner its key before there is anything to keep. The owner
// is locked.
func (tx *Tx) ensureKey(owner *Owner) {
	if owner.keyNumber != 0 {
		return
	}
	if owner.sketch {
		real := tx.draft.real
		tx.ensureKey(real)
		owner.setKey(real.keyNumber, real.key, true)
		return
	}
	number, key := tx.e.owners.options.Keys.Take()
	owner.setKey(number, key, true)
}

// keyed keeps which key is the owner's, with its first change that is kept, in
// the same batch. The owner is locked.
func (tx *Tx) keyed(db int, owner *Owner) {
	if owner.keyKept {
		return
	}
	tx.ensureKey(owner)
	x := effect.Effect{Kind: effect.FacetSet, DB: uint32(db), Key: []byte(owner.name), Field: []byte(keyFacet), Value: appendKeyNumber(nil, owner.keyNumber)}
	if owner.space == serverSpace {
		x.DB = 0
	}
	owner.keyKept = true
	tx.emit(&x)
}

// sealing is what a transaction seals with.
type sealing struct {
	x      effect.Effect
	value  []byte
	event  []byte
	random [64 * memory.NonceBytes]byte
	left   int // of random
}

// nonce is random bytes that were not used before, valid until the next call.
func (s *sealing) nonce() []byte {
	if s.left == 0 {
		// It never fails.
		_, _ = rand.Read(s.random[:])
		s.left = len(s.random)
	}
	s.left -= memory.NonceBytes
	return s.random[s.left : s.left+memory.NonceBytes]
}

// clear gives back what a large record needed.
func (s *sealing) clear() {
	s.x = effect.Effect{}
	if cap(s.value) > 1<<20 {
		s.value = nil
	}
	if cap(s.event) > 1<<20 {
		s.event = nil
	}
}

// sealed is an effect as the batch gets it, valid until the next call.
func (tx *Tx) sealed(x *effect.Effect) *effect.Effect {
	name, payload := sealedOf(x)
	if name == nil {
		return x
	}
	s := &tx.record.sealing
	cipher := tx.e.owners.ciphers.of(tx.ownerOrServer(int(x.DB), name))
	s.x = *x
	if payload && len(x.Value) > 0 {
		s.value = cipher.Seal(s.value[:0], s.nonce(), x.Value, aboutOf(x))
		s.x.Value = s.value
	}
	if len(x.Event) > 0 {
		var err error
		if s.event, err = cipher.SealEvent(s.event[:0], s.nonce(), x.Event); err != nil {
			panic("engine: an event that was just made does not seal: " + err.Error())
		}
		s.x.Event = s.event
	}
	return &s.x
}

// sealedOf says whose key an effect's event is sealed with, and whether its
// value is too; nil: nothing of it is. The server's name is empty, not nil.
func sealedOf(x *effect.Effect) (owner []byte, payload bool) {
	switch x.Kind {
	case effect.RecordPut, effect.RecordAppend, effect.ItemPut, effect.RecordForget, effect.RecordDeadline:
		return x.Owner(), true
	case effect.CommandDone:
		return x.Key, true
	case effect.FacetSet:
		if string(x.Field) == keyFacet {
			return nil, false
		}
		return nameOf(x.Key), len(x.Key) > 0
	case effect.EventAppend:
		return nameOf(x.Key), false
	}
	return nil, false
}

// nameOf is a name that is not nil.
func nameOf(name []byte) []byte {
	if name == nil {
		return []byte{}
	}
	return name
}

// aboutOf is what a sealed value is bound to: the record's key, the item's place,
// the command's id, the facet's name.
func aboutOf(x *effect.Effect) []byte {
	switch {
	case x.Kind == effect.ItemPut:
		return binary.BigEndian.AppendUint64(appendItemKey(nil, x.Key, uint64(x.Number)), x.List)
	case len(x.Field) > 0:
		return x.Field
	}
	return x.Key
}

// open turns an effect that was stored into what apply takes. What is left of an
// owner whose key was destroyed is the heads of its events and that its commands
// were done; ok is false for an effect of which nothing is. The effect's bytes
// are valid until the next call.
func (tx *Tx) open(x *effect.Effect) (ok bool, err error) {
	if x.Kind == effect.FacetSet && string(x.Field) == keyFacet {
		return true, tx.openKey(x)
	}
	name, payload := sealedOf(x)
	if name == nil || len(x.Event) == 0 && (!payload || len(x.Value) == 0) {
		return true, nil
	}
	owner := tx.e.owners.ensure(tx.e.owners.spaceNamed(int(x.DB), name), name)
	switch {
	case owner.destroyed:
		return tx.openDestroyed(x, name), nil
	case owner.keyNumber == 0:
		return false, fmt.Errorf("%q: its owner has no key: the row that names it is missing", x.Key)
	}
	s, cipher := &tx.record.sealing, tx.e.owners.ciphers.of(owner)
	if payload && len(x.Value) > 0 {
		if s.value, err = cipher.Open(s.value[:0], x.Value, aboutOf(x)); err != nil {
			return false, fmt.Errorf("%q: %w", x.Key, err)
		}
		x.Value = s.value
	}
	if len(x.Event) > 0 {
		if s.event, err = cipher.OpenEvent(s.event[:0], x.Event); err != nil {
			return false, fmt.Errorf("an event of owner %q: %w", name, err)
		}
		x.Event = s.event
	}
	return true, nil
}

// openKey finds the key whose number the facet holds.
func (tx *Tx) openKey(x *effect.Effect) error {
	if len(x.Value) == 0 {
		return nil
	}
	number, err := keyNumber(x.Value)
	if err != nil {
		return fmt.Errorf("the key of owner %q: %w", x.Key, err)
	}
	key, ok, err := tx.e.owners.options.Keys.Key(number)
	if err != nil {
		return fmt.Errorf("the key of owner %q: %w", x.Key, err)
	}
	owner := tx.e.owners.ensure(tx.e.owners.spaceNamed(int(x.DB), x.Key), x.Key)
	owner.setKey(number, key, ok)
	owner.keyKept = true
	return nil
}

// openDestroyed leaves of an effect what its owner's key is not needed for.
func (tx *Tx) openDestroyed(x *effect.Effect, owner []byte) bool {
	if x.Kind == effect.CommandDone {
		x.Value = nil
		return true
	}
	if x.Kind.MakesVersion() && tx.restoring {
		tx.e.stats.Destroyed.Add(1)
	}
	*x = effect.Effect{Kind: effect.EventAppend, DB: x.DB, Key: owner, Event: effect.WithoutBody(x.Event)}
	return len(x.Event) > 0
}

// opener opens what the archive has of one owner, for one reader.
type opener struct {
	view   *OwnerView
	cipher *memory.Cipher
	buf    []byte
}

func (v *OwnerView) opener() *opener {
	o := &opener{view: v}
	if v.keyNumber != 0 {
		o.cipher = memory.NewCipher(&v.key)
	}
	return o
}

// value opens a record's or an item's bytes, valid until the next call.
func (o *opener) value(x *effect.Effect) ([]byte, error) {
	if len(x.Value) == 0 {
		return nil, nil
	}
	if o.cipher == nil {
		return nil, ErrSealed
	}
	var err error
	if o.buf, err = o.cipher.Open(o.buf[:0], x.Value, aboutOf(x)); err != nil {
		return nil, ErrSealed
	}
	return o.buf, nil
}

// event opens a stored event, valid until the next call. One that does not open
// stays as it is stored, and so is no event for whoever reads it.
func (o *opener) event(seq uint64, stored []byte) []byte {
	if seq <= o.view.erasedUpTo(nil) {
		return effect.WithoutBody(stored)
	}
	if o.cipher == nil {
		return stored
	}
	opened, err := o.cipher.OpenEvent(o.buf[:0], stored)
	if err != nil {
		return stored
	}
	o.buf = opened
	if o.view.erasesEvent(seq, opened) {
		return effect.WithoutBody(stored)
	}
	return opened
}
