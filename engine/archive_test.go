package engine

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"reminis/engine/effect"
)

// This file owns the archive of tests: rows, history and events made from the
// batches of a tape, as a store makes them at a checkpoint. It knows effects, and
// nothing of the engine's structure.

// shelf is the archive: what batches up to seq left.
type shelf struct {
	seq     uint64
	timeMs  int64
	spaceOf []uint32
	records map[named]shelved // current records
	heads   map[named]shelved // last event of each owner
	ids     []shelved
	facets  map[named]map[string]shelved
	history map[named][]shelved
	items   map[named][]shelved // of lists, the live one's too
	events  map[named][]shelved
	pruned  map[named]uint64
	damage  func(event []byte) // what happens to an event's bytes as they are read
}

// named is a key or an owner in its space.
type named struct {
	space uint32
	name  string
}

type shelved struct {
	seq    uint64
	timeMs int64
	space  uint32
	x      effect.Effect
}

func newShelf(databases int) *shelf {
	s := &shelf{records: map[named]shelved{}, heads: map[named]shelved{}, history: map[named][]shelved{},
		events: map[named][]shelved{}, pruned: map[named]uint64{},
		items:  map[named][]shelved{},
		facets: map[named]map[string]shelved{}}
	for db := range databases {
		s.spaceOf = append(s.spaceOf, uint32(db))
	}
	return s
}

// take carries the tape's batches after the last taken one up to seq over.
func (s *shelf) take(t *testing.T, batches [][]byte, seq uint64) {
	t.Helper()
	for _, b := range batches {
		r, err := effect.NewReader(b)
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq <= s.seq || r.Seq > seq {
			continue
		}
		s.seq, s.timeMs = r.Seq, r.TimeMs
		for {
			var x effect.Effect
			more, err := r.Next(&x)
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			for _, field := range []*[]byte{&x.Key, &x.Field, &x.Value, &x.Event} {
				*field = slices.Clone(*field)
			}
			s.put(shelved{r.Seq, r.TimeMs, s.spaceOf[x.DB], x})
		}
	}
}

func (s *shelf) put(c shelved) {
	key := named{c.space, string(c.x.Key)}
	owner := named{c.space, string(c.x.Owner())}
	switch c.x.Kind {
	case effect.RecordPut, effect.RecordAppend:
		s.records[key] = c
	case effect.ItemPut:
		s.items[key] = append(s.items[key], c)
	case effect.RecordForget:
		delete(s.records, key)
	case effect.RecordDeadline:
		if stood, ok := s.records[key]; ok {
			stood.x.DeadlineMs = c.x.DeadlineMs
			s.records[key] = stood
		}
	case effect.EventAppend, effect.FacetSet:
		if owner = key; len(c.x.Key) == 0 {
			owner = named{serverSpace, ""}
		}
	case effect.CommandDone:
		s.ids = append(s.ids, c)
	case effect.DBSwap:
		a, b := &s.spaceOf[c.x.DB], &s.spaceOf[c.x.Number]
		*a, *b = *b, *a
	}
	if c.x.Kind == effect.FacetSet {
		if s.facets[owner] == nil {
			s.facets[owner] = map[string]shelved{}
		}
		s.facets[owner][string(c.x.Field)] = c // without a value: removed
	}
	if len(c.x.Event) > 0 {
		s.heads[owner] = c
		s.events[owner] = append(s.events[owner], c)
	}
	if c.x.Kind.ChangesRecord() {
		s.history[key] = append(s.history[key], c)
		s.prune(key)
	}
}

