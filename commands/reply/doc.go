// Package reply is the only place where RESP bytes are written. It has three parts.
//
// Writer appends replies of RESP2 or RESP3 to one buffer that the session owns;
// a handler calls the same methods for both protocols and the bytes are those
// that Redis 7.0 sends. RESP2's plain forms come from redcon, RESP3 and the
// formats of numbers are here. Nothing allocates while the buffer has room.
//
// Shape declares what a command replies; Check compares reply bytes with it, so
// that a transcript test also tests the declaration, and String puts it into the
// command reference. Read is the pull parser behind Check; scripts use it to turn
// replies into Lua values.
//
// LongDouble is the 80-bit arithmetic of INCRBYFLOAT, which Go has no type for.
//
// # Decisions
//
// A Writer does not buffer a tree of values. Rejected: building a value and
// encoding it at the end, which is simpler for arrays of unknown length but
// copies and allocates for every reply. Where a length is known late, Defer
// reserves the header's usual width and moves what follows only if that was
// wrong. A handler that fails half-way is undone with Mark and Truncate.
//
// Doubles are written with 17 digits ("%.17g"), as Redis 7.0 does, not in their
// shortest form: 0.1 reads 0.10000000000000001. Clients compare these bytes.
package reply
