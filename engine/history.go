package engine

import (
	"reminis/engine/effect"
	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns reading the past and consistent views of an owner: what is
// still in memory joined to what the archive holds. It must not know files.

// Archive holds history and events up to the last checkpoint. Its methods may
// be slow: they are never called with a lock held.
type Archive interface {
	// History visits the changes of a record with fromSeq <= seq <= toSeq, in
	// order or in reverse, until visit returns false.
	History(space uint32, key []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, x *effect.Effect) bool) error
	// Events does the same with the events of an owner.
	Events(space uint32, owner []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, event []byte) bool) error
}

// Checkpointed says that the archive holds everything up to seq.
func (e *Engine) Checkpointed(seq uint64) {
	e.owners.mu.Lock()
	list := make([]*Owner, 0, len(e.owners.unarchived))
	for owner := range e.owners.unarchived {
		list = append(list, owner)
	}
	e.owners.mu.Unlock()
	for _, owner := range list {
		owner.mu.Lock()
		n := 0
		for n < len(owner.pending) && owner.pending[n].seq <= seq && owner.pending[n].seq != 0 {
			n++
		}
		if n > 0 {
			owner.dropped = max(owner.dropped, owner.pending[n-1].seq)
			owner.pending = append([]change(nil), owner.pending[n:]...)
		}
		if len(owner.pending) == 0 {
			e.owners.mu.Lock()
			delete(e.owners.unarchived, owner)
			e.owners.mu.Unlock()
		}
		owner.mu.Unlock()
	}
}

// OwnerView is an owner at one moment. It needs no lock and never changes.
type OwnerView struct {
	Name string
	// Seq is the last batch that the view contains of this owner, as far as it
	// is still in memory.
	Seq uint64
	// Head ends the owner's audit chain.
	Head memory.Link

	space   uint32
	records interface {
		Ascend(pivot item, iter func(item) bool)
		Get(key item) (item, bool)
		Len() int
	}
	index   *recall.View
	pending []change
	dropped uint64
	lost    bool
	lastSeq uint64
	archive Archive
}

// OwnerView is a view of the owner with this name in the transaction's
// database; ok is false when there never was such an owner. Its reply must wait
// for the transaction's GateSeq.
func (tx *Tx) OwnerView(name []byte) (view *OwnerView, ok bool) {
	owner := tx.e.owners.find(tx.e.owners.space(tx.DB), name)
	if owner == nil {
		return nil, false
	}
	return tx.viewOf(owner), true
}

// ServerView is a view of the server's own chain.
func (tx *Tx) ServerView() *OwnerView {
	return tx.viewOf(tx.e.owners.ensure(serverSpace, nil))
}

// OwnersUnder lists the names of the owners of the transaction's database that
// begin with prefix, ascending.
func (tx *Tx) OwnersUnder(prefix []byte) []string {
	list := tx.e.owners.under(tx.e.owners.space(tx.DB), string(prefix))
	names := make([]string, len(list))
	for i, owner := range list {
		names[i] = owner.name
	}
	return names
}

func (tx *Tx) viewOf(owner *Owner) *OwnerView {
	held := false
	for _, o := range tx.owned {
		held = held || o == owner
	}
	if !held {
		owner.mu.Lock()
		defer owner.mu.Unlock()
	}
	tx.gateSeq = max(tx.gateSeq, owner.gateSeq)
	v := &OwnerView{
		Name: owner.name, Head: owner.link, space: owner.space, records: owner.records.Copy(), index: owner.index.View(),
		pending: owner.pending[:len(owner.pending):len(owner.pending)], dropped: owner.dropped, lost: owner.lost,
		lastSeq: owner.lastSeq, archive: tx.e.archive,
	}
	v.Seq = owner.lastSeq
	if n := len(owner.pending); n > 0 {
		v.Seq = max(v.Seq, owner.pending[n-1].seq)
	}
	return v
}

// Len is the number of records, expired ones not yet removed included.
func (v *OwnerView) Len() int { return v.records.Len() }

// Index finds records by their text; a Doc is found again with ByDoc.
func (v *OwnerView) Index() *recall.View { return v.index }

// Get is the record key as the view has it.
func (v *OwnerView) Get(key []byte) (Stored, bool) {
	it, ok := v.records.Get(newItem(key, 0, 0, nil))
	if !ok {
		return Stored{}, false
	}
	return stored(it), true
}

// Ascend visits the records from key on, in order of key, until visit returns
// false. doc is the record's number in Index.
func (v *OwnerView) Ascend(from []byte, visit func(r Stored, doc uint64) bool) {
	v.records.Ascend(newItem(from, 0, 0, nil), func(it item) bool { return visit(stored(it), it.doc()) })
}

// Change is one change of a record.
type Change struct {
	Seq        uint64
	TimeMs     int64
	Kind       effect.Kind // RecordPut, RecordForget or RecordDeadline
	Version    uint64
	DeadlineMs int64
	Bytes      []byte // encoded record of a RecordPut
}

// ErrRetention is returned for a moment before what is retained.
const ErrRetention Error = "ERR that moment is before the retained history"

