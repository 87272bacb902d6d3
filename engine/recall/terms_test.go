// This file owns the tests of folding and of cutting text into terms.

package recall

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTerms(t *testing.T) {
	tables := []struct{ name, text, want string }{
		{"empty", "", ""},
		{"punctuation only", " ?!… —\t\n", ""},
		{"stemming", "Running dogs were happily jumping", "run dog happili jump"},
		{"stop words go", "What did the cat say about it?", "cat say"},
		{"stop words alone stay", "who are you", "who are you"},
		{"clitics", "She'll say Anna's dogs' it'd we've I'm", "say anna dog"},
		{"negation", "don't can’t", "dont cant"},
		{"elision", "l'homme d’accord qu'elle", "homm accord ell"},
		{"names with apostrophes", "O'Sullivan", "osullivan"},
		{"accents", "Café CAFÉ cafe\u0301 naïve", "cafe cafe cafe naiv"},
		{"letters that unfold", "Straße Strasse œuvre Æsir", "strass strass oeuvr aesir"},
		{"full width", "Ｈｅｌｌｏ　１２３", "hello 123"},
		{"full stops without space", "done.Then file.go a_b", "done file go b"},
		{"numbers", "1,000 3.14 12,34 1,000,000 1,2345 2023", "1000 3 14 12 34 1000000 1 2345 2023"},
		{"mixtures", "gpt4 4x4 v2", "gpt4 4x4 v2"},
		{"Arabic digits", "٢٠٢٤ ۲۰۲۴", "2024 2024"},
		{"Greek", "Άνθρωπος ΆΝΘΡΩΠΟΣ", "ανθρωποσ ανθρωποσ"},
		{"Russian", "книги книга ёлка елка", "книг книг елк елк"},
		{"Arabic vowels", "كِتَاب كتاب", "كتاب كتاب"},
		{"Hebrew points", "שָׁלוֹם שלום", "שלום שלום"},
		{"Hindi keeps its vowels", "नमस्ते", "नमस्ते"},
		{"Chinese pairs", "我住在北京", "我住 住在 在北 北京"},
		{"one character", "猫", "猫"},
		{"Japanese", "東京タワー", "東京 京タ タワ ワー"},
		{"half-width katakana", "ﾀﾜｰ ｶﾞｽ ﾊﾟﾝ", "タワ ワー ガス パン"},
		{"decomposed kana", "か\u3099は\u309A", "がぱ"},
		{"Korean", "서울에 삽니다", "서울 울에 삽니 니다"},
		{"decomposed Hangul", "\u1112\u1161\u11AB\u1100\u1173\u11AF", "한글"},
		{"Thai", "กาแฟ", "กา าแ แฟ"},
		{"mixed", "用iPhone15拍照", "用 iphone15 拍照"},
		{"symbols", "party 🎉🎉", "parti 🎉 🎉"},
		{"joiners and selectors", "co\u00ADop zero\u200Bwidth ❤\uFE0F", "coop zerowidth ❤"},
		{"invalid bytes part words", "ab\xffcd \xc3\x28", "ab cd"},
	}
	for _, test := range tables {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(Terms(test.text), " "); got != test.want {
				t.Errorf("Terms(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func TestTermsAreCut(t *testing.T) {
	for name, unit := range map[string]string{"letters": "x", "digits": "7", "accents": "é", "Cyrillic": "ж", "mixed": "aж1"} {
		terms := Terms(strings.Repeat(unit, 1<<20))
		if len(terms) != 1 || len(terms[0]) > TermBytesMax || !utf8.ValidString(terms[0]) {
			t.Errorf("%s: %d terms, the first of %d bytes", name, len(terms), len(terms[0]))
		}
	}
}

// TestFoundBy is what a user expects to find, in many languages.
func TestFoundBy(t *testing.T) {
	tables := []struct{ text, query string }{
		{"The user lives in Zürich", "zurich"},
		{"The user lives in Zürich", "where does the user live?"},
		{"Ordered 2 cafés", "CAFE order"},
		{"用户住在北京市朝阳区", "北京"},
		{"用户住在北京市朝阳区", "京"},
		{"用户的住址是上海", "我的地址"}, // only 址 and 的 in common
		{"彼女は東京でタワーを見た", "ﾀﾜｰ"},
		{"彼女は東京でタワーを見た", "東京のこと"},
		{"저는 서울에서 일합니다", "서울"},
		{"ผู้ใช้ชอบกาแฟ", "กาแฟ"},
		{"Она любит книги", "книга"},
		{"μένει στην Αθήνα", "ΑΘΗΝΑ"},
		{"使用Redis缓存", "redis"},
		{"to be or not to be", "not to be"},
		{"call +1 555-0100", "555"},
		{"birthday party 🎂", "🎂"},
		{"price: 1,250 EUR", "1250"},
		{"error in main.go", "main"},
	}
	for _, test := range tables {
		x := NewIndex()
		x.Add(Doc{ID: 1, Text: "something of no interest"})
		x.Add(Doc{ID: 2, Text: test.text})
		x.Add(Doc{ID: 3, Text: "完全无关"})
		hits := x.View().Search(Query{Text: test.query, Limit: 1}).Hits
		if len(hits) != 1 || hits[0].ID != 2 {
			t.Errorf("%q does not find %q: %+v", test.query, test.text, hits)
		}
	}
}

func TestEstimate(t *testing.T) {
	tables := []struct {
		text string
		want int
	}{
		{"", 0},
		{"a", 1},
		{"The user lives in Berlin.", 7},
		{"用户住在北京", 6},
		{"서울에", 3},
		{"Привет", 3},
		{"日本語 and English", 3 + 3},
		{"🎉", 1},
		{"\xff\xfe", 2},
		{strings.Repeat("word ", 1000), 1250},
	}
	for _, test := range tables {
		if got := Estimate([]byte(test.text)); got != test.want {
			t.Errorf("Estimate(%.20q) = %d, want %d", test.text, got, test.want)
		}
	}
}

// FuzzText: no text breaks the analyser, every term is short and valid UTF-8,
// folding twice changes nothing, and each text is found by itself.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "Hello, world", "l'été don't", "北京 ﾀﾞ \u1100\u1161", "\xff\xc3\x28", "1,000,00", "ß\u0301'", "'s ''", "ﾞﾟ\u3099"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms := Terms(text)
		for _, term := range terms {
			if term == "" || len(term) > TermBytesMax || !utf8.ValidString(term) {
				t.Fatalf("term %q of %q", term, text)
			}
		}
		if n := Estimate([]byte(text)); n < 0 || n > len(text) {
			t.Fatalf("Estimate(%q) = %d", text, n)
		}
		x := NewIndex()
		x.Add(Doc{ID: 1, Text: text})
		hits := x.View().Search(Query{Text: text, Limit: 1}).Hits
		if (len(hits) == 1) != (len(terms) > 0) {
			t.Fatalf("%q has terms %q, but hits %+v", text, terms, hits)
		}
	})
}
