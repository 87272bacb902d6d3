package memory

// This file owns how the values of options read: times, confidences, tags,
// names. It reads no clock.

import (
	"bytes"
	"strconv"
	"time"
	"unicode/utf8"
)

// The times that can be stated, years 1 to 9999.
const (
	minTimeMs = -62135596800000
	maxTimeMs = 253402300799999
)

// ParseTime reads integer Unix milliseconds or RFC 3339, whose fractions
// beyond the millisecond are cut off.
func ParseTime(text []byte) (timeMs int64, err error) {
	if isInteger(text) {
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil || n < minTimeMs || n > maxTimeMs {
			return 0, errTimeRange(text)
		}
		return n, nil
	}
	if !looksRFC3339(text) {
		return 0, errTime(text)
	}
	moment, err := time.Parse(time.RFC3339, string(bytes.ToUpper(text)))
	if err != nil {
		return 0, errTime(text)
	}
	if timeMs = moment.UnixMilli(); timeMs < minTimeMs || timeMs > maxTimeMs {
		return 0, errTimeRange(text)
	}
	return timeMs, nil
}

// isInteger says whether the text is a canonical decimal integer.
func isInteger(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 || (digits[0] == '0' && len(text) > 1) {
		return false
	}
	for _, c := range digits {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// looksRFC3339 checks the form, of which time.Parse is more tolerant than the
// RFC (one-digit hours, a comma before the fraction).
func looksRFC3339(text []byte) bool {
	const form = "dddd-dd-ddTdd:dd:dd"
	if len(text) < len(form)+1 {
		return false
	}
	for i := range len(form) {
		switch c := text[i]; form[i] {
		case 'd':
			if !isDigit(c) {
				return false
			}
		case 'T':
			if c != 'T' && c != 't' {
				return false
			}
		default:
			if c != form[i] {
				return false
			}
		}
	}
	rest := text[len(form):]
	if rest[0] == '.' {
		digits := 1
		for digits < len(rest) && isDigit(rest[digits]) {
			digits++
		}
		if digits == 1 {
			return false
		}
		rest = rest[digits:]
	}
	if len(rest) == 1 {
		return rest[0] == 'Z' || rest[0] == 'z'
	}
	return len(rest) == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':' &&
		isDigit(rest[1]) && isDigit(rest[2]) && isDigit(rest[4]) && isDigit(rest[5])
}

// Moment is the argument of AT: a time, meaning the state after the last change
// with a time not later, or a sequence, which is exact.
type Moment struct {
	Set    bool
	BySeq  bool
	Seq    uint64
	TimeMs int64
}

// String is the moment as ParseMoment reads it.
func (m Moment) String() string {
	if m.BySeq {
		return "seq:" + strconv.FormatUint(m.Seq, 10)
	}
	return strconv.FormatInt(m.TimeMs, 10)
}

// ParseMoment reads `t` or `seq:n`.
func ParseMoment(text []byte) (Moment, error) {
	if number, ok := bytes.CutPrefix(text, []byte("seq:")); ok {
		if !isInteger(number) {
			return Moment{}, errSeq(number)
		}
		seq, err := strconv.ParseUint(string(number), 10, 64)
		if err != nil {
			return Moment{}, errSeq(number)
		}
		return Moment{Set: true, BySeq: true, Seq: seq}, nil
	}
	timeMs, err := ParseTime(text)
	if err != nil {
		return Moment{}, err
	}
	return Moment{Set: true, TimeMs: timeMs}, nil
}

// Covers says whether a change belongs to the state at the moment. An unset
// moment is now and covers everything.
func (m Moment) Covers(seq uint64, timeMs int64) bool {
	switch {
	case !m.Set:
		return true
	case m.BySeq:
		return seq <= m.Seq
	}
	return timeMs <= m.TimeMs
}

// ParseConfidence reads a decimal number from 0 to 1.
func ParseConfidence(text []byte) (float64, error) {
	if len(text) == 0 || len(text) > 64 {
		return 0, errConfidence(text)
	}
	for _, c := range text {
		if !isDigit(c) && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, errConfidence(text)
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, errConfidence(text)
	}
	return f + 0, nil // -0 becomes 0
}

// ParseZone reads the zone that timelines are shown in: UTC, an offset such as
// +01:00, or a name such as Europe/Berlin. The zone of this machine is never
// meant.
func ParseZone(text []byte) (*time.Location, error) {
	if len(text) == 6 && (text[0] == '+' || text[0] == '-') {
		offset, err := time.Parse("-07:00", string(text))
		if err != nil {
			return nil, errZone(text)
		}
		_, seconds := offset.Zone()
		return time.FixedZone("", seconds), nil
	}
	if len(text) == 0 || len(text) > 64 || equalFold(text, "local") {
		return nil, errZone(text)
	}
	if equalFold(text, "utc") || equalFold(text, "z") {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(string(text))
	if err != nil {
		return nil, errZone(text)
	}
	return zone, nil
}

// CheckRelation checks the name of a relation, which is shown on lines of text.
func CheckRelation(name []byte) error {
	if len(name) == 0 {
		return errEmpty("relation")
	}
	if err := CheckText("relation", name, LimitName()); err != nil {
		return err
	}
	return checkPrintable("relation", name)
}

// CheckTags checks tags and drops repeated ones; order stays. The result
// shares the array of tags.
func CheckTags(tags [][]byte) ([][]byte, error) {
	if limit := LimitTags(); len(tags) > limit.Default {
		return nil, errTooLarge("record", len(tags), limit)
	}
	kept := tags[:0]
	for _, tag := range tags {
		if len(tag) == 0 {
			return nil, errEmpty("tag")
		}
		if err := CheckText("tag", tag, limitTag()); err != nil {
			return nil, err
		}
		if !containsBytes(kept, tag) {
			kept = append(kept, tag)
		}
	}
	return kept, nil
}

func containsBytes(list [][]byte, item []byte) bool {
	for _, other := range list {
		if bytes.Equal(other, item) {
			return true
		}
	}
	return false
}

// CheckText checks a text that is kept beside a value: its size, and that it is
// valid UTF-8. What could break a line is escaped where lines are made.
func CheckText(what string, text []byte, limit Limit) error {
	if len(text) > limit.Default {
		return errTooLarge(what, len(text), limit)
	}
	if offset := invalidUTF8(text); offset >= 0 {
		return errNotUTF8(what, offset)
	}
	return nil
}

// invalidUTF8 gives the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
