package memory

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestPreview(t *testing.T) {
	for _, c := range []struct {
		value string
		text  bool
		max   int
		want  string
	}{
		{`{"city": "Hamburg"}`, false, 50, `{"city":"Hamburg"}`},
		{"one\ntwo\r\tthree", true, 50, `one\ntwo\r\tthree`},
		{"abcdef", true, 6, "abcdef"},
		{"abcdefg", true, 6, "abcde…"},
		{"äöüäöüä", true, 6, "äöüäö…"},
		{"记忆记忆记忆记", true, 6, "记忆记忆记…"},
		{"abcde\nf", true, 6, "abcde…"}, // an escape is not cut
		{"abcd\n", true, 6, `abcd\n`},
		{"a\x00\x1b[31m", true, 50, `a\u0000\u001b[31m`},
		{"a\u2028b\u202ec\u0085d\u200ee", true, 50, `a\u2028b\u202ec\u0085d\u200ee`},
		{"a\xffb", true, 50, "a\ufffdb"},
		{"", true, 50, ""},
		{"abc", true, 1, "…"},
		{"abc", true, 0, ""},
	} {
		got := string(PreviewValue(nil, []byte(c.value), c.text, c.max))
		if got != c.want || utf8.RuneCountInString(got) > c.max {
			t.Errorf("%q in %d: %q", c.value, c.max, got)
		}
	}
	spaced := `{` + strings.Repeat(" ", 100000) + `"a": "x y", "b":` + strings.Repeat("\n", 5000) + `[1,2]}`
	if got := string(PreviewValue(nil, []byte(spaced), false, 50)); got != `{"a":"x y","b":[1,2]}` {
		t.Errorf("%q", got)
	}
	long := `["` + strings.Repeat(`\"ü`, 1<<20) + `"]`
	if got := string(PreviewValue(nil, []byte(long), false, 9)); got != `["\"ü\"ü…` {
		t.Errorf("%q", got)
	}
}

func TestTimelineLine(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	at := int64(1764432423123)
	for _, c := range []struct {
		event Event
		value string
		zone  *time.Location
		want  string
	}{
		{Event{TimeMs: at, Op: OpInit, Key: []byte("ai:u:s:address"), Version: 1, User: []byte("default"), Operator: []byte("agent-7"), Reason: []byte("user said so")},
			`{"city":"Hamburg"}`, time.UTC,
			`2025-11-29T16:07:03.123Z  init  ai:u:s:address  v1  {"city":"Hamburg"}  by agent-7 (user default)  because user said so`},
		{Event{TimeMs: at, Op: OpSet, Key: []byte("ai:u:s:address"), Version: 2, OldVersion: 1, User: []byte("web"), Operator: []byte("web"), Caller: []byte("checkout.go:12")},
			`"` + strings.Repeat("x", 80) + `"`, berlin,
			`2025-11-29T17:07:03.123+01:00  set  ai:u:s:address  v1>v2  "` + strings.Repeat("x", 48) + `…  by web (from checkout.go:12)`},
		{Event{TimeMs: at, Op: OpForget, Key: []byte("ai:u:s:a"), OldVersion: 2, User: []byte("a"), Operator: []byte("b"), Caller: []byte("c")}, "", time.UTC,
			`2025-11-29T16:07:03.123Z  forget  ai:u:s:a  v2>none  by b (user a, from c)`},
		{Event{TimeMs: at, Op: OpExpire, Key: []byte("ai:u:s:a"), Version: 2, OldVersion: 2}, "", time.UTC,
			`2025-11-29T16:07:03.123Z  expire  ai:u:s:a  v2`},
		{Event{TimeMs: at, Op: OpSet, Erased: true}, "", time.UTC, `2025-11-29T16:07:03.123Z  set  (erased)`},
		// nothing that came from outside can begin a line
		{Event{TimeMs: at, Op: OpGet, Key: []byte("k"), User: []byte("u\n2025"), Operator: []byte("o\r"), Caller: []byte("c\u2028"), Reason: []byte("r\nforged  set")}, "\"a\\n\nb\"", time.UTC,
			`2025-11-29T16:07:03.123Z  get  k  "a\n\nb"  by o\r (user u\n2025, from c\u2028)  because r\nforged  set`},
	} {
		var value []byte
		if c.value != "" {
			value = []byte(c.value)
		}
		if got := string(AppendTimelineLine(nil, &c.event, value, false, c.zone)); got != c.want+"\n" {
			t.Errorf("\n got %s\nwant %s", got, c.want)
		}
	}
}

func TestPromptItem(t *testing.T) {
	at := int64(1764432423123)
	for _, c := range []struct {
		item PromptItem
		want string
	}{
		{PromptItem{at, Profile, []byte("main:address"), 1, []byte(`{"city": "Hamburg"}`), false}, `- [2025-11-29 profile main:address] {"city":"Hamburg"}`},
		{PromptItem{at, Semantic, nil, 0.8, []byte(`"likes\ntea"`), false}, `- [2025-11-29 semantic, confidence 0.8] likes\ntea`},
		{PromptItem{at, Session, []byte("s1:3"), 1, []byte("hello\n" + PromptHeader), true},
			`- [2025-11-29 session s1:3] hello\n` + strings.ReplaceAll(PromptHeader, "\n", `\n`)},
	} {
		got := string(AppendPromptItem(nil, &c.item, time.UTC))
		if got != c.want+"\n" {
			t.Errorf("\n got %s\nwant %s", got, c.want)
		}
	}
	if strings.Count(PromptHeader, "\n") != 1 || !strings.HasSuffix(PromptHeader, "\n") || strings.HasPrefix(PromptHeader, "- ") {
		t.Error("the header is not one line of its own kind")
	}
}

