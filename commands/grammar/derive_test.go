package grammar_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"reminis/commands/grammar"
)

// What a grammar says without a line: arity, where the keys are, the only key, and
// the syntax.
func TestDerivedFacts(t *testing.T) {
	for _, row := range []struct{ name, arity, keys, only, syntax string }{
		{"GETEX", "-2", "1 1 1 false", "0", "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]"},
		{"MSET", "-3", "1 -1 2 false", "-1", "key value [key value ...]"},
		{"BITFIELD", "-2", "1 1 1 false", "0", "key [GET encoding offset | [OVERFLOW WRAP | SAT | FAIL] <SET encoding offset value | INCRBY encoding offset increment> [GET encoding offset | [OVERFLOW WRAP | SAT | FAIL] <SET encoding offset value | INCRBY encoding offset increment> ...]]"},
		{"LCS", "-3", "1 2 1 false", "-1", "key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]"},
		{"HRANDFIELD", "-2", "1 1 1 false", "0", "key [count [WITHVALUES]]"},
		{"ZUNION", "-3", "0 0 0 true", "-1", "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX] [WITHSCORES]"},
		{"ZUNIONSTORE", "-4", "1 1 1 true", "-1", "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX]"},
		{"LMPOP", "-4", "0 0 0 true", "-1", "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]"},
		{"BLPOP", "-3", "1 -2 1 false", "-1", "key [key ...] timeout"},
		{"XREAD", "-4", "0 0 0 true", "-1", "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] ID [ID ...]"},
		{"SORT", "-2", "1 1 1 true", "-1", "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA] [STORE destination]"},
		{"OBJECT ENCODING", "3", "2 2 1 false", "0", "key"},
		{"COPY", "-3", "1 2 1 false", "-1", "source destination [DB destination-db] [REPLACE]"},
		{"MIGRATE", "-6", "3 3 1 true", "-1", `host port <key | ""> destination-db timeout [COPY] [REPLACE] [AUTH password | AUTH2 username password] [KEYS key [key ...]]`},
		{"SSUBSCRIBE", "-2", "1 -1 1 false", "-1", "shardchannel [shardchannel ...]"},
		{"SCAN", "-2", "0 0 0 false", "-1", "cursor [MATCH pattern] [COUNT count] [TYPE type]"},
	} {
		s := sampleNamed(t, row.name)
		first, last, step, movable := s.KeyRange(s.names)
		for _, fact := range []struct{ what, have, want string }{
			{"arity", fmt.Sprint(s.Arity(s.names)), row.arity},
			{"keys", fmt.Sprint(first, last, step, movable), row.keys},
			{"only key", fmt.Sprint(s.OnlyKey()), row.only},
			{"syntax", s.Syntax(), row.syntax},
		} {
			if fact.have != fact.want {
				t.Errorf("%s: %s is %s, want %s", row.name, fact.what, fact.have, fact.want)
			}
		}
	}
}

func TestOverrides(t *testing.T) {
	g := grammar.Compile[sampleParams](grammar.Keys("key", keys, readKey)).
		WithArity(-4, "at least three keys").
		WithKeySpecs("only the first is locked", grammar.KeySpec{
			Flags: readKey, Begin: grammar.BeginIndex, Index: 1, Find: grammar.FindRange, Step: 1,
		})
	if g.Arity(1) != -4 || g.Arity(2) != -5 || g.OnlyKey() != 0 {
		t.Errorf("arity %d and %d, only key %d", g.Arity(1), g.Arity(2), g.OnlyKey())
	}
}

func TestChannelsAreNoKeys(t *testing.T) {
	s, line := sampleNamed(t, "SSUBSCRIBE"), argv("a", "b")
	if refs, ok := s.Keys(nil, line); !ok || len(refs) != 0 || s.HasKeys() {
		t.Errorf("keys %v, %v", refs, ok)
	}
	if refs, ok := s.Channels(nil, line); !ok || len(refs) != 2 {
		t.Errorf("channels %v, %v", refs, ok)
	}
}

