package grammar_test

// This file owns the sample grammars that the tests of this package share: one for
// each construction that Redis's commands are made of. Their facts are compared with
// Redis's own in redis_test.go.

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"reminis/commands/grammar"
)

// sampleParams has a field for whatever the samples need.
type sampleParams struct {
	key, second, value, pattern []byte
	keys, rest, list            [][]byte
	a, b, c                     int64
	x, y                        float64
	floats                      []float64
	choice, unit, order         uint8
	f, g, h, i, j               bool
	ops                         []operation
	late                        error
}

type operation struct {
	kind, overflow, write uint8
	encoding              []byte
	offset, value         int64
}

type node = grammar.Node

func key(p *sampleParams) *[]byte       { return &p.key }
func second(p *sampleParams) *[]byte    { return &p.second }
func value(p *sampleParams) *[]byte     { return &p.value }
func pattern(p *sampleParams) *[]byte   { return &p.pattern }
func keys(p *sampleParams) *[][]byte    { return &p.keys }
func rest(p *sampleParams) *[][]byte    { return &p.rest }
func list(p *sampleParams) *[][]byte    { return &p.list }
func a(p *sampleParams) *int64          { return &p.a }
func b(p *sampleParams) *int64          { return &p.b }
func c(p *sampleParams) *int64          { return &p.c }
func x(p *sampleParams) *float64        { return &p.x }
func y(p *sampleParams) *float64        { return &p.y }
func floats(p *sampleParams) *[]float64 { return &p.floats }
func choice(p *sampleParams) *uint8     { return &p.choice }
func unit(p *sampleParams) *uint8       { return &p.unit }
func order(p *sampleParams) *uint8      { return &p.order }
func f(p *sampleParams) *bool           { return &p.f }
func g(p *sampleParams) *bool           { return &p.g }
func h(p *sampleParams) *bool           { return &p.h }
func i(p *sampleParams) *bool           { return &p.i }
func j(p *sampleParams) *bool           { return &p.j }

// sample is one grammar and the file of Redis that describes the same command.
type sample struct {
	name  string // COMMAND or CONTAINER SUB, in upper case
	file  string
	names int
	*grammar.Grammar
}

const readKey = grammar.RO | grammar.Access

func samples() []sample {
	out := append(stringSamples(), collectionSamples()...)
	out = append(out, listAndStreamSamples()...)
	return append(out, keyspaceSamples()...)
}

func stringSamples() []sample {
	expiration := func(last node) node {
		return grammar.Choice("expiration", choice,
			grammar.Int("seconds", a).After("EX").Defer(),
			grammar.Int("milliseconds", a).After("PX").Defer(),
			grammar.UnixTime("unix-time-seconds", a).After("EXAT").Defer(),
			grammar.UnixTime("unix-time-milliseconds", a).After("PXAT").Defer(),
			last)
	}
	return []sample{
		{"GETEX", "getex", 1, grammar.Compile[sampleParams](
			grammar.Key("key", key, grammar.RW|grammar.Access|grammar.Update).Notes("RW and UPDATE because it changes the TTL"),
			grammar.Options(expiration(grammar.Token("PERSIST", f))),
			grammar.Late(func(p *sampleParams) *error { return &p.late }),
		)},
		{"MSET", "mset", 1, grammar.Compile[sampleParams](
			grammar.KeyPairs("key_value", "key", "value", rest, grammar.OW|grammar.Update),
		)},
		{"BITFIELD", "bitfield", 1, grammar.Compile[sampleParams](
			grammar.Key("key", key, grammar.RW|grammar.Update|grammar.Access|grammar.VariableFlags).
				Notes("This command allows both access and modification of the key"),
			grammar.Opt(grammar.Each("operation", func(p *sampleParams) *[]operation { return &p.ops }, bitfieldOperation())),
		)},
		{"LCS", "lcs", 1, grammar.Compile[sampleParams](
			grammar.Key("key1", key, readKey),
			grammar.Key("key2", second, readKey).SameSpec(),
			grammar.Options(
				grammar.Token("LEN", f),
				grammar.Token("IDX", g),
				grammar.Int("len", a).After("MINMATCHLEN"),
				grammar.Token("WITHMATCHLEN", h),
			),
		)},
	}
}

