// This file owns the operations of a table on one key. It must not know how a
// pool gets its memory, nor what kinds and accesses mean.

package table

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// MaxBytes is the largest length of a key and of a value; Put and Resize panic
// beyond it. Owners set smaller limits.
const MaxBytes = 1<<31 - 1<<22

// slackMaxBytes bounds how much a growing value is given beyond what it asked
// for, as in Redis.
const slackMaxBytes = 1 << 20

// fullBlocks is when Full begins to say so: early enough for what one
// operation, with its share of compaction, may still take.
const fullBlocks = maxBlocks - 64

// Table is a hash table of records. It has no lock: its owner serialises all
// methods but PrefetchBucket and PrefetchRecord, which may be called at any
// time by anybody.
type Table struct {
	entries  int
	mask     uint32 // of linear hashing, maskFor(buckets.count)
	held     uint32 // reference that compaction keeps track of for its caller
	buckets  bucketArray
	overflow bucketArray
	store    store
	moving   []detached // scratch of split and merge
	// last is the entry that Get has found last, if nothing has changed since: the same
	// key is often asked for again at once.
	last     Entry
	lastHash uint64

	shared shared
}

// shared is what a prefetcher reads without the owner's lock.
type shared struct {
	buckets atomic.Uint32 // number of buckets, 0 when the table is empty
	view    atomic.Pointer[view]
}

// Stats is what a table holds, in bytes unless said otherwise.
type Stats struct {
	Entries     int   // number of entries
	LiveBytes   int64 // records of entries
	DeadBytes   int64 // records that compaction has not cleared yet
	BlockBytes  int64 // memory that records live in
	BucketBytes int64 // memory that finds them
}

// New returns an empty table that takes its memory from pool. It holds none
// until the first Put, and at most 12 KB when it has become empty again.
func New(pool *Pool) *Table {
	return &Table{store: store{pool: pool}}
}

// Len returns the number of entries.
func (t *Table) Len() int { return t.entries }

// Full reports that the table is about to reach its limit of 28 GB in records
// of at most 64 KB (larger ones do not count). Owners refuse what would add to
// it; Put and Resize panic at the limit.
func (t *Table) Full() bool {
	return int(t.store.numbers)-len(t.store.freeNumbers) >= fullBlocks
}

// Stats returns what the table holds now.
func (t *Table) Stats() Stats {
	s := &t.store
	return Stats{
		Entries:     t.entries,
		LiveBytes:   s.live + s.jumboBytes,
		DeadBytes:   s.dead,
		BlockBytes:  s.blockBytes + s.jumboBytes,
		BucketBytes: t.buckets.sizeBytes() + t.overflow.sizeBytes(),
	}
}

// Get returns the entry of key, whose Hash is hash. It does not allocate.
func (t *Table) Get(hash uint64, key []byte) (Entry, bool) {
	if t.lastHash == hash && t.last.at != nil && t.last.keyIs(key) {
		return t.last, true
	}
	_, _, e := t.find(hash, key)
	t.last, t.lastHash = e, hash
	return e, e.at != nil
}

// GetHash returns the first entry with that full hash which match accepts.
func (t *Table) GetHash(hash uint64, match func(Entry) bool) (Entry, bool) {
	if t.entries == 0 {
		return Entry{}, false
	}
	for b := t.home(hash); b != nil; b = t.next(b) {
		tag := tagOf(hash)
		for i := range bucketSlots {
			if b.tags[i] != tag {
				continue
			}
			if e := t.store.entry(b.refs[i]); Hash(e.Key()) == hash && match(e) {
				return e, true
			}
		}
	}
	return Entry{}, false
}

