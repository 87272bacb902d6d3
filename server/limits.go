// This file owns every bound of the network side that is not a directive, each
// with its reason. It must not contain code.

package server

const (
	// inlineMaxBytes bounds a line: an inline request, or the line that holds a
	// count or a length (PROTO_INLINE_MAX_SIZE).
	inlineMaxBytes = 64 << 10

	// argumentsMax bounds a request's argument count (INT_MAX in Redis 7.0;
	// memory is bounded by client-query-buffer-limit long before).
	argumentsMax = 1<<31 - 1

	// argumentCostBytes is what one argument costs beside its bytes (its place
	// and its slice); it is charged to client-query-buffer-limit so that a
	// request of a hundred million empty arguments is refused as well.
	argumentCostBytes = 32

	// unauthenticatedArgumentsMax and unauthenticatedBulkMaxBytes are what a
	// connection may send before AUTH: enough for AUTH and HELLO.
	unauthenticatedArgumentsMax = 10
	unauthenticatedBulkMaxBytes = 16 << 10

	// unauthenticatedOutputMaxBytes is what such a connection may leave unread
	// (networking.c checkClientOutputBufferLimits).
	unauthenticatedOutputMaxBytes = 1 << 10

	// largeBulkBytes is the length from which a bulk is read straight into a
	// buffer made for it (PROTO_MBULK_BIG_ARG).
	largeBulkBytes = 32 << 10

	// bulkUpfrontBytes is the most that a bulk's length alone makes us allocate.
	// Beyond it the buffer grows with what arrives: a length costs a peer
	// nothing, and thousands of them must not exhaust the memory.
	bulkUpfrontBytes = 256 << 10

	// readMinBytes and readMaxBytes bound one read: below the first, more
	// system calls than needed; above the second, one connection would hold up
	// the others of its loop.
	readMinBytes = 16 << 10
	readMaxBytes = 64 << 10

	// bulkReadMaxBytes is the most of a large argument that one turn reads.
	bulkReadMaxBytes = 1 << 20

	// arenaBytes is what a loop reads before it executes: the shared buffer of
	// all connections that are ready in one pass. It should stay in the L2 cache.
	arenaBytes = 512 << 10

	// groupCommands is how many commands are prefetched before the first is
	// executed (a session's turn is not cut for it). More would push the first
	// ones' lines out of the nearest cache again: 512 cost a quarter more.
	groupCommands = 64

	// sessionCommandsMax bounds how many commands of one connection are
	// executed before the others of its loop have their turn.
	sessionCommandsMax = 1024

	// outputHighBytes ends a connection's turn once it has that much unsent output,
	// so that it is sent, and others have theirs.
	outputHighBytes = 1 << 20

	// outputStopBytes stops execution of a connection's commands while it has that
	// much unsent output: a peer that does not read is not worked for. Redis goes on
	// until memory is out; so much is for clients that send long pipelines before
	// they read, and maxmemory-clients is for all clients together.
	outputStopBytes = 16 << 20

	// inputKeepBytes is the largest input buffer that is given back like any
	// other. Larger ones have exactly the size of their request: a few of them
	// would make up all that is kept for reuse.
	inputKeepBytes = 64 << 10

	// poolLeastBytes is the smallest buffer kept for reuse.
	poolLeastBytes = replyLeastBytes

	// poolBufferBytes is the largest buffer kept for reuse: as large as output
	// becomes before execution stops.
	poolBufferBytes = outputHighBytes

	// poolMaxBytes bounds the buffers that an event loop keeps for reuse: those of
	// a hundred connections, each with pipelined replies of 64 KB.
	poolMaxBytes = 8 << 20

	// poolOwnMaxBytes bounds the buffers that a connection with its own goroutine
	// keeps for reuse, until it is idle.
	poolOwnMaxBytes = 256 << 10

	// mailRoomBytes is the largest buffer that waits for the next pushes: what Redis
	// keeps for the output of every client.
	mailRoomBytes = replyStaticBytes

	// mailUsualMaxBytes is the largest buffer that a single push gets because more was
	// pushed before.
	mailUsualMaxBytes = 64 << 10

	// spareMaxBytes is the largest buffer that a connection keeps for its next
	// large request, for spareTurnsMax turns that did not need it.
	spareMaxBytes = 4 << 20
	spareTurnsMax = 16

	// drainMaxBytes and drainMaxMs bound how long a connection that we have
	// finished writing to is read from, so that the peer sees our last bytes
	// rather than a reset.
	drainMaxBytes = 4 << 20
	drainMaxMs    = 1000

	// idleShrinkMs is after how long without traffic buffers are given back.
	idleShrinkMs = 2000

	// sweepIntervalMs is how often idle time, soft output limits and buffers
	// are looked at.
	sweepIntervalMs = 1000
	// softIntervalMs is how often while a client is over its soft limit, which it
	// is closed for by seconds.
	softIntervalMs = 100

	// acceptBackoffMinMs and acceptBackoffMaxMs bound the pause after a failed
	// accept: a full descriptor table must not make the acceptor spin.
	acceptBackoffMinMs = 5
	acceptBackoffMaxMs = 1000

	// sessionBytes is the fixed part of a connection: its session, its executor and
	// their places in registries. A test measures it.
	sessionBytes = 2 << 10

	// spanBytes is what the place of an argument takes while its request is read.
	spanBytes = 8

	// ledgerStepBytes is by how much what a connection holds must move before it is
	// counted against maxmemory-clients: less than its fixed part, so that the whole
	// is known to within that.
	ledgerStepBytes = 1 << 10

	// lentLeastBytes is the least buffer of replies that is looked at before they are
	// written.
	lentLeastBytes = 64 << 10

	// clientsLimitLeastBytes is the least limit of maxmemory-clients.
	clientsLimitLeastBytes = 128 << 10

	// replyLeastBytes is the least room that replies get at first
	// (PROTO_REPLY_MIN_BYTES).
	replyLeastBytes = 1 << 10

	// replyResetMs is for how long the most of a connection's replies says how much
	// room the next ones get (REPLY_BUFFER_DEFAULT_PEAK_RESET_TIME).
	replyResetMs = 5000

	// replyStaticBytes is the output of a client that Redis keeps in its static
	// buffer and does not count as "omem" (PROTO_REPLY_CHUNK_BYTES).
	replyStaticBytes = 16 << 10
)
