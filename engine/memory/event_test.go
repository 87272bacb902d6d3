package memory

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"testing"

	"reminis/engine/effect"
)

func sampleEvent(i int) *Event {
	e := &Event{TimeMs: 1764432000000 + int64(i), Op: OpPatch, Version: uint64(i) + 2, OldVersion: uint64(i) + 1,
		Key: []byte("ai:u:s:address"), User: []byte("default"), Operator: []byte("frontend"), Client: []byte("id=7"),
		Caller: []byte("checkout.go:12"), Trace: []byte("t"), CommandID: []byte(fmt.Sprint("c", i)), Reason: []byte("moved")}
	e.Seal(new(Hasher), &OwnerKey{1, 2, 3}, fmt.Appendf(nil, "payload %d", i))
	return e
}

func TestEventRoundTrip(t *testing.T) {
	secret := &OwnerKey{9}
	bare := &Event{Op: OpForget, OldVersion: 3}
	bare.Seal(new(Hasher), secret, nil)
	for _, want := range []*Event{sampleEvent(1), bare} {
		var got Event
		if err := DecodeEvent(EncodeEvent(nil, want), &got); err != nil {
			t.Fatal(err)
		}
		if timeMs, err := EventTimeMs(EncodeEvent(nil, want)); err != nil || timeMs != want.TimeMs {
			t.Errorf("time %d %v, want %d", timeMs, err, want.TimeMs)
		}
		got.body, got.digest = nil, [32]byte{}
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
	}
	if bare.Hashed {
		t.Error("an event without payload has a hash")
	}
}

func TestEventTimeOfNoEvent(t *testing.T) {
	encoded := EncodeEvent(nil, sampleEvent(0))
	for _, b := range [][]byte{nil, encoded[:3], append([]byte{9}, encoded[1:]...)} {
		if _, err := EventTimeMs(b); err == nil {
			t.Errorf("%x has a time", b)
		}
	}
}

func TestPayloadHashIsKeyed(t *testing.T) {
	first, second := &OwnerKey{1}, &OwnerKey{2}
	var h Hasher
	same := h.PayloadHash(first, []byte("x"))
	if same != h.PayloadHash(first, []byte("x")) {
		t.Error("equal payloads of one owner have different hashes")
	}
	if same == h.PayloadHash(second, []byte("x")) || same == h.PayloadHash(first, []byte("y")) {
		t.Error("hashes of different owners or payloads are equal")
	}
}

func TestOps(t *testing.T) {
	names := []string{"init", "set", "patch", "append", "forget", "expire", "evict", "rollback",
		"erase", "export", "get", "recall", "denied", "reset", "change"}
	for i, name := range names {
		op, err := ParseOp([]byte(name))
		if err != nil || op != Op(i+1) || op.String() != name {
			t.Errorf("%s: %v %v", name, op, err)
		}
	}
	if _, err := ParseOp([]byte("drop")); message(err) != "ERR operation 'drop' is not known" {
		t.Error(err)
	}
}

// storedChain gives events as they are stored.
func storedChain(t *testing.T, count int) (stored [][]byte) {
	t.Helper()
	link := Link{}
	for i := range count {
		event := linked(t, link, uint64(i/2), EncodeEvent(nil, sampleEvent(i)))
		link = linkOf(t, event)
		stored = append(stored, event)
	}
	return stored
}

func linked(t *testing.T, prev Link, seqBefore uint64, encoded []byte) []byte {
	t.Helper()
	stored, err := AppendLinked(nil, prev, seqBefore, encoded)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func linkOf(t *testing.T, stored []byte) Link {
	t.Helper()
	link, _, err := SplitLinked(stored)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// inBatches numbers events, two to a batch.
func inBatches(stored [][]byte) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		for i, event := range stored {
			if !yield(uint64(i/2+1), event) {
				return
			}
		}
	}
}

func TestChainVerifies(t *testing.T) {
	stored := storedChain(t, 7)
	state := Verify(ChainState{}, inBatches(stored))
	last, _, _ := SplitLinked(stored[6])
	if !state.OK() || state.Length != 7 || state.Head != last || state.LastSeq != 4 || state.Erased != 0 {
		t.Errorf("%+v", state)
	}
	if empty := Verify(ChainState{}, inBatches(nil)); !empty.OK() || empty.Length != 0 {
		t.Errorf("%+v", empty)
	}
	half := Verify(ChainState{}, inBatches(stored[:4]))
	rest := Verify(half, func(yield func(uint64, []byte) bool) {
		for i := 4; i < 7; i++ {
			if !yield(uint64(i/2+1), stored[i]) {
				return
			}
		}
	})
	if rest != state {
		t.Errorf("in two parts: %+v", rest)
	}
}

