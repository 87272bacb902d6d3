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
		if got := alike(c.a, c.b); got != c.want || alike(c.b, c.a) != got {
			t.Errorf("%.40q and %.40q: %v", c.a, c.b, got)
		}
	}
}

func alike(a, b string) bool {
	var d Distinct
	return d.Add([]byte(a)) && !d.Add([]byte(b))
}

// TestDistinctKeepsTheFirst: what is left out is compared with nothing that follows,
// and Reset leaves nothing to compare with.
func TestDistinctKeepsTheFirst(t *testing.T) {
	texts := []string{words(40), words(41), words(43), words(45), words(47), "", words(44)}
	want := []bool{true, false, false, true, false, true, false}
	var d Distinct
	for round := range 2 {
		for i, text := range texts {
			if got := d.Add([]byte(text)); got != want[i] {
				t.Errorf("round %d, %d: %v", round, i, got)
			}
		}
		d.Reset()
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
	pairs := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		a := strings.Fields(words(1 + r.IntN(120)))
		b := append([]string(nil), a...)
		for range r.IntN(4) {
			b[r.IntN(len(b))] = fmt.Sprint("x", r.IntN(9))
		}
		x, y := shinglesOf(a), shinglesOf(b)
		common := 0
		for s := range y {
			if x[s] {
				common++
			}
		}
		want := float64(common) >= 0.9*float64(len(x)+len(y)-common)
		if want {
			pairs++
		}
		if got := alike(strings.Join(a, " "), strings.Join(b, " ")); got != want {
			t.Fatalf("seed %d: %d of %d and %d in common: %v", seed, common, len(x), len(y), got)
		}
	}
	if pairs < 100 || pairs > 2900 {
		t.Errorf("%d of 3000 pairs are alike", pairs)
	}
}

func shinglesOf(words []string) map[string]bool {
	set := map[string]bool{}
	for i := range max(1, len(words)-shingleWords+1) {
		set[strings.Join(words[i:min(len(words), i+shingleWords)], " ")] = true
	}
	return set
}
