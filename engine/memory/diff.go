package memory

// This file owns the difference between two values, as a JSON Patch that makes
// one into the other. It must not know where the values come from.

import (
	"slices"
	"strconv"
	"strings"
)

// DiffJSON gives the operations of RFC 6902 that make one valid JSON text into
// another: [] when they are the same value. Members are removed, then replaced and
// added; of arrays what begins and ends alike stands, and what is between is
// replaced place by place.
//
// Whatever it gives, MEM.PATCH takes: places deeper than a pointer may reach are
// replaced whole, and so is everything when there were too many operations.
func DiffJSON(before, after []byte) ([]byte, error) {
	d := differ{dst: []byte{'['}, work: newWork("comparison", limitPatchWork())}
	a, b := newNode(before), newNode(after)
	if err := d.diff(&a, &b, 0); err != nil {
		return nil, err
	}
	if d.operations > limitPatchOperations().Default {
		d.dst, d.path, d.operations = d.dst[:1], d.path[:0], 0
		d.operation("replace", &b)
	}
	return append(d.dst, ']'), nil
}

// differ is one comparison on its way.
type differ struct {
	dst        []byte
	path       []byte // JSON pointer of the place that is compared
	operations int
	work       *work
}

// diff recurses along the depth of the values.
func (d *differ) diff(a, b *node, depth int) error {
	kind := a.kind()
	if kind != b.kind() || kind != '{' && kind != '[' || depth == limitPatchDepth().Default {
		same, err := equalNodes(a, b, d.work)
		if err == nil && !same {
			d.operation("replace", b)
		}
		return err
	}
	left, err := a.open(d.work)
	if err != nil {
		return err
	}
	right, err := b.open(d.work)
	if err != nil {
		return err
	}
	if kind == '{' {
		return d.objects(left, right, depth)
	}
	return d.arrays(left.elements, right.elements, depth)
}

func (d *differ) objects(a, b *box, depth int) error {
	for i := range a.members {
		if b.find(a.members[i].name) < 0 {
			d.at(a.members[i].name, func() { d.operation("remove", nil) })
		}
	}
	for i := range b.members {
		m := &b.members[i]
		var err error
		d.at(m.name, func() {
			if at := a.find(m.name); at >= 0 {
				err = d.diff(&a.members[at].value, &m.value, depth+1)
			} else {
				d.operation("add", &m.value)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) arrays(a, b []node, depth int) error {
	first, err := d.alike(a, b)
	if err != nil {
		return err
	}
	tailA, tailB := slices.Clone(a[first:]), slices.Clone(b[first:])
	slices.Reverse(tailA)
	slices.Reverse(tailB)
	last, err := d.alike(tailA, tailB)
	if err != nil {
		return err
	}
	a, b = a[:len(a)-last], b[:len(b)-last]
	i := first
	for ; i < len(a) && i < len(b); i++ {
		d.at(strconv.Itoa(i), func() { err = d.diff(&a[i], &b[i], depth+1) })
		if err != nil {
			return err
		}
	}
	for j := len(a) - 1; j >= i; j-- {
		d.at(strconv.Itoa(j), func() { d.operation("remove", nil) })
	}
	for ; i < len(b); i++ {
		d.at(strconv.Itoa(i), func() { d.operation("add", &b[i]) })
	}
	return nil
}

// alike counts the elements that both begin with.
func (d *differ) alike(a, b []node) (count int, err error) {
	for count < len(a) && count < len(b) {
		same, err := equalNodes(&a[count], &b[count], d.work)
		if err != nil {
			return 0, err
		}
		if !same {
			break
		}
		count++
	}
	return count, nil
}

// at does something at the place that name leads to.
func (d *differ) at(name string, do func()) {
	mark := len(d.path)
	d.path = append(d.path, '/')
	d.path = append(d.path, pointerEscapes.Replace(name)...)
	do()
	d.path = d.path[:mark]
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (d *differ) operation(name string, value *node) {
	if d.operations++; d.operations > limitPatchOperations().Default {
		return
	}
	if d.operations > 1 {
		d.dst = append(d.dst, ',')
	}
	d.dst = append(d.dst, `{"op":"`...)
	d.dst = append(append(d.dst, name...), `","path":`...)
	d.dst = AppendQuoted(d.dst, d.path)
	if value != nil {
		d.dst = value.append(append(d.dst, `,"value":`...))
	}
	d.dst = append(d.dst, '}')
}
