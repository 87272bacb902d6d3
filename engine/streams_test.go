package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reminis/engine/effect"
	"reminis/engine/stream"
)

// This file holds streams to a model that is plain slices and maps, over restarts:
// from the journal, and from rows as the store would keep them.

type streamModel struct {
	entries    []stream.ID
	texts      map[stream.ID]string
	last       stream.ID
	added      uint64
	maxDeleted stream.ID
	groups     map[string]*groupModel
}

type groupModel struct {
	last      stream.ID
	consumers map[string]int64 // when each was seen
	pending   map[stream.ID]string
}

func (m *streamModel) String() string {
	out := fmt.Sprintf("last %v added %d deleted %v\n", m.last, m.added, m.maxDeleted)
	for _, id := range m.entries {
		out += fmt.Sprintf("%v %s\n", id, m.texts[id])
	}
	for _, name := range slices.Sorted(maps.Keys(m.groups)) {
		g := m.groups[name]
		out += fmt.Sprintf("group %s %v\n", name, g.last)
		for _, consumer := range slices.Sorted(maps.Keys(g.consumers)) {
			out += fmt.Sprintf("consumer %s %d\n", consumer, g.consumers[consumer])
		}
		for _, id := range slices.SortedFunc(maps.Keys(g.pending), stream.ID.Compare) {
			out += fmt.Sprintf("pending %v %s\n", id, g.pending[id])
		}
	}
	return out
}

// streamContents prints a stream in the form of streamModel.
func streamContents(t *testing.T, s Stream) string {
	b := s.Bounds()
	out := fmt.Sprintf("last %v added %d deleted %v\n", b.Last, b.Added, b.MaxDeleted)
	n := int64(0)
	s.Each(stream.ID{}, stream.Max, func(e *stream.Entry) bool {
		out += fmt.Sprintf("%v ", e.ID)
		e.Each(func(field, value []byte) { out += fmt.Sprintf("%s=%s,", field, value) })
		out += "\n"
		n++
		return true
	})
	if n != b.Length || n != s.Len() {
		t.Fatalf("%d entries, length %d", n, b.Length)
	}
	s.EachGroup(func(g StreamGroup) {
		out += fmt.Sprintf("group %s %v\n", g.Name(), g.LastID())
		g.EachConsumer(func(c StreamConsumer) { out += fmt.Sprintf("consumer %s %d\n", c.Name(), c.SeenMs()) })
		g.EachPending(stream.ID{}, func(p Pending) bool {
			out += fmt.Sprintf("pending %v %s %d %d\n", p.ID, p.Consumer.Name(), p.DeliveredMs, p.Count)
			return true
		})
	})
	return out
}

// streamRows keeps what the store would: the bytes of each row by its name.
type streamRows struct{ facets, blocks map[string][]byte }

func (rows *streamRows) take(t *testing.T, batch []byte) {
	r, err := effect.NewReader(batch)
	if err != nil {
		t.Fatal(err)
	}
	var x effect.Effect
	for more, err := r.Next(&x); more; more, err = r.Next(&x) {
		if err != nil {
			t.Fatal(err)
		}
		name := string(x.Field)
		switch x.Kind {
		case effect.StreamSet:
			rows.facets[name] = slices.Clone(x.Value)
		case effect.StreamUnset:
			delete(rows.facets, name)
		case effect.StreamSplice:
			old := rows.blocks[name]
			rows.blocks[name] = slices.Concat(old[:x.Number], x.Value, old[x.Number+x.Count:])
		case effect.StreamDrop:
			delete(rows.blocks, name)
		default:
			t.Fatalf("effect of kind %d", x.Kind)
		}
	}
}

