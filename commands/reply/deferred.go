package reply

// This file owns aggregates whose length is known only after their members.

// Deferred is an aggregate that was begun without its length. It holds until
// Close; aggregates within it are closed first.
type Deferred struct {
	start int // position of the header
	width int // bytes reserved for it
	kind  aggregateKind
}

// DeferArray begins an array of about n replies. A good guess of the number of
// digits of n saves moving the members when the array is closed.
func (w *Writer) DeferArray(n int) Deferred { return w.deferAggregate(kindArray, n) }

// DeferMap begins a map of about n pairs.
func (w *Writer) DeferMap(n int) Deferred { return w.deferAggregate(kindMap, n) }

// DeferSet begins a set of about n replies.
func (w *Writer) DeferSet(n int) Deferred { return w.deferAggregate(kindSet, n) }

func (w *Writer) deferAggregate(kind aggregateKind, n int) Deferred {
	start := len(w.buf)
	w.buf = w.aggregate(w.buf, kind, n)
	return Deferred{start: start, width: len(w.buf) - start, kind: kind}
}

// Close writes the length of a deferred aggregate: replies, or pairs of a map.
func (w *Writer) Close(d Deferred, n int) {
	var space [24]byte
	header := w.aggregate(space[:0], d.kind, n)
	members := d.start + d.width
	if grown := len(header) - d.width; grown > 0 {
		w.buf = append(w.buf, space[:grown]...)
		copy(w.buf[members+grown:], w.buf[members:len(w.buf)-grown])
	} else if grown < 0 {
		copy(w.buf[members+grown:], w.buf[members:])
		w.buf = w.buf[:len(w.buf)+grown]
	}
	copy(w.buf[d.start:], header)
}
