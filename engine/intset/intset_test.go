package intset

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// This file tests intsets against a sorted slice, and by the bytes that
// redis-server 7.0.15 dumps.

func TestAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, shift := range []int{60, 48, 40, 16, 0} {
		set, model := New(0), map[int64]bool{}
		for range 2000 {
			n := int64(r.Uint64()) >> shift
			if r.IntN(3) == 0 && len(model) > 0 {
				n = At(set, r.IntN(Len(set)))
			}
			var changed bool
			if r.IntN(3) == 0 {
				set, changed = Remove(set, n)
				if changed != model[n] {
					t.Fatalf("Remove %d: %v", n, changed)
				}
				delete(model, n)
			} else {
				set, changed = Add(set, n)
				if changed == model[n] {
					t.Fatalf("Add %d: %v", n, changed)
				}
				model[n] = true
			}
			if Has(set, n) != model[n] || Len(set) != len(model) {
				t.Fatalf("after %d: it has it %v, and %d of %d", n, Has(set, n), Len(set), len(model))
			}
			if err := Validate(set); err != nil && len(model) > 0 {
				t.Fatal(err)
			}
		}
		for i := range Len(set) {
			if !model[At(set, i)] {
				t.Fatalf("%d is there and should not be", At(set, i))
			}
		}
	}
}

func TestBytesAsRedis(t *testing.T) {
	for _, test := range []struct {
		add, remove []int64
		want        string
	}{
		{[]int64{3, 1, 2}, nil, "02000000 03000000 0100 0200 0300"},
		{[]int64{-1, 32768}, nil, "04000000 02000000 ffffffff 00800000"},
		{[]int64{-1, math.MinInt64, 5}, nil, "08000000 03000000 0000000000000080 ffffffffffffffff 0500000000000000"},
		{[]int64{1, 70000}, []int64{70000}, "04000000 01000000 01000000"},
	} {
		set := New(0)
		for _, n := range test.add {
			set, _ = Add(set, n)
		}
		for _, n := range test.remove {
			set, _ = Remove(set, n)
		}
		want, err := hex.DecodeString(strings.ReplaceAll(test.want, " ", ""))
		if err != nil || !bytes.Equal(set, want) {
			t.Errorf("%v without %v: %x, want %x", test.add, test.remove, set, want)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct{ why, data string }{
		{"nothing", ""},
		{"half a header", "02000000 0100"},
		{"no integer", "02000000 00000000"},
		{"three bytes wide", "03000000 01000000 010000"},
		{"more than there is", "02000000 02000000 0100"},
		{"less than there is", "02000000 01000000 0100 0200"},
		{"a count whose size wraps", "08000000 00000020"},
		{"one twice", "02000000 02000000 0100 0100"},
		{"out of order", "02000000 02000000 0200 0100"},
		{"out of order by its sign", "02000000 02000000 0100 ffff"},
	} {
		data, err := hex.DecodeString(strings.ReplaceAll(test.data, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if Validate(data) == nil {
			t.Errorf("%s passes", test.why)
		}
	}
}

func FuzzValidate(f *testing.F) {
	set := New(0)
	for _, n := range []int64{1, -5, 70000, math.MaxInt64} {
		set, _ = Add(set, n)
		f.Add(slices.Clone(set))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if Validate(data) != nil {
			return
		}
		before := Len(data)
		for i := range before {
			if !Has(data, At(data, i)) {
				t.Fatalf("%x does not have its integer %d", data, i)
			}
		}
		set, added := Add(slices.Clone(data), 12345)
		if Validate(set) != nil || added != (Len(set) == before+1) {
			t.Fatalf("%x after %x", set, data)
		}
	})
}
