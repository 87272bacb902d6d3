package grammar_test

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"reminis/commands/grammar"
)

func sampleNamed(t testing.TB, name string) sample {
	t.Helper()
	for _, s := range samples() {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no sample %s", name)
	return sample{}
}

// parseRows is the specification of parsing: a line, and what is wrong with it, "" for
// nothing.
var parseRows = []struct{ name, line, want string }{
	{"GETEX", "k", ""},
	{"GETEX", "k EX 10", ""},
	{"GETEX", "k ex 10 EX 20", ""},            // the same alternative again overwrites
	{"GETEX", "k EX 10 PX 20", "syntax@3"},    // another one does not
	{"GETEX", "k EX 10 PERSIST", "syntax@3"},  //
	{"GETEX", "k EX", "syntax@2"},             // a word without its argument
	{"GETEX", "k EX x", ""},                   // kept for the handler
	{"GETEX", "k EX x EX 5", ""},              // only the last is converted
	{"GETEX", "k EX x FOO", "syntax@3"},       // the syntax error wins
	{"GETEX", "", "arity@0"},                  //
	{"MSET", "k v k2 v2", ""},                 //
	{"MSET", "k v k2", "arity@3"},             //
	{"MSET", "", "arity@0"},                   //
	{"HSET", "k f", "arity@2"},                //
	{"BITFIELD", "k", ""},                     //
	{"BITFIELD", "k GET u8 0 SET u8 1 2", ""}, //
	{"BITFIELD", "k OVERFLOW SAT INCRBY u8 1 2", ""},
	{"BITFIELD", "k OVERFLOW BAD INCRBY u8 1 2", "syntax@2"},
	{"BITFIELD", "k GET u8", "syntax@3"},
	{"BITFIELD", "k GET u8 x", "not an integer@3"},
	{"BITFIELD", "k FOO", "syntax@1"},
	{"LCS", "a b IDX LEN MINMATCHLEN 4", ""},
	{"LCS", "a b MINMATCHLEN x FOO", "not an integer@3"}, // converted at once
	{"HRANDFIELD", "k", ""},
	{"HRANDFIELD", "k 3", ""},
	{"HRANDFIELD", "k 3 withvalues", ""},
	{"HRANDFIELD", "k 3 foo", "syntax@2"},
	{"HRANDFIELD", "k -9223372036854775808", "out of range@1"},
	{"ZADD", "k 1 m", ""},
	{"ZADD", "k NX CH 1 m 2 n", ""},
	{"ZADD", "k NX XX 1 m", "XX and NX options at the same time are not compatible@3"},
	{"ZADD", "k 1 m 2", "syntax@4"},
	{"ZADD", "k NX", "syntax@2"},
	{"ZUNION", "2 a b", ""},
	{"ZUNION", "2 a b WEIGHTS 1 2.5 AGGREGATE max WITHSCORES", ""},
	{"ZUNION", "2 a b WEIGHTS 1", "syntax@4"},
	{"ZUNION", "2 a b WEIGHTS 1 x", "weight value is not a float@5"},
	{"ZUNION", "0 a", "at least 1 input key is needed for '{command}' command@0"},
	{"ZUNION", "3 a b", "syntax@0"},
	{"ZUNION", "x a b", "not an integer@0"},
	{"LMPOP", "1 k LEFT", ""},
	{"LMPOP", "1 k MIDDLE", "syntax@2"},
	{"LMPOP", "1 k LEFT COUNT 0", "count should be greater than 0@4"},
	{"LMPOP", "3 a b c", "syntax@4"},
	{"LMPOP", "1 k LEFT COUNT 1 COUNT 1", "syntax@5"},
	{"BLPOP", "a b 0.5", ""},
	{"BLPOP", "a b x", "not a float@2"},
	{"BLPOP", "a", "arity@1"},
	{"XREAD", "COUNT 1 STREAMS a b 0 $", ""},
	{"XREAD", "COUNT 1 STREAMS a b 0", "Unbalanced list of streams: for each stream key an ID or '$' must be specified.@6"},
	{"XREAD", "COUNT 1 a 0", "syntax@2"},
	{"XREAD", "COUNT x STREAMS a 0", "not an integer@1"},
	{"XREADGROUP", "GROUP g c NOACK STREAMS s >", ""},
	{"XREADGROUP", "GROUPS g c STREAMS s >", "syntax@0"},
	{"GEORADIUS", "k 1 2 3 km ASC COUNT 5 ANY STORE d", ""},
	{"GEORADIUS", "k 1 2 3 ly", "syntax@4"},
	{"GEOSEARCH", "k FROMMEMBER m BYRADIUS 1 km", ""},
	{"GEOSEARCH", "k BYBOX 1 2 km FROMLONLAT 1 2 DESC", ""},
	{"GEOSEARCH", "k BYBOX 1 2 km BYBOX 1 2 m FROMMEMBER m", ""}, // a nested choice overwrites
	{"GEOSEARCH", "k BYBOX 1 2 km BYRADIUS 1 m FROMMEMBER m", "syntax@5"},
	{"GEOSEARCH", "k BYRADIUS 1 km", "exactly one of FROMMEMBER or FROMLONLAT can be specified for {command}@4"},
	{"DEL", "a b c", ""},
	{"DEL", "", "arity@0"},
	{"EXPIRE", "k 10 NX", ""},
	{"EXPIRE", "k 10 NX XX", ""}, // judged by the handler
	{"EXPIRE", "k x FOO", "Unsupported option {argument}@2"},
	{"EXPIRE", "k x NX", "not an integer@1"},
	{"SCAN", "0", ""},
	{"SCAN", "0 COUNT 0", "syntax@2"},
	{"SCAN", "0 COUNT x FOO", "not an integer@2"},
	{"SCAN", "x", "invalid cursor@0"},
	{"SCAN", "0 MATCH", "syntax@2"},
	{"OBJECT ENCODING", "k", ""},
	{"OBJECT ENCODING", "k l", "arity@1"},
	{"COPY", "a b DB 1 REPLACE", ""},
	{"COPY", "a b DB 16", "DB index is out of range@3"},
	{"SORT", "k BY w GET a GET # LIMIT 0 1 ALPHA STORE d", ""},
	{"SORT", "k LIMIT 0", "syntax@3"},
	{"SORT", "k LIMIT x", "syntax@3"}, // a clause is complete before any of it is converted
	{"EVAL", "s 0", ""},
	{"EVAL", "s 0 a b", ""},
	{"EVAL", "s 1 k a", ""},
	{"EVAL", "s 2 k", "Number of keys can't be greater than number of args@1"},
	{"EVAL", "s -1", "Number of keys can't be negative@1"},
	{"MIGRATE", "h 1 k 0 1 AUTH p AUTH2 u p", "syntax@7"},
	{"MIGRATE", "h 1 k 0 1 COPY KEYS a b", ""},
}

func TestParse(t *testing.T) {
	for _, row := range parseRows {
		s := sampleNamed(t, row.name)
		if have := outcome(s.Parse(fields(row.line), new(sampleParams))); have != row.want {
			t.Errorf("%s %s: %q, want %q", row.name, row.line, have, row.want)
		}
	}
}

func fields(line string) [][]byte { return argv(strings.Fields(line)...) }

// outcome writes an error as the tables do: what, and where.
func outcome(err *grammar.Error) string {
	if err == nil {
		return ""
	}
	text := err.Kind.String()
	if err.Text != "" {
		text = err.Text
	}
	return text + "@" + string('0'+rune(err.Index))
}

func TestParsedParams(t *testing.T) {
	var p sampleParams
	parse := func(name, line string) {
		t.Helper()
		if err := sampleNamed(t, name).Parse(fields(line), &p); err != nil {
			t.Fatalf("%s %s: %v", name, line, err)
		}
	}
	parse("ZUNION", "2 a b AGGREGATE MAX WEIGHTS 1 2.5")
	if p.choice != 3 || len(p.floats) != 2 || p.floats[1] != 2.5 || len(p.keys) != 2 || string(p.keys[1]) != "b" {
		t.Errorf("ZUNION: %+v", p)
	}
	parse("SORT", "k GET a LIMIT 3 4 GET b DESC STORE d")
	if len(p.list) != 2 || string(p.list[1]) != "b" || p.a != 3 || p.b != 4 || p.order != 2 || string(p.second) != "d" {
		t.Errorf("SORT: %+v", p)
	}
	if p.keys != nil || p.choice != 0 || len(p.floats) != 0 {
		t.Errorf("a parse keeps what an earlier one left: %+v", p)
	}
	parse("SCAN", "5 MATCH x*")
	if p.a != 5 || p.b != 10 || string(p.pattern) != "x*" {
		t.Errorf("SCAN: %+v", p)
	}
	parse("BITFIELD", "k GET u8 1 OVERFLOW FAIL INCRBY i5 2 -3")
	if len(p.ops) != 2 || p.ops[0].kind != 1 || p.ops[0].offset != 1 || p.ops[1].overflow != 3 || p.ops[1].write != 2 || p.ops[1].value != -3 {
		t.Errorf("BITFIELD: %+v", p.ops)
	}
	parse("BLPOP", "a b c 1.5")
	if len(p.keys) != 3 || p.x != 1.5 || cap(p.keys) != 3 {
		t.Errorf("BLPOP: %+v", p)
	}
	parse("GETEX", "k EX x")
	if late, ok := p.late.(*grammar.Error); !ok || outcome(late) != "not an integer@2" {
		t.Errorf("GETEX keeps %v", p.late)
	}
	parse("GETEX", "k EX 5")
	if p.late != nil || p.a != 5 || p.choice != 1 {
		t.Errorf("GETEX: %+v", p)
	}
	parse("HRANDFIELD", "k 2")
	if !p.f || p.g || p.a != 2 {
		t.Errorf("HRANDFIELD: %+v", p)
	}
}

func TestWordsMatchAsCStrings(t *testing.T) {
	s := sampleNamed(t, "COPY")
	for word, fits := range map[string]bool{
		"replace": true, "REPLACE": true, "rEpLaCe\x00tail": true, "replac": false, "replaced": false, "": false, "\x00": false,
	} {
		if err := s.Parse(argv("a", "b", word), new(sampleParams)); (err == nil) != fits {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestErrorTextsAreFilledIn(t *testing.T) {
	line := argv("k", "10", "FOO")
	err := sampleNamed(t, "EXPIRE").Parse(line, new(sampleParams))
	if have := err.Format("expire", line); have != "Unsupported option FOO" {
		t.Errorf("have %q", have)
	}
	line = argv("0", "k")
	err = sampleNamed(t, "ZUNION").Parse(line, new(sampleParams))
	if have := err.Format("zunion", line); have != "at least 1 input key is needed for 'zunion' command" {
		t.Errorf("have %q", have)
	}
}

func TestParseInt(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-1": "-1", "9223372036854775807": "9223372036854775807", "-9223372036854775808": "-9223372036854775808",
		"9223372036854775808": "", "-9223372036854775809": "", "18446744073709551617": "", "99999999999999999999": "",
		"": "", "-": "", "+1": "", "01": "", "-0": "", "00": "", " 1": "", "1 ": "", "1.0": "", "1e3": "", "0x1": "", "1_0": "",
	} {
		value, ok := grammar.ParseInt([]byte(text))
		if ok != (want != "") || ok && want != strconv.FormatInt(value, 10) {
			t.Errorf("%q: %d, %v", text, value, ok)
		}
	}
}

func TestParseFloat(t *testing.T) {
	for text, fits := range map[string]bool{
		"0": true, "-0": true, "+1.5": true, "1.": true, ".5": true, "1e3": true, "1E+3": true, "inf": true, "-Infinity": true,
		"0x10": true, "-0x.8p1": true, "0x1P-3": true, "1e-320": true, "0e999": true, "0.000e-9999": true, "0x0p99999": true,
		"": false, ".": false, "1e": false, "nan": false, "NaN": false, " 1": false, "1 ": false, "1_0": false, "0x_1p1": false,
		"1e400": false, "-1e400": false, "1e-400": false, "0x1p-9999": false, "0x": false, "1f": false, "infin": false, "1\x00": false,
	} {
		if value, ok := grammar.ParseFloat([]byte(text)); ok != fits {
			t.Errorf("%q: %v, %v", text, value, ok)
		}
	}
}

// SET's line and SCAN's: no allocation at all; SORT's and ZUNION's lists and
// BITFIELD's structs reuse what the params hold.
func TestParseDoesNotAllocate(t *testing.T) {
	set, setLine := setGrammar(), argv("key", "value", "NX", "GET", "EX", "100")
	var params setParams
	if n := testing.AllocsPerRun(100, func() { _ = set.Parse(setLine, &params) }); n != 0 {
		t.Errorf("SET: %v allocations", n)
	}
	for name, text := range map[string]string{
		"SCAN":     "0 MATCH a* COUNT 100",
		"SORT":     "k GET a GET b ALPHA",
		"ZUNION":   "2 a b WEIGHTS 1 2.5 AGGREGATE MIN",
		"BITFIELD": "k GET u8 0 INCRBY u8 1 2",
		"MSET":     "a b c d",
		"XREAD":    "COUNT 5 STREAMS a b 0 0",
	} {
		s, line := sampleNamed(t, name), fields(text)
		var p sampleParams
		if n := testing.AllocsPerRun(100, func() { _ = s.Parse(line, &p) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Generate's valid lines parse, and its near misses do no harm; so do the keys.
func TestGenerate(t *testing.T) {
	const seed = 20260103
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, s := range samples() {
		checked := s.name == "ZADD" // its Check refuses some combinations, and its words may be read as scores
		for range 500 {
			line := s.Generate(r, false)
			var p sampleParams
			if err := s.Parse(line, &p); err != nil && !checked {
				t.Errorf("%s %q: %v", s.name, line, err)
			} else if err == nil {
				checkKeys(t, s, line, &p)
			}
			near := s.Generate(r, true)
			_ = s.Parse(near, &p)
			s.Keys(nil, near)
		}
	}
}

// checkKeys compares the positions that the key specs find with what was parsed.
func checkKeys(t *testing.T, s sample, line [][]byte, p *sampleParams) {
	t.Helper()
	if s.name == "MIGRATE" || !s.HasKeys() {
		return
	}
	refs, ok := s.Keys(nil, line)
	if !ok {
		t.Fatalf("%s %q: keys not found", s.name, line)
	}
	found := map[string]bool{}
	for _, ref := range refs {
		found[string(line[ref.Index])] = true
	}
	for _, parsed := range p.keys {
		if !found[string(parsed)] {
			t.Fatalf("%s %q: key %q is not among %v", s.name, line, parsed, refs)
		}
	}
	if p.key != nil && s.name != "XREADGROUP" && !found[string(p.key)] {
		t.Fatalf("%s %q: key %q is not among %v", s.name, line, p.key, refs)
	}
	if only := s.OnlyKey(); only >= 0 && (len(refs) != 1 || refs[0].Index != only) {
		t.Fatalf("%s %q: the only key is at %d, found %v", s.name, line, only, refs)
	}
	if lone := s.LoneKey(line); lone >= 0 && (len(refs) != 1 || refs[0].Index != lone) {
		t.Fatalf("%s %q: the lone key is at %d, found %v", s.name, line, lone, refs)
	}
}

func FuzzParse(f *testing.F) {
	all := samples()
	for i, s := range all {
		r := rand.New(rand.NewPCG(uint64(i), 0))
		for range 3 {
			f.Add(uint8(i), bytes.Join(s.Generate(r, true), []byte(" ")))
		}
	}
	var p sampleParams
	var refs []grammar.KeyRef
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		s := all[int(which)%len(all)]
		line := bytes.Split(text, []byte(" "))
		if err := s.Parse(line, &p); err != nil && (err.Index < 0 || err.Index > len(line)) {
			t.Fatalf("%s %q: position %d", s.name, line, err.Index)
		}
		refs, _ = s.Keys(refs[:0], line)
		for _, ref := range refs {
			if ref.Index < 0 || ref.Index >= len(line) {
				t.Fatalf("%s %q: key at %d", s.name, line, ref.Index)
			}
		}
	})
}

func BenchmarkParseSet(b *testing.B) {
	g, line := setGrammar(), argv("key", "value")
	var p setParams
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Parse(line, &p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseSetOptions(b *testing.B) {
	g, line := setGrammar(), argv("key", "value", "NX", "GET", "EX", "100")
	var p setParams
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Parse(line, &p); err != nil {
			b.Fatal(err)
		}
	}
}
