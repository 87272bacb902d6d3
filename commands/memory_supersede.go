package commands

import (
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns SUPERSEDES: a record that takes the place of another. It must
// not know which command writes the new one.

// superseding is the end of a record's validity.
type superseding struct {
	change
	next memory.Record
}

// superseded prepares the end of the record that r takes the place of, where r's
// validity begins, or at r's time. It is nil when there is none, or when that
// record's validity ends before. The older record is of the same owner, whose
// lock is held, and must stand.
func (c *change) superseded(r *memory.Record) (*superseding, error) {
	if len(c.supersedes) == 0 {
		return nil, nil
	}
	key, err := c.tx.Layout().ParseKey(c.supersedes)
	switch {
	case err != nil:
		return nil, err
	case string(key.Text) == string(c.key.Text):
		return nil, ErrSupersedesSelf
	case string(key.Owner()) != string(c.key.Owner()):
		return nil, ErrSupersedesOwner
	}
	s := &superseding{change: change{tx: c.tx, key: key, options: c.options, policy: c.tx.Policy(key.Text)}}
	if s.stood, s.exists, err = c.tx.Record(key.Text); err != nil {
		return nil, err
	}
	if !s.exists {
		return nil, ErrSupersedesMissing
	}
	mustDecode(s.stood.Bytes, &s.old)
	endMs := r.ValidFromMs
	if endMs == 0 {
		endMs = r.UpdatedMs
	}
	switch {
	case s.old.ValidUntilMs != 0 && s.old.ValidUntilMs <= endMs:
		return nil, nil
	case s.old.ValidFromMs >= endMs:
		return nil, ErrSupersedesNever
	}
	s.next = s.old
	s.next.Version, s.next.UpdatedMs, s.next.ValidUntilMs = s.old.Version+1, r.UpdatedMs, endMs
	s.next.DeadlineMs, s.next.SlideMs = s.stood.DeadlineMs, 0
	if s.stood.DeadlineMs == s.old.DeadlineMs {
		s.next.SlideMs = s.old.SlideMs
	}
	s.next.Operator, s.next.Trace, s.next.Reason = s.operator(), c.options.trace, c.options.reason
	return s, nil
}

// end writes the older record's last version, in the change of the newer one.
func (s *superseding) end() {
	e := s.event(memory.OpPatch, s.key.Text)
	e.Version, e.OldVersion = s.next.Version, s.old.Version
	s.put(&s.next, &e)
}

// lockRecords locks the records of a write for a handler that runs on a worker;
// where the dispatcher did, it changes nothing.
func lockRecords(tx *engine.Tx, key memory.Key, superseded []byte) {
	if tx.Locked() {
		return
	}
	keys := [][]byte{key.Text}
	if len(superseded) > 0 {
		keys = append(keys, superseded)
	}
	tx.LockRecords(keys, 0)
}
