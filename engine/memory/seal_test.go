package memory

import (
	"bytes"
	"errors"
	"testing"
)

func TestSealedPayloadOpensForItsOwnerAndPlaceAlone(t *testing.T) {
	cipher := NewCipher(&OwnerKey{1})
	nonce := bytes.Repeat([]byte{5}, NonceBytes)
	for _, payload := range []string{"", "x", "a user's address"} {
		sealed := cipher.Seal([]byte("before"), nonce, []byte(payload), []byte("about"))
		if payload != "" && bytes.Contains(sealed, []byte(payload)) {
			t.Errorf("%q is to be read in its sealed form", payload)
		}
		sealed = sealed[len("before"):]
		opened, err := cipher.Open([]byte("before"), sealed, []byte("about"))
		if err != nil || string(opened) != "before"+payload {
			t.Errorf("%q: %q %v", payload, opened, err)
		}
		if _, err := cipher.Open(nil, sealed, []byte("about something else")); !errors.Is(err, ErrSealed) {
			t.Errorf("in another place: %v", err)
		}
		if _, err := NewCipher(&OwnerKey{2}).Open(nil, sealed, []byte("about")); !errors.Is(err, ErrSealed) {
			t.Errorf("by another owner: %v", err)
		}
		for at := range sealed {
			sealed[at] ^= 1
			if _, err := cipher.Open(nil, sealed, []byte("about")); !errors.Is(err, ErrSealed) {
				t.Errorf("byte %d changed: %v", at, err)
			}
			sealed[at] ^= 1
			if _, err := cipher.Open(nil, sealed[:at], []byte("about")); !errors.Is(err, ErrSealed) {
				t.Errorf("cut at %d: %v", at, err)
			}
		}
	}
}

func TestSealedEventOpensAsItWas(t *testing.T) {
	cipher := NewCipher(&OwnerKey{1})
	nonce := bytes.Repeat([]byte{5}, NonceBytes)
	for i, stored := range storedChain(t, 3) {
		sealed, err := cipher.SealEvent(nil, nonce, stored)
		if err != nil || bytes.Contains(sealed, []byte("address")) {
			t.Fatalf("event %d: %q %v", i, sealed, err)
		}
		opened, err := cipher.OpenEvent(nil, sealed)
		if err != nil || !bytes.Equal(opened, stored) {
			t.Errorf("event %d: %q %v", i, opened, err)
		}
		if _, err := cipher.SealEvent(nil, nonce, sealed); err == nil {
			t.Errorf("event %d was sealed twice", i)
		}
		if _, err := cipher.OpenEvent(nil, stored); err == nil {
			t.Errorf("event %d was open already", i)
		}
		for at := range sealed {
			sealed[at] ^= 1
			if _, err := cipher.OpenEvent(nil, sealed); err == nil {
				t.Errorf("event %d, byte %d", i, at)
			}
			sealed[at] ^= 1
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	cipher, nonce, payload := NewCipher(&OwnerKey{1}), make([]byte, NonceBytes), make([]byte, 300)
	var sealed []byte
	b.ReportAllocs()
	for b.Loop() {
		sealed = cipher.Seal(sealed[:0], nonce, payload, nonce)
	}
}

func BenchmarkNewCipher(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewCipher(&OwnerKey{1})
	}
}
