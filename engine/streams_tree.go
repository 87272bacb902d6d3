package engine

import (
	"math/bits"

	"reminis/engine/stream"
)

// This file owns how many nodes Redis's radix tree would have, which XINFO STREAM
// shows. There is no such tree here.

// radixNodes counts the nodes of the radix tree (rax.c) of the blocks' ids: one
// for each block, for each place where paths part, and for each stretch of bytes
// in between.
func radixNodes(index []streamBlock) int {
	if len(index) == 0 {
		return 1
	}
	t := radixCount{nodes: len(index)}
	for i := range index {
		before, behind := rootDepth, rootDepth
		if i > 0 {
			before = sharedBytes(index[i-1].first, index[i].first)
		}
		if i+1 < len(index) {
			behind = sharedBytes(index[i].first, index[i+1].first)
		}
		t.edge(max(before, behind), stream.IDBytes)
		t.part(behind)
	}
	return t.nodes
}

// rootDepth is above all bytes, so that the root's own stretch is an edge, too.
const rootDepth = -1

// radixCount goes over the ids in order. path has the depths, ascending, at which
// paths part on the way to the id where it is.
type radixCount struct {
	nodes int
	path  []int
}

// edge counts the stretch between two depths; the byte that chooses the way is
// the upper node's.
func (t *radixCount) edge(upper, lower int) {
	if lower > upper+1 {
		t.nodes++
	}
}

// part goes on to an id that shares so many bytes with the one before.
func (t *radixCount) part(depth int) {
	for n := len(t.path); n > 0 && t.path[n-1] > depth; n = len(t.path) {
		upper := depth
		if n > 1 {
			upper = max(upper, t.path[n-2])
		}
		t.edge(upper, t.path[n-1])
		t.path = t.path[:n-1]
	}
	if n := len(t.path); depth != rootDepth && (n == 0 || t.path[n-1] < depth) {
		t.path = append(t.path, depth)
		t.nodes++
	}
}

// sharedBytes is how many bytes the binary forms of two ids have in common.
func sharedBytes(a, b stream.ID) int {
	if a.Ms != b.Ms {
		return bits.LeadingZeros64(a.Ms^b.Ms) / 8
	}
	return 8 + bits.LeadingZeros64(a.Seq^b.Seq)/8
}
