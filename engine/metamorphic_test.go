package engine

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"reminis/engine/effect"
)

// This file is the metamorphic test of the engine: random operations, restarts
// in between, against a model that is plain Go maps and imports nothing from
// the engine's structure.

var seedFlag = flag.Uint64("seed", 0, "seed of the metamorphic test; 0 draws several")

// fakeClock is a clock that tests move.
type fakeClock struct{ ms int64 }

func (c *fakeClock) NowMs() int64 { return c.ms }

// tape is a journal that keeps encoded batches.
type tape struct {
	mu      sync.Mutex
	seq     uint64
	batches [][]byte
}

func (t *tape) Ready() error { return nil }

func (t *tape) Append(b *effect.Batch) (uint64, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	t.batches = append(t.batches, append(b.AppendHead(nil, t.seq, b.TimeMs), b.Body()...))
	return t.seq, b.TimeMs
}

type modelValue struct {
	text       string
	hash       map[string]string
	set        map[string]bool
	scores     map[string]float64
	list       []string
	deadlineMs int64
}

func (v modelValue) isString() bool {
	return v.hash == nil && v.set == nil && v.scores == nil && v.list == nil
}

func (v modelValue) clone() modelValue {
	v.hash, v.set, v.scores = maps.Clone(v.hash), maps.Clone(v.set), maps.Clone(v.scores)
	return v
}

// scoresText is a sorted set in its order.
func scoresText(scores map[string]float64) (text string) {
	members := slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[a], scores[b]), cmp.Compare(a, b))
	})
	for _, m := range members {
		text += fmt.Sprintf(" %q:%v", m, scores[m])
	}
	return text
}

type model []map[string]modelValue

func newModel(databases int) model {
	m := make(model, databases)
	for i := range m {
		m[i] = map[string]modelValue{}
	}
	return m
}

func (m model) get(db int, key string, now int64) (modelValue, bool) {
	v, ok := m[db][key]
	if ok && v.deadlineMs != 0 && now > v.deadlineMs {
		delete(m[db], key)
		return modelValue{}, false
	}
	return v, ok
}

func (m model) String(now int64) string {
	out := ""
	for db := range m {
		for _, key := range slices.Sorted(maps.Keys(m[db])) {
			v, ok := m.get(db, key, now)
			if !ok {
				continue
			}
			if v.isString() {
				out += fmt.Sprintf("%d %q = %q @%d\n", db, key, v.text, v.deadlineMs)
				continue
			}
			if v.set != nil {
				out += fmt.Sprintf("%d %q = set @%d %q\n", db, key, v.deadlineMs, slices.Sorted(maps.Keys(v.set)))
				continue
			}
			if v.scores != nil {
				out += fmt.Sprintf("%d %q = sorted set @%d%s\n", db, key, v.deadlineMs, scoresText(v.scores))
				continue
			}
			if v.list != nil {
				out += fmt.Sprintf("%d %q = list @%d %q\n", db, key, v.deadlineMs, v.list)
				continue
			}
			out += fmt.Sprintf("%d %q = hash @%d", db, key, v.deadlineMs)
			for _, f := range slices.Sorted(maps.Keys(v.hash)) {
				out += fmt.Sprintf(" %q:%q", f, v.hash[f])
			}
			out += "\n"
		}
	}
	return out
}

// contents prints an engine in the form of model.String.
func contents(t *testing.T, e *Engine) string {
	out := ""
	for db := 0; db < e.Databases(); db++ {
		tx := e.Begin()
		tx.DB = db
		tx.LockAll()
		var keys []string
		tx.Keys(func(key []byte) { keys = append(keys, string(key)) })
		slices.Sort(keys)
		for _, key := range keys {
			ms, _ := tx.DeadlineMs([]byte(key))
			switch tx.Type([]byte(key)) {
			case TypeString:
				v, err := tx.String([]byte(key))
				if err != nil {
					t.Fatal(err)
				}
				out += fmt.Sprintf("%d %q = %q @%d\n", db, key, v, ms)
			case TypeHash:
				h, err := tx.Hash([]byte(key))
				if err != nil {
					t.Fatal(err)
				}
				fields := map[string]string{}
				h.Each(func(field, value []byte) bool {
					fields[string(field)] = string(value)
					return true
				})
				if len(fields) != h.Len() {
					t.Fatalf("%q: %d fields, length %d", key, len(fields), h.Len())
				}
				out += fmt.Sprintf("%d %q = hash @%d", db, key, ms)
				for _, f := range slices.Sorted(maps.Keys(fields)) {
					out += fmt.Sprintf(" %q:%q", f, fields[f])
				}
				out += "\n"
			case TypeSet:
				s, err := tx.Set([]byte(key))
				if err != nil {
					t.Fatal(err)
				}
				members := membersOf(s)
				if len(members) != s.Len() || len(slices.Compact(slices.Clone(members))) != s.Len() {
					t.Fatalf("%q: members %q, length %d", key, members, s.Len())
				}
				out += fmt.Sprintf("%d %q = set @%d %q\n", db, key, ms, members)
			case TypeList:
				l, err := tx.List([]byte(key))
				if err != nil {
					t.Fatal(err)
				}
				list := []string{}
				l.Range(0, l.Len(), func(x Element) { list = append(list, string(x.AppendTo(nil))) })
				out += fmt.Sprintf("%d %q = list @%d %q\n", db, key, ms, list)
			case TypeSortedSet:
				out += fmt.Sprintf("%d %q = sorted set @%d%s\n", db, key, ms, sortedSetText(t, tx, key))
			}
		}
		tx.Commit()
		tx.Done()
	}
	return out
}

