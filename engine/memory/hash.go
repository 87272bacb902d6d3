package memory

// This file owns keyed hashes: HMAC-SHA-256 under the secret of an owner. It must
// not know what is hashed.

import "crypto/sha256"

// Hasher hashes under owners' secrets. Its memory is used again, so that hashing
// allocates nothing once it is large enough; crypto/hmac allocates two states and
// four blocks for each hash, which costs more than to hash a short message. The
// zero Hasher is ready. It is not safe for concurrent use.
type Hasher struct{ message []byte }

// The constants of RFC 2104 for a hash whose blocks have 64 bytes.
const (
	hmacBlockBytes = 64
	hmacInner      = 0x36
	hmacOuter      = 0x5c
)

// hasherStartBytes is enough for most keys and short payloads.
const hasherStartBytes = 256

// hasherKeptBytes bounds the memory that a Hasher keeps for the next message.
const hasherKeptBytes = 64 << 10

// begin begins a message in a domain, which keeps hashes of one kind apart from
// all others. What it is about is appended to h.message; sum ends it.
func (h *Hasher) begin(secret *OwnerKey, domain string) {
	if h.message == nil {
		h.message = make([]byte, 0, hasherStartBytes)
	}
	h.message = append(appendHMACBlock(h.message[:0], secret, hmacInner), domain...)
}

// sum is HMAC-SHA-256 of the message.
func (h *Hasher) sum(secret *OwnerKey) [sha256.Size]byte {
	inner := sha256.Sum256(h.message)
	h.message = append(appendHMACBlock(h.message[:0], secret, hmacOuter), inner[:]...)
	sum := sha256.Sum256(h.message)
	if cap(h.message) > hasherKeptBytes {
		h.message = nil
	}
	return sum
}

// appendHMACBlock appends the block that the secret is of a pass of HMAC.
func appendHMACBlock(dst []byte, secret *OwnerKey, pad byte) []byte {
	for _, b := range secret {
		dst = append(dst, b^pad)
	}
	for range hmacBlockBytes - len(secret) {
		dst = append(dst, pad)
	}
	return dst
}

// PayloadHash is the keyed hash that events hold in place of a payload. Equal
// payloads of one owner have equal hashes.
func (h *Hasher) PayloadHash(secret *OwnerKey, payload []byte) [sha256.Size]byte {
	h.begin(secret, "payload\x00")
	h.message = append(h.message, payload...)
	return h.sum(secret)
}

// sealingKey is the key that an owner's payloads are sealed with.
func (h *Hasher) sealingKey(secret *OwnerKey) [sha256.Size]byte {
	h.begin(secret, "seal\x00")
	return h.sum(secret)
}

// redacted is the keyed hash that stands in a value for a part of it.
func (h *Hasher) redacted(secret *OwnerKey, plain string) [sha256.Size]byte {
	h.begin(secret, "redact\x00")
	h.message = append(h.message, plain...)
	return h.sum(secret)
}
