package main

import (
	"runtime"
	"testing"
)

// This file owns the test of when the heap is trimmed.

func TestTrimmer(t *testing.T) {
	const mb = 1 << 20
	at := func(live uint64, allocated ...uint64) (looks []heapReading) {
		for _, n := range allocated {
			looks = append(looks, heapReading{allocated: n * mb, live: live * mb})
		}
		return looks
	}
	for name, test := range map[string]struct {
		looks []heapReading
		want  string // by look: t trims
	}{
		"after a while":       {at(100, 500, 500, 500, 500, 500), "---t-"},
		"while busy":          {at(1, 20, 40, 60, 80, 100), "-----"},
		"an idle server":      {at(1, 0, 0, 0, 0, 0), "-----"},
		"little was done":     {at(100, 20, 20, 20, 20, 20), "-----"},
		"little by little":    {at(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), "-------t-"},
		"again after a burst": {at(40, 90, 90, 90, 90, 120, 120, 120, 120), "---t---t"},
	} {
		var trimmer trimmer
		got := ""
		for _, look := range test.looks {
			if trimmer.due(look) {
				got += "t"
			} else {
				got += "-"
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestTrimmerReadsTheHeap shows that the names of the runtime's figures are right: it
// counts what is allocated.
func TestTrimmerReadsTheHeap(t *testing.T) {
	before := readHeap()
	kept := make([]byte, 1<<20)
	after := readHeap()
	runtime.KeepAlive(kept)
	if after.allocated < before.allocated+uint64(len(kept)) {
		t.Errorf("%+v, then %+v", before, after)
	}
}
