package lua

import lua "github.com/yuin/gopher-lua"

// This file owns Lua's patterns: whether and where one matches. It must not know
// states, but for the error that it raises and the interrupt that it looks at.

const (
	capturesMax     = 32
	captureOpen     = -1
	capturePosition = -2
	// matchDepthMax bounds recursion, steps between looks at the interrupt the time
	// that a match cannot be ended in.
	matchDepthMax = 20000
	matchLook     = 1 << 12
)

// matcher matches one pattern against one text.
type matcher struct {
	l        *lua.LState
	stop     *interrupt
	text     string
	pattern  string
	captures []capture
	depth    int
	steps    int
}

// capture is where a captured piece begins, and how long it is, or what kind of
// capture it is.
type capture struct{ from, length int }

// match matches from p on in the pattern at s in the text, and returns where the
// match ends, -1 for no match.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > matchDepthMax {
		m.l.RaiseError("pattern too complex")
	}
	defer func() { m.depth-- }()
	for p < len(m.pattern) {
		m.look()
		switch m.pattern[p] {
		case '(':
			if p+1 < len(m.pattern) && m.pattern[p+1] == ')' {
				return m.open(s, p+2, capturePosition)
			}
			return m.open(s, p+1, captureOpen)
		case ')':
			return m.close(s, p+1)
		case '$':
			if p+1 == len(m.pattern) {
				if s == len(m.text) {
					return s
				}
				return -1
			}
		case '%':
			if next, end, special := m.special(s, p); special {
				if end < 0 {
					return -1
				}
				s, p = end, next
				continue
			}
		}
		end := m.classEnd(p)
		suffix := byte(0)
		if end < len(m.pattern) {
			suffix = m.pattern[end]
		}
		switch suffix {
		case '?':
			if m.single(s, p, end) {
				if found := m.match(s+1, end+1); found >= 0 {
					return found
				}
			}
			p = end + 1
		case '*':
			return m.most(s, p, end, 0)
		case '+':
			return m.most(s, p, end, 1)
		case '-':
			return m.least(s, p, end)
		default:
			if !m.single(s, p, end) {
				return -1
			}
			s, p = s+1, end
		}
	}
	return s
}

// look ends a match that the script was told to end.
func (m *matcher) look() {
	if m.steps++; m.steps%matchLook == 0 {
		if err := m.stop.Err(); err != nil {
			m.l.RaiseError("%s", err.Error())
		}
	}
}

// special matches %b, %f and %1 to %9; end is -1 for no match.
func (m *matcher) special(s, p int) (next, end int, special bool) {
	if p+1 >= len(m.pattern) {
		return 0, 0, false // classEnd tells of it
	}
	switch c := m.pattern[p+1]; {
	case c == 'b':
		return p + 4, m.balanced(s, p+2), true
	case c == 'f':
		from := p + 2
		if from >= len(m.pattern) || m.pattern[from] != '[' {
			m.l.RaiseError("%s", "missing '[' after '%f' in pattern")
		}
		to := m.classEnd(from)
		previous, here := byte(0), byte(0)
		if s > 0 {
			previous = m.text[s-1]
		}
		if s < len(m.text) {
			here = m.text[s]
		}
		if m.inSet(previous, from, to-1) || !m.inSet(here, from, to-1) {
			return 0, -1, true
		}
		return to, s, true
	case c >= '0' && c <= '9':
		return p + 2, m.again(s, c), true
	}
	return 0, 0, false
}

// balanced matches %bxy.
func (m *matcher) balanced(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.l.RaiseError("unbalanced pattern")
	}
	opening, closing := m.pattern[p], m.pattern[p+1]
	if s >= len(m.text) || m.text[s] != opening {
		return -1
	}
	open := 1
	for i := s + 1; i < len(m.text); i++ {
		switch m.text[i] {
		case closing:
			if open--; open == 0 {
				return i + 1
			}
		case opening:
			open++
		}
	}
	return -1
}

// again matches what a capture has matched.
func (m *matcher) again(s int, digit byte) int {
	index := int(digit) - '1'
	if index < 0 || index >= len(m.captures) || m.captures[index].length == captureOpen {
		m.l.RaiseError("invalid capture index")
	}
	c := m.captures[index]
	if c.length < 0 { // a position has no text
		return -1
	}
	if len(m.text)-s < c.length || m.text[c.from:c.from+c.length] != m.text[s:s+c.length] {
		return -1
	}
	return s + c.length
}

// most matches as many as possible, then fewer.
func (m *matcher) most(s, p, end, least int) int {
	count := 0
	for m.single(s+count, p, end) {
		count++
	}
	for ; count >= least; count-- {
		if found := m.match(s+count, end+1); found >= 0 {
			return found
		}
	}
	return -1
}

// least matches as few as possible, then more.
func (m *matcher) least(s, p, end int) int {
	for {
		if found := m.match(s, end+1); found >= 0 {
			return found
		}
		if !m.single(s, p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) open(s, p, kind int) int {
	if len(m.captures) >= capturesMax {
		m.l.RaiseError("too many captures")
	}
	m.captures = append(m.captures, capture{s, kind})
	level := len(m.captures)
	found := m.match(s, p)
	if found < 0 {
		m.captures = m.captures[:level-1]
	}
	return found
}

func (m *matcher) close(s, p int) int {
	for i := len(m.captures) - 1; i >= 0; i-- {
		if c := &m.captures[i]; c.length == captureOpen {
			c.length = s - c.from
			found := m.match(s, p)
			if found < 0 {
				m.captures[i].length = captureOpen
			}
			return found
		}
	}
	m.l.RaiseError("invalid pattern capture")
	return -1
}

// classEnd is where the single-character class at p ends.
func (m *matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	if c == '%' {
		if p >= len(m.pattern) {
			m.l.RaiseError("%s", "malformed pattern (ends with '%')")
		}
		return p + 1
	}
	if c != '[' {
		return p
	}
	if p < len(m.pattern) && m.pattern[p] == '^' {
		p++
	}
	for first := true; first || p >= len(m.pattern) || m.pattern[p] != ']'; first = false {
		if p >= len(m.pattern) {
			m.l.RaiseError("malformed pattern (missing ']')")
		}
		escaped := m.pattern[p] == '%'
		p++
		if escaped && p < len(m.pattern) {
			p++
		}
	}
	return p + 1
}

// single says whether the class from p to end matches the byte at s.
func (m *matcher) single(s, p, end int) bool {
	if s >= len(m.text) {
		return false
	}
	c := m.text[s]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	}
	return m.pattern[p] == c
}

// inSet says whether c is in the set that begins at p and whose bracket closes at
// end.
func (m *matcher) inSet(c byte, p, end int) bool {
	wanted := true
	p++
	if m.pattern[p] == '^' {
		wanted = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if inClass(c, m.pattern[p]) {
				return wanted
			}
		case p+2 < end && m.pattern[p+1] == '-':
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return wanted
			}
			p += 2
		case m.pattern[p] == c:
			return wanted
		}
	}
	return !wanted
}

// inClass says whether c is in the class %class, in the C locale.
func inClass(c, class byte) bool {
	in := false
	switch class | 0x20 {
	case 'a':
		in = isLetter(c)
	case 'c':
		in = c < 0x20 || c == 0x7f
	case 'd':
		in = isDigit(c)
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > 0x20 && c < 0x7f && !isLetter(c) && !isDigit(c)
	case 's':
		in = c == ' ' || c >= '\t' && c <= '\r'
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = isLetter(c) || isDigit(c)
	case 'x':
		in = isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if class >= 'A' && class <= 'Z' {
		return !in
	}
	return in
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
