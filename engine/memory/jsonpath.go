package memory

// This file owns PATH: RFC 9535 JSONPath over a record's value. Paths are
// parsed, and filters evaluated, by theory/jsonpath; the walk is ours, because
// the library walks Go maps, whose order is random, and gives values instead of
// their text, which would lose digits.

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// Path is one parsed JSONPath. It is not safe for concurrent use.
type Path struct {
	segments    []*spec.Segment
	filtered    bool // has a filter somewhere
	filterPower int  // how many times a filter may walk the whole value, nested
	regexes     *regexes
}

// ParsePath parses a JSONPath of at most 4,096 bytes.
func ParsePath(text []byte) (*Path, error) {
	if limit := limitPath(); len(text) > limit.Default {
		return nil, errTooLarge("path", len(text), limit)
	}
	if offset := invalidUTF8(text); offset >= 0 {
		return nil, errNotUTF8("path", offset)
	}
	expressions := &regexes{compiled: map[string]*regex{}}
	parser := jsonpath.NewParser(jsonpath.WithRegistry(expressions.registry()))
	parsed, err := parser.Parse(aliasRegexCalls(string(text)))
	if err != nil {
		return nil, errPath(text, pathProblem(err))
	}
	power, filtered := filterPower(string(text))
	return &Path{segments: parsed.Query().Segments(), filtered: filtered, filterPower: power, regexes: expressions}, nil
}

// ParsePaths parses paths that were parsed before, as those of a policy.
func ParsePaths(texts []string) ([]*Path, error) {
	paths := make([]*Path, len(texts))
	for i, text := range texts {
		var err error
		if paths[i], err = ParsePath([]byte(text)); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// pathProblem says what the parser found, without its package's name.
func pathProblem(err error) string {
	problem := strings.TrimPrefix(err.Error(), jsonpath.ErrPathParse.Error()+": ")
	problem = strings.ReplaceAll(problem, matchAlias, matchName)
	return strings.ReplaceAll(problem, searchAlias, searchName)
}

// filterPower bounds the cost of the path's filters, which the library
// evaluates without a limit of its own: every wildcard, descendant, slice or
// nested filter inside a filter multiplies the work by the size of the value.
func filterPower(path string) (power int, filtered bool) {
	quote := byte(0)
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			if filtered {
				power++
			}
			filtered = true
		case filtered && (c == '*' || c == ':'):
			power++
		case filtered && c == '.' && i+1 < len(path) && path[i+1] == '.':
			power++
			i++
		}
	}
	return power, filtered
}

// SelectPaths gives what the paths select from a valid JSON value, as one JSON
// array: with one path the array of the nodes that it selects, with several one
// such array per path, in their order. Nodes stand in document order wherever
// RFC 9535 leaves the order open, and as they are written in the value.
func SelectPaths(value []byte, paths []*Path) ([]byte, error) {
	if limit := limitPaths(); len(paths) > limit.Default {
		return nil, errTooLarge("command", len(paths), limit)
	}
	walk := newPathWalk(value)
	var result []byte
	if len(paths) != 1 {
		result = append(result, '[')
	}
	for i, path := range paths {
		if i > 0 {
			result = append(result, ',')
		}
		nodes, err := walk.run(path)
		if err != nil {
			return nil, err
		}
		if result, err = appendNodes(result, nodes); err != nil {
			return nil, err
		}
	}
	if len(paths) != 1 {
		result = append(result, ']')
	}
	return result, nil
}

func appendNodes(dst []byte, nodes []*node) ([]byte, error) {
	limit := limitPathResult()
	dst = append(dst, '[')
	for i, n := range nodes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, n.text...)
		if len(dst) > limit.Default {
			return nil, errTooLarge("what the paths select", len(dst), limit)
		}
	}
	return append(dst, ']'), nil
}

// pathWalk is the walk of one command over one value.
type pathWalk struct {
	root  node
	steps *work
	bytes *work
	plain map[*box]any // for filters: containers as the library takes them
	size  int          // nodes of the whole value, once it is plain
}

func newPathWalk(value []byte) *pathWalk {
	return &pathWalk{
		root:  newNode(value),
		steps: newWork("path", limitPathWork()),
		bytes: newWork("path", limitPatchWork()),
	}
}

func (walk *pathWalk) run(path *Path) ([]*node, error) {
	path.regexes.steps, path.regexes.err = walk.steps, nil
	if path.filtered && walk.plain == nil {
		walk.plain = map[*box]any{}
		if _, err := walk.toPlain(&walk.root); err != nil {
			return nil, err
		}
	}
	nodes := []*node{&walk.root}
	for _, segment := range path.segments {
		var selected []*node
		for _, n := range nodes {
			var err error
			if selected, err = walk.segment(selected, n, segment, path); err != nil {
				return nil, err
			}
		}
		nodes = selected
	}
	return nodes, nil
}

