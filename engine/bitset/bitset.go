// Package bitset holds sets of small numbers, such as the dead documents or vectors
// of an index. It must not know what they number.
package bitset

import "math/bits"

// Set is a set of small numbers; nil is empty.
type Set []uint64

// Has says whether i is in the set.
func (b Set) Has(i int) bool {
	return i>>6 < len(b) && b[i>>6]&(1<<(i&63)) != 0
}

// With answers b with i in it, grown if need be; b itself changes.
func (b Set) With(i int) Set {
	for i>>6 >= len(b) {
		b = append(b, 0)
	}
	b[i>>6] |= 1 << (i & 63)
	return b
}

// Added calls visit for each number in b that is not in before.
func (b Set) Added(before Set, visit func(i int)) {
	for w, word := range b {
		if w < len(before) {
			word &^= before[w]
		}
		for ; word != 0; word &= word - 1 {
			visit(w<<6 + bits.TrailingZeros64(word))
		}
	}
}
