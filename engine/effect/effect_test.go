package effect

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
)

// every kind with every field that it carries.
var samples = []Effect{
	{Kind: KeyDelete, DB: 3, Key: []byte("k"), Number: int64(Expired)},
	{Kind: DeadlineSet, Key: []byte("k"), DeadlineMs: 1 << 41},
	{Kind: StringSet, Key: []byte("k"), Value: []byte("v"), DeadlineMs: -1},
	{Kind: StringSplice, Key: []byte("k"), Value: []byte("v"), Number: 9},
	{Kind: HashSet, Key: []byte("k"), Field: []byte("f"), Value: []byte("v")},
	{Kind: HashSet, Key: []byte("k"), Field: []byte("g"), Value: []byte{}},
	{Kind: HashDelete, DB: 1, Key: []byte("k"), Field: []byte("f")},
	{Kind: SetAdd, Key: []byte("k"), Field: []byte("m")},
	{Kind: SetRemove, Key: []byte("k"), Field: []byte("m")},
	{Kind: ScoreSet, Key: []byte("k"), Field: []byte("m"), Number: -1 << 60},
	{Kind: ScoreRemove, Key: []byte("k"), Field: []byte("m")},
	{Kind: ListSplice, Key: []byte("k"), Field: []byte("block"), Number: 5, Count: 3, Value: []byte("bytes")},
	{Kind: ListDrop, Key: []byte("k"), Field: []byte("block")},
	{Kind: StreamSplice, Key: []byte("k"), Field: []byte("block"), Number: 5, Count: 3, Value: []byte("bytes")},
	{Kind: StreamDrop, Key: []byte("k"), Field: []byte("block")},
	{Kind: StreamSet, Key: []byte("k"), Field: []byte("name"), Value: []byte("v")},
	{Kind: StreamUnset, Key: []byte("k"), Field: []byte("name")},
	{Kind: KeyRename, Key: []byte("k"), Field: []byte("to"), Number: 2},
	{Kind: KeyCopy, Key: []byte("k"), Field: []byte("to"), Number: 0},
	{Kind: DBFlush, DB: 15, Key: []byte{}},
	{Kind: DBSwap, DB: 1, Key: []byte{}, Number: 2},
	{Kind: RecordPut, Key: []byte("a:b:c"), OwnerLen: 3, Value: []byte("rec"), Event: []byte("ev"), Number: 7, DeadlineMs: 5, Count: 100, KeepMs: 1 << 30},
	{Kind: RecordForget, Key: []byte("a:b:c"), OwnerLen: 3, Event: []byte("ev"), Number: 7},
	{Kind: RecordDeadline, Key: []byte("a:b:c"), OwnerLen: 3, Event: []byte("ev"), DeadlineMs: 5},
	{Kind: EventAppend, Key: []byte("a:b"), Event: []byte("ev")},
	{Kind: CommandDone, Key: []byte("a:b"), Field: []byte("id"), Value: []byte("p"), Number: 7},
	{Kind: Erase, Key: []byte("a:b:c"), OwnerLen: 3, Value: []byte("names")},
	{Kind: FacetSet, Key: []byte("a:b"), Field: []byte("name"), Value: []byte("v"), Event: []byte("e")},
	{Kind: RecordAppend, Key: []byte("a:b:c"), OwnerLen: 3, Value: []byte("rec"), Event: []byte("ev"), Number: 7, DeadlineMs: 5, Count: 100, KeepMs: 9, List: 1 << 60, First: 3},
	{Kind: ItemPut, Key: []byte("a:b:c"), OwnerLen: 3, Value: []byte("item"), Number: 7, List: 1 << 60},
}

func encode(b *Batch, seq uint64) []byte {
	return append(b.AppendHead(nil, seq, b.TimeMs), b.Body()...)
}

func decodeAll(data []byte) (Reader, []Effect, error) {
	r, err := NewReader(data)
	if err != nil {
		return r, nil, err
	}
	var all []Effect
	for {
		var e Effect
		ok, err := r.Next(&e)
		if err != nil || !ok {
			return r, all, err
		}
		all = append(all, e)
	}
}

