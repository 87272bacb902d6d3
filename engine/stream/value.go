package stream

// This file owns a stream as a plain value, as it is dumped and restored, and what
// its bounds say about places in it.

// Value is a whole stream.
type Value struct {
	Bounds
	Blocks []Block // in the order of their ids
	Groups []Group
	// Estimated says that it is not known how many entries groups have read: it
	// follows from the bounds.
	Estimated bool
}

// Block is a block and how many entries it has, deleted ones included.
type Block struct {
	First   ID
	Bytes   []byte
	Entries int
	Deleted int
}

// Group is a consumer group.
type Group struct {
	Name []byte
	Last ID    // the last id that was delivered
	Read int64 // how many entries were read up to Last, or Unknown
	// Pending is in the order of ids.
	Pending   []Pending
	Consumers []Consumer
}

// Unknown is a number of entries that cannot be told.
const Unknown = -1

// Pending is an entry that was delivered and not acknowledged.
type Pending struct {
	ID          ID
	DeliveredMs int64
	Count       uint64 // of deliveries
	Consumer    uint32 // its index in Group.Consumers
}

// Consumer is a consumer of a group.
type Consumer struct {
	Name   []byte
	SeenMs int64
}

// Bounds is what a stream knows of the entries that it has and had.
type Bounds struct {
	Length     int64  // entries that are not deleted
	Added      uint64 // entries that were ever added
	First      ID     // of the entries that are not deleted, zero when there are none
	Last       ID     // the greatest id ever
	MaxDeleted ID     // the greatest id that XDEL deleted
}

// Distance is how many entries were added up to id, or Unknown. It is told only
// where no deletion can have changed it (t_stream.c
// streamEstimateDistanceFromFirstEverEntry).
func (b *Bounds) Distance(id ID) int64 {
	last := id.Compare(b.Last)
	switch {
	case b.Added == 0:
		return 0
	case last == 0, b.Length == 0 && last < 0:
		return int64(b.Added)
	case last > 0:
		return Unknown
	}
	if b.MaxDeleted == (ID{}) || b.MaxDeleted.Less(b.First) {
		switch first := id.Compare(b.First); {
		case first < 0:
			return int64(b.Added) - b.Length
		case first == 0:
			return int64(b.Added) - b.Length + 1
		}
	}
	return Unknown
}

// DeletedFrom says whether an entry from id on may have been deleted between
// others (t_stream.c streamRangeHasTombstones).
func (b *Bounds) DeletedFrom(id ID) bool {
	if b.Length == 0 || b.MaxDeleted == (ID{}) || b.MaxDeleted.Less(b.First) {
		return false
	}
	return !b.MaxDeleted.Less(id)
}

// Lag is how many entries a group has still to read, where that can be told
// (t_stream.c streamReplyWithCGLag).
func (b *Bounds) Lag(last ID, read int64) (lag int64, known bool) {
	if b.Added == 0 {
		return 0, true
	}
	if read == Unknown || b.DeletedFrom(last) {
		read = b.Distance(last)
	}
	return int64(b.Added) - read, read != Unknown
}
