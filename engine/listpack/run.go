// This file owns runs: elements without header and end byte, as the blocks of
// large lists are kept. It must not know encodings.

package listpack

import "encoding/binary"

// Run is elements one after the other. A position in it is an offset, from 0 for
// the first element to the run's length for the end. It is grown and shrunk as the
// bytes that it is: what is between two positions may be taken out or put into
// another run. All functions expect a valid run and panic on another.
type Run []byte

// Next returns the position behind the element at pos.
func (r Run) Next(pos int) int {
	if first := r[pos]; isShortString(first) {
		return pos + 2 + int(first&0x3F)
	}
	return pos + elementBytes(r, pos)
}

// Prev returns the position of the element that ends at pos, which is not 0.
func (r Run) Prev(pos int) int {
	encoded := backLength(r, pos)
	return pos - encoded - backLengthBytes(encoded)
}

// Len counts the elements, by walking.
func (r Run) Len() int {
	count := 0
	for pos := 0; pos < len(r); pos = r.Next(pos) {
		count++
	}
	return count
}

// Index returns the position of element i of the count that the run has, or the
// end for i equal to count. It walks from the nearer end.
func (r Run) Index(i, count int) int {
	if i <= count/2 {
		pos := 0
		for ; i > 0; i-- {
			pos = r.Next(pos)
		}
		return pos
	}
	pos := len(r)
	for ; i < count; i++ {
		pos = r.Prev(pos)
	}
	return pos
}

// Get returns the element at pos. Its text aliases the run.
func (r Run) Get(pos int) Element {
	element, _ := decode(r[pos:])
	return element
}

// At returns the element at pos, and the position behind it.
func (r Run) At(pos int) (Element, int) {
	element, encoded := decode(r[pos:])
	return element, pos + encoded + backLengthBytes(encoded)
}

// Elements returns the elements of a listpack, which they alias.
func Elements(lp []byte) Run { return lp[headerBytes:End(lp):End(lp)] }

// AppendElement appends an element to the bytes of a run.
func AppendElement(run, text []byte) []byte {
	if n, isInt := ParseInt(text); isInt {
		return AppendInteger(run, n)
	}
	from := len(run)
	run = grown(run, stringBytes(len(text)))
	putString(run[from:], text)
	return run
}

// AppendInteger appends an integer to the bytes of a run.
func AppendInteger(run []byte, n int64) []byte {
	from := len(run)
	run = grown(run, intBytes(n))
	putInt(run[from:], n)
	return run
}

// IntegerBytes returns how many bytes an integer of a run takes.
func IntegerBytes(n int64) int { return intBytes(n) }

// ElementBytes returns how many bytes an element of a run takes.
func ElementBytes(text []byte) int {
	if n, isInt := ParseInt(text); isInt {
		return intBytes(n)
	}
	return stringBytes(len(text))
}

// PackedBytes returns the length of a listpack of the elements of a run.
func PackedBytes(run Run) int { return headerBytes + len(run) + 1 }

// AppendPacked appends a listpack of the count elements that a run has.
func AppendPacked(dst []byte, run Run, count int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(PackedBytes(run)))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(min(count, countUnknown)))
	return append(append(dst, run...), endByte)
}

// A Matcher finds an element again and again: what it looks for is read once.
type Matcher struct {
	text  []byte
	n     int64
	isInt bool
}

// NewMatcher makes one for elements equal to text, which it keeps.
func NewMatcher(text []byte) Matcher {
	n, isInt := ParseInt(text)
	return Matcher{text: text, n: n, isInt: isInt}
}

// At reports whether the element at pos is what is looked for.
func (m Matcher) At(run Run, pos int) bool {
	if first := run[pos]; isShortString(first) {
		size := int(first & 0x3F)
		return size == len(m.text) && string(run[pos+1:pos+1+size]) == string(m.text)
	}
	element := run.Get(pos)
	if element.Text == nil {
		return m.isInt && element.Int == m.n
	}
	return string(element.Text) == string(m.text)
}

// grown returns bytes longer by n of arbitrary content.
func grown(bytes []byte, n int) []byte {
	if need := len(bytes) + n; need <= cap(bytes) {
		return bytes[:need]
	}
	return append(bytes, make([]byte, n)...)
}
