// This file owns the vectors themselves: where they lie, how they are coded, and
// how alike two are. It must not know which of them live, nor of locks.

package vector

import (
	"math"
	"slices"
)

// space is vectors by position, from 0 on. It is a value: appending to one copy
// is not seen by another, because no position is written twice and a copy never
// reads beyond its own count.
type space struct {
	dimensions int
	coded      bool    // int8 codes instead of float32
	chunks     []chunk // of chunkVectors each, but for the first, which grows
	count      int
}

// chunk is up to chunkVectors vectors and what belongs to them.
type chunk struct {
	ids     []uint64
	numbers []float32 // dimensions each, of length 1
	codes   []int8    // dimensions each, instead of numbers
	scales  []float32 // number = code * scale
}

// newChunk answers a chunk with room for n vectors.
func (s *space) newChunk(n int) chunk {
	c := chunk{ids: make([]uint64, n)}
	if s.coded {
		c.codes, c.scales = make([]int8, n*s.dimensions), make([]float32, n)
	} else {
		c.numbers = make([]float32, n*s.dimensions)
	}
	return c
}

// grow makes room for one more vector.
func (s *space) grow() {
	const firstRoom = 4
	switch room := s.room(); {
	case s.count < room:
	case room == 0:
		s.chunks = []chunk{s.newChunk(firstRoom)}
	case room < chunkVectors: // copies of the space keep the smaller chunk
		larger := s.newChunk(2 * room)
		copy(larger.ids, s.chunks[0].ids)
		copy(larger.numbers, s.chunks[0].numbers)
		copy(larger.codes, s.chunks[0].codes)
		copy(larger.scales, s.chunks[0].scales)
		s.chunks = []chunk{larger}
	default:
		s.chunks = append(s.chunks, s.newChunk(chunkVectors))
	}
}

func (s *space) room() int {
	if len(s.chunks) == 0 {
		return 0
	}
	return (len(s.chunks)-1)*chunkVectors + len(s.chunks[0].ids)
}

// add appends v, scaled to length 1, and answers its position.
func (s *space) add(id uint64, v []float32) int {
	s.grow()
	c, i := s.at(s.count)
	c.ids[i] = id
	if s.coded {
		c.scales[i] = encode(s.codesOf(c, i), normalised(v))
	} else {
		normalise(s.numbersOf(c, i), v)
	}
	s.count++
	return s.count - 1
}

// addFrom appends the vector at position of source, as it is coded there.
func (s *space) addFrom(source *space, position int) int {
	s.grow()
	from, j := source.at(position)
	c, i := s.at(s.count)
	c.ids[i] = from.ids[j]
	if s.coded {
		copy(s.codesOf(c, i), source.codesOf(from, j))
		c.scales[i] = from.scales[j]
	} else {
		copy(s.numbersOf(c, i), source.numbersOf(from, j))
	}
	s.count++
	return s.count - 1
}

// at answers the chunk of a position, and the place in it.
func (s *space) at(position int) (*chunk, int) {
	return &s.chunks[position/chunkVectors], position % chunkVectors
}

func (s *space) id(position int) uint64 {
	c, i := s.at(position)
	return c.ids[i]
}

func (s *space) numbersOf(c *chunk, i int) []float32 {
	return c.numbers[i*s.dimensions : (i+1)*s.dimensions]
}

func (s *space) codesOf(c *chunk, i int) []int8 {
	return c.codes[i*s.dimensions : (i+1)*s.dimensions]
}

// sizeBytes is what the chunks hold, room for vectors to come included.
func (s *space) sizeBytes() int { return s.room() * s.vectorBytes() }

func (s *space) vectorBytes() int {
	const idBytes, scaleBytes = 8, 4
	if s.coded {
		return s.dimensions + idBytes + scaleBytes
	}
	return s.dimensions*floatBytes + idBytes
}

// target is a vector that others are compared with.
type target struct {
	numbers []float32 // of length 1
	codes   []int8    // of the numbers, if the space has codes
	scale   float32
}

func (s *space) newTarget(v []float32) target {
	t := target{numbers: normalised(v)}
	if s.coded {
		t.codes = make([]int8, s.dimensions)
		t.scale = encode(t.codes, t.numbers)
	}
	return t
}

// targetAt answers the vector at a position as a target. It shares its memory.
func (s *space) targetAt(position int) target {
	c, i := s.at(position)
	if s.coded {
		return target{codes: s.codesOf(c, i), scale: c.scales[i]}
	}
	return target{numbers: s.numbersOf(c, i)}
}

// vector answers a copy of the vector at a position, as the space has it.
func (s *space) vector(position int) []float32 {
	c, i := s.at(position)
	if !s.coded {
		return slices.Clone(s.numbersOf(c, i))
	}
	v := make([]float32, s.dimensions)
	for j, code := range s.codesOf(c, i) {
		v[j] = float32(code) * c.scales[i]
	}
	return v
}

// score is the cosine between t and the vector at a position, but for rounding.
func (s *space) score(t *target, position int) float32 {
	c, i := s.at(position)
	return s.scoreIn(t, c, i)
}

func (s *space) scoreIn(t *target, c *chunk, i int) float32 {
	if s.coded {
		return float32(dotInt8(t.codes, s.codesOf(c, i))) * (t.scale * c.scales[i])
	}
	return dotFloat32(t.numbers, s.numbersOf(c, i))
}

// same tells whether the vector at a position is t exactly, as coded.
func (s *space) same(t *target, position int) bool {
	c, i := s.at(position)
	if s.coded {
		return t.scale == c.scales[i] && slices.Equal(t.codes, s.codesOf(c, i))
	}
	return slices.Equal(t.numbers, s.numbersOf(c, i))
}

// exactScore is the cosine between t and the vector at a position, as exactly as
// the space has it.
func (s *space) exactScore(t *target, position int) float64 {
	if s.coded {
		return unit(float64(s.score(t, position)))
	}
	c, i := s.at(position)
	return unit(dotExact(t.numbers, s.numbersOf(c, i)))
}

// unit takes off what rounding added beyond a cosine's range.
func unit(cosine float64) float64 { return min(max(cosine, -1), 1) }

func normalised(v []float32) []float32 {
	dst := make([]float32, len(v))
	normalise(dst, v)
	return dst
}

// normalise writes v scaled to length 1; nothing is like a vector of zeros.
func normalise(dst, v []float32) {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if sum == 0 {
		clear(dst)
		return
	}
	length := math.Sqrt(sum)
	for i, f := range v {
		dst[i] = float32(float64(f) / length)
	}
}

// encode writes v in steps of its largest number/127 and answers the step.
func encode(dst []int8, v []float32) float32 {
	const steps = 127
	var largest float32
	for _, f := range v {
		largest = max(largest, f, -f)
	}
	if largest == 0 {
		clear(dst)
		return 0
	}
	for i, f := range v {
		dst[i] = int8(math.Round(float64(f) / float64(largest) * steps))
	}
	return largest / steps
}
