package commands

import (
	"bytes"
	"cmp"
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns SORT and SORT_RO. It must not know how collections are stored.

type sortParams struct {
	key, by, store []byte
	gets           [][]byte
	offset, count  int64
	order          uint8
	alpha          bool
	constant       bool // a BY without a star was given: nothing is sorted
	follows        bool // a BY with a star was given
}

const sortDescending = 2

func (p *sortParams) descending() bool { return p.order == sortDescending }

const sortSourceNotes = "For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of the key we sort"

// sortNodes are the options of SORT that SORT_RO has too, in documented order.
func sortNodes() []grammar.Node {
	return []grammar.Node{
		grammar.Value("pattern", setSortBy).Typed(grammar.TypePattern).Sample("*", "key:*", "h*->field", "nosort", "").After("BY").
			KeySource(grammar.RO|grammar.Access, sortSourceNotes),
		grammar.Block("offset_count",
			grammar.Int("offset", func(p *sortParams) *int64 { return &p.offset }),
			grammar.Int("count", func(p *sortParams) *int64 { return &p.count }).Default(-1),
		).After("LIMIT"),
		grammar.List("pattern", func(p *sortParams) *[][]byte { return &p.gets }).After("GET").Typed(grammar.TypePattern).
			KeySource(grammar.RO|grammar.Access, sortSourceNotes).SameSpec(),
		// The last of several orders counts.
		grammar.Enum("order", func(p *sortParams) *uint8 { return &p.order }, "ASC", "DESC").Together(),
		grammar.Token("ALPHA", func(p *sortParams) *bool { return &p.alpha }).Named("sorting"),
	}
}

func setSortBy(p *sortParams, arg []byte) *grammar.Error {
	p.by = arg
	if star(arg) < 0 {
		p.constant = true
	} else {
		p.follows = true
	}
	return nil
}

func sortKey() grammar.Node {
	return grammar.Key("key", func(p *sortParams) *[]byte { return &p.key }, grammar.RO|grammar.Access)
}

const sortComplexity = "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number of returned elements. When the elements are not sorted, complexity is O(N)."

// sortCategories replace the one of the family (commands/sort.json).
func sortCategories() []string { return []string{"-keyspace", "set", "sortedset", "list", "dangerous"} }

func sortCommand() *Command {
	nodes := append(sortNodes(),
		grammar.Key("destination", func(p *sortParams) *[]byte { return &p.store }, grammar.OW|grammar.Update).After("STORE").Searched().
			Notes("For the optional STORE keyword. It is marked 'unknown' because the keyword can appear anywhere in the argument array"))
	return onData(Declaration{
		Name: "sort", Family: Generic, Since: "1.0.0", Complexity: sortComplexity,
		Summary: "Sort the elements in a list, set or sorted set",
		Flags:   Write | DenyOOM | FollowsData, Lock: LockAll, Categories: sortCategories(),
		Reply: reply.OneOf(reply.Int(), reply.ArrayOf(reply.Nullable(reply.Bulk()))),
	}, grammar.Compile[sortParams](sortKey(), grammar.Options(nodes...)), runSort)
}

func sortROCommand() *Command {
	return onData(Declaration{
		Name: "sort_ro", Family: Generic, Since: "7.0.0", Complexity: sortComplexity,
		Summary: "Sort the elements in a list, set or sorted set. Read-only variant of SORT.",
		Flags:   ReadOnly | FollowsData, Lock: LockAll, Categories: sortCategories(),
		Reply: reply.ArrayOf(reply.Nullable(reply.Bulk())),
	}, grammar.Compile[sortParams](sortKey(), grammar.Options(sortNodes()...)), runSort)
}

func runSort(tx *engine.Tx, p *sortParams, w *reply.Writer) error {
	if tx.Confined && p.follows {
		return errSortBy
	}
	if tx.Confined && len(p.gets) > 0 {
		return errSortGet
	}
	source, err := sortSourceOf(tx, p.key)
	if err != nil {
		return err
	}
	s := sorting{tx: tx, p: p, unsorted: p.constant, texts: []byte{}}
	if s.unsorted && source.unordered && (p.store != nil || tx.InScript) {
		// What is stored, or what a script sees, must not depend on how a set is kept
		// (sort.c).
		s.unsorted, p.by, p.alpha = false, nil, true
	}
	first, count := p.limits(source.length)
	if s.unsorted {
		s.take(source, first, count)
	} else {
		s.take(source, 0, source.length)
		if err := s.weigh(); err != nil {
			return err
		}
		slices.SortStableFunc(s.items, s.compare)
		s.items = s.items[first : first+count]
	}
	if p.store == nil {
		s.reply(w)
		return nil
	}
	w.Int(int64(s.store()))
	return nil
}

// limits is the part of a sorted collection that LIMIT asks for.
func (p *sortParams) limits(length int) (first, count int) {
	n := int64(length)
	start := min(max(p.offset, 0), n)
	size := n - start
	if p.count >= 0 {
		size = min(p.count, size)
	}
	return int(start), int(size)
}

// sortSource is a collection that is sorted.
type sortSource struct {
	length    int
	unordered bool // a set: it has no order of its own
	// each visits count elements from the one at first on, in their own order or
	// from the last.
	each func(first, count int, back bool, visit func(x engine.Element))
}

// sortSourceOf reads the key to sort; one that does not exist is an empty list.
func sortSourceOf(tx *engine.Tx, key []byte) (source sortSource, err error) {
	switch tx.Type(key) {
	case engine.TypeSet:
		s, err := setForRead(tx, key)
		return sortSource{length: s.Len(), unordered: true, each: func(first, count int, _ bool, visit func(engine.Element)) {
			s.Each(func(member []byte) bool {
				if first--; first < 0 && count > 0 {
					visit(engine.Element{Text: member})
					count--
				}
				return count > 0
			})
		}}, err
	case engine.TypeSortedSet:
		z, err := sortedSetForRead(tx, key)
		return sortSource{length: z.Len(), each: func(first, count int, back bool, visit func(engine.Element)) {
			from := first
			if back {
				from = z.Len() - first - count
			}
			z.Range(from, from+count, back, func(member []byte, _ float64) bool {
				visit(engine.Element{Text: member})
				return true
			})
		}}, err
	}
	l, err := listForRead(tx, key)
	return sortSource{length: l.Len(), each: func(first, count int, back bool, visit func(engine.Element)) {
		if back {
			l.RangeBack(l.Len()-1-first, count, visit)
		} else {
			l.Range(first, count, visit)
		}
	}}, err
}

// sorting is one run of SORT.
type sorting struct {
	tx       *engine.Tx
	p        *sortParams
	unsorted bool
	items    []sortItem
	texts    []byte // copies: what is read may be written by the end
}

// sortItem is an element and what it is sorted by.
type sortItem struct {
	text   []byte
	score  float64
	weight []byte // of ALPHA; nil for none
}

// keep copies a text.
func (s *sorting) keep(text []byte) []byte {
	from := len(s.texts)
	s.texts = append(s.texts, text...)
	return s.texts[from:len(s.texts):len(s.texts)]
}

func (s *sorting) take(source sortSource, first, count int) {
	s.items = make([]sortItem, 0, count)
	source.each(first, count, s.unsorted && s.p.descending(), func(x engine.Element) {
		var digits [20]byte
		text := x.Text
		if text == nil {
			text = x.AppendTo(digits[:0])
		}
		s.items = append(s.items, sortItem{text: s.keep(text)})
	})
}

// weigh finds what each element is sorted by.
func (s *sorting) weigh() error {
	failed := false
	for i := range s.items {
		x := &s.items[i]
		x.weight = x.text
		if s.p.by != nil {
			weight, ok := s.follow(s.p.by, x.text)
			if !ok {
				x.weight = nil
				continue
			}
			x.weight = weight
			if s.p.alpha {
				x.weight = s.keep(weight)
			}
		}
		if !s.p.alpha {
			var ok bool
			x.score, ok = sortScore(x.weight)
			failed = failed || !ok
		}
	}
	if failed {
		return errSortScore
	}
	return nil
}

// sortScore reads a number as strtod does that must end where the text does.
func sortScore(text []byte) (score float64, ok bool) {
	text = upToNul(text)
	if len(text) == 0 {
		return 0, true
	}
	return grammar.ParseFloat(bytes.TrimLeft(text, " \t\n\v\f\r"))
}

// compare orders two elements (sort.c sortCompare). Texts are compared by bytes:
// as strcoll does in the locale C, up to a NUL, where they are only shown, whole
// where they are stored.
func (s *sorting) compare(a, b sortItem) int {
	order := 0
	switch {
	case !s.p.alpha:
		if order = cmp.Compare(a.score, b.score); order == 0 {
			order = bytes.Compare(a.text, b.text)
		}
	case a.weight == nil || b.weight == nil:
		order = int(intOf(a.weight != nil) - intOf(b.weight != nil))
	case s.p.store != nil:
		order = bytes.Compare(a.weight, b.weight)
	default:
		order = bytes.Compare(upToNul(a.weight), upToNul(b.weight))
	}
	if s.p.descending() {
		return -order
	}
	return order
}

// star is where a pattern takes the element, -1 for nowhere.
func star(pattern []byte) int { return bytes.IndexByte(upToNul(pattern), '*') }

// follow is the value that a pattern leads to from an element: the string, or the
// field of a hash, with the name that the pattern has with the element in it
// (sort.c lookupKeyByPattern). It is valid until the next look-up.
func (s *sorting) follow(pattern, element []byte) (value []byte, ok bool) {
	if string(upToNul(pattern)) == "#" {
		return element, true
	}
	at := star(pattern)
	if at < 0 {
		return nil, false
	}
	prefix, rest := pattern[:at], pattern[at+1:]
	var field []byte
	if arrow := bytes.Index(upToNul(rest), []byte("->")); arrow >= 0 && arrow+2 < len(upToNul(rest)) {
		rest, field = rest[:arrow], rest[arrow+2:]
	}
	key := slices.Concat(prefix, element, rest)
	if field == nil {
		value, err := s.tx.StringForWrite(key)
		s.tx.CountHit(key, value != nil || err != nil)
		return value, value != nil
	}
	h, err := hashForRead(s.tx, key)
	if err != nil {
		return nil, false
	}
	return h.Get(field, make([]byte, 20))
}

func (s *sorting) reply(w *reply.Writer) {
	w.Array(len(s.items) * max(1, len(s.p.gets)))
	for i := range s.items {
		if len(s.p.gets) == 0 {
			w.Bulk(s.items[i].text)
		}
		for _, pattern := range s.p.gets {
			if value, ok := s.follow(pattern, s.items[i].text); ok {
				w.Bulk(value)
			} else {
				w.Null()
			}
		}
	}
}

// store makes the result a list, or removes the key when there is none. It returns
// the length.
func (s *sorting) store() int {
	values := make([][]byte, 0, len(s.items)*max(1, len(s.p.gets)))
	for i := range s.items {
		if len(s.p.gets) == 0 {
			values = append(values, s.items[i].text)
		}
		for _, pattern := range s.p.gets {
			value, _ := s.follow(pattern, s.items[i].text)
			values = append(values, s.keep(value))
		}
	}
	if len(values) == 0 {
		deleteKey(s.tx, s.p.store)
		return 0
	}
	s.tx.Vacate(s.p.store)
	s.tx.ListPush(s.p.store, engine.List{}, false, values)
	s.tx.Notify(engine.EventList, "sortstore", s.p.store)
	return len(values)
}
