// Package server owns sockets and sessions: it listens, reads requests, has
// them executed in batches, and writes the replies once they may leave. What a
// command means is behind Handler and Executor, what makes a reply durable is
// behind Gate; the package knows neither.
//
// # Sessions are passive
//
// A session (session.go) is bytes received, bytes to send, and a phase. It is
// fed windows of input and yields output, or parks: its command's reply is being
// made elsewhere (Park), waits for other clients (Block), or the command waits to
// be executed (Retry). Whoever feeds it, it is the same; blocked clients cost no
// goroutine, pushes are mail to the driver, and a test needs no socket.
//
// A group (group.go) is the unit of execution: commands of one or many sessions
// are parsed, all prefetched, and then executed in each session's order. What is
// parsed ahead of a command that parks goes back to the input, to be parsed
// again.
//
// # Two drivers
//
// An event loop (loop_linux.go) is one OS thread. Per pass it reads every ready
// connection into one shared arena, executes them as one group, has the journal
// written once, and writes each connection once. Buffers belong to a connection
// only while something is left over in them (one of a large request a little
// longer, for the next), so an idle connection costs about a kilobyte, whatever
// it has sent before.
//
// It is edge-triggered: one registration for a connection's life, and the loop
// remembers what is readable and writable. Level-triggering was rejected because
// parking, back-pressure and pending output, which are ordinary here, would cost
// two epoll_ctl calls each time or spin. The sockets are taken out of Go's poller
// by duplicating the descriptor and closing the connection object; calls that
// cannot block are raw, epoll_wait is not, so that the garbage collector never
// waits for a sleeping loop.
//
// The goroutine driver (driver_goroutine.go) has one goroutine per connection
// and works wherever Go does. Measured, it costs 1.2 to 1.3 times a loop's
// processor time for single commands and little more for pipelines; it stays for
// systems without epoll and for what is no plain socket. A library (gnet) was
// rejected: it costs 10 to 20 % more than these loops, and its callbacks do not
// let the commands of all ready connections be prefetched together.
//
// # TLS
//
// A connection of tls-port shakes hands beside the accepting, within ten seconds,
// before it is admitted; then it has a goroutine, as it is no plain socket. Go's TLS
// is used as it is: suites of TLS 1.3 cannot be chosen (tls-ciphersuites), sessions are resumed by tickets whatever
// tls-session-caching says, and tls-dh-params-file has no effect, since no suite
// with plain Diffie-Hellman is spoken.
//
// # When replies leave
//
// Each session's gate is the highest journal sequence that its replies depend
// on. After the group the journal is flushed; sessions whose gate is durable are
// written to. If every ready session waits, the loop syncs at once, since it has
// nothing else to do; otherwise the syncer does, and plain reads go on. A session
// that waits executes nothing more, so that its earlier replies do not wait for
// its later commands.
//
// # Pushes
//
// What is pushed to a session (messages, invalidations, MONITOR) is appended to its
// mail, whoever pushes, and its driver is told once until it has looked. The buffer
// that the pushes came in becomes the output's when nothing waits there, and one from
// the driver's pool takes its place if it is small: short messages are copied once, and
// allocate nothing. Rejected: to share one encoding among subscribers and send it with
// writev, since copying short messages is 1 % of a delivery; one letter to a loop for
// all its subscribers, since what is left of the locks is 4 % of it, and TakePushed and
// the output limit would have to look into it. (Of 16 messages in a pass to a thousand
// subscribers; 85 % is the system call, one for each subscriber and pass.)
//
// # Nothing grows without end
//
// A peer that does not read is not worked for (16 MB of pending output stop its
// commands; an event loop reads on, since the peer may be sending a long pipeline
// before it reads), a subscriber is closed at client-output-buffer-limit, a request at
// client-query-buffer-limit, arguments counted. A length that is only announced
// allocates at most 256 KB. All of limits.go is hard.
//
// # What connections hold
//
// CLIENT LIST's tot-mem is what a connection holds: its fixed part, the buffers that
// it has at the moment with their unused room, what waits in its mail, and what its
// executor keeps between commands (client_memory.go). A test holds the figures
// against the heap. Where Redis has a buffer that does not exist here, a field means
// the same and holds nothing: qbuf-free of a connection without a buffer of its own
// is the room that its loop reads into, and rbs is the buffer that its next replies
// get from the pool. Neither counts in tot-mem. argv-mem is the request in progress
// as far as it is understood, with what a waiting command has copied; qbuf is what
// was received behind it. omem is all that waits once it is more than Redis's static
// buffer of 16 KB, and nothing before.
//
// maxmemory-clients bounds what all hold together (client_eviction.go). There is one
// ledger, in which a connection is counted where its own figure moves, by its driver
// or by who pushes to it, and only if it moved by 1 KB: so an ordinary command costs
// some loads and no lock, and the whole is known to 1 KB for each connection. The
// ledger keeps the connections in lists by the logarithm of their figures, as Redis
// does; those that must go are found at once, the largest first. Who is chosen leaves
// the ledger and the registry there and then, and its driver closes it in its next
// pass. Limits of a connection's own output come first, so that nobody else goes for
// it. Rejected: to add up all connections now and then, which is late just when
// memory grows fast; a sum for each loop, which would need all loops to agree on the
// largest connection.
//
// # Closing
//
// After QUIT, a protocol error or the end of the peer's input, our side is shut
// and input is discarded until the peer has closed too, for at most a second: a
// socket closed with unread input sends a reset, which may destroy the last
// reply on its way.
//
// # Reading requests
//
// reader.go finds commands incrementally and never looks at a byte twice. It
// keeps places relative to the command's first byte rather than slices, so that
// the buffer may move under a command in progress. redcon's reader was rejected:
// it crashes on lengths near 2^63, spins on huge counts, is quadratic in large
// requests and drops valid commands before an error. redcon accepts connections
// (listener.go) and hands them over before it has read a byte.
//
// # Configuration
//
// config_table.go declares every directive once; files, flags, CONFIG GET and
// CONFIG SET all read it. Hot paths never look a name up: a Settings is published
// as one pointer. What Redis accepts and has no effect here is noted at the
// start; what would protect less when ignored stops the start.
//
// # The log
//
// log.go writes slog's records in the form of Redis's lines, which scripts and
// collectors read. crash.go puts panics and signals that mean a crash there, and,
// with watchdog-period, the stacks of all goroutines when a loop has been at one
// batch for longer. A batch's begin is two stores a pass; a timer signal, as Redis
// has it, would say no more.
package server
