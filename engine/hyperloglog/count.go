package hyperloglog

import "math"

// This file owns the estimate and the union of values. It must not know how
// registers are stored.

// Registers is the union of values: the greatest of each register.
type Registers [registerCount]uint8

// Merge takes a value in.
func (r *Registers) Merge(value []byte) error {
	if IsSparse(value) {
		return eachRun(value, func(first, count int, rank uint8) {
			for i := first; i < first+count; i++ {
				r[i] = max(r[i], rank)
			}
		})
	}
	data := value[headerBytes:denseBytes]
	for i := 0; i < registerCount; i, data = i+4, data[3:] {
		a, b, c, d := unpack(data)
		four := r[i : i+4 : i+4]
		four[0], four[1], four[2], four[3] = max(four[0], a), max(four[1], b), max(four[2], c), max(four[3], d)
	}
	return nil
}

// Raise raises the registers of a value of which the caller is the owner and which
// was merged; for sparseMax see Add. Those of a sparse value are raised one by one
// from the first on: the order leaves its mark on the runs.
func (r *Registers) Raise(value []byte, sparseMax int) (out []byte, err error) {
	if !IsSparse(value) {
		data := value[headerBytes:denseBytes]
		for i := 0; i < registerCount; i, data = i+4, data[3:] {
			pack(data, r[i], r[i+1], r[i+2], r[i+3])
		}
		return value, nil
	}
	for index, rank := range r {
		if rank == 0 {
			continue
		}
		if value, _, err = raise(value, index, rank, sparseMax); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// Count estimates how many elements there are.
func (r *Registers) Count() uint64 {
	var h histogram
	for _, rank := range r {
		h[rank]++
	}
	return h.estimate()
}

// Count estimates how many elements a value has.
func Count(value []byte) (uint64, error) {
	var h histogram
	if IsSparse(value) {
		err := eachRun(value, func(_, count int, rank uint8) { h[rank] += count })
		return h.estimate(), err
	}
	for data := value[headerBytes:denseBytes]; len(data) > 0; data = data[3:] {
		a, b, c, d := unpack(data)
		h[a&registerMax]++
		h[b&registerMax]++
		h[c&registerMax]++
		h[d&registerMax]++
	}
	return h.estimate(), nil
}

// histogram counts registers by what they are. Corrupt ones may be greater than
// those of elements, and then count for nothing.
type histogram [registerMax + 1]int

// estimate is the improved raw estimator of Ertl's paper. Products are rounded
// before they are added, on every processor.
func (h *histogram) estimate() uint64 {
	const m = float64(registerCount)
	z := m * tau((m-float64(h[rankMax]))/m)
	for rank := rankMax - 1; rank >= 1; rank-- {
		z = (z + float64(h[rank])) * 0.5
	}
	z += float64(m * sigma(float64(h[0])/m))
	const alpha = 0.5 / math.Ln2
	return uint64(math.Round(float64(alpha*m*m) / z))
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for before := math.NaN(); z != before; y += y {
		x *= x
		before = z
		z += float64(x * y)
	}
	return z
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for before := math.NaN(); z != before; {
		x = math.Sqrt(x)
		before = z
		y *= 0.5
		z -= float64(float64((1-x)*(1-x)) * y)
	}
	return z / 3
}
