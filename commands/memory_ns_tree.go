package commands

import (
	"bytes"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.NS TREE and MEM.NS STATS: how much is where.

// memNSTreeCommand: a namespace is in the tree when it has records of the scope;
// those that a namespace is part of are not. The cursor is the last one of the
// page.
func memNSTreeCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "tree", Complexity: "O(log(N)+K) where N is the number of records and K that of those in the scope",
		Summary: "List the namespaces in a scope with the numbers of their records",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Tuple(reply.Bulk(), reply.Int()))),
	}), grammar.Compile[memNSParams](
		scopeNode("scope", func(p *memNSParams) *[]byte { return &p.scope }),
		grammar.Options(
			grammar.Bytes("cursor", func(p *memNSParams) *[]byte { return &p.cursor }).After("CURSOR").Sample("0"),
		),
	), runMemNSTree)
}

func runMemNSTree(tx *engine.Tx, p *memNSParams, w *reply.Writer) error {
	scope, err := tx.Layout().ParseScope(p.scope)
	if err != nil {
		return err
	}
	t := namespaceTree{layout: tx.Layout(), scope: scope}
	if len(p.cursor) > 0 && string(p.cursor) != "0" {
		if _, err := tx.Layout().ParseScope(p.cursor); err != nil {
			return ErrInvalidCursor
		}
		t.after = t.rank(p.cursor)
	}
	for _, name := range ownersIn(tx, scope) {
		view, ok := tx.OwnerView([]byte(name))
		if !ok {
			continue
		}
		eachRecord(view, scope, nil, func(s engine.Stored, _ uint64) bool {
			t.add(s.Key, len(name))
			return !t.done()
		})
		if t.done() {
			break
		}
	}
	t.show(w)
	return nil
}

// namespaceTree is a page of the namespaces that records are in, made while they
// are walked in order.
type namespaceTree struct {
	layout memory.Layout
	scope  memory.Scope
	after  []byte // the rank of the last namespace of the page before
	page   []namespace
	path   []namespace // those that the last record was in, from the widest
}

// namespace is one, with its records so far.
type namespace struct {
	text    []byte
	records int64
	shown   int // its place in the page, plus one; 0: it is on another
}

// done says that the page is full and all its namespaces were left.
func (t *namespaceTree) done() bool {
	if len(t.page) <= namespacePage {
		return false
	}
	for i := range t.path {
		if n := t.path[i].shown; n > 0 && n <= namespacePage {
			return false
		}
	}
	return true
}

// add counts a record for every namespace that it is in.
func (t *namespaceTree) add(key []byte, ownerLen int) {
	depth := 0
	t.eachNamespace(key, ownerLen, func(text []byte) {
		if depth < len(t.path) && !bytes.Equal(t.path[depth].text, text) {
			t.path = t.path[:depth]
		}
		if depth == len(t.path) {
			t.path = append(t.path, namespace{text: text, shown: t.place(text)})
		}
		if n := t.path[depth].shown; n > 0 {
			t.page[n-1].records++
		}
		depth++
	})
	t.path = t.path[:depth]
}

// place puts a namespace that was come to on the page, one more than are shown.
func (t *namespaceTree) place(text []byte) int {
	if len(t.page) > namespacePage || t.after != nil && bytes.Compare(t.rank(text), t.after) <= 0 {
		return 0
	}
	t.page = append(t.page, namespace{text: text})
	return len(t.page)
}

// eachNamespace visits the namespaces in the scope that a key is in, the widest
// first. Those wider than an owner are written without the brace of owner tags.
func (t *namespaceTree) eachNamespace(key []byte, ownerLen int, visit func(text []byte)) {
	from := 0
	if t.layout.OwnerTag {
		from = 1
	}
	for i := from; i < len(key); i++ {
		if key[i] != ':' {
			continue
		}
		text := key[:i]
		if i < ownerLen {
			text = key[from:i]
		}
		if t.scope.IsGlob() || t.scope.Contains(text) {
			visit(text)
		}
	}
}

// rank orders namespaces as they are come to: owners by name, and what is in an
// owner by key.
func (t *namespaceTree) rank(text []byte) []byte {
	var ownerLen int
	if t.layout.OwnerTag {
		if text[0] != '{' {
			return append(append([]byte{'{'}, text...), ':')
		}
		ownerLen = bytes.IndexByte(text, '}') + 1
	} else if bytes.Count(text, []byte{':'}) < t.layout.OwnerSegments-1 {
		return append(bytes.Clone(text), ':')
	} else {
		ownerLen = t.layout.OwnerLen(text)
	}
	rank := append(bytes.Clone(text[:ownerLen]), 0)
	if ownerLen < len(text) {
		rank = append(append(rank, text[ownerLen+1:]...), ':')
	}
	return rank
}

func (t *namespaceTree) show(w *reply.Writer) {
	next := []byte("0")
	if len(t.page) > namespacePage {
		t.page = t.page[:namespacePage]
		next = t.page[namespacePage-1].text
	}
	w.Array(2)
	w.Bulk(next)
	w.Array(len(t.page))
	for i := range t.page {
		w.Array(2)
		w.Bulk(t.page[i].text)
		w.Int(t.page[i].records)
	}
}

func memNSStatsCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "stats", Complexity: "O(log(N)+K) where N is the number of records and K that of those in the scope",
		Summary: "Count the records in a scope by kind, and their bytes and versions",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.MapOf(reply.Bulk(), reply.Int()),
	}), grammar.Compile[memNSParams](
		scopeNode("scope", func(p *memNSParams) *[]byte { return &p.scope }),
	), runMemNSStats)
}

func runMemNSStats(tx *engine.Tx, p *memNSParams, w *reply.Writer) error {
	scope, err := tx.Layout().ParseScope(p.scope)
	if err != nil {
		return err
	}
	var kinds [memory.Semantic + 1]int64
	var owners, bytes, versions, pinned, expiring int64
	for _, name := range ownersIn(tx, scope) {
		view, ok := tx.OwnerView([]byte(name))
		if !ok {
			continue
		}
		any := false
		eachRecord(view, scope, nil, func(s engine.Stored, _ uint64) bool {
			var r memory.Record
			mustDecode(s.Bytes, &r)
			any = true
			kinds[r.Kind]++
			bytes += int64(len(s.Key)+len(s.Bytes)) + int64(r.ItemBytes)
			versions += int64(r.Version)
			pinned += boolInt(r.Pinned)
			expiring += boolInt(s.DeadlineMs != 0)
			return true
		})
		owners += boolInt(any)
	}
	writeFigures(w, append(kindFigures(kinds), figure{"owners", owners}, figure{"bytes", bytes},
		figure{"versions", versions}, figure{"pinned", pinned}, figure{"expiring", expiring}))
	return nil
}
