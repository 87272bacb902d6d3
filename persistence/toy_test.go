package persistence

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"reminis/engine/effect"
)

// toy is the plainest state that effects can be applied to: what a store must
// give back. It is a Restorer.
type toy struct {
	mu       sync.Mutex
	keys     map[uint32]map[string]*toyKey
	spaceOf  map[uint32]uint32
	history  map[string][]toyChange // by space and key
	items    map[string][]toyItem   // by space and key
	events   map[string][]toyEvent  // by space and owner
	commands map[string]string      // by space, owner and id
	facets   map[string]string      // by space, owner and name
	seq      uint64
	timeMs   int64
}

type toyKey struct {
	kind       keyKind
	deadlineMs int64
	text       string
	elements   map[string]string // by part and name
	place      string            // of a record: what else its row carries
	list       uint64            // of a record
	first      uint64
}

type toyChange struct {
	put    bool
	text   string
	timeMs int64
	keep   int64
	keepMs int64
	list   uint64
	items  []string // of the list, as it then was
}

type toyItem struct {
	list, number uint64
	text         string
}

type toyEvent struct {
	seq  uint64
	text string
}

func newToy() *toy {
	return &toy{keys: map[uint32]map[string]*toyKey{}, spaceOf: map[uint32]uint32{},
		history: map[string][]toyChange{}, items: map[string][]toyItem{}, events: map[string][]toyEvent{}, commands: map[string]string{}, facets: map[string]string{}}
}

func (s *toy) space(db uint32) uint32 {
	if space, ok := s.spaceOf[db]; ok {
		return space
	}
	return db
}

func (s *toy) db(db uint32) map[string]*toyKey {
	if s.keys[db] == nil {
		s.keys[db] = map[string]*toyKey{}
	}
	return s.keys[db]
}

func (s *toy) owned(db uint32, name []byte) string {
	space := s.space(db)
	if len(name) == 0 {
		space = serverSpace
	}
	return fmt.Sprintf("%d %s", space, name)
}

// apply is the meaning of effects, written as plainly as possible.
func (s *toy) apply(e *effect.Effect, seq uint64, timeMs int64, restoring bool) {
	keys, key := s.db(e.DB), string(e.Key)
	k := keys[key]
	switch e.Kind {
	case effect.KeyDelete:
		delete(keys, key)
	case effect.DeadlineSet:
		if k != nil {
			k.deadlineMs = e.DeadlineMs
		}
	case effect.StringSet:
		keys[key] = &toyKey{kind: keyString, deadlineMs: e.DeadlineMs, text: string(e.Value)}
	case effect.StringSplice:
		if k == nil {
			k = &toyKey{kind: keyString}
			keys[key] = k
		}
		end := int(e.Number) + len(e.Value)
		text := []byte(k.text)
		for len(text) < end {
			text = append(text, 0)
		}
		copy(text[e.Number:], e.Value)
		k.text = string(text)
	case effect.HashSet:
		s.element(keys, e, keyHash, "field", string(e.Value))
	case effect.SetAdd:
		s.element(keys, e, keySet, "member", "")
	case effect.ScoreSet:
		s.element(keys, e, keySortedSet, "score", fmt.Sprint(e.Number))
	case effect.StreamSet:
		s.element(keys, e, keyStream, "facet", string(e.Value))
	case effect.ListSplice:
		s.splice(keys, e, keyList, "block")
	case effect.StreamSplice:
		s.splice(keys, e, keyStream, "entry")
	case effect.HashDelete, effect.SetRemove, effect.ScoreRemove, effect.ListDrop, effect.StreamUnset, effect.StreamDrop:
		if k != nil {
			delete(k.elements, toyParts[e.Kind]+string(e.Field))
		}
	case effect.KeyRename, effect.KeyCopy:
		if k == nil {
			return
		}
		copied := *k
		copied.elements = maps.Clone(k.elements)
		if e.Kind == effect.KeyRename {
			delete(keys, key)
		}
		s.db(uint32(e.Number))[string(e.Field)] = &copied
	case effect.DBFlush:
		delete(s.keys, e.DB)
	case effect.DBSwap:
		other := uint32(e.Number)
		s.keys[e.DB], s.keys[other] = s.db(other), s.db(e.DB)
		s.spaceOf[e.DB], s.spaceOf[other] = s.space(other), s.space(e.DB)
	case effect.RecordPut, effect.RecordAppend:
		keys[key] = &toyKey{kind: keyRecord, deadlineMs: e.DeadlineMs, text: string(e.Value), list: e.List, first: e.First,
			place: fmt.Sprintf("version %d keep %d for %d owner %s seq %d time %d", e.Number, e.Count, e.KeepMs, e.Owner(), seq, timeMs)}
		s.change(e, seq, timeMs, restoring)
	case effect.ItemPut:
		name := s.owned(e.DB, e.Key)
		s.items[name] = append(s.items[name], toyItem{e.List, uint64(e.Number), string(e.Value)})
		if list := s.history[name]; !restoring {
			list[len(list)-1].items = s.itemsOf(name, e.List, k.first)
		}
	case effect.RecordForget:
		delete(keys, key)
		s.change(e, seq, timeMs, restoring)
	case effect.RecordDeadline:
		if k != nil {
			k.deadlineMs = e.DeadlineMs
		}
		s.change(e, seq, timeMs, restoring)
	case effect.EventAppend:
		s.event(e.DB, e.Key, e.Event, seq, timeMs)
	case effect.FacetSet:
		name := s.owned(e.DB, e.Key) + " " + string(e.Field)
		delete(s.facets, name)
		if len(e.Value) > 0 {
			s.facets[name] = string(e.Value)
		}
		if len(e.Event) > 0 {
			s.event(e.DB, e.Key, e.Event, seq, timeMs)
		}
	case effect.CommandDone:
		s.commands[s.owned(e.DB, e.Key)+string(e.Field)] = fmt.Sprintf("%s %d seq %d time %d", e.Value, e.Number, seq, timeMs)
	}
}