// Put inserts or replaces the entry of key, whose Hash is hash, and reports
// whether there was one. The value's bytes are arbitrary: the caller fills
// Value. Deadline (milliseconds, 0 for none) and kind are as given; the access
// of an existing entry stays, that of a new one is 0. The key must not alias
// the table's own memory. Replacing a record by one of the same size does not
// allocate.
func (t *Table) Put(hash uint64, key []byte, kind uint8, deadlineMs int64, valueLen int) (Entry, bool) {
	checkLen(len(key))
	checkLen(valueLen)
	t.maintain()
	s := shapeOf(len(key), valueLen, deadlineMs != 0, 0)
	b, slot, old := t.find(hash, key)
	if old.at == nil {
		e := t.store.alloc(s.sizeBytes)
		e.writeHead(s, kind, 0, deadlineMs)
		copy(e.Key(), key)
		t.insert(hash, e.ref)
		return e, false
	}
	if old.SizeBytes() == s.sizeBytes || t.store.resizeLast(old, s.sizeBytes) {
		old.writeHead(s, kind, old.Access(), deadlineMs)
		copy(old.Key(), key)
		return old, true
	}
	e := t.store.alloc(s.sizeBytes)
	e.writeHead(s, kind, old.Access(), deadlineMs)
	copy(e.Key(), key)
	b.refs[slot] = e.ref
	t.store.kill(old)
	t.publish()
	return e, true
}

// Overwrite makes e, the entry of key, what Put would make it, if that needs no
// other place; ok is false, and nothing has changed, when it does. It saves
// Put's search for the key.
func (t *Table) Overwrite(e Entry, key []byte, kind uint8, deadlineMs int64, valueLen int) (over Entry, ok bool) {
	checkLen(valueLen)
	s := shapeOf(len(key), valueLen, deadlineMs != 0, 0)
	if e.SizeBytes() != s.sizeBytes {
		return e, false
	}
	e.writeHead(s, kind, e.Access(), deadlineMs)
	copy(e.Key(), key)
	return e, true
}

// Resize changes the length of an entry's value and keeps all else: key, kind,
// access, deadline, and the value as far as it fits. Bytes added are zero. An
// entry that grows out of its place gets room to grow again (as much as it
// has, at most 1 MB), so that appending is linear in what is appended.
func (t *Table) Resize(hash uint64, e Entry, valueLen int) Entry {
	checkLen(valueLen)
	e = t.maintainHolding(e)
	h := *e.header()
	offset, keyLen, oldLen := e.spans()
	size, need := e.SizeBytes(), padded(offset+keyLen+valueLen)
	switch {
	case h&flagWide != 0 && need <= size && size <= 2*need+pageBytes:
		*e.wideLen() = uint32(valueLen)
	case h&flagWide == 0 && need == size && valueLen <= maxNarrow:
		*e.header() = h&(1<<48-1) | uint64(valueLen)<<48
	default:
		slackBytes := 0
		if valueLen > oldLen {
			slackBytes = min(valueLen, slackMaxBytes)
		}
		e = t.reshape(hash, e, shapeOf(keyLen, valueLen, h&flagDeadline != 0, slackBytes), e.DeadlineMs())
	}
	if valueLen > oldLen {
		clear(e.Value()[oldLen:])
	}
	return e
}

// SetDeadline changes an entry's deadline in milliseconds, 0 for none, and
// keeps all else.
func (t *Table) SetDeadline(hash uint64, e Entry, deadlineMs int64) Entry {
	h := *e.header()
	if h&flagDeadline != 0 {
		*e.deadline() = deadlineMs
		return e
	}
	if deadlineMs == 0 {
		return e
	}
	e = t.maintainHolding(e)
	_, keyLen, valueLen := e.spans()
	slackBytes := 0
	if h&flagWide != 0 {
		slackBytes = max(0, e.SizeBytes()-(wideHeadMax+keyLen+valueLen))
	}
	return t.reshape(hash, e, shapeOf(keyLen, valueLen, true, slackBytes), deadlineMs)
}

// Delete removes the entry of key, whose Hash is hash, and reports whether
// there was one.
func (t *Table) Delete(hash uint64, key []byte) bool {
	t.maintain()
	b, slot, e := t.find(hash, key)
	if e.at == nil {
		return false
	}
	t.remove(hash, b, slot)
	t.store.kill(e)
	if t.entries == 0 && !t.isSmall() {
		t.Clear()
	}
	return true
}

// isSmall reports that the table holds the least that one with entries can
// hold, three pages: an empty table keeps those, because a key that comes and
// goes (a lock) would otherwise cost system calls each time.
func (t *Table) isSmall() bool {
	return t.store.blockBytes <= minBlockBytes && t.store.jumboBytes == 0 &&
		t.buckets.room() <= pageBuckets && t.overflow.room() <= pageBuckets
}

