package persistence

import (
	"bytes"

	"reminis/engine/effect"
)

// This file owns how much of a record's past a checkpoint keeps: its history,
// and the items of the lists that it was. It must not know how rows reach disk.
//
// A version goes when there are more than are to be kept and when what followed
// it did so long enough ago; with it goes whatever else happened until then. The
// oldest version that stays says which items stay: those of its list from its
// first item on, and of later lists. So each retained version has all its items,
// and an item is written once however many versions have it. The newest version
// always stays.

// history writes the changes of one record, which begin at order[i], drops the
// versions that are no longer kept, and returns where the next row is.
func (e *emitter) history(order []uint32, i int) (next int, err error) {
	space, name, _, _ := cutNamed(e.key(order[i]))
	p := pruning{emitter: e, space: space, name: bytes.Clone(name)}
	base := appendNamedRow(nil, prefixHistory, space, p.name)
	next = i
	puts := uint64(0)
	for next < len(order) {
		row := e.key(order[next])
		if len(row) != len(base)+placeBytes || !bytes.HasPrefix(row, base) {
			break
		}
		c, err := p.change(row, e.overlay.value(order[next]))
		if err != nil {
			return 0, err
		}
		if c.Kind.MakesVersion() {
			puts++
			p.newest = c.Effect
		}
		next++
	}
	countKey := appendNamedRow(nil, prefixCount, space, p.name)
	if p.count, err = e.count(countKey); err != nil {
		return 0, err
	}
	p.count.versions += puts
	if keep := max(uint64(p.newest.Count), 1); puts > 0 && p.count.versions > keep {
		p.excess = p.count.versions - keep
		if i, err = p.prune(order[:next], i); err != nil {
			return 0, err
		}
	}
	e.counts = append(e.counts, countRow{countKey, appendCount(nil, p.count)})
	for ; i < next; i++ {
		if err := e.plain(order[i]); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// count is what a record's history has; records are asked for in order.
func (e *emitter) count(row []byte) (countValue, error) {
	value, ok, err := e.kept.read(row)
	if err != nil || !ok {
		return countValue{}, err
	}
	return decodeCount(value)
}

// item writes the row of an item, unless it went in the round that it came in.
func (e *emitter) item(n uint32) error {
	row := e.key(n)
	at := len(row) - itemPlaceBytes
	list, number, _ := cutItemPlace(row[at:])
	if first, ok := e.ended[string(row[:at])]; ok && (itemPlace{list, number}).before(first) {
		return nil
	}
	return e.plain(n)
}

// pruning is the past of one record, of which a part goes.
type pruning struct {
	*emitter
	space  uint32
	name   []byte
	newest effect.Effect // version, without its bytes
	count  countValue
	excess uint64 // versions more than are to be kept

	// held is the oldest version that is left, with what followed it: it goes
	// when the next version shows that it may.
	held struct {
		effect.Effect
		rows [][]byte // of earlier rounds, to be deleted
		seq  uint64   // of the last of it
	}
	// from is the first item of the first list among what went.
	from, last itemPlace
}

// pastChange is a change of the record with its place and time.
type pastChange struct {
	effect.Effect
	seq    uint64
	timeMs int64
}

func (p *pruning) change(row, value []byte) (c pastChange, err error) {
	_, _, place, _ := cutNamed(row)
	c.seq, _, _ = cutPlace(place)
	c.Key = p.name
	c.timeMs, err = decodeHistory(value, &c.Effect)
	c.Value = nil
	return c, err
}

// prune drops what goes, from the rows of earlier rounds first. It returns the
// first change of this round that stays.
func (p *pruning) prune(order []uint32, i int) (int, error) {
	more := true
	err := p.rows.scan(namedSpan(prefixHistory, p.space, p.name, 0, ^uint64(0)), func(row, value []byte) (bool, error) {
		c, err := p.change(row, value)
		if err == nil {
			more, err = p.next(&c)
		}
		if more {
			p.held.rows = append(p.held.rows, bytes.Clone(row))
		}
		return more, err
	})
	for at := i; err == nil && more && at < len(order); at++ {
		var c pastChange
		if c, err = p.change(p.key(order[at]), p.overlay.value(order[at])); err == nil {
			more, err = p.next(&c)
		}
		if more && c.Kind.MakesVersion() {
			i = at // what was before it went
		}
	}
	p.endItems()
	return i, err
}

// next takes the next change of the record. It drops what is held when a version
// follows it and it may go, and says whether more may.
func (p *pruning) next(c *pastChange) (more bool, err error) {
	h := &p.held
	if !c.Kind.MakesVersion() {
		h.seq = c.seq
		return true, nil
	}
	if p.excess == 0 || c.timeMs > p.state.timeMs-p.newest.KeepMs {
		return false, nil
	}
	if h.Kind.MakesVersion() {
		p.excess--
		p.count.versions--
	}
	if h.seq != 0 {
		p.count.prunedSeq = h.seq
	}
	for _, row := range h.rows {
		if err := p.tables.delete(row); err != nil {
			return false, err
		}
	}
	if h.List != 0 {
		if p.from.list == 0 {
			p.from = itemPlace{h.List, h.First}
		}
		p.last = itemPlace{h.List, ^uint64(0)}
	}
	h.Effect, h.rows, h.seq = c.Effect, h.rows[:0], c.seq
	return true, nil
}

// endItems drops the items that no retained version has.
func (p *pruning) endItems() {
	if p.from.list == 0 {
		return
	}
	first := p.last
	if p.held.List != 0 {
		first = itemPlace{p.held.List, p.held.First}
	}
	if !p.from.before(first) {
		return
	}
	if p.ended == nil {
		p.emitter.ended = map[string]itemPlace{}
	}
	p.ended[string(appendNamedRow(nil, prefixItem, p.space, p.name))] = first
	// Items sort behind all other spans, and by record as history does.
	p.tables.spans = append(p.tables.spans, itemSpan(p.space, p.name, p.from, first))
}
