package grammar

// This file owns the reuse of nodes across params structs: the accessors of a
// node of Q are composed with the way from P to Q, once, at start.

// Lift makes a node of an embedded struct's params a node of P, so that a group of
// arguments is declared once for many commands. T is *P and U is *Q.
func Lift[T, U any](field func(T) U, n Node) Node {
	var whole T
	var part U
	return Node{lift(n.n, way{from: whole, to: part, through: func(p any) any { return field(p.(T)) }})}
}

// way leads from params to a part of them.
type way struct {
	from, to any // nil pointers of the types
	through  func(any) any
}

func lift(n *node, by way) *node {
	n.mustTake(by.to)
	// The copy lets one declaration be lifted into many grammars, each of which notes
	// its own places in it.
	facts := *n.shape
	field := by.through
	out := &node{
		shape:   &facts,
		params:  by.from,
		element: n.element,
		toBytes: composed(n.toBytes, field),
		toList:  composed(n.toList, field),
		toInt:   composed(n.toInt, field),
		toFloat: composed(n.toFloat, field),
		toReals: composed(n.toReals, field),
		toFlag:  composed(n.toFlag, field),
		toError: composed(n.toError, field),
		present: composed(n.present, field),
		count:   composed(n.count, field),
		check:   composed(n.check, field),
	}
	for _, kid := range n.kids {
		out.kids = append(out.kids, lift(kid, by))
	}
	if n.choose != nil {
		out.choose = func(p any, position int) { n.choose(field(p), position) }
	}
	if n.value != nil {
		out.value = func(p any, arg []byte) *Error { return n.value(field(p), arg) }
	}
	if n.custom != nil {
		out.custom = func(p any, args [][]byte) (int, *Error) { return n.custom(field(p), args) }
	}
	if n.each != nil {
		out.each = func(p any, argv [][]byte, i int) (int, *Error) { return n.each(field(p), argv, i) }
	}
	if n.preset != nil {
		out.preset = func(p any) { n.preset(field(p)) }
	}
	// The element type of an Each is gone here, so a lifted Each starts from an empty
	// slice at every parse; the other appended slices keep their capacity.
	switch n.kind {
	case kindList:
		out.keep = keepSlice(out.toList)
	case kindFloats:
		out.keep = keepSlice(out.toReals)
	}
	return out
}

func composed[V any](accessor func(any) V, field func(any) any) func(any) V {
	if accessor == nil {
		return nil
	}
	return func(p any) V { return accessor(field(p)) }
}
