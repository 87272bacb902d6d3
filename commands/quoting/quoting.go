// Package quoting is Redis's way to write words in one line (sds.c sdssplitargs and
// sdscatrepr): inline requests, redis.conf, CONFIG SET, selectors of users and
// MONITOR share it. It is a leaf and must not know who asks.
package quoting

// Split splits a line into words. Words may be in double quotes, with the
// escapes \n \r \t \b \a \xHH and \ before any other byte, or in single quotes,
// with \' only. A closing quote must be followed by a space or the end. A NUL
// ends the line. It reports false for unbalanced quotes. The words do not alias
// line.
func Split(line []byte) ([][]byte, bool) {
	words := [][]byte{}
	at := 0
	for {
		for at < len(line) && isSpace(line[at]) {
			at++
		}
		if at >= len(line) || line[at] == 0 {
			return words, true
		}
		word, next, ok := readWord(line, at)
		if !ok {
			return nil, false
		}
		words = append(words, word)
		at = next
	}
}

// readWord reads one word from at and returns where it ends.
func readWord(line []byte, at int) (word []byte, next int, ok bool) {
	word = make([]byte, 0, 16)
	for at < len(line) {
		switch c := line[at]; c {
		case ' ', '\n', '\r', '\t', 0:
			return word, at, true
		case '"':
			word, at, ok = readDoubleQuoted(word, line, at+1)
			return word, at, ok
		case '\'':
			word, at, ok = readSingleQuoted(word, line, at+1)
			return word, at, ok
		default:
			word = append(word, c)
			at++
		}
	}
	return word, at, true
}

func readDoubleQuoted(word, line []byte, at int) ([]byte, int, bool) {
	for at < len(line) && line[at] != 0 {
		c := line[at]
		switch {
		case c == '\\' && at+3 < len(line) && line[at+1] == 'x' && isHex(line[at+2]) && isHex(line[at+3]):
			word = append(word, hexValue(line[at+2])<<4|hexValue(line[at+3]))
			at += 4
		case c == '\\' && at+1 < len(line) && line[at+1] != 0:
			word = append(word, unescape(line[at+1]))
			at += 2
		case c == '"':
			return word, at + 1, endsWord(line, at+1)
		default:
			word = append(word, c)
			at++
		}
	}
	return nil, 0, false
}

func readSingleQuoted(word, line []byte, at int) ([]byte, int, bool) {
	for at < len(line) && line[at] != 0 {
		c := line[at]
		switch {
		case c == '\\' && at+1 < len(line) && line[at+1] == '\'':
			word = append(word, '\'')
			at += 2
		case c == '\'':
			return word, at + 1, endsWord(line, at+1)
		default:
			word = append(word, c)
			at++
		}
	}
	return nil, 0, false
}

// Quote is the inverse of Split for one word, as Redis writes words into a
// configuration.
func Quote(word string) string { return string(AppendQuoted(nil, word)) }

// AppendQuoted appends Quote's text.
func AppendQuoted(dst []byte, word string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(word) {
		switch c := word[i]; {
		case c == '\\' || c == '"':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\a':
			dst = append(dst, `\a`...)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c < ' ' || c > '~':
			dst = append(dst, '\\', 'x', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// endsWord reports whether a word may end before at.
func endsWord(line []byte, at int) bool {
	return at >= len(line) || line[at] == 0 || isSpace(line[at])
}

func isSpace(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func hexValue(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

// EqualFold compares words without regard to the case of ASCII letters, as Redis
// compares them: other letters are bytes.
func EqualFold[A, B ~string | ~[]byte](a A, b B) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if Lower(a[i]) != Lower(b[i]) {
			return false
		}
	}
	return true
}

// Lower is an ASCII letter in lower case, and any other byte as it is.
func Lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
