package commands

// This file owns what a session holds between its commands beside its fixed part:
// what is queued, waited with, watched, listened to and tracked. Every figure is
// kept where it changes, so that adding them up is cheap. It must not know buffers
// of connections.

// What things take beside the bytes that are named: tests measure them.
const (
	sliceBytes = 24
	// queuedBytes is a place in a transaction's queue.
	queuedBytes = 48
	// subscriptionBytes is a name in the session's set, and a channel with one
	// subscriber in the registry.
	subscriptionBytes = 480
	// prefixBytes is a place in the list of prefixes that are tracked.
	prefixBytes = 40
	// announcedBytes is a place in the batch.
	announcedBytes = 88
)

// QueuedBytes is what MULTI has queued.
func (s *Session) QueuedBytes() int64 { return int64(s.multi.bytes) }

// WaitingBytes is what the arguments of a command take that waits for others.
func (s *Session) WaitingBytes() int64 { return int64(s.waitingBytes) }

// HeldBytes is all that the session holds beside its fixed part.
func (s *Session) HeldBytes() int64 {
	held := s.multi.bytes + s.waitingBytes + s.watch.HeldBytes() + cap(s.batch.commands)*announcedBytes
	if s.subscriptions != nil {
		held += s.subscriptions.bytes
	}
	if s.tracking != nil {
		held += s.tracking.bytes
	}
	return int64(held)
}

// Shrink gives back what a session without commands to run need not hold.
func (s *Session) Shrink() {
	if len(s.batch.commands) == 0 {
		s.batch.commands = nil
	}
}
