// Package listpack reads and writes Redis's listpack, a list of strings and
// integers in one block of bytes, exactly as Redis 7.0 lays it out.
//
// It is the packed form of small collections: a hash is its fields and values
// in turn, and the payload of DUMP carries the same bytes. So a small hash is
// one value of the keyspace, costs a few bytes more than its content, is found
// by walking it, and is dumped and restored by copying.
//
// # Layout
//
//	total bytes (32 bits) | number of elements (16 bits) | elements | 0xFF
//
// Numbers are little-endian; 65535 elements mean that the number must be
// counted. An element is an encoding byte, what belongs to it, and at its end
// the length of both, in 1 to 5 bytes that are read backwards:
//
//	0xxxxxxx                          the integer 0 to 127
//	10xxxxxx                          a string of up to 63 bytes
//	110xxxxx + 1 byte                 an integer of 13 bits
//	1110xxxx + 1 byte                 a string of up to 4095 bytes
//	11110000 + 4 bytes                a longer string
//	11110001 to 11110100 + 2, 3, 4, 8 an integer of 16, 24, 32, 64 bits
//
// What reads as the decimal form of a 64-bit integer is stored as that integer
// in the shortest encoding, so that it comes back as the same text.
//
// # Use
//
// A listpack is a []byte, and an element in it is a position, an offset in
// those bytes. Functions that change a listpack work as append does: they use
// the slice's capacity and return the slice to go on with; positions at or
// after the change are then no longer valid. All functions but Validate expect
// a valid listpack and panic on another; bytes from outside must pass Validate
// first. Lengths and positions are in bytes unless said otherwise.
//
// # The rejected alternative
//
// An own format could be denser (no backward lengths, as no command walks a
// hash backwards) and quicker to search (fields before values). It would have
// to be translated in DUMP, RESTORE, replication and RDB files both ways, with
// Redis's thresholds still counted in Redis's bytes; one format that is also
// the one on the wire leaves nothing to get wrong.
package listpack