// prune keeps as many versions as the newest one asks for, what stood within the
// time that it asks for, and their items.
func (s *shelf) prune(key named) {
	list := s.history[key]
	var puts []int
	for i := range list {
		if list[i].x.Kind.MakesVersion() {
			puts = append(puts, i)
		}
	}
	if len(puts) == 0 {
		return
	}
	newest := &list[puts[len(puts)-1]]
	oldest := 0 // of puts: the first that is kept
	for len(puts)-oldest > max(int(newest.x.Count), 1) && list[puts[oldest+1]].timeMs <= s.timeMs-newest.x.KeepMs {
		oldest++
	}
	if oldest == 0 {
		return
	}
	kept := &list[puts[oldest]]
	s.pruned[key] = list[puts[oldest]-1].seq
	s.items[key] = slices.DeleteFunc(s.items[key], func(it shelved) bool {
		return it.x.List < kept.x.List || it.x.List == kept.x.List && uint64(it.x.Number) < kept.x.First
	})
	s.history[key] = list[puts[oldest]:]
}

// recover hands rows to e as a store does.
func (s *shelf) recover(t *testing.T, e *Engine) {
	t.Helper()
	e.Spaces(s.spaceOf)
	dbOf := map[uint32]uint32{}
	for db, space := range s.spaceOf {
		dbOf[space] = uint32(db)
	}
	give := func(c shelved, x effect.Effect) {
		if x.DB = dbOf[c.space]; c.space == serverSpace {
			x.DB = 0
		}
		if err := e.Row(&x, c.seq, c.timeMs); err != nil {
			t.Fatal(err)
		}
	}
	for owner, facets := range s.facets {
		for _, name := range slices.Sorted(maps.Keys(facets)) {
			c := facets[name]
			c.space = owner.space
			give(c, effect.Effect{Kind: effect.FacetSet, Key: c.x.Key, Field: c.x.Field, Value: c.x.Value})
		}
	}
	for _, c := range s.records {
		x := c.x
		x.Event = nil
		give(c, x)
		for _, it := range s.items[named{c.space, string(x.Key)}] {
			if it.x.List == x.List && uint64(it.x.Number) >= x.First {
				give(shelved{c.seq, c.timeMs, c.space, it.x}, it.x)
			}
		}
	}
	for owner, c := range s.heads {
		c.space = owner.space
		give(c, effect.Effect{Kind: effect.EventAppend, Key: []byte(owner.name), Event: c.x.Event})
	}
	for _, c := range s.ids {
		give(c, c.x)
	}
}

func (s *shelf) each(list []shelved, fromSeq, toSeq uint64, reverse bool, visit func(c *shelved) bool) {
	for i := range list {
		c := &list[i]
		if reverse {
			c = &list[len(list)-1-i]
		}
		if c.seq >= fromSeq && c.seq <= toSeq && !visit(c) {
			return
		}
	}
}

// History implements Archive.
func (s *shelf) History(space uint32, key []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, x *effect.Effect) bool) error {
	s.each(s.history[named{space, string(key)}], fromSeq, toSeq, reverse, func(c *shelved) bool { return visit(c.seq, c.timeMs, &c.x) })
	return nil
}

// Events implements Archive.
func (s *shelf) Events(space uint32, owner []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, event []byte) bool) error {
	s.each(s.events[named{space, string(owner)}], fromSeq, toSeq, reverse, func(c *shelved) bool {
		event := slices.Clone(c.x.Event)
		if s.damage != nil {
			s.damage(event)
		}
		return visit(c.seq, c.timeMs, event)
	})
	return nil
}

// Items implements Archive.
func (s *shelf) Items(space uint32, key []byte, list, first, next uint64, visit func(number uint64, item []byte)) error {
	for _, it := range s.items[named{space, string(key)}] {
		if n := uint64(it.x.Number); it.x.List == list && first <= n && n < next {
			visit(n, it.x.Value)
		}
	}
	return nil
}

// Pruned implements Archive.
func (s *shelf) Pruned(space uint32, key []byte) (uint64, error) {
	return s.pruned[named{space, string(key)}], nil
}

// Names implements Archive.
func (s *shelf) Names(space uint32, owner []byte, visit func(key []byte)) error {
	for n := range s.history {
		if n.space == space && strings.HasPrefix(n.name, string(owner)+":") {
			visit([]byte(n.name))
		}
	}
	return nil
}
