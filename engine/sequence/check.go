// This file owns the full check of a sequence's structure, for tests. It must
// not repair anything.

package sequence

import "fmt"

// Check verifies every invariant of the sequence and returns the first
// violation. It takes time proportional to the sequence.
func (s *Sequence) Check() error {
	if s.root.parent != nil {
		return fmt.Errorf("sequence: the root has a parent")
	}
	c := checker{s: s}
	if err := c.node(s.root); err != nil {
		return err
	}
	if c.blocks != s.blocks.Len() || c.nodes != s.nodes {
		return fmt.Errorf("sequence: %d blocks and %d nodes in the tree, %d and %d counted", c.blocks, c.nodes, s.blocks.Len(), s.nodes)
	}
	if int(s.numbers)-len(s.freeNumbers) != c.blocks {
		return fmt.Errorf("sequence: %d of %d numbers are free with %d blocks", len(s.freeNumbers), s.numbers, c.blocks)
	}
	if s.total != s.root.count() {
		return fmt.Errorf("sequence: %d elements in the tree, %d counted", s.root.count(), s.total)
	}
	for _, x := range s.opened {
		if x.number != 0 && x.value != s.find(x.number) {
			return fmt.Errorf("sequence: block %d is not where it was opened", x.number)
		}
	}
	return s.blocks.Check()
}

type checker struct {
	s             *Sequence
	blocks, nodes int
	last          uint64 // key of the block before
	height        int    // of leaves, once one was seen
}

func (c *checker) node(n *node) error {
	c.nodes++
	if len(n.entries) > fanout || len(n.entries) == 0 && n.parent != nil {
		return fmt.Errorf("sequence: a node has %d entries", len(n.entries))
	}
	if n.leaf {
		return c.leaf(n)
	}
	for i := range n.entries {
		x := &n.entries[i]
		if x.child.parent != n || x.child.slot != i {
			return fmt.Errorf("sequence: the child at %d is at %d of its parent", i, x.child.slot)
		}
		if err := c.node(x.child); err != nil {
			return err
		}
		if x.count != x.child.count() || x.key != x.child.entries[0].key {
			return fmt.Errorf("sequence: a node of %d elements from %#x on is said to be of %d from %#x on", x.child.count(), x.child.entries[0].key, x.count, x.key)
		}
	}
	return nil
}

func (c *checker) leaf(n *node) error {
	height := 1
	for up := n; up.parent != nil; up = up.parent {
		height++
	}
	if c.height == 0 {
		c.height = height
	}
	if height != c.height {
		return fmt.Errorf("sequence: leaves at heights %d and %d", height, c.height)
	}
	for i := range n.entries {
		x := &n.entries[i]
		if x.key < c.last {
			return fmt.Errorf("sequence: key %#x behind %#x", x.key, c.last)
		}
		c.last = x.key
		c.blocks++
		if room := len(c.s.value(x.number).Value()); room < int(x.size) {
			return fmt.Errorf("sequence: a block of %d bytes in room for %d", x.size, room)
		}
	}
	return nil
}
