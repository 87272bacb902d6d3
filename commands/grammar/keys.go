package grammar

// This file owns key specs and the positions of keys in a line. It must not
// parse: keys are found in lines that do not parse, too.

import "math"

// KeyFlags says what a command does with a key and with its value, as in
// COMMAND INFO's key specifications.
type KeyFlags uint16

// Exactly one of RO, RW, OW, RM, and any of the others.
const (
	// RO reads the value, RW reads and changes it, OW overwrites it, RM removes the key.
	RO KeyFlags = 1 << iota
	RW
	OW
	RM
	// Access returns, copies or uses the user's data.
	Access
	// Update changes the user's data.
	Update
	// Insert adds data without changing or removing any.
	Insert
	// Delete removes data explicitly.
	Delete
	// NotKey is not a key but is routed like one (sharded channels).
	NotKey
	// Incomplete: the spec may miss keys; WithKeys finds them.
	Incomplete
	// VariableFlags: what is done with the key depends on the other arguments.
	VariableFlags
)

// Names calls visit with the name of each flag, in Redis's order.
func (f KeyFlags) Names(visit func(name string)) {
	names := [...]string{"RO", "RW", "OW", "RM", "access", "update", "insert", "delete", "not_key", "incomplete", "variable_flags"}
	for i, name := range names {
		if f&(1<<i) != 0 {
			visit(name)
		}
	}
}

// BeginKind says how the first key of a spec is found.
type BeginKind uint8

// The kinds of begin_search.
const (
	BeginUnknown BeginKind = iota
	BeginIndex
	BeginKeyword
)

// FindKind says how the keys of a spec are found from the first.
type FindKind uint8

// The kinds of find_keys.
const (
	FindUnknown FindKind = iota
	FindRange
	FindKeyNum
)

// KeySpec is one key specification of COMMAND INFO. Positions count the command's
// name as 0; for a subcommand, the container's name is 0 and its own is 1.
type KeySpec struct {
	Notes     string
	Flags     KeyFlags
	Begin     BeginKind
	Index     int    // BeginIndex
	Keyword   string // BeginKeyword
	StartFrom int    // BeginKeyword; negative counts from the end
	Find      FindKind
	LastKey   int // FindRange: relative to the first, or from the end when negative
	Step      int // FindRange, FindKeyNum
	Limit     int // FindRange with LastKey -1: 2 means the first half of what is left
	KeyNumAt  int // FindKeyNum: position of the count, relative to the begin
	FirstKey  int // FindKeyNum: position of the first key, relative to the begin
	// mayBeNone: a count of 0 is valid (EVAL), not a mistake.
	mayBeNone bool
}

// KeyRef is the position of a key in the argv without the command's name.
type KeyRef struct {
	Index int
	Flags KeyFlags
}

// OnlyKey returns the position of the key, in the argv without the command's name,
// if every line of the command has exactly one key and it always stands there;
// otherwise -1. It is the fast path of locking.
func (g *Shape) OnlyKey() int { return g.only }

// LoneKey is OnlyKey for one line: it also returns the position of a key beside
// which only options could name others, when none of their words is in argv, and
// that of one key where there could be more. It does not allocate.
func (g *Shape) LoneKey(argv [][]byte) int {
	for _, word := range g.alone.words {
		for _, arg := range argv {
			if matches(arg, word) {
				return -1
			}
		}
	}
	if g.alone.at >= len(argv) || g.alone.toEnd && len(argv) > g.alone.at+1 {
		return -1
	}
	return g.alone.at
}

// toEnd reports whether a spec's keys are all arguments from a position on.
func (spec *KeySpec) toEnd() bool {
	return spec.Begin == BeginIndex && spec.Find == FindRange && spec.LastKey == -1 && spec.Step == 1 && spec.Limit == 0 &&
		spec.Flags&(NotKey|Incomplete) == 0
}

// HasKeys reports whether the command has any key, NotKey specs excepted.
func (g *Shape) HasKeys() bool {
	for i := range g.specs {
		if g.specs[i].Flags&NotKey == 0 {
			return true
		}
	}
	return false
}

// Keys appends the positions of the keys in argv, which is without the command's
// name, to dst. It reports false when the arguments do not allow to tell; dst is
// then as it was. It does not allocate when dst has room.
func (g *Shape) Keys(dst []KeyRef, argv [][]byte) ([]KeyRef, bool) {
	return g.keys(dst, argv, false)
}

// Channels is Keys for the specs flagged NotKey, which Keys leaves out.
func (g *Shape) Channels(dst []KeyRef, argv [][]byte) ([]KeyRef, bool) {
	return g.keys(dst, argv, true)
}

