// This file owns what a directive's value may be: kinds, bounds, canonical
// forms and Redis's words for what is wrong. It must not know which directives
// exist or where values come from.

package server

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A kind is a type of value.
type kind uint8

const (
	boolean kind = iota
	text
	enum
	integer
	byteSize
	byteSizeOrPercent
	octal
	duration
	special
)

// Flags of a directive.
const (
	// immutable: only at start. multi: several words. hidden: not found by
	// globs. protected: needs enable-protected-configs. sensitive: a secret. late: not
	// set while data is being read.
	immutable = 1 << iota
	multi
	hidden
	protected
	sensitive
	late
	// fixed: as immutable, but setting the value that it has is no error, so
	// that what reads all directives and sets them again, as Redis's tests do,
	// need not know this server's own.
	fixed
)

// A value is a directive's value in all forms that a bind may want.
type value struct {
	// text is the canonical form, as CONFIG GET answers it.
	text   string
	on     bool
	number int64
	words  []string
	// usual says that nobody gave it: it is the directive's initial value.
	usual bool
}

// A directive is one row of the table.
type directive struct {
	name, alias string
	kind        kind
	initial     string
	low, high   int64
	// unsigned has negative numbers wrap before the bounds are looked at.
	unsigned bool
	values   []string
	flags    int
	// check looks at a text; parse replaces the kind's parsing: it gets the
	// words and the current canonical text.
	check func(text string) error
	parse func(words []string, current string) (value, error)
	// rewrite gives the lines of a value that has a syntax of its own; needed says
	// that it is not the default.
	rewrite func(d *directive, v value, needed bool) []fileLine
	// bind puts a value where its readers look. Without it the directive has
	// no effect.
	bind    func(s *Settings, v value)
	refused bool
}

func (d *directive) is(flag int) bool { return d.flags&flag != 0 }

// A configText is an error in Redis's words, which begin and end as they do.
type configText string

func (t configText) Error() string { return string(t) }

const (
	errWordCount = configText("wrong number of arguments")
	errImmutable = configText("can't set immutable config")
	errYesNo     = configText("argument must be 'yes' or 'no'")
	errRefused   = configText("this directive is not supported, and ignoring it would not be safe")
)

// read turns words into a value.
func (d *directive) read(words []string, current string) (value, error) {
	v, err := d.readKind(words, current)
	if err == nil && d.refused && !d.isInitial(v) {
		err = errRefused
	}
	return v, err
}

// isInitial reports whether v is the default.
func (d *directive) isInitial(v value) bool {
	initial, err := d.readKind(d.initialWords(), "")
	return err == nil && initial.text == v.text
}

// initialWords is the default as a file would have it.
func (d *directive) initialWords() []string {
	if d.is(multi) {
		return strings.Fields(d.initial)
	}
	return []string{d.initial}
}

func (d *directive) readKind(words []string, current string) (value, error) {
	if d.parse != nil {
		return d.parse(words, current)
	}
	if d.kind == enum {
		return d.readEnum(words)
	}
	if len(words) != 1 {
		return value{}, errWordCount
	}
	word := words[0]
	switch d.kind {
	case boolean:
		switch strings.ToLower(word) {
		case "yes":
			return value{text: "yes", on: true}, nil
		case "no":
			return value{text: "no"}, nil
		}
		return value{}, errYesNo
	case text:
		if d.check != nil {
			if err := d.check(word); err != nil {
				return value{}, err
			}
		}
		return value{text: word}, nil
	}
	return d.readNumber(word)
}

// readEnum reads one of the values, or several when the directive is multi. The
// canonical form has the table's spelling and order; the first value stands
// alone.
func (d *directive) readEnum(words []string) (value, error) {
	chosen := make([]bool, len(d.values))
	for _, word := range words {
		at := slices.IndexFunc(d.values, func(v string) bool { return strings.EqualFold(v, word) })
		if at < 0 {
			return value{}, d.enumError()
		}
		chosen[at] = true
	}
	if len(words) == 0 || len(words) > 1 && !d.is(multi) {
		return value{}, d.enumError()
	}
	var names []string
	for i, name := range d.values {
		if chosen[i] {
			names = append(names, name)
		}
	}
	if d.is(multi) {
		if slices.Contains(names, "save") && slices.Contains(names, "nosave") {
			return value{}, configText("shutdown options SAVE and NOSAVE can't be used simultaneously")
		}
		if len(names) > 1 && names[0] == "default" {
			names = names[1:]
		}
	}
	return value{text: strings.Join(names, " "), words: names}, nil
}

