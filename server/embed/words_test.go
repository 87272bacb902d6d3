package embed

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const table = `dog 1 0 0
cat 0 1 0
Paris 0 0 1
paris 0 0 -1
don't 1 1 1
well -1 0 0
known 0 -1 0
new york 1 1 0
犬 2 0 0
猫 0 2 0
犬猫 9 9 9
dog 5 5 5
naïve 0 3 4
`

func readTable(t *testing.T, text string) *Words {
	t.Helper()
	w, err := ReadWords(strings.NewReader(text), TableBytesMax)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWords(t *testing.T) {
	half := float32(math.Sqrt(0.5))
	third := float32(1 / math.Sqrt(3))
	for _, c := range []struct {
		text string
		want []float32
	}{
		{"dog", []float32{1, 0, 0}},
		{"DOG, Dog!", []float32{1, 0, 0}},
		{"a dog and a cat.", []float32{half, half, 0}},
		{"Paris", []float32{0, 0, 1}},
		{"paris", []float32{0, 0, -1}},
		{"PARIS", []float32{0, 0, -1}},
		{"Paris paris", nil}, // they cancel each other out
		{"don't", []float32{third, third, third}},
		{"'dog'", []float32{1, 0, 0}},
		{"well-known", []float32{-half, -half, 0}},
		{"well- known", []float32{-half, -half, 0}},
		{"well--known", []float32{-half, -half, 0}},
		{"dog-unheard-of", []float32{1, 0, 0}},
		{"犬猫", []float32{half, half, 0}},
		{"犬dog猫", []float32{float32(3 / math.Sqrt(13)), float32(2 / math.Sqrt(13)), 0}},
		{"naïve", []float32{0, 0.6, 0.8}},
		{"dog\xffcat", []float32{half, half, 0}},
		{"unheard", nil},
		{"", nil},
		{" ... ", nil},
	} {
		w := readTable(t, table)
		got, err := w.Embed(t.Context(), []string{c.text, "dog"})
		if err != nil || !slices.Equal(got[0], c.want) || !slices.Equal(got[1], []float32{1, 0, 0}) {
			t.Errorf("%q: %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

func TestReadWords(t *testing.T) {
	for _, c := range []struct {
		name, text        string
		words, dimensions int
	}{
		{"GloVe", "a 1 2\nb 3 4\n", 2, 2},
		{"word2vec", "2 2\na 1 2 \nb 3 4 \n", 2, 2},
		{"no line end, empty lines, carriage returns", "a 1 2\r\n\r\nb 3 4", 2, 2},
		{"words with spaces", "a 1 2\n. . . 3 4\n", 2, 2},
		{"a number for a word", "a 1 2\n7 3 4\n", 2, 2},
		{"exponents", "a 1e-3 -2.5E+1\n", 1, 2},
	} {
		w := readTable(t, c.text)
		if len(w.places) != c.words || w.Dimensions() != c.dimensions {
			t.Errorf("%s: %d words of %d dimensions", c.name, len(w.places), w.Dimensions())
		}
	}
}

func TestReadWordsErrors(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "no words"},
		{"a header alone", "400000 100\n", "no words"},
		{"a word alone", "word\n", "line 1: 0 dimensions"},
		{"a number too few", "a 1 2\nb 3\n", "line 2: fewer than 2"},
		{"no word", "a 1 2\n 3 4\n", "line 2: fewer than 2"},
		{"no number", "a 1 2\nb 3 x\n", "line 2"},
		{"not finite", "a 1 2\nb NaN 4\n", "line 2: not a finite"},
		{"infinite", "a 1 2\nb 3 Inf\n", "line 2: not a finite"},
		{"too large", "a 1 2\nb 3 1e39\n", "line 2"},
		{"too many dimensions", "a" + strings.Repeat(" 1", 4097) + "\n", "4097 dimensions"},
		{"a line without end", "a " + strings.Repeat("1", lineBytesMax), "line 1: bufio: buffer full"},
		{"binary", "\x00\x01\x02", "dimensions"},
	} {
		_, err := ReadWords(strings.NewReader(c.text), TableBytesMax)
		if !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

func TestReadWordsBound(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "word%d 1 2 3 4\n", i)
	}
	if _, err := ReadWords(strings.NewReader(text.String()), 1<<20); err != nil {
		t.Error(err)
	}
	if _, err := ReadWords(strings.NewReader(text.String()), 10_000); !errors.Is(err, ErrTable) {
		t.Errorf("a table beyond its bound: %v", err)
	}
}

func FuzzReadWords(f *testing.F) {
	f.Add(table, "dog cat")
	f.Add("2 2\na 1 2\nb 3 4", "a-b'")
	f.Fuzz(func(t *testing.T, text, query string) {
		w, err := ReadWords(strings.NewReader(text), 1<<20)
		if err != nil {
			return
		}
		var square float64
		v := w.embed(query)
		for _, f := range v {
			square += float64(f) * float64(f)
		}
		if v != nil && math.Abs(square-1) > 1e-5 {
			t.Errorf("%q has a vector of length %g", query, math.Sqrt(square))
		}
	})
}
