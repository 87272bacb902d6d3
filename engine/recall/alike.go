// This file owns when two texts say the same. It must not know where they come
// from.

package recall

import (
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"
)

// alikeShare is the share of shingles that two texts have in common, of all that
// they have, from which on they count as the same: in a text of a hundred words
// one may differ, in one of twenty none.
const alikeShare = 0.9

// shingleWords is how many neighbouring words make a shingle. A text of fewer is
// one.
const shingleWords = 3

// shinglesMax bounds the words of a text that count.
const shinglesMax = 1 << 14

// Distinct tells texts that say the same apart from others: JSON values as they are
// written, of which words count in their order, without case and what stands between
// them. A character of a script without spaces is a word. The zero value is ready and
// has none; it is not for concurrent use.
type Distinct struct {
	said     []gist
	shingles []uint64 // of all texts, one after the other
	sets     []uint64 // what gists have as their sets
}

// gist stands for a text in comparisons.
type gist struct {
	sketch       sketch
	first, limit int // of its shingles
	// set are the shingles, ascending, each once; nil until they are compared.
	set []uint64
}

// sketch is a set of shingles, coarsely: one more or less changes a bit at most.
type sketch [4]uint64

// Reset forgets all texts, and the memory of very many.
func (d *Distinct) Reset() {
	clear(d.said)
	if d.said, d.shingles, d.sets = d.said[:0], d.shingles[:0], d.sets[:0]; cap(d.shingles) > 1<<16 {
		*d = Distinct{}
	}
}

// Add takes a text in and says that it is new, or leaves it out because one that
// was taken in says the same. Texts without a word are always new.
func (d *Distinct) Add(text []byte) bool {
	g := gist{first: len(d.shingles)}
	g.sketch = d.read(text)
	g.limit = len(d.shingles)
	for i := range d.said {
		if other := &d.said[i]; g.mayBeAlike(other) && d.alike(&g, other) {
			d.shingles = d.shingles[:g.first]
			return false
		}
	}
	d.said = append(d.said, g)
	return true
}

// read appends the shingles of a text.
func (d *Distinct) read(text []byte) (coarse sketch) {
	var window [shingleWords]uint64
	words := 0
	next := func() {
		s := shingle(&window, words)
		d.shingles = append(d.shingles, s)
		coarse[s>>62] |= 1 << (s >> 56 & 63)
	}
	for i := 0; i < len(text) && words < shinglesMax; {
		word, end := wordAt(text, i)
		if end == i {
			_, size := utf8.DecodeRune(text[i:])
			i += size
			continue
		}
		i = end
		window[words%shingleWords] = word
		if words++; words >= shingleWords {
			next()
		}
	}
	if words > 0 && words < shingleWords {
		next()
	}
	return coarse
}

// mayBeAlike rules most pairs out. Two texts that are alike differ by at most a
// nineteenth of their shingles: of all that they have, nine tenths are in both.
func (g *gist) mayBeAlike(other *gist) bool {
	differ := 0
	for i, word := range g.sketch {
		differ += bits.OnesCount64(word ^ other.sketch[i])
	}
	return 19*differ <= g.limit-g.first+other.limit-other.first
}

// alike says whether two texts say the same.
func (d *Distinct) alike(a, b *gist) bool {
	if slices.Equal(d.shingles[a.first:a.limit], d.shingles[b.first:b.limit]) {
		return a.first < a.limit
	}
	x, y, common := d.setOf(a), d.setOf(b), 0
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] < y[j]:
			i++
		case x[i] > y[j]:
			j++
		default:
			common++
			i++
			j++
		}
	}
	return float64(common) >= alikeShare*float64(len(x)+len(y)-common)
}

func (d *Distinct) setOf(g *gist) []uint64 {
	if g.set == nil {
		first := len(d.sets)
		d.sets = append(d.sets, d.shingles[g.first:g.limit]...)
		slices.Sort(d.sets[first:])
		g.set = slices.Compact(d.sets[first:])
	}
	return g.set
}

// wordAt hashes the word that begins at i and says where it ends: at i when none
// does.
func wordAt(text []byte, i int) (hash uint64, end int) {
	hash, end = hashSeed, i
	for end < len(text) {
		c := text[end]
		if c < utf8.RuneSelf {
			if !isWordByte(c) {
				break
			}
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			hash = (hash ^ uint64(c)) * hashPrime
			end++
			continue
		}
		r, size := utf8.DecodeRune(text[end:])
		alone := isUnspaced(r)
		if alone && end > i || !alone && !unicode.In(r, unicode.L, unicode.M, unicode.N) {
			break
		}
		hash = (hash ^ uint64(r)) * hashPrime
		if end += size; alone {
			break
		}
	}
	return hash, end
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// FNV-1a over characters.
const (
	hashSeed  = 0xcbf29ce484222325
	hashPrime = 0x100000001b3
)

// shingle joins the words in a window, the oldest first.
func shingle(window *[shingleWords]uint64, words int) uint64 {
	joined := uint64(hashSeed)
	for i := max(0, words-shingleWords); i < words; i++ {
		joined = (joined ^ window[i%shingleWords]) * hashPrime
		joined ^= joined >> 29
	}
	return joined
}
