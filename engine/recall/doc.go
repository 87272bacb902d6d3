// Package recall finds an owner's records by text and ranks them.
//
// # Use
//
// One Index per owner. The writer calls Add and Remove with the record's anchor;
// both take constant time, whatever the text. A reader takes a View at its
// command's position in the order of commands, and searches it later, on any
// goroutine, with no lock: writes go on and the view does not move. After a bulk
// load, or when NeedsBuild says so, a background goroutine calls Build. A recall
// of a past state adds what lived then to a new Index and searches that.
// Ranking.Score fuses a hit with recency and confidence, Pack fills a token
// budget. Equal scores come newest ID first: IDs that survive a restart keep the
// order of ties over it.
//
// # Terms
//
// Text is folded (case, accents, full-width and half-width forms, decomposed
// letters), words are stemmed (English, Russian), function words are kept apart.
// Scripts without spaces, and Hangul, whose words carry their particles, are
// indexed by every pair of neighbouring characters and by every single one; no
// dictionary decides what a word is. A query of a run looks for its pairs and,
// for less, its characters; a query of function words alone looks for these.
// Words are cut at 64 bytes.
//
// # Scores
//
// BM25 (k1 1.2, b 0.75) over the owner's live documents, plus, for a turn of a
// conversation, half of the score of the turn beside it or a quarter of the one
// after that, whichever is most: the answer to a question often has none of its
// words. The number of documents, of those
// that have a term, and their average length count live documents only, and a
// document's sum is built in the order (fewest documents first, then the term's
// bytes), so that scores are a pure function of the live documents: not of
// deletions, merges, restarts, nor of what was indexed when. Lengths are coded
// in a byte (at most 6 % short).
//
// Two texts say the same when nine tenths of all their shingles, three neighbouring
// words each, are common to both. A sketch of 256 bits, of which each shingle sets
// one, rules nearly all pairs of up to some hundred words out before they are
// compared: those in which more bits differ than shingles may. Rejected: MinHash, whose
// estimate would let a recall differ from its definition; to compare the lowest few
// shingles first, of which one is common to texts that are alike, but also to all
// records whose values have the same members.
//
// # Structure
//
// New documents wait as text. Whoever searches first turns all that wait into an
// immutable segment, uses it, and leaves it to the index: what is not indexed
// yet, recall scans, once. So a search always sees segments only, and there is
// one scoring path. Segments of a size class are merged by four; a search does
// small merges itself, Build the large ones. Removal sets a bit; the bitmaps and
// the list of segments are copied on write after a snapshot was taken. Merging
// and analysing hold no lock that a writer takes.
//
// A segment is nine slices without pointers: per document 34 bytes for id,
// group, order, length, class and place in its conversation; per posting 1 byte if the
// list is dense (the distance to the document before it, a flag for a frequency
// of one). About 75 bytes a turn of conversation, everything included.
//
// Rare terms are scored first. Once the documents that have none of the terms
// done can no longer reach the result, not even with a neighbour's help, the
// remaining lists are only looked into, block by block, where a document that
// still can lies. Then documents are taken by falling score of their own, each
// with its neighbours, until no later one can matter. Both cuts are exact: the
// tests compare with a scorer that knows no index.
//
// Measured on one core of a shared server, 10,000 turns of conversation, questions
// of people about them: 0.14 ms of processor time on average, 0.31 ms at the 99th
// percentile; indexing costs 10 µs a turn.
//
// # Rejected
//
//   - bleve: 30 times the CPU for a query, IDF across tenants, a store of its own
//     beside the journal.
//   - Scores quantised at indexing time (impact-ordered lists): they go stale with
//     every write, since document counts and the average length are in them.
//   - Block-max WAND: its gain is in lists of millions; an owner's longest list
//     fits the second-level cache, and adding up whole lists, rare ones first, is
//     simpler and as fast.
//   - Counting documents per term at removal: it would need each document's terms
//     again. A search counts the live ones in its own lists instead, which are
//     short, and only in segments that have dead documents.
//   - UAX #29 word breaks: everything they decide differently from runs of letters
//     and digits (decimal points, full stops without a space, apostrophes,
//     ideographs one by one, underscores) is wanted otherwise here, so the runs
//     are cut directly, in one pass with the folding.
package recall
