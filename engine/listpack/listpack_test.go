// This file owns the tests that need nothing but this package: layouts as a
// table, operations against a model, hostile bytes.

package listpack

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestLayout(t *testing.T) {
	for _, c := range []struct{ text, element string }{
		{"0", "00 01"},
		{"127", "7f 01"},
		{"128", "c080 02"},
		{"-1", "dfff 02"},
		{"-4096", "d000 02"},
		{"4095", "cfff 02"},
		{"4096", "f10010 03"},
		{"-4097", "f1ffef 03"},
		{"32767", "f1ff7f 03"},
		{"-32769", "f2ff7fff 04"},
		{"8388607", "f2ffff7f 04"},
		{"8388608", "f300008000 05"},
		{"-2147483648", "f300000080 05"},
		{"2147483648", "f40000008000000000 09"},
		{"-9223372036854775808", "f40000000000000080 09"},
		{"9223372036854775807", "f4ffffffffffffff7f 09"},
		{"9223372036854775808", "93" + hex.EncodeToString([]byte("9223372036854775808")) + " 14"},
		{"-9223372036854775809", "94" + hex.EncodeToString([]byte("-9223372036854775809")) + " 15"},
		{"", "80 01"},
		{"-", "812d 02"},
		{"-0", "822d30 03"},
		{"007", "83303037 04"},
		{"+1", "822b31 03"},
		{" 1", "822031 03"},
		{"1a", "823161 03"},
	} {
		lp := Append(New(0), []byte(c.text))
		want, err := hex.DecodeString(strings.ReplaceAll(c.element, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := lp[headerBytes:End(lp)]; !bytes.Equal(got, want) {
			t.Errorf("%q is % x, want % x", c.text, got, want)
		}
		if got := Get(lp, First(lp)); string(got.AppendTo(nil)) != c.text || !got.Equal([]byte(c.text)) || got.TextLen() != len(c.text) {
			t.Errorf("%q comes back as %+v", c.text, got)
		}
		if err := Validate(lp); err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

func TestLongStrings(t *testing.T) {
	for _, n := range []int{62, 63, 64, 125, 126, 127, 4093, 4095, 4096, 16376, 16377, 16378, 16379, 2097145, 2097146, 2097147} {
		text := bytes.Repeat([]byte{'x'}, n)
		lp := Append(Append(Append(New(0), []byte("before")), text), []byte("behind"))
		if err := Validate(lp); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		pos := Prev(lp, Last(lp))
		if pos != Next(lp, First(lp)) || !bytes.Equal(Get(lp, pos).Text, text) {
			t.Fatalf("%d bytes: walking backwards and forwards differ", n)
		}
	}
}

// check compares a listpack with the texts it should hold, by every way to
// read it.
func check(t *testing.T, lp []byte, want []string) {
	t.Helper()
	if err := Validate(lp); err != nil {
		t.Fatal(err)
	}
	if Len(lp) != len(want) || Bytes(lp) != len(lp) {
		t.Fatalf("Len %d Bytes %d, want %d and %d", Len(lp), Bytes(lp), len(want), len(lp))
	}
	pos := First(lp)
	for i, text := range want {
		if got := Get(lp, pos); string(got.AppendTo(nil)) != text {
			t.Fatalf("element %d is %+v, want %.30q", i, got, text)
		}
		pos = Next(lp, pos)
	}
	if pos != None {
		t.Fatal("there are more elements")
	}
	pos = Last(lp)
	for i := len(want) - 1; i >= 0; i-- {
		if got := Get(lp, pos); !got.Equal([]byte(want[i])) {
			t.Fatalf("backwards: element %d is %+v, want %.30q", i, got, want[i])
		}
		pos = Prev(lp, pos)
	}
	if pos != None {
		t.Fatal("backwards: there are more elements")
	}
}

func randomText(random *rand.Rand) []byte {
	switch random.IntN(4) {
	case 0:
		return fmt.Appendf(nil, "%d", random.Int64()>>random.IntN(64))
	case 1:
		return fmt.Appendf(nil, "%d", random.IntN(10))
	case 2:
		return bytes.Repeat([]byte{byte(random.UintN(256))}, random.IntN(200))
	}
	if random.IntN(20) == 0 {
		return bytes.Repeat([]byte("long"), random.IntN(6000))
	}
	return fmt.Appendf(nil, "text %d", random.IntN(1000))
}

func TestAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 60 {
		lp, model := New(0), []string{}
		for range 80 {
			lp, model = randomChange(t, random, lp, model)
			check(t, lp, model)
		}
	}
}

func randomChange(t *testing.T, random *rand.Rand, lp []byte, model []string) ([]byte, []string) {
	t.Helper()
	text := randomText(random)
	at := random.IntN(len(model) + 1)
	pos := Index(lp, at)
	if (pos == None) != (at == len(model)) {
		t.Fatalf("Index(%d) of %d elements is %d", at, len(model), pos)
	}
	if pos != None && pos != Index(lp, at-len(model)) {
		t.Fatalf("Index(%d) and Index(%d) differ", at, at-len(model))
	}
	switch op := random.IntN(5); {
	case pos == None:
		return Append(lp, text), append(model, string(text))
	case op <= 1:
		return Insert(lp, pos, text), slices.Insert(model, at, string(text))
	case op == 2:
		model[at] = string(text)
		return Replace(lp, pos, text), model
	case op == 3:
		count := random.IntN(4)
		return DeleteRange(lp, pos, count), slices.Delete(model, at, min(len(model), at+count))
	}
	skip := random.IntN(3)
	want := None
	for i := at; i < len(model); i += skip + 1 {
		if model[i] == string(text) {
			want = Index(lp, i)
			break
		}
	}
	if got := Find(lp, pos, text, skip); got != want {
		t.Fatalf("Find(%q) from element %d with skip %d: %d, want %d", text, at, skip, got, want)
	}
	return lp, model
}

func TestMoreElementsThanTheHeaderCounts(t *testing.T) {
	lp := New(0)
	for i := range countUnknown + 10 {
		lp = AppendInt(lp, int64(i))
	}
	if Len(lp) != countUnknown+10 || headerCount(lp) != countUnknown {
		t.Fatalf("Len %d, in the header %d", Len(lp), headerCount(lp))
	}
	if got := Get(lp, Index(lp, -1)).Int; got != countUnknown+9 {
		t.Fatalf("the last element is %d", got)
	}
	if Index(lp, countUnknown+10) != None || Index(lp, -countUnknown-11) != None {
		t.Fatal("Index found what is not there")
	}
	lp = DeleteRange(lp, First(lp), countUnknown)
	check(t, lp, []string{"65535", "65536", "65537", "65538", "65539", "65540", "65541", "65542", "65543", "65544"})
}

func TestValidateRefuses(t *testing.T) {
	good := Append(Append(New(0), []byte("field")), bytes.Repeat([]byte("v"), 100))
	change := func(at int, b byte) []byte {
		bad := slices.Clone(good)
		bad[(at+len(bad))%len(bad)] = b
		return bad
	}
	for name, bad := range map[string][]byte{
		"nothing":                    nil,
		"half a header":              {7, 0, 0},
		"a header only":              {6, 0, 0, 0, 0, 0},
		"a length beyond":            change(0, 255),
		"a length below":             change(0, 7),
		"a wrong count":              change(4, 3),
		"no end":                     change(-1, 0),
		"an end too early":           change(headerBytes, endByte),
		"no encoding":                change(headerBytes, 0xF5),
		"an element too long":        change(headerBytes, encodingString6|63),
		"an element too short":       change(headerBytes, encodingString6|3),
		"a wrong backward length":    change(headerBytes+6, 5),
		"an endless backward length": change(headerBytes+6, 0x86),
		"a string cut off":           {11, 0, 0, 0, 1, 0, encodingString32, 1, 0, 0, endByte},
		"a string of 4 GB":           {13, 0, 0, 0, 1, 0, encodingString32, 255, 255, 255, 255, 4, endByte},
		"an integer cut off":         {9, 0, 0, 0, 1, 0, encodingInt64, 1, endByte},
	} {
		if err := Validate(bad); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestValidateAcceptsLongerEncodings(t *testing.T) {
	// Redis accepts these too, and a restored hash may contain them.
	lp := []byte{0, 0, 0, 0, 3, 0,
		encodingInt64, 5, 0, 0, 0, 0, 0, 0, 0, 9,
		encodingString12, 1, 'x', 3,
		encodingString32, 2, 0, 0, 0, '4', '2', 7,
		endByte}
	lp[0] = byte(len(lp))
	check(t, lp, []string{"5", "x", "42"})
	for _, text := range []string{"5", "x", "42"} {
		if pos := Find(lp, First(lp), []byte(text), 0); pos == None || !Get(lp, pos).Equal([]byte(text)) {
			if text != "42" { // the string "42" is not the integer 42, in Redis neither
				t.Errorf("%q is not found", text)
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	lp := New(1024)
	for i := range 50 {
		lp = Append(lp, fmt.Appendf(nil, "field %d", i))
	}
	text := []byte("field 49")
	if n := testing.AllocsPerRun(100, func() {
		if Find(lp, First(lp), text, 0) == None {
			t.Fatal("not found")
		}
	}); n != 0 {
		t.Errorf("Find: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		lp = Replace(lp, First(lp), text)
		lp = DeleteRange(Append(lp, text), First(lp), 1)
	}); n != 0 {
		t.Errorf("changes within the capacity: %v allocations", n)
	}
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(New(0))
	f.Add(Append(AppendInt(AppendInt(New(0), math.MinInt64), -3000), bytes.Repeat([]byte("long"), 2000)))
	f.Add([]byte{13, 0, 0, 0, 1, 0, encodingString32, 255, 255, 255, 255, 4, endByte})
	f.Fuzz(func(t *testing.T, data []byte) {
		// The header's length is filled in, or no mutation would get past it.
		if len(data) >= headerBytes+1 {
			data = slices.Clone(data)
			data[0], data[1], data[2], data[3] = byte(len(data)), byte(len(data)>>8), byte(len(data)>>16), 0
			data[len(data)-1] = endByte
		}
		if Validate(data) != nil {
			return
		}
		texts := []string{}
		for pos := First(data); pos != None; pos = Next(data, pos) {
			texts = append(texts, string(Get(data, pos).AppendTo(nil)))
		}
		check(t, data, texts)
		if len(texts) == 0 {
			return
		}
		middle := len(texts) / 2
		changed := Replace(slices.Clone(data), Index(data, middle), []byte("replaced"))
		changed = DeleteRange(Insert(changed, First(changed), []byte("-1")), Index(changed, 0), 1)
		texts[middle] = "replaced"
		check(t, changed, texts)
	})
}

// FuzzChanges reads the bytes as changes and compares with a model.
func FuzzChanges(f *testing.F) {
	f.Add([]byte("a1b2c3"), uint64(1))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, uint64(2))
	f.Fuzz(func(t *testing.T, changes []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		lp, model := New(0), []string{}
		for range min(len(changes), 64) {
			lp, model = randomChange(t, random, lp, model)
		}
		check(t, lp, model)
	})
}

func BenchmarkFind(b *testing.B) {
	lp := New(0)
	for i := range 128 {
		lp = Append(Append(lp, fmt.Appendf(nil, "field:%d", i)), []byte("value"))
	}
	text := []byte("field:64")
	for b.Loop() {
		if Find(lp, First(lp), text, 1) == None {
			b.Fatal("not found")
		}
	}
}
