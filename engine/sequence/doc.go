// Package sequence is a counted B+tree of packed blocks: elements in an order
// that are found by their index as well as by a key.
//
// A block is bytes that hold elements one after the other; only its owner knows
// how. The tree knows of each block a key of 64 bits, by which blocks are in
// order, and how many elements it holds. So the element with an index, the rank
// of a block, the block where a key belongs and the insertion of a block all take
// O(log n), and what is left to do is inside one block, which is small. A large
// list is a sequence whose keys are the names of its blocks; a large sorted set
// is one whose keys are the scores that blocks begin with, which may repeat:
// whoever searches then says by the blocks' bytes what comes first.
//
// # Memory
//
// The bytes of blocks are values of a table.Table under the blocks' numbers, so
// that the garbage collector neither scans nor counts them, compaction gives
// back what shrinks, and the system gets back what is dropped. A block has room
// for an eighth more than it needed when it last grew: that bounds what is not
// used, and a growing block is copied every few elements, which costs less than
// reading it did. Nodes are on the heap, about 45 bytes for each block.
//
// Rejected: blocks as slices on the heap. The collector lets the heap grow to
// twice what lives, so a list of a gigabyte would take two. Rejected: a skip list
// of elements, as in Redis: a pointer or more for each element, and a cache miss
// for each step of a range. Rejected: references into blocks instead of their
// numbers, which save the table's look-up, but which compaction would have to
// change.
package sequence