// toyParts are the parts that effects remove something of.
var toyParts = map[effect.Kind]string{
	effect.HashDelete: "field", effect.SetRemove: "member", effect.ScoreRemove: "score",
	effect.ListDrop: "block", effect.StreamUnset: "facet", effect.StreamDrop: "entry",
}

func (s *toy) element(keys map[string]*toyKey, e *effect.Effect, kind keyKind, part, value string) {
	k := keys[string(e.Key)]
	if k == nil || k.kind != kind {
		k = &toyKey{kind: kind, elements: map[string]string{}}
		keys[string(e.Key)] = k
	}
	k.elements[part+string(e.Field)] = value
}

func (s *toy) splice(keys map[string]*toyKey, e *effect.Effect, kind keyKind, part string) {
	old := ""
	if k := keys[string(e.Key)]; k != nil && k.kind == kind {
		old = k.elements[part+string(e.Field)]
	}
	s.element(keys, e, kind, part, old[:e.Number]+string(e.Value)+old[e.Number+e.Count:])
}

func (s *toy) change(e *effect.Effect, seq uint64, timeMs int64, restoring bool) {
	if restoring {
		return
	}
	name := s.owned(e.DB, e.Key)
	s.history[name] = append(s.history[name], toyChange{put: e.Kind.MakesVersion(), text: changeText(e, seq, timeMs),
		timeMs: timeMs, keep: e.Count, keepMs: e.KeepMs, list: e.List, items: s.itemsOf(name, e.List, e.First)})
	if len(e.Event) > 0 {
		s.event(e.DB, e.Owner(), e.Event, seq, timeMs)
	}
}

// itemsOf are the items of a list from a number on.
func (s *toy) itemsOf(name string, list, first uint64) (texts []string) {
	for _, it := range s.items[name] {
		if it.list == list && it.number >= first {
			texts = append(texts, fmt.Sprintf("%d %s", it.number, it.text))
		}
	}
	return texts
}

// mayMiss says whether the first n changes of a record may be gone at a time.
func mayMiss(list []toyChange, n int, nowMs int64) bool {
	puts := 0
	newest := toyChange{}
	for _, c := range list[n:] {
		if c.put {
			puts++
			newest = c
		}
	}
	return n == 0 || list[n].put && int64(puts) >= max(newest.keep, 1) && list[n].timeMs <= nowMs-newest.keepMs
}

