package engine

import (
	"bytes"
	"sync/atomic"

	"reminis/engine/memory"
)

// This file owns figures of memory records: what owners hold, and what was asked
// of them. It must not know who shows them.

// Uses counts what was asked of an owner's records, or of everybody's, since the
// server started.
type Uses struct {
	Reads, Hits         atomic.Int64 // records asked for by their key, and found
	Recalls, RecallHits atomic.Int64 // searches, and those that found something
	Writes, Committed   atomic.Int64 // changes asked for, and made
	Unaudited           atomic.Int64 // audited reads that are no events, because they were too many
	Denied              atomic.Int64 // lines that their user had no right to
	Erased              atomic.Int64 // records that were destroyed
}

// UseFigures is Uses at a moment.
type UseFigures struct {
	Reads, Hits, Recalls, RecallHits, Writes, Committed, Unaudited, Denied, Erased int64
}

func (u *Uses) figures() UseFigures {
	return UseFigures{u.Reads.Load(), u.Hits.Load(), u.Recalls.Load(), u.RecallHits.Load(), u.Writes.Load(), u.Committed.Load(),
		u.Unaudited.Load(), u.Denied.Load(), u.Erased.Load()}
}

// Reset begins to count anew.
func (u *Uses) Reset() {
	for _, counter := range []*atomic.Int64{&u.Reads, &u.Hits, &u.Recalls, &u.RecallHits, &u.Writes, &u.Committed, &u.Unaudited,
		&u.Denied, &u.Erased} {
		counter.Store(0)
	}
}

// NoteWrite counts a change of an owner's records that is asked for.
func (tx *Tx) NoteWrite(ownerName []byte) {
	if tx.draft != nil {
		tx.draft.asked++
		return
	}
	tx.e.stats.Records.Writes.Add(1)
	if owner := tx.knownOwner(ownerName); owner != nil {
		owner.uses.Writes.Add(1)
	} else {
		tx.record.firsts++
	}
}

// NoteCommitted counts one that is made.
func (tx *Tx) NoteCommitted(ownerName []byte) {
	if tx.draft != nil {
		tx.draft.made++
		return
	}
	tx.e.stats.Records.Committed.Add(1)
	if owner := tx.knownOwner(ownerName); owner != nil {
		owner.uses.Committed.Add(1)
		owner.uses.Writes.Add(tx.record.firsts)
		tx.record.firsts = 0
	}
}

// noteChanges counts changes of an owner's records that were asked for and made.
func (tx *Tx) noteChanges(owner *Owner, asked, made int64) {
	for _, u := range []*Uses{&tx.e.stats.Records, &owner.uses} {
		u.Writes.Add(asked)
		u.Committed.Add(made)
	}
}

// NoteForgotten counts the change that was the end of the record key.
func (tx *Tx) NoteForgotten(key []byte) {
	owner := key[:tx.Layout().OwnerLen(key)]
	tx.NoteWrite(owner)
	tx.NoteCommitted(owner)
}

// NoteRead counts a record that was asked for by its key, and audits it as the
// policy says; encoded is what was found, nil: nothing. It does not allocate. An
// owner that never was has no chain, so reads of its records leave no event.
func (tx *Tx) NoteRead(key memory.Key, encoded []byte) {
	tx.noteRead(tx.knownOwner(key.Owner()), key.Text, encoded)
}

// NoteReadOf is NoteRead for a record that Record found.
func (tx *Tx) NoteReadOf(s *Stored) { tx.noteRead(s.owner, s.Key, s.Bytes) }

func (tx *Tx) noteRead(owner *Owner, key, encoded []byte) {
	hit := encoded != nil
	tx.e.stats.Records.read(hit)
	if owner == nil {
		return
	}
	owner.uses.read(hit)
	if tx.auditsReads(key) {
		version := uint64(0)
		if hit {
			version, _ = memory.DecodeHead(encoded)
		}
		tx.auditRead(owner, memory.OpGet, key, version)
	}
}

// NoteRecall counts a search, and whether it found something.
func (tx *Tx) NoteRecall(hit bool) { tx.e.stats.Records.recall(hit) }

// NoteRecallOf counts what a search did in one of the owners that it asked, and
// audits it if the policy says so of what it read there, scope, or of one of the
// records that it found.
func (tx *Tx) NoteRecallOf(view *OwnerView, scope memory.Scope, found func(yield func(key []byte) bool), hit bool) {
	owner := tx.e.owners.find(view.space, []byte(view.Name))
	if owner == nil {
		return
	}
	owner.uses.recall(hit)
	about := []byte(view.Name)
	if _, one := scope.Owner(); one {
		about = scope.Literal()
	}
	audited := tx.auditsReads(about)
	if !audited && tx.Rules().Policies().Len() > 0 {
		found(func(key []byte) bool {
			audited = string(view.Name) == string(key[:tx.Layout().OwnerLen(key)]) && tx.auditsReads(key)
			return !audited
		})
	}
	if audited {
		tx.auditRead(owner, memory.OpRecall, bytes.TrimSuffix(about, []byte{':'}), 0)
	}
}

