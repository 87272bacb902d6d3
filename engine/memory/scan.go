package memory

// This file owns reading JSON text: is it valid, where does a value end, what
// does a string say. Nothing here recurses, so depth is a number to compare and
// not a stack to overflow.

import (
	"unicode/utf16"
	"unicode/utf8"
)

// CheckJSON says whether the text is one JSON value by RFC 8259, in UTF-8, not
// nested deeper than the limit of values. Repeated member names are allowed:
// readers here take the last.
func CheckJSON(what string, text []byte) error {
	return checkJSON(what, text, limitValueDepth())
}

// CheckJSONDepth is CheckJSON with a limit of the caller's.
func CheckJSONDepth(what string, text []byte, depth Limit) error { return checkJSON(what, text, depth) }

// CheckMeta checks the META document.
func CheckMeta(text []byte) error {
	if limit := LimitMeta(); len(text) > limit.Default {
		return errTooLarge("meta", len(text), limit)
	}
	return checkJSON("meta", text, limitPatchDepth())
}

// CheckValue checks a record's value: JSON, or with text valid UTF-8, not
// larger than the limit of values.
func CheckValue(value []byte, text bool) error {
	if limit := LimitValue(); len(value) > limit.Default {
		return errTooLarge("value", len(value), limit)
	}
	if text {
		return CheckText("value", value, LimitValue())
	}
	return CheckJSON("value", value)
}

func checkJSON(what string, text []byte, depth Limit) error {
	switch verdict, offset := inspect(text, depth.Default); verdict {
	case jsonMalformed:
		return errNotJSON(what, offset)
	case jsonTooDeep:
		return errTooDeep(what, offset, depth)
	case jsonNotUTF8:
		return errNotUTF8(what, offset)
	}
	return nil
}

type verdict uint8

const (
	jsonFine verdict = iota
	jsonMalformed
	jsonTooDeep
	jsonNotUTF8
)

// nesting remembers, one bit per level, whether a container is an object.
type nesting struct {
	bits  []uint64
	depth int
}

func (n *nesting) push(object bool) {
	word, bit := n.depth/64, uint(n.depth%64)
	if word == len(n.bits) {
		n.bits = append(n.bits, 0)
	}
	n.bits[word] &^= 1 << bit
	if object {
		n.bits[word] |= 1 << bit
	}
	n.depth++
}

func (n *nesting) inObject() bool {
	level := n.depth - 1
	return n.bits[level/64]>>uint(level%64)&1 == 1
}

// inspect validates one JSON text and gives the offset of the first fault.
func inspect(text []byte, depthMax int) (verdict, int) {
	var room [8]uint64
	open := nesting{bits: room[:0]}
	i := skipSpace(text, 0)
	for {
		// A value begins at i.
		if i == len(text) {
			return jsonMalformed, i
		}
		switch c := text[i]; c {
		case '{', '[':
			if open.depth == depthMax {
				return jsonTooDeep, i
			}
			open.push(c == '{')
			i = skipSpace(text, i+1)
			if i < len(text) && text[i] == c+2 { // '{'+2 is '}', '['+2 is ']'
				i++
				open.depth--
				break
			}
			if c == '{' {
				var fault verdict
				if i, fault = inspectName(text, i); fault != jsonFine {
					return fault, i
				}
			}
			continue
		default:
			var fault verdict
			if i, fault = inspectScalar(text, i); fault != jsonFine {
				return fault, i
			}
		}
		// A value has ended before i: close what ends here.
		for {
			i = skipSpace(text, i)
			if open.depth == 0 {
				if i < len(text) {
					return jsonMalformed, i
				}
				return jsonFine, i
			}
			if i == len(text) {
				return jsonMalformed, i
			}
			object := open.inObject()
			if c := text[i]; (c == '}' && object) || (c == ']' && !object) {
				i++
				open.depth--
				continue
			} else if c != ',' {
				return jsonMalformed, i
			}
			i = skipSpace(text, i+1)
			if object {
				var fault verdict
				if i, fault = inspectName(text, i); fault != jsonFine {
					return fault, i
				}
			}
			break
		}
	}
}

// inspectName validates a member's name with its colon and goes to its value.
func inspectName(text []byte, i int) (int, verdict) {
	if i == len(text) || text[i] != '"' {
		return i, jsonMalformed
	}
	i, fault := inspectString(text, i)
	if fault != jsonFine {
		return i, fault
	}
	i = skipSpace(text, i)
	if i == len(text) || text[i] != ':' {
		return i, jsonMalformed
	}
	return skipSpace(text, i+1), jsonFine
}

func inspectScalar(text []byte, i int) (int, verdict) {
	switch text[i] {
	case '"':
		return inspectString(text, i)
	case 't':
		return inspectWord(text, i, "true")
	case 'f':
		return inspectWord(text, i, "false")
	case 'n':
		return inspectWord(text, i, "null")
	}
	return inspectNumber(text, i)
}

