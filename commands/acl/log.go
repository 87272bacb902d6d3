package acl

// This file owns the log of denials: alike ones are one entry. It must not know
// how entries are shown.

import (
	"slices"
	"sync"
)

const (
	// logAlikeMs is how long a denial is counted with one that is alike.
	logAlikeMs = 60_000
	// logSearchMax is how many entries are looked at for one that is alike.
	logSearchMax = 10
)

// Denied is an entry of the log.
type Denied struct {
	Count   int64
	Reason  Denial
	Context string // toplevel, multi, lua
	Object  string // the command, key, channel or scope
	User    string
	TimeMs  int64  // of the last one
	Client  string // who it was, as CLIENT LIST shows it; the last one
}

func (d *Denied) alike(other *Denied) bool {
	apart := d.TimeMs - other.TimeMs
	return d.Reason == other.Reason && d.Context == other.Context && d.Object == other.Object && d.User == other.User &&
		max(apart, -apart) <= logAlikeMs
}

// Log is the latest denials, the newest first.
type Log struct {
	mu      sync.Mutex
	entries []*Denied
}

// Add notes a denial and drops the oldest entries beyond limit.
func (l *Log) Add(d Denied, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.Count = 1
	at := slices.IndexFunc(l.entries[:min(len(l.entries), logSearchMax)], d.alike)
	if at >= 0 {
		d.Count += l.entries[at].Count
		l.entries = slices.Delete(l.entries, at, at+1)
	}
	l.entries = slices.Insert(l.entries, 0, &d)
	if at < 0 && len(l.entries) > limit {
		clear(l.entries[max(limit, 0):])
		l.entries = l.entries[:max(limit, 0)]
	}
}

// Latest are the newest entries, at most count.
func (l *Log) Latest(count int) []Denied {
	l.mu.Lock()
	defer l.mu.Unlock()
	latest := make([]Denied, 0, min(count, len(l.entries)))
	for _, d := range l.entries[:min(count, len(l.entries))] {
		latest = append(latest, *d)
	}
	return latest
}

// Reset forgets all entries.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}