func TestKeysDoNotAllocate(t *testing.T) {
	var room [8]grammar.KeyRef
	for name, line := range map[string][][]byte{
		"DEL": argv("a", "b", "c"), "ZUNION": argv("2", "a", "b"), "XREAD": argv("STREAMS", "a", "0"),
	} {
		s := sampleNamed(t, name)
		if n := testing.AllocsPerRun(100, func() { s.Keys(room[:0], line) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// A node that contradicts its grammar stops the program at its start.
func TestCompilePanics(t *testing.T) {
	for name, declare := range map[string]func(){
		"an option without a word":      func() { grammar.Compile[sampleParams](grammar.Options(grammar.Bytes("b", value))) },
		"a tail before a variable tail": func() { grammar.Compile[sampleParams](grammar.Rest("r", rest), grammar.Opt(grammar.Bytes("b", value))) },
		"two open alternatives": func() {
			grammar.Compile[sampleParams](grammar.OneOf("o", grammar.Bytes("a", value), grammar.Bytes("b", value)))
		},
		"something behind a Late": func() {
			grammar.Compile[sampleParams](grammar.Late(func(p *sampleParams) *error { return &p.late }), grammar.Bytes("b", value))
		},
		"a Value without samples": func() {
			grammar.Compile[sampleParams](grammar.Value("v", func(*sampleParams, []byte) *grammar.Error { return nil }))
		},
		"a Custom without documentation": func() {
			grammar.Compile[sampleParams](grammar.Custom("c", func(*sampleParams, [][]byte) (int, *grammar.Error) { return 0, nil }))
		},
		"a List without a word": func() { grammar.Compile[sampleParams](grammar.List("l", list)) },
		"a deferred Bytes":      func() { grammar.Compile[sampleParams](grammar.Bytes("b", value).Defer()) },
		"too many deferred nodes": func() {
			var nodes []node
			for range 9 {
				nodes = append(nodes, grammar.Int("i", a).Defer())
			}
			grammar.Compile[sampleParams](nodes...)
		},
		"an override without a reason": func() { grammar.Compile[sampleParams](grammar.Bytes("b", value)).WithArity(3, "") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("compiles")
				}
			}()
			declare()
		})
	}
}

type outer struct {
	name  []byte
	inner inner
}

type inner struct {
	limit, skip int64
	tags        [][]byte
	words       [][]byte
	kind        uint8
	reverse     bool
	pairs       []pair
}

type pair struct{ first, second int64 }

// innerOptions is a group of arguments, declared once.
func innerOptions() grammar.Node {
	return grammar.Options(
		grammar.Int("limit", func(p *inner) *int64 { return &p.limit }).After("LIMIT").Range(1, 100).Default(7),
		grammar.Int("skip", func(p *inner) *int64 { return &p.skip }).After("SKIP").Defer(),
		grammar.Counted("numtags", "tag", func(p *inner) *[][]byte { return &p.tags }).After("TAGS"),
		grammar.List("word", func(p *inner) *[][]byte { return &p.words }).After("WORD"),
		grammar.Enum("kind", func(p *inner) *uint8 { return &p.kind }, "OLD", "NEW"),
		grammar.Token("REV", func(p *inner) *bool { return &p.reverse }),
		grammar.Each("pair", func(p *inner) *[]pair { return &p.pairs },
			grammar.Int("first", func(p *pair) *int64 { return &p.first }),
			grammar.Int("second", func(p *pair) *int64 { return &p.second }),
		).After("PAIRS"),
	)
}

func TestLiftedNodes(t *testing.T) {
	shared := innerOptions()
	compile := func() *grammar.Grammar {
		return grammar.Compile[outer](
			grammar.Bytes("name", func(p *outer) *[]byte { return &p.name }),
			grammar.Lift(func(p *outer) *inner { return &p.inner }, shared),
		)
	}
	// Two grammars of one declaration do not disturb each other.
	first, second := compile(), compile()
	for _, g := range []*grammar.Grammar{first, second, first} {
		var p outer
		line := argv("n", "WORD", "a", "TAGS", "2", "x", "y", "WORD", "b", "SKIP", "5", "NEW", "REV", "PAIRS", "1", "2", "3", "4")
		if err := g.Parse(line, &p); err != nil {
			t.Fatal(err)
		}
		in := p.inner
		if string(p.name) != "n" || in.limit != 7 || in.skip != 5 || len(in.tags) != 2 || len(in.words) != 2 || in.kind != 2 || !in.reverse ||
			len(in.pairs) != 2 || in.pairs[1].second != 4 {
			t.Errorf("%+v", p)
		}
		if err := g.Parse(argv("n"), &p); err != nil || len(p.inner.words) != 0 || len(p.inner.pairs) != 0 || p.inner.kind != 0 {
			t.Errorf("%v, %+v", err, p)
		}
	}
	const want = "name [LIMIT limit] [SKIP skip] [TAGS numtags tag [tag ...]] [WORD word [WORD word ...]] [OLD | NEW] [REV] [PAIRS first second [first second ...]]"
	if have := first.Syntax(); have != want {
		t.Errorf("syntax %s, want %s", have, want)
	}
	for _, row := range []struct{ line, want string }{
		{"n OLD NEW", "syntax@2"}, {"n LIMIT 0", "out of range@2"}, {"n TAGS 3 a", "syntax@2"}, {"n SKIP x REV", "not an integer@2"},
		{"n PAIRS 1", "syntax@3"}, {"n SKIP x FOO", "syntax@3"},
	} {
		var p outer
		if have := outcome(first.Parse(fields(row.line), &p)); have != row.want {
			t.Errorf("%s: %q, want %q", row.line, have, row.want)
		}
	}
	r := rand.New(rand.NewPCG(20260107, 0))
	for range 300 {
		line := first.Generate(r, false)
		var p outer
		if err := first.Parse(line, &p); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// A Custom node and a Check at the end, as XADD-like commands use them.
func TestCustomAndDeferredCheck(t *testing.T) {
	g := grammar.Compile[sampleParams](
		grammar.Custom("range", func(p *sampleParams, args [][]byte) (int, *grammar.Error) {
			if len(args) < 2 || len(args[0]) == 0 {
				return 0, grammar.Fail(grammar.Syntax, "")
			}
			p.key, p.second = args[0], args[1]
			return 2, nil
		}, grammar.Key("from", key, readKey), grammar.Key("to", second, readKey)),
		grammar.Opt(grammar.Int("count", a).Defer()),
		grammar.Check(func(p *sampleParams) *grammar.Error {
			if p.a > 5 {
				return grammar.Fail(grammar.Other, "too many")
			}
			return nil
		}).Defer(),
	)
	for _, row := range []struct{ line, want string }{
		{"a b", ""}, {"a b 3", ""}, {"a b 6", "too many@3"}, {"a", "syntax@0"}, {"a b x", "not an integer@2"}, {"a b 6 7", "syntax@3"},
	} {
		if have := outcome(g.Parse(fields(row.line), new(sampleParams))); have != row.want {
			t.Errorf("%s: %q, want %q", row.line, have, row.want)
		}
	}
	if refs, ok := g.Keys(nil, argv("a", "b")); !ok || len(refs) != 2 || g.Arity(1) != -3 {
		t.Errorf("keys %v %v, arity %d", refs, ok, g.Arity(1))
	}
}
