package engine

import (
	"fmt"
	"hash/maphash"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns changes of memory records: the emitting side and their apply.
// It must not know commands, nor how a record came to be what it is.

// Stored is a record as it stands. Bytes is its encoding, without the items of a
// list (Decode joins them); it and Key alias the tree and never change.
type Stored struct {
	Key        []byte
	DeadlineMs int64
	Seq        uint64
	Bytes      []byte
	// Lasting says that the record is valid at any time.
	Lasting bool
	Kind    memory.Kind
	// Item is the number of an item of the list that the record is; 0: all of it
	// is meant.
	Item uint64

	owner *Owner   // nil in a view
	items itemTree // of the owner
	part  item     // the item
	list  bool
}

func (o *Owner) stored(it item) Stored {
	s := stored(it, o.items)
	s.owner = o
	return s
}

func stored(it item, items itemTree) Stored {
	return Stored{Key: it.key(), DeadlineMs: it.deadlineMs(), Seq: it.seq(), Bytes: it.record(), Lasting: it.lasting(), Kind: it.kind(), items: items, list: it.isList()}
}

// mustDecode reads a record that the engine keeps. What does not decode would
// have been refused when it was recovered.
func mustDecode(bytes []byte, r *memory.Record) {
	r.Reset()
	if err := memory.Decode(bytes, r); err != nil {
		panic("engine: a stored record does not decode: " + err.Error())
	}
}

// Retention says how much of a record's history is kept: so many versions, and
// any that stood within the last AgeMs.
type Retention struct {
	Versions int
	AgeMs    int64
}

// recordTx is what a transaction knows of the records that it changes.
type recordTx struct {
	fresh   []item
	pivot   item
	encoded []byte
	event   []byte
	hasher  memory.Hasher
	record  memory.Record
	sealing sealing
	reset   bool // a reset event was appended
	// user and client are the actor's, as bytes: transactions are used again, and
	// most by the same actor.
	user, client []byte
	// firsts counts the changes asked for of an owner that is not there yet.
	firsts int64
}

func (r *recordTx) clear() {
	r.reset, r.firsts = false, 0
	r.sealing.clear()
	clear(r.fresh)
	r.fresh = r.fresh[:0]
	if cap(r.encoded) > 1<<20 {
		r.encoded = nil
	}
}

// pivotOf is an item with key for looking up in a tree.
func (tx *Tx) pivotOf(key []byte) item {
	p := tx.record.pivot
	if cap(p) < itemHead {
		p = make(item, itemHead, itemHead+64)
	}
	p = append(p[:itemHead], key...)
	p[0], p[1] = byte(len(key)), byte(len(key)>>8)
	tx.record.pivot = p
	return p
}

// Record is the record key of the transaction's database: ok is false when
// there is none that may be read, ErrWrongType when key holds another type. It
// locks the owner.
func (tx *Tx) Record(key []byte) (r Stored, ok bool, err error) { return tx.recordOf(key, false) }

// Standing is Record for whoever ends or moves records: also those are there
// that are hidden because consent was taken back.
func (tx *Tx) Standing(key []byte) (r Stored, ok bool, err error) { return tx.recordOf(key, true) }

func (tx *Tx) recordOf(key []byte, hidden bool) (r Stored, ok bool, err error) {
	if tx.draft != nil {
		it, there, err := tx.drafted(key)
		if !there || err != nil || !hidden && tx.draft.copy.consent.Hides(it.kind()) {
			return Stored{}, false, err
		}
		return tx.draft.copy.stored(it), true, nil
	}
	ks, _, x, there := tx.look(tx.DB, key)
	if !there {
		return Stored{}, false, nil
	}
	if x.Kind() != kindMemory {
		return Stored{}, false, ErrWrongType
	}
	place := ks.records.of(x)
	it, owner := place.item, place.owner
	tx.own(owner)
	if !hidden && owner.consent.Hides(it.kind()) {
		return Stored{}, false, nil
	}
	return owner.stored(it), true, nil
}

// PutRecord makes r the record key. r.Version and all else is as the caller
// set it; event says what happened (its payload hash is sealed here over
// payload). Working records are kept in memory only and leave no event. The
// owner is locked.
func (tx *Tx) PutRecord(key memory.Key, r *memory.Record, event *memory.Event, keep Retention) {
	tx.leaveStore(key.Text, r.Kind, event)
	owner := tx.owner(tx.DB, key.Owner())
	tx.record.encoded = memory.Encode(tx.record.encoded[:0], r)
	x := effect.Effect{Kind: effect.RecordPut, DB: uint32(tx.DB), Key: key.Text, OwnerLen: key.OwnerLen,
		Value: tx.record.encoded, Number: int64(r.Version), DeadlineMs: r.DeadlineMs, Count: int64(keep.Versions), KeepMs: keep.AgeMs}
	if r.Kind.Journaled() {
		tx.keyed(tx.DB, owner)
		x.Event = tx.chainEvent(owner, event, r.Value)
		if r.Kind.Rule().Durability == memory.DurableFirst {
			tx.Durable()
		}
		tx.emit(&x)
		tx.endVectors(tx.DB, owner, key.Text, ^uint64(0))
	} else {
		tx.hold(&x)
	}
	tx.Notify(EventRecord, recordEvent(event), key.Text)
}

// leaveStore ends a record that moves between memory and the store as it becomes
// one of another kind: what the store has, or must get, is a record that ends
// and one that begins.
func (tx *Tx) leaveStore(key []byte, kind memory.Kind, event *memory.Event) {
	if old, ok, _ := tx.Standing(key); ok && old.Kind.Journaled() != kind.Journaled() {
		tx.endRecord(tx.DB, old, event)
	}
}

// chainEvent completes an event of the owner and gives its stored form: the link
// that it makes in the owner's chain, then its encoding. A nil event has none.
//
// The sequence of the event's own batch is not known yet; its link covers the
// sequence of the batch before it, so each event vouches for its predecessor's.
func (tx *Tx) chainEvent(owner *Owner, event *memory.Event, payload []byte) []byte {
	if event == nil || !tx.audits(event) {
		return nil
	}
	if event.TimeMs == 0 {
		event.TimeMs = tx.now
	}
	event.TimeMs = max(event.TimeMs, owner.lastMs)
	event.Seal(&tx.record.hasher, &owner.key, payload)
	tx.buf = memory.EncodeEvent(tx.buf[:0], event)
	var err error
	if tx.record.event, err = memory.AppendLinked(tx.record.event[:0], owner.link, owner.lastSeq, tx.buf); err != nil {
		panic("engine: an event that was just encoded does not decode: " + err.Error())
	}
	return tx.record.event
}

// ForgetRecord removes the record key and says whether there was one. event
// carries who and why; its operation is forget unless the caller set one.
func (tx *Tx) ForgetRecord(key []byte, event *memory.Event) bool {
	old, ok, err := tx.Standing(key)
	if !ok || err != nil {
		return false
	}
	tx.endRecord(tx.DB, old, event)
	tx.Notify(EventRecord, eventForget, key)
	tx.Notify(EventGeneric, "del", key)
	return true
}

// endRecord emits the end of a record.
func (tx *Tx) endRecord(db int, old Stored, event *memory.Event) {
	r := &tx.record.record
	mustDecode(old.Bytes, r)
	ownerLen := tx.e.Layout().OwnerLen(old.Key)
	owner := tx.owner(db, old.Key[:ownerLen])
	x := effect.Effect{Kind: effect.RecordForget, DB: uint32(db), Key: old.Key, OwnerLen: ownerLen, Number: int64(r.Version)}
	if !r.Kind.Journaled() {
		tx.hold(&x)
		return
	}
	if event != nil {
		ended := *event
		if ended.Op != memory.OpExpire && ended.Op != memory.OpEvict {
			ended.Op = memory.OpForget
		}
		ended.Key, ended.OldVersion, ended.Version = old.Key, r.Version, 0
		x.Event = tx.chainEvent(owner, &ended, nil)
	}
	if r.Kind.Rule().Durability == memory.DurableFirst {
		tx.Durable()
	}
	tx.emit(&x)
	tx.endLinks(db, owner, old.Key)
	tx.endVectors(db, owner, old.Key, ^uint64(0))
}

// forgetRecord is the end of a record through a generic command, expiry or
// eviction.
func (tx *Tx) forgetRecord(db int, key []byte, cause effect.Cause) {
	owner := tx.owner(db, key[:tx.e.Layout().OwnerLen(key)])
	it, ok := owner.records.Get(tx.pivotOf(key))
	if !ok {
		return
	}
	event, told := tx.NewEvent(), eventForget
	switch cause {
	case effect.Expired:
		event.Op, told = memory.OpExpire, eventExpired
	case effect.Evicted:
		event.Op = memory.OpEvict
	}
	tx.endRecord(db, owner.stored(it), &event)
	tx.NotifyIn(db, EventRecord, told, key)
}

// NewEvent is an event by the transaction's actor.
func (tx *Tx) NewEvent() memory.Event {
	user := tx.UserName()
	if string(tx.record.client) != tx.Actor.Client {
		tx.record.client = []byte(tx.Actor.Client)
	}
	return memory.Event{User: user, Operator: user, Client: tx.record.client}
}

// UserName is the name of the transaction's actor. The bytes never change.
func (tx *Tx) UserName() []byte {
	if string(tx.record.user) != tx.Actor.User {
		tx.record.user = []byte(tx.Actor.User)
	}
	return tx.record.user
}

// deadlineRecord changes the deadline of an existing record: an event, not a
// version.
func (tx *Tx) deadlineRecord(db int, key []byte, deadlineMs int64) {
	ownerLen := tx.e.Layout().OwnerLen(key)
	owner := tx.owner(db, key[:ownerLen])
	it, ok := owner.records.Get(tx.pivotOf(key))
	if !ok || it.deadlineMs() == deadlineMs {
		return
	}
	r := &tx.record.record
	mustDecode(it.record(), r)
	x := effect.Effect{Kind: effect.RecordDeadline, DB: uint32(db), Key: key, OwnerLen: ownerLen, DeadlineMs: deadlineMs}
	if !r.Kind.Journaled() {
		tx.hold(&x)
		return
	}
	event := tx.NewEvent()
	event.Op, event.Key, event.Version, event.OldVersion = memory.OpExpire, key, r.Version, r.Version
	x.Event = tx.chainEvent(owner, &event, nil)
	if r.Kind.Rule().Durability == memory.DurableFirst {
		tx.Durable()
	}
	tx.emit(&x)
}

// renameRecord starts a new record at version 1 under target, which names
// source as its source; with move, source is forgotten in the same change.
func (tx *Tx) renameRecord(source, target []byte, targetDB int, move bool) error {
	from, err := tx.e.Layout().ParseKey(source)
	if err != nil {
		return ErrNotMemoryKey
	}
	to, err := tx.e.Layout().ParseKey(target)
	if err != nil || targetDB != tx.DB || string(from.Owner()) != string(to.Owner()) {
		return ErrRecordMove
	}
	old, ok, err := tx.Standing(source)
	if err != nil || !ok {
		return err
	}
	var r memory.Record
	mustDecode(old.Bytes, &r)
	policy := tx.Policy(target)
	if !move {
		if err := tx.CheckQuota(policy, to, &r); err != nil {
			return err
		}
	}
	var items []memory.Item
	if r.List != 0 {
		if items, err = elements(&old, &r); err != nil {
			return err
		}
	}
	if _, _, x, ok := tx.find(tx.DB, target); ok {
		tx.remove(tx.DB, target, x, effect.Overwritten)
	}
	event := tx.NewEvent()
	if move {
		tx.endRecord(tx.DB, old, &event)
		tx.Notify(EventRecord, eventForget, source)
	}
	r.Version, r.CreatedMs, r.UpdatedMs, r.DeadlineMs = 1, tx.now, tx.now, old.DeadlineMs
	r.Source = append([]byte(nil), source...)
	r.Operator, r.Trace, r.Reason = tx.UserName(), nil, nil
	event.Op, event.Key, event.Version, event.OldVersion = memory.OpInit, target, 1, 0
	rule := policy.Rule(r.Kind)
	keep := Retention{rule.HistoryVersions, rule.HistoryAgeMs}
	if r.List == 0 {
		tx.PutRecord(to, &r, &event, keep)
		return nil
	}
	r.List, r.First, r.Next = tx.nextList(tx.owner(tx.DB, to.Owner())), 1, 1+uint64(len(items))
	tx.AppendRecord(to, &r, items, &event, keep)
	return nil
}

// AppendEvent adds an event that changes no record to an owner's chain; an
// empty owner is the server's own chain.
func (tx *Tx) AppendEvent(ownerName []byte, event *memory.Event) {
	x := effect.Effect{Kind: effect.EventAppend, DB: uint32(tx.DB), Key: ownerName}
	owner := tx.ownerOrServer(tx.DB, ownerName)
	if len(ownerName) == 0 {
		x.DB = 0
	}
	tx.keyed(tx.DB, owner)
	x.Event = tx.chainEvent(owner, event, nil)
	tx.emit(&x)
}

// CommandDone says what a command id of an owner means to a command with this
// payload, and what the id's first command did. It locks the owner.
func (tx *Tx) CommandDone(ownerName []byte, id memory.IDDigest, payload memory.PayloadDigest) (memory.Done, memory.Verdict) {
	done, ok := tx.owner(tx.DB, ownerName).ids.Find(id)
	if !ok && tx.draft != nil {
		done, ok = tx.draft.real.ids.Find(id)
	}
	if !ok {
		return memory.Done{}, memory.Fresh
	}
	return done, done.Judge(payload, tx.now, tx.e.owners.options.IdempotencyWindowMs)
}

// MarkDone remembers that the owner's command id was carried out. With kept it
// is remembered over restarts, as what the command changed is.
func (tx *Tx) MarkDone(ownerName []byte, id memory.IDDigest, payload memory.PayloadDigest, version uint64, kept bool) {
	owner := tx.owner(tx.DB, ownerName)
	x := effect.Effect{Kind: effect.CommandDone, DB: uint32(tx.DB), Key: ownerName, Field: id[:], Value: payload[:], Number: int64(version)}
	if !kept {
		tx.hold(&x)
		return
	}
	tx.keyed(tx.DB, owner)
	tx.emit(&x)
}

// The apply side.

func (tx *Tx) applyRecordPut(db int, x *effect.Effect) {
	owner := tx.owner(db, x.Owner())
	it, old := tx.replaceRecord(owner, x, 0)
	r := &tx.record.record
	owner.keep(it, old, r.Pinned)
	if !owner.sketch {
		owner.addVector(it.doc(), r)
		owner.wait(tx, it)
		tx.offerText(owner, it)
		tx.putEntry(db, x, owner, it)
	}
	if r.Kind.Journaled() {
		owner.remember(tx, x, it)
	}
}

// replaceRecord puts what an effect carries in the place of what stood, which it
// gives too (nil: nothing), and leaves it decoded in tx.record. What stood ends, but
// for the items of the list that goes on.
func (tx *Tx) replaceRecord(owner *Owner, x *effect.Effect, list uint64) (it, old item) {
	r := &tx.record.record
	it = newItem(x.Key, x.DeadlineMs, owner.nextDoc(tx), x.Value)
	if tx.restoring {
		it.setSeq(tx.seq)
		tx.e.owners.raise(tx.seq)
	}
	old, existed := owner.records.Set(it)
	if existed {
		owner.unlist(old)
		if old.isList() {
			if mustDecode(old.record(), r); r.List != list {
				owner.endItems(x.Key, ^uint64(0))
			}
		}
	}
	tx.record.fresh = append(tx.record.fresh, it)
	mustDecode(it.record(), r)
	it.note(r)
	return it, old
}

// docSeqBits is how far a restored document's number leaves the sequence of its
// batch behind, so that documents of one batch have numbers of their own.
const docSeqBits = 16

// nextDoc numbers a document. Numbers ascend in the order of writing, also over
// restarts, because recall answers equals newest first.
func (o *Owner) nextDoc(tx *Tx) uint64 {
	if !tx.restoring {
		o.lastDoc++
		return o.lastDoc
	}
	o.restored++
	doc := tx.seq<<docSeqBits | o.restored&(1<<docSeqBits-1)
	for _, taken := o.docs.Get(doc); taken; _, taken = o.docs.Get(doc) {
		doc++ // a batch of very many
	}
	o.lastDoc = max(o.lastDoc, doc)
	return doc
}

// groupOf is the conversation that a record, or an item of it, is part of.
func (o *Owner) groupOf(key []byte, kind memory.Kind) uint64 {
	if kind != memory.Session && kind != memory.Semantic {
		return 0
	}
	return maphash.Bytes(sessionSeed, memory.Key{Text: key, OwnerLen: len(o.name)}.Session()) | 1
}

// keep makes an item findable by its number in the index. old is what it replaces,
// nil: nothing.
func (o *Owner) keep(it, old item, pinned bool) {
	o.docs.Set(it.doc(), it)
	if pinned {
		o.pinned.Set(it.doc(), it)
	}
	if it.kind() == memory.Profile {
		o.profile.Set(it)
	}
	o.count(it, old)
}

// drop ends an item that nothing replaces.
func (o *Owner) drop(it item) {
	o.unlist(it)
	o.count(nil, it)
}

// unlist ends what keep and the index have of an item.
func (o *Owner) unlist(it item) {
	if !o.sketch {
		if o.waits(it) {
			o.waiting--
		} else {
			o.index.Remove(it.doc())
		}
		o.removeVector(it.doc())
	}
	o.docs.Delete(it.doc())
	if o.pinned.Len() > 0 {
		o.pinned.Delete(it.doc())
	}
	if it.kind() == memory.Profile {
		o.profile.Delete(it)
	}
}

// count keeps what is counted of records in step with one that came in the place of
// another; nil: none.
func (o *Owner) count(it, old item) {
	o.untidy = true
	moved := int64(0)
	if old != nil {
		o.tally.count(old, -1)
		moved -= recordBytes + int64(len(old))
	}
	if it != nil {
		o.tally.count(it, 1)
		moved += recordBytes + int64(len(it))
	}
	if o.everywhere != nil {
		o.sizeBytes += moved
		o.everywhere.Add(moved)
	}
	o.sessions.count(o.name, it, old)
}

// sessionSeed makes sessions into numbers that mean nothing outside.
var sessionSeed = maphash.MakeSeed()

func (tx *Tx) applyRecordForget(db int, x *effect.Effect) {
	owner := tx.owner(db, x.Owner())
	key := append([]byte(nil), x.Key...)
	old, ok := owner.records.Delete(tx.pivotOf(key))
	if ok {
		owner.drop(old)
		if old.isList() {
			owner.endItems(key, ^uint64(0))
		}
	}
	if !owner.sketch {
		tx.applyKeyDelete(db, key)
	}
	if len(x.Event) > 0 || !ok || old.kind().Journaled() {
		owner.remember(tx, x, nil)
	}
}

func (tx *Tx) applyRecordDeadline(db int, x *effect.Effect) {
	owner := tx.owner(db, x.Owner())
	old, ok := owner.records.Get(tx.pivotOf(x.Key))
	if !ok {
		return
	}
	it := newItem(old.key(), x.DeadlineMs, old.doc(), old.record())
	it.setSeq(old.seq())
	it[itemFlags] = old[itemFlags]
	if old.seq() == 0 {
		// The record is of this very transaction.
		tx.record.fresh = append(tx.record.fresh, it)
	}
	owner.records.Set(it)
	_, pinned := owner.pinned.Get(it.doc())
	owner.keep(it, old, pinned)
	if !owner.sketch {
		tx.replaceEntry(db, it.key(), it)
		tx.applyDeadline(db, it.key(), x.DeadlineMs)
	}
	if len(x.Event) > 0 || old.kind().Journaled() {
		owner.remember(tx, x, nil)
	}
}

func (tx *Tx) applyEvent(db int, x *effect.Effect) {
	tx.ownerOrServer(db, x.Key).remember(tx, x, nil)
}

func (tx *Tx) applyCommandDone(db int, x *effect.Effect) {
	owner := tx.owner(db, x.Key)
	row := memory.Done{Version: uint64(x.Number), TimeMs: tx.now}
	copy(row.ID[:], x.Field)
	copy(row.Payload[:], x.Value)
	o := &tx.e.owners.options
	owner.ids.Expire(tx.now, o.IdempotencyWindowMs)
	owner.ids.Add(row, o.IdempotencyMax)
}

// flushRecords ends all records of db, with one event in the server's chain;
// their history stays. All shards are locked.
func (tx *Tx) flushRecords(db int) {
	for _, owner := range tx.e.owners.under(tx.e.owners.space(db), "") {
		tx.own(owner)
		owner.clear()
	}
}

// endAll emits the end of every record of db before it is flushed.
func (tx *Tx) endAll(db int) {
	ended := 0
	for _, owner := range tx.e.owners.under(tx.e.owners.space(db), "") {
		tx.own(owner)
		records := owner.records.Copy()
		records.Scan(func(it item) bool {
			ended++
			tx.endRecord(db, owner.stored(it), nil)
			return true
		})
		tx.endSessions(db, owner)
	}
	if ended > 0 && !tx.record.reset {
		// FLUSHALL is one event, however many databases it empties.
		tx.record.reset = true
		event := tx.NewEvent()
		event.Op = memory.OpReset
		tx.AppendEvent(nil, &event)
		tx.Durable()
	}
}

// swapOwners exchanges the spaces of two databases. All shards are locked.
func (tx *Tx) swapOwners(a, b int) {
	of := tx.e.owners.spaceOf
	before := of[a].Load()
	of[a].Store(of[b].Load())
	of[b].Store(before)
}

// restoreOwner takes a row of an owner that is no record: the head of its
// chain, or a command id.
func (tx *Tx) restoreOwner(x *effect.Effect, seq uint64, timeMs int64) error {
	tx.e.owners.raise(seq)
	owner := tx.ownerOrServer(int(x.DB), x.Key)
	if x.Kind == effect.CommandDone {
		row := memory.Done{Version: uint64(x.Number), TimeMs: timeMs}
		copy(row.ID[:], x.Field)
		copy(row.Payload[:], x.Value)
		if tx.e.NowMs()-timeMs < tx.e.owners.options.IdempotencyWindowMs {
			owner.ids.Add(row, tx.e.owners.options.IdempotencyMax)
		}
		return nil
	}
	if err := owner.chain(x.Event); err != nil {
		return fmt.Errorf("the last event of owner %q: %w", x.Key, err)
	}
	owner.lastSeq = seq
	return nil
}
