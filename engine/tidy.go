package engine

import "github.com/tidwall/btree"

// This file owns what the trees of owners keep beside what is in them. It must not
// know what a record says.
//
// When a node of a tree is split, both halves stay in the memory of the whole, which
// is twice what the first half needs, and keeps what was in the other: a record long
// overwritten stays in memory for as long as its neighbour stands. A copy of a node
// has neither, and trees copy a node when it is written and shares their memory with
// another tree. So a tree is tidied by a copy of itself, in which an item of each
// node is written again.

const (
	// tidyStep is less than a node has items at least (31).
	tidyStep = 16
	// tidyRun is how many items are walked with the owner locked: some ten
	// microseconds.
	tidyRun = 1024
	// untidyLen is more than a tree has that is one node, which nothing split.
	untidyLen = 64
)

// Tidy gives memory back that the trees of owners do not need, of the owners that
// changed since it was called last. It is for a server that is idle.
func (e *Engine) Tidy() {
	e.owners.mu.RLock()
	var all []*Owner
	for _, in := range e.owners.spaces {
		for _, owner := range in.byName {
			all = append(all, owner)
		}
	}
	e.owners.mu.RUnlock()
	for _, owner := range all {
		owner.tidy()
	}
}

func (o *Owner) tidy() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.untidy {
		return
	}
	o.untidy = false
	breathe := func() {
		o.mu.Unlock()
		o.mu.Lock()
	}
	for _, tree := range []*itemTree{&o.records, &o.items, &o.profile} {
		if tree.Len() < untidyLen {
			continue
		}
		*tree = tree.Copy()
		for from, more := item(newItem(nil, 0, 0, nil)), true; more; breathe() {
			from, more = tree.touch(from)
		}
	}
	for _, m := range []*btree.Map[uint64, item]{&o.docs, &o.pinned} {
		if m.Len() < untidyLen {
			continue
		}
		*m = *m.Copy()
		for from, more := uint64(0), true; more; breathe() {
			from, more = touchDocs(m, from)
		}
	}
}

// touch writes items of every node again, from an item on, and says where to go on.
func (t *itemTree) touch(from item) (next item, more bool) {
	var some []item
	count := 0
	t.Ascend(from, func(it item) bool {
		if more = count == tidyRun; more {
			next = it
			return false
		}
		if count%tidyStep == 0 {
			some = append(some, it)
		}
		count++
		return true
	})
	for _, it := range some {
		t.Set(it)
	}
	return next, more
}

// touchDocs is touch of a tree by document.
func touchDocs(m *btree.Map[uint64, item], from uint64) (next uint64, more bool) {
	var some []item
	count := 0
	m.Ascend(from, func(doc uint64, it item) bool {
		if more = count == tidyRun; more {
			next = doc
			return false
		}
		if count%tidyStep == 0 {
			some = append(some, it)
		}
		count++
		return true
	})
	for _, it := range some {
		m.Set(it.doc(), it)
	}
	return next, more
}