// membersOf are the members of a set, sorted.
func membersOf(s Set) []string {
	var members []string
	s.Each(func(member []byte) bool {
		members = append(members, string(member))
		return true
	})
	slices.Sort(members)
	return members
}

// sortedSetText prints a sorted set as scoresText does, and holds it to its own
// ranks and scores.
func sortedSetText(t *testing.T, tx *Tx, key string) (text string) {
	z, err := tx.SortedSet([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	rank := 0
	z.Each(func(member []byte, score float64) bool {
		text += fmt.Sprintf(" %q:%v", member, score)
		if r, ok := z.Rank(member); !ok || r != rank {
			t.Fatalf("%q: member %q has rank %d, is at %d", key, member, r, rank)
		}
		if s, ok := z.Score(member); !ok || s != score {
			t.Fatalf("%q: member %q has the score %v, and %v in order", key, member, s, score)
		}
		rank++
		return true
	})
	if rank != z.Len() {
		t.Fatalf("%q: %d members, length %d", key, rank, z.Len())
	}
	return text
}

// world is an engine, its model, and where they are.
type world struct {
	t     *testing.T
	r     *rand.Rand
	clock *fakeClock
	tape  *tape
	e     *Engine
	m     model
}

const worldDatabases = 3

func (w *world) open() {
	w.e = Open(Options{Databases: worldDatabases, Journal: w.tape, Clock: w.clock})
	// Small limits, so that all forms are common.
	w.e.Limits.HashListpackEntries.Store(8)
	w.e.Limits.HashListpackValue.Store(20)
	w.e.Limits.SetIntsetEntries.Store(8)
	w.e.Limits.SortedSetListpackEntries.Store(8)
	w.e.Limits.SortedSetListpackValue.Store(20)
}

// restart replays the tape into a fresh engine.
func (w *world) restart() {
	w.open()
	for _, b := range w.tape.batches {
		r, err := effect.NewReader(b)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.e.Batch(&r); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) key() string { return fmt.Sprintf("k%d", w.r.IntN(12)) }

func (w *world) value() string {
	switch w.r.IntN(4) {
	case 0:
		return fmt.Sprint(w.r.Int64N(1000) - 500)
	case 1:
		return strings.Repeat("x", w.r.IntN(300))
	case 2:
		b := make([]byte, w.r.IntN(40))
		for i := range b {
			b[i] = byte(w.r.Uint32())
		}
		return string(b)
	}
	return "value"
}

func (w *world) deadline() int64 {
	if w.r.IntN(2) == 0 {
		return 0
	}
	return w.clock.ms + 1 + w.r.Int64N(50)
}

// step does one operation on both sides and compares what it says.
func (w *world) step() {
	db := w.r.IntN(worldDatabases)
	key, other := w.key(), w.key()
	tx := w.e.Begin()
	tx.DB = db
	now := w.clock.ms
	v, exists := w.m.get(db, key, now)
	switch op := w.r.IntN(21); op {
	case 0, 1, 2:
		value, ms := w.value(), w.deadline()
		tx.LockKeys([][]byte{[]byte(key)})
		tx.SetString([]byte(key), []byte(value), ms)
		w.m[db][key] = modelValue{text: value, deadlineMs: ms}
	case 3:
		tx.LockKeys([][]byte{[]byte(key)})
		if v.isString() {
			at, value := w.r.IntN(20), w.value()
			if len(value) > 0 {
				tx.SpliceString([]byte(key), at, []byte(value))
				text := []byte(v.text)
				for len(text) < at+len(value) {
					text = append(text, 0)
				}
				copy(text[at:], value)
				w.m[db][key] = modelValue{text: string(text), deadlineMs: v.deadlineMs}
			}
		}
	case 4, 5, 6:
		tx.LockKeys([][]byte{[]byte(key)})
		if exists && v.hash == nil {
			break
		}
		field, value := fmt.Sprint(w.r.IntN(20)), w.value()
		added := tx.HashSet([]byte(key), []byte(field), []byte(value))
		h := maps.Clone(v.hash)
		if h == nil {
			h = map[string]string{}
		}
		if _, there := h[field]; there == added {
			w.t.Fatalf("HashSet %s %s: added %v", key, field, added)
		}
		h[field] = value
		w.m[db][key] = modelValue{hash: h, deadlineMs: v.deadlineMs}
	case 7:
		tx.LockKeys([][]byte{[]byte(key)})
		if !exists || v.hash == nil {
			break
		}
		field := fmt.Sprint(w.r.IntN(20))
		_, there := v.hash[field]
		if got := tx.HashDelete([]byte(key), []byte(field)); got != there {
			w.t.Fatalf("HashDelete %s %s: %v", key, field, got)
		}
		h := maps.Clone(v.hash)
		delete(h, field)
		if w.m[db][key] = (modelValue{hash: h, deadlineMs: v.deadlineMs}); len(h) == 0 {
			delete(w.m[db], key)
		}
	case 8:
		tx.LockKeys([][]byte{[]byte(key)})
		if got := tx.Delete([]byte(key)); got != exists {
			w.t.Fatalf("Delete %s: %v", key, got)
		}
		delete(w.m[db], key)
	case 9:
		ms := w.deadline()
		tx.LockKeys([][]byte{[]byte(key)})
		if got := tx.SetDeadline([]byte(key), ms); got != exists {
			w.t.Fatalf("SetDeadline %s: %v", key, got)
		}
		if exists {
			v.deadlineMs = ms
			w.m[db][key] = v
		}
	case 10:
		w.move(tx, db, key, other, v, exists)
	case 11:
		w.rare(tx, db)
	case 12, 13:
		tx.LockKeys([][]byte{[]byte(key)})
		if !exists || v.scores != nil {
			w.editScores(tx, db, key, v)
		}
	case 18, 19, 20:
		tx.LockKeys([][]byte{[]byte(key)})
		if !exists || v.list != nil {
			w.stepList(tx, db, key, v)
		}
	default:
		tx.LockKeys([][]byte{[]byte(key), []byte(other)})
		if !exists || v.set != nil {
			w.stepSet(tx, db, key, other, v)
		}
	}
	tx.Commit()
	tx.Done()
}

// editScores changes some members of a sorted set, most often in a few, large ones.
func (w *world) editScores(tx *Tx, db int, key string, v modelValue) {
	edit, err := tx.EditSortedSet([]byte(key))
	if err != nil {
		w.t.Fatal(err)
	}
	scores := maps.Clone(v.scores)
	if scores == nil {
		scores = map[string]float64{}
	}
	steps := 1 + w.r.IntN(3)*w.r.IntN(50)
	drain := w.r.IntN(5) == 0
	for range steps {
		member := strings.Repeat("m", w.r.IntN(2)*w.r.IntN(60)) + fmt.Sprint(w.r.IntN(300))
		if !drain && w.r.IntN(4) > 0 {
			score := float64(w.r.IntN(40)) / float64(1+w.r.IntN(2))
			edit.Find([]byte(member))
			edit.Put(score)
			scores[member] = score
			continue
		}
		want, there := scores[member]
		if score, ok := edit.Find([]byte(member)); ok != there || score != want {
			w.t.Fatalf("%s has %s with the score %v, %v", key, member, score, ok)
		} else if ok {
			edit.Take()
		}
		delete(scores, member)
	}
	if n := edit.View().Len(); drain && n > 0 {
		from := w.r.IntN(n)
		to := from + 1 + w.r.IntN(n-from)
		edit.RemoveSpan(from, to, w.r.IntN(2) == 0, func(member []byte, _ float64) { delete(scores, string(member)) })
	}
	edit.Close()
	if w.m[db][key] = (modelValue{scores: scores, deadlineMs: v.deadlineMs}); len(scores) == 0 {
		delete(w.m[db], key)
	}
}

// stepList changes a list now and then so often that it has many blocks.
func (w *world) stepList(tx *Tx, db int, key string, v modelValue) {
	list := v.list
	growth := 1 + w.r.IntN(9)
	for range 1 + w.r.IntN(3)*w.r.IntN(60) {
		var change func(tx *Tx, key []byte)
		change, list = listChange(w.t, w.r, list, growth, 1000)
		change(tx, []byte(key))
		if len(list) == 0 {
			// The key goes with its last element, and its deadline with it.
			delete(w.m[db], key)
			return
		}
	}
	w.m[db][key] = modelValue{list: list, deadlineMs: v.deadlineMs}
}

func (w *world) move(tx *Tx, db int, key, other string, v modelValue, exists bool) {
	target := w.r.IntN(worldDatabases)
	if key == other && target == db {
		return
	}
	tx.LockKeys([][]byte{[]byte(key), []byte(other)})
	rename := w.r.IntN(2) == 0
	f := tx.Copy
	if rename {
		f = tx.Rename
	}
	got, err := f([]byte(key), []byte(other), target)
	if err != nil || got != exists {
		w.t.Fatalf("%s to %s: %v %v", key, other, got, err)
	}
	if exists {
		if rename {
			delete(w.m[db], key)
		}
		w.m[target][other] = v.clone()
	}
}

// member is an integer more often than not, of few or of many.
func (w *world) member() string {
	switch w.r.IntN(8) {
	case 0:
		return w.value()
	case 1, 2:
		return fmt.Sprint(w.r.Int64N(200_000) - 100_000)
	}
	return fmt.Sprint(w.r.IntN(12))
}

// stepSet does one operation on a set, or on what may become one.
func (w *world) stepSet(tx *Tx, db int, key, other string, v modelValue) {
	set := maps.Clone(v.set)
	if set == nil {
		set = map[string]bool{}
	}
	was, name := len(set), []byte(key)
	defer func() {
		if w.m[db][key] = (modelValue{set: set, deadlineMs: v.deadlineMs}); len(set) == 0 {
			delete(w.m[db], key)
		}
	}()
	var members [][]byte
	for range 1 + w.r.IntN(6) {
		members = append(members, []byte(w.member()))
	}
	switch w.r.IntN(8) {
	case 0, 1, 2, 3:
		for _, member := range members {
			set[string(member)] = true
		}
		if added := tx.SetAdd(name, members); added != len(set)-was {
			w.t.Fatalf("SetAdd %s %q: %d", key, members, added)
		}
	case 4, 5:
		for _, member := range members {
			delete(set, string(member))
		}
		if removed := tx.SetRemove(name, members); removed != was-len(set) {
			w.t.Fatalf("SetRemove %s %q: %d", key, members, removed)
		}
	case 6:
		if was == 0 {
			return
		}
		count, popped := 1+w.r.IntN(was+2), 0
		tx.SetPop(name, count, func(member []byte) {
			if !set[string(member)] {
				w.t.Fatalf("SetPop %s: %q is not there", key, member)
			}
			delete(set, string(member))
			popped++
		})
		if popped != min(count, was) {
			w.t.Fatalf("SetPop %s %d of %d: %d", key, count, was, popped)
		}
	case 7:
		result := tx.NewSetResult()
		stored := map[string]bool{}
		for _, member := range members {
			if result.Add(member) == stored[string(member)] {
				w.t.Fatalf("%q was new to a result, or not", member)
			}
			stored[string(member)] = true
		}
		tx.StoreSet([]byte(other), result)
		w.m[db][other] = modelValue{set: stored}
		if other == key {
			set, v.deadlineMs = stored, 0
		}
	}
}

// rare is what happens to whole databases, and time, and restarts.
func (w *world) rare(tx *Tx, db int) {
	switch w.r.IntN(20) {
	case 0:
		tx.LockAll()
		tx.Flush(db)
		w.m[db] = map[string]modelValue{}
	case 1:
		other := w.r.IntN(worldDatabases)
		tx.LockAll()
		tx.Swap(db, other)
		w.m[db], w.m[other] = w.m[other], w.m[db]
	default:
		w.clock.ms += w.r.Int64N(10)
	}
}

func TestMetamorphic(t *testing.T) {
	seeds := []uint64{*seedFlag}
	if *seedFlag == 0 {
		seeds = []uint64{rand.Uint64(), rand.Uint64(), rand.Uint64(), 1, 2, 3}
	}
	for _, seed := range seeds {
		t.Logf("seed %d (repeat with -seed)", seed)
		w := &world{t: t, r: rand.New(rand.NewPCG(seed, 0)), clock: &fakeClock{ms: 1_000_000}, tape: &tape{}, m: newModel(worldDatabases)}
		w.open()
		for i := 0; i < 4000; i++ {
			w.step()
			if i%97 == 0 {
				w.compare(seed, i)
			}
			if i%500 == 499 {
				w.restart()
				w.compare(seed, i)
			}
			if i%50 == 0 {
				w.e.ExpireDue()
			}
		}
	}
}

func (w *world) compare(seed uint64, step int) {
	w.t.Helper()
	if err := w.e.Check(); err != nil {
		w.t.Fatalf("seed %d, step %d: %v", seed, step, err)
	}
	if got, want := contents(w.t, w.e), w.m.String(w.clock.ms); got != want {
		w.t.Fatalf("seed %d, step %d: only the engine has\n%s\nonly the model has\n%s", seed, step, without(got, want), without(want, got))
	}
}

// without is the lines of a that b does not have.
func without(a, b string) string {
	there := map[string]bool{}
	for line := range strings.Lines(b) {
		there[line] = true
	}
	out := ""
	for line := range strings.Lines(a) {
		if !there[line] {
			out += line
		}
	}
	return out
}