// History visits the retained changes of a record with fromSeq <= seq <= toSeq,
// in order or in reverse, until visit returns false. Bytes are valid during the
// call. It may read from disk.
func (v *OwnerView) History(key []byte, fromSeq, toSeq uint64, reverse bool, visit func(c Change) bool) error {
	more := true
	archived := func() error {
		if v.archive == nil || v.dropped == 0 || fromSeq > v.dropped || !more {
			return nil
		}
		return v.archive.History(v.space, key, fromSeq, min(toSeq, v.dropped), reverse, func(seq uint64, timeMs int64, x *effect.Effect) bool {
			more = visit(Change{Seq: seq, TimeMs: timeMs, Kind: x.Kind, Version: uint64(x.Number), DeadlineMs: x.DeadlineMs, Bytes: x.Value})
			return more
		})
	}
	resident := func() {
		v.eachPending(fromSeq, toSeq, reverse, func(c *change) bool {
			if c.kind != effect.EventAppend && c.key == string(key) && more {
				more = visit(Change{Seq: c.seq, TimeMs: c.timeMs, Kind: c.kind, Version: c.version, DeadlineMs: c.deadlineMs, Bytes: c.value})
			}
			return more
		})
	}
	if reverse {
		resident()
		return archived()
	}
	err := archived()
	resident()
	return err
}

// Events visits the owner's retained events in the same way. event is the
// stored form: link and encoded event.
func (v *OwnerView) Events(fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, event []byte) bool) error {
	more := true
	archived := func() error {
		if v.archive == nil || v.dropped == 0 || fromSeq > v.dropped || !more {
			return nil
		}
		return v.archive.Events(v.space, []byte(v.Name), fromSeq, min(toSeq, v.dropped), reverse, func(seq uint64, timeMs int64, event []byte) bool {
			more = visit(seq, timeMs, event)
			return more
		})
	}
	resident := func() {
		v.eachPending(fromSeq, toSeq, reverse, func(c *change) bool {
			if c.event != nil && more {
				more = visit(c.seq, c.timeMs, c.event)
			}
			return more
		})
	}
	if reverse {
		resident()
		return archived()
	}
	err := archived()
	resident()
	return err
}

func (v *OwnerView) eachPending(fromSeq, toSeq uint64, reverse bool, visit func(c *change) bool) {
	for i := range v.pending {
		c := &v.pending[i]
		if reverse {
			c = &v.pending[len(v.pending)-1-i]
		}
		if c.seq >= fromSeq && c.seq <= toSeq && !visit(c) {
			return
		}
	}
}

// At is the record key as it stood at a moment: ok is false when it was not
// there (never written, forgotten, or past its deadline). It may read from
// disk. ErrRetention is returned when the moment is before what is retained.
func (v *OwnerView) At(key []byte, moment memory.Moment) (r Stored, change Change, ok bool, err error) {
	deadlineMs, haveDeadline, decided := int64(0), false, false
	atMs := moment.TimeMs
	err = v.History(key, 0, ^uint64(0), true, func(c Change) bool {
		if !moment.Covers(c.Seq, c.TimeMs) {
			return true
		}
		if moment.BySeq && atMs == 0 {
			atMs = c.TimeMs
		}
		switch c.Kind {
		case effect.RecordDeadline:
			if !haveDeadline {
				deadlineMs, haveDeadline = c.DeadlineMs, true
			}
			return true
		case effect.RecordForget:
			decided = true
			return false
		}
		if !haveDeadline {
			deadlineMs = c.DeadlineMs
		}
		decided = true
		ok = !past(deadlineMs, atMs)
		r = Stored{Key: key, DeadlineMs: deadlineMs, Seq: c.Seq, Bytes: append([]byte(nil), c.Bytes...)}
		change = c
		return false
	})
	if err == nil && !decided && v.lost {
		return Stored{}, Change{}, false, ErrRetention
	}
	return r, change, ok, err
}

// Verify walks the owner's whole chain of events. It may read from disk.
func (v *OwnerView) Verify() (memory.ChainState, error) {
	state := memory.ChainState{}
	before, current := uint64(0), uint64(0)
	err := v.Events(0, ^uint64(0), false, func(seq uint64, _ int64, event []byte) bool {
		if seq != current {
			before, current = current, seq
		}
		// A link covers the sequence of the batch before its event's.
		step := memory.Verify(memory.ChainState{Head: state.Head}, func(yield func(uint64, []byte) bool) { yield(before, event) })
		if !step.OK() {
			state.FirstBad = seq
			return false
		}
		state.Length++
		state.Erased += step.Erased
		state.Head, state.LastSeq = step.Head, seq
		return true
	})
	if err == nil && state.OK() && !v.lost && (state.Head != v.Head || state.LastSeq != v.lastSeq) {
		// Events at the end are missing: the head is kept apart.
		state.FirstBad = max(state.LastSeq, 1)
	}
	return state, err
}

// checkRecords says where owners and shards disagree. Tests call it when
// nothing else runs.
func (e *Engine) checkRecords() error { return nil }