// restore hands the rows to a new engine in the order in which recovery does.
func (rows *streamRows) restore(t *testing.T, e *Engine, key []byte) {
	row := func(x effect.Effect) {
		x.Key = key
		if err := e.Row(&x, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows.facets)) {
		row(effect.Effect{Kind: effect.StreamSet, Field: []byte(name), Value: rows.facets[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(rows.blocks)) {
		row(effect.Effect{Kind: effect.StreamSplice, Field: []byte(name), Value: rows.blocks[name]})
	}
}

// streamTest is one stream, its model, its journal and its rows.
type streamTest struct {
	t     *testing.T
	r     *rand.Rand
	clock *fakeClock
	tape  *tape
	rows  streamRows
	e     *Engine
	m     streamModel
}

var streamKey = []byte("s")

func (x *streamTest) open() {
	x.e = Open(Options{Journal: x.tape, Clock: x.clock})
	x.e.Limits.StreamNodeEntries.Store(int64(1 + x.r.IntN(9)))
}

// tx runs work in a transaction and keeps the rows of what it did.
func (x *streamTest) tx(work func(tx *Tx, s Stream)) {
	tx := x.e.Begin()
	tx.LockKeys([][]byte{streamKey})
	s, err := tx.Stream(streamKey)
	if err != nil {
		x.t.Fatal(err)
	}
	before := len(x.tape.batches)
	work(tx, s)
	tx.Commit()
	tx.Done()
	for _, batch := range x.tape.batches[before:] {
		x.rows.take(x.t, batch)
	}
}

func (x *streamTest) compare() {
	x.t.Helper()
	if err := x.e.Check(); err != nil {
		x.t.Fatal(err)
	}
	have := ""
	x.tx(func(_ *Tx, s Stream) { have = streamContents(x.t, s) })
	if want := x.m.String(); have != want {
		x.t.Fatalf("only the engine has\n%s\nonly the model has\n%s", without(have, want), without(want, have))
	}
}

func (x *streamTest) step() {
	m := &x.m
	switch x.r.IntN(12) {
	case 0, 1, 2, 3:
		id := stream.ID{Ms: m.last.Ms + uint64(x.r.IntN(3)), Seq: uint64(x.r.IntN(3))}
		if !m.last.Less(id) {
			id, _ = m.last.Next()
		}
		value := strings.Repeat("v", x.r.IntN(30))
		pairs := [][]byte{[]byte("f"), []byte(value)}
		text := "f=" + value + ","
		if x.r.IntN(4) == 0 {
			pairs, text = append(pairs, []byte("g"), []byte("7")), text+"g=7,"
		}
		x.tx(func(tx *Tx, s Stream) { tx.AppendStream(streamKey, s, id, pairs) })
		m.entries, m.last = append(m.entries, id), id
		m.added++
		m.texts[id] = text
	case 4:
		x.remove()
	case 5:
		x.trim()
	case 6:
		if x.r.IntN(3) > 0 {
			break
		}
		// It never goes back: what Redis then makes of a stream is compared with it.
		m.last, m.added = stream.ID{Ms: m.last.Ms + uint64(x.r.IntN(4)) + 1}, m.added+uint64(x.r.IntN(5))
		x.tx(func(tx *Tx, s Stream) { tx.SetStreamIDs(streamKey, s, m.last, m.added, m.maxDeleted) })
	default:
		x.group()
	}
}

func (x *streamTest) remove() {
	m := &x.m
	ids := []stream.ID{{Ms: uint64(x.r.IntN(50)), Seq: uint64(x.r.IntN(3))}}
	if len(m.entries) > 0 {
		at := x.r.IntN(len(m.entries))
		ids = append(ids, m.entries[at:min(at+x.r.IntN(4), len(m.entries))]...)
	}
	want := int64(0)
	for _, id := range ids {
		if i := slices.Index(m.entries, id); i >= 0 {
			m.entries = slices.Delete(m.entries, i, i+1)
			want++
			if m.maxDeleted.Less(id) {
				m.maxDeleted = id
			}
		}
	}
	x.tx(func(tx *Tx, s Stream) {
		if !s.Exists() {
			return
		}
		if have := tx.DeleteEntries(streamKey, s, ids); have != want {
			x.t.Fatalf("deleted %d of %v, not %d", have, ids, want)
		}
	})
}

func (x *streamTest) trim() {
	m := &x.m
	trim := StreamTrim{Length: int64(len(m.entries) - x.r.IntN(5))}
	trim.Length = max(trim.Length, 0)
	want := len(m.entries) - min(len(m.entries), int(trim.Length))
	if x.r.IntN(2) == 0 && len(m.entries) > 0 {
		trim = StreamTrim{ByID: true, ID: m.entries[x.r.IntN(min(len(m.entries), 5))]}
		want = slices.Index(m.entries, trim.ID)
	}
	x.tx(func(tx *Tx, s Stream) {
		if !s.Exists() {
			return
		}
		if have := tx.TrimStream(streamKey, s, &trim); have != int64(want) {
			x.t.Fatalf("trimmed %d, not %d", have, want)
		}
		m.entries = m.entries[want:]
	})
}

// group does something in one of two groups.
func (x *streamTest) group() {
	m := &x.m
	name := []string{"g", "h"}[x.r.IntN(2)]
	g := m.groups[name]
	if g == nil {
		x.tx(func(tx *Tx, s Stream) { tx.CreateGroup(streamKey, s, []byte(name), stream.ID{}, 0) })
		m.groups[name] = &groupModel{consumers: map[string]int64{}, pending: map[stream.ID]string{}}
		return
	}
	who := []string{"c", "d", "e"}[x.r.IntN(3)]
	now := x.clock.ms
	x.tx(func(tx *Tx, s Stream) {
		group, _ := s.Group([]byte(name))
		consumer, there := group.Consumer([]byte(who))
		switch op := x.r.IntN(9); {
		case op == 0:
			tx.DestroyGroup(streamKey, group)
			delete(m.groups, name)
		case !there:
			tx.CreateConsumer(streamKey, group, []byte(who))
			g.consumers[who] = now
		case op == 1:
			tx.DeleteConsumer(streamKey, group, consumer)
			delete(g.consumers, who)
			maps.DeleteFunc(g.pending, func(_ stream.ID, text string) bool { return strings.HasPrefix(text, who+" ") })
		case op < 4:
			for _, id := range slices.SortedFunc(maps.Keys(g.pending), stream.ID.Compare) {
				if x.r.IntN(2) == 0 {
					tx.Acknowledge(streamKey, group, id)
					delete(g.pending, id)
				}
			}
		case op == 4 && len(m.entries) > 0:
			id := m.entries[x.r.IntN(len(m.entries))]
			tx.Deliver(streamKey, group, consumer, id, now-5, 7)
			g.pending[id] = fmt.Sprintf("%s %d 7", who, now-5)
		default:
			tx.SeeConsumer(streamKey, group, consumer)
			g.consumers[who] = now
			count := 1 + x.r.IntN(5)
			tx.DeliverNew(streamKey, s, group, consumer, int64(count), false, func(e *stream.Entry) {})
			for _, id := range m.entries {
				if g.last.Less(id) && count > 0 {
					g.last = id
					g.pending[id] = fmt.Sprintf("%s %d 1", who, now)
					count--
				}
			}
		}
	})
}

func TestStreamAgainstModel(t *testing.T) {
	for range 6 {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		x := &streamTest{
			t: t, r: rand.New(rand.NewPCG(seed, 0)), clock: &fakeClock{ms: 1_000_000}, tape: &tape{},
			rows: streamRows{map[string][]byte{}, map[string][]byte{}},
			m:    streamModel{texts: map[stream.ID]string{}, groups: map[string]*groupModel{}},
		}
		x.open()
		for i := range 1500 {
			x.step()
			x.clock.ms++
			if i%50 == 0 {
				x.compare()
			}
			if i%300 == 299 {
				x.restart(i%600 == 299)
				x.compare()
			}
		}
		x.copies()
	}
}

// restart begins anew from the journal or from rows.
func (x *streamTest) restart(fromRows bool) {
	x.open()
	if fromRows {
		x.rows.restore(x.t, x.e, streamKey)
		return
	}
	for _, b := range x.tape.batches {
		r, err := effect.NewReader(b)
		if err != nil {
			x.t.Fatal(err)
		}
		if err := x.e.Batch(&r); err != nil {
			x.t.Fatal(err)
		}
	}
}

// copies copies the stream, as COPY does and as DUMP and RESTORE do, and empties
// the original.
func (x *streamTest) copies() {
	tx := x.e.Begin()
	tx.LockAll()
	if _, err := tx.Copy(streamKey, []byte("copy"), 0); err != nil {
		x.t.Fatal(err)
	}
	s, _ := tx.Stream(streamKey)
	tx.RestoreStream([]byte("restored"), s.Value())
	tx.Delete(streamKey)
	for _, key := range []string{"copy", "restored"} {
		copied, err := tx.Stream([]byte(key))
		if err != nil {
			x.t.Fatal(err)
		}
		if have, want := streamContents(x.t, copied), x.m.String(); have != want {
			x.t.Errorf("%s: only it has\n%s\nonly the model has\n%s", key, without(have, want), without(want, have))
		}
	}
	tx.Commit()
	tx.Done()
	if err := x.e.Check(); err != nil {
		x.t.Error(err)
	}
}
