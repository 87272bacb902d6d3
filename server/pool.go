// This file owns the reuse of buffers. It must not know what is in them.

package server

// A pool keeps buffers for reuse by one goroutine. Connections own buffers only
// while something is in them, so that an idle connection costs no buffer,
// however large its last request was.
type pool struct {
	// free holds buffers of exactly readMinBytes and outputKeepBytes capacity.
	small, large [][]byte
	// most bounds each list.
	most int
}

// get returns an empty buffer with room for size bytes.
func (p *pool) get(size int) []byte {
	switch {
	case size > outputKeepBytes:
		return make([]byte, 0, size)
	case size > readMinBytes:
		return take(&p.large, outputKeepBytes)
	}
	return take(&p.small, readMinBytes)
}

func take(free *[][]byte, size int) []byte {
	if n := len(*free); n > 0 {
		buf := (*free)[n-1]
		(*free)[n-1] = nil
		*free = (*free)[:n-1]
		return buf[:0]
	}
	return make([]byte, 0, size)
}

// put gives a buffer back; one that is larger than what is kept goes to the
// garbage collector.
func (p *pool) put(buf []byte) {
	switch size := cap(buf); {
	case size > outputKeepBytes || size < readMinBytes:
	case size == outputKeepBytes:
		if len(p.large) < p.most {
			p.large = append(p.large, buf)
		}
	default:
		if len(p.small) < p.most {
			p.small = append(p.small, buf)
		}
	}
}

// drop forgets all buffers.
func (p *pool) drop() {
	p.small, p.large = nil, nil
}
