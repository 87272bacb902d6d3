// Command fuzz sends hostile bytes to a server over many connections at once and
// watches that it lives, answers others, and gives back what it took.
//
//	go run ./bench/fuzz                                     a minute, authenticated, Reminis built from this tree
//	go run ./bench/fuzz -duration 10m -guest                before AUTH: the server wants a password
//	go run ./bench/fuzz -server 127.0.0.1:6379 -seed 7      a running server; EVERYTHING in it is deleted
//	go run ./bench/fuzz -replay fuzz-7.repro                what a failed run sent last
//
// # What it sends
//
// Lines are drawn from the server's own COMMAND DOCS, so that a command that is
// new is sent too, and from the lines that switch what a connection is (MULTI,
// HELLO, SUBSCRIBE, MONITOR, CLIENT REPLY, blocking commands, scripts, RESET). They
// are sent as multibulk or inline requests, many of them with damaged bytes, wrong
// lengths or a broken end. A connection sends whole, in pieces or byte by byte;
// reads everything, slowly or nothing; and then closes, half closes, resets or
// stays. Commands that end the server, lock others out or connect to elsewhere are
// left out (left).
//
// # What it wants
//
// While bytes come: a new connection is answered within a limit, and the process
// lives. A connection that has half closed, reading all, is ended by the server.
// After each round, when all have left and FLUSHALL has deleted everything, the
// descriptors and clients are back at their number from before; and the last
// rounds leave no more resident memory than the first ones. At the end the
// goroutines are those of a server that was only just started.
//
// Everything that a connection sends follows from the seed, the round and the
// connection's number; when, among the others, does not. So a failure prints what
// was sent last, and leaves it in a file from which it can be sent again.
//
// # Decisions
//
// Goroutines are counted in the stacks that a Go program writes when it is sent
// SIGQUIT: the server needs no door for it that others could use.
//
// Memory is compared after some seconds of MEMORY PURGE: what a collector has not got
// round to, or is kept in case it is needed again at once, is no growth. Rejected: a bound on the peak, which depends on what was drawn; it is
// printed.
//
// Rejected: Go's own fuzzing for this. It judges one input at a time; what is
// looked for here is what connections do to each other and what is left of them.
// The parsers alone have targets of that kind beside them.
package main
