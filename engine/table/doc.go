// Package table is a hash table of byte records that the garbage collector
// does not see: it holds ten million keys in a few collector-visible objects.
//
// A [Table] finds a record (key, value, a kind, a deadline, an access clock) by
// its key. A [Pool] gives many tables their memory. A table has no lock: its
// owner, a shard or a large collection, serialises everything but the two
// prefetch methods. It knows nothing of commands, types or time.
//
// # Buckets
//
// A bucket is one cache line: 12 one-byte tags, 12 references of 32 bits, the
// number of an overflow bucket. A lookup compares all tags at once and reads
// the records whose tags fit, so it costs two cache misses, a bucket and a
// record, and a second record for one key in thirty, by a false tag.
//
// The table grows by linear hashing: when there are more than splitLoad entries
// a bucket, one bucket is split into two, whichever is next. There is never a
// second table, no operation stalls, and bytes per key stay level instead of
// doubling. What it costs is that buckets not yet split carry up to twice the
// load of those that are, so some chains are longer than one bucket. Expected
// from Poisson loads, over a whole doubling:
//
//	splitLoad   bytes a key   buckets visited
//	7           9.4–9.9       1.007–1.034
//	8           8.5–9.2       1.016–1.058
//	9           8.0–8.6       1.031–1.088
//	10          7.7–8.3       1.053–1.121
//
// Eight is where a byte less costs more than it saves. Shrinking merges the
// last bucket into the one that it was split from, below mergeLoad.
//
// Overflow buckets are chained and dense: the last one moves into the place of
// a freed one. An entry is therefore always in the chain of its home bucket,
// which is what makes splitting local and [Table.Scan] simple: a cursor is a
// position among all hashes in bit-reversed order, where a bucket is always
// one interval.
//
// # Records
//
// Records lie in blocks of 4 KB to 1 MB that are filled from the front. A
// reference is a block number and an offset in 8-byte units. A record of a
// 16-byte key and a 32-byte value takes 56 bytes, and with its bucket about 65;
// lengths beyond 65535, and room to grow, take 8 more. A record of more than
// 64 KB is a jumbo: a run of pages of its own under a reference of its own
// kind, resized by moving pages, given back when it dies. (The limit was to be
// 128 KB; but what a block cannot use at its end is as large as its largest
// record, and a jumbo wastes half a page.)
//
// A record that changes its size goes to the block that is being filled and
// leaves a dead one behind, unless it is the last that was put there: that one
// grows, shrinks and goes in place. When a quarter of the bytes is dead, compaction
// takes the block with the largest dead share, moves what lives, and frees it,
// a bounded number of bytes at each mutation. The bound is proportional to what
// the mutation let die, with a factor that lets compaction always gain; nothing
// runs in the background, and deleting everything gives everything back.
//
// # Memory
//
// A pool reserves regions of address space and hands out runs of pages by the
// buddy method, up to 2 MB, so that the blocks of all tables fill huge pages
// together. Freed runs are given back to the system but stay mapped: whoever
// reads a stale bucket reads zeros or someone else's bytes, and never faults.
// Larger runs are mappings of their own, which no prefetcher reads.
//
// # Prefetching
//
// [Table.PrefetchBucket] and [Table.PrefetchRecord] may be called without the
// owner's lock, beside any mutation, for a batch of keys before the first of
// them is looked up: the misses of the batch then overlap. They read through a
// published view (see prefetch.go) and in assembly, because what they do is a
// race on purpose: a wrong answer costs a useless prefetch. At ten million
// keys, processor time for a Get of one key at a time and in batches of 16 was
// 845 and 200 ns on small pages, 535 and 170 ns on huge ones, on a machine that
// others kept busy.
//
// # Rejected
//
//   - A Go map of pointers: 150 bytes a key, and 16 processor-seconds for one
//     collection at ten million keys. A Go map of integers to offsets into
//     blocks: 83 bytes, twice the time of a lookup here.
//   - Open addressing with a second table while growing: the time and memory of
//     doubling come at once or need both tables searched, and a scan must
//     follow an entry through both (Redis's does, and repeats itself for it).
//   - Extendible hashing with segments of buckets: a segment is split at a time,
//     a thousand times the work of one bucket.
//   - Tags of 16 bits: fewer false tags, but 10 slots a line instead of 12.
//   - The hash in the record: 8 bytes a key, to save reading ten keys at a
//     split, whose misses overlap anyway.
//   - Lists of free records by size instead of compaction: what is free is not
//     of the size that is asked for when values change their sizes together,
//     and a block is never empty again.
//   - The heap with GC turned off for it (arenas, cgo's malloc): the same bytes,
//     without control over pages, hence neither huge pages nor a reader that
//     may be late.
package table
