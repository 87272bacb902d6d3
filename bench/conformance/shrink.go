package main

// This file owns shortening a case that shows a difference. It must not know
// what the difference is.

import "slices"

// triesMax bounds the runs that shortening one case may take.
const triesMax = 600

// shrink drops lines, then arguments, as long as differs says that what is left
// still shows a difference, and returns what is left.
func shrink(lines []line, differs func([]line) bool) []line {
	tries := 0
	try := func(candidate []line) bool {
		tries++
		return tries <= triesMax && differs(candidate)
	}
	for size := len(lines) / 2; size >= 1; size /= 2 {
		// From the end: later lines seldom need each other.
		for end := len(lines); end > 0 && len(lines) > 1; {
			start := max(0, end-size)
			candidate := slices.Delete(slices.Clone(lines), start, end)
			if len(candidate) > 0 && try(candidate) {
				lines = candidate
			}
			end = start
		}
	}
	for i := range lines {
		for j := len(lines[i].args) - 1; j > 0; j-- {
			candidate := slices.Clone(lines)
			candidate[i].args = slices.Delete(slices.Clone(lines[i].args), j, j+1)
			if try(candidate) {
				lines = candidate
			}
		}
	}
	return lines
}
