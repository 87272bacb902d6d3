package commands

import (
	"slices"
	"strconv"
	"sync"

	"reminis/engine/memory"
)

// This file owns what the server's own chain keeps of denials on memory records.
// Alike denials within a minute are one event, and one more that says how many
// came after it: written with the first denial of any kind after that minute. So
// whoever is denied cannot fill the journal. It must not know why something was
// denied.

const (
	denialWindowMs = 60_000
	// denialKindsMax bounds the kinds of denial that are counted at a time; beyond
	// it they are one kind, whatever was asked for.
	denialKindsMax = 1024
)

// denialKind is what makes denials alike.
type denialKind struct{ user, command, object string }

// denialCount is the denials of a kind since the event of the first.
type denialCount struct {
	sinceMs int64
	more    int64
	client  string
}

// deniedEvent is an event to be written.
type deniedEvent struct {
	denialKind
	client string
	count  int64
}

// deniedEvents coalesces denials into events.
type deniedEvents struct {
	mu    sync.Mutex
	kinds map[denialKind]*denialCount
	due   []deniedEvent
}

// note counts a denial.
func (d *deniedEvents) note(kind denialKind, client string, nowMs int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep(nowMs)
	if d.kinds == nil {
		d.kinds = map[denialKind]*denialCount{}
	}
	if d.kinds[kind] == nil && len(d.kinds) >= denialKindsMax {
		kind = denialKind{}
	}
	if known := d.kinds[kind]; known != nil {
		known.more++
		known.client = client
		return
	}
	d.kinds[kind] = &denialCount{sinceMs: nowMs, client: client}
	d.due = append(d.due, deniedEvent{kind, client, 1})
}

// sweep ends the counts whose minute is over.
func (d *deniedEvents) sweep(nowMs int64) {
	var over []deniedEvent
	for kind, count := range d.kinds {
		if nowMs-count.sinceMs < denialWindowMs {
			continue
		}
		if count.more > 0 {
			over = append(over, deniedEvent{kind, count.client, count.more})
		}
		delete(d.kinds, kind)
	}
	slices.SortFunc(over, func(a, b deniedEvent) int {
		return slices.Compare([]string{a.user, a.command, a.object}, []string{b.user, b.command, b.object})
	})
	d.due = append(d.due, over...)
}

// take gives the events to write.
func (d *deniedEvents) take() []deniedEvent {
	d.mu.Lock()
	defer d.mu.Unlock()
	due := d.due
	d.due = nil
	return due
}

// auditDenial notes that c was denied to the session's user because of object.
// Inside EXEC nothing is written yet: its transaction holds locks.
func (s *Session) auditDenial(c *Command, object []byte) {
	kind := denialKind{s.User(), c.FullName(), string(object[:min(len(object), denialObjectMax)])}
	s.Core.Engine.NoteDenied(s.DB, object)
	s.Core.denied.note(kind, s.client, s.Core.Engine.NowMs())
	if s.tx == nil {
		s.Core.writeDenials()
	}
}

// writeDenials writes the events that are due. While the journal takes no
// changes they wait.
func (k *Core) writeDenials() {
	if k.Engine.Ready() != nil {
		return
	}
	due := k.denied.take()
	if len(due) == 0 {
		return
	}
	tx := k.Engine.Begin()
	for i := range due {
		d := &due[i]
		event := tx.NewEvent()
		event.Op, event.User, event.Operator, event.Client = memory.OpDenied, []byte(d.user), []byte(d.user), []byte(d.client)
		event.Key, event.Reason = []byte(d.object), []byte(d.command)
		if d.count > 1 {
			event.Reason = append(event.Reason, ", "+strconv.FormatInt(d.count, 10)+" times"...)
		}
		tx.AppendEvent(nil, &event)
		tx.Commit()
	}
	tx.Done()
}