func bitfieldOperation() grammar.Node {
	encoding := func(o *operation) *[]byte { return &o.encoding }
	offset := func(o *operation) *int64 { return &o.offset }
	amount := func(o *operation) *int64 { return &o.value }
	return grammar.Choice("operation", func(o *operation) *uint8 { return &o.kind },
		grammar.Block("encoding_offset",
			grammar.Bytes("encoding", encoding).Sample("u8", "i16"),
			grammar.Int("offset", offset),
		).After("GET"),
		grammar.Block("write",
			grammar.Opt(grammar.Enum("wrap_sat_fail", func(o *operation) *uint8 { return &o.overflow }, "WRAP", "SAT", "FAIL").After("OVERFLOW")),
			grammar.Choice("write_operation", func(o *operation) *uint8 { return &o.write },
				grammar.Block("encoding_offset_value",
					grammar.Bytes("encoding", encoding).Sample("u8", "i16"),
					grammar.Int("offset", offset),
					grammar.Int("value", amount),
				).After("SET"),
				grammar.Block("encoding_offset_increment",
					grammar.Bytes("encoding", encoding).Sample("u8", "i16"),
					grammar.Int("offset", offset),
					grammar.Int("increment", amount),
				).After("INCRBY"),
			),
		),
	)
}

func sampleNumKeys() node {
	return grammar.NumKeys("numkeys", "key", keys, readKey).
		Fail(grammar.OutOfRange, "at least 1 input key is needed for '{command}' command")
}

func sampleWeights() node {
	return grammar.Floats("weight", floats, func(p *sampleParams) int64 { return int64(len(p.keys)) }).
		After("WEIGHTS").Typed(grammar.TypeInteger).Fail(grammar.NotFloat, "weight value is not a float")
}

func sampleStreams() node {
	return grammar.Streams("streams", "key", "ID", rest, readKey).After("STREAMS").
		Fail(grammar.Arity, "Unbalanced list of streams: for each stream key an ID or '$' must be specified.")
}

func collectionSamples() []sample {
	return []sample{
		{"HSET", "hset", 1, grammar.Compile[sampleParams](
			grammar.Key("key", key, grammar.RW|grammar.Update),
			grammar.Pairs("field_value", "field", "value", rest),
		)},
		{"HRANDFIELD", "hrandfield", 1, grammar.Compile[sampleParams](
			grammar.Key("key", key, readKey),
			grammar.Opt(grammar.Block("options",
				grammar.Int("count", a).Range(-math.MaxInt64, math.MaxInt64).Present(grammar.BoolOf(f)),
				grammar.Opt(grammar.Token("WITHVALUES", g)),
			)),
		)},
		{"ZADD", "zadd", 1, grammar.Compile[sampleParams](
			grammar.Key("key", key, grammar.RW|grammar.Update),
			grammar.Options(
				grammar.OneOf("condition", grammar.Token("NX", f), grammar.Token("XX", g)).Together().Since("3.0.2"),
				grammar.OneOf("comparison", grammar.Token("GT", h), grammar.Token("LT", i)).Together().Since("6.2.0"),
				grammar.Token("CH", j).Named("change").Since("3.0.2"),
				grammar.Enum("increment", choice, "INCR").DocumentedAs(
					grammar.Opt(grammar.Token[*sampleParams]("INCR", nil).Named("increment").Since("3.0.2"))),
			),
			grammar.Check(func(p *sampleParams) *grammar.Error {
				if p.f && p.g {
					return grammar.Fail(grammar.Other, "XX and NX options at the same time are not compatible")
				}
				return nil
			}),
			grammar.Pairs("score_member", "score", "member", rest).FailAs(grammar.Arity, grammar.Syntax).DocumentedAs(
				grammar.Block("score_member",
					grammar.Float[*sampleParams]("score", nil),
					grammar.Bytes[*sampleParams]("member", nil),
				).Multiple()),
		)},
		{"ZUNION", "zunion", 1, grammar.Compile[sampleParams](
			sampleNumKeys(),
			grammar.Options(sampleWeights(), grammar.Enum("aggregate", choice, "SUM", "MIN", "MAX").After("AGGREGATE"), grammar.Token("WITHSCORES", f)),
		)},
		{"ZUNIONSTORE", "zunionstore", 1, grammar.Compile[sampleParams](
			grammar.Key("destination", key, grammar.OW|grammar.Update),
			sampleNumKeys(),
			grammar.Options(sampleWeights(), grammar.Enum("aggregate", choice, "SUM", "MIN", "MAX").After("AGGREGATE")),
		)},
	}
}

