package engine

import (
	"encoding/binary"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns the changes of owners that the archive may not have yet, and the
// head of the chain that their events make. It must not know what a change means.

// change is one change of a record or one event, as history needs it.
type change struct {
	seq    uint64
	timeMs int64
	// of is the record or the item that it made, nil when it made none.
	of item
	// packed is the rest, in one block without pointers, since most changes go to
	// the archive unread:
	//
	//	1 kind | 1 whether there is an event | uvarint version, of an ItemPut the
	//	item's number | varint deadline, ms | uvarint list | uvarint length of key |
	//	key, where of has none | event: link and encoded event
	packed []byte
}

// changeFacts are what is packed of a change but its key.
type changeFacts struct {
	version    uint64
	deadlineMs int64
	list       uint64
}

// newChange is the change that an effect is. It aliases none of it.
func newChange(x *effect.Effect, of item) change {
	var key []byte
	if of == nil && x.Kind.ChangesRecord() {
		key = x.Key
	}
	var room [2 + 4*binary.MaxVarintLen64]byte
	head := room[:2]
	head[0] = byte(x.Kind)
	if len(x.Event) > 0 {
		head[1] = 1
	}
	head = binary.AppendUvarint(head, uint64(x.Number))
	head = binary.AppendVarint(head, x.DeadlineMs)
	head = binary.AppendUvarint(head, x.List)
	head = binary.AppendUvarint(head, uint64(len(key)))
	packed := make([]byte, 0, len(head)+len(key)+len(x.Event))
	return change{of: of, packed: append(append(append(packed, head...), key...), x.Event...)}
}

// changeBytes is what a change takes beside its blocks.
const changeBytes = 72

// sizeBytes is what the change takes until the archive has it. A record that still
// stands is counted too.
func (c *change) sizeBytes() int64 { return int64(changeBytes + len(c.packed) + len(c.of)) }

func sizeOf(changes []change) (sizeBytes int64) {
	for i := range changes {
		sizeBytes += changes[i].sizeBytes()
	}
	return sizeBytes
}

// at is the change as one of batch seq.
func (c change) at(seq uint64, timeMs int64) change {
	c.seq, c.timeMs = seq, timeMs
	return c
}

func (c *change) kind() effect.Kind { return effect.Kind(c.packed[0]) }
func (c *change) hasEvent() bool    { return c.packed[1] != 0 }

// unpack takes the packed block apart.
func (c *change) unpack() (facts changeFacts, key, event []byte) {
	rest := c.packed[2:]
	next := func() uint64 {
		n, size := binary.Uvarint(rest)
		rest = rest[size:]
		return n
	}
	facts.version = next()
	deadlineMs, size := binary.Varint(rest)
	facts.deadlineMs, rest = deadlineMs, rest[size:]
	facts.list = next()
	keyLen := next()
	key, event = rest[:keyLen], rest[keyLen:]
	return facts, key, event
}

func (c *change) facts() changeFacts {
	facts, _, _ := c.unpack()
	return facts
}

// key is that of the record which changed, empty when none did.
func (c *change) key() []byte {
	switch {
	case c.of == nil:
		_, key, _ := c.unpack()
		return key
	case c.of.isPart():
		return c.of.recordKey()
	}
	return c.of.key()
}

// value is the encoded record or item that the change made, nil when it made none.
func (c *change) value() []byte {
	if c.of == nil {
		return nil
	}
	return c.of.record()
}

// event is the link and the encoded event, nil when there is none.
func (c *change) event() []byte {
	if !c.hasEvent() {
		return nil
	}
	_, _, event := c.unpack()
	return event
}

// remember keeps a change until the archive has it and moves the chain on. The
// sequence is filled in when the batch has it.
// of is what it made.
func (o *Owner) remember(tx *Tx, x *effect.Effect, of item) {
	if tx.restoring {
		return
	}
	if len(x.Event) > 0 {
		if err := o.chain(x.Event); err != nil {
			panic("engine: an event effect does not decode: " + err.Error())
		}
	}
	c := newChange(x, of)
	o.pending = append(o.pending, c)
	tx.e.owners.pendingBytes.Add(c.sizeBytes())
}

// chain moves the head of the chain to a stored event.
func (o *Owner) chain(stored []byte) error {
	link, encoded, err := memory.SplitLinked(stored)
	if err != nil {
		return err
	}
	timeMs, err := memory.EventTimeMs(encoded)
	if err != nil {
		return err
	}
	o.link, o.lastMs = link, max(o.lastMs, timeMs)
	return nil
}

// commitRecords gives what this transaction changed its sequence and time. The
// owners are still locked.
func (tx *Tx) commitRecords(seq uint64, timeMs int64) {
	for _, it := range tx.record.fresh {
		it.setSeq(seq)
	}
	if len(tx.owned) > 0 {
		tx.e.owners.raise(seq)
	}
	for _, owner := range tx.owned {
		touched, chained := false, false
		for i := len(owner.pending) - 1; i >= 0 && owner.pending[i].seq == 0; i-- {
			c := &owner.pending[i]
			*c = c.at(seq, timeMs)
			touched = true
			chained = chained || c.hasEvent()
		}
		if chained && tx.e.onAudit != nil && !tx.replaying {
			tx.tellAudit(owner, seq)
		}
		if chained {
			owner.lastSeq = seq
		}
		if len(owner.erasing) > 0 {
			owner.erased, owner.erasing = owner.erased.with(owner.erasing, seq), nil
		}
		if touched {
			owner.bound(tx.e)
			if tx.batch.Durable {
				owner.gateSeq = seq
			}
		}
	}
}

// Audited is an event as it is committed. Space is the number that stays the
// owner's whatever database it is in; the owner of the server's chain has no name.
// Event is the stored form (memory.SplitLinked) and never changes.
type Audited struct {
	DB    int
	Space uint32
	Owner string
	Seq   uint64
	Event []byte
}

// OnAudit has hear called for each event that is added to a chain, in the order
// of the chain. It is called with locks
// held, so it must not wait, and before the event is durable. event is the stored
// form (memory.SplitLinked) and never changes. It is set before anything is
// written.
func (e *Engine) OnAudit(hear func(a Audited)) { e.onAudit = hear }

// tellAudit tells of the events that batch seq added to an owner's chain.
func (tx *Tx) tellAudit(owner *Owner, seq uint64) {
	first := len(owner.pending)
	for first > 0 && owner.pending[first-1].seq == seq {
		first--
	}
	db := max(0, tx.e.owners.database(owner.space))
	for i := first; i < len(owner.pending); i++ {
		if event := owner.pending[i].event(); event != nil {
			tx.e.onAudit(Audited{db, owner.space, owner.name, seq, event})
		}
	}
}

// bound keeps pending changes from growing without end: the archive takes them
// over at its next checkpoint, or, without an archive, the oldest go.
func (o *Owner) bound(e *Engine) {
	if e.archive != nil {
		e.owners.note(o)
		e.askArchive()
		return
	}
	limit := e.owners.options.PendingMax
	if len(o.pending) <= limit+limit/4 {
		return
	}
	gone := len(o.pending) - limit
	for gone < len(o.pending) && o.pending[gone].seq == o.pending[gone-1].seq {
		gone++
	}
	o.lost = true
	o.forgotten = memory.Verify(o.forgotten, func(yield func(uint64, []byte) bool) {
		for i := range o.pending[:gone] {
			c := &o.pending[i]
			if event := c.event(); event != nil && !yield(c.seq, event) {
				return
			}
		}
	})
	e.owners.pendingBytes.Add(-sizeOf(o.pending[:gone]))
	o.pending = append([]change(nil), o.pending[gone:]...)
}

// pendingBytesMax is how much memory changes may take before the archive is asked
// to take them over, ahead of its time. With 16 MB a server that writes records as
// fast as it can spent half of its processor time on checkpoints.
const pendingBytesMax = 128 << 20

// With maxmemory it is that share of it, but not less than pendingBytesLeast: changes
// come on top of what maxmemory bounds.
const (
	pendingShare      = 4
	pendingBytesLeast = 8 << 20
)

// PendingBytes is how much memory the changes take that the archive may not have.
func (e *Engine) PendingBytes() int64 { return e.owners.pendingBytes.Load() }

// OnPending has ask called when the archive is to take changes over soon. It must not
// wait. It is set before anything is written.
func (e *Engine) OnPending(ask func()) { e.onPending = ask }

// askArchive asks the archive once, until it has taken some over: where it cannot,
// its own time is soon enough.
func (e *Engine) askArchive() {
	most := int64(pendingBytesMax)
	if limit := e.Limits.MaxMemory.Load(); limit > 0 {
		most = min(most, max(limit/pendingShare, pendingBytesLeast))
	}
	if e.onPending != nil && e.owners.pendingBytes.Load() > most && e.owners.archiveAsked.CompareAndSwap(false, true) {
		e.onPending()
	}
}
