package memory

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"testing"
)

func TestHasherIsHMAC(t *testing.T) {
	secret := &OwnerKey{1, 2, 3, 31: 9}
	var h Hasher
	for _, size := range []int{0, 1, 55, 56, 64, 1000, 2 * hasherKeptBytes} {
		payload := bytes.Repeat([]byte{7}, size)
		mac := hmac.New(sha256.New, secret[:])
		mac.Write([]byte("payload\x00"))
		mac.Write(payload)
		if got := h.PayloadHash(secret, payload); !bytes.Equal(got[:], mac.Sum(nil)) {
			t.Errorf("%d bytes: %x, HMAC-SHA-256 is %x", size, got, mac.Sum(nil))
		}
		if cap(h.message) > hasherKeptBytes {
			t.Errorf("%d bytes: a hasher keeps %d", size, cap(h.message))
		}
	}
}

func TestEventsAllocateNothing(t *testing.T) {
	e, secret, payload := sampleEvent(1), &OwnerKey{4}, []byte(`{"a":1}`)
	var h Hasher
	var encoded, stored []byte
	allocations := testing.AllocsPerRun(100, func() {
		e.Seal(&h, secret, payload)
		encoded = EncodeEvent(encoded[:0], e)
		stored, _ = AppendLinked(stored[:0], Link{}, 1, encoded)
		if _, _, err := SplitLinked(stored); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Errorf("an event takes %v allocations", allocations)
	}
}
