package hyperloglog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// This file owns the test of this package that a running server can be asked for.

const (
	// selfTestElements is how many different elements are counted.
	selfTestElements = 1_000_000
	// selfTestDeviations is how far a count may be off, in standard errors, and
	// selfTestCollisions in elements, for a few that happen to be in one register.
	selfTestDeviations = 6
	selfTestCollisions = 2
)

// SelfTest checks on random data that registers keep what they are given, that
// both representations count the same, and that counts are right. It takes about a
// tenth of a second. Its error says what is wrong.
func SelfTest(sparseMax int) error {
	if err := testRegisters(); err != nil {
		return err
	}
	return testCounts(sparseMax)
}

func testRegisters() error {
	registers := make([]byte, denseBytes-headerBytes)
	var want Registers
	for range 20 {
		for i := range want {
			want[i] = uint8(rand.IntN(registerMax + 1))
			at, shift := locate(i)
			put(registers[at:], shift, want[i])
		}
		for i := range want {
			a, b, c, d := unpack(registers[i/4*3:])
			at, shift := locate(i)
			if rank := [4]uint8{a, b, c, d}[i%4]; rank != want[i] || get(registers[at:], shift) != rank {
				return fmt.Errorf("register %d should be %d but is %d", i, want[i], rank)
			}
		}
	}
	return nil
}

// testCounts adds the same elements to a value that begins sparse and to one that
// is dense.
func testCounts(sparseMax int) error {
	value := New()
	wide, err := ToDense(value)
	if err != nil {
		return err
	}
	seed, checkpoint := rand.Uint64(), 1
	var element [8]byte
	for n := 1; n <= selfTestElements; n++ {
		binary.LittleEndian.PutUint64(element[:], uint64(n)^seed)
		if value, _, err = Add(value, element[:], sparseMax); err != nil {
			return err
		}
		if wide, _, err = Add(wide, element[:], sparseMax); err != nil {
			return err
		}
		if n == checkpoint {
			if err := compareCounts(value, wide, n); err != nil {
				return err
			}
			checkpoint *= 10
		}
	}
	if got, err := ToDense(value); err != nil || !bytes.Equal(got, wide) {
		return fmt.Errorf("sparse and dense do not become the same: %v", err)
	}
	return nil
}

func compareCounts(value, wide []byte, elements int) error {
	count, err := Count(value)
	if err != nil {
		return err
	}
	if other, err := Count(wide); err != nil || other != count {
		return fmt.Errorf("sparse and dense disagree: %d and %d, %v", count, other, err)
	}
	standardError := 1.04 / math.Sqrt(registerCount)
	allowed := selfTestCollisions + selfTestDeviations*standardError*float64(elements)
	if math.Abs(float64(count)-float64(elements)) > allowed {
		return fmt.Errorf("too big an error: %d are counted of %d", count, elements)
	}
	return nil
}
