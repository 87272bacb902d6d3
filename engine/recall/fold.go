// This file owns the folding of characters: what counts as the same letter.
// It must not know of words, terms or documents.

package recall

import "unicode"

// foldRune maps a non-ASCII rune to the rune that stands for it, lower-cased,
// without accent and in its usual width, so that "Ｃafé", "CAFÉ" and "cafe" meet.
// Ignorable runes (accents that follow their letter, joiners, soft hyphens)
// fold to 0. Runes that unfold to two letters are told by foldPair.
func foldRune(r rune) rune {
	switch {
	case r < 0x250:
		if r >= 0xC0 {
			if c := foldLatin[r-0xC0]; c >= 'a' {
				return rune(c)
			}
		}
		if r == 0xAD { // soft hyphen
			return 0
		}
		return unicode.ToLower(r)
	case r >= 0x300 && r < 0x370: // combining diacritical marks
		return 0
	case r < 0x400:
		return foldGreek(unicode.ToLower(r))
	case r < 0x530:
		if r == 'ё' || r == 'Ё' {
			return 'е'
		}
		return unicode.ToLower(r)
	case r >= 0x591 && r < 0x700:
		return foldSemitic(r)
	case r >= 0x966 && r <= 0x96F: // Devanagari digits
		return '0' + r - 0x966
	case r >= 0x1E00 && r < 0x1F00:
		if c := foldLatinExtended[r-0x1E00]; c >= 'a' {
			return rune(c)
		}
		return unicode.ToLower(r)
	case r >= 0x200B && r <= 0x200F, r == 0x2060, r == 0xFEFF, r >= 0xFE00 && r <= 0xFE0F:
		return 0 // joiners, direction marks, variation selectors
	case r >= 0xFF01 && r <= 0xFF5E: // full-width ASCII
		return unicode.ToLower(r - 0xFF01 + '!')
	case r >= 0xFF66 && r <= 0xFF9D: // half-width katakana
		return foldKatakana(r)
	default:
		return unicode.ToLower(r)
	}
}

// foldPair answers the two letters that a single rune stands for, or zeros.
func foldPair(r rune) (first, second byte) {
	switch r {
	case 'ß', 'ẞ':
		return 's', 's'
	case 'æ', 'Æ', 'ǽ', 'Ǽ', 'ǣ', 'Ǣ':
		return 'a', 'e'
	case 'œ', 'Œ':
		return 'o', 'e'
	case 'þ', 'Þ':
		return 't', 'h'
	case 'ĳ', 'Ĳ':
		return 'i', 'j'
	case 'ﬁ':
		return 'f', 'i'
	case 'ﬂ':
		return 'f', 'l'
	}
	return 0, 0
}

func foldGreek(r rune) rune {
	switch r {
	case 'ά':
		return 'α'
	case 'έ':
		return 'ε'
	case 'ή':
		return 'η'
	case 'ί', 'ϊ', 'ΐ':
		return 'ι'
	case 'ό':
		return 'ο'
	case 'ύ', 'ϋ', 'ΰ':
		return 'υ'
	case 'ώ':
		return 'ω'
	case 'ς':
		return 'σ'
	}
	return r
}

// foldSemitic drops Hebrew points and Arabic vowel signs, joins the forms of
// alef, and turns the two rows of Arabic digits into ASCII ones.
func foldSemitic(r rune) rune {
	switch {
	case r <= 0x5C7 && unicode.Is(unicode.Mn, r):
		return 0
	case r >= 0x64B && r <= 0x65F, r == 0x670, r == 0x640:
		return 0
	case r >= 0x660 && r <= 0x669:
		return '0' + r - 0x660
	case r >= 0x6F0 && r <= 0x6F9:
		return '0' + r - 0x6F0
	case r == 'أ', r == 'إ', r == 'آ':
		return 'ا'
	}
	return r
}

func foldKatakana(r rune) rune {
	i := 0
	for _, wide := range halfWidthKatakana {
		if i == int(r-0xFF66) {
			return wide
		}
		i++
	}
	return r
}

