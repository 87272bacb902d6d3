// This file owns every limit of the package, each with its reason. It must not
// hold behaviour.

package vector

const (
	// DimensionsMax is the limit mem-vector-dimensions. The embedding models in
	// use have 256 to 4,096; a vector of that many is 16 KB, as much as a large
	// record.
	DimensionsMax = 4096

	// chunkVectors is how many vectors are allocated together: at 384 dimensions
	// 400 KB, which is little to waste at the end and long enough to scan at the
	// speed of memory. The first chunk grows up to it, so that an owner of three
	// vectors does not pay for it.
	chunkVectors = 256

	// rescoreSlack is how many candidates more than were asked for get their
	// exact score, since those at the border were told apart by a rounded one.
	rescoreSlack = 16

	// coarseFactor is how many candidates of the Int8 mode per hit get their
	// exact score: codes of a byte misplace a neighbour by a few places, not by
	// three times as many as there are.
	coarseFactor = 4

	// sampleVectors is how many vectors tell whether Query.Accept is selective,
	// and selectiveShare is the share (1/n) of them below which it is: Accept is
	// asked before a vector is compared, and a graph is of no help.
	sampleVectors  = 256
	selectiveShare = 8

	// compactMin and compactShare say when the dead are worth a compaction:
	// there are at least so many vectors, and this share (1/n) of them is dead.
	compactMin   = 64
	compactShare = 4

	// catchUpMax is how many vectors compaction copies while writers wait, some
	// 0.1 ms; what was added in the meantime beyond that it copies before.
	catchUpMax = 256
)
