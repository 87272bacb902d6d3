package engine

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns the sessions of an owner: which there are and when something
// last happened in each. It must not know commands.
//
// A session is the segment behind the owner in the keys of working and session
// records. It is there as long as such a record is, and it is kept up where
// records come and go (keep, drop), so nothing of it is stored. One that was
// opened and has no record yet is a facet, which counts for a time only.

// Session is a session of an owner.
type Session struct {
	Name string
	// LastMs is the newest change among its records, or when it was opened.
	LastMs int64
	// Records counts its working and session records, expired ones not yet
	// removed included.
	Records int
	// OpenedMs is when it was opened, if that is still known; else 0.
	OpenedMs int64

	// placedMs is where it is in the order of sessions, if placed says that it is.
	placedMs int64
	placed   bool
	// moved says that it is to be put where it belongs.
	moved bool
}

// facetSession names the facet of an opened session: this, then the session.
const facetSession = "session/"

// sessionIdleMs is how long a session that was opened waits for its first
// record: as long as a session record stands without a change.
func sessionIdleMs() int64 { return memory.Session.Rule().TTLMs }

// openSweep bounds the openings that one OpenSession forgets because they have
// waited too long. It adds one, so they do not add up.
const openSweep = 16

// Waits says whether the session is there without a record, because it was
// opened.
func (s *Session) Waits(nowMs int64) bool {
	return s.OpenedMs != 0 && nowMs-s.OpenedMs <= sessionIdleMs()
}

// SessionPlace is a place in the order of sessions, newest activity first. The
// zero place is before all.
type SessionPlace struct {
	LastMs int64
	Name   string
}

// sessionIndex is the sessions of an owner by name, and by last activity: a write
// only notes that its session has moved, and who reads the order puts those that
// did where they belong.
type sessionIndex struct {
	byName btree.Map[string, Session]
	recent *btree.BTreeG[SessionPlace] // nil: empty
	moved  []string
	// lastMs is the time that the newest opening is named after.
	lastMs int64
}

// newerPlace is the order of sessions.
func newerPlace(a, b SessionPlace) bool {
	return cmp.Or(cmp.Compare(b.LastMs, a.LastMs), strings.Compare(b.Name, a.Name)) < 0
}

// copy is the index for somebody else, who may change it.
func (x *sessionIndex) copy() sessionIndex {
	c := sessionIndex{byName: *x.byName.Copy(), moved: slices.Clip(x.moved), lastMs: x.lastMs}
	if x.recent != nil {
		c.recent = x.recent.Copy()
	}
	return c
}

// count notes that a record came in the place of another; nil: none.
func (x *sessionIndex) count(owner string, it, old item) {
	is, was := it.inSession(), old.inSession()
	if !is && !was {
		return
	}
	key := it
	if it == nil {
		key = old
	}
	name := memory.Key{Text: key.key(), OwnerLen: len(owner)}.Session()
	s, ok := x.byName.Get(string(name))
	if !ok {
		s.Name = string(name)
	}
	before := s
	if was {
		s.Records--
	}
	if is {
		_, updatedMs := memory.DecodeHead(it.record())
		s.Records++
		s.LastMs = max(s.LastMs, updatedMs)
	}
	if s != before || !ok {
		x.put(s)
	}
}

// inSession says whether the item is a record that makes a session.
func (it item) inSession() bool {
	return it != nil && !it.isPart() && (it.kind() == memory.Working || it.kind() == memory.Session)
}

// opened notes when a session was opened; 0 when that is to be forgotten.
func (x *sessionIndex) opened(name string, openedMs int64) {
	s, ok := x.byName.Get(name)
	if !ok {
		s.Name = name
	}
	s.OpenedMs, s.LastMs = openedMs, max(s.LastMs, openedMs)
	x.lastMs = max(x.lastMs, openedMs, sessionTimeMs(name))
	x.put(s)
}

// put makes s what its session is, and ends a session that nothing is left of.
func (x *sessionIndex) put(s Session) {
	if s.Records == 0 && s.OpenedMs == 0 {
		x.byName.Delete(s.Name)
		if s.placed {
			x.recent.Delete(SessionPlace{s.placedMs, s.Name})
		}
		return
	}
	if !s.moved && (!s.placed || s.placedMs != s.LastMs) {
		s.moved = true
		x.moved = append(x.moved, s.Name)
	}
	if x.byName.Set(s.Name, s); len(x.moved) > 2*x.byName.Len()+movedMax {
		x.order() // most have ended, and nobody looks
	}
}

// movedMax is how many more sessions may have moved than twice those that there are.
const movedMax = 64

