package listpack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRunAgainstListpack grows runs beside listpacks of the same elements, and
// reads both in every way.
func TestRunAgainstListpack(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var run Run
		pack := New(0)
		count := r.IntN(40)
		texts := make([]string, count)
		for i := range texts {
			texts[i] = fmt.Sprint(r.Int64() >> r.IntN(64))
			if r.IntN(2) == 0 {
				texts[i] = strings.Repeat("v", r.IntN(1<<r.IntN(14)))
			}
			size := len(run)
			run = AppendElement(run, []byte(texts[i]))
			if n := ElementBytes([]byte(texts[i])); n != len(run)-size {
				t.Fatalf("%.40q takes %d bytes, not %d", texts[i], len(run)-size, n)
			}
			pack = Append(pack, []byte(texts[i]))
		}
		if !bytes.Equal(AppendPacked(nil, run, count), pack) || PackedBytes(run) != len(pack) || run.Len() != count {
			t.Fatalf("%d elements, of %d: a run of %x is not the listpack %x", run.Len(), count, run, pack)
		}
		for i := range count {
			pos := run.Index(i, count)
			if x := run.Get(pos); string(x.AppendTo(nil)) != texts[i] {
				t.Fatalf("element %d is %.40q, want %.40q", i, x.AppendTo(nil), texts[i])
			}
			if run.Next(pos) != run.Index(i+1, count) || run.Prev(run.Next(pos)) != pos {
				t.Fatalf("element %d at %d: the next one's place and the way back differ", i, pos)
			}
			m := NewMatcher([]byte(texts[i]))
			for k := range count {
				if m.At(run, run.Index(k, count)) != (texts[k] == texts[i]) {
					t.Fatalf("%.40q at %.40q", texts[i], texts[k])
				}
			}
		}
	}
}

// TestRunIsBytes takes elements out of the middle and puts others in, by bytes.
func TestRunIsBytes(t *testing.T) {
	run := Run{}
	for _, text := range []string{"a", "12", "ccc", "-7"} {
		run = AppendElement(run, []byte(text))
	}
	from, to := run.Index(1, 4), run.Index(3, 4)
	other := AppendElement(AppendElement(nil, []byte("x")), []byte("300"))
	run = slices.Concat(run[:from], other, run[to:])
	var have []string
	for pos := 0; pos < len(run); pos = run.Next(pos) {
		have = append(have, string(run.Get(pos).AppendTo(nil)))
	}
	if want := []string{"a", "x", "300", "-7"}; !slices.Equal(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
}
