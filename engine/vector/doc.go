// Package vector finds an owner's records by vectors and ranks them by cosine.
//
// # Use
//
// One Index per owner and number of dimensions. The writer calls Add and Remove;
// both take constant time. A reader takes a View at its command's position in
// the order of commands, in constant time too, and searches it later, on any
// goroutine, with no lock: writes go on and the view does not move. While
// NeedsBuild says so, a background goroutine calls Build, which does a second's
// work at most. Parse and Append translate a vector's bytes.
//
// # Scores
//
// Up to 20,000 vectors the answer is exact. Beyond that a graph is walked
// through, which may miss some of the best; what it answers has its exact score,
// was live when the view was taken, and was accepted.
//
// Vectors are scaled to length 1 when they are added, and an inner product of
// two is their cosine. The fast inner product chooses a few candidates more than
// are wanted, and those are scored anew in float64 in the order of their
// numbers, where every product is exact: a score is the same on every machine,
// with and without assembly, and so is the order, ties newest ID first.
//
// # Structure
//
// Vectors lie in chunks of 256, by position, which is the order of arrival; no
// position is ever written twice. So a view is a copy of a few words: the list
// of chunks, how many positions were taken, and a bitmap of the dead, which is
// copied on write after a snapshot was taken. An ID that is added again dies at
// its old position. When a quarter is dead, Build copies the living together,
// holding the lock only for the last few and for what died meanwhile; views keep
// the old chunks until they are dropped.
//
// Nothing in chunks is a pointer. A vector costs its numbers (4 bytes each, or
// one and 4 for the scale with Int8), 8 bytes for its ID, and 24 to find it by
// ID.
//
// Int8 is for owners of many vectors that are kept elsewhere too: codes choose
// four times as many candidates as are wanted, and Query.Fetch has those scored
// exactly.
//
// # Graph
//
// HNSW (16 links, 32 on the lowest level, a node of 16 on the level above), in
// four slices without pointers, about 145 bytes a vector. A view has the graph
// and, beyond what that covers, scans: so a graph never changes once published.
// Build copies it (13 MB per 100,000 vectors, some milliseconds) and inserts the
// next 1,024 into the copy. The dead stay, as ways to others, until compaction;
// then a node that linked to a dead one chooses anew among what it and the dead
// one linked to, which costs a tenth of inserting all again and finds as much.
// Vectors that are the same bit by bit, as equal texts have them, are one node
// and its twins: as nodes they would fill each other's links and be an island.
//
// A graph is no use where no vector is much nearer than the others. So it is
// measured on its own vectors, whole and each time it has grown by a quarter: walks get as
// wide as it takes to find 99 % of their neighbours, and where that compares a
// third of the vectors or more, searches go on to scan. They also do if less than
// an eighth of the vectors are accepted, asking Accept first; if very many hits
// are wanted; and if the walk found too few.
//
// Measured (BenchmarkSearch; seeds in there), 20,000 vectors, ten neighbours of
// 200 queries from the same distribution; the same within 0.002 when half of the
// vectors were removed, when they were added again, and with Int8:
//
//	mixture    384 dimensions, 200 Gaussians  recall 1.000, 2,000 compared
//	random32    32 dimensions, one Gaussian   recall 0.986, 2,900 compared
//	random384  384 dimensions, one Gaussian   recall 1.000, all compared: of no use
//
// One core of a shared server, in processor time: an inner product of 384 numbers
// takes 42 ns (282 without assembly), of bytes 47 (622); a scan of 20,000 vectors
// in memory's order 2 to 5 ms, with Int8 0.7 to 1.7, a walk 0.3 to 1; inserting a
// vector 0.2 to 0.7 ms, repairing one 0.1.
//
// # Assembly
//
// kernel_amd64.s has the two inner products for AVX2 and FMA. It reads what its
// arguments span and nothing else, has no branch on data, and is compared with
// the portable form at every length up to 300. Besides engine/table this is the
// only package with assembly.
//
// # Rejected
//
//   - Vectors in float32 and codes beside them, to scan a quarter of the bytes:
//     it costs a quarter more memory in every index for a gain in large ones.
//   - Reusing the positions of the dead: a view would have to say when it is
//     dropped.
//   - simd/archsimd: an experiment whose names still change between releases.
//   - github.com/viterin/vek: as fast, but a dependency for two functions, and it
//     has no inner product of bytes.
package vector
