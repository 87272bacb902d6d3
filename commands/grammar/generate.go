package grammar

// This file owns random command lines: valid ones, and near misses of them. It
// must not parse; that Generate's valid lines parse is what a fuzz test proves.

import (
	"math/rand/v2"
	"strconv"
)

// Generate returns random arguments, without the command's name. A valid line is
// one that Parse accepts, as far as Check, Value and Custom functions agree. With
// near, one or two mistakes of the kinds that people and clients make are put in;
// the line may still be valid.
func (g *Shape) Generate(r *rand.Rand, near bool) [][]byte {
	s := generator{r: r, counts: 2}
	s.sequence(g.nodes)
	if near {
		for range 1 + r.IntN(2) {
			s.mistake()
		}
	}
	return s.argv
}

type generator struct {
	r      *rand.Rand
	argv   [][]byte
	counts int // the last count of a counted list, for the Floats that follow it
}

func (s *generator) add(arg string) { s.argv = append(s.argv, []byte(arg)) }

func (s *generator) pick(from []string) string { return from[s.r.IntN(len(from))] }

func (s *generator) sequence(nodes []*shape) {
	for _, n := range nodes {
		if n.optional && !n.required && s.r.IntN(3) == 0 {
			continue
		}
		s.node(n)
	}
}

func (s *generator) node(n *shape) {
	if n.token != "" {
		s.add(s.anyCase(n.token))
	}
	s.body(n)
}

func (s *generator) body(n *shape) {
	switch n.kind {
	case kindToken, kindCheck:
	case kindTail:
		s.tail(n)
	case kindCounted:
		s.counted(n)
	case kindFloats:
		for range s.counts {
			s.add(s.pick(floatArgs()))
		}
	case kindOneOf:
		s.node(n.kids[s.r.IntN(len(n.kids))])
	case kindOptions:
		s.options(n)
	case kindEach:
		for range 1 + s.r.IntN(3) {
			s.sequence(n.kids)
		}
	case kindBlock, kindLate, kindCustom:
		if len(n.samples) > 0 {
			s.add(s.pick(n.samples))
			return
		}
		s.sequence(n.kids)
	default:
		s.single(n)
	}
}

// options adds some clauses in any order; one that takes all that is left is last.
func (s *generator) options(n *shape) {
	var last *shape
	for _, i := range s.r.Perm(len(n.kids)) {
		kid := n.kids[i]
		if !kid.required && s.r.IntN(3) > 0 {
			continue
		}
		if kid.kind == kindTail || kid.kind == kindEach && kid.leadsOpen {
			last = kid
			continue
		}
		s.node(kid)
	}
	if last != nil {
		s.node(last)
	}
}

// single adds one argument of the node's type.
func (s *generator) single(n *shape) {
	switch {
	case len(n.samples) > 0:
		s.add(s.pick(n.samples))
	case n.kind == kindInt:
		s.add(s.integer(n.min, n.max))
	case n.kind == kindFloat, n.argType == TypeDouble:
		s.add(s.pick(floatArgs()))
	case n.argType == TypeKey:
		s.add(s.pick(keyArgs()))
	case n.argType == TypePattern:
		s.add(s.pick(patternArgs()))
	case n.argType == TypeInteger:
		s.add(s.pick(integerArgs()))
	default:
		s.add(s.pick(valueArgs()))
	}
}

func (s *generator) tail(n *shape) {
	groups := 1 + s.r.IntN(3)
	if n.group == 1 {
		for range groups {
			s.single(n)
		}
		return
	}
	if n.halves {
		for _, half := range n.kids {
			for range groups {
				s.single(half)
			}
		}
		return
	}
	for range groups {
		s.sequence(n.kids)
	}
}

func (s *generator) counted(n *shape) {
	count := max(n.min, 0) + int64(s.r.IntN(3))
	count = min(count, n.max)
	s.counts = int(count)
	s.add(strconv.FormatInt(count, 10))
	for range count {
		s.single(n)
	}
}

// integer returns a small integer within the bounds, or one of the bounds.
func (s *generator) integer(first, last int64) string {
	for range 8 {
		value, _ := ParseInt([]byte(s.pick(integerArgs())))
		if value >= first && value <= last {
			return strconv.FormatInt(value, 10)
		}
	}
	return strconv.FormatInt(first, 10)
}

func (s *generator) anyCase(word string) string {
	if s.r.IntN(4) > 0 {
		return word
	}
	mixed := []byte(word)
	for i, c := range mixed {
		if c >= 'A' && c <= 'Z' && s.r.IntN(2) == 0 {
			mixed[i] = c | 0x20
		}
	}
	return string(mixed)
}

// mistake changes the line in one place.
func (s *generator) mistake() {
	if len(s.argv) == 0 {
		s.add(s.pick(strayArgs()))
		return
	}
	i := s.r.IntN(len(s.argv))
	switch s.r.IntN(6) {
	case 0: // one argument is missing
		s.argv = append(s.argv[:i], s.argv[i+1:]...)
	case 1: // one is given twice
		s.argv = append(s.argv[:i+1], s.argv[i:]...)
	case 2: // two have changed places
		j := s.r.IntN(len(s.argv))
		s.argv[i], s.argv[j] = s.argv[j], s.argv[i]
	case 3: // one is of the wrong type
		s.argv[i] = []byte(s.pick(strayArgs()))
	case 4: // one too many at the end
		s.add(s.pick(strayArgs()))
	case 5: // the line breaks off
		s.argv = s.argv[:i]
	}
}

// The arguments that lines are made of. Few keys, so that commands meet on them.

func keyArgs() []string {
	return []string{"key:1", "key:2", "key:3", "key:4"}
}

func valueArgs() []string {
	return []string{"a", "b", "10", "3.5", "hello world", "", "foobar", "-1", "\x00\xff"}
}

func patternArgs() []string {
	return []string{"*", "key:*", "k?y:[12]", "a*", "nothing"}
}

func integerArgs() []string {
	return []string{"0", "1", "2", "3", "5", "10", "100", "-1", "-2", "1000000", "9223372036854775807", "-9223372036854775808"}
}

func floatArgs() []string {
	return []string{"0", "1", "1.5", "-2.25", "3e2", "1e-3", "inf", "-inf", "100"}
}

func strayArgs() []string {
	return []string{"", "foo", "abc", "1.5", "+1", "01", " 1", "1 ", "9223372036854775808", "-9223372036854775809", "nan", "inf", "1e400", "0x10", "-0", "EX", "NX", "XX", "GET", "COUNT", "LIMIT", "WITHSCORES", "key:1", "0", "-1"}
}