// mustMiss says whether more than the first n changes of a record must be gone.
func mustMiss(list []toyChange, n int) bool {
	puts := 0
	newest := toyChange{}
	for _, c := range list[n:] {
		if c.put {
			puts++
			newest = c
		}
	}
	return newest.keepMs == 0 && puts > int(max(newest.keep, 1))
}

func changeText(e *effect.Effect, seq uint64, timeMs int64) string {
	return fmt.Sprintf("%d %d kind %d version %d deadline %d count %d for %d list %d from %d owner %d %s", seq, timeMs, e.Kind, e.Number, e.DeadlineMs, e.Count, e.KeepMs, e.List, e.First, e.OwnerLen, e.Value)
}

func (s *toy) event(db uint32, owner, event []byte, seq uint64, timeMs int64) {
	name := s.owned(db, owner)
	s.events[name] = append(s.events[name], toyEvent{seq, fmt.Sprintf("%d %d %s", seq, timeMs, event)})
}

// The Restorer.

func (s *toy) Spaces(spaceOf []uint32) {
	for db, space := range spaceOf {
		s.spaceOf[uint32(db)] = space
	}
}

func (s *toy) Row(e *effect.Effect, seq uint64, timeMs int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply(e, seq, timeMs, true)
	return nil
}

func (s *toy) Batch(r *effect.Reader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seq != 0 && r.Seq != s.seq+1 {
		return fmt.Errorf("batch %d after %d", r.Seq, s.seq)
	}
	s.seq, s.timeMs = r.Seq, r.TimeMs
	for e := (effect.Effect{}); ; {
		ok, err := r.Next(&e)
		if err != nil || !ok {
			return err
		}
		s.apply(&e, r.Seq, r.TimeMs, false)
	}
}

// keysText shows every key; two states are equal when it is.
func (s *toy) keysText() string {
	var out strings.Builder
	for _, db := range slices.Sorted(maps.Keys(s.keys)) {
		for _, key := range slices.Sorted(maps.Keys(s.keys[db])) {
			k := s.keys[db][key]
			fmt.Fprintf(&out, "%d %q kind %d deadline %d %s %q", db, key, k.kind, k.deadlineMs, k.place, k.text)
			for _, field := range slices.Sorted(maps.Keys(k.elements)) {
				fmt.Fprintf(&out, " %q=%q", field, k.elements[field])
			}
			if k.list != 0 {
				fmt.Fprintf(&out, " list %d %q", k.list, s.itemsOf(s.owned(db, []byte(key)), k.list, k.first))
			}
			out.WriteByte('\n')
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.commands)) {
		fmt.Fprintf(&out, "command %q %s\n", name, s.commands[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.facets)) {
		fmt.Fprintf(&out, "facet %q %q\n", name, s.facets[name])
	}
	return out.String()
}

// headsText shows the last event of each owner.
func (s *toy) headsText() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.events)) {
		list := s.events[name]
		fmt.Fprintf(&out, "%q %s\n", name, list[len(list)-1].text)
	}
	return out.String()
}

// toyWorld makes random batches that the engine could make, and applies them.
type toyWorld struct {
	rng *rand.Rand
	*toy
	lists uint64 // that were begun
}

func (w *toyWorld) pick(format string, n int) []byte { return fmt.Appendf(nil, format, w.rng.IntN(n)) }

func (w *toyWorld) key() []byte {
	switch w.rng.IntN(12) {
	case 0:
		return []byte{}
	case 1:
		return []byte("k\x00" + string(w.pick("%d", 3)))
	case 2:
		return append([]byte("key:0000000"), make([]byte, w.rng.IntN(10))...)
	}
	return w.pick("key:%012d", 25)
}

func (w *toyWorld) value() []byte {
	size := w.rng.IntN(40)
	if w.rng.IntN(30) == 0 {
		size = w.rng.IntN(3000)
	}
	value := make([]byte, size)
	for i := range value {
		value[i] = byte('a' + w.rng.IntN(26))
	}
	return value
}

func (w *toyWorld) deadline() int64 {
	if w.rng.IntN(3) == 0 {
		return int64(1000 + w.rng.IntN(1000))
	}
	return 0
}

