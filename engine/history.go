package engine

import (
	"errors"
	"maps"
	"slices"

	"github.com/tidwall/btree"

	"reminis/engine/effect"
	"reminis/engine/memory"
	"reminis/engine/recall"
	"reminis/engine/vector"
)

// This file owns consistent views of an owner and reading the past: what is
// still in memory joined to what the archive holds. It must not know files.

// Archive holds history and events up to the last checkpoint. Its methods may
// be slow: they are never called with an owner's lock held but for EXEC.
type Archive interface {
	recordArchive
	ownerArchive
}

// recordArchive is the past of a record.
type recordArchive interface {
	// History visits the changes of a record with fromSeq <= seq <= toSeq, in
	// order or in reverse, until visit returns false.
	History(space uint32, key []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, x *effect.Effect) bool) error
	// Items visits the items first <= number < next of a list that a record was.
	Items(space uint32, key []byte, list, first, next uint64, visit func(number uint64, item []byte)) error
	// Pruned is the sequence of the last change of a record that its history no
	// longer has, 0 when it has all.
	Pruned(space uint32, key []byte) (seq uint64, err error)
}

// ownerArchive is the past of an owner.
type ownerArchive interface {
	// Events visits the events of an owner as History visits changes.
	Events(space uint32, owner []byte, fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, timeMs int64, event []byte) bool) error
	// Names visits the names of an owner's records of which anything is kept.
	Names(space uint32, owner []byte, visit func(key []byte)) error
}

// Checkpointed says that the archive holds everything up to seq.
func (e *Engine) Checkpointed(seq uint64) {
	// After a recovery no record may stand that the last batches changed.
	e.owners.raise(seq)
	e.owners.mu.Lock()
	list := make([]*Owner, 0, len(e.owners.unarchived))
	for owner := range e.owners.unarchived {
		list = append(list, owner)
	}
	e.owners.mu.Unlock()
	defer e.owners.archiveAsked.Store(false)
	for _, owner := range list {
		owner.mu.Lock()
		n := 0
		for n < len(owner.pending) && owner.pending[n].seq <= seq && owner.pending[n].seq != 0 {
			n++
		}
		if n > 0 {
			e.owners.pendingBytes.Add(-sizeOf(owner.pending[:n]))
			owner.pending = slices.Clone(owner.pending[n:])
		}
		owner.erased = owner.erased.after(seq)
		if len(owner.pending) == 0 {
			e.owners.mu.Lock()
			delete(e.owners.unarchived, owner)
			e.owners.mu.Unlock()
		}
		owner.mu.Unlock()
	}
}

// OwnerView is an owner at one moment, for one goroutine. It needs no lock and
// what it shows never changes.
type OwnerView struct {
	Name string
	// Seq is not before the last batch of this owner that the view contains,
	// and before the first one that it does not.
	Seq uint64
	// Head ends the owner's audit chain.
	Head    memory.Link
	consent memory.Consent
	all     bool // also what consent hides
	rules   *Rules
	space   uint32
	records itemTree
	items   itemTree
	docs    *btree.Map[uint64, item]
	pinned  *btree.Map[uint64, item]
	profile itemTree
	facets  *facetMap
	index   *recall.View
	vectors *vector.View
	columns viewColumns
	// perishable says of each kind whether some of its records may not stand though
	// they are in the index: those with a deadline or a validity period, or, where
	// consent was taken back, all.
	perishable [memory.Semantic + 1]bool
	pending    []change
	lost       bool
	lastSeq    uint64
	nowMs      int64
	archive    Archive
	// forgotten is the part of the chain that is no longer retained.
	forgotten memory.ChainState
	key       memory.OwnerKey
	keyNumber uint64
	// head is the list whose item was asked for last.
	head   item
	erased erasures
}

// OwnerView is a view of the owner with this name in the transaction's
// database; ok is false when there never was such an owner. Its reply must wait
// for the transaction's GateSeq.
func (tx *Tx) OwnerView(name []byte) (view *OwnerView, ok bool) {
	owner := tx.e.owners.find(tx.e.owners.space(tx.DB), name)
	if owner == nil {
		return nil, false
	}
	view = tx.viewOf(owner)
	return view, view != nil
}

