package grammar

// This file owns parsing: one pass over the arguments, writing through the
// accessors. It must not allocate but for errors and slices that grow, and must
// not know what the fields mean.

// Parse fills p, a pointer to the params given to Compile, from the arguments of
// one call, argv without the command's name. Every field of p that is not given
// gets its default. It returns nil or an *Error; p is then unspecified, but for a
// Late error, which is kept in p while Parse returns nil.
func (g *Grammar) Parse(argv [][]byte, p any) *Error {
	c := g.core
	if len(argv) < c.plain {
		c.begin(p, nil)
		return c.parse(argv, p, 0)
	}
	c.begin(p, argv[:c.plain])
	// Most calls are of this form alone: a key, a key and a value.
	if len(argv) == c.plain && c.enough {
		return nil
	}
	// So are most others, with a list behind: a key and elements.
	if n := c.rest; n != nil && len(argv)-c.plain >= n.group && (n.group == 1 || (len(argv)-c.plain)%n.group == 0) {
		*n.toList(p) = argv[c.plain:len(argv):len(argv)]
		return nil
	}
	return c.parse(argv, p, c.plain)
}

// parse parses a line whose first arguments, one for each of so many nodes, are done.
func (c *core) parse(argv [][]byte, p any, done int) *Error {
	s := parser{argv: argv, i: done, p: p, least: c.least}
	return s.line(c, c.nodes[done:])
}

// parser is the state of one parse; it lives on the stack.
type parser struct {
	argv    [][]byte
	i       int
	p       any
	least   int   // fewer arguments than these are an Arity error
	late    *node // the Late that errors are kept for, once it is reached
	chosen  [oneOfMax + 1]uint8
	waiting [waitingMax]pending
	waits   int
}

// pending is a conversion that waits for the end of the line.
type pending struct {
	node *node
	at   int
}

// waitingMax bounds the deferred conversions of one line.
const waitingMax = 8

// line parses the nodes, all arguments, and then what was deferred.
func (s *parser) line(c *core, nodes []*node) *Error {
	err := s.sequence(nodes)
	if err == nil && s.i < len(s.argv) {
		err = s.unused(c)
	}
	if err != nil && (s.late == nil || len(s.late.kids) == 0) {
		return err
	}
	if err == nil {
		err = s.convertPending()
	}
	if err != nil && s.late != nil {
		*s.late.toError(s.p) = err
		return nil
	}
	return err
}

// parseFrom parses one element of an Each from position i and returns where it ends.
func (c *core) parseFrom(argv [][]byte, i int, p any) (int, *Error) {
	s := parser{argv: argv, i: i, p: p}
	err := s.sequence(c.nodes)
	if err == nil {
		err = s.convertPending()
	}
	return s.i, err
}

// unused is the error for arguments that no node took.
func (s *parser) unused(c *core) *Error {
	if c.leftover != nil {
		return c.leftover.fail(Syntax, s.i)
	}
	if c.exact {
		return &Error{Kind: Arity, Index: s.i}
	}
	return &Error{Kind: Syntax, Index: s.i}
}

func (s *parser) convertPending() *Error {
	for i := 0; i < s.waits; i++ {
		n, at := s.waiting[i].node, s.waiting[i].at
		if err := s.convert(n, at); err != nil {
			return err
		}
	}
	return nil
}

func (s *parser) sequence(nodes []*node) *Error {
	for _, n := range nodes {
		if n.optional && n.kind != kindOptions && !s.begins(n) {
			continue
		}
		if err := s.node(n); err != nil {
			return err
		}
	}
	return nil
}

// begins reports whether an optional node is given here.
func (s *parser) begins(n *node) bool {
	if len(s.argv)-s.i <= n.reserve {
		return false
	}
	if n.token != "" {
		return matches(s.argv[s.i], n.token)
	}
	switch n.kind {
	case kindOneOf:
		return n.openKid != 0 || n.find(s.argv[s.i]) != nil
	case kindBlock:
		for _, kid := range n.kids {
			if s.begins(kid) {
				return true
			}
			if !kid.optional {
				return false
			}
		}
		return false
	case kindEach:
		return s.beginsElement(n.shape)
	}
	return true
}

