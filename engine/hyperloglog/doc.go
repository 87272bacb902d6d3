// Package hyperloglog counts distinct elements in a string of at most 12 KB, in
// exactly the representation of Redis 7.0: the same bytes after the same
// additions, so that GET and SET carry a value between both.
//
// # Layout
//
//	"HYLL" | encoding (1 byte: 0 dense, 1 sparse) | 3 unused bytes | cardinality (64 bits) | registers
//
// The cardinality is the last that was counted, little-endian; its highest bit
// says that registers changed since. There are 16384 registers: an element's hash
// (MurmurHash64A with a fixed seed) chooses one by its low 14 bits, which becomes
// the number of zeros in front of the next one, plus one, if that is more.
//
// Dense registers have 6 bits each, from the low bits of a byte on. Sparse ones are
// runs:
//
//	00nnnnnn                 n+1 registers that are 0
//	01nnnnnn nnnnnnnn        the same, with 14 bits for the number
//	1vvvvvnn                 n+1 registers that are v+1
//
// A value begins sparse and becomes dense when a register exceeds 32 or the
// setting's length would be exceeded; never back.
//
// The estimate is that of Otmar Ertl, "New cardinality estimation algorithms for
// HyperLogLog sketches" (arXiv:1702.01284), as in Redis since 5.0.
//
// # Trust
//
// A value is any string that a client has set. Check refuses what cannot be one;
// beyond that, runs that do not make 16384 registers are found where they are
// walked (ErrCorrupt), and what an addition does not walk over it does not judge,
// as in Redis.
//
// Rejected: a type of its own with a representation that is faster to add to. GET,
// SETRANGE and BITCOUNT on the value are part of how Redis's users move, store and
// repair it.
package hyperloglog
