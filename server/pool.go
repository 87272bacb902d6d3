// This file owns the reuse of buffers. It must not know what is in them.

package server

import "math/bits"

// A pool keeps buffers for reuse by one goroutine. Connections own buffers only
// while something is in them, so that an idle connection costs no buffer,
// however large its last request was.
type pool struct {
	// free holds buffers by size: those of class i have room for at least
	// poolLeastBytes<<i, and for less than twice that.
	free [poolClasses][][]byte
	// keptBytes is what free holds; mostBytes bounds it.
	keptBytes, mostBytes int
}

// poolClasses is how many classes lie between poolLeastBytes and poolBufferBytes.
const poolClasses = 11

// get returns an empty buffer with room for size bytes. One that the pool would
// not take back has room for no more than that.
func (p *pool) get(size int) []byte {
	if size > poolBufferBytes {
		return make([]byte, 0, size)
	}
	class := bits.Len(uint(max(size, poolLeastBytes)-1) / poolLeastBytes)
	free := p.free[class]
	if n := len(free); n > 0 {
		buf := free[n-1]
		free[n-1] = nil
		p.free[class] = free[:n-1]
		p.keptBytes -= cap(buf)
		return buf[:0]
	}
	return make([]byte, 0, poolLeastBytes<<class)
}

// put gives a buffer back; one that there is no room for goes to the garbage
// collector.
func (p *pool) put(buf []byte) {
	size := cap(buf)
	if size < poolLeastBytes || size >= 2*poolBufferBytes {
		return
	}
	class := bits.Len(uint(size/poolLeastBytes)) - 1
	for p.keptBytes+size > p.mostBytes {
		if !p.yield(class) {
			return
		}
	}
	p.free[class] = append(p.free[class], buf)
	p.keptBytes += size
}

// yield forgets a buffer of the class that keeps the most, unless that is the one
// that wants room: a size that nobody asks for any more must not keep others out.
func (p *pool) yield(class int) bool {
	most := class
	for i := range p.free {
		if len(p.free[i])<<i > len(p.free[most])<<most {
			most = i
		}
	}
	if most == class {
		return false
	}
	free := p.free[most]
	last := len(free) - 1
	p.keptBytes -= cap(free[last])
	free[last] = nil
	p.free[most] = free[:last]
	return true
}

// drop forgets all buffers.
func (p *pool) drop() {
	p.free, p.keptBytes = [poolClasses][][]byte{}, 0
}
