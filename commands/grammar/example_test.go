package grammar_test

import (
	"errors"
	"fmt"
	"strings"

	"reminis/commands/grammar"
)

type condition uint8

type expiry uint8

type setParams struct {
	key, value []byte
	condition  condition // 0 none, 1 NX, 2 XX
	get        bool
	expiry     expiry // 0 none, 1 EX, 2 PX, 3 EXAT, 4 PXAT, 5 KEEPTTL
	amount     int64
	keepTTL    bool
}

func setGrammar() *grammar.Grammar {
	amount := func(p *setParams) *int64 { return &p.amount }
	return grammar.Compile[setParams](
		grammar.Key("key", func(p *setParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update|grammar.VariableFlags).
			Notes("RW and ACCESS due to the optional `GET` argument"),
		grammar.Bytes("value", func(p *setParams) *[]byte { return &p.value }),
		grammar.Options(
			grammar.Enum("condition", func(p *setParams) *condition { return &p.condition }, "NX", "XX").Since("2.6.12"),
			grammar.Token("GET", func(p *setParams) *bool { return &p.get }).Since("6.2.0"),
			grammar.Choice("expiration", func(p *setParams) *expiry { return &p.expiry },
				grammar.Int("seconds", amount).After("EX").Defer().Since("2.6.12"),
				grammar.Int("milliseconds", amount).After("PX").Defer().Since("2.6.12"),
				grammar.UnixTime("unix-time-seconds", amount).After("EXAT").Defer().Since("6.2.0"),
				grammar.UnixTime("unix-time-milliseconds", amount).After("PXAT").Defer().Since("6.2.0"),
				grammar.Token("KEEPTTL", func(p *setParams) *bool { return &p.keepTTL }).Since("6.0.0"),
			),
		),
	).WithKeys("SET reads the key only with GET", func(dst []grammar.KeyRef, argv [][]byte) ([]grammar.KeyRef, bool) {
		flags := grammar.OW | grammar.Update
		for _, arg := range argv[min(2, len(argv)):] {
			if strings.EqualFold(string(arg), "GET") {
				flags = grammar.RW | grammar.Access | grammar.Update
			}
		}
		return append(dst, grammar.KeyRef{Index: 0, Flags: flags}), true
	})
}

func argv(words ...string) [][]byte {
	out := make([][]byte, len(words))
	for i, word := range words {
		out[i] = []byte(word)
	}
	return out
}

func Example() {
	g := setGrammar()
	var p setParams
	if err := g.Parse(argv("k", "v", "ex", "10", "NX"), &p); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(p.key), string(p.value), p.condition, p.expiry, p.amount)
	fmt.Println(g.Arity(1), g.OnlyKey())
	fmt.Println(g.Syntax())
	// Output:
	// k v 1 1 10
	// -3 0
	// key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]
}

// Errors are kinds; the position says which argument was refused.
func ExampleGrammar_Parse() {
	g := setGrammar()
	var p setParams
	for _, line := range [][][]byte{
		argv("k", "v", "NX", "XX"),
		argv("k", "v", "EX", "ten"),
		argv("k", "v", "EX", "ten", "BOGUS"), // a syntax error wins over a deferred conversion
		argv("k"),
	} {
		err := g.Parse(line, &p)
		fmt.Println(err.Kind, err.Index)
	}
	// Output:
	// syntax 3
	// not an integer 3
	// syntax 4
	// arity 1
}

type rangeParams struct {
	key   []byte
	limit limit
	late  error
	index int64
}

type limit struct{ offset, count int64 }

// A group of arguments is declared once for many commands, and an argument that
// Redis reads only after its look-up keeps its error.
func ExampleLift() {
	limits := grammar.Block("limit",
		grammar.Int("offset", func(l *limit) *int64 { return &l.offset }),
		grammar.Int("count", func(l *limit) *int64 { return &l.count }),
	).After("LIMIT")
	g := grammar.Compile[rangeParams](
		grammar.Key("key", func(p *rangeParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Opt(grammar.Lift(func(p *rangeParams) *limit { return &p.limit }, limits)),
		grammar.Late(func(p *rangeParams) *error { return &p.late },
			grammar.Int("index", func(p *rangeParams) *int64 { return &p.index })),
	)
	var p rangeParams
	err := g.Parse(argv("k", "LIMIT", "1", "2", "x"), &p)
	var late *grammar.Error
	fmt.Println(err == nil, p.limit, errors.As(p.late, &late), late.Kind)
	fmt.Println(g.Syntax())
	// Output:
	// true {1 2} true not an integer
	// key [LIMIT offset count] index
}
