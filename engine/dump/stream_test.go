package dump

import (
	"reflect"
	"testing"

	"reminis/engine/stream"
)

// node is a node of a stream as Redis 7.0.15 wrote it, with its id and their
// lengths: 1-1 {f v} deleted, 1-2 {f w g 7}, 2-0 {f x}.
const (
	nodeID = "10 00000000000000010000000000000001"
	node   = "3e 3e000000 1800 0201 0101 0101 816602 0001" +
		"0301 0001 0001 817602 0401" +
		"0001 0001 0101 0201 816602 817702 816702 0701 0801" +
		"0201 0101 dfff02 817802 0401 ff"
)

// streamForms are streams in the forms of several servers, and how many entries,
// groups and pending entries they have.
var streamForms = []struct {
	name, value              string
	entries, groups, pending int
}{
	{"with a group, of Redis 7.0", "13 01" + nodeID + node + "02 02 00 01 02 01 01 03" +
		"01 01 67 02 00 03 01 0000000000000001 0000000000000002 0010a5d4e8000000 03" +
		"01 01 63 88a5d4e800000000 01 0000000000000001 0000000000000002", 2, 1, 1},
	{"with a group, of Redis 5", "0f 01" + nodeID + node + "02 02 00 01 01 67 02 00 00 00", 2, 1, 0},
	{"with a consumer, of Redis 7.2", "15 01" + nodeID + node + "02 02 00 01 02 01 01 03" +
		"01 01 67 02 00 03 00 01 01 63 88a5d4e800000000 99a5d4e800000000 00", 2, 1, 0},
	{"without entries", "13 00 00 05 05 00 00 00 00 00 00", 0, 0, 0},
	{"a node whose integers are longer than they need be", "13 01" + nodeID +
		"23 23000000 0a00 f1010003 f2000000 04 0101 816602 0001 0201 c00002 0001 817602 0401 ff" + "01 01 01 01 01 00 00 01 00", 1, 0, 0},
}

func TestReadStreams(t *testing.T) {
	for _, test := range streamForms {
		v, err := NewReader(unhex(t, test.value), testLimits).Value()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		pending := 0
		for i := range v.Stream.Groups {
			pending += len(v.Stream.Groups[i].Pending)
		}
		if v.Type.Content() != Stream || int(v.Stream.Length) != test.entries || len(v.Stream.Groups) != test.groups || pending != test.pending {
			t.Errorf("%s: read %+v", test.name, v.Stream)
		}
		checkStream(t, nil, v.Stream)
	}
}

// TestEntriesOfStreams reads the entries of a node one by one.
func TestEntriesOfStreams(t *testing.T) {
	v, err := NewReader(unhex(t, streamForms[0].value), testLimits).Value()
	if err != nil {
		t.Fatal(err)
	}
	have := ""
	for w := stream.Forward(v.Stream.Blocks[0].Bytes, v.Stream.Blocks[0].First); w.Next(); {
		if w.Deleted {
			have += "deleted "
		}
		have = string(w.ID.AppendText([]byte(have))) + " "
		w.Each(func(field, value []byte) { have += string(field) + "=" + string(value) + " " })
	}
	if want := "deleted 1-1 f=v 1-2 f=w g=7 2-0 f=x "; have != want {
		t.Errorf("read %s, not %s", have, want)
	}
	if p := v.Stream.Groups[0].Pending[0]; p.ID != (stream.ID{Ms: 1, Seq: 2}) || p.DeliveredMs != 1_000_000_000_000 || p.Count != 3 {
		t.Errorf("pending %+v", p)
	}
}

func TestStreamsRefused(t *testing.T) {
	const bounds = "02 02 00 01 02 01 01 03"
	for _, test := range []struct{ why, value string }{
		{"an id of 15 bytes", "13 01 0f 000000000000000100000000000001" + node + bounds + "00"},
		{"a node that is no listpack", "13 01" + nodeID + "01 61" + bounds + "00"},
		{"a node without entries", "13 01" + nodeID + "12 12000000 0500 0001 0001 0101 816602 0001 ff" + "00 02 00 01 02 01 01 03 00"},
		{"another number of entries", "13 01" + nodeID + node + "03 02 00 01 02 01 01 03 00"},
		{"a node twice", "13 02" + nodeID + node + nodeID + node + "04 02 00 01 02 01 01 03 00"},
		{"more nodes than bytes", "13 81 00ffffffffffffff" + nodeID + node + bounds + "00"},
		{"bounds cut off", "13 01" + nodeID + node + "02 02 00"},
		{"more groups than bytes", "13 00 00 05 05 00 00 00 00 00 81 00ffffffffffffff"},
		{"a group twice", "13 00 00 05 05 00 00 00 00 00 02 01 67 00 00 00 00 00 01 67 00 00 00 00 00"},
		{"more pending than bytes", "13 00 00 05 05 00 00 00 00 00 01 01 67 00 00 00 81 00ffffffffffffff 00"},
		{"pending for nobody", "13 00 00 05 05 00 00 00 00 00 01 01 67 00 00 00 01" + nodeID[2:] + "0000000000000000 01 00"},
		{"pending for a consumer alone", "13 00 00 05 05 00 00 00 00 00 01 01 67 00 00 00 00 01 01 63 0000000000000000 01" + nodeID[2:]},
		{"a consumer twice", "13 00 00 05 05 00 00 00 00 00 01 01 67 00 00 00 00 02 01 63 0000000000000000 00 01 63 0000000000000000 00"},
		{"pending twice", "13 00 00 05 05 00 00 00 00 00 01 01 67 00 00 00 02" + nodeID[2:] + "0000000000000000 01" + nodeID[2:] + "0000000000000000 01 00"},
	} {
		if v, err := NewReader(unhex(t, test.value), testLimits).Value(); err == nil {
			t.Errorf("%s: read %+v", test.why, v.Stream)
		}
	}
}

// checkStream holds a stream to what the reader promises: its entries can be
// walked in both directions, and what is written of it reads as the same.
func checkStream(t *testing.T, data []byte, v *stream.Value) {
	t.Helper()
	for i := range v.Blocks {
		b := &v.Blocks[i]
		entries, deleted := stream.Count(b.Bytes, b.First, 0)
		if entries != b.Entries || deleted != b.Deleted {
			t.Fatalf("%x: %d entries and %d deleted, not %d and %d", data, entries, deleted, b.Entries, b.Deleted)
		}
		for w := stream.Back(b.Bytes, b.First); w.Next(); entries-- {
			w.Each(func(_, _ []byte) {})
		}
		if entries != 0 {
			t.Fatalf("%x: %d entries more forward than back", data, entries)
		}
	}
	again, err := NewReader(Form{}.AppendStream(nil, v), testLimits).Value()
	if err != nil {
		t.Fatalf("%x: written and read: %v", data, err)
	}
	// What an older server did not say is said now.
	again.Stream.Estimated, again.Stream.First = v.Estimated, v.First
	if !reflect.DeepEqual(again.Stream, v) {
		t.Fatalf("%x: written and read as\n%+v, not\n%+v", data, again.Stream, v)
	}
}
