package engine

import (
	"errors"

	"reminis/engine/memory"
	"reminis/engine/vector"
)

// This file owns the vectors of an owner's records: how they come into its index
// and out of it, and what dimension they have. It must not know how they are
// compared.
//
// All vectors of an owner have the dimension of its first; when the last one has
// gone, the next is the first again.

// ParseVector reads a vector as clients send it and records keep it: float32,
// little-endian.
func ParseVector(blob []byte) ([]float32, error) {
	v, err := vector.Parse(blob, vector.DimensionsMax)
	switch {
	case errors.Is(err, vector.ErrLength):
		return nil, memory.ErrVectorLength(len(blob))
	case errors.Is(err, vector.ErrDimensions):
		return nil, memory.ErrVectorSize(len(blob)/4, vector.DimensionsMax)
	case err != nil:
		return nil, memory.ErrVectorNumber()
	}
	return v, nil
}

// CheckVector says whether a record of the owner may have a vector. It locks the
// owner.
func (tx *Tx) CheckVector(ownerName, blob []byte) error {
	v, err := ParseVector(blob)
	if err != nil {
		return err
	}
	return memory.CheckDimensions(len(v), tx.owner(tx.DB, ownerName).dimensions())
}

// dimensions is that of the owner's vectors, 0 while it has none.
func (o *Owner) dimensions() int {
	if o.vectors == nil || o.vectors.View().Len() == 0 {
		return 0
	}
	return o.vectors.Dimensions()
}

// addVector makes a record findable by its vector, if it has one. A record of
// before the owner's dimension was another is not found by it.
func (o *Owner) addVector(doc uint64, r *memory.Record) {
	if len(r.Vector) == 0 {
		return
	}
	v, err := vector.Parse(r.Vector, vector.DimensionsMax)
	if err != nil {
		return
	}
	o.putVector(doc, v)
}

// putVector gives a document a vector, unless it has another dimension than all
// others.
func (o *Owner) putVector(doc uint64, v []float32) {
	switch o.dimensions() {
	case 0:
		o.vectors = vector.NewIndex(len(v), vector.Options{})
	case len(v):
	default:
		return
	}
	o.vectors.Add(doc, v)
	o.unbuilt++
}

func (o *Owner) removeVector(doc uint64) {
	if o.vectors != nil {
		o.vectors.Remove(doc)
		delete(o.embedded, doc)
	}
}

// Vectors finds records by their vectors, nil when there are none; a document is
// found again with ByDoc.
func (v *OwnerView) Vectors() *vector.View { return v.vectors }

func (o *Owner) viewVectors() *vector.View {
	if o.dimensions() == 0 {
		return nil
	}
	return o.vectors.View()
}
