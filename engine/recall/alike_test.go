package recall

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestAlike(t *testing.T) {
	hundred := strings.TrimSpace(strings.Repeat("one two three four five ", 4)) + words(80)
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"Ada likes green tea.", "ada LIKES green, tea", true},
		{`{"text":"Ada likes tea"}`, `{ "text" : "Ada likes tea!" }`, true},
		{"Ada likes green tea", "Ada likes black tea", false},
		{"Ada", "ADA", true},
		{"Ada", "Bob", false},
		{"Ada tea", "tea Ada", false},
		{`{"age":41}`, `{"age":42}`, false},
		{"", "", false},
		{"...", "...", false},
		{"用户喜欢喝绿茶", "用户喜欢喝绿茶。", true},
		{"用户喜欢喝绿茶", "用户喜欢喝红茶", false},
		{hundred, hundred + " more", true},
		{hundred, hundred + " x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13", false},
	} {
		a, b := AppendShingles(nil, []byte(c.a)), AppendShingles(nil, []byte(c.b))
		if got := a.Alike(b); got != c.want || b.Alike(a) != got {
			t.Errorf("%.40q and %.40q: %v", c.a, c.b, got)
		}
	}
}

func words(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, " w%d", i)
	}
	return text.String()
}

// TestAlikeIsExact compares with the definition, on pairs of which many are just
// alike or just not.
func TestAlikeIsExact(t *testing.T) {
	alike := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		a := strings.Fields(words(1 + r.IntN(120)))
		b := append([]string(nil), a...)
		for range r.IntN(4) {
			b[r.IntN(len(b))] = fmt.Sprint("x", r.IntN(9))
		}
		x, y := AppendShingles(nil, []byte(strings.Join(a, " "))), AppendShingles(nil, []byte(strings.Join(b, " ")))
		common, all := 0, map[uint64]bool{}
		for _, s := range x {
			all[s] = true
		}
		for _, s := range y {
			if all[s] {
				common++
			}
			all[s] = true
		}
		want := float64(common) >= 0.9*float64(len(all))
		if want {
			alike++
		}
		if got := x.Alike(y); got != want {
			t.Fatalf("seed %d: %d of %d in common: %v", seed, common, len(all), got)
		}
	}
	if alike < 100 || alike > 2900 {
		t.Errorf("%d of 3000 pairs are alike", alike)
	}
}