// voiced joins a kana and a sound mark that follows it (half-width ﾞ and ﾟ, or
// the combining ones of decomposed text), or answers 0 if they do not join.
func voiced(kana, mark rune) rune {
	switch mark {
	case 0xFF9E, 0x3099, 0x309B:
		switch {
		case kana == 'ウ':
			return 'ヴ'
		case hasVoicedForm(kana):
			return kana + 1
		}
	case 0xFF9F, 0x309A, 0x309C:
		if isHaRow(kana) {
			return kana + 2
		}
	}
	return 0
}

func hasVoicedForm(kana rune) bool {
	if kana >= 0x30A0 { // katakana, laid out as hiragana is
		kana -= 0x60
	}
	switch {
	case kana >= 'か' && kana <= 'ち':
		return (kana-'か')%2 == 0
	case kana == 'つ' || kana == 'て' || kana == 'と':
		return true
	}
	return isHaRow(kana)
}

func isHaRow(kana rune) bool {
	if kana >= 0x30A0 {
		kana -= 0x60
	}
	return kana >= 'は' && kana <= 'ほ' && (kana-'は')%3 == 0
}

// composeHangul joins decomposed Hangul (a syllable or leading consonant, then
// a vowel or a trailing consonant), or answers 0 if they do not join.
func composeHangul(first, second rune) rune {
	const (
		leads, vowels, trails = 0x1100, 0x1161, 0x11A7
		syllables             = 0xAC00
		vowelCount            = 21
		trailCount            = 28
	)
	switch {
	case first >= leads && first < leads+19 && second >= vowels && second < vowels+vowelCount:
		return syllables + ((first-leads)*vowelCount+(second-vowels))*trailCount
	case first >= syllables && first <= 0xD7A3 && (first-syllables)%trailCount == 0 &&
		second > trails && second < trails+trailCount:
		return first + second - trails
	}
	return 0
}

// isUnspaced tells the scripts that write words without spaces between them, or
// (Hangul) glue particles to them; they are indexed by pairs of characters.
func isUnspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF: // Thai, Lao
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r >= 0x1000 && r <= 0x109F, r >= 0x1780 && r <= 0x17FF: // Myanmar, Khmer
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r >= 0x1100 && r <= 0x11FF: // Hangul letters
		return true
	case r == '々', r == '〇':
		return true
	case r >= 0x3041 && r <= 0x3096, r >= 0x30A1 && r <= 0x30FA, r >= 0x30FC && r <= 0x30FE: // kana
		return true
	case r >= 0x3105 && r <= 0x318E: // bopomofo, Hangul letters
		return true
	case r >= 0x31F0 && r <= 0x31FF: // small kana
		return true
	case r >= 0x3400 && r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF: // Han
		return true
	case r >= 0xAC00 && r <= 0xD7A3: // Hangul
		return true
	case r >= 0xF900 && r <= 0xFAFF, r >= 0x20000 && r <= 0x323AF: // Han
		return true
	}
	return false
}

// foldLatin and foldLatinExtended give the bare letter of each accented one from
// U+00C0 and from U+1E00 on; '.' keeps the rune, capitals are pairs (foldPair).
const (
	foldLatin = "aaaaaaAceeeeiiiidnooooo.ouuuuyTSaaaaaaAceeeeiiiidnooooo.ouuuuyTy" +
		"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiJJjjkkklllllll" +
		"lllnnnnnn.nnooooooOOrrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs" +
		"bb.....ccdd......ffg...ikkl..nn.oo..pp.....ttttuu.vyyzz........." +
		".............aaiioouuuuuuuuuueaaaaAAggggkkoooo..j...gg..nnaaAAoo" +
		"aaaaeeeeiiiioooorrrruuuusstt..hh....zzaaeeooooooooyy......a..l.." +
		"...b..eejj..rryy"
	foldLatinExtended = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm" +
		"mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv" +
		"wwwwwwwwwwxxxxyyzzzzzzhtwy.s..S.aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee" +
		"eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......"
	halfWidthKatakana = "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン"
)
