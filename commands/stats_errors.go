package commands

import (
	"slices"
	"strings"
	"sync"
)

// This file owns the count of error replies by their code, as INFO errorstats
// shows it.

// errorCounts counts errors by code. Its zero value counts.
type errorCounts struct {
	mu     sync.Mutex
	byCode map[string]int64
}

// errorCodesMax bounds the codes that are told apart: most are constants, but a
// client can choose some (DEBUG ERROR). Redis stops at 128 as well.
const errorCodesMax = 128

type errorCount struct {
	name  string
	count int64
}

// count adds an error line to its code.
func (e *errorCounts) count(line string) {
	code, _, _ := strings.Cut(line, " ")
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byCode == nil {
		e.byCode = map[string]int64{}
	}
	if _, known := e.byCode[code]; !known && len(e.byCode) >= errorCodesMax {
		return
	}
	e.byCode[code]++
}

// all is the counts in the order of codes.
func (e *errorCounts) all() []errorCount {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]errorCount, 0, len(e.byCode))
	for name, count := range e.byCode {
		out = append(out, errorCount{name, count})
	}
	slices.SortFunc(out, func(a, b errorCount) int { return strings.Compare(a.name, b.name) })
	return out
}

func (e *errorCounts) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.byCode = nil
}
