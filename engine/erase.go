package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns erasing: what belongs to an owner, or to a scope of one, is
// destroyed in memory, in batches and, through the Eraser, in every file. It must
// not know files.
//
// An owner's key goes first: from then on nothing that was kept of it can be
// read, whatever happens next, and a recovery that finds the key destroyed ends
// the erasure (FinishErasures). Then one batch ends what memory has, and gives
// the owner, whose chain goes on, another key; then the files follow. A scope
// inside an owner leaves the key: what it erases is named record by record.

// Eraser is what erasing asks of whoever keeps batches.
type Eraser interface {
	// Purge returns once no file holds what batches up to seq have erased.
	Purge(seq uint64) error
}

// Erased counts what was destroyed. Receipt binds the owners, the batches and
// times of their erasures, and what their chains were.
type Erased struct {
	Records, History, Events, Vectors, IDs int64
	Receipt                                [32]byte
}

// Erasure is what an erasure means to whoever has copies of events: those of the
// owner in batches before Before say no more than that they were, where they are
// about a record in Scope, or whatever they are about when it covers the owner.
type Erasure struct {
	Space  uint32
	Owner  string
	Scope  memory.Scope
	Before uint64
}

// OnErase has hear called for each owner that something is erased of, also when
// nothing was left to be, before the erasure is told to be done. It may take long.
// It is set before anything is written.
func (e *Engine) OnErase(hear func(x Erasure)) { e.onErase = hear }

// surveyMax is how often what is to be erased is looked up without locks; after
// that, writers wait.
const surveyMax = 3

// Erase destroys what the owners have in the scope; event carries who and why.
// The transaction holds no locks: each owner is one batch. When it returns nil no
// file holds any of it. After an error it may be repeated.
func (tx *Tx) Erase(scope memory.Scope, owners []string, event *memory.Event) (Erased, error) {
	tx.AuditReads() // what was read before is told before
	total := Erased{Receipt: sha256.Sum256(append([]byte("reminis erase\x00"), scope.Text()...))}
	last := uint64(0)
	for _, name := range owners {
		owner := tx.e.owners.find(tx.e.owners.space(tx.DB), []byte(name))
		if owner == nil {
			continue
		}
		before := tx.LastSeq() + 1
		head, timeMs, err := tx.eraseIn(owner, scope, event, &total)
		if err != nil {
			return total, err
		}
		if tx.seq > last {
			last = tx.seq
			before = last
			total.Receipt = receipt(total.Receipt, name, last, timeMs, head)
		}
		if tx.e.onErase != nil {
			tx.e.onErase(Erasure{owner.space, name, scope, before})
		}
	}
	if last == 0 || tx.e.eraser == nil {
		return total, nil
	}
	if err := tx.e.eraser.Purge(last); err != nil {
		return total, errPurge(err)
	}
	return total, nil
}

func receipt(before [32]byte, owner string, seq uint64, timeMs int64, head memory.Link) [32]byte {
	text := append(before[:], owner...)
	text = binary.BigEndian.AppendUint64(append(text, 0), seq)
	text = binary.BigEndian.AppendUint64(text, uint64(timeMs))
	return sha256.Sum256(append(text, head[:]...))
}

// eraseIn erases a scope of one owner in one batch, at timeMs; head is the
// chain's before.
func (tx *Tx) eraseIn(owner *Owner, scope memory.Scope, event *memory.Event, total *Erased) (head memory.Link, timeMs int64, err error) {
	whole := scope.Covers([]byte(owner.name))
	for try := 1; ; try++ {
		if try > surveyMax {
			tx.LockAll()
		}
		s, err := tx.survey(owner, scope)
		if err == nil && whole {
			err = tx.destroyKey(owner, s.view)
		}
		if err != nil {
			tx.Commit()
			return head, 0, err
		}
		tx.LockAll()
		tx.own(owner)
		if !s.current(owner, whole) {
			tx.Commit()
			continue
		}
		s.addWorking(owner, scope)
		head = owner.link
		if whole {
			tx.emit(&effect.Effect{Kind: effect.Erase, DB: uint32(tx.DB), Key: []byte(owner.name), OwnerLen: len(owner.name)})
		} else {
			tx.emitParts(owner, s)
		}
		if whole || len(s.parts) > 0 {
			erased := *event
			erased.Op = memory.OpErase
			tx.AppendEvent([]byte(owner.name), &erased)
			tx.Durable()
			timeMs = erased.TimeMs
		}
		tx.Commit()
		tx.noteErased(owner, s.Records)
		total.add(&s.Erased)
		return head, timeMs, nil
	}
}

func (e *Erased) add(more *Erased) {
	e.Records += more.Records
	e.History += more.History
	e.Events += more.Events
	e.Vectors += more.Vectors
	e.IDs += more.IDs
}

