package memory

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func fullRecord() *Record {
	return &Record{
		Value: []byte(`{"city":"Hamburg"}`), Kind: Semantic, Pinned: true, Version: 300, Seq: 1 << 40,
		Confidence: 0.75, Schema: []byte("address"), Source: []byte("chat"),
		Tags: [][]byte{[]byte("home"), []byte("checked")}, Anchor: []byte("lives in Hamburg"),
		Vector: []byte{1, 2, 3, 4}, Operator: []byte("agent-7"), Trace: []byte("t-1"), Reason: []byte("moved"),
		Meta: []byte(`{"a":1}`), CreatedMs: 1764432000000, UpdatedMs: 1764432000123,
		ValidFromMs: -86400000, ValidUntilMs: 1864432000000, DeadlineMs: 1764439200000, SlideMs: 7200000,
	}
}

func TestRecordRoundTrip(t *testing.T) {
	text := fullRecord()
	text.Text, text.Pinned, text.Value = true, false, []byte("plain words")
	for _, want := range []*Record{{Confidence: 1}, fullRecord(), text, {Confidence: 0, Kind: Working, UpdatedMs: -5}} {
		encoded := Encode([]byte("before"), want)[6:]
		var got Record
		if err := Decode(encoded, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Tags) == 0 {
			got.Tags = nil
		}
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
		clone := got.Clone()
		clear(encoded)
		if !reflect.DeepEqual(clone, want) {
			t.Error("a clone shares bytes with what it was cloned from")
		}
	}
}

