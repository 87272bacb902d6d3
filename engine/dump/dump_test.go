package dump

// This file shows the form of values by their bytes, as redis-server 7.0.15 and
// its predecessors wrote them, and damages each of them in every place.

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"reminis/engine/listpack"
)

var testLimits = Limits{StringBytes: 1 << 20, TotalBytes: 1 << 22}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// stringForms are payloads of Redis 7.0.15.
var stringForms = []struct {
	text, payload string
}{
	{"hello", "00 05 68656c6c6f 0a00 6372df766534200a"},
	{"", "00 00 0a00 5d9b5c400f7fa2da"},
	{"0", "00 c000 0a00 9840a778f8500308"},
	{"-1", "00 c0ff 0a00 0c937e2485089dc5"},
	{"127", "00 c07f 0a00 0db5eb315254c514"},
	{"128", "00 c18000 0a00 eb7ab3b510cf4b65"},
	{"-32769", "00 c2ff7fffff 0a00 aee34c4d06c68536"},
	{"2147483647", "00 c2ffffff7f 0a00 2c74e59ee02eada1"},
	{"2147483648", "00 0a 32313437343833363438 0a00 e7b129a34c1d76ee"},
	{"007", "00 03 303037 0a00 7258e27b4c69bad9"},
	{strings.Repeat("a", 20), "00 14 6161616161616161616161616161616161616161 0a00 83b46b5e1b11acf1"},
}

func TestStringsAsRedisWritesThem(t *testing.T) {
	for _, test := range stringForms {
		want := unhex(t, test.payload)
		if have := Seal(Form{}.AppendStringValue(nil, []byte(test.text))); !bytes.Equal(have, want) {
			t.Errorf("%q:\nwant %x\nhave %x", test.text, want, have)
		}
	}
}

func TestReadStrings(t *testing.T) {
	tests := append(stringForms, []struct{ text, payload string }{
		{strings.Repeat("a", 21), "00 c3 06 15 016161e00a00 0a00 fd0cb36807413f68"},
		{strings.Repeat("a", 100), "00 c3 09 4064 016161e057000161610a00e8a3b507b06df271"},
		{strings.Repeat("abc", 30), "00 c3 0b 405a 0361626361e04b020162630a00238036f9e2d0c780"},
	}...)
	for _, test := range tests {
		payload := unhex(t, test.payload)
		if err := Verify(payload, false); err != nil {
			t.Errorf("%q: %v", test.text, err)
		}
		v, err := NewReader(payload, testLimits).Value()
		if err != nil || v.Type != TypeString || string(v.Text) != test.text {
			t.Errorf("%q: read %+v, %v", test.text, v, err)
		}
	}
}

// hashForms are one hash in the forms of several servers.
var hashForms = []struct {
	name, value, pairs string
}{
	{"a count, fields and values", "04 02 026631 027631 026632 c00c", "f1 v1 f2 12"},
	{"listpack", "10 1c 1c000000 0400 82663103 82763103 82663203 82763203 05 01 06 01 ff", ""},
	{"listpack, compressed", "10c31d3f153f00000006008166028176020101dffb02816702a878e01e000129ff", "f v 1 -5 g " + strings.Repeat("x", 40)},
	{"ziplist of hash-ziplist.rdb", "0d 1b 1b000000 16000000 0400 0002 6631 04 02 7631 04 02 6632 04 02 7632 ff", "f1 v1 f2 v2"},
	{"ziplist of integers", "0d 2f 2f000000 2a000000 0800 00c03930 04f1 02fe80 03fd" +
		" 02f0ffffff 05 d015cd5b07 06e0ffffffffffffff7f 0a 02 7a7a ff", "12345 0 -128 12 -1 123456789 9223372036854775807 zz"},
	{"zipmap of hash-zipmap.rdb", "09 10 02 02 6631 02 00 7631 02 6632 02 00 7632 ff", "f1 v1 f2 v2"},
	{"zipmap with unused bytes", "09 0b 01 01 61 02 03 6262 787878 ff", "a bb"},
}

// setForms are one set in the forms of several servers.
var setForms = []struct {
	name, value, members string
}{
	{"a count and members", "02 03 0161 c00c 0162", "a 12 b"},
	{"intset of 16 bits", "0b 0e 02000000 03000000 ffff 0100 0200", "-1 1 2"},
	{"intset of 64 bits", "0b 18 08000000 02000000 0000000000000080 0100000000000000", "-9223372036854775808 1"},
	{"listpack", "14 0c 0c000000 0200 8161 02 0501 ff", "a 5"},
}

