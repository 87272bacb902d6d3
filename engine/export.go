package engine

import (
	"slices"

	"reminis/engine/memory"
)

// This file owns what a copy of an owner at one moment is made from. It must not
// know the form of the copy.

// LastSeq is a batch that views made from now on contain, and all before it.
func (tx *Tx) LastSeq() uint64 { return tx.e.owners.lastSeq.Load() }

// ChangedSince says whether the view has changes after batch seq.
func (v *OwnerView) ChangedSince(seq uint64) bool {
	n := len(v.pending)
	return v.lastSeq > seq || n > 0 && v.pending[n-1].seq > seq
}

// Names lists the names of the view's records in the scope, in order; with past
// also those that only history knows. It may read from disk.
func (tx *Tx) Names(v *OwnerView, scope memory.Scope, past bool) (names []string, err error) {
	seen := map[string]struct{}{}
	note := func(key []byte) {
		if len(key) > 0 && scope.Contains(key) {
			seen[string(key)] = struct{}{}
		}
	}
	v.Ascend(nil, func(r Stored, _ uint64) bool {
		note(r.Key)
		return true
	})
	if past {
		for i := range v.pending {
			if c := &v.pending[i]; c.kind().ChangesRecord() {
				note(c.key())
			}
		}
		if v.archive != nil {
			err = v.archive.Names(v.space, []byte(v.Name), note)
		}
	}
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, err
}

// NoteExport has an owner's chain say that it was copied.
func (tx *Tx) NoteExport(v *OwnerView) {
	if owner := tx.e.owners.find(v.space, []byte(v.Name)); owner != nil {
		tx.auditRead(owner, memory.OpExport, nil, 0)
	}
}
