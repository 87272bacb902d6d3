package memory

// This file owns what a record is. It knows neither how it is encoded
// (codec.go) nor where it is kept.

import (
	"bytes"
)

// DefaultConfidence is that of a record whose writer stated none.
const DefaultConfidence = 1.0

// Record is one version of a memory. Times are Unix milliseconds, 0 meaning
// none; texts are nil when absent. After Decode every slice aliases the encoded
// bytes and must not be written to; Clone makes it independent.
type Record struct {
	Value      []byte // JSON, or text when Text is set
	Text       bool
	Kind       Kind
	Pinned     bool
	Version    uint64 // from 1
	Seq        uint64 // of the batch that wrote it; 0 until it is known
	Confidence float64
	Schema     []byte
	Source     []byte
	Tags       [][]byte
	Anchor     []byte // explicit; nil: AnchorText derives it from Value
	Vector     []byte // reserved: little-endian float32
	Operator   []byte
	Trace      []byte
	Reason     []byte
	Meta       []byte // JSON

	CreatedMs    int64
	UpdatedMs    int64
	ValidFromMs  int64
	ValidUntilMs int64
	DeadlineMs   int64 // as this version was written; EXPIRE does not make a version
	SlideMs      int64 // TTL that begins anew with every write; 0: none

	// A list is a record whose value is an array that grew by appending: its
	// items are kept apart, numbered from First to before Next, and Value is
	// empty until they are joined. List tells it from other lists of its key; 0:
	// the record is no list. ItemBytes is what the items' texts take.
	List, First, Next, ItemBytes uint64

	// Unknown holds the fields of a newer version of this program that may be
	// ignored, encoded; they are written back as they were.
	Unknown []byte
}

// Reset empties the record for reuse; the capacity of Tags stays.
func (r *Record) Reset() { *r = Record{Tags: r.Tags[:0], Confidence: DefaultConfidence} }

// Clone gives a record that shares no bytes with r.
func (r *Record) Clone() *Record {
	c := *r
	for _, field := range []*[]byte{&c.Value, &c.Schema, &c.Source, &c.Anchor, &c.Vector,
		&c.Operator, &c.Trace, &c.Reason, &c.Meta, &c.Unknown} {
		*field = bytes.Clone(*field)
	}
	c.Tags = nil
	for _, tag := range r.Tags {
		c.Tags = append(c.Tags, bytes.Clone(tag))
	}
	return &c
}

// ValidAt says whether the record's validity covers the time: from ValidFrom,
// included, until ValidUntil, excluded.
func (r *Record) ValidAt(timeMs int64) bool {
	return (r.ValidFromMs == 0 || r.ValidFromMs <= timeMs) &&
		(r.ValidUntilMs == 0 || timeMs < r.ValidUntilMs)
}

// HasTag says whether the record carries the tag.
func (r *Record) HasTag(tag []byte) bool {
	for _, own := range r.Tags {
		if bytes.Equal(own, tag) {
			return true
		}
	}
	return false
}

// AnchorText appends the text that the record is found by: its anchor if it has
// one; else a text value itself; else all string leaves of the JSON value in
// document order, separated by spaces. Names of members, numbers and true,
// false, null are not text. The result is valid UTF-8.
func (r *Record) AnchorText(dst []byte) []byte {
	switch {
	case len(r.Anchor) > 0:
		return append(dst, r.Anchor...)
	case r.Text:
		return append(dst, r.Value...)
	}
	return appendStringLeaves(dst, r.Value)
}

// DeadlineAfterWrite gives the deadline of a record under this rule that is
// written at nowMs without a TTL option: the default TTL for a new record or one
// whose TTL slides, else what stood. slideMs is what the new version carries as
// SlideMs.
//
// A deadline that somebody set explicitly, with the write or after it, does not
// slide.
func (r Rule) DeadlineAfterWrite(nowMs int64, old *Record, oldDeadlineMs int64) (deadlineMs, slideMs int64) {
	slides := old != nil && old.SlideMs > 0 && oldDeadlineMs != 0 && oldDeadlineMs == old.DeadlineMs
	switch {
	case old != nil && !slides:
		return oldDeadlineMs, 0
	case r.TTLMs == 0:
		return 0, 0
	case r.Slides:
		slideMs = r.TTLMs
	}
	return nowMs + r.TTLMs, slideMs
}
