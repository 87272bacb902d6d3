package engine

import (
	"math/bits"
	"strings"
	"sync"

	"reminis/engine/memory"
)

// This file owns keyspace events: what a transaction tells of keys, and the order
// in which it is heard. It must not know channels, or who listens.

// EventClass is a set of the classes that notify-keyspace-events chooses from.
type EventClass uint32

const (
	EventKeyspace EventClass = 1 << iota // told by key
	EventKeyevent                        // told by event
	EventGeneric                         // DEL, EXPIRE, RENAME, …
	EventString
	EventList
	EventSet
	EventHash
	EventSortedSet
	EventExpired
	EventEvicted
	EventStream
	EventRecord // what Redis calls module keys
	EventNew    // a key came to be
	EventMiss   // a key that was read is not there
)

// eventLetters are the letters of the classes, in their order.
const eventLetters = "KEg$lshzxetdnm"

// EventAll is what the letter A stands for.
const EventAll = EventGeneric | EventString | EventList | EventSet | EventHash | EventSortedSet | EventExpired | EventEvicted | EventStream | EventRecord

// SetEvents has the events of these classes told: letters of
// notify-keyspace-events.
func (l *Limits) SetEvents(letters string) { l.Events.Store(uint32(parseEventClasses(letters))) }

// parseEventClasses reads the letters of notify-keyspace-events; others are
// nothing.
func parseEventClasses(letters string) EventClass {
	var set EventClass
	for _, letter := range letters {
		if letter == 'A' {
			set |= EventAll
		} else if at := strings.IndexRune(eventLetters, letter); at >= 0 {
			set |= 1 << at
		}
	}
	return set
}

// Event is one keyspace event.
type Event struct {
	Name string
	Key  string
	DB   int
	// Seq must be durable before anybody hears of the event.
	Seq uint64
}

// events is the way of events out of the engine. They are queued while the locks
// of their keys are held, so that those of a key are in the order of its changes,
// and heard once the locks are released, by one goroutine at a time.
//
// Lock order: shards and owners, then mu. Nothing is locked while hearing is,
// but what the listener locks.
type events struct {
	hear    func(x *Event)
	hearing sync.Mutex
	mu      sync.Mutex
	queue   []Event
	spare   []Event
}

// OnEvent has hear called for each event, in order; x is valid during the call
// only. It is set before the first transaction.
func (e *Engine) OnEvent(hear func(x *Event)) { e.events.hear = hear }

// Notify tells of an event of key in the transaction's database. Events that
// nobody asked for cost one look at a set.
func (tx *Tx) Notify(class EventClass, name string, key []byte) { tx.NotifyIn(tx.DB, class, name, key) }

// NotifyIn is Notify in another database.
func (tx *Tx) NotifyIn(db int, class EventClass, name string, key []byte) {
	if EventClass(tx.e.Limits.Events.Load())&class == 0 || tx.replaying {
		return
	}
	tx.events = append(tx.events, Event{Name: name, Key: string(key), DB: db})
}

// queueEvents hands the transaction's events over. Its locks are still held.
func (tx *Tx) queueEvents() {
	gate := tx.gateSeq
	for m := tx.held; m != 0; m &= m - 1 {
		gate = max(gate, tx.e.shards[bits.TrailingZeros64(m)].gateSeq)
	}
	for _, o := range tx.owned {
		gate = max(gate, o.gateSeq)
	}
	for i := range tx.events {
		tx.events[i].Seq = gate
	}
	q := &tx.e.events
	q.mu.Lock()
	q.queue = append(q.queue, tx.events...)
	q.mu.Unlock()
	clear(tx.events)
	tx.events = tx.events[:0]
}

// deliver has everything heard that is queued. When it returns, what the caller
// has queued was heard, by it or by another. No lock of data is held.
func (q *events) deliver() {
	q.hearing.Lock()
	defer q.hearing.Unlock()
	q.mu.Lock()
	list := q.queue
	q.queue = q.spare
	q.mu.Unlock()
	if q.hear != nil {
		for i := range list {
			q.hear(&list[i])
		}
	}
	clear(list)
	q.spare = list[:0]
}

// The events of records. One that goes is also told of as any key is (del,
// expired).
const (
	eventSet     = "mem.set"
	eventPatch   = "mem.patch"
	eventAppend  = "mem.append"
	eventForget  = "mem.forget"
	eventExpired = "mem.expired"
)

// recordEvent is how a write of a record is told of; its audit event may be nil.
func recordEvent(event *memory.Event) string {
	switch {
	case event != nil && event.Op == memory.OpPatch:
		return eventPatch
	case event != nil && event.Op == memory.OpAppend:
		return eventAppend
	}
	return eventSet
}
