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

	// baseLinks and upperLinks are how many links a node has at most, on level 0
	// and above; twice as many below is what HNSW's authors found. More would
	// find more per candidate, for memory and time in proportion.
	baseLinks  = 2 * upperLinks
	upperLinks = 16

	// upperBits says how many of a node's hash bits must be zero for one level
	// more: one node of 16 goes up, as many as a list has links. levelMax is
	// never reached.
	upperBits = 4
	levelMax  = 15

	// insertWidth is how many candidates a walk keeps when a vector is inserted.
	insertWidth = 100

	// searchWidth is how many it keeps at least when one is searched for, and
	// searchWidthMax at most, by measurement; twice as many as are wanted if
	// that is more.
	searchWidth    = 128
	searchWidthMax = 4 * searchWidth
	widthFactor    = 2

	// walkShare is the share (1/n) of a graph above which a walk's width makes a
	// scan the better choice: a walk compares some 16 vectors per candidate.
	walkShare = 32

	// A graph of measureMin is measured with measureQueries of its own vectors, each for
	// measureLimit neighbours, and again when it has grown by 1/measureShare: 32
	// scans for each quarter more are a hundredth of what inserting it costs.
	// Smaller ones are about to be dropped.
	// Walks must find recallMin of recallScale neighbours, and compare less than
	// 1/scanGain of the vectors: one out of order costs as much as two or three
	// in order.
	measureMin     = graphMin / 4
	measureQueries = 32
	measureLimit   = 10
	measureShare   = 4
	recallMin      = 990
	recallScale    = 1000
	scanGain       = 3

	// graphMin is how many vectors deserve a graph: a scan of that many takes
	// about as long as everything else that a recall does. Half as many keep it.
	graphMin = 20_000

	// graphStep is how many vectors may wait for the graph, being scanned (some
	// 0.1 ms), and how many a Build inserts (some 0.5 s).
	graphStep = 1024
)
