package engine

import (
	"slices"
	"sync/atomic"

	"reminis/engine/column"
	"reminis/engine/memory"
)

// This file owns the columns of an owner: the values that its records have at the
// paths which policies index, by which a recall finds what its filter may hold of.
// It must not know filters, only what they need.
//
// A document never changes, so neither does what it has in a column, and numbers
// of documents ascend. So columns are kept up by who reads them: a recall takes
// those that were there when its view was made, counts the documents that are newer
// among those it looks at, and, when these have become many, leaves behind columns
// that have them too. Documents that have gone are not found in the view. So no
// write pays for a column, an owner that nobody filters has none, and a restart
// has none to read.
//
// What a value shows depends on policies, so columns belong to one set of these.

// columns are those of an owner that were asked for. They never change.
type columns struct {
	policies *memory.PolicySet
	indexed  map[string]memory.Column // by name: those that may be made
	made     map[string]madeColumn
}

// madeColumn is a column of the documents up to a number.
type madeColumn struct {
	index *column.Index
	upTo  uint64
	seen  int // documents that were looked at, whether they have a value or not
}

// columnPlace is where an owner's columns are. An owner that is emptied takes
// another, so that nothing of before comes back from a view.
type columnPlace struct{ atomic.Pointer[columns] }

// viewColumns are an owner's columns as they were when a view was made: of no
// later state, since what went since is not in them. The zero value has none, nor
// a place to leave any.
type viewColumns struct {
	place *columnPlace
	now   *columns
}

func (p *columnPlace) view() viewColumns { return viewColumns{p, p.Load()} }

// columnLag is how many documents may be newer than a column before who meets them
// adds them: so many, and one for so many that it has seen. Looking at one costs
// about a microsecond, adding them some 10 ns for each that was there before.
const (
	columnLag      = 64
	columnLagShare = 64
)

// Narrow gives documents, ascending, among which are all of the view that meet the
// need. ok is false when no column tells more than half of the view's apart.
func (v *OwnerView) Narrow(need *memory.Need) (docs []uint64, ok bool) {
	policies := v.rules.Policies()
	if v.columns.place == nil || policies.Len() == 0 {
		return nil, false
	}
	n := narrowing{view: v, columns: v.columns.now, upTo: ^uint64(0)}
	if n.columns == nil || n.columns.policies != policies {
		n.columns = &columns{policies: policies, indexed: policies.ColumnsOf([]byte(v.Name))}
	}
	n.make(need)
	if n.columns != v.columns.now {
		v.columns.place.CompareAndSwap(v.columns.now, n.columns)
		v.columns.now = n.columns
	}
	if count, ok := n.count(need); !ok || 2*count > v.docs.Len() {
		return nil, false
	}
	n.collect(need)
	v.docs.Ascend(n.upTo+1, func(doc uint64, _ item) bool {
		n.docs = append(n.docs, doc)
		return true
	})
	slices.Sort(n.docs)
	return slices.Compact(n.docs), true
}

// narrowing is a Narrow on its way.
type narrowing struct {
	view    *OwnerView
	columns *columns
	docs    []uint64
	upTo    uint64 // what is newer is not in all columns that were read
}

// make brings the columns of a need up to date, but for what may lag.
func (n *narrowing) make(need *memory.Need) {
	for i := range need.Parts {
		n.make(&need.Parts[i])
	}
	from, indexed := n.columns.indexed[need.Column]
	if !indexed {
		return
	}
	old := n.columns.made[need.Column]
	lag, newer := columnLag+old.seen/columnLagShare, 0
	n.view.docs.Ascend(old.upTo+1, func(uint64, item) bool {
		newer++
		return newer <= lag
	})
	if newer <= lag && old.seen <= 2*n.view.docs.Len()+columnLag {
		return
	}
	if old.seen > 2*n.view.docs.Len()+columnLag {
		old = madeColumn{} // most of what it has is gone
	}
	next := *n.columns
	next.made = make(map[string]madeColumn, len(next.indexed))
	for name, made := range n.columns.made {
		next.made[name] = made
	}
	next.made[from.Name] = n.view.extend(old, from)
	n.columns = &next
}

// extend gives a column that has all documents of the view.
func (v *OwnerView) extend(old madeColumn, from memory.Column) madeColumn {
	next := old
	var entries []column.Entry
	var keys []byte
	var r memory.Record
	v.docs.Ascend(old.upTo+1, func(doc uint64, it item) bool {
		s := stored(it, v.items)
		if it.isPart() {
			s = v.itemOf(it)
		}
		s.Decode(&r)
		v.Policy(s.Key).HideEncrypted(&r)
		first, ok := len(keys), false
		if keys, ok = from.AppendKey(keys, r.Value, r.Text); ok {
			entries = append(entries, column.Entry{Key: keys[first:len(keys):len(keys)], Doc: doc})
		}
		next.upTo = doc
		next.seen++
		return true
	})
	next.index = old.index.With(entries)
	return next
}

// count is how many documents of the columns may meet a need; ok is false when it
// may be any.
func (n *narrowing) count(need *memory.Need) (count int, ok bool) {
	if len(need.Parts) == 0 {
		made, ok := n.columns.made[need.Column]
		return len(made.index.Between(need.First, need.Last)), ok
	}
	if !need.Any {
		_, count, ok := n.fewest(need)
		return count, ok
	}
	for i := range need.Parts {
		more, ok := n.count(&need.Parts[i])
		if !ok {
			return 0, false
		}
		count += more
	}
	return count, true
}

// fewest is the part of a need that the fewest documents meet.
func (n *narrowing) fewest(need *memory.Need) (part *memory.Need, count int, ok bool) {
	for i := range need.Parts {
		if here, known := n.count(&need.Parts[i]); known && (!ok || here < count) {
			part, count, ok = &need.Parts[i], here, true
		}
	}
	return part, count, ok
}

// collect adds the documents that count has counted.
func (n *narrowing) collect(need *memory.Need) {
	switch {
	case len(need.Parts) == 0:
		made := n.columns.made[need.Column]
		n.docs = append(n.docs, made.index.Between(need.First, need.Last)...)
		n.upTo = min(n.upTo, made.upTo)
	case need.Any:
		for i := range need.Parts {
			n.collect(&need.Parts[i])
		}
	default:
		part, _, _ := n.fewest(need)
		n.collect(part)
	}
}
