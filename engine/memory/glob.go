package memory

// This file owns the project's one glob matcher. It knows bytes, not keys.

// starsMax is how many stars with something behind them a pattern may use up;
// Redis 7.0.15 gives up at this depth (util.c, stringmatchlen_impl), so a
// pattern beyond it matches nothing.
const starsMax = 1000

// Match reports whether s matches the glob pattern as in Redis 7.0.15:
// `*`, `?`, `[a-z]`, `[^a]`, `\x`. With nocase, ASCII letters compare without
// case.
//
// Surprises that are Redis's and kept: no pattern but the empty one matches the
// empty string, not even `*`; an unclosed class ends with the pattern; bounds
// of a range may be in either order; an escaped character inside a class
// compares with case; bytes in ranges compare as signed (with nocase see
// foldedOrder).
//
// The work is at most len(pattern) * len(s): after a mismatch only the last
// star is tried further on. An earlier star could only hand a later part of s
// to the same remaining pattern, which has just failed everywhere.
func Match(pattern, s []byte, nocase bool) bool {
	p, i := 0, 0
	starAt, starFrom := -1, 0 // pattern behind the last star; where in s it was tried
	stars := 0
	for {
		if p < len(pattern) && i < len(s) {
			if pattern[p] == '*' {
				for p < len(pattern) && pattern[p] == '*' {
					p++
				}
				if p == len(pattern) {
					return true
				}
				if stars++; stars > starsMax {
					return false
				}
				starAt, starFrom = p, i
				continue
			}
			next, ok := matchOne(pattern, p, s[i], nocase)
			if ok {
				p = next
				i++
				if i == len(s) {
					for p < len(pattern) && pattern[p] == '*' {
						p++
					}
				}
				continue
			}
		} else if p == len(pattern) && i == len(s) {
			return true
		}
		starFrom++
		if starAt < 0 || starFrom >= len(s) {
			return false
		}
		p, i = starAt, starFrom
	}
}

// matchOne compares one byte with the pattern's element at p, which is not a
// star, and gives where the next element begins.
func matchOne(pattern []byte, p int, c byte, nocase bool) (next int, ok bool) {
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		return matchClass(pattern, p+1, c, nocase)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	if nocase {
		return p + 1, lower(pattern[p]) == lower(c)
	}
	return p + 1, pattern[p] == c
}

// matchClass compares c with the class whose first byte is at p.
func matchClass(pattern []byte, p int, c byte, nocase bool) (next int, ok bool) {
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	found := false
	for {
		left := len(pattern) - p
		switch {
		case left == 0:
			return p, found != negated
		case pattern[p] == '\\' && left >= 2:
			p++
			found = found || pattern[p] == c
		case pattern[p] == ']':
			return p + 1, found != negated
		case left >= 3 && pattern[p+1] == '-':
			found = found || inRange(pattern[p], pattern[p+2], c, nocase)
			p += 2
		case nocase:
			found = found || lower(pattern[p]) == lower(c)
		default:
			found = found || pattern[p] == c
		}
		p++
	}
}

func inRange(first, last, c byte, nocase bool) bool {
	if int8(first) > int8(last) {
		first, last = last, first
	}
	if nocase {
		return foldedOrder(c) >= foldedOrder(first) && foldedOrder(c) <= foldedOrder(last)
	}
	return int8(c) >= int8(first) && int8(c) <= int8(last)
}

// foldedOrder is what C's tolower makes of a signed char, as Redis calls it:
// beyond ASCII the unsigned value, but for 255, which is EOF.
func foldedOrder(c byte) int {
	if c == 0xff {
		return -1
	}
	return int(lower(c))
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// globLiteral gives how many bytes of the pattern stand for themselves, and
// whether the whole pattern does. A backslash ends the literal part: it is a
// pattern even where nothing else is.
func globLiteral(pattern []byte) (length int, whole bool) {
	for i, c := range pattern {
		switch c {
		case '*', '?', '[', '\\':
			return i, false
		}
	}
	return len(pattern), true
}