// destroyKey destroys the key that a view was made with.
func (tx *Tx) destroyKey(owner *Owner, view *OwnerView) error {
	if view.keyNumber == 0 {
		return nil
	}
	if err := tx.e.owners.options.Keys.Destroy(view.keyNumber); err != nil {
		return errDestroy(err)
	}
	return nil
}

// emitParts emits the end of records of an owner whose key stays, and of what is
// about them.
func (tx *Tx) emitParts(owner *Owner, s *survey) {
	names := make([]string, 0, len(s.parts))
	for name := range s.parts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		tx.emit(&effect.Effect{Kind: effect.Erase, DB: uint32(tx.DB), Key: []byte(name), OwnerLen: len(owner.name), Value: s.parts[name]})
	}
	if len(names) == 0 {
		return
	}
	tx.keyed(tx.DB, owner)
	facets := owner.facets.Copy()
	facets.Scan(func(facet string, _ []byte) bool {
		if concerns(facet, s.parts) {
			tx.emit(&effect.Effect{Kind: effect.FacetSet, DB: uint32(tx.DB), Key: []byte(owner.name), Field: []byte(facet)})
		}
		return true
	})
	for id := range s.ids {
		tx.emit(&effect.Effect{Kind: effect.CommandDone, DB: uint32(tx.DB), Key: []byte(owner.name), Field: id[:]})
	}
}

// concerns says whether a facet's name has one of the keys as a part of it:
// "what/key", or parts between zero bytes (links.go).
func concerns(facet string, keys map[string][]byte) bool {
	_, names, _ := strings.Cut(facet, "/")
	for part := range strings.SplitSeq(names, "\x00") {
		if _, ok := keys[part]; ok {
			return true
		}
	}
	return false
}

// survey is what a view of an owner has in a scope.
type survey struct {
	Erased
	view  *OwnerView
	parts map[string][]byte // by record: the names of the events about it
	ids   map[memory.IDDigest]struct{}
}