// OwnerViews are views of owners of the transaction's database at one moment, by
// name, of those that there are; names ascend. While they are made nobody changes
// any of the owners. The transaction holds no lock, or all.
func (tx *Tx) OwnerViews(names []string) map[string]*OwnerView {
	views := make(map[string]*OwnerView, len(names))
	var list []*Owner
	for _, name := range names {
		if owner := tx.e.owners.find(tx.e.owners.space(tx.DB), []byte(name)); owner != nil {
			list = append(list, owner)
		}
	}
	if !tx.HoldsAll() {
		// With a shard of its own, who holds all of them and takes owners in any
		// order is not met.
		tx.lockMask(1)
		defer tx.Commit()
		tx.ownAll(list)
	}
	for _, owner := range list {
		views[owner.name] = tx.viewOf(owner)
	}
	return views
}

// ReadSeq is not before the last batch that changed any owner.
func (tx *Tx) ReadSeq() uint64 { return tx.e.owners.lastSeq.Load() }

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

// viewOf is a view of an owner, nil when the transaction is refused.
func (tx *Tx) viewOf(owner *Owner) *OwnerView {
	if owner.holder.Load() != tx {
		if !tx.take(&owner.mu) {
			return nil
		}
		defer owner.mu.Unlock()
	}
	tx.gateSeq = max(tx.gateSeq, owner.gateSeq)
	owner.indexUpTo(owner.lastDoc)
	view := &OwnerView{
		Name: owner.name, Seq: tx.e.owners.lastSeq.Load(), Head: owner.link,
		consent: owner.consent, rules: tx.Rules(),
		space: owner.space, records: owner.records.Copy(), items: owner.items.Copy(), docs: owner.docs.Copy(), pinned: owner.pinned.Copy(),
		profile: owner.profile.Copy(), facets: owner.facets.Copy(),
		index: owner.index.View(), vectors: owner.viewVectors(), columns: owner.columns.view(), pending: slices.Clip(owner.pending), lost: owner.lost,
		lastSeq: owner.lastSeq, nowMs: tx.now, archive: tx.e.archive, forgotten: owner.forgotten,
		key: owner.key, keyNumber: owner.keyNumber, erased: owner.erased,
	}
	for kind, count := range owner.tally.perishable {
		view.perishable[kind] = count > 0 || owner.consent.Hides(memory.Kind(kind))
	}
	return view
}

// AllStand says whether all records of a kind that are in the index stand.
func (v *OwnerView) AllStand(kind memory.Kind) bool { return !v.perishable[kind] }

// Len is the number of records, expired ones not yet removed included.
func (v *OwnerView) Len() int { return v.records.Len() }

// Index finds records by their text; a document is found again with ByDoc.
func (v *OwnerView) Index() *recall.View { return v.index }

// ByDoc is the record with this number in Index.
func (v *OwnerView) ByDoc(doc uint64) (Stored, bool) {
	it, ok := v.docs.Get(doc)
	if ok && it.isPart() {
		s := v.itemOf(it)
		return s, !v.hides(v.head)
	}
	if !ok || v.hides(it) {
		return Stored{}, false
	}
	return stored(it, v.items), true
}

// Pinned visits the pinned records until visit returns false.
func (v *OwnerView) Pinned(visit func(r Stored, doc uint64) bool) {
	v.pinned.Scan(func(doc uint64, it item) bool { return v.hides(it) || visit(stored(it, v.items), doc) })
}

// Profile visits the records of that kind, in order of key, until visit returns
// false.
func (v *OwnerView) Profile(visit func(r Stored) bool) {
	v.profile.Scan(func(it item) bool { return v.hides(it) || visit(stored(it, v.items)) })
}

// Newest visits the records and items that were written last, from the newest on,
// until visit returns false.
func (v *OwnerView) Newest(visit func(r Stored, doc uint64) bool) {
	v.docs.Reverse(func(doc uint64, it item) bool {
		head := it
		if it.isPart() {
			head = v.headOf(it)
		}
		if v.hides(head) {
			return true
		}
		s := stored(head, v.items)
		if it.isPart() {
			s.Item, s.part = it.number(), it
		}
		return visit(s, doc)
	})
}

