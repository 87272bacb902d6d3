package memory

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		err  string
	}{
		{"0", 0, ""},
		{"1764432423123", 1764432423123, ""},
		{"-1", -1, ""},
		{"2025-11-29T16:07:03Z", 1764432423000, ""},
		{"2025-11-29T16:07:03.123Z", 1764432423123, ""},
		{"2025-11-29T16:07:03.1239999Z", 1764432423123, ""},
		{"2025-11-29T17:07:03.5+01:00", 1764432423500, ""},
		{"2025-11-29t16:07:03z", 1764432423000, ""},
		{"1969-12-31T23:59:59Z", -1000, ""},
		{"9999-12-31T23:59:59.999Z", maxTimeMs, ""},
		{"253402300800000", 0, "ERR time '253402300800000' is out of range, years 1 to 9999 are possible"},
		{"99999999999999999999", 0, "ERR time '99999999999999999999' is out of range, years 1 to 9999 are possible"},
		{"0000-12-31T23:59:59Z", 0, "ERR time '0000-12-31T23:59:59Z' is out of range, years 1 to 9999 are possible"},
		{"", 0, "ERR time '' is neither integer Unix milliseconds nor RFC 3339"},
		{"yesterday", 0, "ERR time 'yesterday' is neither integer Unix milliseconds nor RFC 3339"},
		{"01", 0, "ERR time '01' is neither integer Unix milliseconds nor RFC 3339"},
		{"-0", 0, "ERR time '-0' is neither integer Unix milliseconds nor RFC 3339"},
		{"+1", 0, "ERR time '+1' is neither integer Unix milliseconds nor RFC 3339"},
		{"1.5", 0, "ERR time '1.5' is neither integer Unix milliseconds nor RFC 3339"},
		{"1e3", 0, "ERR time '1e3' is neither integer Unix milliseconds nor RFC 3339"},
		{" 1", 0, "ERR time ' 1' is neither integer Unix milliseconds nor RFC 3339"},
		{"2025-11-29", 0, "ERR time '2025-11-29' is neither integer Unix milliseconds nor RFC 3339"},
		{"2025-11-29 16:07:03Z", 0, "ERR time '2025-11-29 16:07:03Z' is neither integer Unix milliseconds nor RFC 3339"},
		{"2025-11-29T16:07:03", 0, "ERR time '2025-11-29T16:07:03' is neither integer Unix milliseconds nor RFC 3339"},
		{"2025-11-29T16:07:03,5Z", 0, "ERR time '2025-11-29T16:07:03,5Z' is neither integer Unix milliseconds nor RFC 3339"},
		{"2025-11-29T6:07:03Z", 0, "ERR time '2025-11-29T6:07:03Z' is neither integer Unix milliseconds nor RFC 3339"},
		{"2025-02-30T16:07:03Z", 0, "ERR time '2025-02-30T16:07:03Z' is neither integer Unix milliseconds nor RFC 3339"},
		{"2025-11-29T16:07:03.Z", 0, "ERR time '2025-11-29T16:07:03.Z' is neither integer Unix milliseconds nor RFC 3339"},
		{"2025-11-29T16:07:03+0100", 0, "ERR time '2025-11-29T16:07:03+0100' is neither integer Unix milliseconds nor RFC 3339"},
		{"NaN", 0, "ERR time 'NaN' is neither integer Unix milliseconds nor RFC 3339"},
		{"a\r\nb", 0, `ERR time 'a\r\nb' is neither integer Unix milliseconds nor RFC 3339`},
	} {
		got, err := ParseTime([]byte(c.text))
		if got != c.want || message(err) != c.err {
			t.Errorf("%q: %d %v", c.text, got, err)
		}
	}
}

func TestMoment(t *testing.T) {
	for _, c := range []struct {
		text string
		want Moment
		err  string
	}{
		{"seq:0", Moment{Set: true, BySeq: true}, ""},
		{"seq:18446744073709551615", Moment{Set: true, BySeq: true, Seq: math.MaxUint64}, ""},
		{"5", Moment{Set: true, TimeMs: 5}, ""},
		{"seq:", Moment{}, "ERR sequence '' is not an unsigned integer"},
		{"seq:-1", Moment{}, "ERR sequence '-1' is not an unsigned integer"},
		{"seq:18446744073709551616", Moment{}, "ERR sequence '18446744073709551616' is not an unsigned integer"},
		{"SEQ:1", Moment{}, "ERR time 'SEQ:1' is neither integer Unix milliseconds nor RFC 3339"},
	} {
		got, err := ParseMoment([]byte(c.text))
		if got != c.want || message(err) != c.err {
			t.Errorf("%q: %+v %v", c.text, got, err)
		}
	}
	for _, c := range []struct {
		moment Moment
		seq    uint64
		timeMs int64
		want   bool
	}{
		{Moment{}, 9, 9, true},
		{Moment{Set: true, TimeMs: 5}, 9, 5, true},
		{Moment{Set: true, TimeMs: 5}, 1, 6, false},
		{Moment{Set: true, BySeq: true, Seq: 5}, 5, 99, true},
		{Moment{Set: true, BySeq: true, Seq: 5}, 6, 0, false},
	} {
		if c.moment.Covers(c.seq, c.timeMs) != c.want {
			t.Errorf("%+v covers %d, %d", c.moment, c.seq, c.timeMs)
		}
	}
}