func TestReadSets(t *testing.T) {
	for _, test := range setForms {
		v, err := NewReader(unhex(t, test.value), testLimits).Value()
		if have := string(bytes.Join(v.Members, []byte(" "))); err != nil || v.Type.Content() != Set || have != test.members {
			t.Errorf("%s: want %s, have %s, %v", test.name, test.members, have, err)
		}
	}
}

func TestReadHashes(t *testing.T) {
	for _, test := range hashForms {
		if test.pairs == "" {
			continue
		}
		v, err := NewReader(unhex(t, test.value), testLimits).Value()
		if have := string(bytes.Join(v.Pairs, []byte(" "))); err != nil || v.Type.Content() != Hash || have != test.pairs {
			t.Errorf("%s: want %s, have %s, %v", test.name, test.pairs, have, err)
		}
	}
}

// TestDamage cuts every form off at every length and changes every byte of it:
// the reader takes it or not, but never panics and never returns what breaks its
// promises.
func TestDamage(t *testing.T) {
	var values [][]byte
	for _, test := range hashForms {
		values = append(values, unhex(t, test.value))
	}
	for _, test := range listForms {
		values = append(values, unhex(t, test.value))
	}
	for _, test := range stringForms {
		values = append(values, unhex(t, test.payload))
	}
	for _, test := range setForms {
		values = append(values, unhex(t, test.value))
	}
	for _, test := range streamForms {
		values = append(values, unhex(t, test.value))
	}
	for _, test := range sortedSetForms {
		values = append(values, unhex(t, test.value))
	}
	taken, refused := 0, 0
	for _, value := range values {
		for size := range value {
			readDamaged(t, value[:size], &taken, &refused)
		}
		for at := range value {
			damaged := bytes.Clone(value)
			for b := range 256 {
				damaged[at] = byte(b)
				readDamaged(t, damaged, &taken, &refused)
			}
		}
	}
	if taken == 0 || refused == 0 {
		t.Errorf("%d taken, %d refused: the test shows nothing", taken, refused)
	}
}

func readDamaged(t *testing.T, data []byte, taken, refused *int) {
	t.Helper()
	v, err := NewReader(data, testLimits).Value()
	if err != nil {
		*refused++
		return
	}
	*taken++
	checkValue(t, data, v)
}

