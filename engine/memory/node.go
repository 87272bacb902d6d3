package memory

// This file owns the tree over JSON text that patches and paths work on. A node
// is text until somebody looks inside, so what nobody touches is copied byte
// for byte: numbers keep their digits, members their order.

// node is one JSON value: its text, or, once looked into, its parts.
type node struct {
	text []byte // valid JSON without space around it; stale once box is set
	box  *box
}

// box holds the parts of an object or an array. Names are unique: of repeated
// ones the first gives the place and the last the value, as in JavaScript.
type box struct {
	object   bool
	members  []member
	elements []node
	index    map[string]int // of members that are not gone; nil while few
}

type member struct {
	name  string
	text  []byte // the name as JSON
	value node
	gone  bool
}

// indexAt is the number of members from which names are found by a map.
const indexAt = 12

// work is what one patch or read may still do, in bytes or steps.
type work struct {
	left  int
	what  string
	limit Limit
}

func newWork(what string, limit Limit) *work {
	return &work{left: limit.Default, what: what, limit: limit}
}

// spend takes n from what is left; it fails when nothing is.
func (w *work) spend(n int) error {
	if w.left -= n; w.left < 0 || n < 0 {
		return errWork(w.what, w.limit)
	}
	return nil
}

// newNode gives the node of a valid JSON text.
func newNode(text []byte) node { return node{text: trimSpace(text)} }

// kind is the first byte of the value's text: { [ " t f n or of a number.
func (n *node) kind() byte {
	if n.box == nil {
		return n.text[0]
	}
	if n.box.object {
		return '{'
	}
	return '['
}

// open looks into an object or an array; for anything else it gives nil.
func (n *node) open(w *work) (*box, error) {
	if n.box != nil {
		return n.box, nil
	}
	if n.text[0] != '{' && n.text[0] != '[' {
		return nil, nil
	}
	if err := w.spend(len(n.text)); err != nil {
		return nil, err
	}
	parts := &box{object: n.text[0] == '{'}
	text := n.text
	for i := skipSpace(text, 1); text[i] != '}' && text[i] != ']'; {
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
		var name []byte
		if parts.object {
			end := skipString(text, i)
			name = text[i:end]
			i = skipSpace(text, skipSpace(text, end)+1)
		}
		end := skipValue(text, i)
		value := node{text: text[i:end:end]}
		if parts.object {
			*parts.slot(nameOf(name), name) = value
		} else {
			parts.elements = append(parts.elements, value)
		}
		if err := w.spend(nodeCost); err != nil {
			return nil, err
		}
		i = skipSpace(text, end)
	}
	n.box = parts
	return parts, nil
}

// nodeCost is what one part costs beside its text, in bytes.
const nodeCost = 32

func nameOf(quoted []byte) string {
	var room [64]byte
	return string(appendUnquoted(room[:0], quoted))
}

// find gives the place of a member, -1 if there is none.
func (b *box) find(name string) int {
	if b.index != nil {
		if i, ok := b.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range b.members {
		if !b.members[i].gone && b.members[i].name == name {
			return i
		}
	}
	return -1
}

// slot gives the place of a member's value, which it adds at the end if there
// is none of the name; the value is then empty and must be set.
func (b *box) slot(name string, text []byte) *node {
	if i := b.find(name); i >= 0 {
		return &b.members[i].value
	}
	if b.index == nil && len(b.members) >= indexAt {
		b.index = make(map[string]int, 2*indexAt)
		for i := range b.members {
			if !b.members[i].gone {
				b.index[b.members[i].name] = i
			}
		}
	}
	if b.index != nil {
		b.index[name] = len(b.members)
	}
	b.members = append(b.members, member{name: name, text: text})
	return &b.members[len(b.members)-1].value
}

// drop removes the member at a place that find gave.
func (b *box) drop(i int) {
	if b.index != nil {
		delete(b.index, b.members[i].name)
	}
	b.members[i] = member{gone: true}
}

// append writes the value's JSON text. It recurses only along nodes that were
// looked into.
func (n *node) append(dst []byte) []byte {
	if n.box == nil {
		return append(dst, n.text...)
	}
	if !n.box.object {
		dst = append(dst, '[')
		for i := range n.box.elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = n.box.elements[i].append(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	first := true
	for i := range n.box.members {
		m := &n.box.members[i]
		if m.gone {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(dst, m.text...), ':')
		dst = m.value.append(dst)
	}
	return append(dst, '}')
}
