package hyperloglog

import (
	"slices"
	"strconv"
)

// This file owns runs of registers. It must not know the header but for where it
// ends.

const (
	shortZeros    = 0x00
	longZeros     = 0x40
	ranks         = 0x80
	shortZerosMax = 64
	ranksMax      = 4  // registers of one run
	sparseRankMax = 32 // what one may be
)

// run is some registers that are equal.
type run struct {
	size  int // in bytes
	count int
	rank  uint8
}

// runAt reads the run at an offset of a value. Where the value ends within one, a
// zero follows, as in Redis, whose strings end with one.
func runAt(value []byte, at int) run {
	switch first := value[at]; {
	case first >= ranks:
		return run{size: 1, count: int(first&3) + 1, rank: first>>2&31 + 1}
	case first >= longZeros:
		low := byte(0)
		if at+1 < len(value) {
			low = value[at+1]
		}
		return run{size: 2, count: int(first&63)<<8 + int(low) + 1}
	default:
		return run{size: 1, count: int(first) + 1}
	}
}

// eachRun visits the runs of a sparse value up to where they are corrupt.
func eachRun(value []byte, visit func(first, count int, rank uint8)) error {
	first := 0
	for at := headerBytes; at < len(value); {
		r := runAt(value, at)
		if first+r.count > registerCount {
			return ErrCorrupt
		}
		visit(first, r.count, r.rank)
		first += r.count
		at += r.size
	}
	if first != registerCount {
		return ErrCorrupt
	}
	return nil
}

// appendZeros appends a run of registers that are 0; none for a count of 0.
func appendZeros(dst []byte, count int) []byte {
	switch n := count - 1; {
	case count == 0:
		return dst
	case count > shortZerosMax:
		return append(dst, longZeros|byte(n>>8), byte(n))
	default:
		return append(dst, shortZeros|byte(n))
	}
}

// appendRanks appends a run of up to ranksMax registers; none for a count of 0.
func appendRanks(dst []byte, count int, rank uint8) []byte {
	if count == 0 {
		return dst
	}
	return append(dst, ranks|(rank-1)<<2|byte(count-1))
}

// raiseSparse splits the run that a register is in, and joins what is equal then.
// Only what it walks over is checked (hyperloglog.c hllSparseSet).
func raiseSparse(value []byte, index int, rank uint8, sparseMax int) (out []byte, changed bool, err error) {
	if rank > sparseRankMax {
		return raisePromoted(value, index, rank)
	}
	at, before, first := headerBytes, headerBytes, 0
	r := run{}
	for ; at < len(value); at += r.size {
		if r = runAt(value, at); index < first+r.count {
			break
		}
		before = at
		first += r.count
	}
	if at >= len(value) || at+r.size > len(value) {
		return value, false, ErrCorrupt
	}
	if r.rank >= rank {
		return value, false, nil
	}
	var room [5]byte
	split := room[:0]
	left, right := index-first, first+r.count-1-index
	if r.rank == 0 {
		split = appendZeros(appendRanks(appendZeros(split, left), 1, rank), right)
	} else {
		split = appendRanks(appendRanks(appendRanks(split, left, r.rank), 1, rank), right, r.rank)
	}
	if grown := len(split) - r.size; grown > 0 && len(value)+grown > sparseMax {
		return raisePromoted(value, index, rank)
	}
	return joinRuns(slices.Replace(value, at, at+r.size, split...), before), true, nil
}

// raisePromoted makes a value dense in order to raise a register.
func raisePromoted(value []byte, index int, rank uint8) (out []byte, changed bool, err error) {
	out, err = ToDense(value)
	if err != nil {
		return value, false, err
	}
	return out, raiseDense(out[headerBytes:], index, rank), nil
}

// joinRuns joins neighbouring runs of one rank, among the five from at on. Redis
// looks so far, and what it leaves apart is seen in the bytes.
func joinRuns(value []byte, at int) []byte {
	for looked := 0; looked < 5 && at < len(value); looked++ {
		r := runAt(value, at)
		next := at + r.size
		if r.rank > 0 && next < len(value) {
			if n := runAt(value, next); n.rank == r.rank && r.count+n.count <= ranksMax {
				value[next] = appendRanks(nil, r.count+n.count, r.rank)[0]
				value = slices.Delete(value, at, next)
				continue
			}
		}
		at = next
	}
	return value
}

// AppendRuns appends the runs of a sparse value as text: z and Z for short and long
// runs of zeros, v with rank and number for others. It does not check them.
func AppendRuns(dst, value []byte) []byte {
	for at := headerBytes; at < len(value); {
		r := runAt(value, at)
		switch {
		case r.rank > 0:
			dst = strconv.AppendInt(append(dst, "v:"...), int64(r.rank), 10)
			dst = append(dst, ',')
		case r.size == 2:
			dst = append(dst, "Z:"...)
		default:
			dst = append(dst, "z:"...)
		}
		dst = strconv.AppendInt(dst, int64(r.count), 10)
		if at += r.size; at < len(value) {
			dst = append(dst, ' ')
		}
	}
	return dst
}
