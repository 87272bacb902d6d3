package engine

// This file owns what a key costs in memory. It must not know MEMORY USAGE.

const (
	// slotBytes is the share of a bucket that an entry takes: 64 bytes for 12
	// entries, of which two thirds are filled in the mean.
	slotBytes = 64 / 8
	// deadlineBytes is an item in the order of deadlines, with the room that a
	// node of the tree keeps free.
	deadlineBytes = 16 * 3 / 2
	// objectBytes is an object's place in the list of objects, and its head.
	objectBytes = 16 + 256
	// recordBytes is what a record costs beside its item: its places in the tree,
	// by document, and in the text index, without the words.
	recordBytes = 3 * 32
)

// UsageBytes is about how many bytes of memory key, its value and all that is
// kept to find them take; ok says whether key exists. Records' words in the text
// index are not counted: they are shared.
func (tx *Tx) UsageBytes(key []byte) (sizeBytes int64, ok bool) {
	ks, _, x, ok := tx.find(tx.DB, key)
	if !ok {
		return 0, false
	}
	sizeBytes = int64(x.SizeBytes()) + slotBytes
	if x.DeadlineMs() != 0 {
		sizeBytes += deadlineBytes
	}
	switch {
	case holdsObject(x.Kind()):
		sizeBytes += objectBytes + ks.objects.all[objectRef(x.Value())].sizeBytes()
	case x.Kind() == kindMemory:
		place := ks.records.of(x)
		tx.own(place.owner)
		sizeBytes += recordPlaceBytes + recordBytes + int64(len(place.item))
		eachItem(place.owner.items, key, 0, ^uint64(0), func(it item) bool {
			sizeBytes += recordBytes + int64(len(it))
			return true
		})
	}
	return sizeBytes, true
}

// heapBytes is about how much of a keyspace is in Go's heap, without deadlines.
func (ks *keyspace) heapBytes() (sizeBytes int64) {
	for _, x := range ks.objects.all {
		if x != nil {
			sizeBytes += objectHeapBytes(x)
		}
	}
	return sizeBytes
}

// objectHeapBytes is about how much of an object is.
func objectHeapBytes(x object) int64 {
	if s, ok := x.(*streamObject); ok {
		return objectBytes + s.heapBytes()
	}
	return objectBytes
}
