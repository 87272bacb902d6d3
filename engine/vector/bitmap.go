// This file owns sets of positions. It must not know what they number.

package vector

import "math/bits"

// bitmap is a set of small numbers; nil is empty.
type bitmap []uint64

func (b bitmap) has(i int) bool {
	return i>>6 < len(b) && b[i>>6]&(1<<(i&63)) != 0
}

// with answers b with i in it, grown if need be; b itself changes.
func (b bitmap) with(i int) bitmap {
	for i>>6 >= len(b) {
		b = append(b, 0)
	}
	b[i>>6] |= 1 << (i & 63)
	return b
}

// added calls visit for each number in b that is not in before.
func (b bitmap) added(before bitmap, visit func(i int)) {
	for w, word := range b {
		if w < len(before) {
			word &^= before[w]
		}
		for ; word != 0; word &= word - 1 {
			visit(w<<6 + bits.TrailingZeros64(word))
		}
	}
}
