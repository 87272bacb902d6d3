package memory

// This file owns the hash chain over an owner's events. It knows neither where
// links are stored nor who anchors the head.
//
// A stored event is one of package effect, whose head is the link and the head
// of the event's binary form, so that whoever stores it can cut the body off. A
// link is the
// SHA-256 of the link before it, the sequence of the batch that touched the
// chain before the event's own, what the event says before its body, and the
// body's SHA-256. Storing an event's own link, not the one before it, names the
// damaged event itself, the last one included. An event's own sequence is known
// only once its batch is appended, so each batch vouches for that of the batch
// before it; that of the last is compared with a head kept elsewhere.

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"

	"reminis/engine/effect"
)

// Link is the digest that ends a chain with one event. The zero Link begins
// every chain.
type Link [sha256.Size]byte

// linkDomain keeps links apart from any other SHA-256 of the same bytes.
const linkDomain = "reminis event 1\x00"

func nextLink(prev Link, seqBefore uint64, e *Event) Link {
	var buf [160]byte
	head := append(buf[:0], linkDomain...)
	head = append(head, prev[:]...)
	head = binary.BigEndian.AppendUint64(head, seqBefore)
	head = append(head, codecVersion, byte(e.Op))
	head = binary.AppendVarint(head, e.TimeMs)
	head = binary.AppendUvarint(head, e.Version)
	head = binary.AppendUvarint(head, e.OldVersion)
	head = append(head, e.digest[:]...)
	return sha256.Sum256(head)
}

// AppendLinked appends the stored form of an encoded event that follows prev: its
// link, then its bytes. seqBefore is the sequence of the last batch before the
// event's own that added to the chain, 0 for the first. It fails only on bytes
// that are no event.
func AppendLinked(dst []byte, prev Link, seqBefore uint64, encoded []byte) ([]byte, error) {
	var e Event
	in, _, err := cutEventHead(encoded, &e)
	if err != nil {
		return dst, err
	}
	link := nextLink(prev, seqBefore, &e)
	dst = effect.AppendEventHead(dst, len(link)+in.pos)
	return append(append(dst, link[:]...), encoded...), nil
}

// SplitLinked takes a stored event apart; the bytes alias it. A body that is
// sealed stays so.
func SplitLinked(stored []byte) (link Link, encoded []byte, err error) {
	head, body, ok := effect.CutEvent(stored)
	if !ok || len(head) < len(link) {
		return link, nil, &CorruptError{What: "event", Offset: len(stored)}
	}
	copy(link[:], head)
	encoded = stored[len(stored)-len(head)-len(body)+len(link):]
	var e Event
	if in, _, err := cutEventHead(encoded, &e); err != nil {
		return link, nil, err
	} else if in.pos != len(head)-len(link) {
		return link, nil, in.corruptAt(in.pos)
	}
	return link, encoded, nil
}

// ChainState is what Verify found.
type ChainState struct {
	Length   uint64 // events whose links hold
	Head     Link   // of the last of them
	LastSeq  uint64
	FirstBad uint64 // sequence of the first event that does not hold; 0: none
	Erased   uint64 // events without body among Length

	seqBefore uint64 // of the batch before LastSeq
}

// OK says that every event held.
func (c ChainState) OK() bool { return c.FirstBad == 0 }

// Verify walks stored events in order, beginning after the given state (the
// zero state: from the first event), and stops at the first whose link does not
// follow from what stands before it. A missing, added or exchanged event shows
// at the first place where the chain differs, a wrong sequence at the batch after
// it; events missing at the end, and a wrong sequence there, show only against a
// head kept elsewhere, which is the caller's comparison.
func Verify(from ChainState, events iter.Seq2[uint64, []byte]) ChainState {
	state := from
	for seq, stored := range events {
		before := state.seqBefore
		if seq != state.LastSeq {
			before = state.LastSeq
		}
		link, encoded, err := SplitLinked(stored)
		if err == nil {
			var e Event
			if err = DecodeEvent(encoded, &e); err == nil && seq >= state.LastSeq && nextLink(state.Head, before, &e) == link {
				state.Length++
				state.Head, state.LastSeq, state.seqBefore = link, seq, before
				if e.Erased {
					state.Erased++
				}
				continue
			}
		}
		state.FirstBad = seq
		return state
	}
	return state
}
