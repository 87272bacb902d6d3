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
// is used as it is: suites of TLS 1.3 cannot be chosen (tls-ciphersuites), keys with
// a passphrase are refused, sessions are resumed by tickets whatever
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
// # Nothing grows without end
//
// A peer that does not read is not worked for (1 MB of pending output stops its
// commands), a subscriber is closed at client-output-buffer-limit, a request at
// client-query-buffer-limit, arguments counted. A length that is only announced
// allocates at most 256 KB. All of limits.go is hard.
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
package server