// beginsElement reports whether the argument here can begin an element of an Each.
func (s *parser) beginsElement(n *shape) bool {
	if n.leadsOpen {
		return true
	}
	for _, word := range n.leadWords {
		if matches(s.argv[s.i], word) {
			return true
		}
	}
	return false
}

// find returns the entry whose word the argument is.
func (n *node) find(arg []byte) *entry {
	for i := range n.entries {
		if matches(arg, n.entries[i].word) {
			return &n.entries[i]
		}
	}
	return nil
}

func (s *parser) node(n *node) *Error {
	if n.token != "" {
		if s.i >= len(s.argv) {
			return s.missing(n)
		}
		if !matches(s.argv[s.i], n.token) {
			return n.fail(Syntax, s.i)
		}
		s.i++
	}
	return s.body(n)
}

func (s *parser) body(n *node) *Error {
	if n.present != nil && n.kind != kindOneOf {
		*n.present(s.p) = true
	}
	switch n.kind {
	case kindToken:
		if n.toFlag != nil {
			*n.toFlag(s.p) = true
		}
		return nil
	case kindTail:
		return s.tail(n)
	case kindCounted:
		return s.counted(n)
	case kindFloats:
		return s.floats(n)
	case kindOneOf:
		return s.oneOf(n)
	case kindBlock:
		return s.sequence(n.kids)
	case kindOptions:
		return s.options(n)
	case kindEach:
		return s.each(n)
	case kindLate:
		s.late = n
		return s.sequence(n.kids)
	case kindCheck:
		if n.deferred {
			s.wait(n)
			return nil
		}
		return s.convert(n, s.i)
	case kindCustom:
		used, err := n.custom(s.p, s.argv[s.i:])
		if err != nil {
			if err.Index >= 0 {
				err.Index += s.i
			}
			return n.adopt(err, s.i)
		}
		s.i += used
		return nil
	}
	return s.single(n)
}

// single takes one argument and converts it, now or when the line is read.
func (s *parser) single(n *node) *Error {
	if s.i >= len(s.argv) {
		return s.missing(n)
	}
	if n.deferred {
		s.wait(n)
		s.i++
		return nil
	}
	s.i++
	return s.convert(n, s.i-1)
}

// wait remembers a conversion; a clause that is given again replaces the earlier.
func (s *parser) wait(n *node) {
	for i := 0; i < s.waits; i++ {
		if s.waiting[i].node == n {
			s.waiting[i].at = s.i
			return
		}
	}
	s.waiting[s.waits] = pending{node: n, at: s.i}
	s.waits++
}

// convert reads the argument at a position into the node's field.
func (s *parser) convert(n *node, at int) *Error {
	switch n.kind {
	case kindBytes:
		*n.toBytes(s.p) = s.argv[at]
	case kindList:
		list := n.toList(s.p)
		*list = append(*list, s.argv[at])
	case kindInt:
		value, err := n.integer(s.argv[at], at)
		if err != nil {
			return err
		}
		*n.toInt(s.p) = value
	case kindFloat:
		value, ok := ParseFloat(s.argv[at])
		if !ok {
			return n.fail(NotFloat, at)
		}
		*n.toFloat(s.p) = value
	case kindValue:
		if err := n.value(s.p, s.argv[at]); err != nil {
			return n.adopt(err, at)
		}
	case kindCheck:
		if err := n.check(s.p); err != nil {
			return n.adopt(err, at)
		}
	}
	return nil
}

// integer reads an Int or a count and tests its range.
func (s *shape) integer(arg []byte, at int) (int64, *Error) {
	value, ok := ParseInt(arg)
	if !ok {
		return 0, s.fail(NotInteger, at)
	}
	if value < s.min || value > s.max {
		return 0, s.fail(s.rangeKind, at)
	}
	return value, nil
}

