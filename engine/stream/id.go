package stream

// This file owns ids: their order and their forms. It must not know what a client
// may write for one.

import (
	"cmp"
	"encoding/binary"
	"math"
	"strconv"
)

// ID names an entry: a time in Unix milliseconds, and a number among those of the
// same time.
type ID struct{ Ms, Seq uint64 }

// Max is the greatest id, the zero ID the least.
var Max = ID{math.MaxUint64, math.MaxUint64}

// IDBytes is the size of an id's binary form.
const IDBytes = 16

// Compare is negative when a is less than b, positive when it is greater.
func (a ID) Compare(b ID) int {
	return cmp.Or(cmp.Compare(a.Ms, b.Ms), cmp.Compare(a.Seq, b.Seq))
}

// Less says whether a comes before b.
func (a ID) Less(b ID) bool { return a.Ms < b.Ms || a.Ms == b.Ms && a.Seq < b.Seq }

// Next is the id behind a; ok is false when a is Max, and the id zero.
func (a ID) Next() (next ID, ok bool) {
	if a.Seq != math.MaxUint64 {
		return ID{a.Ms, a.Seq + 1}, true
	}
	return ID{Ms: a.Ms + 1}, a.Ms != math.MaxUint64
}

// Previous is the id before a; ok is false when a is zero, and the id Max.
func (a ID) Previous() (previous ID, ok bool) {
	if a.Seq != 0 {
		return ID{a.Ms, a.Seq - 1}, true
	}
	return ID{a.Ms - 1, math.MaxUint64}, a.Ms != 0
}

// AppendText appends the id as clients read it.
func (a ID) AppendText(dst []byte) []byte {
	dst = strconv.AppendUint(dst, a.Ms, 10)
	return strconv.AppendUint(append(dst, '-'), a.Seq, 10)
}

// AppendBinary appends the id so that the order of bytes is the order of ids.
func (a ID) AppendBinary(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, a.Ms), a.Seq)
}

// Binary is AppendBinary.
func (a ID) Binary() (b [IDBytes]byte) {
	a.AppendBinary(b[:0])
	return b
}

// FromBinary reads what AppendBinary wrote; b has IDBytes at least.
func FromBinary(b []byte) ID {
	return ID{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}
