package lua

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file owns string.format: C's printf, as far as Lua lets it through.

// directive is one %… of a format.
type directive struct {
	left, plus, space, alternate, zero bool
	width, precision                   int // precision -1: none
	verb                               byte
}

func (st *State) format(l *lua.LState) int {
	layout := checkString(l, 1, "format")
	var out []byte
	argument := 1
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			out = append(out, layout[i])
			continue
		}
		if i+1 < len(layout) && layout[i+1] == '%' {
			out = append(out, '%')
			i++
			continue
		}
		d, used := parseDirective(l, layout[i+1:])
		i += used
		argument++
		if argument > l.GetTop() && strings.IndexByte("cdioxXueEfgGqs", d.verb) >= 0 {
			argumentError(l, argument, "format", formatExpects(d.verb)+" expected, got no value")
		}
		out = d.append(l, out, argument)
		checkLength(l, len(out))
	}
	l.Push(lua.LString(out))
	return 1
}

func formatExpects(verb byte) string {
	if verb == 'q' || verb == 's' {
		return "string"
	}
	return "number"
}

// parseDirective reads what follows a %; used is its length, verb included.
func parseDirective(l *lua.LState, s string) (d directive, used int) {
	flags := 0
	for flags < len(s) && strings.IndexByte("-+ #0", s[flags]) >= 0 {
		switch s[flags] {
		case '-':
			d.left = true
		case '+':
			d.plus = true
		case ' ':
			d.space = true
		case '#':
			d.alternate = true
		case '0':
			d.zero = true
		}
		flags++
	}
	if flags > 5 {
		l.RaiseError("invalid format (repeated flags)")
	}
	rest := s[flags:]
	d.width, rest = twoDigits(rest)
	d.precision = -1
	if strings.HasPrefix(rest, ".") {
		d.precision, rest = twoDigits(rest[1:])
	}
	if rest != "" && isDigit(rest[0]) {
		l.RaiseError("invalid format (width or precision too long)")
	}
	if rest != "" {
		d.verb, rest = rest[0], rest[1:]
	}
	return d, len(s) - len(rest)
}

func twoDigits(s string) (n int, rest string) {
	for i := 0; i < 2 && s != "" && isDigit(s[0]); i++ {
		n, s = n*10+int(s[0]-'0'), s[1:]
	}
	return n, s
}

// append formats argument n.
func (d *directive) append(l *lua.LState, out []byte, n int) []byte {
	switch d.verb {
	case 'c':
		// What C has printed ends at a NUL.
		shown, _, _ := strings.Cut(string(d.pad(nil, "", string([]byte{byte(checkInt(l, n, "format"))}), false)), "\x00")
		return append(out, shown...)
	case 'd', 'i':
		value := toInteger(checkNumber(l, n, "format"))
		sign, digits := d.sign(value < 0), strconv.FormatInt(value, 10)
		return d.integer(out, sign, strings.TrimPrefix(digits, "-"))
	case 'u', 'o', 'x', 'X':
		return d.unsigned(out, toUnsigned(checkNumber(l, n, "format")))
	case 'e', 'E', 'f', 'g', 'G':
		return d.float(out, checkNumber(l, n, "format"))
	case 'q':
		return appendQuoted(out, checkString(l, n, "format"))
	case 's':
		s := checkString(l, n, "format")
		if d.precision < 0 && len(s) >= 100 {
			return append(out, s...) // no width is that long
		}
		// printf ends at a NUL.
		if at := strings.IndexByte(s, 0); at >= 0 {
			s = s[:at]
		}
		if d.precision >= 0 && len(s) > d.precision {
			s = s[:d.precision]
		}
		return d.pad(out, "", s, false)
	}
	verb := ""
	if d.verb != 0 {
		verb = string([]byte{d.verb})
	}
	l.RaiseError("invalid option '%%%s' to 'format'", verb)
	return out
}

// toUnsigned is C's cast of a double to unsigned long long on x86-64.
func toUnsigned(n float64) uint64 {
	if n >= 1<<63 && n < 1<<64 {
		return uint64(n)
	}
	return uint64(toInteger(n))
}

func (d *directive) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case d.plus:
		return "+"
	case d.space:
		return " "
	}
	return ""
}

// integer writes digits with at least as many as the precision says.
func (d *directive) integer(out []byte, prefix, digits string) []byte {
	if d.precision >= 0 {
		if d.precision == 0 && digits == "0" {
			digits = ""
		}
		digits = strings.Repeat("0", max(0, d.precision-len(digits))) + digits
	}
	return d.pad(out, prefix, digits, d.precision < 0)
}

func (d *directive) unsigned(out []byte, value uint64) []byte {
	base, prefix := 10, ""
	switch d.verb {
	case 'o':
		base = 8
	case 'x', 'X':
		base = 16
		if d.alternate && value != 0 {
			prefix = "0" + string([]byte{d.verb})
		}
	}
	digits := strconv.FormatUint(value, base)
	if d.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if d.verb == 'o' && d.alternate && digits[0] != '0' {
		digits = "0" + digits
	}
	return d.integer(out, prefix, digits)
}

func (d *directive) float(out []byte, value float64) []byte {
	precision := d.precision
	if precision < 0 {
		precision = 6
	}
	var digits string
	finite := value-value == 0
	switch {
	case !finite:
		digits = string(appendGeneral(nil, value, 6))
	case d.verb == 'g' || d.verb == 'G':
		digits = d.general(value, max(precision, 1))
	default:
		digits = strconv.FormatFloat(value, d.verb|0x20, precision, 64)
		if d.alternate && precision == 0 {
			digits = withPoint(digits)
		}
	}
	if d.verb <= 'Z' {
		digits = strings.ToUpper(digits)
	}
	digits, negative := strings.CutPrefix(digits, "-")
	return d.pad(out, d.sign(negative), digits, finite)
}

// general is %g; with # it keeps its zeros.
func (d *directive) general(value float64, precision int) string {
	digits := string(appendGeneral(nil, value, precision))
	if !d.alternate {
		return digits
	}
	mantissa, exponent, scientific := strings.Cut(digits, "e")
	mantissa = withPoint(mantissa)
	shown := 0
	leading := true
	for _, c := range mantissa {
		if c >= '1' && c <= '9' {
			leading = false
		}
		if c >= '0' && c <= '9' && !leading {
			shown++
		}
	}
	if leading { // zero: each of its digits counts
		shown = strings.Count(mantissa, "0")
	}
	mantissa += strings.Repeat("0", max(0, precision-shown))
	if scientific {
		return mantissa + "e" + exponent
	}
	return mantissa
}

func withPoint(digits string) string {
	if strings.Contains(digits, ".") {
		return digits
	}
	if mantissa, exponent, ok := strings.Cut(digits, "e"); ok {
		return mantissa + ".e" + exponent
	}
	return digits + "."
}

// pad brings prefix and body to the width.
func (d *directive) pad(out []byte, prefix, body string, zeros bool) []byte {
	room := max(0, d.width-len(prefix)-len(body))
	switch {
	case d.left:
		out = append(append(out, prefix...), body...)
		return append(out, strings.Repeat(" ", room)...)
	case d.zero && zeros:
		out = append(append(out, prefix...), strings.Repeat("0", room)...)
		return append(out, body...)
	}
	out = append(append(out, strings.Repeat(" ", room)...), prefix...)
	return append(out, body...)
}

// appendQuoted writes a string as Lua reads it.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, '\\', 'r')
		case 0:
			out = append(out, "\\000"...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
