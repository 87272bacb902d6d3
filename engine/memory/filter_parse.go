package memory

// This file owns how a filter's text is read. It must not know values.

import (
	"bytes"

	"github.com/theory/jsonpath/spec"
)

// ParseFilter parses an expression such as
//
//	$.preferences.tea == "longjing" && $.age >= 18
//
// of at most 4,096 bytes. Its queries may be any JSONPath, its functions are
// length, count, match, search and value.
func ParseFilter(text []byte) (*Filter, error) {
	if limit := limitFilter(); len(text) > limit.Default {
		return nil, errTooLarge("filter", len(text), limit)
	}
	if offset := invalidUTF8(text); offset >= 0 {
		return nil, errNotUTF8("filter", offset)
	}
	f := &Filter{bytes: newWork("filter", limitFilterWork()), steps: newWork("filter", limitFilterSteps())}
	f.regexes = &regexes{compiled: map[string]*regex{}, steps: f.steps}
	p := filterParser{text: text}
	root, err := p.or()
	if err == nil && p.skip() < len(text) {
		err = p.problem("unexpected text")
	}
	if err != nil {
		return nil, err
	}
	f.root = root
	return f, nil
}

// filterParser reads one expression from left to right.
type filterParser struct {
	text  []byte
	at    int
	depth int
}

func (p *filterParser) problem(what string) error { return errFilter(p.text, p.at, what) }

// skip steps over space.
func (p *filterParser) skip() int {
	p.at = skipSpace(p.text, p.at)
	return p.at
}

// take steps over a token if it is next.
func (p *filterParser) take(token string) bool {
	if p.skip(); !bytes.HasPrefix(p.text[p.at:], []byte(token)) {
		return false
	}
	p.at += len(token)
	return true
}

// peek is the next byte behind space, 0 at the end.
func (p *filterParser) peek() byte {
	if p.skip() == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// deeper counts a level of what recurses.
func (p *filterParser) deeper() error {
	if p.depth++; p.depth > limitFilterDepth().Default {
		return errTooDeep("filter", p.at, limitFilterDepth())
	}
	return nil
}

func (p *filterParser) or() (logical, error) {
	if err := p.deeper(); err != nil {
		return logical{}, err
	}
	defer func() { p.depth-- }()
	return p.several(logicalOr, "||", p.and)
}

func (p *filterParser) and() (logical, error) { return p.several(logicalAnd, "&&", p.basic) }

// several reads what a token joins.
func (p *filterParser) several(kind logicalKind, token string, read func() (logical, error)) (logical, error) {
	list := logical{kind: kind}
	for {
		part, err := read()
		if err != nil {
			return list, err
		}
		list.parts = append(list.parts, part)
		if !p.take(token) {
			break
		}
	}
	if len(list.parts) == 1 {
		return list.parts[0], nil
	}
	return list, nil
}

// basic reads an expression in parentheses, a comparison or a test.
func (p *filterParser) basic() (logical, error) {
	not := p.peek() == '!'
	if not {
		p.at++
	}
	if p.take("(") {
		inner, err := p.or()
		if err != nil {
			return inner, err
		}
		if !p.take(")") {
			return inner, p.problem("expected )")
		}
		inner.not = inner.not != not
		return inner, nil
	}
	start := p.skip()
	left, err := p.operand()
	if err != nil {
		return logical{}, err
	}
	op, compared := p.comparison()
	if not || !compared {
		if left.kind == operandLiteral || left.kind == operandCall && !left.isLogical() {
			p.at = max(start, p.at)
			return logical{}, p.problem("expected a comparison")
		}
		if compared {
			return logical{}, p.problem("! needs parentheses around a comparison")
		}
		return logical{kind: logicalTest, not: not, left: left}, nil
	}
	right, err := p.operand()
	if err != nil {
		return logical{}, err
	}
	for _, o := range []*operand{&left, &right} {
		if o.kind == operandQuery || o.kind == operandCall && o.isLogical() {
			return logical{}, p.problem("only single values can be compared")
		}
	}
	return logical{kind: logicalCompare, op: op, left: left, right: right}, nil
}

func (p *filterParser) comparison() (comparison, bool) {
	for _, c := range []struct {
		token string
		op    comparison
	}{{"==", opEqual}, {"!=", opNotEqual}, {"<=", opLessEqual}, {">=", opGreaterEqual}, {"<", opLess}, {">", opGreater}} {
		if p.take(c.token) {
			return c.op, true
		}
	}
	return 0, false
}

// isLogical says whether a call gives true or false, not a value.
func (o *operand) isLogical() bool { return o.function == matchName || o.function == searchName }

func (p *filterParser) operand() (operand, error) {
	switch c := p.peek(); {
	case c == '$' || c == '@':
		return p.query()
	case c == '"' || c == '\'':
		return p.quoted(c)
	case isNumber(c):
		end, fault := inspectNumber(p.text, p.at)
		if fault != jsonFine {
			return operand{}, p.problem("a number is malformed")
		}
		text := p.text[p.at:end]
		p.at = end
		return operand{text: text}, nil
	}
	word := p.word()
	switch string(word) {
	case "":
		return operand{}, p.problem("expected a query, a literal or a function")
	case "true", "false", "null":
		return operand{text: word}, nil
	}
	return p.call(string(word))
}

// word reads a name in lower case.
func (p *filterParser) word() []byte {
	start := p.at
	for p.at < len(p.text) && (p.text[p.at] >= 'a' && p.text[p.at] <= 'z' || p.text[p.at] == '_') {
		p.at++
	}
	return p.text[start:p.at]
}

// quoted reads a string literal, which becomes JSON.
func (p *filterParser) quoted(quote byte) (operand, error) {
	start := p.at
	text := []byte{'"'}
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == quote:
			p.at++
			text = append(text, '"')
			if _, fault := inspectString(text, 0); fault != jsonFine {
				p.at = start
				return operand{}, p.problem("a string is malformed")
			}
			return operand{text: text}, nil
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			if p.text[p.at] != '\'' || quote != '\'' {
				text = append(text, '\\')
			}
			text = append(text, p.text[p.at])
		case c == '"':
			text = append(text, '\\', c)
		default:
			text = append(text, c)
		}
	}
	p.at = start
	return operand{}, p.problem("a string has no end")
}