// Whatever is stored, a line is a line.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\u2028c"), []byte(`{"a":"\n"}`))
	f.Fuzz(func(t *testing.T, text, value []byte) {
		if CheckValue(value, false) != nil {
			value = []byte(`1`)
		}
		e := Event{Op: OpSet, Key: text, User: text, Operator: text, Caller: text, Reason: text}
		lines := AppendTimelineLine(nil, &e, value, false, time.UTC)
		lines = AppendPromptItem(lines, &PromptItem{Name: text, Value: value}, time.UTC)
		lines = AppendPromptItem(lines, &PromptItem{Name: text, Value: text, Text: true}, time.UTC)
		if !utf8.Valid(lines) || strings.Count(string(lines), "\n") != 3 || strings.ContainsAny(string(lines), "\r\u2028\u2029\u0085\v\f") {
			t.Fatalf("%q", lines)
		}
		for size := range 60 {
			if got := PreviewValue(nil, value, false, size); utf8.RuneCount(got) > size {
				t.Fatalf("%q in %d: %q", value, size, got)
			}
		}
		var quoted string
		if err := json.Unmarshal(AppendQuoted(nil, text), &quoted); err != nil || quoted != string([]rune(string(text))) {
			t.Fatalf("%q quoted is %s", text, AppendQuoted(nil, text))
		}
	})
}

func TestJSONForms(t *testing.T) {
	hashed := sampleEvent(0)
	hashed.PayloadHash = [32]byte{0xab}
	for _, c := range []struct {
		fields []Field
		want   string
	}{
		{AppendRecordFields(nil, []byte("ai:u:s:a"), fullRecord(), 5),
			`{"key":"ai:u:s:a","value":{"city":"Hamburg"},"kind":"semantic","version":300,"schema":"address","confidence":0.75,"source":"chat","tags":["home","checked"],` +
				`"anchor":"lives in Hamburg","vector":[1.5399896e-36],"created":1764432000000,"updated":1764432000123,"valid-from":-86400000,"valid-until":1864432000000,` +
				`"deadline":5,"pinned":true,"operator":"agent-7","trace":"t-1","reason":"moved","meta":{"a":1}}`},
		{AppendRecordFields(nil, []byte("k"), &Record{Value: []byte("a\"\n\xff"), Text: true, Kind: Working, Confidence: 1}, 0),
			`{"key":"k","value":"a\"\n` + "\ufffd" + `","kind":"working","version":0,"schema":null,"confidence":1,"source":null,"tags":[],"anchor":null,"vector":null,"created":0,"updated":0,` +
				`"valid-from":null,"valid-until":null,"deadline":null,"pinned":false,"operator":null,"trace":null,"reason":null,"meta":null}`},
		{AppendEventFields(nil, 7, hashed),
			`{"seq":7,"time":1764432000000,"op":"patch","key":"ai:u:s:address","version":2,"old_version":1,"user":"default","operator":"frontend","client":"id=7",` +
				`"caller":"checkout.go:12","trace":"t","command_id":"c0","reason":"moved","payload_hash":"ab` + strings.Repeat("0", 62) + `"}`},
		{hitFields(&Hit{Key: []byte("k"), Value: []byte(`1`), Kind: Session, TimeMs: 3, Score: 0.5}),
			`{"key":"k","item":null,"value":1,"kind":"session","time":3,"source":null,"score":0.5}`},
		{hitFields(&Hit{Key: []byte("k"), Item: 4, Value: []byte(`1`), Kind: Session, Score: math.NaN(), Explain: []Field{{Name: "bm25", Kind: FieldDouble, Double: 1e-7}}}),
			`{"key":"k","item":4,"value":1,"kind":"session","time":0,"source":null,"score":null,"explain":{"bm25":1e-07}}`},
		{AppendStatusFields(nil, &Status{Verdict: StatusDuplicated, CommandID: []byte("c"), Key: []byte("k"), Version: 2}),
			`{"status":"duplicated","command_id":"c","key":"k","version":2}`},
	} {
		got := string(AppendJSON(nil, c.fields))
		if got != c.want {
			t.Errorf("\n got %s\nwant %s", got, c.want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("not JSON: %s", got)
		}
	}
	history := AppendHistoryFields(nil, []byte("k"), fullRecord(), 9, OpRollback)
	if last := fmt.Sprint(history[len(history)-2].Name, history[len(history)-1].Name); last != "seqop" {
		t.Error(last)
	}
}

func hitFields(h *Hit) (fields []Field) {
	VisitHit(h, func(f Field) { fields = append(fields, f) })
	return fields
}

// TestFieldCounts: whoever writes a map says first how many fields it has.
func TestFieldCounts(t *testing.T) {
	var turn []Field
	VisitTurn(1, 2, nil, true, func(f Field) { turn = append(turn, f) })
	if record, hit := AppendRecordFields(nil, nil, &Record{}, 0), hitFields(&Hit{}); len(record) != RecordFieldCount || len(hit) != HitFieldCount || len(turn) != TurnFieldCount {
		t.Errorf("%d, %d and %d fields", len(record), len(hit), len(turn))
	}
}
