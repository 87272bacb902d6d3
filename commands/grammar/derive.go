package grammar

// This file owns what a grammar says about itself without a command line: arity
// and key specs. It must not know the params type.

import "slices"

// Shape is the part of a grammar that has nothing to do with the params type; a
// command table keeps a *Shape of every command.
type Shape struct {
	nodes []*shape
	arity int // counted with one name; 0 is not a possible arity
	specs []KeySpec
	owner map[*shape]int // index of the spec of each node with keys
	find  func(dst []KeyRef, argv [][]byte) ([]KeyRef, bool)
	only  int
	alone loneKey
}

// loneKey is the only key of a line in which no option names another.
type loneKey struct {
	at    int      // -1: there may always be others
	words []string // behind which options name keys
	toEnd bool     // there could be more up to the end of the line
}

// Arity returns Redis's arity: n arguments exactly, or at least -n, counted with
// the names. names is 1 for a command and 2 for a subcommand.
func (g *Shape) Arity(names int) int {
	if g.arity < 0 {
		return g.arity - (names - 1)
	}
	return g.arity + (names - 1)
}

// KeySpecs returns the key specs of COMMAND INFO; names as in Arity.
func (g *Shape) KeySpecs(names int) []KeySpec {
	specs := slices.Clone(g.specs)
	for i := range specs {
		if specs[i].Begin == BeginIndex {
			specs[i].Index += names - 1
		}
		if specs[i].Begin == BeginKeyword && specs[i].StartFrom > 0 {
			specs[i].StartFrom += names - 1
		}
	}
	return specs
}

// KeyRange returns the first key, last key and step of COMMAND INFO (0, 0, 0 when
// no spec is a plain range), and whether keys may stand elsewhere, which is
// Redis's flag movablekeys. names as in Arity.
func (g *Shape) KeyRange(names int) (first, last, step int, movable bool) {
	specs := g.KeySpecs(names)
	if len(specs) == 0 {
		return 0, 0, 0, false
	}
	if spec := specs[0]; len(specs) == 1 && spec.Begin == BeginIndex && spec.Find == FindRange {
		return spec.Index, absolute(spec), spec.Step, spec.Flags&Incomplete != 0
	}
	first, last = 0, 0
	for _, spec := range specs {
		plain := spec.Begin == BeginIndex && spec.Find == FindRange && spec.Step == 1
		if !plain || last != 0 && last != spec.Index-1 {
			movable = true
			continue
		}
		movable = movable || spec.Flags&Incomplete != 0
		if first == 0 || spec.Index < first {
			first = spec.Index
		}
		// A last key counted from the end is behind every other.
		if end := absolute(spec); last >= 0 && (end < 0 || end > last) {
			last = end
		}
	}
	if first == 0 {
		return 0, 0, 0, true
	}
	return first, last, 1, movable
}

// absolute returns a range's last key as COMMAND INFO says it: a position, or
// counted from the end when negative.
func absolute(spec KeySpec) int {
	if spec.LastKey < 0 {
		return spec.LastKey
	}
	return spec.Index + spec.LastKey
}

// derive computes arity and key specs; the owner of the Shape may override both.
func (g *Shape) derive() {
	least, most := widthOf(g.nodes)
	g.arity = least + 1
	if least != most {
		g.arity = -g.arity
	}
	g.owner = map[*shape]int{}
	d := deriver{g: g, at: 1}
	d.sequence(g.nodes, false)
	g.deriveOnlyKey()
}

func (g *Shape) deriveOnlyKey() {
	g.only, g.alone = -1, loneKey{at: -1}
	if len(g.specs) == 1 && g.specs[0].toEnd() {
		g.alone = loneKey{at: g.specs[0].Index - 1, toEnd: true}
		return
	}
	at, placed := -1, 0
	for i := range g.specs {
		spec := &g.specs[i]
		switch {
		case spec.Begin == BeginUnknown:
		case spec.Begin == BeginIndex && spec.Find == FindRange && spec.LastKey == 0 && spec.Flags&(NotKey|Incomplete) == 0:
			at = spec.Index - 1
			placed++
		default:
			return
		}
	}
	if placed != 1 {
		return
	}
	if len(g.specs) == 1 {
		g.only = at
	}
	g.alone = loneKey{at: at, words: g.searchedWords()}
}

// deriver walks a grammar and notes a spec for each node with keys.
type deriver struct {
	g      *Shape
	at     int  // position of the next argument, the name being 0
	adrift bool // at is only the first position that is possible
}

// sequence walks nodes behind each other; movable says that they stand within
// Options, where positions mean nothing.
func (d *deriver) sequence(nodes []*shape, movable bool) {
	for _, s := range nodes {
		before := d.at
		d.node(s, movable)
		d.at = before
		if movable {
			continue
		}
		least, most := s.width()
		if !s.optional || s.required {
			d.at += least
		}
		d.adrift = d.adrift || s.optional || least != most
	}
}

func (d *deriver) node(s *shape, movable bool) {
	if s.key != nil {
		d.spec(s, movable)
		return
	}
	switch s.kind {
	case kindOptions:
		d.sequence(s.kids, true)
	case kindOneOf:
		for _, kid := range s.kids {
			inner := deriver{g: d.g, at: d.at, adrift: d.adrift || s.token != ""}
			inner.node(kid, movable)
		}
	case kindBlock, kindCustom, kindLate:
		if s.token != "" && !movable {
			d.at++
		}
		d.sequence(s.kids, movable)
	case kindEach:
		d.sequence(s.kids, true)
	}
}

// spec notes the key spec of a node.
func (d *deriver) spec(s *shape, movable bool) {
	specs := &d.g.specs
	if s.key.same && len(*specs) > 0 {
		last := len(*specs) - 1
		d.g.owner[s] = last
		if !s.key.source && !s.key.unknown {
			(*specs)[last].LastKey++
		}
		return
	}
	spec := KeySpec{Notes: s.key.notes, Flags: s.key.flags}
	d.begin(&spec, s, movable)
	if spec.Begin != BeginUnknown {
		d.keysOf(&spec, s)
	}
	d.g.owner[s] = len(*specs)
	if len(s.kids) > 0 {
		d.g.owner[s.kids[0]] = len(*specs)
	}
	*specs = append(*specs, spec)
}

func (d *deriver) begin(spec *KeySpec, s *shape, movable bool) {
	switch {
	case s.key.unknown:
	case s.token != "":
		spec.Begin, spec.Keyword, spec.StartFrom = BeginKeyword, s.token, d.at
		if s.key.startFrom != 0 {
			spec.StartFrom = s.key.startFrom
		}
	case !movable && !d.adrift:
		spec.Begin, spec.Index = BeginIndex, d.at
	}
}

// keysOf fills in how the keys are found from where the spec begins.
func (d *deriver) keysOf(spec *KeySpec, s *shape) {
	spec.Find, spec.Step = FindRange, 1
	switch s.kind {
	case kindTail:
		spec.LastKey = -1 - s.reserve
		if s.halves {
			spec.Limit = 2
		} else {
			spec.Step = s.group
		}
	case kindCounted:
		spec.Find, spec.FirstKey, spec.mayBeNone = FindKeyNum, 1, s.min <= 0
	}
}
