package grammar

// This file owns how arguments become numbers, digit for digit as Redis reads
// them. It must not know which command asks.

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// ParseInt reads a 64-bit integer as Redis's string2ll does: an optional minus,
// no plus, no leading zero, no spaces, nothing behind it.
func ParseInt(arg []byte) (int64, bool) {
	if len(arg) == 0 || len(arg) > 20 {
		return 0, false
	}
	if len(arg) == 1 && arg[0] == '0' {
		return 0, true
	}
	digits, negative := arg, false
	if arg[0] == '-' {
		digits, negative = arg[1:], true
	}
	if len(digits) == 0 || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	var magnitude uint64
	for _, c := range digits {
		digit := uint64(c - '0')
		if c < '0' || c > '9' || magnitude > math.MaxUint64/10 {
			return 0, false
		}
		magnitude *= 10
		if magnitude > math.MaxUint64-digit {
			return 0, false
		}
		magnitude += digit
	}
	if negative {
		// The magnitude of the smallest integer is one more than the largest.
		if magnitude > 1<<63 {
			return 0, false
		}
		return -int64(magnitude), true
	}
	if magnitude > math.MaxInt64 {
		return 0, false
	}
	return int64(magnitude), true
}

// ParseFloat reads a double as Redis's string2d does: whatever strtod reads (hex,
// "inf", "infinity"), to the end of the argument, without a leading space; not a
// NaN, not an overflow, not an underflow to zero.
func ParseFloat(arg []byte) (float64, bool) {
	value, err := strtod(arg)
	if err != nil || math.IsNaN(value) || value == 0 && !isZero(arg) {
		return 0, false
	}
	return value, true
}

// ParseBound reads an end of a range of doubles as Redis's zslParseRange does:
// whatever strtod reads, up to the end or a NUL. Spaces may come first, nothing at
// all is 0, and what overflows is infinite; a NaN is none.
func ParseBound(arg []byte) (float64, bool) {
	if end := bytes.IndexByte(arg, 0); end >= 0 {
		arg = arg[:end]
	}
	if len(arg) == 0 {
		return 0, true
	}
	value, err := strtod(bytes.TrimLeft(arg, " \t\n\v\f\r"))
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return value, !math.IsNaN(value)
}

// strtod reads what C's strtod reads to the end of arg, without spaces first.
// What overflows is infinite and an error of strconv.ErrRange.
func strtod(arg []byte) (float64, error) {
	if bytes.IndexByte(arg, '_') >= 0 {
		return 0, strconv.ErrSyntax
	}
	value, err := strconv.ParseFloat(string(arg), 64)
	if errors.Is(err, strconv.ErrSyntax) && isHex(arg) && !bytes.ContainsAny(arg, "pP") {
		// strtod reads hex numbers without an exponent, strconv does not.
		return strconv.ParseFloat(string(arg)+"p0", 64)
	}
	return value, err
}

func isHex(arg []byte) bool {
	if len(arg) > 0 && (arg[0] == '-' || arg[0] == '+') {
		arg = arg[1:]
	}
	return len(arg) > 2 && arg[0] == '0' && arg[1]|0x20 == 'x'
}

// isZero tells a written zero from an underflow: no digit of the mantissa counts.
func isZero(arg []byte) bool {
	hex := isHex(arg)
	for _, c := range arg {
		switch {
		case hex && c|0x20 == 'p', !hex && c|0x20 == 'e':
			return true
		case c >= '1' && c <= '9', hex && c|0x20 >= 'a' && c|0x20 <= 'f':
			return false
		}
	}
	return true
}