func listAndStreamSamples() []sample {
	return []sample{
		{"LMPOP", "lmpop", 1, grammar.Compile[sampleParams](
			grammar.NumKeys("numkeys", "key", keys, grammar.RW|grammar.Access|grammar.Delete).
				FailNumber("numkeys should be greater than 0"),
			grammar.Enum("where", choice, "LEFT", "RIGHT"),
			grammar.Opt(grammar.Int("count", a).After("COUNT").Range(1, math.MaxInt64).FailNumber("count should be greater than 0")),
		)},
		{"BLPOP", "blpop", 1, grammar.Compile[sampleParams](
			grammar.Keys("key", keys, grammar.RW|grammar.Access|grammar.Delete),
			grammar.Float("timeout", x),
		)},
		{"XREAD", "xread", 1, grammar.Compile[sampleParams](
			grammar.Options(grammar.Int("count", a).After("COUNT"), grammar.Int("milliseconds", b).After("BLOCK")),
			sampleStreams(),
		)},
		{"XREADGROUP", "xreadgroup", 1, grammar.Compile[sampleParams](
			grammar.Block("group_consumer", grammar.Bytes("group", key), grammar.Bytes("consumer", second)).After("GROUP"),
			grammar.Options(grammar.Int("count", a).After("COUNT"), grammar.Int("milliseconds", b).After("BLOCK"), grammar.Token("NOACK", f)),
			sampleStreams(),
		)},
		{"GEORADIUS", "georadius", 1, grammar.Compile[sampleParams](
			grammar.Key("key", key, readKey),
			grammar.Float("longitude", x), grammar.Float("latitude", y), grammar.Float("radius", x),
			grammar.Enum("unit", unit, "m", "km", "ft", "mi"),
			grammar.Options(
				grammar.Token("WITHCOORD", f), grammar.Token("WITHDIST", g), grammar.Token("WITHHASH", h),
				grammar.Block("count", grammar.Int("count", a).After("COUNT").Range(1, math.MaxInt64), grammar.Opt(grammar.Token("ANY", i).Since("6.2.0"))),
				grammar.Enum("order", order, "ASC", "DESC"),
				grammar.Key("key", second, grammar.OW|grammar.Update).After("STORE"),
				grammar.Key("key", second, grammar.OW|grammar.Update).After("STOREDIST"),
			),
		)},
		{"GEOSEARCH", "geosearch", 1, geosearchSample()},
	}
}

func geosearchSample() *grammar.Grammar {
	units := func() node { return grammar.Enum("unit", unit, "m", "km", "ft", "mi") }
	return grammar.Compile[sampleParams](
		grammar.Key("key", key, readKey),
		grammar.Options(
			grammar.OneOf("from",
				grammar.Bytes("member", value).After("FROMMEMBER"),
				grammar.Block("longitude_latitude", grammar.Float("longitude", x), grammar.Float("latitude", y)).After("FROMLONLAT"),
			).Required().Fail(grammar.Missing, "exactly one of FROMMEMBER or FROMLONLAT can be specified for {command}"),
			grammar.OneOf("by",
				grammar.Block("circle", grammar.Float("radius", x).After("BYRADIUS"), units()),
				grammar.Block("box", grammar.Float("width", x).After("BYBOX"), grammar.Float("height", y), units()),
			).Required(),
			grammar.Enum("order", order, "ASC", "DESC"),
			grammar.Block("count", grammar.Int("count", a).After("COUNT"), grammar.Opt(grammar.Token("ANY", i))),
			grammar.Token("WITHCOORD", f), grammar.Token("WITHDIST", g), grammar.Token("WITHHASH", h),
		),
	)
}

