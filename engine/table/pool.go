// This file owns the memory that tables are made of: runs of 4 KB pages taken
// from large regions and given back. It must not know what is stored in a run.

package table

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	pageBytes   = 4096
	slabOrder   = 9              // a slab is the largest run a region hands out
	slabPages   = 1 << slabOrder // 2 MB, a huge page: so blocks fill it up before another
	slabBytes   = slabPages * pageBytes
	regionBytes = regionSlabs * slabBytes
	regionPages = regionSlabs * slabPages

	// hugeFromSlabs is how many slabs a pool hands out before it asks for huge
	// pages: below 8 MB their rounding would cost a small server more than it
	// gains; from there on a look-up misses the TLB twice.
	hugeFromSlabs = 4

	// Freed runs of the size of a full block stay resident for the next table
	// that needs one, up to 1/32 of what is in use and within these bounds,
	// because compaction frees and takes them all the time, and one that was
	// given back to the system costs 256 page faults.
	keptPages    = maxBlockBytes / pageBytes
	keptMinBytes = 2 << 20
	keptMaxBytes = 32 << 20

	// ownMapping marks a run that is a mapping of its own.
	ownMapping = ^uint32(0)
)

// Options of a Pool.
type Options struct {
	// HugePages asks the system to back the pool's memory by huge pages once it
	// has grown past 8 MB. It has no effect where the system cannot.
	HugePages bool
}

// PoolStats is a pool's memory in bytes.
type PoolStats struct {
	MappedBytes int64 // address space reserved; most of it may be untouched
	UsedBytes   int64 // held by tables
	IdleBytes   int64 // of these, what is no record that lives and no bucket, but for 768 bytes a table
	KeptBytes   int64 // held by no table, but still resident
}

// Pool hands out memory to tables. It is safe for concurrent use and serves
// any number of tables.
//
// Invariant: memory of at most 2 MB that a pool handed out stays readable until
// Close, also after it was given back (it may then read as zeros or as another
// table's bytes): a prefetcher reads buckets without a lock.
type Pool struct {
	hugePages bool

	idle atomic.Int64 // IdleBytes of all tables

	mu      sync.Mutex
	regions []region
	fresh   uint32 // slabs of the last region that were never handed out
	free    [slabOrder + 1]uint32
	kept    []run
	stats   PoolStats
}

// region is one reserved range with the state of its buddy allocator. The
// links live here and not in the free pages, which are not resident.
type region struct {
	base       unsafe.Pointer
	order      []uint8 // by page: 1 + order of the free run that begins here, or 0
	next, prev []uint32
}

// run is a range of pages handed out by a pool.
type run struct {
	base  unsafe.Pointer
	page  uint32 // number of its first page in the pool, or ownMapping
	pages uint32
}

func (r run) sizeBytes() int { return int(r.pages) * pageBytes }

// NewPool returns a pool that holds nothing yet.
func NewPool(options Options) *Pool {
	return &Pool{hugePages: options.HugePages}
}

// Stats returns what the pool holds now.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.IdleBytes = p.idle.Load()
	return stats
}

// Close gives the pool's memory back to the system, its address space too. All
// tables must have been cleared, or it panics; none of them, nor the pool, may
// be used from then on, by prefetchers neither.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stats.UsedBytes != 0 {
		panic("table: Close of a pool that tables still use")
	}
	for i := range p.regions {
		unmapOwn(p.regions[i].base, regionBytes)
	}
	p.regions, p.kept, p.fresh, p.free, p.stats = nil, nil, 0, [slabOrder + 1]uint32{}, PoolStats{}
}

// pagesFor returns how many pages hold sizeBytes.
func pagesFor(sizeBytes int) int { return (sizeBytes + pageBytes - 1) / pageBytes }

