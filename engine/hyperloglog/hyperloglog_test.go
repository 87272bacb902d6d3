package hyperloglog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// This file tests values against plain registers, and by what redis-server 7.0.15
// makes of the same elements.

// add adds elements to a new value.
func add(t testing.TB, sparseMax int, elements ...string) []byte {
	t.Helper()
	value := New()
	for _, element := range elements {
		var err error
		if value, _, err = Add(value, []byte(element), sparseMax); err != nil {
			t.Fatal(err)
		}
	}
	return value
}

func TestBytesAsRedis(t *testing.T) {
	for _, test := range []struct{ elements, value, runs string }{
		{"", "48594c4c0100000000000000000000007fff", "Z:16384"},
		{"a", "48594c4c01000000000000000000000071a6844e57", "Z:12711 v:2,1 Z:3672"},
		{"a b c", "48594c4c01000000000000000000000060f38050b1844bfb80425a", "Z:8436 v:1,1 Z:4274 v:2,1 Z:3068 v:1,1 Z:603"},
	} {
		value := add(t, 3000, strings.Fields(test.elements)...)
		want, err := hex.DecodeString(test.value)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(value, want) {
			t.Errorf("%q: %x, want %x", test.elements, value, want)
		}
		if runs := string(AppendRuns(nil, value)); runs != test.runs {
			t.Errorf("%q: %s, want %s", test.elements, runs, test.runs)
		}
	}
}

// TestAgainstRegisters adds random ranks in random order, so that runs of every
// kind are split and joined, and compares with plain registers.
func TestAgainstRegisters(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, test := range []struct{ adds, indexes, ranks, sparseMax int }{
		{500, registerCount, 4, 3000},
		{3000, 64, 3, 3000},     // long runs
		{3000, 2000, 32, 12000}, // every rank that runs can have
		{3000, registerCount, 3, 1000},
		{300, registerCount, rankMax, 3000},
	} {
		value, want := New(), new(Registers)
		for range test.adds {
			index, rank := r.IntN(test.indexes), uint8(1+r.IntN(test.ranks))
			var changed bool
			var err error
			if value, changed, err = raise(value, index, rank, test.sparseMax); err != nil {
				t.Fatal(err)
			}
			if changed != (rank > want[index]) {
				t.Fatalf("register %d of %d to %d: changed %v", index, want[index], rank, changed)
			}
			want[index] = max(want[index], rank)
			if Check(value) != nil || IsSparse(value) && len(value) > test.sparseMax {
				t.Fatalf("%d bytes, %v", len(value), Check(value))
			}
		}
		have := new(Registers)
		if err := have.Merge(value); err != nil || *have != *want {
			t.Fatalf("%+v: other registers, %v", test, err)
		}
		wide, err := ToDense(value)
		if err != nil {
			t.Fatal(err)
		}
		have = new(Registers)
		if err := have.Merge(wide); err != nil || *have != *want {
			t.Fatalf("%+v: other registers when dense, %v", test, err)
		}
		if a, err := Count(value); err != nil || a != want.Count() {
			t.Fatalf("%+v: counts %d and %d, %v", test, a, want.Count(), err)
		}
	}
}

// TestPatch says of each element what changes in a dense value.
func TestPatch(t *testing.T) {
	value, err := ToDense(New())
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(value)
	for i := range 20_000 {
		element := []byte(strconv.Itoa(i))
		offset, data, size := Patch(value, element)
		copy(value[offset:], data[:size])
		var changed bool
		if want, changed, err = Add(want, element, 3000); err != nil || changed != (size > 0) {
			t.Fatalf("element %d: %d bytes, %v, %v", i, size, changed, err)
		}
		if !bytes.Equal(value, want) {
			t.Fatalf("element %d leaves other bytes", i)
		}
	}
}

func TestSelfTest(t *testing.T) {
	if err := SelfTest(3000); err != nil {
		t.Error(err)
	}
}

