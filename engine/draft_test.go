package engine

import (
	"maps"

	"reminis/engine/memory"
)

// This file owns drafts in the metamorphic test of memory records (records_test.go):
// changes of an owner of which all happen, or none.

// draft does the changes of the keys that are of the first one's owner as a draft,
// which is published or discarded.
func (w *recordWorld) draft(tx *Tx, s *modelSpace, keys [][]byte, happened *[]pendingTold) {
	var drafted []memory.Key
	for _, key := range keys {
		if ownerOf(string(key)) == ownerOf(string(keys[0])) {
			parsed, err := w.e.Layout().ParseKey(key)
			if err != nil {
				w.t.Fatal(err)
			}
			drafted = append(drafted, parsed)
		}
	}
	before := s.clone()
	changed, told := tx.Effects(), len(tx.events)
	tx.Draft(drafted)
	w.drafting = true
	for _, key := range drafted {
		w.change(tx, s, string(key.Text), "", happened)
		w.seeDraft(tx, s, key)
	}
	w.drafting = false
	if tx.Effects() != changed {
		w.t.Fatalf("a draft has put %d effects into the batch", tx.Effects()-changed)
	}
	if w.r.IntN(2) == 0 {
		tx.Publish()
		return
	}
	durable := tx.batch.Durable
	tx.Discard()
	*s, *happened = before, nil
	if tx.Effects() != changed || len(tx.events) != told || len(tx.record.fresh) != 0 || tx.batch.Durable && !durable {
		w.t.Fatalf("a draft that was discarded leaves %d effects, %d events, %d records", tx.Effects()-changed, len(tx.events)-told, len(tx.record.fresh))
	}
}

// seeDraft compares what the next change of the draft sees of a record.
func (w *recordWorld) seeDraft(tx *Tx, s *modelSpace, key memory.Key) {
	stood, ok, err := tx.Record(key.Text)
	want, exists := s.records[string(key.Text)]
	if err != nil || ok != exists {
		w.t.Fatalf("%s in a draft: %v, %v, want %v", key.Text, ok, err, exists)
	}
	var r memory.Record
	if ok {
		stood.Decode(&r)
		if string(r.Value) != want.value || r.Version != want.version || stood.DeadlineMs != want.deadlineMs {
			w.t.Fatalf("%s in a draft: %q, version %d, deadline %d, want %+v", key.Text, r.Value, r.Version, stood.DeadlineMs, want)
		}
	}
}

func (s *modelSpace) clone() modelSpace {
	c := *s
	c.records, c.events, c.ids = maps.Clone(s.records), maps.Clone(s.events), maps.Clone(s.ids)
	return c
}
