// This file owns tables of word vectors and the meaning of a text by them. It
// must not know where a table comes from.

package embed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"reminis/engine/vector"
)

// ErrTable is answered for a table that cannot be read.
var ErrTable = errors.New("table of word vectors")

// Words embeds texts by the vectors of their words. It never changes.
type Words struct {
	dimensions int
	places     map[string]uint32 // word -> number of its vector
	numbers    []float32         // dimensions per word
	wordsBytes int               // that places holds
}

// ReadWords reads a table: a word and its numbers a line, separated by single
// spaces, after a line with the number of words and of dimensions or without. Of
// a word that comes twice the first stands. Its error is ErrTable, also for a
// table that takes more than bytesMax of memory, and says which line is meant.
func ReadWords(r io.Reader, bytesMax int) (*Words, error) {
	w := &Words{places: map[string]uint32{}}
	lines := bufio.NewReaderSize(r, lineBytesMax)
	for number, end := 1, false; !end; number++ {
		line, err := lines.ReadSlice('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTable, number, err)
		}
		end = err == io.EOF
		line = bytes.TrimRight(line, " \r\n")
		if len(line) == 0 || number == 1 && isHeader(line) {
			continue
		}
		if err := w.add(line); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTable, number, err)
		}
		if w.sizeBytes() > bytesMax {
			return nil, fmt.Errorf("%w: line %d: more than %d bytes of memory", ErrTable, number, bytesMax)
		}
	}
	if len(w.places) == 0 {
		return nil, fmt.Errorf("%w: no words", ErrTable)
	}
	return w, nil
}

// isHeader tells whether a line is two whole numbers: no vector has one
// dimension.
func isHeader(line []byte) bool {
	words, dimensions, ok := bytes.Cut(line, []byte(" "))
	return ok && isDigits(words) && isDigits(dimensions)
}

func isDigits(text []byte) bool {
	return len(text) > 0 && len(bytes.Trim(text, "0123456789")) == 0
}

// add takes a line. The first tells how many numbers there are; words may have
// spaces in them.
func (w *Words) add(line []byte) error {
	if w.dimensions == 0 {
		w.dimensions = bytes.Count(line, []byte(" "))
		if w.dimensions == 0 || w.dimensions > vector.DimensionsMax {
			return fmt.Errorf("%d dimensions", w.dimensions)
		}
	}
	first := len(w.numbers)
	w.numbers = append(w.numbers, make([]float32, w.dimensions)...)
	row := w.numbers[first:]
	for i := len(row) - 1; i >= 0; i-- {
		space := bytes.LastIndexByte(line, ' ')
		if space <= 0 {
			return fmt.Errorf("fewer than %d numbers", w.dimensions)
		}
		number, err := strconv.ParseFloat(string(line[space+1:]), 32)
		if err != nil {
			return err
		}
		row[i], line = float32(number), line[:space]
	}
	if !vector.Finite(row) {
		return errors.New("not a finite number")
	}
	word := string(line)
	if _, ok := w.places[word]; ok {
		w.numbers = w.numbers[:first]
		return nil
	}
	w.places[word] = uint32(first / w.dimensions)
	w.wordsBytes += len(word) + wordBytes
	return nil
}

func (w *Words) sizeBytes() int {
	const numberBytes = 4
	return cap(w.numbers)*numberBytes + w.wordsBytes
}

// Dimensions is how many numbers each vector has.
func (w *Words) Dimensions() int { return w.dimensions }

// Embed answers a vector per text, nil for one that has no word of the table. Its
// error is nil.
func (w *Words) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = w.embed(text)
	}
	return vectors, nil
}

// embed answers the mean of the words' vectors, of length 1.
func (w *Words) embed(text string) []float32 {
	sum := make([]float64, w.dimensions)
	eachWord(text, func(word string) { w.addWord(sum, word) })
	var square float64
	for _, f := range sum {
		square += f * f
	}
	if square == 0 {
		return nil
	}
	length := math.Sqrt(square)
	v := make([]float32, w.dimensions)
	for i, f := range sum {
		v[i] = float32(f / length)
	}
	return v
}

// addWord adds a word's vector, or those of its parts.
func (w *Words) addWord(sum []float64, word string) {
	if place, ok := w.place(word); ok {
		row := w.numbers[int(place)*w.dimensions:][:w.dimensions]
		for i, f := range row {
			sum[i] += float64(f)
		}
		return
	}
	if !strings.ContainsFunc(word, isJoint) {
		return
	}
	for part := range strings.FieldsFuncSeq(word, isJoint) {
		w.addWord(sum, part)
	}
}

func (w *Words) place(word string) (uint32, bool) {
	place, ok := w.places[word]
	if !ok {
		place, ok = w.places[strings.ToLower(word)]
	}
	return place, ok
}

// eachWord calls visit for each run of letters, marks and digits, joints between
// them included, and for each Han or Kana character.
func eachWord(text string, visit func(word string)) {
	start, end := -1, -1 // of the word so far; end is behind its last letter
	flush := func() {
		if start >= 0 {
			visit(text[start:end])
			start = -1
		}
	}
	for i, r := range text {
		after := i + utf8.RuneLen(r)
		switch {
		case r == utf8.RuneError: // whose length in text is not known
			flush()
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			flush()
			visit(text[i:after])
		case unicode.In(r, unicode.L, unicode.M, unicode.N):
			if start < 0 {
				start = i
			}
			end = after
		case isJoint(r) && start >= 0 && end == i:
			// Part of the word if a letter follows.
		default:
			flush()
		}
	}
	flush()
}

// isJoint tells whether r joins two runs of letters into one word.
func isJoint(r rune) bool { return r == '\'' || r == '\u2019' || r == '-' }
