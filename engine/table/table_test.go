// This file owns the model test: random operations on a table and on a Go map
// must stay the same in everything that can be seen.

package table

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// modelEntry is what the model knows of an entry.
type modelEntry struct {
	value      []byte
	kind       uint8
	deadlineMs int64
	access     uint32
}

// pair is a table and its model.
type pair struct {
	t     *testing.T
	table *Table
	model map[string]*modelEntry
}

func newPair(t *testing.T) *pair {
	return &pair{t: t, table: newTable(t), model: map[string]*modelEntry{}}
}

// newTable returns a table whose pool is closed when the test ends.
func newTable(t *testing.T) *Table {
	table := New(NewPool(Options{}))
	t.Cleanup(func() {
		table.Clear()
		table.store.pool.Close()
	})
	return table
}

func (p *pair) put(key, value []byte, kind uint8, deadlineMs int64) {
	p.t.Helper()
	e, existed := p.table.Put(Hash(key), key, kind, deadlineMs, len(value))
	m, modelExisted := p.model[string(key)]
	if existed != modelExisted {
		p.t.Fatalf("Put(%.20q): existed %v, want %v", key, existed, modelExisted)
	}
	copy(e.Value(), value)
	if m == nil {
		m = &modelEntry{}
		p.model[string(key)] = m
	}
	m.value, m.kind, m.deadlineMs = bytes.Clone(value), kind, deadlineMs
	p.same(key, e)
}

func (p *pair) delete(key []byte) {
	p.t.Helper()
	_, want := p.model[string(key)]
	if got := p.table.Delete(Hash(key), key); got != want {
		p.t.Fatalf("Delete(%.20q): %v, want %v", key, got, want)
	}
	delete(p.model, string(key))
}

func (p *pair) get(key []byte) (Entry, bool) {
	p.t.Helper()
	e, found := p.table.Get(Hash(key), key)
	if _, want := p.model[string(key)]; found != want {
		p.t.Fatalf("Get(%.20q): %v, want %v", key, found, want)
	}
	if found {
		p.same(key, e)
	}
	return e, found
}

func (p *pair) resize(key []byte, valueLen int) {
	p.t.Helper()
	e, found := p.get(key)
	if !found {
		return
	}
	e = p.table.Resize(Hash(key), e, valueLen)
	m := p.model[string(key)]
	if valueLen <= len(m.value) {
		m.value = m.value[:valueLen]
	} else {
		m.value = append(m.value, make([]byte, valueLen-len(m.value))...)
	}
	p.same(key, e)
}

func (p *pair) setDeadline(key []byte, deadlineMs int64) {
	p.t.Helper()
	e, found := p.get(key)
	if !found {
		return
	}
	e = p.table.SetDeadline(Hash(key), e, deadlineMs)
	p.model[string(key)].deadlineMs = deadlineMs
	p.same(key, e)
}

func (p *pair) setAccess(key []byte, access uint32, kind uint8) {
	p.t.Helper()
	if e, found := p.get(key); found {
		e.SetAccess(access)
		e.SetKind(kind)
		m := p.model[string(key)]
		m.access, m.kind = access&maxAccess, kind&MaxKind
		p.same(key, e)
	}
}

// same compares one entry with the model's.
func (p *pair) same(key []byte, e Entry) {
	p.t.Helper()
	m := p.model[string(key)]
	switch {
	case m == nil:
		p.t.Fatalf("%.20q is in the table only", key)
	case !bytes.Equal(e.Key(), key):
		p.t.Fatalf("key %.20q, want %.20q", e.Key(), key)
	case !bytes.Equal(e.Value(), m.value):
		p.t.Fatalf("value of %.20q: %d bytes %.20q, want %d bytes %.20q", key, len(e.Value()), e.Value(), len(m.value), m.value)
	case e.Kind() != m.kind || e.DeadlineMs() != m.deadlineMs || e.Access() != m.access:
		p.t.Fatalf("%.20q: kind %d deadline %d access %d, want %+v", key, e.Kind(), e.DeadlineMs(), e.Access(), *m)
	}
}

// all compares everything.
func (p *pair) all() {
	p.t.Helper()
	if err := p.table.Check(); err != nil {
		p.t.Fatal(err)
	}
	if p.table.Len() != len(p.model) {
		p.t.Fatalf("Len %d, want %d", p.table.Len(), len(p.model))
	}
	seen := 0
	p.table.Each(func(e Entry) bool {
		p.same(e.Key(), e)
		seen++
		return true
	})
	if seen != len(p.model) {
		p.t.Fatalf("Each visited %d entries, want %d", seen, len(p.model))
	}
	for key := range p.model {
		p.get([]byte(key))
	}
}

func TestTableAgainstModel(t *testing.T) {
	for name, profile := range map[string]struct {
		keys, ops int
		deletes   int // percent
		large     int // in 10,000
	}{
		"one key":    {keys: 1, ops: 5_000, deletes: 40},
		"few keys":   {keys: 5, ops: 20_000, deletes: 20},
		"growing":    {keys: 20_000, ops: 60_000, deletes: 5},
		"shrinking":  {keys: 4_000, ops: 60_000, deletes: 45},
		"with large": {keys: 300, ops: 8_000, deletes: 20, large: 300},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			p := newPair(t)
			for op := range profile.ops {
				p.randomOp(random, profile.keys, profile.deletes, profile.large)
				if op%(profile.ops/8) == 0 {
					p.all()
				}
			}
			p.all()
			for key := range p.model {
				p.delete([]byte(key))
			}
			p.all()
			if s := p.table.Stats(); s.BlockBytes+s.BucketBytes > 3*pageBytes || s.LiveBytes+s.DeadBytes != 0 {
				t.Fatalf("an empty table holds %+v", s)
			}
			p.table.Clear()
			p.all()
			if used := p.table.store.pool.Stats().UsedBytes; used != 0 {
				t.Fatalf("the pool lost %d bytes", used)
			}
		})
	}
}

func (p *pair) randomOp(random *rand.Rand, keys, deletes, large int) {
	p.t.Helper()
	i := random.IntN(keys)
	key := fmt.Appendf(nil, "key:%d", i)
	if i%1000 == 7 {
		key = append(key, bytes.Repeat([]byte("k"), 70_000)...) // wide by its key
	}
	length := random.IntN(100)
	if random.IntN(50) == 0 {
		length = random.IntN(70_000)
	}
	if random.IntN(10_000) < large {
		length = random.IntN(3 << 20)
	}
	deadlineMs := int64(0)
	if random.IntN(3) == 0 {
		deadlineMs = random.Int64()
	}
	switch n := random.IntN(100); {
	case n < deletes:
		p.delete(key)
	case n < deletes+25:
		value := make([]byte, length)
		for i := copy(value, fmt.Appendf(nil, "value of %d bytes;", length)); i > 0 && i < length; {
			i += copy(value[i:], value[:i]) // no period of a power of two
		}
		p.put(key, value, uint8(random.IntN(MaxKind+1)), deadlineMs)
	case n < deletes+35:
		p.resize(key, length)
	case n < deletes+40:
		p.setDeadline(key, deadlineMs)
	case n < deletes+45:
		p.setAccess(key, random.Uint32(), uint8(random.UintN(256)))
	default:
		p.get(key)
	}
}
