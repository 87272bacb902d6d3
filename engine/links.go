package engine

import (
	"encoding/binary"
	"math"
	"strings"

	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns links between the records of one owner. A link is a facet of the
// owner, named by where it comes from, its relation and where it leads; it ends
// with the record that it comes from. What a relation means it must not know.
//
//	name:  "link/" from 0 relation 0 to
//	value: 8 weight | varint creation of the record that it leads to, ms
//
// Neither keys nor relations have zero bytes. The creation tells a record from one
// that began later under the same key: a link to what was forgotten leads nowhere.

const facetLink = "link/"

// linksMax bounds the links that come from one record (mem-links): a recall that
// follows them looks at all of them.
const linksMax = 1000

// Link leads from a record to another one of its owner.
type Link struct {
	Relation []byte
	To       []byte
	Weight   float64
}

// SetLink adds a link, or gives it another weight, and says whether that changed
// anything. Both records stand, and the owner is locked.
func (tx *Tx) SetLink(from memory.Key, link Link, event *memory.Event) (changed bool, err error) {
	to, ok, err := tx.Record(link.To)
	if err != nil || !ok {
		return false, err
	}
	owner := tx.owner(tx.DB, from.Owner())
	name := linkName(from.Text, link)
	value := binary.LittleEndian.AppendUint64(nil, math.Float64bits(link.Weight))
	value = binary.AppendVarint(value, createdOf(to))
	if before, ok := owner.facets.Get(name); ok && string(before) == string(value) {
		return false, nil
	} else if !ok && tx.trimLinks(owner, from) >= linksMax {
		return false, memory.ErrLinks(linksMax)
	}
	tx.SetFacet(from.Owner(), []byte(name), value, event)
	return true, nil
}

// RemoveLink ends a link and says whether there was one. The owner is locked.
func (tx *Tx) RemoveLink(from memory.Key, link Link, event *memory.Event) bool {
	name := linkName(from.Text, link)
	if _, ok := tx.owner(tx.DB, from.Owner()).facets.Get(name); !ok {
		return false
	}
	tx.SetFacet(from.Owner(), []byte(name), nil, event)
	return true
}

// Links visits the links that come from the record key and lead to one that
// stands, in order of relation and key, until visit returns false.
func (v *OwnerView) Links(key []byte, visit func(Link) bool) {
	v.Facets(linkPrefix(key), func(name string, value []byte) bool {
		link, createdMs := readLink(len(key), name, value)
		to, ok := v.Get(link.To)
		if !ok || past(to.DeadlineMs, v.nowMs) || createdOf(to) != createdMs {
			return true
		}
		return visit(link)
	})
}

// CountLinks counts all links, those to what does not stand any more included.
func (v *OwnerView) CountLinks() (count int64) {
	v.Facets(facetLink, func(string, []byte) bool {
		count++
		return true
	})
	return count
}

func linkPrefix(from []byte) string { return facetLink + string(from) + "\x00" }

func linkName(from []byte, link Link) string {
	return linkPrefix(from) + string(link.Relation) + "\x00" + string(link.To)
}

// readLink reads a facet that is a link from a key of that length.
func readLink(keyLen int, name string, value []byte) (link Link, createdMs int64) {
	relation, to, _ := strings.Cut(name[len(facetLink)+keyLen+1:], "\x00")
	createdMs, n := binary.Varint(value[min(8, len(value)):])
	if len(value) < 8 || n <= 0 {
		panic("engine: the facet of a link does not decode")
	}
	weight := math.Float64frombits(binary.LittleEndian.Uint64(value))
	return Link{Relation: []byte(relation), To: []byte(to), Weight: weight}, createdMs
}

func createdOf(s Stored) int64 {
	var r memory.Record
	if err := memory.Decode(s.Bytes, &r); err != nil {
		panic("engine: a stored record does not decode: " + err.Error())
	}
	return r.CreatedMs
}

// trimLinks counts the links that come from a record. Once they are as many as may
// be, it ends those that lead nowhere any more.
func (tx *Tx) trimLinks(owner *Owner, from memory.Key) (count int) {
	prefix := linkPrefix(from.Text)
	var dead []string
	owner.facets.Ascend(prefix, func(name string, value []byte) bool {
		if !strings.HasPrefix(name, prefix) {
			return false
		}
		count++
		link, createdMs := readLink(len(from.Text), name, value)
		to, ok := owner.records.Get(newItem(link.To, 0, 0, nil))
		if !ok || createdOf(owner.stored(to)) != createdMs {
			dead = append(dead, name)
		}
		return true
	})
	if count < linksMax {
		return count
	}
	for _, name := range dead {
		tx.SetFacet(from.Owner(), []byte(name), nil, nil)
	}
	return count - len(dead)
}

// endLinks ends the links that come from a record, with the record.
func (tx *Tx) endLinks(db int, owner *Owner, key []byte) {
	if owner.facets.Len() == 0 {
		return
	}
	prefix := linkPrefix(key)
	var names []string
	owner.facets.Ascend(prefix, func(name string, _ []byte) bool {
		if !strings.HasPrefix(name, prefix) {
			return false
		}
		names = append(names, name)
		return true
	})
	for _, name := range names {
		tx.emit(&effect.Effect{Kind: effect.FacetSet, DB: uint32(db), Key: []byte(owner.name), Field: []byte(name)})
	}
}
