package memory

// This file owns sealing: how an owner's payloads are encrypted wherever they
// leave memory. It must not know where keys come from, nor what is stored where.
//
// A sealed payload is AES-256-GCM under a key derived from the owner's:
//
//	12 bytes nonce | ciphertext | 16 bytes tag
//
// What it is about (a key, a name, an event's head) is authenticated with it, so
// that one payload cannot be put in another's place. Nonces are random: with 2^32
// payloads under one key, two are equal with a chance of 2^-33.

import (
	"crypto/aes"
	"crypto/cipher"

	"reminis/engine/effect"
)

// NonceBytes is the size of the random bytes that each sealing needs.
const NonceBytes = 12

// Cipher seals and opens the payloads of one owner. It is safe for concurrent
// use and takes 1 to 2 KB.
type Cipher struct{ aead cipher.AEAD }

// NewCipher derives the cipher of an owner.
func NewCipher(key *OwnerKey) *Cipher {
	derived := new(Hasher).sealingKey(key)
	block, err := aes.NewCipher(derived[:])
	if err != nil {
		panic("memory: a key of 32 bytes is none: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("memory: GCM over AES: " + err.Error())
	}
	return &Cipher{aead}
}

// Seal appends the sealed form of payload.
func (c *Cipher) Seal(dst, nonce, payload, about []byte) []byte {
	dst = append(dst, nonce[:NonceBytes]...)
	return c.aead.Seal(dst, nonce[:NonceBytes], payload, about)
}

// Open appends the payload of a sealed form. ErrSealed is returned for bytes
// that this owner never sealed about this.
func (c *Cipher) Open(dst, sealed, about []byte) ([]byte, error) {
	if len(sealed) < NonceBytes {
		return dst, ErrSealed
	}
	opened, err := c.aead.Open(dst, sealed[:NonceBytes], sealed[NonceBytes:], about)
	if err != nil {
		return dst, ErrSealed
	}
	return opened, nil
}

// SealEvent appends a stored event with its body sealed.
func (c *Cipher) SealEvent(dst, nonce, stored []byte) ([]byte, error) {
	return c.turnEvent(dst, stored, 0, func(dst, head, body []byte) ([]byte, error) {
		return c.Seal(dst, nonce, body, head), nil
	})
}

// OpenEvent appends a stored event with its body in the clear. An event without
// a body stays so.
func (c *Cipher) OpenEvent(dst, stored []byte) ([]byte, error) {
	return c.turnEvent(dst, stored, eventSealed, func(dst, head, body []byte) ([]byte, error) {
		return c.Open(dst, body, head)
	})
}

// eventFlagsAt is where an event's flags are in its stored head.
const eventFlagsAt = len(Link{}) + 1

// turnEvent appends a stored event whose flags are as given with the others and
// with another body. The head that the body is bound to has its flags as 0.
func (c *Cipher) turnEvent(dst, stored []byte, flags byte, turn func(dst, head, body []byte) ([]byte, error)) ([]byte, error) {
	head, body, ok := effect.CutEvent(stored)
	if !ok || len(head) <= eventFlagsAt {
		return dst, &CorruptError{What: "event", Offset: len(stored)}
	}
	if len(body) == 0 {
		return append(dst, stored...), nil
	}
	if head[eventFlagsAt] != flags {
		return dst, &CorruptError{What: "event", Offset: 1}
	}
	dst = effect.AppendEventHead(dst, len(head))
	at := len(dst)
	dst = append(dst, head...)
	dst[at+eventFlagsAt] = 0
	dst, err := turn(dst, dst[at:at+len(head)], body)
	if err == nil {
		dst[at+eventFlagsAt] = flags ^ eventSealed
	}
	return dst, err
}

// EraseEvent appends a stored event without its body.
func EraseEvent(dst, stored []byte) ([]byte, error) {
	head, _, ok := effect.CutEvent(stored)
	if !ok || len(head) <= eventFlagsAt {
		return dst, &CorruptError{What: "event", Offset: len(stored)}
	}
	dst = effect.AppendEventHead(dst, len(head))
	at := len(dst)
	dst = append(dst, head...)
	dst[at+eventFlagsAt] = eventSealed
	return dst, nil
}
