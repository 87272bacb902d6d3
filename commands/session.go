package commands

import (
	"reminis/commands/acl"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns what a connection has between its commands, and what commands
// ask of the connection and the process around them. It must not know sockets.

// Peer is the connection behind a session.
type Peer interface {
	// ID is unique in the life of the process.
	ID() int64
	// RemoteAddr is the peer's address as CLIENT LIST prints it.
	RemoteAddr() string
	// Local says whether the peer is on this host.
	Local() bool
	// Resume ends a park: reply appends the answer to out.
	Resume(reply func(out []byte) []byte)
	// Push queues bytes that answer no command; data is copied. They leave once
	// the journal is durable up to seq (0: at once).
	Push(data []byte, seq uint64)
	// TakePushed appends to out what was pushed and is not in the output yet. It
	// is called while the session executes a command.
	TakePushed(out []byte) []byte
	// OutputMax is how much may wait to be sent before the client is closed, 0 for
	// any amount; OverOutput notes that it is being closed for that.
	OutputMax() int
	OverOutput()
	// Aside runs what must not run on a thread that belongs to a goroutine (a switch to a
	// coroutine), on the goroutine of whoever drives the session.
	Aside(run func())
	// Refresh brings what Clients show of this session up to date; between
	// commands that happens by itself.
	Refresh()
	// AppendLine appends the client as CLIENT LIST prints it, without a line end.
	AppendLine(dst []byte) []byte
}

// Session is one client's state. Its methods are called by one goroutine at a
// time.
type Session struct {
	Core *Core
	Peer Peer

	DB            int
	Name          string
	LibName       string
	LibVersion    string
	Authenticated bool
	NoEvict       bool
	NoTouch       bool
	// Monitoring says that the session sees every command (MONITOR).
	Monitoring bool
	// LastCommand is the last command that ran, nil before the first.
	LastCommand *Command
	// Proto is 2 or 3.
	Proto int

	account *acl.User
	lens    *memory.Lens // what the command that runs may see of records
	// confined says that the command that runs may not read keys of whatever name.
	confined bool
	words    [][]byte // the name of the command that runs, as it was typed
	client   string   // the peer as audit events name it
	writer   reply.Writer
	gateSeq  uint64
	next     Next
	mode     replyMode
	multi    multi
	watch    *engine.Watch
	// subscriptions are what the session listens to; nil before the first.
	subscriptions *subscriptions
	// kept is how much of the output CLIENT REPLY must not drop: it answers no
	// command.
	kept   int
	tx     *engine.Tx // the transaction of the EXEC that is running, or nil
	exec   execution
	recent [2]recent
	batch  batch
	// lockKeys finds what a line of several keys locks.
	lockKeys keyFinder
	current  *announced // what the batch knows of the command that runs, or nil
	timing   timing
	lag      lag
	blocked  *blocked // while the session waits for keys
	// waitingBytes is what the arguments of the command that waits take.
	waitingBytes int
	end          endpoint
	// tracking is what CLIENT TRACKING turned on, or nil; caching is CLIENT CACHING,
	// a command of cachingOf, which holds for the command after it or the transaction.
	tracking  *tracked
	caching   bool
	cachingOf *Command
	// steady says that the command that ran last is all that has changed of what others
	// see of the session.
	steady bool
	script *scriptRun // the run that the session belongs to, nil for a client's
}

// Next says what the session's driver does after a command.
type Next uint8

const (
	Continue Next = iota
	CloseAfterReply
	CloseNow
	Park  // the reply comes through Peer.Resume
	Block // the same, but a peer that stops sending ends the session
	Retry // nothing happened: execute the same command again after Peer.Resume
	// Postpone is Retry for a command that others hold back: a peer that stops sending
	// ends the session.
	Postpone
)

// replyMode is CLIENT REPLY.
type replyMode uint8

const (
	replyOn replyMode = iota
	replyOff
	replySkipNext // set by CLIENT REPLY SKIP: the next command's reply is dropped
	replySkip     // this command's reply is dropped
)

// NewSession opens a session on peer.
func (k *Core) NewSession(peer Peer) *Session {
	s := &Session{Core: k, Peer: peer, Proto: 2, watch: new(engine.Watch)}
	s.becomeDefault()
	s.SetName("")
	s.end.peer = peer
	s.writer.BoundBy(peer.OutputMax)
	s.end.proto.Store(2)
	k.tracker.endpoints.add(peer.ID(), &s.end)
	return s
}

// becomeDefault makes the session what it is before AUTH names a user.
func (s *Session) becomeDefault() {
	standard := s.Core.Users.Default()
	s.become(standard, standard.Open())
}

func (s *Session) become(account *acl.User, authenticated bool) {
	s.account, s.Authenticated = account, authenticated
	if s.subscriptions != nil {
		s.subscriptions.account.Store(account)
	}
}

// User is the name of the user that the session is authenticated as.
func (s *Session) User() string { return s.account.Name() }

// GateSeq is the journal sequence that must be durable before the replies
// written so far may leave.
func (s *Session) GateSeq() uint64 { return s.gateSeq }

// AuthRequired says whether the client has yet to authenticate.
// A session that opened while the default user needed a password is free once it
// needs none.
func (s *Session) AuthRequired() bool { return !s.Authenticated && !s.Core.Users.Default().Open() }

// Steady says that the last line that was executed has changed nothing of what clients
// are shown of the session but LastCommand.
func (s *Session) Steady() bool { return s.steady }

// InMulti is the number of commands queued by MULTI, -1 outside of it.
func (s *Session) InMulti() int {
	if !s.multi.open {
		return -1
	}
	return len(s.multi.queue)
}

// Watching is the number of watched keys.
func (s *Session) Watching() int { return s.watch.Len() }

// Close forgets what others know of the session. An EXEC that is under way is ended
// first, as it happens whole; nobody waits for that.
func (s *Session) Close() {
	if !s.abandonExec() {
		s.leave()
	}
}

func (s *Session) leave() {
	s.endBlocked()
	s.endTracking()
	s.Core.tracker.endpoints.remove(s.Peer.ID())
	s.multi.reset()
	s.endMonitor()
	s.endSubscriptions()
	s.unwatch()
}

// raise makes the session's replies wait for seq.
func (s *Session) raise(seq uint64) { s.gateSeq = max(s.gateSeq, seq) }

// actor is the session as an actor of changes.
func (s *Session) actor() engine.Actor {
	return engine.Actor{User: s.User(), Client: s.client, ID: s.Peer.ID()}
}

// SetName names the connection, for people and for the audit trail.
func (s *Session) SetName(name string) {
	s.Name, s.client = name, s.Peer.RemoteAddr()
	if name != "" {
		s.client = name + "@" + s.client
	}
}

// begin takes a transaction for the session. The commands of one batch share a
// reading of the clock: they run within microseconds.
func (s *Session) begin() *engine.Tx {
	b := &s.batch
	if len(b.commands) == 0 {
		b.nowMs = 0
	}
	if b.nowMs == 0 {
		b.nowMs = s.Core.Engine.NowMs()
	}
	tx := s.Core.Engine.BeginAt(b.nowMs)
	tx.DB, tx.NoTouch = s.DB, s.NoTouch
	tx.Actor, tx.Lens, tx.Confined = s.actor(), s.lens, s.confined
	return tx
}
