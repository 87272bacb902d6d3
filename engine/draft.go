package engine

import (
	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns drafts: changes of one owner's records of which all happen, or
// none. It must not know what the changes are.

// draft is the changes of an owner so far. They are applied to a copy of the owner,
// so that whoever checks the next one sees them, and kept to be applied to the
// owner. Nobody else sees the copy.
type draft struct {
	real, copy *Owner
	effects    effect.Batch
	steps      []step // one for each effect
	kept       int    // effects that are journaled
	asked      int64  // changes asked for, and made, which are counted at the end
	made       int64

	// What the transaction had before: events told, records without a sequence,
	// whether it must be durable.
	events  int
	fresh   int
	durable bool
	// durableNow is what the changes ask of it, once they are published.
	durableNow bool
}

// step is what a batch does not say of an effect.
type step struct {
	journaled bool
	events    int // told of before it
}

// Draft has every change of the owner's records that follows wait until Publish
// makes all of them, or Discard none. keys, of that owner, are those that will be
// changed; their shards are locked. Between Draft and its end only their records,
// and the owner's command ids, are read and changed.
func (tx *Tx) Draft(keys []memory.Key) {
	for i := range keys {
		// What has expired ends before, and in any case: in a draft no entry of a
		// shard may change.
		tx.find(tx.DB, keys[i].Text)
	}
	real := tx.owner(tx.DB, keys[0].Owner())
	tx.draft = &draft{real: real, copy: real.sketched(), events: len(tx.events), fresh: len(tx.record.fresh), durable: tx.batch.Durable}
}

// sketched is a copy of the owner that shares what it has until it changes. It is
// a sketch: it has no index, no entries in shards, and of command ids only those
// that are added to it; its vectors are read only.
func (o *Owner) sketched() *Owner {
	s := &Owner{sketch: true, space: o.space, name: o.name,
		key: o.key, keyNumber: o.keyNumber, keyKept: o.keyKept, destroyed: o.destroyed,
		records: o.records.Copy(), items: o.items.Copy(), docs: *o.docs.Copy(), pinned: *o.pinned.Copy(), profile: o.profile.Copy(),
		vectors: o.vectors, lastDoc: o.lastDoc, lastList: o.lastList, tally: o.tally,
		facets: *o.facets.Copy(), keptVectors: o.keptVectors, consent: o.consent, link: o.link, lastSeq: o.lastSeq, lastMs: o.lastMs}
	s.sessions = o.sessions.copy()
	return s
}

// add takes an effect into the draft.
func (d *draft) add(tx *Tx, x *effect.Effect, journaled bool) {
	d.steps = append(d.steps, step{journaled, len(tx.events)})
	d.effects.Add(x)
	if journaled {
		d.kept++
	}
	tx.apply(x)
}

// DraftBytes is about what the changes of the draft take.
func (tx *Tx) DraftBytes() int { return tx.draft.effects.SizeBytes() }

// Publish makes the changes of the draft. It says whether there are any, and
// whether any is kept over restarts.
func (tx *Tx) Publish() (changed, kept bool) {
	d := tx.draft
	told := append([]Event(nil), tx.events[d.events:]...)
	tx.endDraft()
	d.real.keyKept = d.copy.keyKept
	r, err := effect.NewReader(append(d.effects.AppendHead(nil, 0, 0), d.effects.Body()...))
	var x effect.Effect
	for i := range d.steps {
		if err == nil {
			_, err = r.Next(&x)
		}
		if err != nil {
			panic("engine: an effect of a draft does not decode: " + err.Error())
		}
		before := d.steps[i].events - d.events
		tx.events = append(tx.events, told[:before]...)
		told, d.events = told[before:], d.steps[i].events
		if d.steps[i].journaled {
			tx.emit(&x)
		} else {
			tx.hold(&x)
		}
	}
	tx.events = append(tx.events, told...)
	tx.batch.Durable = tx.batch.Durable || d.durableNow
	tx.noteChanges(d.real, d.asked, d.made)
	return len(d.steps) > 0, d.kept > 0
}

// Discard forgets the changes of the draft.
func (tx *Tx) Discard() {
	d := tx.draft
	tx.endDraft()
	tx.noteChanges(d.real, d.asked, 0)
}

// endDraft leaves the transaction as it was before the draft.
func (tx *Tx) endDraft() {
	d := tx.draft
	tx.draft, tx.hit, tx.place = nil, found{}, Place{}
	clear(tx.events[d.events:])
	tx.events = tx.events[:d.events]
	clear(tx.record.fresh[d.fresh:])
	tx.record.fresh = tx.record.fresh[:d.fresh]
	d.durableNow, tx.batch.Durable = tx.batch.Durable, d.durable
}

// drafted is the record key as the draft has it. What the draft itself gave a
// deadline in the past has expired.
func (tx *Tx) drafted(key []byte) (it item, ok bool, err error) {
	if _, _, x, there := tx.find(tx.DB, key); there && x.Kind() != kindMemory {
		return nil, false, ErrWrongType
	}
	it, ok = tx.draft.copy.records.Get(tx.pivotOf(key))
	if ok && past(it.deadlineMs(), tx.now) {
		tx.Notify(EventExpired, "expired", key)
		tx.forgetRecord(tx.DB, key, effect.Expired)
		return nil, false, nil
	}
	return it, ok, nil
}

// setDraftDeadline is SetDeadline in a draft.
func (tx *Tx) setDraftDeadline(key []byte, deadlineMs int64) bool {
	_, ok, err := tx.drafted(key)
	switch {
	case !ok || err != nil:
		return false
	case deadlineMs != 0 && deadlineMs <= tx.now:
		tx.forgetRecord(tx.DB, key, effect.Deleted)
	default:
		tx.deadlineRecord(tx.DB, key, deadlineMs)
	}
	return true
}