// segment appends what one segment selects from one node. It recurses along
// the depth of the value.
func (walk *pathWalk) segment(dst []*node, n *node, segment *spec.Segment, path *Path) ([]*node, error) {
	parts, err := n.open(walk.bytes)
	if err != nil {
		return nil, err
	}
	if err := walk.steps.spend(1); err != nil {
		return nil, err
	}
	if parts == nil {
		return dst, nil
	}
	for _, selector := range segment.Selectors() {
		if dst, err = walk.selector(dst, parts, selector, path); err != nil {
			return nil, err
		}
	}
	if !segment.IsDescendant() {
		return dst, nil
	}
	for i := range parts.count() {
		if dst, err = walk.segment(dst, parts.at(i), segment, path); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// count is the number of places of a box that nothing was dropped from.
func (b *box) count() int {
	if b.object {
		return len(b.members)
	}
	return len(b.elements)
}

func (walk *pathWalk) selector(dst []*node, parts *box, selector spec.Selector, path *Path) ([]*node, error) {
	switch s := selector.(type) {
	case spec.Name:
		if !parts.object {
			return dst, nil
		}
		if at := parts.find(string(s)); at >= 0 {
			return append(dst, parts.at(at)), walk.steps.spend(1)
		}
		return dst, nil
	case spec.Index:
		at := int(s)
		if at < 0 {
			at += len(parts.elements)
		}
		if parts.object || at < 0 || at >= len(parts.elements) {
			return dst, nil
		}
		return append(dst, parts.at(at)), walk.steps.spend(1)
	case spec.SliceSelector:
		return walk.slice(dst, parts, s)
	case spec.WildcardSelector:
		for i := range parts.count() {
			dst = append(dst, parts.at(i))
		}
		return dst, walk.steps.spend(parts.count())
	case *spec.FilterSelector:
		return walk.filter(dst, parts, s, path)
	}
	return nil, errors.New("memory: unknown JSONPath selector")
}

func (walk *pathWalk) slice(dst []*node, parts *box, s spec.SliceSelector) ([]*node, error) {
	if parts.object || s.Step() == 0 {
		return dst, nil
	}
	size := len(parts.elements)
	if err := walk.steps.spend(size); err != nil {
		return nil, err
	}
	first, last := s.Bounds(size)
	if s.Step() > 0 {
		for i := first; i < last; i += min(s.Step(), size) {
			dst = append(dst, &parts.elements[i])
		}
		return dst, nil
	}
	for i := last; i > first; i += max(s.Step(), -size) {
		dst = append(dst, &parts.elements[i])
	}
	return dst, nil
}

func (walk *pathWalk) filter(dst []*node, parts *box, s *spec.FilterSelector, path *Path) ([]*node, error) {
	cost := math.Pow(float64(walk.size), float64(path.filterPower))
	if cost > float64(walk.steps.limit.Default) {
		cost = float64(walk.steps.limit.Default)
	}
	root, err := walk.toPlain(&walk.root)
	if err != nil {
		return nil, err
	}
	for i := range parts.count() {
		if err := walk.steps.spend(10 + int(cost)); err != nil {
			return nil, err
		}
		child, err := walk.toPlain(parts.at(i))
		if err != nil {
			return nil, err
		}
		keep, err := evaluate(s, child, root)
		if err == nil {
			err = path.regexes.err
		}
		if err != nil {
			return nil, err
		}
		if keep {
			dst = append(dst, parts.at(i))
		}
	}
	return dst, nil
}

// evaluate asks the library, whose comparisons panic on some combinations of
// missing nodes: that must cost the caller an error, not everybody the server.
func evaluate(s *spec.FilterSelector, child, root any) (keep bool, err error) {
	defer func() {
		if recover() != nil {
			err = userError("path has a filter that cannot be evaluated on this value")
		}
	}()
	return s.Eval(child, root), nil
}

// plainCost is what one node costs as a Go value, in bytes.
const plainCost = 256

// toPlain gives a node as the library takes values: maps, slices, strings,
// numbers as float64. It recurses along the depth of the value.
func (walk *pathWalk) toPlain(n *node) (any, error) {
	parts, err := n.open(walk.bytes)
	if err != nil {
		return nil, err
	}
	if parts == nil {
		return plainScalar(n.text), nil
	}
	if value, ok := walk.plain[parts]; ok {
		return value, nil
	}
	if err := walk.bytes.spend(plainCost * (1 + parts.count())); err != nil {
		return nil, err
	}
	walk.size += 1 + parts.count()
	var value any
	if parts.object {
		object := make(map[string]any, len(parts.members))
		for i := range parts.members {
			if object[parts.members[i].name], err = walk.toPlain(&parts.members[i].value); err != nil {
				return nil, err
			}
		}
		value = object
	} else {
		array := make([]any, len(parts.elements))
		for i := range parts.elements {
			if array[i], err = walk.toPlain(&parts.elements[i]); err != nil {
				return nil, err
			}
		}
		value = array
	}
	walk.plain[parts] = value
	return value, nil
}

func plainScalar(text []byte) any {
	switch text[0] {
	case '"':
		return nameOf(text)
	case 't':
		return true
	case 'f':
		return false
	case 'n':
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0.0 // not reached: the text is a valid number
	}
	return f
}
