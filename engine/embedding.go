package engine

import (
	"github.com/tidwall/btree"

	"reminis/engine/memory"
	"reminis/engine/vector"
)

// This file owns vectors that are made for records which came without one. It
// must not know who makes them.
//
// They are derived data: in the index, like vectors that came with their records,
// but not in the record or its history, so that no export, digest or version depends
// on an embedder. They are kept beside the records, so that a restart asks for none
// again (embedding_kept.go).

// Unembedded is a record, or an item of a list, that has a text and no vector.
type Unembedded struct {
	Space uint32
	Owner string
	Doc   uint64
	Text  string
}

// Embedder is asked for vectors. It is set before anything is written.
type Embedder struct {
	// Name tells embedders apart whose vectors do not compare.
	Name string
	// Offer is told of a record that is written without a vector. It is called
	// with locks held, so it must not wait. False: there is no room.
	Offer func(u Unembedded) bool
	// Query gives the vector of what is searched for, nil if there is none. It may
	// take long.
	Query func(text string) []float32
	// Waiting is how many of an owner's records wait for a vector; of all owners'
	// when it has no name.
	Waiting func(space uint32, owner string) int
}

// UseEmbedder has vectors made by x.
func (e *Engine) UseEmbedder(x Embedder) { e.embedder = x }

// unembedded is how many records wait for a vector.
func (e *Engine) unembedded(space uint32, owner string) int64 {
	if e.embedder.Waiting == nil {
		return 0
	}
	return int64(e.embedder.Waiting(space, owner))
}

// EmbedsQueries says whether EmbedQuery may take long.
func (e *Engine) EmbedsQueries() bool { return e.embedder.Query != nil }

// EmbedQuery is the vector of a text that is searched for, nil without an
// embedder. Inside EXEC, where everything is locked, nobody is asked.
func (tx *Tx) EmbedQuery(text []byte) []float32 {
	if tx.e.embedder.Query == nil || tx.HoldsAll() {
		return nil
	}
	return tx.e.embedder.Query(string(text))
}

// offerText tells the embedder of a document of an owner, which is locked.
func (tx *Tx) offerText(owner *Owner, it item) {
	if tx.e.embedder.Offer == nil || tx.replaying {
		return
	}
	if text := tx.textOf(owner, it); text != "" {
		tx.e.embedder.Offer(Unembedded{owner.space, owner.name, it.doc(), text})
	}
}

// OfferAll tells the embedder of all records that have a text and no vector,
// until it has no room: after a recovery, and after it refused some.
func (e *Engine) OfferAll() {
	e.placeVectors()
	tx := e.Begin()
	defer tx.Done()
	for db := range e.nDB {
		for _, owner := range e.owners.under(e.owners.space(db), "") {
			owner.mu.Lock()
			docs := owner.docs.Copy()
			owner.mu.Unlock()
			if !tx.offerDocs(owner, docs) {
				return
			}
		}
	}
}

func (tx *Tx) offerDocs(owner *Owner, docs *btree.Map[uint64, item]) (room bool) {
	room = true
	docs.Scan(func(doc uint64, it item) bool {
		owner.mu.Lock()
		_, made := owner.embedded[doc]
		text := ""
		if !made {
			text = tx.textOf(owner, it)
		}
		owner.mu.Unlock()
		if text != "" {
			room = tx.e.embedder.Offer(Unembedded{owner.space, owner.name, doc, text})
		}
		return room
	})
	return room
}

// textOf is what a document is found by, "" for one that has a vector of its own.
func (tx *Tx) textOf(owner *Owner, it item) string {
	d := documents{owner: owner, rules: tx.Rules()}
	if it.isSilent() {
		return ""
	}
	text := d.of(it).Text
	if len(d.record.Vector) > 0 {
		return ""
	}
	return text
}

// Embed gives the document u the vector that was made of its text, and says
// whether it still is that document.
func (e *Engine) Embed(u Unembedded, v []float32) bool {
	if len(v) == 0 || len(v) > vector.DimensionsMax || !vector.Finite(v) {
		return false
	}
	owner := e.owners.find(u.Space, []byte(u.Owner))
	if owner == nil {
		return false
	}
	tx := e.Begin()
	defer tx.Done()
	tx.lockMask(1) // who takes owners in any order, or exchanges spaces, has all shards
	defer tx.Commit()
	tx.own(owner)
	it, ok := owner.docs.Get(u.Doc)
	if !ok || tx.textOf(owner, it) != u.Text {
		return false
	}
	coded := vector.AppendCoded(nil, v)
	if !owner.embed(u.Doc, vector.ParseCoded(coded)) {
		return false
	}
	tx.keepVector(owner, it, u.Text, coded)
	e.indexer.offer(owner)
	return true
}

// embed gives a document a vector that was made, and says whether that has the
// dimension of the others.
func (o *Owner) embed(doc uint64, v []float32) bool {
	if memory.CheckDimensions(len(v), o.dimensions()) != nil {
		return false
	}
	o.putVector(doc, v)
	if o.embedded == nil {
		o.embedded = map[uint64]struct{}{}
	}
	o.embedded[doc] = struct{}{}
	return true
}