// Clear removes all entries and gives all memory back to the pool, in time
// proportional to the number of blocks.
func (t *Table) Clear() {
	t.shared.buckets.Store(0)
	t.shared.view.Store(nil)
	t.entries, t.mask, t.held, t.last = 0, 0, 0, Entry{}
	t.buckets.release(t.store.pool)
	t.overflow.release(t.store.pool)
	t.store.releaseAll()
}

func checkLen(sizeBytes int) {
	if uint(sizeBytes) > MaxBytes {
		panic("table: key or value beyond MaxBytes")
	}
}

// home returns the first bucket of a hash's chain. The table must not be empty.
func (t *Table) home(hash uint64) *bucket {
	return t.buckets.at(bucketOf(hash, t.buckets.count, t.mask))
}

// next returns the bucket that continues b's chain, or nil.
func (t *Table) next(b *bucket) *bucket {
	if b.next == 0 {
		return nil
	}
	return t.overflow.at(b.next - 1)
}

// find returns the entry of key and its slot; a zero Entry when there is none.
func (t *Table) find(hash uint64, key []byte) (*bucket, int, Entry) {
	if t.entries == 0 {
		return nil, 0, Entry{}
	}
	tag := tagOf(hash)
	for b := t.home(hash); b != nil; b = t.next(b) {
		low, high := b.candidates(tag)
		for ; low != 0; low &= low - 1 {
			i := bits.TrailingZeros64(low) >> 3
			if b.refs[i] == 0 {
				continue
			}
			if e := t.store.entry(b.refs[i]); e.keyIs(key) {
				return b, i, e
			}
		}
		for ; high != 0; high &= high - 1 {
			i := 8 + bits.TrailingZeros64(high)>>3
			if b.refs[i] == 0 {
				continue
			}
			if e := t.store.entry(b.refs[i]); e.keyIs(key) {
				return b, i, e
			}
		}
	}
	return nil, 0, Entry{}
}

// slotOf returns the slot that holds a reference. It panics when the entry is
// not of this table or no longer valid: a caller kept an Entry too long.
func (t *Table) slotOf(hash uint64, ref uint32) (*bucket, int) {
	if t.entries > 0 {
		for b := t.home(hash); b != nil; b = t.next(b) {
			for i := range bucketSlots {
				if b.refs[i] == ref {
					return b, i
				}
			}
		}
	}
	panic("table: an entry was used after the table changed, or with another key's hash")
}

// reshape gives an entry another form: in its place where the size allows,
// else elsewhere.
func (t *Table) reshape(hash uint64, e Entry, s shape, deadlineMs int64) Entry {
	offset, keyLen, valueLen := e.spans()
	kept := keyLen + min(valueLen, s.valueLen)
	kind, access := e.Kind(), e.Access()
	if e.ref >= firstJumbo && s.sizeBytes > maxBlockRecord && e.SizeBytes() != s.sizeBytes {
		e = t.store.resizeJumbo(e, s.sizeBytes/pageBytes)
		t.moveWithin(e, offset, kept, s)
		e.writeHead(s, kind, access, deadlineMs)
		return e
	}
	if e.SizeBytes() == s.sizeBytes || t.store.resizeLast(e, s.sizeBytes) {
		t.moveWithin(e, offset, kept, s)
		e.writeHead(s, kind, access, deadlineMs)
		return e
	}
	b, slot := t.slotOf(hash, e.ref)
	to := t.store.alloc(s.sizeBytes)
	to.writeHead(s, kind, access, deadlineMs)
	toOffset, _, _ := to.spans()
	copy(unsafe.Slice((*byte)(unsafe.Add(to.at, toOffset)), kept),
		unsafe.Slice((*byte)(unsafe.Add(e.at, offset)), kept))
	b.refs[slot] = to.ref
	t.store.kill(e)
	t.publish()
	return to
}

// moveWithin moves key and value to where shape s expects them, in a record
// that is large enough for both forms.
func (t *Table) moveWithin(e Entry, offset, kept int, s shape) {
	toOffset := 8 + int(s.flags&flagWide)>>3 + int(s.flags&flagDeadline)>>2
	if toOffset != offset {
		copy(unsafe.Slice((*byte)(unsafe.Add(e.at, toOffset)), kept),
			unsafe.Slice((*byte)(unsafe.Add(e.at, offset)), kept))
	}
}
