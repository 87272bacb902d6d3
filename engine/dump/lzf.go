package dump

// This file owns LZF: runs of literal bytes, and references to bytes that came
// before. It must not know where compressed bytes stand.
//
//	000nnnnn bytes          n+1 literal bytes
//	lllooooo o              l+2 bytes (l from 1 to 6) from o+1 bytes before
//	111ooooo l o            l+9 bytes from o+1 bytes before

import (
	"errors"
	"math/bits"
	"sync"
)

const (
	literalsMax  = 32
	offsetMax    = 1 << 13
	referenceMin = 3
	referenceMax = 2 + 7 + 255
	// expansionMax is how many bytes a compressed byte may become: a reference
	// of three bytes becomes referenceMax.
	expansionMax = referenceMax / 3

	// slotBits and slotBitsMin are how many bits of a hash choose a slot, of a long
	// text and of a short one.
	slotBits, slotBitsMin = 13, 6
)

// slotTables are tables that nobody uses now. Of one only the part that a text needs
// is cleared, or a short text would cost what a long one does.
var slotTables = sync.Pool{New: func() any { return new([1 << slotBits]uint32) }}

var errCompressed = errors.New("dump: the compressed string is damaged")

// compress appends text compressed to dst; ok is false when that takes more
// than limitBytes.
func compress(dst, text []byte, limitBytes int) (out []byte, ok bool) {
	// slots has the last place, plus one, of three bytes with that hash.
	table := slotTables.Get().(*[1 << slotBits]uint32)
	defer slotTables.Put(table)
	width := min(max(bits.Len(uint(len(text))), slotBitsMin), slotBits)
	slots := table[:1<<width]
	clear(slots)
	limit := len(dst) + limitBytes
	literals := 0
	for i := 0; i+referenceMin <= len(text); {
		slot := hashOf(text[i:], width)
		from := int(slots[slot]) - 1
		slots[slot] = uint32(i + 1)
		if from < 0 || i-from > offsetMax || text[from] != text[i] || text[from+1] != text[i+1] || text[from+2] != text[i+2] {
			i++
			continue
		}
		size := referenceMin
		for size < referenceMax && i+size < len(text) && text[from+size] == text[i+size] {
			size++
		}
		dst = appendReference(appendLiterals(dst, text[literals:i]), i-from, size)
		if len(dst) > limit {
			return nil, false
		}
		// The last places inside of the reference are worth finding again.
		for last := i + size; i < last; i++ {
			if i >= last-2 && i+referenceMin <= len(text) {
				slots[hashOf(text[i:], width)] = uint32(i + 1)
			}
		}
		literals = i
	}
	dst = appendLiterals(dst, text[literals:])
	return dst, len(dst) <= limit
}

func hashOf(b []byte, width int) uint32 {
	return (uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])) * 0x9E3779B1 >> (32 - width)
}

func appendLiterals(dst, text []byte) []byte {
	for len(text) > 0 {
		n := min(len(text), literalsMax)
		dst = append(append(dst, byte(n-1)), text[:n]...)
		text = text[n:]
	}
	return dst
}

func appendReference(dst []byte, offset, size int) []byte {
	offset--
	if size -= 2; size < 7 {
		return append(dst, byte(size<<5|offset>>8), byte(offset))
	}
	return append(dst, byte(7<<5|offset>>8), byte(size-7), byte(offset))
}

// expand returns the sizeBytes that data was compressed from.
func expand(data []byte, sizeBytes int) ([]byte, error) {
	if sizeBytes == 0 {
		// As in Redis, where whatever cannot be read counts as nothing.
		return []byte{}, nil
	}
	if sizeBytes > len(data)*expansionMax {
		return nil, errCompressed
	}
	out := make([]byte, 0, sizeBytes)
	for i := 0; i < len(data); {
		head := int(data[i])
		i++
		if head < literalsMax {
			n := head + 1
			if n > len(data)-i || n > sizeBytes-len(out) {
				return nil, errCompressed
			}
			out = append(out, data[i:i+n]...)
			i += n
			continue
		}
		size := head>>5 + 2
		if size == 7+2 {
			if i >= len(data) {
				return nil, errCompressed
			}
			size += int(data[i])
			i++
		}
		if i >= len(data) {
			return nil, errCompressed
		}
		from := len(out) - (head&31<<8 | int(data[i])) - 1
		i++
		if from < 0 || size > sizeBytes-len(out) {
			return nil, errCompressed
		}
		// The bytes may overlap: what is copied is copied again.
		for ; size > 0; size-- {
			out = append(out, out[from])
			from++
		}
	}
	if len(out) != sizeBytes {
		return nil, errCompressed
	}
	return out, nil
}