// query reads a JSONPath, which may begin with @.
func (p *filterParser) query() (operand, error) {
	start := p.at
	p.at = queryEnd(p.text, p.at+1)
	text := bytes.Clone(p.text[start:p.at])
	text[0] = '$'
	path, err := ParsePath(text)
	if err != nil {
		return operand{}, err
	}
	steps, singular := stepsOf(path.segments)
	if singular {
		return operand{kind: operandSingular, steps: steps}, nil
	}
	return operand{kind: operandQuery, path: path}, nil
}

// queryEnd is where a JSONPath ends whose segments begin at i; space may stand
// before each.
func queryEnd(text []byte, i int) int {
	end := i
	for i = skipSpace(text, i); i < len(text); i = skipSpace(text, i) {
		switch text[i] {
		case '.':
			for i < len(text) && text[i] == '.' {
				i++
			}
			for i < len(text) && (text[i] == '*' || isNameByte(text[i])) {
				i++
			}
		case '[':
			i = bracketEnd(text, i)
		default:
			return end
		}
		end = i
	}
	return end
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c >= 0x80
}

// bracketEnd is behind the bracket that closes the one at i.
func bracketEnd(text []byte, i int) int {
	depth, quote := 0, byte(0)
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			depth++
		case c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// stepsOf are the steps of a path that selects one node at most.
func stepsOf(segments []*spec.Segment) (steps []step, singular bool) {
	for _, segment := range segments {
		selectors := segment.Selectors()
		if segment.IsDescendant() || len(selectors) != 1 {
			return nil, false
		}
		switch s := selectors[0].(type) {
		case spec.Name:
			steps = append(steps, step{name: append([]byte{}, s...)})
		case spec.Index:
			steps = append(steps, step{index: int(s)})
		default:
			return nil, false
		}
	}
	return steps, true
}

// call reads the arguments of a function, whose name was read.
func (p *filterParser) call(name string) (operand, error) {
	o := operand{kind: operandCall, function: name}
	wanted, nodes := 1, false
	switch name {
	case matchName, searchName:
		wanted = 2
	case "count", "value":
		nodes = true
	case "length":
	default:
		p.at -= len(name)
		return o, p.problem("unknown function")
	}
	if err := p.deeper(); err != nil {
		return o, err
	}
	defer func() { p.depth-- }()
	if !p.take("(") {
		return o, p.problem("expected (")
	}
	for i := range wanted {
		if i > 0 && !p.take(",") {
			return o, p.problem("expected ,")
		}
		argument, err := p.operand()
		if err != nil {
			return o, err
		}
		isQuery := argument.kind == operandSingular || argument.kind == operandQuery
		if nodes && !isQuery || !nodes && (argument.kind == operandQuery || argument.kind == operandCall && argument.isLogical()) {
			return o, p.problem("an argument is of another kind")
		}
		o.arguments = append(o.arguments, argument)
	}
	if !p.take(")") {
		return o, p.problem("expected )")
	}
	return o, nil
}