// order puts the sessions that have moved where they belong.
func (x *sessionIndex) order() *btree.BTreeG[SessionPlace] {
	if x.recent == nil {
		x.recent = btree.NewBTreeGOptions(newerPlace, btree.Options{NoLocks: true})
	}
	for _, name := range x.moved {
		s, ok := x.byName.Get(name)
		if !ok || !s.moved {
			continue // it has ended; or ended and begun anew, and was put there already
		}
		if s.placed {
			x.recent.Delete(SessionPlace{s.placedMs, name})
		}
		s.placedMs, s.placed, s.moved = s.LastMs, true, false
		x.recent.Set(SessionPlace{s.LastMs, name})
		x.byName.Set(name, s)
	}
	x.moved = nil
	return x.recent
}

// sessionChanged follows a facet that apply has set or removed.
func (o *Owner) sessionChanged(x *effect.Effect) {
	name, ok := strings.CutPrefix(string(x.Field), facetSession)
	switch {
	case !ok || o.space == serverSpace:
	case len(x.Value) == 0:
		o.sessions.opened(name, 0)
	default:
		o.sessions.opened(name, int64(binary.BigEndian.Uint64(x.Value)))
	}
}

// Sessions visits the sessions of an owner of the transaction's database that
// stand, those with the newest activity first, from the first one after a place
// on, until visit returns false. It locks the owner.
func (tx *Tx) Sessions(ownerName []byte, after SessionPlace, visit func(s Session) bool) {
	owner := tx.e.owners.find(tx.e.owners.space(tx.DB), ownerName)
	if owner == nil {
		return
	}
	tx.own(owner)
	see := func(at SessionPlace) bool {
		s, _ := owner.sessions.byName.Get(at.Name)
		return at == after || s.Records == 0 && !s.Waits(tx.now) || visit(s)
	}
	order := owner.sessions.order()
	if after == (SessionPlace{}) {
		order.Scan(see)
	} else {
		order.Ascend(after, see)
	}
}

// OpenSession begins a session of the owner under a name that none of its
// records has, nor a session that was opened before: the time in UTC to the
// millisecond, so that names sort by time. It is remembered as session records
// are, and locks the owner.
func (tx *Tx) OpenSession(ownerName []byte) string {
	owner := tx.owner(tx.DB, ownerName)
	tx.sweepOpened(owner)
	ms := max(tx.now, owner.sessions.lastMs+1)
	for ; owner.hasSegment(sessionName(ms)); ms++ {
	}
	name := sessionName(ms)
	tx.setFacet(ownerName, []byte(facetSession+name), binary.BigEndian.AppendUint64(nil, uint64(tx.now)), nil)
	return name
}

// EndSession forgets that a session was opened. Its records are the caller's to
// end. It locks the owner.
func (tx *Tx) EndSession(ownerName []byte, name string) {
	owner := tx.owner(tx.DB, ownerName)
	if s, ok := owner.sessions.byName.Get(name); ok && s.OpenedMs != 0 {
		tx.setFacet(ownerName, []byte(facetSession+name), nil, nil)
	}
}

// endSessions forgets all openings of an owner, which is locked, in db.
func (tx *Tx) endSessions(db int, owner *Owner) {
	var opened []string
	owner.sessions.byName.Scan(func(name string, s Session) bool {
		if s.OpenedMs != 0 {
			opened = append(opened, name)
		}
		return true
	})
	own := tx.DB
	tx.DB = db
	for _, name := range opened {
		tx.EndSession([]byte(owner.name), name)
	}
	tx.DB = own
}

// sweepOpened forgets openings that are too old to count, the oldest first.
func (tx *Tx) sweepOpened(owner *Owner) {
	var stale []string
	owner.facets.Ascend(facetSession, func(name string, value []byte) bool {
		old := strings.HasPrefix(name, facetSession) && tx.now-int64(binary.BigEndian.Uint64(value)) > sessionIdleMs()
		if old {
			stale = append(stale, name)
		}
		return old && len(stale) < openSweep
	})
	for _, name := range stale {
		tx.setFacet([]byte(owner.name), []byte(name), nil, nil)
	}
}

// hasSegment says whether a record of the owner, of any kind, is in a session
// of this name.
func (o *Owner) hasSegment(name string) bool {
	from := o.name + ":" + name
	found := false
	o.records.Ascend(newItem([]byte(from), 0, 0, nil), func(it item) bool {
		found = string(memory.Key{Text: it.key(), OwnerLen: len(o.name)}.Session()) == name
		return false
	})
	return found
}

// The names of opened sessions: year, month, day, hour, minute, second and
// millisecond, in digits alone.
const (
	sessionLayout = "20060102150405"
	sessionDigits = len(sessionLayout) + 3
)

func sessionName(timeMs int64) string {
	text := time.UnixMilli(timeMs).UTC().Format(sessionLayout + ".000")
	return strings.Replace(text, ".", "", 1)
}

// sessionTimeMs is the time that a session is named after, 0 for another name.
func sessionTimeMs(name string) int64 {
	if len(name) != sessionDigits {
		return 0
	}
	t, err := time.Parse(sessionLayout+".000", name[:len(sessionLayout)]+"."+name[len(sessionLayout):])
	if err != nil {
		return 0
	}
	return t.UnixMilli()
}
