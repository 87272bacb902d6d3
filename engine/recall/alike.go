// This file owns when two texts say the same. It must not know where they come
// from.

package recall

import (
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

// Shingles stand for a text in comparisons: ascending, each once.
type Shingles []uint64

// AppendShingles appends those of a text, a JSON value as it is written: its words
// in order, without case, and what stands between them left out. A character of a
// script without spaces is a word.
func AppendShingles(dst Shingles, text []byte) Shingles {
	first := len(dst)
	var window [shingleWords]uint64
	words := 0
	next := func(word uint64) {
		window[words%shingleWords] = word
		if words++; words >= shingleWords {
			dst = append(dst, shingle(&window, words))
		}
	}
	for i := 0; i < len(text) && words < shinglesMax; {
		word, end := wordAt(text, i)
		if end > i {
			next(word)
			i = end
			continue
		}
		_, size := utf8.DecodeRune(text[i:])
		i += size
	}
	if words > 0 && words < shingleWords {
		dst = append(dst, shingle(&window, words))
	}
	slices.Sort(dst[first:])
	return dst[:first+len(slices.Compact(dst[first:]))]
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

// Alike says whether two texts say the same. Texts without a word are never.
func (s Shingles) Alike(other Shingles) bool {
	if len(s) > len(other) {
		s, other = other, s
	}
	if len(s) == 0 || float64(len(s)) < alikeShare*float64(len(other)) {
		return false
	}
	// What two such texts have in common includes one of their first few.
	if !meet(s[:prefix(len(s))], other[:prefix(len(other))]) {
		return false
	}
	common := 0
	for i, j := 0, 0; i < len(s) && j < len(other); {
		switch {
		case s[i] < other[j]:
			i++
		case s[i] > other[j]:
			j++
		default:
			common++
			i++
			j++
		}
	}
	return float64(common) >= alikeShare*float64(len(s)+len(other)-common)
}

// prefix is how many of n shingles may be missing in a text that is alike, and one.
func prefix(n int) int { return min(n, int((1-alikeShare)*float64(n)+1e-9)+1) }

// meet says whether two ascending lists have an element in common.
func meet(a, b Shingles) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			return true
		}
	}
	return false
}
