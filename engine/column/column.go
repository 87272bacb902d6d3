// Package column holds what one path leads to in the values of an owner's records,
// in order: which documents have which value. It must not know paths, nor what a
// key stands for.
//
// An Index never changes and has three slices without pointers: the different keys
// one after the other, and per key the documents that have it. That is 8 bytes per
// document, and per different key its length and 8 more.
//
// Rejected: a B-tree of (key, document), which a write would have to keep in step:
// about 40 bytes per document, and a path to walk down for each of a write's
// columns. An owner's documents are some ten thousand, of which few change between
// two recalls, so that merging what came since is cheaper (With).
package column

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// Entry is a document and the key that it has.
type Entry struct {
	Key []byte
	Doc uint64
}

// Index is a column; nil is empty.
type Index struct {
	keys  []byte
	heads []head // ascending by key; the last one is a sentinel
	docs  []uint64
}

// head is where a key begins in keys, and its documents in docs.
type head struct{ key, docs uint32 }

// Len is the number of documents that have a key.
func (x *Index) Len() int {
	if x == nil {
		return 0
	}
	return len(x.docs)
}

// With is the index with more documents, which it has not yet; x itself stays. The
// entries are put in order.
func (x *Index) With(entries []Entry) *Index {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(bytes.Compare(a.Key, b.Key), cmp.Compare(a.Doc, b.Doc))
	})
	w := &Index{docs: make([]uint64, 0, x.Len()+len(entries))}
	for i := range x.size() {
		key := x.key(i)
		for len(entries) > 0 && bytes.Compare(entries[0].Key, key) < 0 {
			entries = w.take(entries)
		}
		w.begin(key)
		w.docs = append(w.docs, x.docs[x.heads[i].docs:x.heads[i+1].docs]...)
	}
	for len(entries) > 0 {
		entries = w.take(entries)
	}
	w.heads = append(w.heads, w.end())
	w.keys, w.heads = slices.Clip(w.keys), slices.Clip(w.heads)
	return w
}

// take appends the first of the entries and gives the others.
func (x *Index) take(entries []Entry) []Entry {
	x.begin(entries[0].Key)
	x.docs = append(x.docs, entries[0].Doc)
	return entries[1:]
}

// begin lets the documents that follow have the key.
func (x *Index) begin(key []byte) {
	if n := len(x.heads); n > 0 && bytes.Equal(x.keys[x.heads[n-1].key:], key) {
		return
	}
	x.heads = append(x.heads, x.end())
	x.keys = append(x.keys, key...)
}

func (x *Index) end() head { return head{uint32(len(x.keys)), uint32(len(x.docs))} }

// size is the number of different keys.
func (x *Index) size() int {
	if x == nil {
		return 0
	}
	return len(x.heads) - 1
}

func (x *Index) key(i int) []byte { return x.keys[x.heads[i].key:x.heads[i+1].key] }

// Between are the documents with first <= key <= last, by key and those of a key
// in ascending order. The caller must not change them.
func (x *Index) Between(first, last []byte) []uint64 {
	size := x.size()
	from := sort.Search(size, func(i int) bool { return bytes.Compare(x.key(i), first) >= 0 })
	limit := sort.Search(size, func(i int) bool { return bytes.Compare(x.key(i), last) > 0 })
	if from >= limit {
		return nil
	}
	return x.docs[x.heads[from].docs:x.heads[limit].docs]
}
