package persistence

import (
	"bytes"
	"cmp"
	"slices"
)

// This file owns range deletions as a list in order without overlaps.

// collectionRun is consecutive collections of a keyspace.
type collectionRun struct {
	keyspace    uint32
	first, last uint64
}

// mergedCollections are the collections that were deleted from keyspaces that
// still are, neighbours as one: many small hashes that expire together, and so
// were mostly made together, cost one range deletion, not one each.
func (e *emitter) mergedCollections() []collectionRun {
	list := e.deadCollections
	slices.SortFunc(list, func(a, b collection) int {
		return cmp.Or(cmp.Compare(a.keyspace, b.keyspace), cmp.Compare(a.number, b.number))
	})
	var runs []collectionRun
	for _, c := range list {
		if e.dead[c.keyspace] {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].keyspace == c.keyspace && c.number <= runs[n-1].last+1 {
			runs[n-1].last = c.number
			continue
		}
		runs = append(runs, collectionRun{c.keyspace, c.number, c.number})
	}
	return runs
}

// sortSpans orders spans and joins those that overlap or touch.
func sortSpans(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.from, b.from) })
	joined := spans[:0]
	for _, s := range spans {
		if n := len(joined); n > 0 && bytes.Compare(s.from, joined[n-1].to) <= 0 {
			if bytes.Compare(s.to, joined[n-1].to) > 0 {
				joined[n-1].to = s.to
			}
			continue
		}
		joined = append(joined, s)
	}
	return joined
}