// batch fills b with one to six random effects and applies them to the toy, as
// batch seq at timeMs.
func (w *toyWorld) batch(b *effect.Batch, seq uint64, timeMs int64) {
	b.Reset()
	b.TimeMs = timeMs
	b.Durable = w.rng.IntN(4) == 0
	b.Actor = w.pick("user%d", 3)
	emit := func(e effect.Effect) {
		w.apply(&e, seq, timeMs, false)
		b.Add(&e)
	}
	for range 1 + w.rng.IntN(6) {
		w.effect(emit)
	}
	w.seq, w.timeMs = seq, timeMs
}

func (w *toyWorld) effect(emit func(effect.Effect)) {
	db, key := uint32(w.rng.IntN(3)), w.key()
	k := w.db(db)[string(key)]
	switch n := w.rng.IntN(100); {
	case n < 20:
		emit(effect.Effect{Kind: effect.StringSet, DB: db, Key: key, Value: w.value(), DeadlineMs: w.deadline()})
	case n < 45:
		w.grow(emit, db, key, k)
	case n < 50:
		if k != nil && k.kind.isCollection() {
			names := slices.Sorted(maps.Keys(k.elements))
			name := names[w.rng.IntN(len(names))]
			for kind, part := range toyParts {
				if field, ok := strings.CutPrefix(name, part); ok {
					emit(effect.Effect{Kind: kind, DB: db, Key: key, Field: []byte(field)})
				}
			}
			if len(k.elements) == 0 {
				emit(effect.Effect{Kind: effect.KeyDelete, DB: db, Key: key})
			}
		}
	case n < 55:
		if k == nil || k.kind == keyString {
			emit(effect.Effect{Kind: effect.StringSplice, DB: db, Key: key, Number: int64(w.rng.IntN(60)), Value: w.value()})
		}
	case n < 61:
		emit(effect.Effect{Kind: effect.KeyDelete, DB: db, Key: key, Number: int64(w.rng.IntN(3))})
	case n < 66:
		if k == nil || k.kind != keyRecord {
			emit(effect.Effect{Kind: effect.DeadlineSet, DB: db, Key: key, DeadlineMs: w.deadline()})
		}
	case n < 75:
		w.move(emit, db, key, k)
	case n < 76:
		emit(effect.Effect{Kind: effect.DBFlush, DB: db})
	case n < 78:
		emit(effect.Effect{Kind: effect.DBSwap, DB: db, Number: int64(w.rng.IntN(3))})
	default:
		w.record(emit, db)
	}
}

// grow changes elements of the collection that key is, or else becomes.
func (w *toyWorld) grow(emit func(effect.Effect), db uint32, key []byte, k *toyKey) {
	kind := []keyKind{keyHash, keyHash, keySet, keySortedSet, keyList, keyStream}[w.rng.IntN(6)]
	if k != nil && k.kind.isCollection() {
		kind = k.kind
	} else if k != nil {
		emit(effect.Effect{Kind: effect.KeyDelete, DB: db, Key: key, Number: int64(effect.Overwritten)})
	}
	for range 1 + w.rng.IntN(4) {
		e := effect.Effect{DB: db, Key: key, Field: w.pick("field%d", 12)}
		switch kind {
		case keyHash:
			e.Kind, e.Value = effect.HashSet, w.value()
		case keySet:
			e.Kind = effect.SetAdd
		case keySortedSet:
			e.Kind, e.Number = effect.ScoreSet, int64(w.rng.Uint64())
		case keyList:
			w.splice(&e, effect.ListSplice, "block")
		case keyStream:
			if e.Kind, e.Value = effect.StreamSet, w.value(); w.rng.IntN(2) == 0 {
				w.splice(&e, effect.StreamSplice, "entry")
			}
		}
		emit(e)
	}
}

// splice makes e replace some bytes of its element, often appending.
func (w *toyWorld) splice(e *effect.Effect, kind effect.Kind, part string) {
	old := ""
	if k := w.db(e.DB)[string(e.Key)]; k != nil {
		old = k.elements[part+string(e.Field)]
	}
	e.Kind, e.Value, e.Number = kind, w.value(), int64(len(old))
	if w.rng.IntN(2) == 0 {
		e.Number = int64(w.rng.IntN(len(old) + 1))
		e.Count = int64(w.rng.IntN(len(old) - int(e.Number) + 1))
	}
}

