// Package intset reads and writes Redis's intset, a sorted array of integers in
// one block of bytes, exactly as Redis 7.0 lays it out. DUMP and RDB files carry
// the same bytes.
//
// # Layout
//
//	width (32 bits) | number of integers (32 bits) | integers, ascending
//
// All is little-endian. The width is 2, 4 or 8 bytes: that of the widest integer
// there has been. It grows with an integer that needs more and never shrinks, as
// in Redis, so that both have the same bytes after the same changes.
//
// # Use
//
// A set is a []byte. Functions that change one work as append does: they use the
// slice's capacity and return the slice to go on with. All functions but Validate
// expect a valid set; bytes from outside must pass Validate first.
//
// Rejected: a width that shrinks again. It would save bytes in sets that lost
// their widest integer, and cost a walk at each removal.
package intset
