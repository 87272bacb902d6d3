package server

import "testing"

func TestPoolReusesBySize(t *testing.T) {
	for _, test := range []struct {
		name                string
		put, get, wantBytes int
		reused              bool
	}{
		{"smallest", poolLeastBytes, 1, poolLeastBytes, true},
		{"grown by append, for what it has room for", 3 * readMinBytes, 2 * readMinBytes, 3 * readMinBytes, true},
		{"grown by append, for more", 3 * readMinBytes, 3 * readMinBytes, 4 * readMinBytes, false},
		{"too large for the request", 4 * readMinBytes, readMinBytes, readMinBytes, false},
		{"largest", poolBufferBytes, poolBufferBytes, poolBufferBytes, true},
		{"over the largest", poolBufferBytes + 1, poolBufferBytes + 1, poolBufferBytes + 1, false},
		{"too small to keep", poolLeastBytes - 1, 1, poolLeastBytes, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &pool{mostBytes: 2 * poolBufferBytes}
			given := make([]byte, 1, test.put)
			p.put(given)
			buf := p.get(test.get)
			if len(buf) != 0 || cap(buf) != test.wantBytes {
				t.Errorf("a buffer of %d for %d: length %d, capacity %d, want 0, %d", test.put, test.get, len(buf), cap(buf), test.wantBytes)
			}
			if reused := &buf[:1][0] == &given[0]; reused != test.reused {
				t.Errorf("a buffer of %d for %d: reused %v", test.put, test.get, reused)
			}
		})
	}
}

func TestPoolIsBounded(t *testing.T) {
	p := &pool{mostBytes: 4 * readMinBytes}
	for range 3 {
		p.put(make([]byte, 0, readMinBytes))
		p.put(make([]byte, 0, 2*readMinBytes))
	}
	if p.keptBytes != 4*readMinBytes {
		t.Errorf("%d bytes kept, of at most %d", p.keptBytes, p.mostBytes)
	}
	p.get(2 * readMinBytes)
	if p.keptBytes != 2*readMinBytes {
		t.Errorf("%d bytes kept after one buffer was taken", p.keptBytes)
	}
	p.drop()
	if p.keptBytes != 0 || cap(p.get(1)) != poolLeastBytes {
		t.Errorf("%d bytes kept after all were dropped", p.keptBytes)
	}
}

// Buffers of a size that was wanted once do not keep others out for good.
func TestPoolYields(t *testing.T) {
	const size = 2 * poolLeastBytes
	p := &pool{mostBytes: 64 * size}
	for range 200 {
		p.put(make([]byte, 0, poolLeastBytes))
	}
	var taken [30][]byte
	turn := func() {
		for i := range taken {
			taken[i] = p.get(size)
		}
		for _, buf := range taken {
			p.put(buf)
		}
	}
	turn()
	if allocations := testing.AllocsPerRun(100, turn); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
	if p.keptBytes > p.mostBytes {
		t.Errorf("%d bytes kept, of at most %d", p.keptBytes, p.mostBytes)
	}
}

// A connection with the same large replies again and again does not grow its
// buffer again and again.
func TestOutputOfRepliesLikeTheLast(t *testing.T) {
	p := &pool{mostBytes: poolMaxBytes}
	s := &session{server: &Server{}}
	reply := make([]byte, 5*readMinBytes)
	turn := func() {
		s.out = append(s.output(p), reply...)
		s.written(s.pending(), p, 0)
	}
	turn()
	if allocations := testing.AllocsPerRun(100, turn); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
	reply = reply[:1]
	for range 4 {
		turn()
	}
	if size := cap(s.output(p)); size >= 2*readMinBytes {
		t.Errorf("a buffer of %d bytes after small replies", size)
	}
}
