package engine

import "sync/atomic"

// This file owns the thresholds that an operator may set while the engine runs,
// with Redis 7.0's names and defaults (redis.conf, "ADVANCED CONFIG").

// Limits are the settable thresholds. Each is safe to read and set at any time;
// a change holds for what is written from then on.
type Limits struct {
	// HashListpackEntries and HashListpackValue bound the packed form of a
	// hash: fields, and bytes of a field or value.
	HashListpackEntries atomic.Int64
	HashListpackValue   atomic.Int64
	// SetIntsetEntries bounds a set of integers that is one sorted block.
	SetIntsetEntries atomic.Int64
	// SortedSetListpackEntries and SortedSetListpackValue bound the packed form of
	// a sorted set: members, and bytes of one.
	SortedSetListpackEntries atomic.Int64
	SortedSetListpackValue   atomic.Int64
	// Uncompressed has DUMP and snapshots leave strings as they are (rdbcompression
	// no).
	Uncompressed atomic.Bool
	// HLLSparse is the longest sparse HyperLogLog in bytes.
	HLLSparse atomic.Int64
	// ListNode is list-max-listpack-size. It decides how DUMP packs the elements of
	// a list, not how they are kept (list.go).
	ListNode atomic.Int64
	// StreamNodeBytes and StreamNodeEntries bound a block of a stream, 0 for none:
	// its size in Redis's form, and entries, deleted ones included.
	StreamNodeBytes   atomic.Int64
	StreamNodeEntries atomic.Int64
	// StringMax is the largest string in bytes (proto-max-bulk-len).
	StringMax atomic.Int64
	// MaxMemory is maxmemory in bytes, 0 for none.
	MaxMemory atomic.Int64
	// GateAll says that every batch must be durable before a reply that shows
	// it leaves (appendfsync always), GateRecords that batches of profile and
	// semantic records must (mem-appendfsync always, the default).
	GateAll, GateRecords atomic.Bool
	// ConsentRequired says that profile and semantic records are written only
	// with their owner's consent, where no policy says otherwise (mem-consent).
	ConsentRequired atomic.Bool
	// Events is the EventClass set of events to tell (notify-keyspace-events).
	Events atomic.Uint32
	// LFU says that Access holds a frequency, not a time (maxmemory-policy).
	LFU atomic.Bool
	// Samples is how many keys each draw of an eviction takes (maxmemory-samples).
	Samples atomic.Int64
	policy  atomic.Uint32
}

func (l *Limits) reset() {
	l.HashListpackEntries.Store(512)
	l.HashListpackValue.Store(64)
	l.SetIntsetEntries.Store(512)
	l.SortedSetListpackEntries.Store(128)
	l.SortedSetListpackValue.Store(64)
	l.HLLSparse.Store(3000)
	l.ListNode.Store(-2)
	l.StreamNodeBytes.Store(4096)
	l.StreamNodeEntries.Store(100)
	l.StringMax.Store(512 << 20)
	l.GateRecords.Store(true)
	l.Samples.Store(5)
}

// shape takes over what decides the form of values.
func (l *Limits) shape(from *Limits) {
	for _, pair := range [][2]*atomic.Int64{
		{&l.HashListpackEntries, &from.HashListpackEntries}, {&l.HashListpackValue, &from.HashListpackValue},
		{&l.SetIntsetEntries, &from.SetIntsetEntries},
		{&l.SortedSetListpackEntries, &from.SortedSetListpackEntries}, {&l.SortedSetListpackValue, &from.SortedSetListpackValue},
		{&l.HLLSparse, &from.HLLSparse}, {&l.ListNode, &from.ListNode},
		{&l.StreamNodeBytes, &from.StreamNodeBytes}, {&l.StreamNodeEntries, &from.StreamNodeEntries},
	} {
		pair[0].Store(pair[1].Load())
	}
}
