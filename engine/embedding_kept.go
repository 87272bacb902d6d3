package engine

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"strings"

	"reminis/engine/effect"
	"reminis/engine/vector"
)

// This file owns how vectors that were made are kept over restarts. It must not know
// who makes them, nor how they are compared.
//
// Such a vector is a facet of its owner, sealed like all of them, and ends with what
// it is of: in the same batch as a record that ends or is written anew, and with the
// items that a list lets go.
//
//	name:  "vector/" key 0 number of the item, empty: the record itself
//	value: 8 digest of the embedder's name and the text | 4 scale | 1 a dimension
//
// The digest says whether it still is what would be made: another embedder, or a
// policy that changed what a record is found by, makes it useless. A byte a dimension
// is a quarter of float32; of 384 dimensions a vector takes 396 bytes and 28 for its
// seal. What is searched before a restart has the same steps, so that a restart
// changes no score. In memory the facet is its name alone.
//
// Working records are not kept, nor are their vectors.

const facetVector = "vector/"

const vectorDigestBytes = 8

func vectorPrefix(key []byte) string { return facetVector + string(key) + "\x00" }

// vectorName is the name of the facet for what an item of a tree is.
func vectorName(it item) string {
	if it.isPart() {
		return vectorPrefix(it.recordKey()) + strconv.FormatUint(it.number(), 10)
	}
	return vectorPrefix(it.key())
}

func (e *Engine) vectorDigest(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(e.embedder.Name + "\x00" + text))
	return h.Sum64()
}

// keepVector keeps the vector of a document, which is there, if its record is kept.
func (tx *Tx) keepVector(owner *Owner, it item, text string, coded []byte) {
	head := it
	if it.isPart() {
		head, _ = owner.records.Get(tx.pivotOf(it.recordKey()))
	}
	db := tx.e.owners.database(owner.space)
	if !head.kind().Journaled() || db < 0 || tx.e.journal.Ready() != nil {
		return
	}
	tx.DB = db
	value := binary.LittleEndian.AppendUint64(make([]byte, 0, vectorDigestBytes+len(coded)), tx.e.vectorDigest(text))
	tx.setFacet([]byte(owner.name), []byte(vectorName(it)), append(value, coded...), nil)
}

// endVectors ends the vectors that are kept of a record, but for those of items from
// a number on.
func (tx *Tx) endVectors(db int, owner *Owner, key []byte, next uint64) {
	if owner.keptVectors == 0 {
		return
	}
	prefix := vectorPrefix(key)
	var names []string
	owner.facets.Ascend(prefix, func(name string, _ []byte) bool {
		number, of := strings.CutPrefix(name, prefix)
		if n, err := strconv.ParseUint(number, 10, 64); of && (err != nil || n < next) {
			names = append(names, name)
		}
		return of
	})
	for _, name := range names {
		tx.emit(&effect.Effect{Kind: effect.FacetSet, DB: uint32(db), Key: []byte(owner.name), Field: []byte(name)})
	}
}

// The apply side.

// applyVector follows a facet that is a vector; its value is for the index alone. In
// a recovery it may come before its record does.
func (o *Owner) applyVector(tx *Tx, name string, value []byte) {
	_, had := o.facets.Get(name)
	delete(o.unplaced, name)
	if len(value) == 0 {
		if o.facets.Delete(name); had {
			o.keptVectors--
		}
		return
	}
	if o.facets.Set(name, nil); !had {
		o.keptVectors++
	}
	if tx.replaying && !o.sketch {
		if o.unplaced == nil {
			o.unplaced = map[string][]byte{}
		}
		o.unplaced[name] = append([]byte(nil), value...)
	}
}

// placeVectors gives records the vectors that a recovery found, where they still are
// what the embedder would make, and forgets the others.
func (e *Engine) placeVectors() {
	tx := e.Begin()
	defer tx.Done()
	for db := range e.nDB {
		for _, owner := range e.owners.under(e.owners.space(db), "") {
			owner.mu.Lock()
			tx.placeVectorsOf(owner)
			owner.mu.Unlock()
		}
	}
}

func (tx *Tx) placeVectorsOf(owner *Owner) {
	found := owner.unplaced
	if owner.unplaced = nil; len(found) == 0 || tx.e.embedder.Offer == nil {
		return
	}
	owner.docs.Scan(func(doc uint64, it item) bool {
		value := found[vectorName(it)]
		if len(value) <= vectorDigestBytes {
			return true
		}
		text := tx.textOf(owner, it)
		if text == "" || binary.LittleEndian.Uint64(value) != tx.e.vectorDigest(text) {
			return true
		}
		if v := vector.ParseCoded(value[vectorDigestBytes:]); v != nil {
			owner.embed(doc, v)
		}
		return true
	})
}
