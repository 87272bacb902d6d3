package engine

import (
	"strings"

	"github.com/tidwall/btree"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns facets: what is kept of an owner, or of the server, beside its
// records, under a name. Their changes are batches as those of records are. It
// must not know what a facet means; whoever gives names to facets does.
//
// Names are "<what>" or "<what>/<of what>", so that those of one sort are
// together and in order.

// SetFacet attaches value to the owner under name, and removes it when value is
// empty; an empty owner is the server. event may be nil. The owner is locked:
// the server's owner sorts after all others.
func (tx *Tx) SetFacet(ownerName, name, value []byte, event *memory.Event) {
	tx.Durable()
	tx.setFacet(ownerName, name, value, event)
}

// setFacet is SetFacet for what may be lost within a second, as session records
// may.
func (tx *Tx) setFacet(ownerName, name, value []byte, event *memory.Event) {
	owner := tx.ownerOrServer(tx.DB, ownerName)
	x := effect.Effect{Kind: effect.FacetSet, DB: uint32(tx.DB), Key: ownerName, Field: name, Value: value}
	if len(ownerName) == 0 {
		x.DB = 0
	}
	tx.keyed(tx.DB, owner)
	x.Event = tx.chainEvent(owner, event, value)
	tx.emit(&x)
}

// Facet is what SetFacet attached last; nil when there is nothing. It locks the
// owner. The bytes never change.
func (tx *Tx) Facet(ownerName, name []byte) []byte {
	value, _ := tx.ownerOrServer(tx.DB, ownerName).facets.Get(string(name))
	return value
}

// Facet is what the view has attached under name; nil when there is nothing.
func (v *OwnerView) Facet(name string) []byte {
	value, _ := v.facets.Get(name)
	return value
}

// Facets visits the facets whose names begin with prefix, in order of name,
// until visit returns false.
func (v *OwnerView) Facets(prefix string, visit func(name string, value []byte) bool) {
	v.facets.Ascend(prefix, func(name string, value []byte) bool {
		return strings.HasPrefix(name, prefix) && visit(name, value)
	})
}

// ServerFacets visits the facets of the server whose names begin with prefix, in
// order of name. No locks are held by the caller; the bytes never change.
func (e *Engine) ServerFacets(prefix string, visit func(name string, value []byte)) {
	tx := e.Begin()
	tx.server().facets.Ascend(prefix, func(name string, value []byte) bool {
		if !strings.HasPrefix(name, prefix) {
			return false
		}
		visit(name, value)
		return true
	})
	tx.Commit()
	tx.Done()
}

// ownerOrServer locks and gives an owner; without a name the server's.
func (tx *Tx) ownerOrServer(db int, name []byte) *Owner {
	if len(name) == 0 {
		return tx.server()
	}
	return tx.owner(db, name)
}

func (tx *Tx) applyFacetSet(db int, x *effect.Effect) {
	owner := tx.ownerOrServer(db, x.Key)
	if name := string(x.Field); strings.HasPrefix(name, facetVector) {
		owner.applyVector(tx, name, x.Value)
		return
	}
	if len(x.Value) == 0 {
		owner.facets.Delete(string(x.Field))
	} else {
		owner.facets.Set(string(x.Field), append([]byte(nil), x.Value...))
	}
	owner.ruleChanged(&tx.e.owners, x)
	owner.sessionChanged(x)
	owner.remember(tx, x, nil)
}

// facetMap is an owner's facets by name. Copies share what they have.
type facetMap = btree.Map[string, []byte]