func (d *directive) enumError() error {
	return configText("argument(s) must be one of the following: " + strings.Join(d.values, ", "))
}

// readNumber reads the numeric kinds. Percentages are negative numbers.
func (d *directive) readNumber(word string) (value, error) {
	number, ok := d.parseNumber(word)
	if !ok {
		return value{}, configText(d.numberText())
	}
	if d.kind == byteSizeOrPercent && number < 0 {
		if number < d.low {
			return value{}, fmt.Errorf("percentage argument must be less or equal to %d", -d.low)
		}
		return value{text: strconv.FormatInt(-number, 10) + "%", number: number}, nil
	}
	if number < d.low || number > d.high {
		format := "argument must be between %d and %d inclusive"
		if d.kind == octal {
			format = "argument must be between %o and %o inclusive"
		}
		return value{}, fmt.Errorf(format, d.low, d.high)
	}
	form := strconv.FormatInt(number, 10)
	switch d.kind {
	case octal:
		form = strconv.FormatInt(number, 8)
	case duration:
		form = word
	}
	return value{text: form, number: number}, nil
}

func (d *directive) parseNumber(word string) (int64, bool) {
	switch d.kind {
	case byteSize, byteSizeOrPercent:
		if number, ok := parseMemory(word); ok {
			return number, true
		}
		if digits, found := strings.CutSuffix(word, "%"); found && d.kind == byteSizeOrPercent {
			number, ok := parseInteger([]byte(digits))
			return -number, ok && number >= 0
		}
		return 0, false
	case octal:
		number, err := strconv.ParseInt(word, 8, 64)
		return number, err == nil
	case duration:
		return parseDuration(word)
	}
	return parseInteger([]byte(word))
}

func (d *directive) numberText() string {
	switch d.kind {
	case byteSize:
		return "argument must be a memory value"
	case byteSizeOrPercent:
		return "argument must be a memory or percent value"
	case octal:
		return "argument couldn't be parsed as an octal number"
	case duration:
		return "argument must be a duration such as 30m, 24h or 7d"
	}
	return "argument couldn't be parsed into an integer"
}

// parseMemory reads "100", "1k" (1000), "1kb" (1024), and so on up to g and gb.
// What does not fit is a number outside of all bounds.
func parseMemory(word string) (int64, bool) {
	digits := 0
	for digits < len(word) && word[digits] >= '0' && word[digits] <= '9' {
		digits++
	}
	unit := uint64(1)
	switch strings.ToLower(word[digits:]) {
	case "", "b":
	case "k":
		unit = 1000
	case "kb":
		unit = 1 << 10
	case "m":
		unit = 1000 * 1000
	case "mb":
		unit = 1 << 20
	case "g":
		unit = 1000 * 1000 * 1000
	case "gb":
		unit = 1 << 30
	default:
		return 0, false
	}
	if digits == 0 {
		return 0, false
	}
	number, err := strconv.ParseUint(word[:digits], 10, 64)
	if err != nil || number > math.MaxInt64/unit {
		return math.MinInt64, true
	}
	return int64(number * unit), true
}

// parseDuration reads a number of milliseconds, seconds, minutes, hours or days
// ("500ms", "30s", "5m", "24h", "7d"; without a unit, seconds).
func parseDuration(word string) (int64, bool) {
	for _, unit := range []struct {
		suffix string
		ms     int64
	}{{"ms", 1}, {"s", 1000}, {"m", 60_000}, {"h", 3600_000}, {"d", 86400_000}, {"", 1000}} {
		digits, found := strings.CutSuffix(strings.ToLower(word), unit.suffix)
		if !found {
			continue
		}
		number, ok := parseInteger([]byte(digits))
		return number * unit.ms, ok && number >= 0 && number <= math.MaxInt64/unit.ms
	}
	return 0, false
}

// fileNamed checks a directive that names a file without its directory.
func fileNamed(name, what string, emptyAllowed bool) func(string) error {
	return func(text string) error {
		if text == "" && !emptyAllowed {
			return configText(name + " can't be empty")
		}
		if strings.ContainsAny(text, `/\`) {
			return configText(name + " can't be a path, just a " + what)
		}
		return nil
	}
}

// hostName checks an announced host name.
func hostName(text string) error {
	if len(text) >= 256 {
		return configText("Hostnames must be less than 256 characters")
	}
	for _, c := range []byte(text) {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return configText("Hostnames may only contain alphanumeric characters, hyphens or dots")
		}
	}
	return nil
}