func inspectWord(text []byte, i int, word string) (int, verdict) {
	for k := range len(word) {
		if i+k == len(text) || text[i+k] != word[k] {
			return i + k, jsonMalformed
		}
	}
	return i + len(word), jsonFine
}

func inspectString(text []byte, i int) (int, verdict) {
	for i++; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			return i + 1, jsonFine
		case c == '\\':
			size := escapeLen(text[i:])
			if size == 0 {
				return i, jsonMalformed
			}
			i += size
		case c < 0x20:
			return i, jsonMalformed
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				return i, jsonNotUTF8
			}
			i += size
		}
	}
	return i, jsonMalformed
}

// escapeLen gives the length of the escape that text begins with, 0 if it is
// none.
func escapeLen(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(text) < 6 {
			return 0
		}
		for _, c := range text[2:6] {
			if hexValue(c) < 0 {
				return 0
			}
		}
		return 6
	}
	return 0
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func inspectNumber(text []byte, i int) (int, verdict) {
	if i < len(text) && text[i] == '-' {
		i++
	}
	start := i
	i = skipDigits(text, i)
	if i == start {
		return i, jsonMalformed
	}
	if text[start] == '0' && i > start+1 {
		return start + 1, jsonMalformed
	}
	if i < len(text) && text[i] == '.' {
		fraction := i + 1
		if i = skipDigits(text, fraction); i == fraction {
			return i, jsonMalformed
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		exponent := i
		if i = skipDigits(text, exponent); i == exponent {
			return i, jsonMalformed
		}
	}
	return i, jsonFine
}

func skipDigits(text []byte, i int) int {
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// What follows reads text that CheckJSON has passed. On other text, which only
// a damaged store could hold, it gives nonsense but stays inside.

// skipString gives where the string that begins at i ends.
func skipString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(text))
}

// skipValue gives where the value that begins at i ends.
func skipValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default:
			for i < len(text) && !endsScalar(text[i]) {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

func endsScalar(c byte) bool {
	switch c {
	case ',', ':', ' ', '\n', '\t', '\r', '}', ']':
		return true
	}
	return false
}

// trimSpace gives the value without the space around it.
func trimSpace(text []byte) []byte {
	text = text[skipSpace(text, 0):]
	for len(text) > 0 && skipSpace(text, len(text)-1) == len(text) {
		text = text[:len(text)-1]
	}
	return text
}

// appendUnquoted appends what a JSON string, quotes included, says. A lone
// surrogate, which has no UTF-8 form, is appended as the three bytes that it
// would have, so that different strings stay different.
func appendUnquoted(dst, quoted []byte) []byte {
	for i := 1; i < len(quoted)-1; {
		if quoted[i] != '\\' {
			dst = append(dst, quoted[i])
			i++
			continue
		}
		switch c := quoted[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := escapedRune(quoted[i:])
			i += 6
			if utf16.IsSurrogate(r) && i+6 <= len(quoted) && quoted[i] == '\\' && quoted[i+1] == 'u' {
				if pair := utf16.DecodeRune(r, escapedRune(quoted[i:])); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			if utf16.IsSurrogate(r) {
				dst = append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
			} else {
				dst = utf8.AppendRune(dst, r)
			}
			continue
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

// escapedRune reads \uXXXX.
func escapedRune(escape []byte) rune {
	if len(escape) < 6 {
		return utf8.RuneError
	}
	r := rune(0)
	for _, c := range escape[2:6] {
		r = r<<4 | rune(hexValue(c))
	}
	return r
}

// appendStringLeaves appends all strings of a valid JSON text but the names of
// members, in document order, separated by spaces, as valid UTF-8.
func appendStringLeaves(dst, text []byte) []byte {
	start := len(dst)
	for i := 0; i < len(text); {
		if text[i] != '"' {
			i++
			continue
		}
		end := skipString(text, i)
		after := skipSpace(text, end)
		if after < len(text) && text[after] == ':' { // a member's name
			i = after + 1
			continue
		}
		if end-i > 2 {
			if len(dst) > start {
				dst = append(dst, ' ')
			}
			mark := len(dst)
			dst = appendUnquoted(dst, text[i:end])
			dst = repairUTF8(dst, mark)
		}
		i = end
	}
	return dst
}

// repairUTF8 replaces what is not UTF-8 from mark on.
func repairUTF8(dst []byte, mark int) []byte {
	if utf8.Valid(dst[mark:]) {
		return dst
	}
	repaired := []byte(string([]rune(string(dst[mark:]))))
	return append(dst[:mark], repaired...)
}

// Compact appends a valid JSON text without the space between its tokens, so
// that it stands on one line.
func Compact(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		switch text[i] {
		case ' ', '\n', '\t', '\r':
			i++
		case '"':
			end := skipString(text, i)
			dst = append(dst, text[i:end]...)
			i = end
		default:
			dst = append(dst, text[i])
			i++
		}
	}
	return dst
}
