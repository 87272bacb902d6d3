package persistence

import (
	"bytes"
	"strings"
	"testing"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Whatever a segment's bytes are, reading it ends, and what it yields is what
// was written, in order.
func FuzzSegment(f *testing.F) {
	fs := vfs.NewMem()
	s := mustOpen(f, fs, "store", testOptions(f))
	var b effect.Batch
	var want []string
	for i := range 12 {
		s.Append(setBatch(&b, "key", strings.Repeat("v", 10*i), int64(i)))
		want = append(want, strings.Repeat("v", 10*i))
		if i%3 == 0 {
			if err := s.Sync(); err != nil {
				f.Fatal(err)
			}
		}
	}
	if err := s.Sync(); err != nil {
		f.Fatal(err)
	}
	whole, err := readSegment(fs, s.writer.active().path, -1, nil)
	if err != nil {
		f.Fatal(err)
	}
	mustClose(f, s)
	f.Add(whole, uint16(0), byte(0))
	f.Add(whole, uint16(200), byte(1))
	f.Add(whole[:300], uint16(64), byte(255))
	f.Add(append(bytes.Clone(whole[:400]), make([]byte, 4096)...), uint16(20), byte(7))
	f.Fuzz(func(t *testing.T, data []byte, at uint16, flip byte) {
		if int(at) < len(data) {
			data = bytes.Clone(data)
			data[at] ^= flip
		}
		h, scan, err := newSegmentScan(data)
		if err != nil {
			return
		}
		var r effect.Reader
		for n := 0; ; n++ {
			ok, err := scan.next(&r)
			if err != nil || !ok {
				break
			}
			if r.Seq != h.firstSeq+uint64(n) {
				t.Fatalf("batch %d at place %d after %d", r.Seq, n, h.firstSeq)
			}
			var e effect.Effect
			if _, err := r.Next(&e); err == nil && n < len(want) && string(e.Key) == "key" && string(e.Value) != want[n] {
				t.Fatalf("batch %d holds %q", r.Seq, e.Value)
			}
		}
		_ = scan.damage()
	})
}

// No bytes make a row decoder do more than say so; what it accepts, encodes to
// what decodes to the same.
func FuzzRows(f *testing.F) {
	e := effect.Effect{Kind: effect.RecordPut, Key: []byte("a:b:c"), OwnerLen: 3, Value: []byte("v"), Number: 2, DeadlineMs: 3, Count: 4}
	state := firstState()
	state.setDatabase(1, database{keyspace: databaseMax, space: 2})
	for _, row := range [][]byte{
		append(appendStringHead(nil, 5), "text"...), appendCollectionKey(nil, keyHash, 9), appendCollectionKey(nil, keyStream, 9),
		appendRecordKey(nil, &keyValue{deadlineMs: 1, ownerLen: 2, version: 3, keep: 4, seq: 5, timeMs: 6, value: []byte("v")}),
		appendCollection(nil, &collectionValue{deadlineMs: 1, key: []byte("k")}), appendHistory(nil, 7, &e),
		appendEvent(nil, 1, []byte("event")), appendHead(nil, &headValue{seq: 1, index: 2, timeMs: 3, event: []byte("e")}),
		appendCommand(nil, &commandValue{space: 1, timeMs: 2, version: 3, owner: []byte("o"), id: []byte("i"), payload: []byte("p")}),
		appendCount(nil, countValue{1, 2}), state.encode(),
		append(appendElementRow(nil, 1, 2, elementField), "field"...), appendPlace(appendNamedRow(nil, prefixHistory, 1, []byte("name")), 2, 3),
	} {
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		if v, err := decodeKey(row, 100); err == nil && !v.kind.isCollection() {
			again, err := decodeKey(appendKeyValue(nil, &v), 100)
			if err != nil || again.deadlineMs != v.deadlineMs || again.ownerLen != v.ownerLen || again.version != v.version || !bytes.Equal(again.value, v.value) {
				t.Fatalf("%+v became %+v: %v", v, again, err)
			}
		}
		change := effect.Effect{Key: make([]byte, 100)}
		if timeMs, err := decodeHistory(row, &change); err == nil {
			again := effect.Effect{Key: change.Key}
			gotMs, err := decodeHistory(appendHistory(nil, timeMs, &change), &again)
			if err != nil || gotMs != timeMs || again.Number != change.Number || again.DeadlineMs != change.DeadlineMs || !bytes.Equal(again.Value, change.Value) {
				t.Fatalf("%+v became %+v: %v", change, again, err)
			}
		}
		if s, err := decodeState(row); err == nil {
			again, err := decodeState(s.encode())
			if err != nil || again.seq != s.seq || len(again.moved) != len(s.moved) {
				t.Fatalf("%+v became %+v: %v", s, again, err)
			}
		}
		if v, err := decodeCommand(row); err == nil {
			again, err := decodeCommand(appendCommand(nil, &v))
			if err != nil || again.space != v.space || !bytes.Equal(again.id, v.id) || !bytes.Equal(again.payload, v.payload) {
				t.Fatalf("%+v became %+v: %v", v, again, err)
			}
		}
		_, _ = decodeCollection(row)
		_, _, _ = decodeEvent(row)
		_, _ = decodeHead(row)
		_, _ = decodeCount(row)
		if keyspace, collection, part, name, ok := cutElement(row); ok && row[0] == prefixElement {
			if !bytes.Equal(append(appendElementRow(nil, keyspace, collection, part), name...), row) {
				t.Fatalf("element row %q", row)
			}
		}
		_, _, _, _ = cutNamed(row)
	})
}
