// Package persistence keeps what the engine has: it is the only package that
// knows files and Pebble. It takes batches of effects and gives them back. It
// knows effects but neither commands nor the engine.
//
// # Journal
//
// Append copies a batch into memory, under one short lock and without I/O, and
// numbers it. Flush writes what is pending with one write; Sync also fsyncs,
// one caller for all. Segments are preallocated, so that a full disk is noticed
// before a batch is accepted, and are never written twice, so that what was not
// written reads as zero. (segment.go has the layout, pending.go the memory,
// writer.go the files, journal.go the order, repair.go the background.)
//
// A batch stays in memory until an fsync covered it. When a write or fsync
// fails, its descriptor is never used again: Ready refuses batches, and all
// that is not durable is written to a new segment and synced there. A segment
// therefore holds batches only up to where the next one begins; whatever
// follows in it was replaced.
//
// Each frame says how far the journal was durable when it was written. So at a
// start (chain.go, scan.go) damage is told from a torn end: a bad batch that a
// later frame calls durable is damage, and so is one that whole batches follow
// although no sector of it is missing. Damage and missing segments refuse the
// start and are named; a torn end is cut at the last whole batch, by beginning
// the next segment there.
//
// Rejected: Pebble's own log format (pebble/v2/record). With the same batches
// of 121 bytes and one fsync per 1, 16 and 256 batches it took 5.3, 8.9 and 57
// µs of processor time a sync against 2.8, 7.0 and 48 here (in memory, where
// the fsync is free), it needs a goroutine between the caller and the file,
// tears at blocks of 32 KB and cannot say what was durable. A file whose size
// is fixed beforehand makes 5.0 k write+fdatasync a second on ext4, one that
// grows 3.2 k. Fifty goroutines that sync after each batch share an fsync by
// 37. A batch with a value of 100 bytes costs about 175 ns of processor time
// from Append to the operating system, and 1.13 bytes written per user byte.
//
// # Checkpoints
//
// In the background a follower (follower.go) applies the journal's own batches
// to an overlay (overlay.go) of final rows: each row once however often it
// changed. Rows below are read only where an effect needs what was there; that
// an overwritten or deleted key may be a hash is remembered in a set of hashes,
// so that plain keys need no reading. The rows and one that names the last
// batch in them are written, sorted, into tables (tables.go), which Pebble
// ingests: one atomic, durable step, without a log of its own. Then the older
// segments go. So rows are the state at exactly one sequence, and replaying
// what follows applies nothing twice and misses nothing; rows need no sequence
// of their own.
//
// keys.go has the kinds of rows. A key is one row; a field of a hash is one
// row under the number of its collection, so that a rename moves one row and a
// deletion is one range deletion. A database names a keyspace and a space of
// owners: flushing it gives it a new keyspace, swapping exchanges names. A
// record has its current row, a row for each change, of which the newest Count
// versions are kept and all that stood within KeepMs, and its events. An item of
// a list is one row for the list and for all of its retained versions (prune.go). Command ids are keyed by sequence, not by
// owner, so that what is older than CommandKeepMs goes by one range deletion.
//
// Rejected: one Pebble commit for each batch (1.7 to 2.9 s of processor time a
// million keys, 2.8 bytes written per user byte); and a Pebble batch for a
// checkpoint, which would be written twice, by its log or as a memtable, and
// whose sorted index costs several times the overlay's. Six overwrites of a
// million keys with values of 100 random bytes write 1.56 bytes per user byte,
// three checkpoints included. A checkpoint costs about 1.3 µs of processor time
// per batch, most of it waiting for memory. Larger checkpoints write less: a
// row is written once in each.
//
// Rejected: small hashes inside their key's row. It would make rows fewer, but
// each field that changes would need its row read first.
//
// # Recovery
//
// Recover reads rows on all processors, in ranges that begin where Pebble's
// tables do (0.4 µs of processor time a row), then replays the journal. How far it is
// (Recovered) counts whole tables and, in the journal, batches: to count each row would
// cost all processors a shared counter.
//
// # Exports and imports
//
// Export makes a checkpoint and reads all plain keys of it from a snapshot of Pebble's,
// while batches and checkpoints go on (export.go). Compactions keep for a snapshot what
// was deleted since, so an erasure waits for exports.
//
// A store that is filled from elsewhere lies beside a marker until it is whole
// (import.go): what a crash or a damaged source leaves is removed by the next attempt.
// Files in Redis's format are package rdb's; rdbfile.go puts them into the directory.
//
// Rejected: an import into a directory beside, moved into place at its end. It takes
// several renames, of which a crash may leave some.
//
// # Erasing
//
// An erasure is a round of checkpoints of its own (erase.go), after which the
// segments before it go, the ranges that it took rows from are compacted, and the
// tables that were replaced have to be gone from the directory: 30 s are given to
// readers that have one open. Pebble's manifest may name keys of records that are
// gone, as borders of tables, until the next start, which writes it anew and removes
// the one before; it holds no payload. Pebble has no call that does so while the
// rows are open: it begins another manifest when one has grown large, and then only
// once it has listed more tables than there are.
//
// Rejected: to wait for Pebble's own compactions, which may never come.
//
// # Keys
//
// What is sealed is sealed before it gets here. The keys themselves are in a file
// of fixed slots (keyring.go), each wrapped by a master key (masterkey.go), apart
// from journal and rows, so that a backup does not carry them: who restores one
// puts the directory keys/ beside it, in which what was destroyed since stays
// destroyed.
//
// Rejected: keys as rows. Pebble never overwrites in place, and a backup is hard
// links to its tables: a key would live on in both.
//
// # Failure of the row store
//
// When Pebble cannot write its manifest it cannot go on, and by itself would
// end the process. Here it only ends the row store (rowstore.go): checkpoints
// stop with ErrRowsFailed until a restart, the journal goes on and loses
// nothing. Before each checkpoint the disk must have room for it and 32 MB.
package persistence