// checkValue holds a value to what the reader promises.
func checkValue(t *testing.T, data []byte, v Value) {
	t.Helper()
	if v.Type.Content() == Stream {
		checkStream(t, data, v.Stream)
		return
	}
	total := len(v.Text)
	list, group := v.Members, 1
	switch v.Type.Content() {
	case Hash:
		list, group = v.Pairs, 2
	case List:
		list = v.Elements
	}
	if v.Type.Content() != String && (len(list) == 0 || len(list)%group != 0) {
		t.Fatalf("%x: %d strings", data, len(list))
	}
	if len(v.Scores) != 0 && len(v.Scores) != len(v.Members) || v.Type.Content() == SortedSet && len(v.Scores) == 0 {
		t.Fatalf("%x: %d scores of %d members", data, len(v.Scores), len(v.Members))
	}
	seen := map[string]bool{}
	for i, text := range list {
		total += len(text)
		if i%group == 0 && seen[string(text)] && v.Type.Content() != List {
			t.Fatalf("%x: %q twice", data, text)
		}
		seen[string(text)] = seen[string(text)] || i%group == 0
	}
	if total > len(data)*20+testLimits.TotalBytes {
		t.Fatalf("%x: %d bytes read", data, total)
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct{ why, value string }{
		{"nothing", ""},
		{"no type", "08 01 61"},
		{"no type", "14 01 61"},
		{"a module", "06 00"},
		{"a module", "07 00"},
		{"no type", "63 00"},
		{"a string cut off", "00 05 61"},
		{"a length that is none", "00 90 61"},
		{"a length near the end of numbers", "00 81 ffffffffffffffff"},
		{"a length near the end of numbers", "00 81 7fffffffffffffff"},
		{"a special string that is none", "00 c4 00"},
		{"compressed, and longer than it can become", "00 c3 03 80ffffff00 e0ff00"},
		{"compressed, from before its beginning", "00 c3 02 03 2005"},
		{"compressed, and too long by one", "00 c3 03 02 02616263"},
		{"compressed, and too short by one", "00 c3 03 04 02616263"},
		{"a hash without fields", "04 00"},
		{"a hash of more fields than bytes", "04 81 00ffffffffffffff 01"},
		{"a field twice", "04 02 0166 0131 0166 0132"},
		{"a listpack without elements", "10 07 07000000 0000 ff"},
		{"a listpack of one element", "10 09 09000000 0100 0101 ff"},
		{"a listpack with a field twice", "10 0f 0f000000 0400 0101 0201 0101 0301 ff"},
		{"a set without members", "02 00"},
		{"a member twice", "02 02 0161 0161"},
		{"a set of more members than bytes", "02 81 00ffffffffffffff 01"},
		{"an intset without integers", "0b 08 02000000 00000000"},
		{"an intset out of order", "0b 0c 02000000 02000000 0200 0100"},
		{"an intset with one integer twice", "0b 0c 02000000 02000000 0100 0100"},
		{"an intset of no width", "0b 0a 03000000 01000000 0100"},
		{"a packed set with a member twice", "14 0c 0c000000 0200 0501 0501 ff"},
		{"a ziplist whose last entry is elsewhere", "0d 0f 0f000000 0b000000 0200 00f3 02f6 ff"},
		{"a ziplist with a wrong backward length", "0d 0f 0f000000 0c000000 0200 00f3 03f6 ff"},
		{"a ziplist of more entries than it says", "0d 0f 0f000000 0c000000 0300 00f3 02f6 ff"},
		{"a ziplist with an end in its middle", "0d 0f 0f000000 0c000000 0200 00f3 ff02 ff"},
		{"a zipmap without fields", "09 02 00ff"},
		{"a zipmap with a needlessly long length", "09 0c 01 fe01000000 61 01 00 62 ff"},
		{"a zipmap of more fields than it says", "09 10 03 02 6631 02 00 7631 02 6632 02 00 7632 ff"},
	} {
		if v, err := NewReader(unhex(t, test.value), testLimits).Value(); err == nil {
			t.Errorf("%s: read %+v", test.why, v)
		}
	}
}

// TestLimits shows that compressed bytes do not become more than is allowed.
func TestLimits(t *testing.T) {
	text := bytes.Repeat([]byte("x"), 1000)
	limits := Limits{StringBytes: 1000, TotalBytes: 3000}
	value := Form{}.AppendStringValue(nil, text)
	if v, err := NewReader(value, limits).Value(); err != nil || !bytes.Equal(v.Text, text) {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := NewReader(Form{}.AppendStringValue(nil, append(text, 'x')), limits).Value(); err == nil {
		t.Error("a string beyond the limit was read")
	}
	for count, allowed := range map[int]bool{3: true, 4: false} {
		hash := Form{}.AppendHash(nil, count, func(yield func(field, value []byte) bool) {
			for i := range count {
				if !yield(fmt.Appendf(nil, "f%d", i), text) {
					return
				}
			}
		})
		if _, err := NewReader(hash, limits).Value(); (err == nil) != allowed {
			t.Errorf("%d strings of a third of the limit: %v", count, err)
		}
	}
}

// A note is found behind any value, is none of another payload's, and is never
// longer than what is there.
func TestNote(t *testing.T) {
	value := Form{}.AppendStringValue(nil, []byte("value"))
	for _, text := range []string{"", "a note", strings.Repeat("long", 1000)} {
		payload := Seal(AppendNote(bytes.Clone(value), []byte(text)))
		note, ok := Note(payload)
		if !ok || string(note) != text || Verify(payload, false) != nil {
			t.Errorf("%q: %q, %t", text, note, ok)
		}
		read, err := NewReader(payload, Limits{StringBytes: 1 << 20, TotalBytes: 1 << 20}).Value()
		if err != nil || string(read.Text) != "value" {
			t.Errorf("%q: the value is %q, %v", text, read.Text, err)
		}
	}
	for _, payload := range [][]byte{nil, Seal(value), Seal(nil), Seal([]byte(noteMark)), Seal([]byte("\xff\xff\xff\xff" + noteMark)), Seal([]byte("abc\x04\x00\x00\x00" + noteMark))} {
		if note, ok := Note(payload); ok {
			t.Errorf("%q has the note %q", payload, note)
		}
	}
}

func TestVerify(t *testing.T) {
	good := Seal(Form{}.AppendStringValue(nil, []byte("hello")))
	if err := Verify(good, false); err != nil {
		t.Fatal(err)
	}
	for size := range good {
		if Verify(good[:size], false) == nil {
			t.Errorf("%d of %d bytes pass", size, len(good))
		}
	}
	for at := range good {
		damaged := bytes.Clone(good)
		damaged[at] ^= 1
		if Verify(damaged, false) == nil {
			t.Errorf("a change of byte %d passes", at)
		}
	}
	for version, known := range map[byte]bool{1: true, 9: true, 10: true, 11: true, 12: true, 13: false, 255: false} {
		payload := append([]byte{0, 1, 'a'}, version, 0)
		sum := Checksum(0, payload)
		for range 8 {
			payload = append(payload, byte(sum))
			sum >>= 8
		}
		if (Verify(payload, false) == nil) != known {
			t.Errorf("version %d: %v", version, Verify(payload, false))
		}
	}
}

func TestLengths(t *testing.T) {
	for _, n := range []uint64{0, 1, 63, 64, 16383, 16384, 1<<32 - 1, 1 << 32, 1<<64 - 1} {
		data := AppendLength(nil, n)
		r := NewReader(data, testLimits)
		if have, err := r.Length(); err != nil || have != n || r.Offset() != len(data) {
			t.Errorf("%d: read %d from %x, %v", n, have, data, err)
		}
	}
}

func TestCompress(t *testing.T) {
	for _, test := range []struct {
		name    string
		text    []byte
		atMost  int
		refused bool
	}{
		{"a run", bytes.Repeat([]byte{'a'}, 10_000), 200, false},
		{"a phrase", bytes.Repeat([]byte("the agent remembers. "), 100), 70, false},
		{"far apart", append(append(bytes.Repeat([]byte("0123456789"), 3), make([]byte, 9000)...), "0123456789"...), 200, false},
		{"nothing repeats", []byte("abcdefghijklmnopqrstuvwxyz"), 0, true},
	} {
		packed, ok := compress(nil, test.text, len(test.text)-compressGainBytes)
		if ok == test.refused || ok && len(packed) > test.atMost {
			t.Errorf("%s: %d bytes from %d, %t", test.name, len(packed), len(test.text), ok)
			continue
		}
		if back, err := expand(packed, len(test.text)); ok && (err != nil || !bytes.Equal(back, test.text)) {
			t.Errorf("%s: does not come back: %v", test.name, err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, test := range stringForms {
		f.Add([]byte(test.text))
	}
	f.Add(bytes.Repeat([]byte("abcdefg"), 50))
	f.Add(bytes.Repeat([]byte{0}, 300))
	f.Fuzz(func(t *testing.T, text []byte) {
		payload := Seal(Form{}.AppendStringValue(nil, text))
		if err := Verify(payload, false); err != nil {
			t.Fatal(err)
		}
		v, err := NewReader(payload, testLimits).Value()
		if err != nil || !bytes.Equal(v.Text, text) {
			t.Fatalf("%x: read %x, %v", text, v.Text, err)
		}
		if len(payload) > len(text)+1+9+FooterBytes {
			t.Fatalf("%d bytes for %d", len(payload), len(text))
		}
		pack := listpack.Append(listpack.Append(listpack.New(0), text), text)
		if v, err = NewReader(Form{}.AppendPackedHash(nil, pack), testLimits).Value(); err != nil || !bytes.Equal(v.Pairs[0], text) || !bytes.Equal(v.Pairs[1], text) {
			t.Fatalf("%x: packed, read %x, %v", text, v.Pairs, err)
		}
	})
}

func FuzzHostile(f *testing.F) {
	for _, test := range sortedSetForms {
		f.Add(unhex(f, test.value))
	}
	for _, test := range hashForms {
		f.Add(unhex(f, test.value))
	}
	for _, test := range setForms {
		f.Add(unhex(f, test.value))
	}
	for _, test := range stringForms {
		f.Add(unhex(f, test.payload))
	}
	for _, test := range streamForms {
		f.Add(unhex(f, test.value))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = Verify(data, false)
		if v, err := NewReader(data, testLimits).Value(); err == nil {
			checkValue(t, data, v)
		}
	})
}
