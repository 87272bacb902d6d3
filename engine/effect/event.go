package effect

import "encoding/binary"

// This file owns the outer form of audit events: a head, which stays, and a
// body, which erasing cuts off. It must not know what either says.
//
//	uvarint length of the head | head | body
//
// The rejected alternative is a store that understands events: it would have to
// follow every change of their form only to drop a part of them.

// AppendEventHead begins an event whose head has sizeBytes; head and body follow.
func AppendEventHead(dst []byte, sizeBytes int) []byte {
	return binary.AppendUvarint(dst, uint64(sizeBytes))
}

// CutEvent splits an event; ok is false when it is none. What is returned
// aliases it, and follows each other in it.
func CutEvent(event []byte) (head, body []byte, ok bool) {
	size, n := binary.Uvarint(event)
	if n <= 0 || size > uint64(len(event)-n) {
		return nil, nil, false
	}
	rest := event[n:]
	return rest[:size], rest[size:], true
}

// WithoutBody is the event as erasing leaves it: a prefix of its bytes. What is
// no event stays as it is.
func WithoutBody(event []byte) []byte {
	_, body, _ := CutEvent(event)
	return event[:len(event)-len(body)]
}

// EventNameBytes is the size of what tells an event from all others: the
// beginning of its head.
const EventNameBytes = 32

// EventName is the name of an event, which stays when its body is cut off; nil
// for what is no event.
func EventName(event []byte) []byte {
	head, _, ok := CutEvent(event)
	if !ok || len(head) < EventNameBytes {
		return nil
	}
	return head[:EventNameBytes]
}
