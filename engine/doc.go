// Package engine holds the data and its rules: databases of keys in shards,
// transactions, expiry, and the owners of memory records.
//
// # Structure
//
// A key's slot (CRC16, as in Redis Cluster) picks one of 64 shards. A shard is
// one mutex and, per database, one keyspace: a pointer-free table of entries,
// the order of their deadlines, and the few values too large for a table.
// A Tx locks the shards of what it touches (ascending), then owners
// (ascending), works, and commits one Batch to the Journal while it still holds
// the locks: the order of batches is the order in which they happened.
//
// # One way to change
//
// Transactions check and emit effects; apply is the only code that changes
// state, and recovery passes the same effects through it. So replay is the same
// as running, and nothing random, relative or conditional is ever replayed.
//
// # Memory records
//
// A record has an entry in its shard's table (type and deadline) and an item in
// its owner's B-tree. The entry leads to both, item and owner (recordPlaces), so that
// a look-up by key meets no tree, and a batch can ask the processor for the memory of
// all its records ahead: with 200,000 records of many owners, two thirds of what a
// look-up cost was memory that was in no cache. An item is one block of bytes without pointers inside and
// is never changed once committed, so a copy of the tree (copy-on-write) is a
// consistent view that costs nothing while writers go on. An item is a slice on
// Go's heap, not a reference into the tables' blocks: what a view still shows
// would otherwise have to be kept from compaction by counting readers, and the
// collector does not look into a slice of bytes. (One pointer per record is
// what that costs it.)
//
// # Sets
//
// A set of integers is one sorted block of them, with Redis's bytes and up to its
// threshold; few texts are a packed block; all else is a table of its own, the same as
// a large hash's. OBJECT ENCODING says of the last two what Redis has. A set of ten
// integers takes 0.6 of Redis's memory, of ten texts 0.25, a member of a million 0.4.
//
// What SPOP takes is chosen before an effect names it. Whoever makes a set of others
// makes it apart (SetResult), so that the key takes it over whole, and the batch has
// its members: replay adds them one by one, to the same set.
//
// Rejected: packed blocks beyond 64 members. Each look-up walks them.
//
// # Lists
//
// A record that MEM.APPEND grew is a list: its head, which every append writes
// again, and its items, which are written once. So an append of a turn to a
// conversation of ten thousand costs the turn. Items have numbers that go on for
// as long as the list does; a list has a number that no other list of its key
// ever had, also over restarts. A version of a list is its head, which says from
// which item to which it goes: whoever reads it joins them (Stored.Decode,
// Change.Record). Whatever writes the value whole (SET, PATCH, ROLLBACK) ends
// the list.
//
// Items are in a tree of their own beside the records', so that no walk over
// records meets them, with a key that continues their record's. Each is a
// document of its own in the index, at the time of its append; the head is one
// only where it has an anchor. They expire, and are judged, with their head.
//
// Rejected: items in the records' tree (everybody who counts or walks records
// would have to tell them apart); and a history that says what each append added
// (a version's array would need every append since the list began to be kept,
// though MAXLEN trims all but the last few). Items are kept instead for as long
// as a retained version has them, wherever they are.
//
// # Columns
//
// A path that a policy indexes is a column of its owner: values in order, with the
// documents that have them, by which a recall finds what its FILTER may hold of
// (Narrow); what it finds is still asked the filter, so that answers are the same
// with and without. Paths that lead to one node at most can be columns; comparisons
// with a literal and tests that there is something can be looked up, joined by &&
// (the fewest documents count) and || (all parts must be columns), not what ! is
// in front of. Columns of an owner are of all its records, whichever scope has the
// path indexed.
//
// A record costs 8 bytes for each column that it has a value in, and a different
// value its key (a number 9 bytes, a text at most 49) and 8 more. A write pays
// nothing: the recall that meets more than 64 and a 64th of newer documents adds
// them (columns.go). The first one pays what it would have paid without columns.
// Of 10,000 records with a hundred different values, a recall of one value is 0.06
// ms of processor time instead of 3.1; with a query too, 0.36 instead of 1.7.
//
// Rejected: to keep columns up in apply, which every write would pay for, also where
// nobody filters, and a change of policy would have to rebuild with all shards
// locked. Rejected: columns in the store, which a restart would read instead of what
// it reads anyway.
//
// # Streams
//
// A stream of the generic commands is blocks of entries, which are the nodes that
// Redis would have (package stream), and what the blocks do not say: facets, by
// name. A facet is the ids and counts after a deletion, a group, a consumer, or a
// pending entry, each of which changes alone. Adding an entry appends to the last
// block and changes no facet, as the last id and the count of entries follow from
// the blocks until something is dropped (streamMeta). So a stream's state is a
// function of its blocks and facets, in whatever order effects brought them:
// recovery, which brings facets first, needs no rules of its own.
//
// What happens in groups is no change for WATCH, as in Redis; that a group ends
// wakes who waits for it.
//
// # The past
//
// Changes and audit events stay in memory until the archive (the store) has
// them: a read of the past joins both by the sequences of their batches, since a
// checkpoint may take over what a view still holds. Without an archive the
// newest stay, and an older moment is an error (ErrRetention). Each event carries the link of its
// owner's hash chain; the link covers the event, the link before it and the
// sequence of the batch before its own, because its own sequence is given only
// when the batch is appended.
//
// Working records are kept in memory only and leave no event.
//
// # Rules
//
// Schemas and policies are facets of the server, consent is one of its owner.
// What they say together is compiled when one changes, in apply, so that live
// writes and recovery agree, and read through one atomic pointer: a write costs
// a few nanoseconds where there is no policy. They decide at the moment of a
// change: a policy changed later alters no record, deadline or index until the
// record is written again (the index also at a restart). Quotas count an owner's
// records as they stand in the tree, not their history.
//
// What a revoked consent covers is hidden in one place, where records leave the
// tree or the history for a reader (Record, OwnerView); whoever ends records asks
// for Standing. A key's existence, type and deadline stay visible to generic
// commands.
//
// # What a record takes
//
// Of a record with a text of 200 bytes in memory, with a thousand to an owner, after
// a restart: its item 280 bytes, its places in the trees by key and by document 49
// and 48, its entry in the shard's table about 65 and the place that it leads to 32,
// its share of the text index
// 140 (postings and words 80, terms 27, the rest heads and orders). Until the next
// checkpoint each change takes 280 more (its event, packed), and what it replaced
// its item. An owner takes 1.3 KB, and as much while it has a cipher. The
// heap, after a restart and once the server is idle, is 2.9 times the text,
// resident 4.3 times with what the process takes anyway (64 MB of caches in 200,000
// records). With ten records to an owner the text index is not made before a recall
// asks for it: it would take 480 bytes for each.
//
// Trees of records that were written in order keep twice the memory that they need,
// and records that were overwritten (tidy.go), until the server is idle: then 100,000
// records of 200 bytes, each written twice, are resident in 4.4 times their text with
// a thousand to an owner, in 4.6 times with ten.
//
// On disk a record and one version of history take 1,570 bytes: its row 290, a row for
// each change 310, an event for each 330. They are sealed, so nothing can be
// compressed.
//
// # Keys of owners
//
// Each owner has a random key of its own (Keyring), which its first change that
// is kept takes, in the same batch, by number: the facet "!key". Whatever leaves
// memory of the owner's payloads is sealed with it, and hashes of payloads are
// keyed by it (sealing.go): apply, views and recall see the clear, batches, rows
// and the archive the sealed form. So destroying one key of 32 bytes makes all
// copies of an owner's past unreadable, backups too. A recovery leaves out what
// belongs to a destroyed key and counts it; bytes that do not open with a key
// that is there are damage. Keys of records and names of owners and facets are
// not sealed.
//
// Rejected: keys derived from a secret of the store and the owner's name. None of
// them could be destroyed, as the secret cannot. Rejected: sealing in the store,
// per block or file: a block holds many owners.
//
// Sealing 300 bytes costs less than a microsecond, no allocation, and 28 bytes; a
// write has two of them, its record and its event. Ciphers take 1 to 2 KB and four
// times as long to make, so only the last 16,384 are kept.
//
// # Erasing
//
// Erasing an owner destroys its key, then commits one batch (effect.Erase) that
// leaves the heads of its events and that its commands were done, then has the
// store purge its files; only then is there a reply. A process that ends after the
// first step leaves an owner whose key is destroyed: the next start erases it. One
// that ends after the second leaves a batch: the store ends that by itself. A scope
// inside an owner has no key of its own, so its erasure is the last two steps.
//
// What was erased and the archive still has is hidden from views (erasures). Views
// made before keep what they have until they end.
//
// Rejected: erasing in EXEC. A transaction waits for no file.
//
// # Drafts
//
// Several changes of an owner that all happen or none (MEM.APPLY) are a draft: a
// transaction that has one gives, for the owner, a copy of it, which shares all
// trees until they change. Every check then sees what the changes before it made,
// by the same reads, and effects are applied to the copy by the same apply; that is
// why drafts need no rules of their own. Publish passes the effects on, to the
// owner and the batch; Discard forgets the copy. The copy is a sketch: of what a
// change keeps up, it lacks what no check asks for and what cannot be undone: the
// index, the shards' entries, whoever watches a key. Of its vectors only the
// dimension is asked for; no change in a draft can bring one.
//
// Rejected: to make the copy the owner at the end, which saves the second apply but
// would need indexes, entries and watchers that can be undone. Rejected: to
// prepare all changes before the first is applied, over a map of those to come:
// quotas, lists and their items, command ids and expiry would each have to know
// that map.
//
// # Reads and durability
//
// A reply may leave once the journal is durable up to the gate of every shard
// and owner that its transaction touched. Only batches that must be durable
// before they are shown (always; profile and semantic records) raise gates.
//
// # Waiting
//
// Who waits for keys (waiting.go) is served by the transaction that changes one of
// them, before its batch is appended: what is brought and what is taken of it are
// one commit, and nobody comes between. Most serving needs no lock but the
// changed key's. For a waiter that changes another shard's keys, whoever locks its
// shards locks all, as long as it waits: such waiters are few, and a lock below
// those that are held must not be taken.
//
// Rejected: to wake the client and let it try again. Another client may be faster,
// so arrival would give no order, and a value would be shown between being brought
// and being taken.
//
// # Eviction
//
// maxmemory bounds the records of tables, deadlines, memory records and what clients
// hold, which are counted as they change, and what else of the data lives in Go's heap
// (indexes, groups of streams, scripts), which is known after each collection of it:
// what the collection finds, less what is counted, and less what is no data (the
// journal's buffers, a checkpoint, kept buffers), which its holders count (Holder).
// Both are known within bounds only, as garbage that is allocated while a collection
// looks is found, too; the figure moves when it is outside of them. Between two
// collections, what was dropped is counted off, and one is asked for when only it can
// tell. Keys are drawn as Redis draws them (evict.go). Of memory records only working
// and session records go.
//
// Rejected: to count every object of the heap as it changes. The count would be as
// good as the guess of what an object costs, and be kept by every type. Rejected: to
// take what a collection finds as it is. A checkpoint takes several times a small
// cache, and all keys would go for it.
//
// # Keyspace events
//
// A transaction collects what it tells of keys; at Commit that is queued while the
// locks are held, so that the events of a key have the order of its changes, and
// heard when they are released. Each event carries the gate of what its
// transaction touched, as replies do.
//
// # Alternatives
//
// The rejected alternative is an owner goroutine per shard with channels: a hop
// was measured at 0.3 to 1 microsecond, several times the cost of the command.
package engine
