package reply

// This file owns the arithmetic of INCRBYFLOAT and HINCRBYFLOAT. Redis computes
// them in x87 extended precision: a mantissa of 64 bits, rounded to nearest even,
// and a binary exponent up to 16384. A big.Float of 64 bits does the same within
// that range; the range's ends are tested here. It must not know commands.

import (
	"math"
	"math/big"
)

// LongDouble is an 80-bit floating point number, possibly infinite, never a NaN.
// Its zero value is 0.
type LongDouble struct{ value big.Float }

const (
	mantissaBits = 64
	// As big.Float counts exponents, of mantissas from 1/2 to 1: a finite number is
	// below 2^16384, the smallest above zero is 2^-16445.
	exponentMax = 16384
	exponentMin = -16444
	// No number with more decimal digits before its point is finite, none with more
	// zeros behind it is above zero; beyond them nothing is computed.
	decimalsMax = 4940
	decimalsMin = -4960
	// textMax is Redis's buffer for such a number.
	textMax = 5 * 1024
)

// LongDoubleOf returns an integer, exactly.
func LongDoubleOf(value int64) LongDouble {
	var out LongDouble
	out.value.SetPrec(mantissaBits).SetInt64(value)
	return out
}

// ParseLongDouble reads a number as Redis's string2ld does: whatever strtold reads
// (hex, "inf"), to the end, without a leading space and shorter than 5 KB; no NaN,
// no overflow, no underflow to zero. It is rounded correctly from all its digits.
func ParseLongDouble(text []byte) (LongDouble, bool) {
	var out LongDouble
	if len(text) == 0 || len(text) >= textMax {
		return out, false
	}
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	if isInfinity(text) {
		out.value.SetInf(negative)
		return out, true
	}
	number, ok := scan(text)
	if !ok || !number.round(&out.value) {
		return out, false
	}
	if negative {
		out.value.Neg(&out.value)
	}
	return out, true
}

// IsInf says whether the number is infinite.
func (a *LongDouble) IsInf() bool { return a.value.IsInf() }

// Add returns the sum. ok is false if it is infinite or not a number, which Redis
// refuses as "increment would produce NaN or Infinity".
func (a *LongDouble) Add(b *LongDouble) (sum LongDouble, ok bool) {
	if a.value.IsInf() || b.value.IsInf() {
		return sum, false
	}
	sum.value.SetPrec(mantissaBits).Add(&a.value, &b.value)
	return sum, sum.value.MantExp(nil) <= exponentMax
}

// Milliseconds is a number of seconds in milliseconds, rounded up; what is beyond
// 64 bits is the least of them, as C's conversion gives it on Redis's platforms.
func (a *LongDouble) Milliseconds() int64 {
	if a.value.IsInf() {
		return math.MinInt64
	}
	var ms big.Float
	ms.SetPrec(mantissaBits).Mul(&a.value, big.NewFloat(1000))
	whole, accuracy := ms.Int64()
	switch {
	case (whole == math.MaxInt64 || whole == math.MinInt64) && accuracy != big.Exact:
		return math.MinInt64
	case accuracy == big.Below:
		return whole + 1
	}
	return whole
}

// Append appends the number as people write it: 17 digits behind the point, without
// the zeros at the end, and no exponent. At most 4,952 bytes.
func (a *LongDouble) Append(dst []byte) []byte {
	if a.value.IsInf() {
		if a.value.Signbit() {
			return append(dst, "-inf"...)
		}
		return append(dst, "inf"...)
	}
	start := len(dst)
	dst = a.value.Append(dst, 'f', 17)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	if dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	if string(dst[start:]) == "-0" {
		return append(dst[:start], '0')
	}
	return dst
}

// scanned is a number as it is written: digits × base^exponent.
type scanned struct {
	digits   []byte // without a point; may have leading zeros
	base     int    // 10 or 16: of the digits
	exponent int    // of 10, or of 2 if base is 16
}

// exponentCap is where a written exponent stops counting; it exceeds what textMax
// digits could balance.
const exponentCap = 100_000

// scan splits the text of a number without a sign.
func scan(text []byte) (scanned, bool) {
	number := scanned{base: 10}
	perDigit := 1
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		number.base, perDigit = 16, 4
		text = text[2:]
	}
	number.digits = make([]byte, 0, len(text))
	point := false
	i := 0
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if !isDigit(c, number.base) {
			break
		}
		number.digits = append(number.digits, c)
		if point {
			number.exponent -= perDigit
		}
	}
	if len(number.digits) == 0 {
		return number, false
	}
	if i == len(text) {
		return number, true
	}
	mark := byte('e')
	if number.base == 16 {
		mark = 'p'
	}
	if text[i]|0x20 != mark {
		return number, false
	}
	exponent, ok := scanExponent(text[i+1:])
	number.exponent += exponent
	return number, ok
}

func isDigit(c byte, base int) bool {
	return c >= '0' && c <= '9' || base == 16 && c|0x20 >= 'a' && c|0x20 <= 'f'
}

func scanExponent(text []byte) (int, bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative || len(text) > 0 && text[0] == '+' {
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, false
	}
	value := 0
	for _, c := range text {
		if !isDigit(c, 10) {
			return 0, false
		}
		value = min(value*10+int(c-'0'), exponentCap)
	}
	if negative {
		value = -value
	}
	return value, true
}

// round sets z to the number, correctly rounded; false if it overflows, or
// underflows to zero.
func (number scanned) round(z *big.Float) bool {
	z.SetPrec(mantissaBits)
	digits := number.digits
	for len(digits) > 0 && digits[0] == '0' {
		digits = digits[1:]
	}
	if len(digits) == 0 {
		return true
	}
	mantissa, _ := new(big.Int).SetString(string(digits), number.base)
	switch {
	case number.base == 16:
		z.SetInt(mantissa)
		z.SetMantExp(z, number.exponent)
	case len(digits)+number.exponent > decimalsMax, len(digits)+number.exponent < decimalsMin:
		return false
	case number.exponent >= 0:
		z.SetInt(mantissa.Mul(mantissa, power10(number.exponent)))
	default:
		// Both operands are exact, so the quotient is rounded once.
		z.Quo(new(big.Float).SetInt(mantissa), new(big.Float).SetInt(power10(-number.exponent)))
	}
	exponent := z.MantExp(nil)
	// What is above one half of the smallest number rounds up to it; a half exactly,
	// the only mantissa of one bit there, rounds to zero.
	subnormal := exponent == exponentMin-1 && z.MinPrec() > 1
	return exponent <= exponentMax && (exponent >= exponentMin || subnormal)
}

func power10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

func isInfinity(text []byte) bool {
	return equalFold(text, "inf") || equalFold(text, "infinity")
}

func equalFold(text []byte, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i, c := range text {
		if c|0x20 != word[i] {
			return false
		}
	}
	return true
}