// alloc returns a run of exactly that many pages (> 0), with any content. It
// panics when the system has no memory left, as the Go runtime does.
func (p *Pool) alloc(pages int) run {
	if pages > slabPages {
		r := run{base: mapOwn(pages * pageBytes), page: ownMapping, pages: uint32(pages)}
		p.mu.Lock()
		p.stats.MappedBytes += int64(r.sizeBytes())
		p.stats.UsedBytes += int64(r.sizeBytes())
		p.mu.Unlock()
		return r
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.UsedBytes += int64(pages) * pageBytes
	if n := len(p.kept); pages == keptPages && n > 0 {
		r := p.kept[n-1]
		p.kept = p.kept[:n-1]
		p.stats.KeptBytes -= maxBlockBytes
		return r
	}
	page := p.takePages(bits.Len32(uint32(pages - 1)))
	r := run{page: page, pages: uint32(pages)}
	r.base = unsafe.Add(p.regions[page/regionPages].base, uintptr(page%regionPages)*pageBytes)
	p.putPages(page+uint32(pages), 1<<bits.Len32(uint32(pages-1))-uint32(pages))
	return r
}

// release gives a run back; its content is lost.
func (p *Pool) release(r run) {
	size := int64(r.sizeBytes())
	if r.page == ownMapping {
		unmapOwn(r.base, r.sizeBytes())
		p.mu.Lock()
		p.stats.MappedBytes -= size
		p.stats.UsedBytes -= size
		p.mu.Unlock()
		return
	}
	p.mu.Lock()
	p.stats.UsedBytes -= size
	if r.pages == keptPages && p.stats.KeptBytes < p.keepBytes() {
		p.kept = append(p.kept, r)
		p.stats.KeptBytes += maxBlockBytes
		p.mu.Unlock()
		return
	}
	surplus, found := run{}, false
	if n := len(p.kept); n > 0 && p.stats.KeptBytes > p.keepBytes() {
		surplus, found = p.kept[n-1], true
		p.kept = p.kept[:n-1]
		p.stats.KeptBytes -= maxBlockBytes
	}
	p.mu.Unlock()

	// The system call runs without the lock: the run belongs to nobody else.
	discard(r.base, r.sizeBytes())
	if found {
		discard(surplus.base, surplus.sizeBytes())
	}
	p.mu.Lock()
	p.putPages(r.page, r.pages)
	if found {
		p.putPages(surplus.page, surplus.pages)
	}
	p.mu.Unlock()
}

// resize returns a run of that many pages with the content of r as far as it
// fits, and gives r back.
func (p *Pool) resize(r run, pages int) run {
	if r.page == ownMapping && pages > slabPages {
		grown := int64(pages)*pageBytes - int64(r.sizeBytes())
		r.base = remapOwn(r.base, r.sizeBytes(), pages*pageBytes)
		r.pages = uint32(pages)
		p.mu.Lock()
		p.stats.MappedBytes += grown
		p.stats.UsedBytes += grown
		p.mu.Unlock()
		return r
	}
	to := p.alloc(pages)
	copy(unsafe.Slice((*byte)(to.base), to.sizeBytes()), unsafe.Slice((*byte)(r.base), r.sizeBytes()))
	p.release(r)
	return to
}

func (p *Pool) keepBytes() int64 {
	return min(max(p.stats.UsedBytes/32, keptMinBytes), keptMaxBytes)
}

// takePages takes a run of 2^order pages out of the free lists, splitting a
// larger one when there is none. Requires p.mu.
func (p *Pool) takePages(order int) uint32 {
	from := order
	for from <= slabOrder && p.free[from] == 0 {
		from++
	}
	var page uint32
	if from > slabOrder {
		page, from = p.freshSlab(), slabOrder
	} else {
		page = p.free[from] - 1
		p.unlink(page, from)
	}
	for from > order {
		from--
		p.link(page+1<<from, from)
	}
	return page
}

// freshSlab takes a slab that was never handed out. Requires p.mu.
func (p *Pool) freshSlab() uint32 {
	if p.fresh == 0 {
		r := region{
			base:  mapRegion(p.hugePages && len(p.regions) > 0),
			order: make([]uint8, regionPages),
			next:  make([]uint32, regionPages),
			prev:  make([]uint32, regionPages),
		}
		p.regions = append(p.regions, r)
		p.stats.MappedBytes += regionBytes
		p.fresh = regionSlabs
	}
	if p.hugePages && len(p.regions) == 1 && p.fresh == regionSlabs-hugeFromSlabs {
		adviseHuge(p.regions[0].base, regionBytes)
	}
	page := uint32(len(p.regions))*regionPages - p.fresh*slabPages
	p.fresh--
	return page
}

// putPages puts any range of pages of one slab into the free lists, joined
// with the free ranges beside it. Requires p.mu.
func (p *Pool) putPages(page, pages uint32) {
	for pages > 0 {
		order := min(bits.TrailingZeros32(page), bits.Len32(pages)-1, slabOrder)
		p.putRun(page, order)
		page += 1 << order
		pages -= 1 << order
	}
}

func (p *Pool) putRun(page uint32, order int) {
	for order < slabOrder {
		buddy := page ^ 1<<order
		r := &p.regions[buddy/regionPages]
		if r.order[buddy%regionPages] != uint8(order+1) {
			break
		}
		p.unlink(buddy, order)
		page &^= 1 << order
		order++
	}
	p.link(page, order)
}

// link puts a free run at the head of its list. List links are page numbers
// plus one, 0 ends a list.
func (p *Pool) link(page uint32, order int) {
	r, i := &p.regions[page/regionPages], page%regionPages
	r.order[i] = uint8(order + 1)
	r.prev[i], r.next[i] = 0, p.free[order]
	if head := p.free[order]; head != 0 {
		p.regions[(head-1)/regionPages].prev[(head-1)%regionPages] = page + 1
	}
	p.free[order] = page + 1
}

func (p *Pool) unlink(page uint32, order int) {
	r, i := &p.regions[page/regionPages], page%regionPages
	next, prev := r.next[i], r.prev[i]
	r.order[i] = 0
	if prev != 0 {
		p.regions[(prev-1)/regionPages].next[(prev-1)%regionPages] = next
	} else {
		p.free[order] = next
	}
	if next != 0 {
		p.regions[(next-1)/regionPages].prev[(next-1)%regionPages] = prev
	}
}