func keyspaceSamples() []sample {
	return []sample{
		{"DEL", "del", 1, grammar.Compile[sampleParams](grammar.Keys("key", keys, grammar.RM|grammar.Delete))},
		{"EXPIRE", "expire", 1, grammar.Compile[sampleParams](
			grammar.Key("key", key, grammar.RW|grammar.Update),
			grammar.Int("seconds", a).Defer(),
			grammar.Options(
				grammar.OneOf("condition", grammar.Token("NX", f), grammar.Token("XX", g), grammar.Token("GT", h), grammar.Token("LT", i)).
					Together().Since("7.0.0"),
			).Fail(grammar.Syntax, "Unsupported option {argument}"),
		)},
		{"SCAN", "scan", 1, grammar.Compile[sampleParams](
			grammar.Value("cursor", func(p *sampleParams, arg []byte) *grammar.Error {
				// strtoul: a sign and leading zeros are welcome, and nothing at all is 0.
				digits := bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimPrefix(arg, []byte("-")), []byte("+")), "0")
				var cursor uint64
				var err error
				if len(digits) > 0 {
					cursor, err = strconv.ParseUint(string(digits), 10, 64)
				}
				if err != nil || bytes.Equal(arg, []byte("-")) || bytes.Equal(arg, []byte("+")) {
					return grammar.Fail(grammar.Other, "invalid cursor")
				}
				p.a = int64(cursor)
				return nil
			}).Typed(grammar.TypeInteger).Sample("0", "17"),
			grammar.Options(
				grammar.Pattern("pattern", pattern).After("MATCH"),
				grammar.Int("count", b).After("COUNT").Range(1, math.MaxInt64).FailAs(grammar.OutOfRange, grammar.Syntax).Default(10),
				grammar.Bytes("type", value).After("TYPE").Since("6.0.0"),
			),
		)},
		{"OBJECT ENCODING", "object-encoding", 2, grammar.Compile[sampleParams](grammar.Key("key", key, grammar.RO))},
		{"COPY", "copy", 1, grammar.Compile[sampleParams](
			grammar.Key("source", key, readKey),
			grammar.Key("destination", second, grammar.OW|grammar.Update),
			grammar.Options(grammar.Int("destination-db", a).After("DB").Range(0, 15).Fail(grammar.OutOfRange, "DB index is out of range"), grammar.Token("REPLACE", f)),
		)},
		{"SORT", "sort", 1, sortSample()},
		{"EVAL", "eval", 1, grammar.Compile[sampleParams](
			grammar.Bytes("script", value),
			grammar.NumKeys("numkeys", "key", keys, grammar.RW|grammar.Access|grammar.Update).Range(0, math.MaxInt64).
				Fail(grammar.OutOfRange, "Number of keys can't be negative").
				Fail(grammar.Missing, "Number of keys can't be greater than number of args").
				Notes("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE"),
			grammar.Opt(grammar.Rest("arg", rest)),
		)},
		{"MIGRATE", "migrate", 1, migrateSample()},
		{"SSUBSCRIBE", "ssubscribe", 1, grammar.Compile[sampleParams](
			grammar.Keys("shardchannel", keys, grammar.NotKey).Typed(grammar.TypeString))},
	}
}

func sortSample() *grammar.Grammar {
	const sourceNotes = "For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of the key we sort"
	return grammar.Compile[sampleParams](
		grammar.Key("key", key, readKey),
		grammar.Options(
			grammar.Pattern("pattern", pattern).After("BY").KeySource(readKey, sourceNotes),
			grammar.Block("offset_count", grammar.Int("offset", a), grammar.Int("count", b)).After("LIMIT"),
			grammar.List("pattern", list).After("GET").Typed(grammar.TypePattern).KeySource(readKey, sourceNotes).SameSpec(),
			grammar.Enum("order", order, "ASC", "DESC"),
			grammar.Token("ALPHA", f).Named("sorting"),
			grammar.Key("destination", second, grammar.OW|grammar.Update).After("STORE").Searched().
				Notes("For the optional STORE keyword. It is marked 'unknown' because the keyword can appear anywhere in the argument array"),
		),
	)
}

func migrateSample() *grammar.Grammar {
	const moved = grammar.RW | grammar.Access | grammar.Delete
	return grammar.Compile[sampleParams](
		grammar.Bytes("host", value),
		grammar.Int("port", a),
		grammar.Key("key", key, moved).DocumentedAs(
			grammar.OneOf("key_or_empty_string",
				grammar.Key[*sampleParams]("key", nil, moved).InSpec(0),
				grammar.Token[*sampleParams](`""`, nil).Named("empty_string"))),
		grammar.Int("destination-db", b),
		grammar.Int("timeout", c),
		grammar.Options(
			grammar.Token("COPY", f).Since("3.0.0"),
			grammar.Token("REPLACE", g).Since("3.0.0"),
			grammar.OneOf("authentication",
				grammar.Opt(grammar.Bytes("password", pattern).After("AUTH").Since("4.0.7")),
				grammar.Opt(grammar.Block("username_password", grammar.Bytes("username", second), grammar.Bytes("password", pattern)).After("AUTH2").Since("6.0.0")),
			),
			grammar.Keys("key", keys, moved|grammar.Incomplete).After("KEYS").StartFrom(-2).Since("3.0.6"),
		),
	).WithKeys("the key stands alone or, if it is empty, behind KEYS; both is a mistake", migrateKeys)
}

func migrateKeys(dst []grammar.KeyRef, argv [][]byte) ([]grammar.KeyRef, bool) {
	const moved = grammar.RW | grammar.Access | grammar.Delete
	if len(argv) < 3 {
		return dst, false
	}
	skip := map[string]int{"auth": 1, "auth2": 2}
	for at := 5; at < len(argv); at++ {
		word := strings.ToLower(string(argv[at]))
		if word != "keys" {
			at += skip[word]
			continue
		}
		if len(argv[2]) > 0 {
			return dst, false
		}
		for next := at + 1; next < len(argv); next++ {
			dst = append(dst, grammar.KeyRef{Index: next, Flags: moved})
		}
		return dst, true
	}
	return append(dst, grammar.KeyRef{Index: 2, Flags: moved}), true
}