// Get is the record key as the view has it, expired or not.
func (v *OwnerView) Get(key []byte) (Stored, bool) {
	it, ok := v.records.Get(newItem(key, 0, 0, nil))
	if !ok || v.hides(it) {
		return Stored{}, false
	}
	return stored(it, v.items), true
}

// Ascend visits the records from key on, in order of key, until visit returns
// false. doc is the record's number in Index.
func (v *OwnerView) Ascend(from []byte, visit func(r Stored, doc uint64) bool) {
	v.records.Ascend(newItem(from, 0, 0, nil), func(it item) bool { return v.hides(it) || visit(stored(it, v.items), it.doc()) })
}

// Standing is the view with what is hidden because consent was taken back, for
// whoever ends records.
func (v *OwnerView) Standing() *OwnerView {
	standing := *v
	standing.all = true
	return &standing
}

func (v *OwnerView) hides(it item) bool { return !v.all && v.consent.Hides(it.kind()) }

// hidesVersion says the same of a version in history.
func (v *OwnerView) hidesVersion(kind effect.Kind, encoded []byte) bool {
	if v.all || !v.consent.HidesAny() || !kind.MakesVersion() {
		return false
	}
	var r memory.Record
	return memory.Decode(encoded, &r) != nil || v.consent.Hides(r.Kind)
}

// Change is one change of a record.
type Change struct {
	// Seq is the change's batch, 0 while the transaction that reads it has not
	// committed it.
	Seq        uint64
	TimeMs     int64
	Kind       effect.Kind // RecordPut, RecordForget or RecordDeadline
	Version    uint64
	DeadlineMs int64
	Bytes      []byte // encoded record of a RecordPut, without the items of a list

	list *pastList // the record is a list
	head []byte    // and so stored
}

// Record is the encoded record of a RecordPut, as a copy: a list with its array
// as value. It may read from disk. ErrRetention is returned when items are no
// longer retained.
func (c *Change) Record() ([]byte, error) {
	if c.list == nil {
		return slices.Clone(c.Bytes), nil
	}
	var r memory.Record
	mustDecode(c.Bytes, &r)
	if err := c.list.join(&r); err != nil {
		return nil, err
	}
	return memory.Encode(nil, &r), nil
}

// covered says whether the change belongs to the state at a moment.
func (c *Change) covered(m memory.Moment) bool {
	return m.Covers(position(c.Seq), c.TimeMs)
}

// position orders a sequence: a batch that has none yet is after all others.
func position(seq uint64) uint64 {
	if seq == 0 {
		return ^uint64(0)
	}
	return seq
}

// ErrRetention is returned for a moment or a version before what is retained.
const ErrRetention Error = "ERR that is before the retained history"

// History visits the retained changes of a record with fromSeq <= seq <= toSeq,
// in order or in reverse, until visit returns false. Bytes are valid during the
// call. It may read from disk.
func (v *OwnerView) History(key []byte, fromSeq, toSeq uint64, reverse bool, visit func(c Change) bool) error {
	past := &pastList{view: v, key: key}
	m := v.merge(fromSeq, toSeq, reverse, func(c *change) bool {
		return !c.kind().ChangesRecord() || string(c.key()) != string(key) || v.hidesVersion(c.kind(), c.value()) || visit(v.change(c, past))
	})
	if v.archive != nil && fromSeq <= v.Seq {
		opener, failed := v.opener(), error(nil)
		if erased := v.erasedUpTo(key); erased > 0 {
			fromSeq = max(fromSeq, erased+1)
		}
		err := v.archive.History(v.space, key, fromSeq, min(toSeq, v.Seq), reverse, func(seq uint64, timeMs int64, x *effect.Effect) bool {
			return m.archived(seq, func() bool {
				c := Change{Seq: seq, TimeMs: timeMs, Kind: x.Kind, Version: uint64(x.Number), DeadlineMs: x.DeadlineMs}
				c.Bytes, failed = opener.value(x)
				return failed == nil && (v.hidesVersion(c.Kind, c.Bytes) || visit(past.of(c)))
			})
		})
		if err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
	}
	m.rest()
	return nil
}

