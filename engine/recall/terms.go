// This file owns the way from text to terms. It must not know of documents,
// indexes or scores.

package recall

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/russian"
)

// tokenKind tells how a token came to be, which decides how it counts.
type tokenKind uint8

const (
	// wordToken is a word, a number or a symbol; one character of an unspaced
	// script that stands alone is a word too.
	wordToken tokenKind = iota
	// stopToken is an English function word: indexed, so that a query of
	// nothing else works, but it adds no length, and other queries skip it.
	stopToken
	// pairToken is two neighbouring characters of an unspaced script.
	pairToken
	// charToken is one character of a run of several: indexed so that a query
	// of one character works; it adds no length.
	charToken
)

// token is a term's place in the analyser's buffer.
type token struct {
	start, end uint32
	kind       tokenKind
}

// stemsMax bounds the stems an analyser remembers.
const stemsMax = 8192

// analyser turns text into tokens. Its buffers and the stems it has met are
// reused from text to text; the zero value is ready. Not for concurrent use.
type analyser struct {
	buf    []byte // folded characters and stems; owned here, valid until the next text
	tokens []token
	stems  map[string]string
	env    *snowballstem.Env
	limit  int // stop after that many tokens, 0: never
}

// Terms answers the terms of text in their order: folded, stemmed, stop words
// left out unless there is nothing else, and each run of an unspaced script as
// its pairs of neighbouring characters. It is what a query of that text looks
// for first; EXPLAIN shows it.
func Terms(text string) []string {
	var a analyser
	var terms, stops []string
	for _, t := range a.analyse(text) {
		switch t.kind {
		case wordToken, pairToken:
			terms = append(terms, string(a.term(t)))
		case stopToken:
			stops = append(stops, string(a.term(t)))
		}
	}
	if len(terms) == 0 {
		return stops
	}
	return terms
}

// term answers the bytes of t, valid until the next call of analyse.
func (a *analyser) term(t token) []byte { return a.buf[t.start:t.end] }

// analyse answers the tokens of text, valid until the next call.
// Bytes that are no UTF-8 separate words.
func (a *analyser) analyse(text string) []token {
	a.buf, a.tokens = a.buf[:0], a.tokens[:0]
	for i := 0; i < len(text); {
		if a.limit > 0 && len(a.tokens) >= a.limit {
			break
		}
		if c := text[i]; c < utf8.RuneSelf {
			if isASCIIWord(c) {
				i = a.word(text, i)
			} else {
				i++
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isUnspaced(foldRune(r)):
			i = a.unspaced(text, i)
		case isWordRune(r):
			i = a.word(text, i)
		case r != utf8.RuneError && unicode.Is(unicode.So, r):
			a.symbol(r)
			i += size
		default:
			i += size
		}
	}
	return a.tokens
}

func isASCIIWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) ||
		r >= 0xFF01 && r <= 0xFF5E && isASCIIWord(byte(r-0xFF01+'!'))
}

