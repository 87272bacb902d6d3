package grammar

// This file owns the making of a Grammar from nodes: what can be known before the
// first line is parsed is computed here, and what makes no sense panics here, at
// start. It must not look at an argument.

import "slices"

// Grammar is the compiled grammar of one command. Its methods may be called from
// many goroutines.
type Grammar struct {
	Shape
	core *core
}

// core is a compiled sequence.
type core struct {
	params   params
	begin    beginning
	nodes    []*node
	leftover *shape // the Options whose errors unknown arguments get, or nil
	exact    bool   // takes a fixed number of arguments
	least    int    // the fewest arguments that it takes
	plain    int    // how many of the first nodes take any one argument as it is
	enough   bool   // nothing has to follow the plain ones
	rest     *node  // the tail that all else is, nil where more or others may follow
}

// entry is one leading word of an Options or OneOf.
type entry struct {
	word  string
	node  *node
	owner *node // Options: the OneOf whose alternative this is, or nil
	place int   // OneOf: position of the alternative, from 1
}

// oneOfMax bounds the OneOfs of one grammar, so that the parser's memory of what
// was chosen is a small array. No Redis command has more than seven.
const oneOfMax = 16

// Compile makes the grammar of a command with params P from its nodes. It panics
// when they contradict each other, or have accessors of other params: the
// program's tables are wrong, not its input.
func Compile[P any](nodes ...Node) *Grammar { return compile(paramsOf(new(P)), nodes) }

func compile(of params, nodes []Node) *Grammar {
	c := newCore(unwrap(nodes), of)
	g := &Grammar{core: c, Shape: Shape{nodes: c.shapes()}}
	g.Shape.derive()
	return g
}

// NewParams makes params for Parse, a *P.
func (g *Grammar) NewParams() any { return g.core.params.fresh() }

// WithArity replaces the derived arity, counted as Redis counts it with the
// command's name: n exactly, or at least -n. The reason is for the reader.
func (g *Grammar) WithArity(n int, reason string) *Grammar {
	if reason == "" {
		panic("grammar: WithArity without a reason")
	}
	g.arity = n
	return g
}

// WithKeySpecs replaces the derived key specs, counted with the command's name.
func (g *Grammar) WithKeySpecs(reason string, specs ...KeySpec) *Grammar {
	if reason == "" {
		panic("grammar: WithKeySpecs without a reason")
	}
	g.specs = specs
	g.Shape.deriveOnlyKey()
	return g
}

// WithKeys finds the keys of lines for which the specs do not suffice: one of them
// does not fit, is Incomplete and found something (MIGRATE), or has VariableFlags
// (SET … GET). The function gets the arguments without the command's name and
// appends positions.
func (g *Grammar) WithKeys(reason string, find func(dst []KeyRef, argv [][]byte) ([]KeyRef, bool)) *Grammar {
	if reason == "" {
		panic("grammar: WithKeys without a reason")
	}
	g.find = find
	return g
}

func newCore(nodes []*node, of params) *core {
	c := &core{params: of, nodes: nodes}
	for c.plain < len(nodes) && nodes[c.plain].isPlain() {
		c.plain++
	}
	c.begin = of.begin(nodes[:c.plain])
	compiler := compiler{core: c}
	compiler.sequence(nodes)
	if last := len(nodes) - 1; last >= 0 && nodes[last].kind == kindOptions {
		c.leftover = nodes[last].shape
	}
	least, most := widthOf(c.shapes())
	c.exact, c.least = least == most, least
	if c.plain == len(nodes)-1 && nodes[c.plain].isWholeTail() {
		c.rest = nodes[c.plain]
	}
	c.enough = least == c.plain && !slices.ContainsFunc(nodes, hasEffect)
	return c
}

// isPlain reports whether the node is a field of any one argument, in its place. A
// lifted one has no field of the params themselves.
func (n *node) isPlain() bool {
	return n.kind == kindBytes && n.field != nil && n.token == "" && !n.optional && n.present == nil
}