// survey looks up what there is to erase.
func (tx *Tx) survey(owner *Owner, scope memory.Scope) (*survey, error) {
	s := &survey{view: tx.viewOf(owner).Standing(), parts: map[string][]byte{}, ids: map[memory.IDDigest]struct{}{}}
	if owner.destroyed {
		return s, nil // by a process that ended then: nothing can be read
	}
	note := func(key []byte) {
		if scope.Contains(key) {
			s.parts[string(key)] = nil
		}
	}
	s.view.Ascend(nil, func(r Stored, _ uint64) bool {
		if note(r.Key); scope.Contains(r.Key) {
			s.count(r)
		}
		return true
	})
	for i := range s.view.pending {
		note(s.view.pending[i].key())
	}
	if tx.e.archive != nil {
		if err := tx.e.archive.Names(owner.space, []byte(owner.name), note); err != nil {
			return nil, err
		}
	}
	for key := range s.parts {
		err := s.view.History([]byte(key), 0, ^uint64(0), false, func(Change) bool {
			s.History++
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return s, s.surveyEvents(scope, scope.Covers([]byte(owner.name)))
}

func (s *survey) count(r Stored) {
	s.Records++
	var record memory.Record
	if memory.Decode(r.Bytes, &record) == nil && len(record.Vector) > 0 {
		s.Vectors++
	}
	s.view.Facets(vectorPrefix(r.Key), func(string, []byte) bool {
		s.Vectors++
		return true
	})
}

// surveyEvents finds the events about records in the scope, and their ids.
func (s *survey) surveyEvents(scope memory.Scope, whole bool) error {
	return s.view.Events(0, ^uint64(0), false, func(_ uint64, stored []byte) bool {
		var e memory.Event
		_, encoded, err := memory.SplitLinked(stored)
		if err != nil || memory.DecodeEvent(encoded, &e) != nil || e.Erased || !whole && !scope.Contains(e.Key) {
			return true // what is damaged goes with its key, or names no record
		}
		s.Events++
		if len(e.CommandID) > 0 {
			s.ids[memory.DigestID([]byte(s.view.Name), e.CommandID)] = struct{}{}
		}
		if !whole {
			key := string(e.Key)
			s.parts[key] = append(s.parts[key], effect.EventName(stored)...)
		}
		return true
	})
}

// current says whether the owner, which is locked, is still as surveyed, but for
// records that are kept in memory only; and counts the ids of a whole owner.
func (s *survey) current(owner *Owner, whole bool) bool {
	if whole && owner.keyNumber != s.view.keyNumber {
		return false
	}
	if n := len(owner.pending); n > 0 && owner.pending[n-1].seq > s.view.Seq {
		return false
	}
	if s.IDs = int64(len(s.ids)); whole {
		s.IDs = int64(owner.ids.Live())
	}
	return true
}

// addWorking adds the records that came since the survey.
func (s *survey) addWorking(owner *Owner, scope memory.Scope) {
	owner.records.Scan(func(it item) bool {
		if _, known := s.parts[string(it.key())]; !known && scope.Contains(it.key()) {
			s.parts[string(it.key())] = nil
			s.count(owner.stored(it))
		}
		return true
	})
}

// FinishErasures erases the owners whose key a recovery found destroyed: the
// process ended before they were gone. It returns how many there were.
func (e *Engine) FinishErasures() (owners int, err error) {
	tx := e.Begin()
	defer tx.Done()
	for db := range e.nDB {
		tx.DB = db
		for _, owner := range e.owners.under(e.owners.space(db), "") {
			if !owner.destroyed {
				continue
			}
			scope, err := e.Layout().ParseScope([]byte(owner.name))
			if err != nil {
				return owners, err
			}
			event := memory.Event{Reason: []byte("finished after a restart")}
			if _, err := tx.Erase(scope, []string{owner.name}, &event); err != nil {
				return owners, err
			}
			owners++
		}
	}
	return owners, nil
}

// The apply side.

func (tx *Tx) applyErase(db int, x *effect.Effect) {
	owner := tx.owner(db, x.Owner())
	if len(x.Key) > x.OwnerLen {
		owner.eraseRecord(tx, db, x)
	} else {
		owner.erase(tx, db)
	}
	owner.erasing = append(owner.erasing, string(x.Key))
	owner.remember(tx, &effect.Effect{Kind: x.Kind}, nil)
}

// erase empties an owner: what is left is its chain of heads and that its
// commands were done.
func (o *Owner) erase(tx *Tx, db int) {
	records := o.records.Copy()
	records.Scan(func(it item) bool {
		tx.applyKeyDelete(db, it.key())
		return true
	})
	o.clear()
	o.facets, o.keptVectors, o.unplaced = facetMap{}, 0, nil
	o.consent = memory.Consent{}
	o.ids.Erase()
	o.setKey(0, memory.OwnerKey{}, true)
	o.keyKept = false
	o.erasePending(tx, func(*change) bool { return true })
}

// eraseRecord ends one record and all that is said of it.
func (o *Owner) eraseRecord(tx *Tx, db int, x *effect.Effect) {
	key := slices.Clone(x.Key)
	if old, ok := o.records.Delete(tx.pivotOf(key)); ok {
		o.drop(old)
		if old.isList() {
			o.endItems(key, ^uint64(0))
		}
	}
	o.columns = &columnPlace{} // they have values of what is gone
	tx.applyKeyDelete(db, key)
	names := map[string]struct{}{}
	for name := range slices.Chunk(x.Value, effect.EventNameBytes) {
		names[string(name)] = struct{}{}
	}
	o.erasePending(tx, func(c *change) bool {
		if string(c.key()) == string(key) {
			return true
		}
		_, named := names[string(effect.EventName(c.event()))]
		return named
	})
}

// erasePending leaves of the changes that are gone the heads of their events.
// Views keep what they have.
func (o *Owner) erasePending(tx *Tx, gone func(c *change) bool) {
	if !slices.ContainsFunc(o.pending, func(c change) bool { return gone(&c) }) {
		return
	}
	kept := make([]change, 0, len(o.pending))
	for i := range o.pending {
		c := o.pending[i]
		if gone(&c) {
			event := c.event()
			if event == nil {
				continue
			}
			head, err := memory.EraseEvent(nil, event)
			if err != nil {
				panic("engine: an event that is kept does not decode: " + err.Error())
			}
			c = newChange(&effect.Effect{Kind: effect.EventAppend, Event: head}, nil).at(c.seq, c.timeMs)
		}
		kept = append(kept, c)
	}
	tx.e.owners.pendingBytes.Add(sizeOf(kept) - sizeOf(o.pending))
	o.pending = kept
}

// erasures says up to which batch what was said of a record is erased though the
// archive may still have it; the owner's name is everything. It never changes.
type erasures map[string]uint64

// with adds names that batch seq erased.
func (e erasures) with(names []string, seq uint64) erasures {
	next := erasures{}
	for name, at := range e {
		next[name] = at
	}
	for _, name := range names {
		next[name] = seq
	}
	return next
}

// after leaves out what the archive has erased itself.
func (e erasures) after(seq uint64) erasures {
	if len(e) == 0 {
		return nil
	}
	next := erasures{}
	for name, at := range e {
		if at > seq {
			next[name] = at
		}
	}
	return next
}

// erasedUpTo is the last batch up to which what was said of a record is erased.
func (v *OwnerView) erasedUpTo(key []byte) uint64 {
	if len(v.erased) == 0 {
		return 0
	}
	return max(v.erased[v.Name], v.erased[string(key)])
}

// erasesEvent says whether an event of the archive has lost its body.
func (v *OwnerView) erasesEvent(seq uint64, opened []byte) bool {
	if len(v.erased) == 0 {
		return false
	}
	var e memory.Event
	_, encoded, err := memory.SplitLinked(opened)
	return err == nil && memory.DecodeEvent(encoded, &e) == nil && seq <= v.erasedUpTo(e.Key)
}
