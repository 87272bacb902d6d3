// This file owns the seam between connections and what they carry: the
// interfaces that a command processor and a journal satisfy. It must not know
// any command, any reply format or any file.

package server

// An Action says what a session must do after a command.
type Action uint8

const (
	// Continue executes the next command.
	Continue Action = iota
	// CloseAfterReply writes what is in the output, then closes the connection
	// so that the peer sees it. Later commands of the pipeline are dropped.
	CloseAfterReply
	// CloseNow drops the output and closes the connection.
	CloseNow
	// Park executes nothing more until Conn.Resume: the reply is being made
	// elsewhere. A peer that has only finished sending still gets it.
	Park
	// Block is Park for a command that waits for other clients: a peer that
	// finishes sending is gone, as in Redis, and the session is closed.
	Block
	// Retry is Park before this command: nothing was executed or written, and
	// Conn.Resume(nil) executes the same command again (a full journal queue).
	Retry
	// Postpone is Retry for a session that counts as blocked (paused clients): a
	// peer that finishes sending is gone.
	Postpone
)

// A Handler makes the executor of each new connection.
type Handler interface {
	// Open is called before the first byte is read, on the goroutine that
	// accepts; it must not block.
	Open(c Conn) Executor
	// Guarded says whether a connection may do nothing before it authenticates.
	Guarded() bool
}

// An Executor holds what one connection has between its commands. All methods
// are called by the connection's driver, one at a time.
type Executor interface {
	// Execute runs one command and appends its reply to out. argv aliases the
	// input buffer: it is valid during the call only, and what must live longer
	// (a parked command's arguments) is copied by the executor.
	Execute(out []byte, argv [][]byte) ([]byte, Action)

	// Prefetch hints that argv will be executed soon. It is called for every
	// command of a batch with phase 0, then for every one with phase 1, and, if it
	// said of any in phase 1 that there is more to do, for every one with phase 2;
	// then Execute follows in order. It must change nothing.
	Prefetch(argv [][]byte, phase int) (more bool)

	// EndBatch says that what Prefetch has seen is over: the memory behind its
	// arguments is used again, whether they were executed or not.
	EndBatch()

	// GateSeq is the highest journal sequence that must be durable before the
	// bytes appended so far may leave. It never falls.
	GateSeq() uint64

	// AuthRequired reports whether the connection may not yet send more than
	// what AUTH and HELLO need (10 arguments of 16 KB).
	AuthRequired() bool

	// HeldBytes is what the executor holds for the connection beside its fixed
	// part: queued commands, watches, subscriptions. It must be cheap.
	HeldBytes() int64

	// Shrink gives back what an idle connection need not hold.
	Shrink()

	// Close is called once, when the connection ends. A command may still be
	// parked then; its Resume has no effect any more.
	Close()
}

// A Conn is what an executor sees of its connection. All methods but TakePushed
// may be called from any goroutine.
type Conn interface {
	// ID is unique in the life of the process, positive and ascending.
	ID() int64
	// RemoteAddr is the peer, "ip:port"; "path:0" over a unix socket, as Redis prints it.
	RemoteAddr() string
	// LocalAddr is the address that the peer connected to, in the same form.
	LocalAddr() string
	// Local reports whether the peer is on this host (loopback or unix socket).
	Local() bool

	// Resume ends a Park, Block or Retry. reply, if not nil, is called once by
	// the driver and appends the parked command's reply to out. A Resume that
	// comes while nothing is parked is kept until the command has parked.
	Resume(reply func(out []byte) []byte)

	// Aside runs what must not run on a thread that belongs to a goroutine (a switch to a
	// coroutine), inside Execute: a loop does without a thread of its own meanwhile.
	Aside(run func())

	// Push queues a copy of data behind what the connection has to send already. It
	// leaves once the journal is durable up to seq (0: at once). A connection
	// over its client-output-buffer-limit is closed instead.
	Push(data []byte, seq uint64)

	// TakePushed appends to out what was pushed and is not in the output yet, in
	// front of the reply that out will get. It is called inside Execute.
	TakePushed(out []byte) []byte

	// OutputMax is how much may wait to be sent before the connection is closed for
	// it (client-output-buffer-limit), 0 for any amount; OverOutput notes that it is
	// being closed.
	OutputMax() int
	OverOutput()

	// Kill closes the connection as soon as its driver sees it; pending output
	// is dropped.
	Kill()

	// Info is the record behind CLIENT LIST; the executor keeps its part current.
	Info() *Info

	// AppendLine appends the connection as CLIENT LIST prints it.
	AppendLine(out []byte) []byte
}

// A Gate is the journal as replies see it.
type Gate interface {
	// Durable is the highest sequence that survives a crash. It must be cheap.
	Durable() uint64
	// Flush writes what is buffered to the file, without fsync; cheap when
	// nothing is pending.
	Flush() error
	// Sync makes everything appended so far durable. On an error what waits
	// keeps waiting until Durable passes it by other means.
	Sync() error
	// Notify calls wake once, from any goroutine, when Durable has reached seq;
	// at once if it has already.
	Notify(seq uint64, wake func())
}

// A Pass brackets the time in which a driver may hold what Prefetch has seen:
// between Begin and End nothing that a prefetch could be reading may be freed.
// Each event loop, and each connection of the goroutine driver, has its own.
type Pass interface {
	Begin()
	End()
}
