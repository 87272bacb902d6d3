package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reminis/engine/memory"
)

// This file owns what the metamorphic test asks of sessions, and the tests of
// their rules.

// session opens a session of an owner, or ends one, with and without records.
func (w *recordWorld) session(tx *Tx, s *modelSpace, owner string) {
	if w.r.IntN(2) == 0 {
		for opened := range s.opened {
			if name, ok := strings.CutPrefix(opened, owner+" "); ok && w.r.IntN(2) == 0 {
				tx.EndSession([]byte(owner), name)
				delete(s.opened, opened)
				return
			}
		}
		tx.EndSession([]byte(owner), "s") // which was not opened
		return
	}
	name := tx.OpenSession([]byte(owner))
	if s.opened[owner+" "+name] || name == "s" {
		w.t.Fatalf("%s has a session %s", owner, name)
	}
	s.opened[owner+" "+name] = true
}

// lookSessions compares the sessions that an owner has.
func (w *recordWorld) lookSessions(tx *Tx, s *modelSpace, owner string) {
	w.t.Helper()
	var want, got []string
	for opened := range s.opened {
		if name, ok := strings.CutPrefix(opened, owner+" "); ok {
			want = append(want, name)
		}
	}
	for key, r := range s.records {
		if ownerOf(key) == owner && (r.kind == memory.Working || r.kind == memory.Session) {
			want = append(want, "s")
			break
		}
	}
	last := int64(1) << 62
	tx.Sessions([]byte(owner), SessionPlace{}, func(s Session) bool {
		if s.LastMs > last || s.LastMs > w.clock.ms {
			w.t.Fatalf("%s: %+v comes after one of %d", owner, s, last)
		}
		last = s.LastMs
		got = append(got, s.Name)
		return true
	})
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.t.Fatalf("%s has sessions %v, the model %v", owner, got, want)
	}
}

// TestSessionPlaces: from any place on come those that are listed behind it, and
// a session that becomes active moves to the front.
func TestSessionPlaces(t *testing.T) {
	w := newRecordWorld(t, 1, 10, 0)
	put := func(session string) {
		w.clock.ms++
		tx := w.e.Begin()
		defer tx.Done()
		defer tx.Commit()
		key := "p:u0:" + session + ":k"
		tx.LockRecords([][]byte{[]byte(key)}, 0)
		parsed, err := w.e.Layout().ParseKey([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		tx.PutRecord(parsed, &memory.Record{Value: []byte("1"), Kind: memory.Working, Version: 1, UpdatedMs: w.clock.ms}, nil, Retention{})
	}
	list := func(after SessionPlace) (names []string, last SessionPlace) {
		tx := w.e.Begin()
		defer tx.Done()
		defer tx.Commit()
		tx.Sessions([]byte("p:u0"), after, func(s Session) bool {
			names, last = append(names, s.Name), SessionPlace{s.LastMs, s.Name}
			return len(names) < 2
		})
		return names, last
	}
	for i := range 5 {
		put(fmt.Sprintf("s%d", i))
	}
	first, place := list(SessionPlace{})
	put("s2")
	second, place := list(place)
	third, _ := list(place)
	front, _ := list(SessionPlace{})
	if got := fmt.Sprint(first, second, third, front); got != "[s4 s3] [s1 s0] [] [s2 s4]" {
		t.Error(got)
	}
}

// TestOpenSweeps: openings that have waited too long are forgotten by later
// ones, a few at a time, however many there are.
func TestOpenSweeps(t *testing.T) {
	w := newRecordWorld(t, 1, 10, 0)
	open := func() int {
		tx := w.e.Begin()
		defer tx.Done()
		defer tx.Commit()
		tx.OpenSession([]byte("p:u0"))
		return tx.Effects()
	}
	open() // also draws the owner's key
	for range 3*openSweep - 1 {
		if n := open(); n != 1 {
			t.Fatalf("%d effects", n)
		}
	}
	w.clock.ms += sessionIdleMs() + 1
	for i, want := range []int{openSweep + 1, openSweep + 1, openSweep + 1, 1} {
		if n := open(); n != want {
			t.Errorf("opening %d has %d effects, want %d", i, n, want)
		}
	}
	if n := w.e.owners.find(0, []byte("p:u0")).sessions.byName.Len(); n != 4 {
		t.Errorf("%d sessions are left", n)
	}
}