func (g *Shape) keys(dst []KeyRef, argv [][]byte, notKeys bool) ([]KeyRef, bool) {
	first := len(dst)
	searched := false
	for i := range g.specs {
		spec := &g.specs[i]
		if (spec.Flags&NotKey != 0) != notKeys {
			continue
		}
		if spec.Begin == BeginUnknown || spec.Find == FindUnknown {
			searched = true
			continue
		}
		if spec.Flags&VariableFlags != 0 && g.find != nil && !notKeys {
			return g.find(dst[:first], argv)
		}
		before := len(dst)
		var ok bool
		if dst, ok = spec.keys(dst, argv); ok && (spec.Flags&Incomplete == 0 || len(dst) == before) {
			continue
		}
		// Redis, too, asks the command itself only when its specs do not suffice.
		if g.find != nil && !notKeys {
			return g.find(dst[:first], argv)
		}
		if !ok {
			return dst[:first], false
		}
	}
	if searched {
		dst = g.search(dst, argv)
	}
	return dst, true
}

// keys appends the keys of one spec. The name stands before argv, so positions are
// one less than the spec's.
func (spec *KeySpec) keys(dst []KeyRef, argv [][]byte) ([]KeyRef, bool) {
	begin, found := spec.begin(argv)
	if !found {
		return dst, true
	}
	last, step := begin, spec.Step
	if spec.Find == FindKeyNum {
		at := begin + spec.KeyNumAt
		if at >= len(argv) {
			return dst, false
		}
		count, ok := ParseInt(argv[at])
		if !ok || count < 0 || count > math.MaxInt32 {
			return dst, false
		}
		if count == 0 {
			return dst, spec.mayBeNone
		}
		begin += spec.FirstKey
		last = begin + int(count) - 1
	} else {
		switch {
		case spec.LastKey >= 0:
			last = begin + spec.LastKey
		case spec.Limit == 0:
			last = len(argv) + spec.LastKey
		default:
			last = begin + (len(argv)-begin)/spec.Limit + spec.LastKey
		}
	}
	if last >= len(argv) || last < begin || begin >= len(argv) {
		return dst, false
	}
	for i := begin; i <= last; i += step {
		dst = append(dst, KeyRef{Index: i, Flags: spec.Flags})
	}
	return dst, true
}

// begin returns the position in argv at which the spec begins.
func (spec *KeySpec) begin(argv [][]byte) (int, bool) {
	if spec.Begin == BeginIndex {
		return spec.Index - 1, true
	}
	if spec.StartFrom > 0 {
		for i := spec.StartFrom - 1; i < len(argv)-1; i++ {
			if matches(argv[i], spec.Keyword) {
				return i + 1, true
			}
		}
		return 0, false
	}
	for i := len(argv) + spec.StartFrom; i > 0; i-- {
		if matches(argv[i], spec.Keyword) {
			return i + 1, true
		}
	}
	return 0, false
}

// search walks the options for keys that no spec finds: unknown arguments are
// stepped over one by one, known clauses by their width, and of a clause that is
// given twice the last counts. It is Redis's sortGetKeys, for any grammar.
func (g *Shape) search(dst []KeyRef, argv [][]byte) []KeyRef {
	at := 0
	for _, s := range g.nodes {
		if s.kind != kindOptions {
			least, _ := s.width()
			at += least
			continue
		}
		return s.searchOptions(dst, argv, at)
	}
	return dst
}

func (s *shape) searchOptions(dst []KeyRef, argv [][]byte, at int) []KeyRef {
	first := len(dst)
	for at < len(argv) {
		clause := s.clauseAt(argv[at])
		if clause == nil {
			at++
			continue
		}
		least, _ := clause.width()
		if clause.key != nil && !clause.key.source && at+1 < len(argv) {
			dst = append(dst[:first], KeyRef{Index: at + 1, Flags: clause.key.flags})
			at++
			continue
		}
		at += least
	}
	return dst
}

// searchedWords are the words behind which search finds keys.
func (g *Shape) searchedWords() (words []string) {
	for _, s := range g.nodes {
		if s.kind != kindOptions {
			continue
		}
		for _, kid := range s.kids {
			if kid.key != nil {
				leads, _ := kid.leads()
				words = append(words, leads...)
			}
		}
	}
	return words
}

func (s *shape) clauseAt(arg []byte) *shape {
	for _, kid := range s.kids {
		words, _ := kid.leads()
		for _, word := range words {
			if matches(arg, word) {
				return kid
			}
		}
	}
	return nil
}