// tail takes all arguments but those reserved for what follows, in whole groups.
func (s *parser) tail(n *node) *Error {
	size := len(s.argv) - s.i - n.reserve
	if size < n.group || size%n.group != 0 {
		if size < n.group {
			return s.missing(n)
		}
		return n.fail(Arity, len(s.argv))
	}
	*n.toList(s.p) = s.argv[s.i : s.i+size : s.i+size]
	s.i += size
	return nil
}

func (s *parser) counted(n *node) *Error {
	if s.i >= len(s.argv) {
		return s.missing(n)
	}
	size, err := n.integer(s.argv[s.i], s.i)
	if err != nil {
		return err
	}
	if size < 0 || size > int64(len(s.argv)-s.i-1) {
		return n.fail(Missing, s.i)
	}
	s.i++
	end := s.i + int(size)
	*n.toList(s.p) = s.argv[s.i:end:end]
	s.i = end
	return nil
}

func (s *parser) floats(n *node) *Error {
	size := n.count(s.p)
	if size < 0 || size > int64(len(s.argv)-s.i) {
		return n.fail(Missing, s.i)
	}
	list := n.toReals(s.p)
	// A clause that is given again replaces the earlier.
	*list = (*list)[:0]
	for ; size > 0; size-- {
		value, ok := ParseFloat(s.argv[s.i])
		if !ok {
			return n.fail(NotFloat, s.i)
		}
		*list = append(*list, value)
		s.i++
	}
	return nil
}

func (s *parser) oneOf(n *node) *Error {
	if s.i >= len(s.argv) {
		return s.missing(n)
	}
	place := n.openKid
	if e := n.find(s.argv[s.i]); e != nil {
		place = e.place
	}
	if place == 0 {
		return n.fail(Syntax, s.i)
	}
	return s.alternative(n, place)
}

// clause parses an alternative of a OneOf in Options, unless another was given.
func (s *parser) clause(n *node, place int) *Error {
	if before := s.chosen[n.ordinal]; before != 0 && int(before) != place && !n.together {
		return n.fail(Conflict, s.i)
	}
	s.chosen[n.ordinal] = uint8(place)
	return s.alternative(n, place)
}

// alternative parses the alternative of a OneOf at a place, from 1.
func (s *parser) alternative(n *node, place int) *Error {
	if n.present != nil {
		*n.present(s.p) = true
	}
	if n.choose != nil {
		n.choose(s.p, place)
	}
	kid := n.kids[place-1]
	if len(s.argv)-s.i < kid.least {
		return s.missing(kid)
	}
	return s.node(kid)
}

func (s *parser) options(n *node) *Error {
	for s.i < len(s.argv) {
		e := n.find(s.argv[s.i])
		if e == nil {
			break
		}
		var err *Error
		if e.owner != nil {
			err = s.clause(e.owner, e.place)
		} else if len(s.argv)-s.i < e.node.least {
			// Redis tests that a clause is complete before it converts any of it.
			err = s.missing(e.node)
		} else {
			err = s.node(e.node)
		}
		if err != nil {
			return err
		}
	}
	for _, kid := range n.kids {
		if kid.required && s.chosen[kid.ordinal] == 0 && s.i >= len(s.argv) {
			return kid.fail(Missing, s.i)
		}
	}
	return nil
}

func (s *parser) each(n *node) *Error {
	end := len(s.argv) - n.reserve
	if s.i >= end {
		return s.missing(n)
	}
	for s.i < end && s.beginsElement(n.shape) {
		next, err := n.each(s.p, s.argv[:end], s.i)
		if err != nil {
			return err
		}
		if next == s.i {
			break
		}
		s.i = next
	}
	return nil
}

// missing is the error for an argument that is not there: too few arguments if the
// command never takes so few, otherwise a syntax error, as what was given asked for
// more.
func (s *parser) missing(n *node) *Error {
	if len(s.argv) < s.least {
		return n.fail(Arity, len(s.argv))
	}
	return n.fail(Syntax, len(s.argv))
}
