// Package stream owns the parts of a stream that are bytes: its ids, and the
// blocks that its entries lie in.
//
// # Blocks
//
// A block is elements of a listpack, behind each other:
//
//	fields n | field … | 0                     the master: what the first entry had
//	flags | ms | seq | value … | pieces        an entry with the master's fields
//	flags | ms | seq | n | field value … | pieces   any other
//
// ms and seq are differences from the id that the block has for a name, which is
// that of its first entry. pieces is how many elements of the entry precede it, so
// that a block can be read from its end. An entry that was deleted keeps its
// place and has a flag.
//
// That is the node of a stream as Redis 7.0 has it (t_stream.c streamAppendItem)
// without what changes with every entry: the head of the listpack, and the counts
// of entries and of deleted ones in front of the master. Those are known by who
// has the block, and a node is made of both where one is wanted (AppendNode). So
// adding an entry only appends, in memory, in the journal and in the store, and
// Redis's thresholds count the same bytes.
//
// Rejected: Redis's node as it is. Each entry would change the block in three
// places. Rejected: a denser form of our own, for the same reasons as in package
// listpack.
//
// # Trust
//
// Blocks are trusted: they were made by Append, or by FromNode, which checks bytes
// from outside to the last element.
package stream
