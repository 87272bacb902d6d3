package lua

import (
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// This file owns cjson.decode. It reads what lua_cjson.c reads, which is more than
// JSON: numbers of C, unless they are set to be refused.

// jsonToken is a kind of token, by the name that errors call it.
type jsonToken string

const (
	tokenObjectBegin jsonToken = "T_OBJ_BEGIN"
	tokenObjectEnd   jsonToken = "T_OBJ_END"
	tokenArrayBegin  jsonToken = "T_ARR_BEGIN"
	tokenArrayEnd    jsonToken = "T_ARR_END"
	tokenString      jsonToken = "T_STRING"
	tokenNumber      jsonToken = "T_NUMBER"
	tokenBoolean     jsonToken = "T_BOOLEAN"
	tokenNull        jsonToken = "T_NULL"
	tokenColon       jsonToken = "T_COLON"
	tokenComma       jsonToken = "T_COMMA"
	tokenEnd         jsonToken = "T_END"
)

// jsonDecoder reads one text.
type jsonDecoder struct {
	st    *State
	l     *lua.LState
	s     *jsonSettings
	data  string
	at    int
	depth int

	token jsonToken // or what is wrong, when it is none of the above
	begin int       // where the token begins
	value lua.LValue
}

func (st *State) jsonDecode(l *lua.LState, s *jsonSettings) int {
	if l.GetTop() != 1 {
		argumentError(l, 1, "decode", "expected 1 argument")
	}
	d := jsonDecoder{st: st, l: l, s: s, data: checkString(l, 1, "decode")}
	if len(d.data) >= 2 && (d.data[0] == 0 || d.data[1] == 0) {
		l.RaiseError("JSON parser does not support UTF-16 or UTF-32")
	}
	d.next()
	v := d.read()
	d.next()
	if d.token != tokenEnd {
		d.refuse("the end")
	}
	l.Push(v)
	return 1
}

func (d *jsonDecoder) refuse(expected string) {
	d.l.RaiseError("Expected %s but found %s at character %d", expected, string(d.token), d.begin+1)
}

// peek is the next byte; behind the text is a NUL, which ends it.
func (d *jsonDecoder) peek(ahead int) byte {
	if d.at+ahead >= len(d.data) {
		return 0
	}
	return d.data[d.at+ahead]
}

// next reads a token.
func (d *jsonDecoder) next() {
	for strings.IndexByte(" \t\n\r", d.peek(0)) >= 0 {
		d.at++
	}
	d.begin = d.at
	c := d.peek(0)
	switch c {
	case 0:
		d.token = tokenEnd
	case '{':
		d.punctuation(tokenObjectBegin)
	case '}':
		d.punctuation(tokenObjectEnd)
	case '[':
		d.punctuation(tokenArrayBegin)
	case ']':
		d.punctuation(tokenArrayEnd)
	case ':':
		d.punctuation(tokenColon)
	case ',':
		d.punctuation(tokenComma)
	case '"':
		d.string()
	default:
		d.word(c)
	}
}

func (d *jsonDecoder) punctuation(token jsonToken) {
	d.at++
	d.token = token
}

// word reads a number, true, false or null.
func (d *jsonDecoder) word(c byte) {
	rest := d.data[d.at:]
	switch {
	case c == '-' || isDigit(c):
		if !d.s.decodeInvalid && invalidNumber(rest) {
			d.token = "invalid number"
			return
		}
		d.number()
	case strings.HasPrefix(rest, "true"):
		d.at, d.token, d.value = d.at+4, tokenBoolean, lua.LTrue
	case strings.HasPrefix(rest, "false"):
		d.at, d.token, d.value = d.at+5, tokenBoolean, lua.LFalse
	case strings.HasPrefix(rest, "null"):
		d.at, d.token, d.value = d.at+4, tokenNull, d.st.null
	case d.s.decodeInvalid && strings.IndexByte("iInN+", c) >= 0 && invalidNumber(rest):
		d.number()
	default:
		d.token = "invalid token"
	}
}

// invalidNumber says whether a text begins as a number of C that JSON has not.
func invalidNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	switch {
	case s == "":
		return false
	case s[0] == '0':
		return len(s) > 1 && (s[1]|0x20 == 'x' || isDigit(s[1]))
	case s[0] <= '9':
		return false
	}
	lower := strings.ToLower(s[:min(len(s), 3)])
	return lower == "inf" || lower == "nan"
}

// number reads the longest number (strtod).
func (d *jsonDecoder) number() {
	rest := d.data[d.at:]
	n, ok := parseNumber(rest[:numberLength(rest)])
	if !ok {
		d.token = "invalid number"
		return
	}
	d.at += numberLength(rest)
	d.token, d.value = tokenNumber, n
}

// numberLength is how much of a text strtod reads.
func numberLength(s string) int {
	at := 0
	if at < len(s) && (s[at] == '-' || s[at] == '+') {
		at++
	}
	body := s[at:]
	lower := strings.ToLower(body[:min(len(body), 8)])
	switch {
	case strings.HasPrefix(lower, "infinity"):
		return at + 8
	case strings.HasPrefix(lower, "inf"), strings.HasPrefix(lower, "nan"):
		return at + 3
	case strings.HasPrefix(lower, "0x"):
		if n := mantissa(body[2:], isHexDigit); n > 0 {
			return at + 2 + n + exponent(body[2+n:], 'p')
		}
		return at + 1 // the zero
	}
	n := mantissa(body, isDigit)
	if n == 0 {
		return 0
	}
	return at + n + exponent(body[n:], 'e')
}

