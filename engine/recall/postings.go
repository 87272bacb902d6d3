// This file owns the bytes of a posting list: which documents of a segment hold
// a term, how often. It must not know of texts, scores or owners.

package recall

import "encoding/binary"

// A posting list is
//
//	count       uvarint, documents in the list
//	frequency   byte, the highest of any document
//	norm        byte, the lowest norm of any document
//	block…      blocks of blockDocs documents, the last one shorter
//
// A list of more than one block has before each block the ordinal of its last
// document and its size in bytes (16 bits each, little endian), so that a reader
// steps over it. A posting is uvarint(delta<<1) for a frequency of one, else
// uvarint(delta<<1|1) and the frequency in a byte; delta is the ordinal's
// distance from the one before it, less one (the first one's from -1).

const blockHeaderBytes = 4

// appendPostings appends the list of ordinals (strictly ascending, at least one)
// with their frequencies (1..frequencyMax).
func appendPostings(dst []byte, ordinals []uint16, frequencies, norms []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(ordinals)))
	highest, lowest := byte(0), byte(255)
	for i, ordinal := range ordinals {
		highest = max(highest, frequencies[i])
		lowest = min(lowest, norms[ordinal])
	}
	dst = append(dst, highest, lowest)
	next := 0
	for first := 0; first < len(ordinals); first += blockDocs {
		last := min(first+blockDocs, len(ordinals))
		header := len(dst)
		if len(ordinals) > blockDocs {
			dst = append(dst, 0, 0, 0, 0)
		}
		for i := first; i < last; i++ {
			delta := uint64(int(ordinals[i])-next) << 1
			next = int(ordinals[i]) + 1
			if frequencies[i] == 1 {
				dst = binary.AppendUvarint(dst, delta)
				continue
			}
			dst = append(binary.AppendUvarint(dst, delta|1), frequencies[i])
		}
		if len(ordinals) > blockDocs {
			binary.LittleEndian.PutUint16(dst[header:], ordinals[last-1])
			binary.LittleEndian.PutUint16(dst[header+2:], uint16(len(dst)-header-blockHeaderBytes))
		}
	}
	return dst
}

// postingList reads a list, block by block. The zero value is an empty list.
type postingList struct {
	count     int  // documents in the list, dead ones too
	frequency byte // the highest
	norm      byte // the lowest

	rest []byte // what was not decoded yet
	left int    // postings in rest
	next int    // ordinal that a delta of zero means
}

// posting is one document of a list.
type posting struct {
	ordinal   uint16
	frequency byte
}

func readPostings(b []byte) postingList {
	count, n := binary.Uvarint(b)
	return postingList{
		count:     int(count),
		frequency: b[n],
		norm:      b[n+1],
		rest:      b[n+2:],
		left:      int(count),
	}
}

// block decodes the next block into buf and answers what it holds, nothing
// after the last one.
func (l *postingList) block(buf *[blockDocs]posting) []posting {
	n := min(l.left, blockDocs)
	b := l.rest
	if l.count > blockDocs && n > 0 {
		b = b[blockHeaderBytes:]
	}
	next, at := l.next, 0
	for i := range n {
		v := uint(b[at])
		at++
		if v >= 0x80 {
			v &= 0x7f
			for shift := 7; ; shift += 7 {
				c := uint(b[at])
				at++
				v |= c & 0x7f << shift
				if c < 0x80 {
					break
				}
			}
		}
		next += int(v >> 1)
		frequency := byte(1)
		if v&1 != 0 {
			frequency = b[at]
			at++
		}
		buf[i] = posting{ordinal: uint16(next), frequency: frequency}
		next++
	}
	l.rest, l.left, l.next = b[at:], l.left-n, next
	return buf[:n]
}

// skipTo steps over whole blocks that end before ordinal.
func (l *postingList) skipTo(ordinal int) {
	if l.count <= blockDocs {
		return
	}
	for l.left > 0 {
		last := int(binary.LittleEndian.Uint16(l.rest))
		if last >= ordinal {
			return
		}
		size := int(binary.LittleEndian.Uint16(l.rest[2:]))
		l.rest = l.rest[blockHeaderBytes+size:]
		l.left -= min(l.left, blockDocs)
		l.next = last + 1
	}
}

// Document lengths are kept in a byte, as most text indexes do: exact below 32,
// then four bits below the leading one (at most 6 % too short).

func normOf(length int) byte {
	if length < 32 {
		return byte(length)
	}
	exponent := 0
	for length>>exponent >= 32 {
		exponent++
	}
	code := 32 + (exponent-1)*16 + (length>>exponent - 16)
	return byte(min(code, 255))
}

func lengthOf(norm byte) int {
	if norm < 32 {
		return int(norm)
	}
	exponent := (int(norm)-32)/16 + 1
	return (16 + (int(norm)-32)%16) << exponent
}
