package engine

import (
	"slices"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns lists as views show them: item by item, and as they were. It
// must not know how changes of the past are found.

// headOf is the record that an item belongs to.
func (v *OwnerView) headOf(it item) item {
	if v.head == nil || string(v.head.key()) != string(it.recordKey()) {
		v.head, _ = v.records.Get(newItem(it.recordKey(), 0, 0, nil))
	}
	return v.head
}

// itemOf is the record that an item belongs to, with the item.
func (v *OwnerView) itemOf(it item) Stored {
	s := stored(v.headOf(it), v.items)
	s.Item, s.part = it.number(), it
	return s
}

// Parts visits what recall tells apart in a record that the view gave: the
// items of a list, or the record itself.
func (v *OwnerView) Parts(s Stored, doc uint64, visit func(part Stored, doc uint64) bool) {
	if it, ok := v.docs.Get(doc); !ok || !it.isList() {
		visit(s, doc)
		return
	}
	v.Items(s, 0, func(part Stored, doc uint64) bool { return visit(part, doc) })
}

// Items visits the items of a list from a number on, in order, until visit
// returns false.
func (v *OwnerView) Items(s Stored, first uint64, visit func(part Stored, doc uint64) bool) {
	eachItem(v.items, s.Key, first, ^uint64(0), func(it item) bool { return visit(v.itemOf(it), it.doc()) })
}

// NewestItems visits the newest items of a list, at most limit, in order, until
// visit returns false; of a record that is no list, none.
func (v *OwnerView) NewestItems(s Stored, limit uint64, visit func(part Stored, doc uint64) bool) {
	var r memory.Record
	if mustDecode(s.Bytes, &r); r.List != 0 {
		v.Items(s, r.Next-min(limit, r.Next), visit)
	}
}

// IsList says whether a record that the view gave is a list.
func (s *Stored) IsList() bool { return s.list }

// pastList finds the items that versions of a record had, where the record was a
// list.
type pastList struct {
	view    *OwnerView
	key     []byte
	pending map[listItem][]byte // those that the archive may not have; nil: not looked for
}

type listItem struct{ list, number uint64 }

// of shows an append as what it made: a version like any other, whose items are
// found when they are asked for.
func (p *pastList) of(c Change) Change {
	if c.Kind == effect.RecordAppend {
		c.Kind, c.list = effect.RecordPut, p
	}
	return c
}

// join makes a list whole.
func (p *pastList) join(r *memory.Record) error {
	items, err := p.items(r)
	if err != nil {
		return err
	}
	r.Whole(memory.JoinItems(make([]byte, 0, r.ArrayBytes()), func(yield func([]byte) bool) {
		for i := range items {
			if !yield(items[i].Text) {
				return
			}
		}
	}))
	return nil
}

// items are those of a list, from what stands, what is pending, and the archive.
func (p *pastList) items(r *memory.Record) ([]memory.Item, error) {
	items := make([]memory.Item, r.Next-r.First)
	missing := len(items)
	add := func(number uint64, it []byte) {
		content, err := memory.DecodeItem(it)
		if at := number - r.First; err == nil && at < uint64(len(items)) && items[at].Text == nil {
			items[at] = content
			missing--
		}
	}
	if stands, ok := p.view.Get(p.key); ok {
		var now memory.Record
		if mustDecode(stands.Bytes, &now); now.List == r.List {
			eachItem(p.view.items, p.key, r.First, r.Next, func(it item) bool {
				add(it.number(), it.record())
				return true
			})
		}
	}
	if missing > 0 {
		p.collect()
		for number := r.First; number < r.Next; number++ {
			if it := p.pending[listItem{r.List, number}]; it != nil {
				add(number, it)
			}
		}
	}
	if missing > 0 && p.view.archive != nil {
		opener, failed := p.view.opener(), error(nil)
		err := p.view.archive.Items(p.view.space, p.key, r.List, r.First, r.Next, func(number uint64, it []byte) {
			opened, err := opener.value(&effect.Effect{Kind: effect.ItemPut, Key: p.key, List: r.List, Number: int64(number), Value: it})
			if add(number, slices.Clone(opened)); err != nil {
				failed = err
			}
		})
		if err == nil {
			err = failed
		}
		if err != nil {
			return nil, err
		}
	}
	if missing > 0 {
		return nil, ErrRetention
	}
	return items, nil
}

// collect finds the items of the record among the changes in memory.
func (p *pastList) collect() {
	if p.pending != nil {
		return
	}
	p.pending = map[listItem][]byte{}
	for i := range p.view.pending {
		if c := &p.view.pending[i]; c.kind() == effect.ItemPut && string(c.key()) == string(p.key) {
			facts := c.facts()
			p.pending[listItem{facts.list, facts.version}] = c.value()
		}
	}
}