func (v *OwnerView) change(c *change, past *pastList) Change {
	timeMs := c.timeMs
	if c.seq == 0 {
		timeMs = v.nowMs
	}
	facts := c.facts()
	return past.of(Change{Seq: c.seq, TimeMs: timeMs, Kind: c.kind(), Version: facts.version, DeadlineMs: facts.deadlineMs, Bytes: c.value()})
}

// merger joins the changes in memory with the archive's, in order of their
// batches. A batch that both have counts once: a checkpoint may have taken it
// over since the view was made.
type merger struct {
	pending []change // in range, in the order of the visit
	reverse bool
	visit   func(c *change) bool
	more    bool
}

func (v *OwnerView) merge(fromSeq, toSeq uint64, reverse bool, visit func(c *change) bool) *merger {
	first := searchChanges(v.pending, fromSeq)
	limit := len(v.pending)
	if toSeq != ^uint64(0) {
		limit = max(searchChanges(v.pending, toSeq+1), first)
	}
	m := &merger{pending: v.pending[first:limit], reverse: reverse, visit: visit, more: true}
	if reverse {
		m.pending = slices.Clone(m.pending)
		slices.Reverse(m.pending)
	}
	return m
}

// searchChanges is the place of the first change whose batch is not before seq.
func searchChanges(changes []change, seq uint64) int {
	at, _ := slices.BinarySearchFunc(changes, seq, func(c change, seq uint64) int {
		if position(c.seq) < seq {
			return -1
		}
		return 1
	})
	return at
}

// archived visits what comes before the archive's batch seq, then that one,
// unless it is in memory too.
func (m *merger) archived(seq uint64, visit func() bool) bool {
	for m.more && len(m.pending) > 0 && m.precedes(seq) {
		m.next()
	}
	if m.more && (len(m.pending) == 0 || m.pending[0].seq != seq) {
		m.more = visit()
	}
	return m.more
}

func (m *merger) precedes(seq uint64) bool {
	at := position(m.pending[0].seq)
	if m.reverse {
		return at > seq
	}
	return at < seq
}

func (m *merger) next() {
	c := &m.pending[0]
	m.pending = m.pending[1:]
	m.more = m.visit(c)
}

// rest visits what is left.
func (m *merger) rest() {
	for m.more && len(m.pending) > 0 {
		m.next()
	}
}

// KeysEver are the keys of all records that stand, that a retained event tells of,
// or of which the archive keeps anything, in order. It may read from disk.
func (v *OwnerView) KeysEver() ([]string, error) {
	keys := map[string]struct{}{}
	v.records.Scan(func(it item) bool {
		keys[string(it.key())] = struct{}{}
		return true
	})
	for i := range v.pending {
		if key := v.pending[i].key(); len(key) > 0 {
			keys[string(key)] = struct{}{}
		}
	}
	if v.archive != nil {
		err := v.archive.Names(v.space, []byte(v.Name), func(key []byte) { keys[string(key)] = struct{}{} })
		if err != nil {
			return nil, err
		}
	}
	var bad error
	err := v.Events(0, ^uint64(0), false, func(_ uint64, stored []byte) bool {
		var e memory.Event
		_, encoded, err := memory.SplitLinked(stored)
		if err == nil {
			err = memory.DecodeEvent(encoded, &e)
		}
		if bad = err; err == nil && e.Changed() {
			keys[string(e.Key)] = struct{}{}
		}
		return bad == nil
	})
	return slices.Sorted(maps.Keys(keys)), errors.Join(err, bad)
}

// Incomplete says whether changes of the record key are no longer retained: what
// was before is unknown, not absent. It may read from disk.
func (v *OwnerView) Incomplete(key []byte) (bool, error) {
	if v.lost || v.archive == nil {
		return v.lost, nil
	}
	seq, err := v.archive.Pruned(v.space, key)
	return seq != 0, err
}

