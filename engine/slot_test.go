package engine

import (
	"math/rand/v2"
	"testing"
)

// slowSlot is the definition: one byte, one bit at a time.
func slowSlot(key []byte) int {
	crc := uint16(0)
	for _, c := range key {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}

func TestSlot(t *testing.T) {
	for _, c := range []struct {
		key  string
		part string // the part that decides
	}{
		{"", ""},
		{"foo", "foo"},
		{"123456789", "123456789"},
		{"{user1000}.following", "user1000"},
		{"foo{}{bar}", "foo{}{bar}"},
		{"foo{{bar}}zap", "{bar"},
		{"foo{bar}{zap}", "bar"},
		{"foo{bar", "foo{bar"},
	} {
		if got, want := Slot([]byte(c.key)), slowSlot([]byte(c.part)); got != want {
			t.Errorf("Slot(%q) = %d, want %d", c.key, got, want)
		}
	}
	// The cluster specification gives this check value.
	if got := crc16([]byte("123456789")); got != 0x31c3 {
		t.Errorf("CRC16 of the check string is %#x", got)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 10_000 {
		key := make([]byte, r.IntN(40))
		for i := range key {
			key[i] = byte('a' + r.IntN(26))
		}
		if got, want := Slot(key), slowSlot(key); got != want {
			t.Fatalf("Slot(%q) = %d, want %d", key, got, want)
		}
	}
}

func BenchmarkLocate(b *testing.B) {
	key := []byte("key:000000012345")
	for b.Loop() {
		if Locate(0, key).db() != 0 {
			b.Fatal()
		}
	}
}
