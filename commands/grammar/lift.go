package grammar

// This file owns the reuse of nodes across params structs: the accessors of a
// node of Q are composed with the way from P to Q, once, at start.

// Lift makes a node of an embedded struct's params a node of P, so that a group of
// arguments is declared once for many commands.
func Lift[P, Q any](field func(*P) *Q, n Node[*Q]) Node[*P] { return Node[*P]{lift(n.n, field)} }

func lift[T, U any](n *node[U], field func(T) U) *node[T] {
	// The copy lets one declaration be lifted into many grammars, each of which notes
	// its own places in it.
	facts := *n.shape
	out := &node[T]{
		shape:   &facts,
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
		out.kids = append(out.kids, lift(kid, field))
	}
	if n.choose != nil {
		out.choose = func(p T, position int) { n.choose(field(p), position) }
	}
	if n.value != nil {
		out.value = func(p T, arg []byte) *Error { return n.value(field(p), arg) }
	}
	if n.custom != nil {
		out.custom = func(p T, args [][]byte) (int, *Error) { return n.custom(field(p), args) }
	}
	if n.each != nil {
		out.each = func(p T, argv [][]byte, i int) (int, *Error) { return n.each(field(p), argv, i) }
	}
	if n.preset != nil {
		out.preset = func(p T) { n.preset(field(p)) }
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

func composed[T, U, V any](accessor func(U) V, field func(T) U) func(T) V {
	if accessor == nil {
		return nil
	}
	return func(p T) V { return accessor(field(p)) }
}
