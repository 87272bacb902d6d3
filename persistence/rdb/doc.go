// Package rdb reads and writes Redis's file format: what SAVE and BGSAVE write, and
// what a Redis or this server starts from.
//
// # Form
//
//	"REDIS" | version (4 digits) | parts | 0xFF | CRC-64 of all before it (little-endian)
//
// A part is a byte that says what follows. Lengths, strings and values are those of
// package dump:
//
//	0xFE database                     the keys that follow are in it
//	0xFB keys, keys with a deadline   how many there are, about
//	0xFC ms (64 bits), 0xFD s (32)    the deadline of the next key, little-endian
//	0xF8 seconds, 0xF9 counter        how long it was not used, or how often it is (a byte)
//	0xFA name value                   what the server that wrote it says of itself, or,
//	                                  named reminis-record, of the next key
//	0xF5 code                         a library of functions
//	0xF4 slot, keys, deadlines        a slot of a cluster, of Redis 8; a hint
//	type key value                    a key
//
// Written is version 10, of Redis 7.0, with the smallest types that it has. Read are
// versions 1 to 12 with all types that package dump reads, which is what Redis 2.6
// to 7.2 write. What is of a module, of a release candidate (0xF6), or unknown, is an
// error that says so: whatever is skipped would be lost.
//
// # Trust
//
// A file may come from anybody. The reader checks each value to its last element and
// the checksum at the end, if there is one: the order of both does not matter to
// whoever takes nothing as read before the end.
//
// # The rejected alternative
//
// Reading a stream. A value would have to be found the end of before it is decoded,
// or decoded piece by piece; a file can be mapped, which costs no memory of its own.
package rdb
