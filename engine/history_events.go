package engine

import (
	"bytes"
	"slices"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns reading an owner's chain of events: what is still in memory joined
// to what the archive holds. It must not know how changes are joined (history.go).

// Events visits the owner's retained events in the same way. event is the
// stored form: link and encoded event.
func (v *OwnerView) Events(fromSeq, toSeq uint64, reverse bool, visit func(seq uint64, event []byte) bool) error {
	m := v.merge(fromSeq, toSeq, reverse, func(c *change) bool {
		event := c.event()
		return event == nil || visit(c.seq, event)
	})
	if v.archive != nil && fromSeq <= v.Seq {
		opener := v.opener()
		err := v.archive.Events(v.space, []byte(v.Name), fromSeq, min(toSeq, v.Seq), reverse, func(seq uint64, _ int64, event []byte) bool {
			return m.archived(seq, func() bool { return visit(seq, opener.event(seq, event)) })
		})
		if err != nil {
			return err
		}
	}
	m.rest()
	return nil
}

// EventOf is the event of a change that made a version of the record key; ok is
// false when it is not retained. It may read from disk.
func (v *OwnerView) EventOf(key []byte, made *Change) (e memory.Event, ok bool, err error) {
	// Batches without a sequence are the last.
	at := position(made.Seq)
	var events []memory.Event
	err = v.Events(at, at, false, func(_ uint64, event []byte) bool {
		var e memory.Event
		_, encoded, bad := memory.SplitLinked(event)
		if bad == nil && memory.DecodeEvent(slices.Clone(encoded), &e) == nil && e.Op.MakesVersion() && e.Version == made.Version && string(e.Key) == string(key) {
			events = append(events, e)
		}
		return true
	})
	if err != nil || len(events) == 0 {
		return memory.Event{}, false, err
	}
	if len(events) == 1 {
		return events[0], true, nil
	}
	// A record that was forgotten and began again in one batch made the version
	// several times, and each of them has its event.
	nth, seen := 0, 0
	err = v.History(key, at, at, false, func(c Change) bool {
		if c.Kind == effect.RecordPut && c.Version == made.Version {
			if bytes.Equal(c.Bytes, made.Bytes) || bytes.Equal(c.Bytes, made.head) {
				nth = seen
			}
			seen++
		}
		return true
	})
	return events[min(nth, len(events)-1)], true, err
}

// AwaitChain makes the reply wait until the whole chain of a view is durable.
func (tx *Tx) AwaitChain(v *OwnerView) {
	tx.gateSeq = max(tx.gateSeq, v.lastSeq)
	if tx.batch.Len() > 0 {
		tx.Durable()
	}
}

// Verify walks the owner's whole chain of events. It may read from disk. What it
// says may leave once the chain is durable (AwaitChain).
func (v *OwnerView) Verify() (memory.ChainState, error) {
	open := false // events of a batch that has no sequence yet
	var err error
	state := memory.Verify(v.forgotten, func(yield func(uint64, []byte) bool) {
		err = v.Events(0, ^uint64(0), false, func(seq uint64, event []byte) bool {
			open = open || seq == 0
			return yield(position(seq), event)
		})
	})
	if err != nil || !state.OK() {
		return state, err
	}
	if state.Head != v.Head || !open && state.LastSeq != v.lastSeq {
		// The head is kept apart: events at the end are missing, or the last
		// batch has another sequence.
		state.FirstBad = max(state.LastSeq, v.lastSeq, 1)
	}
	return state, nil
}
