// Package grammar describes the arguments of a command once, as a value bound
// to a params struct, and derives everything else from that value: the parser,
// the arity, the key specs and key positions, the documented argument tree, the
// syntax line and random command lines for tests.
//
// # Declaring
//
// A node names one argument and the field it fills. The field is given as an
// accessor so that the params type is inferred and nothing is looked up by name:
//
//	type setParams struct {
//		key, value []byte
//		condition  condition // conditionNone, conditionNX, conditionXX
//		get        bool
//		expiry     expiry // expiryNone, expirySeconds, ...
//		amount     int64
//	}
//
//	var setGrammar = grammar.Compile[setParams](
//		grammar.Key("key", func(p *setParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
//		grammar.Bytes("value", func(p *setParams) *[]byte { return &p.value }),
//		grammar.Options(
//			grammar.Enum("condition", func(p *setParams) *condition { return &p.condition }, "NX", "XX"),
//			grammar.Token("GET", func(p *setParams) *bool { return &p.get }),
//			grammar.Choice("expiration", func(p *setParams) *expiry { return &p.expiry },
//				grammar.Int("seconds", func(p *setParams) *int64 { return &p.amount }).After("EX").Defer(),
//				grammar.Int("milliseconds", func(p *setParams) *int64 { return &p.amount }).After("PX").Defer(),
//				grammar.Token("KEEPTTL", func(p *setParams) *bool { return &p.keepTTL }),
//			),
//		),
//	)
//
// The vocabulary, one line each:
//
//	Key Keys NumKeys KeyPairs Streams   arguments that are keys: one; 1..n to the end; counted; key value …; keys then as many ids
//	Bytes Pattern Int UnixTime Float    one argument, converted
//	Value                               one argument with a converter of its own (cursor, stream id, range bound)
//	Token Enum                          a word that sets a bool; one word of several that sets an enumeration
//	List Floats                         one argument appended at each occurrence; as many floats as a count says
//	Rest Pairs Counted Each             1..n raw arguments; raw pairs; counted raw arguments; 1..n structs of their own nodes
//	Opt OneOf Choice Block Options      optional; alternatives; alternatives that say which one; a sequence; clauses in any order
//	Check Late Lift                     a rule between arguments; errors kept for the handler; nodes of an embedded struct
//	Custom                              the one escape hatch: any number of arguments, with documented nodes for everything but parsing
//
// Decorations are methods of Node: After (a leading token), Range, NonNegative,
// Default, Present, Defer, Fail and FailAs (other errors), and those that only
// document (Since, Named, Typed, Notes, …).
//
// # Parsing
//
// Parse first sets *P to its defaults, so params are reused from call to call;
// slices that a node appends to keep their capacity. Arguments are never copied:
// every []byte and [][]byte in the params aliases argv and lives as long as argv
// does. A parse without an error allocates nothing once the appended slices have
// grown.
//
// Conversion happens at one of two moments, because Redis does it at one of two:
// at once (SCAN … COUNT x), or after the whole line is known to be free of syntax
// errors (SET … EX x), which is Defer. Deferred conversions run in the order in
// which the arguments stood. Late is the third moment: LINDEX looks up the key
// before it reads its index, so the error is kept in the params for the handler.
//
// Errors are kinds, not texts (see Kind); the texts stay with the caller, who may
// name one on the node where Redis has a special one.
//
// # Tokens
//
// Words match without regard to ASCII case. As in Redis, which compares C
// strings, an argument ends at its first NUL byte for this purpose.
//
// # Decisions
//
// Declared in Go, not in JSON with a generator: the compiler checks the fields
// and an editor finds the handler. Rejected: struct tags with reflection (slow,
// checked at run time, cannot say OneOf) and combinators that build closures per
// call (they allocate).
//
// The params type ends where a node is made. A constructor is generic over the
// pointer type T = *P, of which the compiler makes one copy for all pointers, and
// binds its accessor to a func(any) that asserts T; nodes, decorations, compiler
// and parser are ordinary code. A pointer in an interface is not allocated. What
// the compiler thus no longer checks, that all accessors are of the params that
// Compile was given, Compile checks at start by comparing types. Only the making
// and resetting of params is compiled for each P, and there the first plain
// arguments are filled too, with accessors as they were given: a call of a key and
// a value pays for one assertion. Rejected: Node[*P] with a parser generic over
// *P. The type checker would find a wrong accessor, and a parse took 2 to 10 ns
// less, but each type brings its own wrapper of every method: package commands was
// 17000 functions and 30 s of CPU to compile instead of 3400 and 8 s. Rejected too:
// accessors cast to functions of an unsafe.Pointer, which would cost nothing but
// rest on how Go passes arguments.
//
// Key positions come from key specs by Redis's own algorithm, not from a parse:
// COMMAND GETKEYS answers for lines that do not parse, and a lock must not wait
// for one. Where specs cannot say where a key is (SORT … STORE), the options are
// walked by their widths.
package grammar