// isWholeTail reports whether a node takes all arguments that are left, as they are.
func (n *node) isWholeTail() bool {
	return n.kind == kindTail && n.toList != nil && n.token == "" && n.reserve == 0 && n.present == nil
}

// hasEffect reports whether a node does something even if no argument is left.
func hasEffect(n *node) bool {
	return n.kind == kindCheck || n.kind == kindLate || n.kind == kindCustom || slices.ContainsFunc(n.kids, hasEffect)
}

func (c *core) shapes() []*shape { return shapesOf(c.nodes) }

func shapesOf(nodes []*node) []*shape {
	shapes := make([]*shape, len(nodes))
	for i := range nodes {
		shapes[i] = nodes[i].shape
	}
	return shapes
}

type compiler struct {
	core     *core
	oneOfs   int
	deferred int
}

// sequence compiles nodes that stand behind each other.
func (c *compiler) sequence(nodes []*node) {
	for i, n := range nodes {
		c.node(n)
		following := shapesOf(nodes[i+1:])
		switch n.kind {
		case kindTail, kindEach:
			least, most := widthOf(following)
			if least != most {
				n.mustNot("be followed by arguments of variable number")
			}
			n.reserve = least
		case kindLate:
			if len(following) > 0 {
				n.mustNot("be followed by anything")
			}
		}
	}
}

func (c *compiler) node(n *node) {
	n.verify()
	n.mustTake(c.core.params.pointer)
	if n.deferred {
		c.deferred++
		if c.deferred > waitingMax {
			n.mustNot("be deferred with so many others")
		}
	}
	if n.preset != nil {
		n.preset(c.core.params.defaults)
	}
	if n.keep != nil {
		c.core.begin = n.keep(c.core.begin)
	}
	if len(n.kids) > 0 {
		n.shape.kids = shapesOf(n.kids)
	}
	n.least, _ = n.width()
	switch n.kind {
	case kindOneOf:
		c.oneOf(n)
	case kindOptions:
		c.options(n)
	case kindBlock, kindLate, kindCustom:
		c.sequence(n.kids)
	case kindEach:
		n.shape.kids = n.element
		n.leadWords, n.leadsOpen = n.leadsOfElement()
	}
}

func (c *compiler) oneOf(n *node) {
	c.oneOfs++
	if c.oneOfs > oneOfMax {
		n.mustNot("be one of so many alternatives in one grammar")
	}
	n.ordinal = c.oneOfs
	n.openKid = 0
	for i, kid := range n.kids {
		c.sequence(n.kids[i : i+1])
		words, open := kid.leads()
		for _, word := range words {
			n.entries = append(n.entries, entry{word: word, node: kid, place: i + 1})
		}
		if open {
			if n.openKid != 0 {
				n.mustNot("have two alternatives without a leading word")
			}
			n.openKid = i + 1
		}
	}
}

func (c *compiler) options(n *node) {
	for i, kid := range n.kids {
		c.sequence(n.kids[i : i+1])
		words, open := kid.leads()
		if open {
			kid.mustNot("be an option without a leading word")
		}
		if kid.kind == kindOneOf && kid.token == "" {
			for _, e := range kid.entries {
				e.owner = kid
				n.entries = append(n.entries, e)
			}
			continue
		}
		for _, word := range words {
			n.entries = append(n.entries, entry{word: word, node: kid})
		}
	}
}

// verify panics for a node that could not work.
func (n *node) verify() {
	switch n.kind {
	case kindValue:
		if len(n.samples) == 0 {
			n.mustNot("lack samples")
		}
	case kindCustom:
		if len(n.kids) == 0 {
			n.mustNot("lack documented nodes")
		}
	case kindList, kindFloats:
		if n.token == "" {
			n.mustNot("lack a leading word")
		}
	}
	if n.deferred && n.kind != kindInt && n.kind != kindFloat && n.kind != kindValue && n.kind != kindCheck {
		n.mustNot("be deferred")
	}
}

func (n *node) mustNot(text string) {
	panic("grammar: node " + n.name + " must not " + text)
}
