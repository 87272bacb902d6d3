package lua

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file owns how numbers are read and printed: as C's strtod and printf do in
// PUC Lua (lobject.c luaO_str2d, luaconf.h LUAI_NUMFFORMAT). It must not know states.

// numberDigits are the digits of a number that becomes a string ("%.14g").
const numberDigits = 14

// appendNumber prints a number as tostring does.
func appendNumber(dst []byte, n float64) []byte {
	if integer := int64(n); n > -1e14 && n < 1e14 && float64(integer) == n && (integer != 0 || !math.Signbit(n)) {
		return strconv.AppendInt(dst, integer, 10)
	}
	return appendGeneral(dst, n, numberDigits)
}

// appendGeneral is printf's "%.<precision>g".
func appendGeneral(dst []byte, n float64, precision int) []byte {
	switch {
	case math.IsNaN(n) && math.Signbit(n):
		return append(dst, "-nan"...)
	case math.IsNaN(n):
		return append(dst, "nan"...)
	case math.IsInf(n, 1):
		return append(dst, "inf"...)
	case math.IsInf(n, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, n, 'g', precision, 64)
}

func numberString(n lua.LNumber) string {
	var buf [32]byte
	return string(appendNumber(buf[:0], float64(n)))
}

// spaces are what isspace accepts in the C locale.
const spaces = " \t\n\v\f\r"

// parseNumber reads a string as a number: decimal or hexadecimal, with or without
// fraction and exponent, inf and nan, and white space around.
func parseNumber(text string) (lua.LNumber, bool) {
	// C reads up to the first NUL.
	if at := strings.IndexByte(text, 0); at >= 0 {
		text = text[:at]
	}
	text = strings.Trim(text, spaces)
	if small, ok := smallInteger(text); ok {
		return small, true
	}
	sign, body := "", text
	if body != "" && (body[0] == '-' || body[0] == '+') {
		sign, body = body[:1], body[1:]
	}
	switch lower := strings.ToLower(body); {
	case lower == "inf" || lower == "infinity":
		n, err := strconv.ParseFloat(sign+"inf", 64)
		return lua.LNumber(n), err == nil
	case lower == "nan":
		return lua.LNumber(math.Copysign(math.NaN(), signOf(sign))), true
	case strings.HasPrefix(lower, "0x"):
		return parseHexadecimal(sign, lower)
	}
	if !isDecimal(body) {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return lua.LNumber(n), err == nil || math.IsInf(n, 0) // too large is infinite
}

// smallInteger reads what most numbers are.
func smallInteger(text string) (lua.LNumber, bool) {
	if len(text) == 0 || len(text) > 15 {
		return 0, false
	}
	n := int64(0)
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return lua.LNumber(n), true
}

func signOf(sign string) float64 {
	if sign == "-" {
		return -1
	}
	return 1
}

// parseHexadecimal reads 0x1F, 0x.8 and 0x1p4.
func parseHexadecimal(sign, body string) (lua.LNumber, bool) {
	if strings.ContainsRune(body, '_') {
		return 0, false
	}
	if !strings.ContainsRune(body, 'p') {
		body += "p0"
	}
	n, err := strconv.ParseFloat(sign+body, 64)
	return lua.LNumber(n), err == nil || math.IsInf(n, 0)
}

// isDecimal says whether text is digits, perhaps with a point and an exponent.
func isDecimal(text string) bool {
	rest, whole := skipDigits(text)
	fraction := 0
	if strings.HasPrefix(rest, ".") {
		rest, fraction = skipDigits(rest[1:])
	}
	if whole+fraction == 0 {
		return false
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		rest = rest[1:]
	}
	rest, exponent := skipDigits(rest)
	return rest == "" && exponent > 0
}

func skipDigits(text string) (rest string, count int) {
	for count < len(text) && text[count] >= '0' && text[count] <= '9' {
		count++
	}
	return text[count:], count
}

// parseInBase reads an unsigned integer as C's strtoul does, for tonumber with a
// base: a minus sign wraps around, and what is too large is the largest.
func parseInBase(text string, base int) (lua.LNumber, bool) {
	if at := strings.IndexByte(text, 0); at >= 0 {
		text = text[:at]
	}
	text = strings.Trim(text, spaces)
	negative := strings.HasPrefix(text, "-")
	if negative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	if base == 16 && len(text) > 2 && (text[:2] == "0x" || text[:2] == "0X") {
		text = text[2:]
	}
	if text == "" || text[0] == '+' || text[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		if err.(*strconv.NumError).Err != strconv.ErrRange {
			return 0, false
		}
		return lua.LNumber(math.MaxUint64), true
	}
	if negative {
		n = -n
	}
	return lua.LNumber(float64(n)), true
}

// toNumber is a value as arithmetic sees it.
func toNumber(v lua.LValue) (lua.LNumber, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return v, true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

// toInteger is what a cast to a 64-bit integer makes of a number on x86-64: what
// does not fit is the least integer (cvttsd2si).
func toInteger(n float64) int64 {
	if n >= -(1<<63) && n < 1<<63 {
		return int64(n)
	}
	return math.MinInt64
}
