package grammar

// This file owns the part of a node that has nothing to do with params: names,
// words, widths. Arity, keys, docs, syntax and generated lines are read from it.
// It must not know the params type nor how a line is parsed.

// nodeKind says how a node consumes arguments.
type nodeKind uint8

const (
	kindBytes   nodeKind = iota + 1 // one argument as it is
	kindInt                         // one argument, string2ll
	kindFloat                       // one argument, strtod
	kindValue                       // one argument, the caller's converter
	kindToken                       // a word alone
	kindList                        // one argument, appended
	kindFloats                      // as many arguments as a count field says
	kindTail                        // groups of arguments to the end
	kindCounted                     // a count and as many arguments
	kindOneOf                       // one of kids
	kindBlock                       // kids in order
	kindOptions                     // kids in any order, by leading word
	kindEach                        // groups of kids to the end, into structs
	kindCheck                       // no argument: a rule
	kindLate                        // kids in order, errors kept
	kindCustom                      // the caller's parser, kids documented
)

// ArgType is a documented type; the values are Redis's.
type ArgType uint8

// The documented types of COMMAND DOCS.
const (
	TypeString ArgType = iota
	TypeInteger
	TypeDouble
	TypeKey
	TypePattern
	TypeUnixTime
	TypePureToken
	TypeOneOf
	TypeBlock
)

// String returns the type's name as COMMAND DOCS says it.
func (t ArgType) String() string {
	return [...]string{"string", "integer", "double", "key", "pattern", "unix-time", "pure-token", "oneof", "block"}[t]
}

// keyFacts are the attributes of a node whose arguments are keys.
type keyFacts struct {
	flags     KeyFlags
	notes     string
	same      bool // belongs to the spec of the key before
	unknown   bool // clients cannot find it by a spec
	source    bool // not a key itself
	startFrom int  // 0: derived
}

// shape is the non-generic part of a node. Lifted nodes share it.
type shape struct {
	kind            nodeKind
	name            string
	token           string
	argType         ArgType
	displayText     string
	summary         string
	since           string
	deprecatedSince string
	optional        bool
	multiple        bool
	repeats         bool // the word stands before each occurrence
	together        bool
	required        bool
	deferred        bool
	key             *keyFacts
	min, max        int64
	rangeKind       Kind
	group           int  // kindTail: arguments per group
	halves          bool // kindTail: first all firsts, then all seconds
	countName       string
	failures        []failure
	samples         []string
	documented      []*shape // what documents the node instead of itself
	inSpec          int      // documented key: index of its key spec plus one
	kids            []*shape
	ordinal         int      // kindOneOf: its place in the parser's memory, from 1
	least           int      // the fewest arguments it takes when given
	reserve         int      // kindTail, kindEach: arguments that belong to what follows
	leadWords       []string // kindEach: the words an element may begin with
	leadsOpen       bool     // kindEach: an element may begin with anything
}

// unbounded is the greatest width of a node that has none.
const unbounded = -1

// width returns the fewest and most arguments that the node takes when it is
// given, its leading word included.
func (s *shape) width() (least, most int) {
	least, most = s.bareWidth()
	if s.token != "" && s.kind != kindToken {
		least++
		if most != unbounded {
			most++
		}
	}
	return least, most
}

func (s *shape) bareWidth() (least, most int) {
	switch s.kind {
	case kindCheck:
		return 0, 0
	case kindFloats:
		return 0, unbounded
	case kindTail:
		return s.group, unbounded
	case kindCounted:
		return 1 + int(max(s.min, 0)), unbounded
	case kindEach:
		least, _ = widthOf(s.kids)
		return least, unbounded
	case kindOneOf:
		return s.widthOfAlternatives()
	case kindBlock, kindLate, kindCustom, kindOptions:
		least, most = widthOf(s.kids)
		if s.multiple || s.kind == kindOptions && most > 0 {
			// Clauses may be repeated; the last one wins.
			most = unbounded
		}
		return least, most
	}
	return 1, 1
}

func (s *shape) widthOfAlternatives() (least, most int) {
	for i, kid := range s.kids {
		kidLeast, kidMost := kid.width()
		if i == 0 || kidLeast < least {
			least = kidLeast
		}
		if i == 0 || kidMost == unbounded || most != unbounded && kidMost > most {
			most = kidMost
		}
	}
	return least, most
}

// widthOf returns the width of a sequence, its optional members counted as absent
// for the least and present for the most.
func widthOf(sequence []*shape) (least, most int) {
	for _, s := range sequence {
		sLeast, sMost := s.width()
		if !s.optional || s.required {
			least += sLeast
		}
		if sMost == unbounded || most == unbounded {
			most = unbounded
		} else {
			most += sMost
		}
	}
	return least, most
}

// leads returns the words that a node may begin with, and whether it may begin
// with any argument.
func (s *shape) leads() (words []string, open bool) {
	if s.token != "" {
		return []string{s.token}, false
	}
	switch s.kind {
	case kindOneOf:
		for _, kid := range s.kids {
			kidWords, kidOpen := kid.leads()
			words, open = append(words, kidWords...), open || kidOpen
		}
		return words, open
	case kindBlock, kindOptions, kindEach:
		for _, kid := range s.kids {
			kidWords, kidOpen := kid.leads()
			words, open = append(words, kidWords...), open || kidOpen
			if !kid.optional || kidOpen {
				break
			}
		}
		return words, open
	case kindCheck:
		return nil, false
	}
	return nil, true
}

// leadsOfElement is leads of what an Each repeats, without the Each's own word.
func (s *shape) leadsOfElement() (words []string, open bool) {
	element := shape{kind: kindBlock, kids: s.kids}
	return element.leads()
}

// matches reports whether an argument is the word, as strcasecmp would: without
// regard to ASCII case, and only up to the argument's first NUL.
func matches(arg []byte, word string) bool {
	if len(arg) != len(word) && (len(arg) < len(word) || arg[len(word)] != 0) {
		return false
	}
	for i := 0; i < len(word); i++ {
		if lower(arg[i]) != lower(word[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}