func TestBatchRoundTrip(t *testing.T) {
	b := Batch{TimeMs: 1234, Actor: []byte("alice"), Durable: true}
	for i := range samples {
		b.Add(&samples[i])
	}
	r, got, err := decodeAll(encode(&b, 99))
	if err != nil {
		t.Fatal(err)
	}
	if r.Seq != 99 || r.TimeMs != 1234 || string(r.Actor) != "alice" || !r.Durable {
		t.Fatalf("head %+v", r)
	}
	for i := range samples {
		if normal(got[i]) != normal(samples[i]) {
			t.Errorf("effect %d: got %+v, want %+v", i, got[i], samples[i])
		}
	}
	if len(got) != len(samples) {
		t.Fatalf("%d effects, want %d", len(got), len(samples))
	}
}

// normal prints an effect so that an absent and an empty slice are the same.
func normal(e Effect) string {
	return fmt.Sprintf("%d %d %q %q %q %q %d %d %d %d %d %d %d", e.Kind, e.DB, e.Key, e.Field, e.Value, e.Event, e.Number, e.DeadlineMs, e.Count, e.KeepMs, e.List, e.First, e.OwnerLen)
}

func TestSameKeyIsNamedOnce(t *testing.T) {
	key := bytes.Repeat([]byte("k"), 100)
	var b Batch
	for i := 0; i < 10; i++ {
		b.Add(&Effect{Kind: HashSet, Key: key, Field: []byte("f"), Value: []byte("v")})
	}
	if b.SizeBytes() > 200 {
		t.Fatalf("ten fields of one key take %d bytes", b.SizeBytes())
	}
}

// What nobody reads is counted and not encoded, from one batch to the next.
func TestUnkeptBatchOnlyCounts(t *testing.T) {
	b := Batch{Unkept: true}
	for range 2 {
		b.Add(&samples[0])
		if !b.Skip() || b.Len() != 2 || b.SizeBytes() != 0 {
			t.Fatalf("%d effects of %d bytes", b.Len(), b.SizeBytes())
		}
		b.Reset()
	}
	if kept := new(Batch); kept.Skip() || kept.Len() != 0 {
		t.Fatal("a batch that is kept is skipped")
	}
}

// Kind numbers are on disk: this list may only grow.
func TestKindNumbersAreStable(t *testing.T) {
	want := map[Kind]uint8{KeyDelete: 1, DeadlineSet: 2, StringSet: 3, StringSplice: 4, HashSet: 5, HashDelete: 6,
		KeyRename: 7, KeyCopy: 8, DBFlush: 9, DBSwap: 10,
		SetAdd: 11, SetRemove: 12, ScoreSet: 13, ScoreRemove: 14, ListSplice: 15, ListDrop: 16,
		StreamSplice: 17, StreamDrop: 18, StreamSet: 19, StreamUnset: 20,
		RecordPut: 32, RecordForget: 33, RecordDeadline: 34, EventAppend: 35, CommandDone: 36, FacetSet: 37,
		RecordAppend: 38, ItemPut: 39, Erase: 40}
	for k, n := range want {
		if uint8(k) != n {
			t.Errorf("kind %d is now %d", n, k)
		}
	}
	for k := 0; k < 256; k++ {
		_, declared := fieldsOf(Kind(k))
		if _, listed := want[Kind(k)]; declared != listed {
			t.Errorf("kind %d: declared %v, listed here %v", k, declared, listed)
		}
	}
}

func TestTruncatedBatchIsCorrupt(t *testing.T) {
	var b Batch
	for i := range samples {
		b.Add(&samples[i])
	}
	data := encode(&b, 7)
	for n := range data {
		if _, _, err := decodeAll(data[:n]); err == nil {
			t.Fatalf("%d of %d bytes were accepted", n, len(data))
		}
	}
	if _, _, err := decodeAll(append(data, 0)); err == nil {
		t.Fatal("a trailing byte was accepted")
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	var b Batch
	e := samples[2]
	if n := testing.AllocsPerRun(100, func() { b.Reset(); b.Add(&e) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func FuzzReader(f *testing.F) {
	var b Batch
	for i := range samples {
		b.Add(&samples[i])
	}
	f.Add(encode(&b, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, effects, err := decodeAll(data)
		if err != nil {
			return
		}
		again := Batch{Actor: r.Actor, Durable: r.Durable}
		for i := range effects {
			again.Add(&effects[i])
		}
		_, twice, err := decodeAll(append(again.AppendHead(nil, r.Seq, r.TimeMs), again.Body()...))
		if err != nil {
			t.Fatal(err)
		}
		if len(twice) != len(effects) {
			t.Fatalf("%d effects became %d", len(effects), len(twice))
		}
		for i := range twice {
			if !reflect.DeepEqual(normal(twice[i]), normal(effects[i])) {
				t.Fatalf("effect %d changed", i)
			}
		}
	})
}