// word reads a word or number that begins at text[i] and answers where it ends.
func (a *analyser) word(text string, i int) int {
	start := len(a.buf)
	script := noScript
	for i < len(text) {
		c := text[i]
		if c < utf8.RuneSelf {
			if isASCIIWord(c) {
				if c >= 'A' && c <= 'Z' {
					c += 'a' - 'A'
				}
				script = script.with(rune(c))
				a.put(start, rune(c))
				i++
				continue
			}
			if c == ',' && a.groupsDigits(start, text, i) {
				i++ // 1,000 is 1000
				continue
			}
			if c == '\'' {
				if next, ends := a.apostrophe(start, text, i, 1); !ends {
					i = next
					continue
				} else {
					i = next
				}
			}
			break
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == '’' || r == 'ʼ' || r == '＇' {
			next, ends := a.apostrophe(start, text, i, size)
			i = next
			if ends {
				break
			}
			continue
		}
		folded := foldRune(r)
		if folded == 0 {
			i += size
			continue
		}
		if first, second := foldPair(r); first != 0 {
			a.put(start, rune(first))
			a.put(start, rune(second))
			script = script.with(rune(first))
			i += size
			continue
		}
		if r == utf8.RuneError || isUnspaced(folded) || !isWordRune(r) && !unicode.IsMark(r) {
			break
		}
		script = script.with(folded)
		a.put(start, folded)
		i += size
	}
	a.endWord(start, script)
	return i
}

// put appends a rune to the word that begins at start, unless it is full.
func (a *analyser) put(start int, r rune) {
	if len(a.buf)-start+utf8.RuneLen(r) <= TermBytesMax {
		a.buf = utf8.AppendRune(a.buf, r)
	}
}

// groupsDigits tells whether the comma at text[i] groups the digits of a number.
func (a *analyser) groupsDigits(start int, text string, i int) bool {
	if i+3 >= len(text) || !isDigit(text[i+1]) || !isDigit(text[i+2]) || !isDigit(text[i+3]) {
		return false
	}
	if i+4 < len(text) && isASCIIWord(text[i+4]) {
		return false
	}
	for _, c := range a.buf[start:] {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

// apostrophe decides what the apostrophe at text[i], size bytes long, does to
// the word so far: an English clitic is dropped and ends it ("she'll"), an
// elided article ends it ("l'homme"), otherwise the word goes on ("don't").
func (a *analyser) apostrophe(start int, text string, i, size int) (next int, ends bool) {
	after := i + size
	end := after
	for end < len(text) && end-after < 3 && isASCIIWord(text[end]) {
		end++
	}
	suffix := text[after:end]
	if len(suffix) == 0 || len(suffix) == 3 {
		switch string(a.buf[start:]) {
		case "l", "d", "j", "n", "s", "c", "m", "t", "qu":
			a.buf = a.buf[:start] // the article itself is no term
			return after, true
		}
	}
	switch suffix {
	case "s", "S", "ll", "LL", "d", "D", "ve", "VE", "re", "RE", "m", "M", "":
		return end, true
	}
	return after, false
}

// endWord makes a token of the folded word that begins at start in the buffer.
func (a *analyser) endWord(start int, script wordScript) {
	word := a.buf[start:]
	if len(word) == 0 {
		return
	}
	kind := wordToken
	switch script {
	case asciiScript:
		if isStopWord(word) {
			kind = stopToken
		}
		a.buf = append(a.buf[:start], a.stem(word, script)...)
	case cyrillicScript:
		a.buf = append(a.buf[:start], a.stem(word, script)...)
	}
	a.add(start, len(a.buf), kind)
}

// stem answers the stem of a folded word, remembering it.
func (a *analyser) stem(word []byte, script wordScript) string {
	if stem, ok := a.stems[string(word)]; ok {
		return stem
	}
	if a.env == nil {
		a.env = snowballstem.NewEnv("")
	}
	if a.stems == nil || len(a.stems) >= stemsMax {
		a.stems = make(map[string]string)
	}
	text := string(word)
	a.env.SetCurrent(text)
	if script == cyrillicScript {
		russian.Stem(a.env)
	} else {
		english.Stem(a.env)
	}
	stem := a.env.Current()
	if stem == "" || len(stem) > TermBytesMax {
		stem = text
	}
	a.stems[text] = stem
	return stem
}

// wordScript says which stemmer fits a word.
type wordScript uint8

const (
	noScript       wordScript = iota // no letter yet
	asciiScript                      // ASCII letters only
	cyrillicScript                   // Cyrillic letters only
	otherScript                      // digits, mixtures, everything else
)

// with answers the script of a word of script s that goes on with r.
func (s wordScript) with(r rune) wordScript {
	own := otherScript
	switch {
	case r >= 'a' && r <= 'z':
		own = asciiScript
	case r >= 0x400 && r < 0x530:
		own = cyrillicScript
	}
	if s == noScript || s == own {
		return own
	}
	return otherScript
}

// unspaced reads a run of an unspaced script that begins at text[i] and answers
// where it ends. The characters lie one after the other in the buffer, so that
// pairs are overlapping windows over them.
func (a *analyser) unspaced(text string, i int) int {
	var previous, current int // where the last two characters begin
	count := 0
	var last rune
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		folded := foldRune(r)
		if folded == 0 && size > 1 {
			i += size
			continue
		}
		if joined := joinedWith(last, folded); count > 0 && joined != 0 {
			a.buf = utf8.AppendRune(a.buf[:current], joined)
			last = joined
			i += size
			continue
		}
		if !isUnspaced(folded) {
			break
		}
		a.endChar(count, previous, current)
		previous, current = current, len(a.buf)
		a.buf = utf8.AppendRune(a.buf, folded)
		last = folded
		count++
		i += size
	}
	if count == 1 {
		a.add(current, len(a.buf), wordToken)
		return i
	}
	a.endChar(count, previous, current)
	return i
}

func joinedWith(last, mark rune) rune {
	if joined := voiced(last, mark); joined != 0 {
		return joined
	}
	return composeHangul(last, mark)
}

// endChar adds the tokens of the character that begins at current and ends with
// the buffer, the count-th of its run.
func (a *analyser) endChar(count, previous, current int) {
	if count == 0 {
		return
	}
	a.add(current, len(a.buf), charToken)
	if count > 1 {
		a.add(previous, len(a.buf), pairToken)
	}
}

func (a *analyser) symbol(r rune) {
	start := len(a.buf)
	a.buf = utf8.AppendRune(a.buf, r)
	a.add(start, len(a.buf), wordToken)
}

func (a *analyser) add(start, end int, kind tokenKind) {
	a.tokens = append(a.tokens, token{start: uint32(start), end: uint32(end), kind: kind})
}
