// This file owns what may be read without the owner's lock, and how it is
// published. It must not read a bucket itself: that is left to the assembly,
// whose loads neither the race detector nor the memory model is concerned
// with, and which hands nothing back.

package table

import "unsafe"

// view is what a prefetcher needs to get from a hash to addresses. A view is
// never changed, the arrays that it points to are; each word of them is
// written whole. What a prefetcher finds through a stale view is stale but
// readable: buckets lie in memory that the pool never unmaps, and records are
// not read, only asked for, which cannot fault.
type view struct {
	segments      *unsafe.Pointer
	segmentCount  uint64
	overflow      *unsafe.Pointer
	overflowCount uint64
	blocks        *unsafe.Pointer
	blockCount    uint64
}

// publish makes the table's present shape visible to prefetchers.
func (t *Table) publish() {
	if t.shared.buckets.Load() != t.buckets.count {
		t.shared.buckets.Store(t.buckets.count)
	}
	v := t.shared.view.Load()
	if v != nil && v.segments == unsafe.SliceData(t.buckets.segments) &&
		v.overflow == unsafe.SliceData(t.overflow.segments) &&
		v.blocks == unsafe.SliceData(t.store.bases) {
		return
	}
	t.shared.view.Store(&view{
		segments:      unsafe.SliceData(t.buckets.segments),
		segmentCount:  uint64(len(t.buckets.segments)),
		overflow:      unsafe.SliceData(t.overflow.segments),
		overflowCount: uint64(len(t.overflow.segments)),
		blocks:        unsafe.SliceData(t.store.bases),
		blockCount:    uint64(len(t.store.bases)),
	})
}

// PrefetchBucket asks the processor for the bucket of a hash. It needs no lock
// and may run beside any other method.
func (t *Table) PrefetchBucket(hash uint64) {
	count, v := t.shared.buckets.Load(), t.shared.view.Load()
	if count == 0 || v == nil {
		return
	}
	prefetchBucket(v, bucketOf(hash, count, maskFor(count)))
}

// PrefetchRecord asks the processor for the first record in the bucket of a
// hash whose tag fits, or else for the overflow bucket. It waits for the
// bucket, so it is called a while after PrefetchBucket. It needs no lock and
// may run beside any other method.
func (t *Table) PrefetchRecord(hash uint64) {
	count, v := t.shared.buckets.Load(), t.shared.view.Load()
	if count == 0 || v == nil {
		return
	}
	prefetchRecord(v, bucketOf(hash, count, maskFor(count)), uint64(tagOf(hash))*lowBits)
}

// PrefetchBytes asks the processor for the beginning of b, of which limit bytes are
// worth having.
func PrefetchBytes(b []byte, limit int) {
	for at := 0; at < min(len(b), limit); at += lineBytes {
		prefetchLine(unsafe.Pointer(&b[at]))
	}
}

// PrefetchLine asks the processor for the beginning of what p points to.
func PrefetchLine[T any](p *T) { prefetchLine(unsafe.Pointer(p)) }

// lineBytes is what the processor fetches at a time.
const lineBytes = 64