// NoteDenied counts a line on records that was denied because of object, a key or a
// scope of database db: with its owner, if it is of one that there is.
func (e *Engine) NoteDenied(db int, object []byte) {
	e.stats.Records.Denied.Add(1)
	var name []byte
	if key, err := e.Layout().ParseKey(object); err == nil {
		name = key.Owner()
	} else if scope, err := e.Layout().ParseScope(object); err == nil {
		name, _ = scope.Owner()
	}
	if owner := e.owners.find(e.owners.space(db), name); owner != nil {
		owner.uses.Denied.Add(1)
	}
}

// noteErased counts records of an owner that were destroyed.
func (tx *Tx) noteErased(owner *Owner, records int64) {
	for _, u := range []*Uses{&tx.e.stats.Records, &owner.uses} {
		u.Erased.Add(records)
	}
}

func (u *Uses) recall(hit bool) {
	u.Recalls.Add(1)
	if hit {
		u.RecallHits.Add(1)
	}
}

func (u *Uses) read(hit bool) {
	u.Reads.Add(1)
	if hit {
		u.Hits.Add(1)
	}
}

// knownOwner is an owner of the transaction's database, locked or not; nil when
// there never was one of this name.
func (tx *Tx) knownOwner(name []byte) *Owner {
	space := tx.e.owners.space(tx.DB)
	if owner := tx.lastOwned(space, name); owner != nil {
		return owner
	}
	return tx.e.owners.find(space, name)
}

// OwnerFigures are an owner's, or the sum of several. Records that have expired
// and are not removed yet are counted.
type OwnerFigures struct {
	Owners     int64
	Records    [memory.Semantic + 1]int64 // by kind
	Bytes      int64                      // of keys and encoded records
	Versions   int64                      // that the records which stand had, their own counted
	Sessions   int64
	Facets     int64
	CommandIDs int64
	DroppedIDs int64 // command ids that went before their time, since the start
	Unindexed  int64 // records that a recall reads word by word
	Vectors    int64 // records and items found by one
	Embedded   int64 // of them, those whose vector was made here
	Unembedded int64 // records and items that wait for theirs
	Uses       UseFigures
}

// Owners is how many owners there are, or were since the start.
func (e *Engine) Owners() int64 { return e.owners.made.Load() }

// RecordUses is what was asked of all records.
func (e *Engine) RecordUses() UseFigures { return e.stats.Records.figures() }

// OwnersToIndex is how many owners wait for the indexer.
func (e *Engine) OwnersToIndex() int { return len(e.indexer.queue) }

// OwnerFigures are those of one owner of the transaction's database; ok is false
// when there never was such an owner.
func (tx *Tx) OwnerFigures(name []byte) (f OwnerFigures, ok bool) {
	owner := tx.e.owners.find(tx.e.owners.space(tx.DB), name)
	if owner == nil {
		return f, false
	}
	tx.addFigures(&f, owner)
	f.Unembedded = tx.e.unembedded(owner.space, owner.name)
	f.Uses = owner.uses.figures()
	return f, true
}

// RecordFigures are those of all owners of all databases together, and what was
// asked of them.
func (tx *Tx) RecordFigures() (f OwnerFigures) {
	for db := range tx.e.nDB {
		for _, owner := range tx.e.owners.under(tx.e.owners.space(db), "") {
			tx.addFigures(&f, owner)
		}
	}
	f.Unembedded = tx.e.unembedded(0, "")
	f.Uses = tx.e.stats.Records.figures()
	return f
}

func (tx *Tx) addFigures(f *OwnerFigures, owner *Owner) {
	if owner.holder.Load() != tx {
		owner.mu.Lock()
		defer owner.mu.Unlock()
	}
	f.Owners++
	for kind, n := range owner.tally.kinds {
		f.Records[kind] += int64(n)
	}
	f.Bytes += owner.tally.bytes
	f.Versions += int64(owner.tally.versions)
	f.Sessions += int64(owner.sessions.byName.Len())
	f.Facets += int64(owner.facets.Len())
	f.CommandIDs += int64(owner.ids.Len())
	f.DroppedIDs += int64(owner.ids.Dropped())
	f.Unindexed += int64(owner.waiting + owner.index.Stats().Tail)
	if vectors := owner.viewVectors(); vectors != nil {
		f.Vectors += int64(vectors.Len())
	}
	f.Embedded += int64(len(owner.embedded))
}