// The form is on disk: if this test fails, old stores are unreadable.
func TestRecordFormIsStable(t *testing.T) {
	const want = "0112ac0280d0bd85da66f6010106808080808020020680c4ac8cda66030480f4ee06" +
		"0408000000000000e83f0504ffefb252070680f0f48cc36c0807616464726573730a0463686174" +
		"0c04686f6d650c07636865636b65640e106c6976657320696e2048616d6275726710076167656e742d37" +
		"1203742d3114056d6f76656416077b2261223a317d18040102030419127b2263697479223a2248616d62757267227d"
	if got := hex.EncodeToString(Encode(nil, fullRecord())); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// A profile fact of 20 bytes costs less than 30 beside its value.
func TestRecordIsCompact(t *testing.T) {
	r := &Record{Value: []byte(`"lives in Hamburg"`), Kind: Profile, Version: 1, Confidence: 1,
		CreatedMs: 1764432000000, UpdatedMs: 1764432000000, Operator: []byte("default")}
	if size := len(Encode(nil, r)) - len(r.Value); size > 24 {
		t.Errorf("%d bytes beside the value", size)
	}
	encoded := Encode(nil, fullRecord())
	reused := &Record{}
	if err := Decode(encoded, reused); err != nil {
		t.Fatal(err)
	}
	if allocs := testing.AllocsPerRun(100, func() { _ = Decode(encoded, reused) }); allocs != 0 {
		t.Errorf("Decode: %v allocations", allocs)
	}
}

func TestRecordFromNewerProgram(t *testing.T) {
	base := Encode(nil, fullRecord())
	field := func(number uint64, body string) []byte {
		out := binary.AppendUvarint(nil, number)
		out = binary.AppendUvarint(out, uint64(len(body)))
		return append(out, body...)
	}
	may := append(append(bytes.Clone(base), field(26, "new")...), field(400, "newer")...)
	var r Record
	if err := Decode(may, &r); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(Encode(nil, &r), may) {
		t.Error("fields that may be ignored were not written back")
	}
	var newer *NewerError
	for _, c := range [][]byte{
		append(bytes.Clone(base), field(27, "must")...),
		append(bytes.Clone(may), field(401, "must")...),
		append([]byte{2}, base[1:]...),
		append([]byte{1, 0x80}, base[2:]...),
	} {
		if err := Decode(c, &r); !errors.As(err, &newer) {
			t.Errorf("%v", err)
		}
	}
}

func TestRecordCorrupt(t *testing.T) {
	base := Encode(nil, fullRecord())
	var r Record
	for size := range len(base) {
		var corrupt *CorruptError
		err := Decode(base[:size], &r)
		if err == nil && bytes.Equal(Encode(nil, &r), base[:size]) {
			continue // cut between two fields: a shorter record
		}
		if !errors.As(err, &corrupt) {
			t.Errorf("cut at %d: %v", size, err)
		}
	}
	for _, c := range []string{
		"",
		"01",
		"0100" + "01" + "00" + "00" + "0c00", // an empty field
		"0100" + "01" + "00" + "00" + "0a0161" + "080162",    // fields out of order
		"0100" + "01" + "00" + "00" + "0a0161" + "0a0162",    // a field twice
		"0100" + "01" + "00" + "00" + "060161",               // a number never given out
		"0100" + "8100" + "00" + "00",                        // a number longer than needed
		"0100" + "01" + "00" + "00" + "04080000000000000840", // confidence 3
		"0100" + "01" + "00" + "00" + "1affffffffffffffffff01",
	} {
		b, err := hex.DecodeString(c)
		if err != nil {
			t.Fatal(c, err)
		}
		var corrupt *CorruptError
		if err := Decode(b, &r); !errors.As(err, &corrupt) {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// Whatever decodes, encodes to the same bytes: one value has one form.
func FuzzRecord(f *testing.F) {
	f.Add(Encode(nil, fullRecord()))
	f.Add(Encode(nil, &Record{Confidence: 1}))
	f.Add([]byte{1, 0, 1, 0, 0, 26, 1, 'x'})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Record
		if Decode(b, &r) != nil {
			return
		}
		if again := Encode(nil, &r); !bytes.Equal(again, b) {
			t.Fatalf("%x becomes %x", b, again)
		}
		r.AnchorText(nil)
		_ = CheckValue(r.Value, r.Text)
	})
}

func TestRecordModel(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	text := func() []byte {
		if r.IntN(2) == 0 {
			return nil
		}
		return bytes.Repeat([]byte{byte(r.IntN(256))}, 1+r.IntN(200))
	}
	for range 3000 {
		want := Record{Kind: Kind(r.IntN(5)), Text: r.IntN(2) == 0, Pinned: r.IntN(2) == 0,
			Version: r.Uint64(), Seq: r.Uint64() >> r.IntN(64), Confidence: float64(r.IntN(5)) / 4,
			Schema: text(), Source: text(), Anchor: text(), Vector: text(), Operator: text(), Trace: text(),
			Reason: text(), Meta: text(), Value: text(), CreatedMs: r.Int64() >> r.IntN(64), UpdatedMs: -r.Int64(),
			ValidFromMs: r.Int64N(3) - 1, ValidUntilMs: math.MaxInt64, DeadlineMs: math.MinInt64, SlideMs: r.Int64N(2)}
		for range r.IntN(4) {
			want.Tags = append(want.Tags, []byte{byte(r.IntN(256))})
		}
		var got Record
		if err := Decode(Encode(nil, &want), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Tags) == 0 {
			got.Tags = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("\n got %+v\nwant %+v", got, want)
		}
		value, simple := DecodeValue(Encode(nil, &want))
		if wants := len(want.Value) > 0 && len(want.Schema) == 0; simple != wants || wants && !bytes.Equal(value, want.Value) {
			t.Fatalf("the value of %+v alone is %q, %t", want, value, simple)
		}
	}
}

func TestAnchorText(t *testing.T) {
	for _, c := range []struct {
		record Record
		want   string
	}{
		{Record{Value: []byte(`{"a":"one","b":["two",{"c":"three"}],"n":4,"t":true}`)}, "one two three"},
		{Record{Value: []byte(`"just \u00fc and \ud83d\ude00"`)}, "just ü and 😀"},
		{Record{Value: []byte(`{"name" : "x"}`)}, "x"},
		{Record{Value: []byte(`["","a",""]`)}, "a"},
		{Record{Value: []byte(`"\ud800x"`)}, "\ufffd\ufffd\ufffdx"},
		{Record{Value: []byte(`42`)}, ""},
		{Record{Value: []byte(`plain words`), Text: true}, "plain words"},
		{Record{Value: []byte(`"x"`), Anchor: []byte("explicit")}, "explicit"},
	} {
		if got := c.record.AnchorText(nil); string(got) != c.want {
			t.Errorf("%s: %q", c.record.Value, got)
		}
	}
}

func TestValidity(t *testing.T) {
	for _, c := range []struct {
		from, until, at int64
		want            bool
	}{
		{0, 0, 5, true}, {5, 0, 5, true}, {6, 0, 5, false}, {0, 5, 5, false}, {0, 6, 5, true}, {-9, -1, -5, true},
	} {
		r := Record{ValidFromMs: c.from, ValidUntilMs: c.until}
		if r.ValidAt(c.at) != c.want {
			t.Errorf("from %d until %d at %d", c.from, c.until, c.at)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		name      string
		kind      Kind
		ttlMs     int64
		slides    bool
		history   int
		journaled bool
		durable   Durability
	}{
		{"working", Working, 24 * 3600e3, false, 0, false, DurableNever},
		{"session", Session, 2 * 3600e3, true, 50, true, DurableInSecond},
		{"profile", Profile, 0, false, 1000, true, DurableFirst},
		{"SEMANTIC", Semantic, 0, false, 100, true, DurableFirst},
	} {
		kind, err := ParseKind([]byte(c.name))
		rule := kind.Rule()
		if err != nil || kind != c.kind || kind.String() != strings.ToLower(c.name) || rule.TTLMs != c.ttlMs ||
			rule.Slides != c.slides || rule.HistoryVersions != c.history || kind.Journaled() != c.journaled || rule.Durability != c.durable {
			t.Errorf("%s: %v %+v", c.name, err, rule)
		}
	}
	if _, err := ParseKind([]byte("episodic")); message(err) != "ERR kind 'episodic' is not one of working, session, profile, semantic" {
		t.Error(err)
	}
}

func TestDeadlineAfterWrite(t *testing.T) {
	const now, later = 1000000, 2000000
	hour := int64(3600 * 1000)
	for _, c := range []struct {
		what         string
		kind         Kind
		old          *Record
		oldDeadline  int64
		wantDeadline int64
		wantSlide    int64
	}{
		{"a new profile lives on", Profile, nil, 0, 0, 0},
		{"a new working record", Working, nil, 0, now + 24*hour, 0},
		{"a new session slides", Session, nil, 0, now + 2*hour, 2 * hour},
		{"a session's next write", Session, &Record{SlideMs: 2 * hour, DeadlineMs: later}, later, now + 2*hour, 2 * hour},
		{"EXPIRE ended the sliding", Session, &Record{SlideMs: 2 * hour, DeadlineMs: later}, later + 1, later + 1, 0},
		{"an explicit deadline stays", Session, &Record{}, later, later, 0},
		{"PERSIST ended the sliding", Session, &Record{SlideMs: 2 * hour}, 0, 0, 0},
		{"a working record does not slide", Working, &Record{}, later, later, 0},
	} {
		deadline, slide := c.kind.Rule().DeadlineAfterWrite(now, c.old, c.oldDeadline)
		if deadline != c.wantDeadline || slide != c.wantSlide {
			t.Errorf("%s: %d %d", c.what, deadline, slide)
		}
	}
}