func isHexDigit(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// mantissa is the length of digits with a point among them, 0 without a digit.
func mantissa(s string, digit func(byte) bool) int {
	at, digits, point := 0, 0, false
	for ; at < len(s); at++ {
		switch {
		case digit(s[at]):
			digits++
		case s[at] == '.' && !point:
			point = true
		default:
			if digits == 0 {
				return 0
			}
			return at
		}
	}
	if digits == 0 {
		return 0
	}
	return at
}

// exponent is the length of an exponent, 0 if there is none.
func exponent(s string, letter byte) int {
	if s == "" || s[0]|0x20 != letter {
		return 0
	}
	at := 1
	if at < len(s) && (s[at] == '-' || s[at] == '+') {
		at++
	}
	_, digits := skipDigits(s[at:])
	if digits == 0 {
		return 0
	}
	return at + digits
}

func (d *jsonDecoder) string() {
	d.at++
	end := strings.IndexAny(d.data[d.at:], "\"\\\x00")
	if end >= 0 && d.data[d.at+end] == '"' { // nothing to translate
		d.value, d.token = lua.LString(d.data[d.at:d.at+end]), tokenString
		d.at += end + 1
		return
	}
	var out []byte
	for {
		c := d.peek(0)
		switch c {
		case '"':
			d.at++
			d.value, d.token = lua.LString(out), tokenString
			return
		case 0:
			d.begin, d.token = d.at, "unexpected end of string"
			return
		case '\\':
			var ok bool
			if out, ok = d.escape(out); !ok {
				d.begin = d.at
				return
			}
		default:
			out = append(out, c)
			d.at++
		}
	}
}

// escape translates an escape; if it cannot, the token says why.
func (d *jsonDecoder) escape(out []byte) ([]byte, bool) {
	c := d.peek(1)
	if c == 'u' {
		return d.unicode(out)
	}
	at := strings.IndexByte(`"\/btnfr`, c)
	if at < 0 || c == 0 {
		d.token = "invalid escape code"
		return out, false
	}
	d.at += 2
	return append(out, "\"\\/\b\t\n\f\r"[at]), true
}

// unicode translates \uXXXX, or two of them that are one character.
func (d *jsonDecoder) unicode(out []byte) ([]byte, bool) {
	code, used := d.hex4(2), 6
	if code&0xF800 == 0xD800 && code >= 0 {
		low := d.hex4(8)
		if code&0x400 != 0 || d.peek(6) != '\\' || d.peek(7) != 'u' || low < 0 || low&0xFC00 != 0xDC00 {
			code = -1
		} else {
			code, used = (code&0x3FF<<10|low&0x3FF)+0x10000, 12
		}
	}
	if code < 0 {
		d.token = "invalid unicode escape code"
		return out, false
	}
	d.at += used
	return utf8.AppendRune(out, rune(code)), true
}

func (d *jsonDecoder) hex4(ahead int) int {
	code := 0
	for i := range 4 {
		at := strings.IndexByte("0123456789abcdef", d.peek(ahead+i)|0x20)
		if c := d.peek(ahead + i); isDigit(c) {
			at = int(c - '0')
		} else if at < 10 {
			return -1
		}
		code = code<<4 | at
	}
	return code
}

// read makes a value of the token that was read, and of what belongs to it.
func (d *jsonDecoder) read() lua.LValue {
	switch d.token {
	case tokenString, tokenNumber, tokenBoolean, tokenNull:
		return d.value
	case tokenObjectBegin:
		return d.object()
	case tokenArrayBegin:
		return d.array()
	}
	d.refuse("value")
	return lua.LNil
}

func (d *jsonDecoder) descend() {
	if d.depth++; d.depth > min(d.s.decodeDepth, jsonDepthMax) {
		d.l.RaiseError("Found too many nested data structures (%d) at character %d", d.depth, d.at)
	}
}

func (d *jsonDecoder) object() lua.LValue {
	d.descend()
	t := d.l.CreateTable(0, 4)
	if d.next(); d.token == tokenObjectEnd {
		d.depth--
		return t
	}
	for {
		if d.token != tokenString {
			d.refuse("object key string")
		}
		key := d.value
		if d.next(); d.token != tokenColon {
			d.refuse("colon")
		}
		d.next()
		t.RawSet(key, d.read())
		switch d.next(); d.token {
		case tokenObjectEnd:
			d.depth--
			return t
		case tokenComma:
			d.next()
		default:
			d.refuse("comma or object end")
		}
	}
}

func (d *jsonDecoder) array() lua.LValue {
	d.descend()
	t := d.l.CreateTable(4, 0)
	if d.next(); d.token == tokenArrayEnd {
		d.depth--
		return t
	}
	for i := 1; ; i++ {
		t.RawSetInt(i, d.read())
		switch d.next(); d.token {
		case tokenArrayEnd:
			d.depth--
			return t
		case tokenComma:
			d.next()
		default:
			d.refuse("comma or array end")
		}
	}
}