func TestParseConfidence(t *testing.T) {
	for _, text := range []string{"", "NaN", "nan", "inf", "-inf", "1.01", "-0.1", "0x1p-2", "1_0", "a", " 0.5", "0.5 ", "1e400", "0.5.5", strings.Repeat("0", 65)} {
		if f, err := ParseConfidence([]byte(text)); err == nil || !strings.Contains(err.Error(), "is not a number from 0 to 1") {
			t.Errorf("%q: %v %v", text, f, err)
		}
	}
	for text, want := range map[string]float64{"0": 0, "1": 1, "0.75": 0.75, "1e-3": 0.001, ".5": 0.5, "1.": 1, "1e-400": 0, "-0": 0} {
		f, err := ParseConfidence([]byte(text))
		if err != nil || f != want || math.Signbit(f) {
			t.Errorf("%q: %v %v", text, f, err)
		}
	}
}

func TestParseZone(t *testing.T) {
	at := time.UnixMilli(1764432423123)
	for text, want := range map[string]string{
		"UTC": "16:07", "z": "16:07", "+01:00": "17:07", "-05:30": "10:37", "Europe/Berlin": "17:07", "Asia/Shanghai": "00:07",
	} {
		zone, err := ParseZone([]byte(text))
		if err != nil || at.In(zone).Format("15:04") != want {
			t.Errorf("%s: %v %v", text, zone, err)
		}
	}
	for _, text := range []string{"", "Local", "Mars/Olympus", "../../etc/passwd", "+1:00", "+99:99", "+0100", strings.Repeat("A", 65)} {
		if _, err := ParseZone([]byte(text)); err == nil || !strings.Contains(err.Error(), "is not known") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCheckTags(t *testing.T) {
	list := func(texts ...string) (tags [][]byte) {
		for _, text := range texts {
			tags = append(tags, []byte(text))
		}
		return tags
	}
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, c := range []struct {
		tags []string
		want string
		err  string
	}{
		{[]string{"b", "a", "b"}, "[b a]", ""},
		{nil, "[]", ""},
		{many[:64], fmt.Sprint(many[:64]), ""},
		{many, "[]", "ERR record has 65 tags, limit mem-tags is 64"},
		{[]string{""}, "[]", "ERR tag is empty"},
		{[]string{"\xff"}, "[]", "ERR tag is not valid UTF-8 at offset 0"},
		{[]string{strings.Repeat("x", 257)}, "[]", "ERR tag has 257 bytes, limit mem-tag-bytes is 256"},
	} {
		got, err := CheckTags(list(c.tags...))
		if fmt.Sprintf("%s", got) != c.want || message(err) != c.err {
			t.Errorf("%.20v: %s %v", c.tags, got, err)
		}
	}
}

// Every limit says what it is called, what it counts and why it is there.
func TestLimits(t *testing.T) {
	seen := map[string]bool{}
	for _, limit := range Limits() {
		if !strings.HasPrefix(limit.Name, "mem-") || limit.Default <= 0 || limit.Unit == "" || limit.Reason == "" || seen[limit.Name] {
			t.Errorf("%+v", limit)
		}
		seen[limit.Name] = true
	}
}

func TestParsePatchMode(t *testing.T) {
	for text, want := range map[string]PatchMode{"merge": PatchMerge, "RFC7396": PatchRFC7396, "rfc6902": PatchRFC6902} {
		if mode, err := ParsePatchMode([]byte(text)); err != nil || mode != want {
			t.Errorf("%s: %v %v", text, mode, err)
		}
	}
	if _, err := ParsePatchMode([]byte("deep")); message(err) != "ERR patch mode 'deep' is not one of MERGE, RFC7396, RFC6902" {
		t.Error(err)
	}
}