func TestCounted(t *testing.T) {
	value := add(t, 3000, "a", "b", "c")
	if count, err := Count(value); count != 3 || err != nil {
		t.Errorf("%d, %v", count, err)
	}
	MarkStale(value)
	if _, ok := Counted(value); ok {
		t.Error("a count that is out of date is given")
	}
	offset, data := CountBytes(3)
	copy(value[offset:], data[:])
	if count, ok := Counted(value); count != 3 || !ok {
		t.Errorf("%d, %v", count, ok)
	}
	offset, data[0] = StaleByte(value)
	if value[offset] = data[0]; !IsStale(value) {
		t.Error("the byte leaves the count as it was")
	}
}

func TestCheck(t *testing.T) {
	dense, err := ToDense(New())
	if err != nil {
		t.Fatal(err)
	}
	bad := func(value []byte, at int, b byte) []byte {
		value = bytes.Clone(value)
		value[at] = b
		return value
	}
	for _, test := range []struct {
		why  string
		text []byte
		good bool
	}{
		{"nothing", nil, false},
		{"half a header", New()[:15], false},
		{"no runs, which is corrupt but a value", New()[:16], true},
		{"sparse", New(), true},
		{"dense", dense, true},
		{"dense and short", dense[:len(dense)-1], false},
		{"dense and long", append(bytes.Clone(dense), 0), false},
		{"another word", bad(New(), 0, 'h'), false},
		{"another encoding", bad(New(), 4, 2), false},
		{"sparse that says dense", bad(New(), 4, 0), false},
	} {
		if (Check(test.text) == nil) != test.good {
			t.Errorf("%s: %v", test.why, Check(test.text))
		}
	}
}

func TestCorrupt(t *testing.T) {
	value := func(runs ...byte) []byte { return append(New()[:headerBytes], runs...) }
	for _, test := range []struct {
		why  string
		runs []byte
	}{
		{"no runs", nil},
		{"too few registers", []byte{0x7f, 0xfe}},
		{"too many", []byte{0x7f, 0xff, 0x00}},
		{"too many ranks", []byte{0x7f, 0xfe, 0x83}},
		{"cut off", []byte{0x7f}},
	} {
		corrupt := value(test.runs...)
		if _, err := Count(corrupt); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: it is counted: %v", test.why, err)
		}
		if err := new(Registers).Merge(corrupt); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: it is merged: %v", test.why, err)
		}
		if _, err := ToDense(corrupt); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: it becomes dense: %v", test.why, err)
		}
	}
	if _, _, err := raise(value(0x7f, 0x00), registerCount-1, 1, 3000); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a register beyond the runs is raised: %v", err)
	}
}

// FuzzHostile does everything with any string: nothing panics, and what is left is
// a value.
func FuzzHostile(f *testing.F) {
	f.Add(New(), []byte("a"), []byte("b"))
	f.Add(add(f, 3000, "a", "b", "c"), []byte("d"), []byte("e"))
	f.Add(append(New()[:headerBytes], 0x7f), []byte("a"), []byte("b"))
	f.Add(append(New()[:headerBytes], 0xff, 0xff, 0x3f, 0x40), []byte("a"), []byte("b"))
	f.Fuzz(func(t *testing.T, text, first, second []byte) {
		if Check(text) != nil {
			return
		}
		text = bytes.Clone(text)
		AppendRuns(nil, text)
		_, _ = Count(text)
		registers := new(Registers)
		_ = registers.Merge(text)
		_ = registers.Count()
		_, _ = ToDense(text)
		for _, element := range [][]byte{first, second} {
			var err error
			if text, _, err = Add(text, element, 3000); err != nil {
				return
			}
			if Check(text) != nil {
				t.Fatalf("%x is no value", text)
			}
		}
		registers = new(Registers)
		if registers.Merge(text) == nil {
			_, _ = registers.Raise(text, 3000)
		}
	})
}
