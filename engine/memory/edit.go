package memory

// This file owns changes of a JSON value that rules make and no caller asked
// for: members added, what a path selects replaced or taken out. What they do
// not touch stays byte for byte. It knows neither schemas nor policies.

import (
	"strconv"
)

// Addition is a member to be added to an object inside a value.
type Addition struct {
	Path  []string // names and indices that lead to the object
	Name  string
	Value []byte // valid JSON
}

// AddMembers gives a valid JSON value with members added at the ends of their
// objects, in order; a later one may lead into an earlier one's value. Where a
// path leads to no object, or the object has the member, nothing is added.
func AddMembers(value []byte, additions []Addition) ([]byte, error) {
	root := newNode(value)
	w := newWork("schema", limitPatchWork())
	for i := range additions {
		parts, err := root.follow(additions[i].Path, w)
		if err != nil {
			return nil, err
		}
		if parts == nil || !parts.object || parts.find(additions[i].Name) >= 0 {
			continue
		}
		*parts.slot(additions[i].Name, quoteName(additions[i].Name)) = newNode(additions[i].Value)
	}
	return root.append(nil), nil
}

// follow gives the parts of the container that names and indices lead to, nil
// when they lead nowhere.
func (n *node) follow(path []string, w *work) (*box, error) {
	for _, token := range path {
		parts, err := n.open(w)
		if err != nil || parts == nil {
			return nil, err
		}
		at := -1
		if parts.object {
			at = parts.find(token)
		} else if index, err := strconv.Atoi(token); err == nil && index < len(parts.elements) {
			at = index
		}
		if at < 0 {
			return nil, nil
		}
		n = parts.at(at)
	}
	return n.open(w)
}

// Rewrite gives a valid JSON value in which everything that a path selects is
// what replace makes of its text: nil takes the member or the element out, and
// makes null of the whole value. Of nodes inside one another the outer one
// counts.
func Rewrite(value []byte, path *Path, replace func(text []byte) []byte) ([]byte, error) {
	walk := newPathWalk(value)
	nodes, err := walk.run(path)
	if err != nil || len(nodes) == 0 {
		return value, err
	}
	dropped := false
	for i := len(nodes) - 1; i >= 0; i-- {
		if nodes[i].text == nil { // selected twice
			continue
		}
		text := replace(nodes[i].text)
		dropped = dropped || text == nil
		*nodes[i] = node{text: text}
	}
	if dropped {
		walk.root.prune()
	}
	return walk.root.append(nil), nil
}

// prune takes out what was emptied. It recurses along the nodes that were
// looked into.
func (n *node) prune() {
	if n.box == nil {
		if n.text == nil {
			n.text = []byte("null")
		}
		return
	}
	kept := n.box.elements[:0]
	for i := range n.box.elements {
		if element := &n.box.elements[i]; element.box != nil || element.text != nil {
			element.prune()
			kept = append(kept, *element)
		}
	}
	n.box.elements = kept
	for i := range n.box.members {
		switch m := &n.box.members[i]; {
		case m.gone:
		case m.value.box == nil && m.value.text == nil:
			n.box.drop(i)
		default:
			m.value.prune()
		}
	}
}