// At is the record key as it stood at a moment, with the change that made it:
// ok is false when it was not there (never written, forgotten, or past its
// deadline). It may read from disk. ErrRetention is returned when the moment is
// before what is retained.
func (v *OwnerView) At(key []byte, moment memory.Moment) (r Stored, made Change, ok bool, err error) {
	var deadline, last Change // the deadline's last change, and any last change
	var lost error
	err = v.History(key, 0, ^uint64(0), true, func(c Change) bool {
		if !c.covered(moment) {
			return true
		}
		if last.Kind == 0 {
			last = c
		}
		if c.Kind == effect.RecordDeadline {
			if deadline.Kind == 0 {
				deadline = c
			}
			return true
		}
		if made = c; c.list != nil {
			made.head = slices.Clone(c.Bytes)
		}
		made.Bytes, lost = c.Record()
		return false
	})
	if err == nil {
		err = lost
	}
	switch {
	case err != nil || made.Kind == effect.RecordForget:
		return Stored{}, Change{}, false, err
	case made.Kind == 0:
		return v.atLost(key, moment, deadline)
	}
	r = Stored{Key: key, DeadlineMs: made.DeadlineMs, Seq: made.Seq, Bytes: made.Bytes}
	if deadline.Kind != 0 {
		r.DeadlineMs = deadline.DeadlineMs
	}
	atMs := moment.TimeMs
	if moment.BySeq {
		// A sequence has no time of its own: that of the last change counts.
		atMs = last.TimeMs
	}
	return r, made, !past(r.DeadlineMs, atMs), nil
}

// atLost is At when no retained change wrote the record: it was not there, or
// what wrote it is no longer retained; then the record as it stands answers, if
// it is older than the moment.
func (v *OwnerView) atLost(key []byte, moment memory.Moment, deadline Change) (Stored, Change, bool, error) {
	incomplete, err := v.Incomplete(key)
	if err != nil || !incomplete {
		return Stored{}, Change{}, false, err
	}
	r, ok := v.Get(key)
	var record memory.Record
	if !ok || r.Seq == 0 || memory.Decode(r.Bytes, &record) != nil || !v.standsAt(r.Seq, moment) {
		return Stored{}, Change{}, false, ErrRetention
	}
	if deadline.Kind != 0 {
		r.DeadlineMs = deadline.DeadlineMs
	}
	r.Decode(&record)
	r.Bytes = memory.Encode(nil, &record)
	made := Change{Seq: r.Seq, Kind: effect.RecordPut, Version: record.Version, DeadlineMs: r.DeadlineMs, Bytes: r.Bytes}
	return r, made, moment.BySeq || !past(r.DeadlineMs, moment.TimeMs), nil
}

// standsAt says whether what batch seq wrote was written before a moment, though
// its change is no longer retained: a later change that is retained was.
func (v *OwnerView) standsAt(seq uint64, moment memory.Moment) bool {
	if moment.BySeq {
		return seq <= moment.Seq
	}
	return len(v.pending) > 0 && seq <= v.pending[0].seq && v.pending[0].timeMs <= moment.TimeMs
}

// Version is the newest retained change that made the record's version n, which
// need not stand any more; ok is false when there never was one. It may read
// from disk. ErrRetention is returned when it may have been, but is no longer
// retained.
func (v *OwnerView) Version(key []byte, n uint64) (made Change, ok bool, err error) {
	newest := uint64(0)
	var lost error
	err = v.History(key, 0, ^uint64(0), true, func(c Change) bool {
		if c.Kind != effect.RecordDeadline {
			newest = max(newest, c.Version)
		}
		if c.Kind == effect.RecordPut && c.Version == n {
			made, ok = c, true
			made.Bytes, lost = c.Record()
		}
		return !ok
	})
	if lost != nil {
		return Change{}, false, lost
	}
	if err != nil || ok || n == 0 {
		return made, ok, err
	}
	incomplete, err := v.Incomplete(key)
	if err == nil && incomplete && (n < newest || newest == 0) {
		err = ErrRetention
	}
	return Change{}, false, err
}
