// Command conformance sends the same command lines to two servers and compares
// the bytes of their replies: Reminis and a real Redis 7.0.15, in RESP2 and RESP3.
//
//	go run ./bench/conformance -ours ./reminis -peer redis-server -lines 20000
//	go run ./bench/conformance -ours 127.0.0.1:6379 -peer 127.0.0.1:6380 -families strings,hashes -seed 7
//
// A server is given as a program, which is started on a free port with an empty
// data set, or as an address. EVERYTHING in both servers is deleted, repeatedly.
//
// # How it works
//
// A case is a seed: it yields some hundred command lines for two sessions, which
// start on an empty data set. Lines are made from one template per command (see
// families.go), over few keys, so that commands meet each other's data; one line
// in eight is damaged the way people and clients damage lines. Replies are equal
// byte for byte, or a named relaxation (see relax.go) says why they need not be
// and what must hold instead. An error reply is never relaxed.
//
// The first difference of a case ends it. The case is then shortened while the
// difference stays, and what is left is printed as a transcript.
//
// # Decisions
//
// The comparison sends and receives bytes, and shares no code with the server,
// so that a mistake in the server's own encoder or grammar cannot hide itself.
// For the same reason the templates repeat what the server's declarations say:
// this is the one place where repeating is the point.
//
// Replies that depend on the clock are compared within a tolerance rather than
// with a clock that both servers share; none of the deadlines generated passes
// while a case runs. Rejected: a faked clock under redis-server, which would
// need a preloaded library.
//
// Rejected: comparing after both replies were decoded to values. It is how
// clients see them, and it hides which nil was sent; wrong nils are the most
// frequent fault of reimplementations.
package main
