// Package dump reads and writes values in Redis's serialised form: the payloads
// of DUMP and RESTORE, and the values inside an RDB file.
//
// # Form
//
//	type (1 byte) | value | version (16 bits) | CRC-64 of all before it
//
// The last two, little-endian, are the footer, which only payloads have. A
// value is made of lengths and strings:
//
//	00nnnnnn                     a length of 6 bits
//	01nnnnnn n                   of 14 bits, big-endian
//	0x80 nnnn, 0x81 nnnnnnnn     of 32 or 64 bits, big-endian
//	0xC0 n, 0xC1 nn, 0xC2 nnnn   a string that is a decimal integer, little-endian
//	0xC3 length length bytes     a string compressed with LZF: packed and plain length
//	length bytes                 any other string
//
// Written are strings (type 0), packed hashes as a listpack (16) and large ones
// as a count and so many fields and values (4), lists as nodes (18), sets as an
// intset (11) or a count and so many members (2), sorted sets as a listpack (17) or
// a count, members and scores (5), streams as nodes with their groups (19): what
// Redis 7.0 writes, with its version 10. Read are also the hashes of older servers,
// ziplist (13) and zipmap (9), their lists (1, 10, 14), sorted sets (3, 12) and
// streams (15), the packed sets of newer ones, listpack (20), their streams (21), and
// the versions up to 12, in which these types are the same.
//
// Between a value and the footer there may be a note (payload.go), which is this
// server's own: what a memory record has beside its value.
//
// # Trust
//
// Bytes come from anybody. A reader never panics, never reads beyond its bytes,
// and allocates in proportion to them, bounded by Limits where compression
// would allow more. What it returns is checked to the last element: a listpack
// is walked whole and no field or member comes twice. Redis 7.0 does this only with
// sanitize-dump-payload; without it, it may take what crashes it later. Two things
// it never looks at are refused here: a packed score that is no number, which it
// reads as 0, and a number of a stream in no known form, the greatest one there. In
// all else the same bytes are accepted: a value may be followed by more, or reach
// into the footer.
//
// # The rejected alternatives
//
// Reading from an io.Reader would suit files, but a payload is in memory and a
// file can be mapped; slices let strings be returned without copying. Keeping a
// listpack as it came, instead of the fields in it, would save some work at a
// RESTORE, and would let foreign, non-canonical encodings into the keyspace.
package dump