func (w *toyWorld) move(emit func(effect.Effect), db uint32, key []byte, k *toyKey) {
	target, to := uint32(w.rng.IntN(3)), w.key()
	if k == nil || k.kind == keyRecord || target == db && string(to) == string(key) {
		return
	}
	if w.db(target)[string(to)] != nil {
		emit(effect.Effect{Kind: effect.KeyDelete, DB: target, Key: to, Number: int64(effect.Overwritten)})
	}
	kind := effect.KeyRename
	if w.rng.IntN(2) == 0 {
		kind = effect.KeyCopy
	}
	emit(effect.Effect{Kind: kind, DB: db, Key: key, Field: to, Number: int64(target)})
}

func (w *toyWorld) record(emit func(effect.Effect), db uint32) {
	owner := w.pick("app:user%d", 4)
	n := w.rng.IntN(5)
	key := fmt.Appendf(nil, "%s:name%d", owner, n)
	k := w.db(db)[string(key)]
	event := w.value()
	switch w.rng.IntN(13) {
	case 9, 10, 11, 12:
		w.append(emit, db, owner, key, k, n)
	case 5:
		facet := effect.Effect{Kind: effect.FacetSet, DB: db, Key: owner, Field: w.pick("facet%d", 4)}
		if w.rng.IntN(2) == 0 {
			facet.DB, facet.Key = 0, nil
		}
		if w.rng.IntN(3) > 0 {
			facet.Value = append(w.value(), '!')
		}
		if w.rng.IntN(2) == 0 {
			facet.Event = append(event, '!')
		}
		emit(facet)
	case 0:
		emit(effect.Effect{Kind: effect.EventAppend, DB: db, Key: owner, Event: append(event, '!')})
	case 1:
		emit(effect.Effect{Kind: effect.EventAppend, Event: append(event, '!')})
	case 2:
		emit(effect.Effect{Kind: effect.CommandDone, DB: db, Key: owner, Field: w.pick("id%d", 1000), Value: w.pick("payload%d", 9), Number: int64(w.rng.IntN(9))})
	case 3:
		if k != nil {
			emit(effect.Effect{Kind: effect.RecordForget, DB: db, Key: key, OwnerLen: len(owner), Number: 1, Event: event})
		}
	case 4:
		if k != nil {
			emit(effect.Effect{Kind: effect.RecordDeadline, DB: db, Key: key, OwnerLen: len(owner), DeadlineMs: w.deadline(), Event: event})
		}
	default:
		emit(effect.Effect{Kind: effect.RecordPut, DB: db, Key: key, OwnerLen: len(owner), Value: w.value(), Event: event,
			Number: int64(w.rng.IntN(100)), DeadlineMs: w.deadline(), Count: int64(1 + n*2), KeepMs: int64(n%2) * 30})
	}
}

// append appends to a list, or begins one, and trims it now and then.
func (w *toyWorld) append(emit func(effect.Effect), db uint32, owner, key []byte, k *toyKey, n int) {
	x := effect.Effect{Kind: effect.RecordAppend, DB: db, Key: key, OwnerLen: len(owner), Value: w.value(), Event: w.value(),
		Number: int64(w.rng.IntN(100)), DeadlineMs: w.deadline(), Count: int64(1 + n*2), KeepMs: int64(n%2) * 30}
	next := uint64(1)
	if k != nil && k.list != 0 && w.rng.IntN(8) > 0 {
		x.List, x.First = k.list, k.first
		next += k.first + uint64(len(w.itemsOf(w.owned(db, key), k.list, k.first))) - 1
	} else {
		w.lists++
		x.List, x.First = w.lists, 1
	}
	added := uint64(1 + w.rng.IntN(3))
	if w.rng.IntN(2) == 0 {
		x.First = max(x.First, next+added-min(4, next+added-1))
	}
	emit(x)
	for number := max(next, x.First); number < next+added; number++ {
		emit(effect.Effect{Kind: effect.ItemPut, DB: db, Key: key, OwnerLen: len(owner), List: x.List, Number: int64(number), Value: append(w.value(), '!')})
	}
}