func TestChainNamesAnyFlippedByte(t *testing.T) {
	stored := storedChain(t, 4)
	for i := range stored {
		for at := range stored[i] {
			for _, bit := range []byte{1, 0x80} {
				stored[i][at] ^= bit
				state := Verify(ChainState{}, inBatches(stored))
				if state.OK() || state.FirstBad != uint64(i/2+1) || state.Length != uint64(i) {
					t.Fatalf("event %d, byte %d, bit %x: %+v", i, at, bit, state)
				}
				stored[i][at] ^= bit
			}
		}
	}
}

func TestChainNoticesMissingAddedExchanged(t *testing.T) {
	stored := storedChain(t, 6)
	for name, events := range map[string][][]byte{
		"missing":   append(append([][]byte{}, stored[:2]...), stored[4:]...),
		"twice":     append(append([][]byte{}, stored[:4]...), stored[2:]...),
		"exchanged": {stored[0], stored[1], stored[3], stored[2], stored[4], stored[5]},
		"headless":  stored[2:],
		"empty":     {stored[0], stored[1], {}},
	} {
		if state := Verify(ChainState{}, inBatches(events)); state.OK() {
			t.Errorf("%s: %+v", name, state)
		}
	}
	// Another sequence shows at the batch after it.
	moved := func(yield func(uint64, []byte) bool) {
		_ = yield(1, stored[0]) && yield(1, stored[1]) && yield(5, stored[2]) && yield(5, stored[3]) && yield(6, stored[4])
	}
	if state := Verify(ChainState{}, moved); state.OK() || state.FirstBad != 6 {
		t.Errorf("another sequence: %+v", state)
	}
}

// erasedEvent is a stored event as it is once it was sealed and its body cut off.
func erasedEvent(t *testing.T, stored []byte) []byte {
	t.Helper()
	sealed, err := NewCipher(&OwnerKey{7}).SealEvent(nil, make([]byte, NonceBytes), stored)
	if err != nil {
		t.Fatal(err)
	}
	return effect.WithoutBody(sealed)
}

func TestErasedChainStillVerifies(t *testing.T) {
	stored := storedChain(t, 4)
	stored[1] = erasedEvent(t, stored[1])
	for _, secret := range []string{"ai:u", "frontend", "moved", "payload"} {
		if bytes.Contains(stored[1], []byte(secret)) {
			t.Errorf("%q survives", secret)
		}
	}
	if state := Verify(ChainState{}, inBatches(stored)); !state.OK() || state.Erased != 1 || state.Length != 4 {
		t.Errorf("%+v", state)
	}
	var e Event
	_, encoded, err := SplitLinked(stored[1])
	if err == nil {
		err = DecodeEvent(encoded, &e)
	}
	if err != nil || !e.Erased || e.Op != OpPatch || e.Version != 3 || e.Key != nil {
		t.Errorf("%+v %v", e, err)
	}
	if again := EncodeEvent(nil, &e); !bytes.Equal(again, encoded) {
		t.Errorf("an erased event encodes as %x, was %x", again, encoded)
	}
	for at := range stored[1] {
		stored[1][at] ^= 1
		if Verify(ChainState{}, inBatches(stored)).OK() {
			t.Errorf("byte %d of an erased event", at)
		}
		stored[1][at] ^= 1
	}
}

func FuzzEvent(f *testing.F) {
	f.Add(EncodeEvent(nil, sampleEvent(0)))
	f.Add(EncodeEvent(nil, &Event{Erased: true, Op: OpSet}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Event
		err := DecodeEvent(b, &e)
		var corrupt *CorruptError
		var newer *NewerError
		if err != nil {
			if !errors.As(err, &corrupt) && !errors.As(err, &newer) {
				t.Fatal(err)
			}
			return
		}
		stored := linked(t, Link{}, 1, b)
		cipher := NewCipher(&OwnerKey{7})
		sealed, err := cipher.SealEvent(nil, make([]byte, NonceBytes), stored)
		if err != nil {
			t.Fatal(err)
		}
		if opened, err := cipher.OpenEvent(nil, sealed); err != nil || !bytes.Equal(opened, stored) {
			t.Fatalf("%x was sealed, %x opened: %v", stored, opened, err)
		}
		_, erased, err := SplitLinked(effect.WithoutBody(sealed))
		if err != nil {
			t.Fatal(err)
		}
		if linkOf(t, linked(t, Link{}, 1, erased)) != linkOf(t, stored) {
			t.Fatal("erasing changes the link")
		}
		AppendJSON(nil, AppendEventFields(nil, 1, &e))
	})
}
