package grammar

// This file owns what makes the rest of the package free of the params type:
// accessors of a type become accessors of any, and a params type becomes a value.
// It must not know what a node is for.
//
// A pointer in an interface needs no allocation, and an accessor that gets params
// of another type panics. It never gets one: Compile compares the types of all
// nodes with that of the params.

// params is a params type.
type params struct {
	pointer  any // a nil pointer to the type: equal for equal types
	fresh    func() any
	defaults any // points to params as they are before a parse
	begin    func(plain []*node) beginning
}

// beginning sets params to the defaults and then the fields of the first nodes to
// the first arguments, as they are.
type beginning func(p any, first [][]byte)

// paramsOf is the params type of P: the only code that is compiled for each.
func paramsOf[P any](defaults *P) params {
	return params{
		pointer:  (*P)(nil),
		fresh:    func() any { return new(P) },
		defaults: defaults,
		begin: func(plain []*node) beginning {
			fields := fieldsOf[*P](plain)
			return func(params any, first [][]byte) {
				p := params.(*P)
				*p = *defaults
				for i, arg := range first {
					*fields[i](p) = arg
				}
			}
		},
	}
}

// fieldsOf is the accessors of plain nodes as they were declared, without the cost
// of a bound one: most calls are a key, or a key and a value.
func fieldsOf[T any](plain []*node) []func(T) *[]byte {
	fields := make([]func(T) *[]byte, len(plain))
	for i, n := range plain {
		n.mustTake(*new(T))
		fields[i] = n.field.(func(T) *[]byte)
	}
	return fields
}

// bound notes at the node that it takes params of type T, and makes the accessor
// one of any. It is nil for nil.
func bound[T, V any](n *node, accessor func(T) V) func(any) V {
	n.bind(*new(T))
	return erased(accessor)
}

// Bool is a bool of the params, for Present.
type Bool struct {
	params any
	to     func(any) *bool
}

// BoolOf names a bool of the params.
func BoolOf[T any](field func(T) *bool) Bool {
	return Bool{params: *new(T), to: erased(field)}
}

func erased[T, V any](accessor func(T) V) func(any) V {
	if accessor == nil {
		return nil
	}
	return func(p any) V { return accessor(p.(T)) }
}

func boundValue[T any](n *node, convert func(T, []byte) *Error) func(any, []byte) *Error {
	n.bind(*new(T))
	return func(p any, arg []byte) *Error { return convert(p.(T), arg) }
}

func boundCustom[T any](n *node, parse func(T, [][]byte) (int, *Error)) func(any, [][]byte) (int, *Error) {
	n.bind(*new(T))
	return func(p any, args [][]byte) (int, *Error) { return parse(p.(T), args) }
}

// bind notes the type of params that an accessor of the node takes.
func (n *node) bind(pointer any) {
	if n.params == nil {
		n.params = pointer
	}
	n.mustTake(pointer)
}

// mustTake panics unless the params that the node takes are of the type.
func (n *node) mustTake(pointer any) {
	if n.params != nil && n.params != pointer {
		n.mustNot("take params of two types")
	}
}

// keepSlice wraps a beginning so that the slice of the field is emptied, not
// dropped.
func keepSlice[E any](field func(any) *[]E) func(beginning) beginning {
	return func(begin beginning) beginning {
		return func(p any, first [][]byte) {
			saved := (*field(p))[:0]
			begin(p, first)
			*field(p) = saved
		}
	}
}
