// This file owns every limit of the package, each with its reason. It must not
// hold behaviour.

package recall

const (
	// TermBytesMax is where a term is cut, in bytes of its folded form. Longer
	// runs are identifiers and encoded blobs; their beginning tells them apart,
	// and a bound keeps a word of a megabyte from becoming a dictionary entry
	// of a megabyte.
	TermBytesMax = 64

	// QueryTermsMax is how many distinct terms of a query count; the rest are
	// ignored. A question has a dozen; a pasted page must not scan the whole
	// dictionary.
	QueryTermsMax = 256

	// NeighboursMax is the largest Query.Neighbours; larger values are lowered
	// to it. Beyond ten turns nothing is left of the weight (1/1024).
	NeighboursMax = 10

	// ClassMax is the highest Doc.Class: a query says of each what it means.
	ClassMax = 7

	// segmentDocsMax bounds the documents of a segment, so that an ordinal fits
	// 16 bits and one merge is bounded work.
	segmentDocsMax = 1 << 16

	// segmentTextMax ends a new segment once it holds that many bytes of text,
	// and segmentSizeMax keeps merges below offsets of 32 bits.
	segmentTextMax = 64 << 20
	segmentSizeMax = 512 << 20

	// mergeFanout is how many segments of one size class are merged into one of
	// the next: each posting is rewritten once per class, and a search looks at
	// no more than mergeFanout-1 segments per class.
	mergeFanout = 4

	// searchMergeMax bounds the documents of a merge that a search may do on
	// its own account (about a millisecond); larger ones wait for Build.
	searchMergeMax = 1024

	// frequencyMax is where a term's frequency in a document saturates. BM25
	// is within 1 % of its asymptote there.
	frequencyMax = 255

	// blockDocs is how many postings a block holds; lists longer than one block
	// carry a header per block, by which it can be skipped.
	blockDocs = 128
)
