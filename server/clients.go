// This file owns the registry of sessions and what is known of each from the
// outside: CLIENT LIST's fields, counters, killing. It must not know commands.

package server

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// The flags of a client, in the order in which Redis prints their letters.
const (
	FlagMonitor uint32 = 1 << iota
	FlagReplica
	FlagMaster
	FlagPubSub
	FlagMulti
	FlagBlocked
	FlagTracking
	FlagTrackingBroken
	FlagTrackingBroadcast
	FlagDirtyCAS
	FlagCloseAfterReply
	FlagUnblocked
	FlagCloseASAP
	FlagUnixSocket
	FlagReadOnly
	FlagNoEvict
)

const flagLetters = "OSMPxbtRBdcuAUre"

// An OutputClass is what client-output-buffer-limit distinguishes.
type OutputClass uint8

const (
	ClassNormal OutputClass = iota
	ClassReplica
	ClassPubSub
	classCount
)

// An OutputLimit bounds what waits to be sent to one client. Zero is no limit.
type OutputLimit struct {
	HardBytes, SoftBytes int64
	SoftSeconds          int64
}

// Info is the record behind CLIENT LIST. The exported fields are kept current by
// the executor and may be read from anywhere; the others are the server's.
type Info struct {
	// Command is the name of the last command, "client|list"; nil is NULL.
	Command atomic.Pointer[string]
	// Name is what CLIENT SETNAME gave; nil is none.
	Name atomic.Pointer[string]
	// User is the ACL user; nil is "default".
	User atomic.Pointer[string]
	// Library is what CLIENT SETINFO said; nil is nothing.
	Library atomic.Pointer[Library]
	// Flags is a set of Flag bits.
	Flags atomic.Uint32
	// Database, Channels, Patterns and ShardChannels are as CLIENT LIST has them.
	Database, Channels, Patterns, ShardChannels atomic.Int32
	// MultiCommands is the number of queued commands; -1 outside MULTI.
	MultiCommands atomic.Int32
	// MultiBytes and ArgumentBytes are the memory of queued and parked arguments.
	MultiBytes, ArgumentBytes atomic.Int64
	// Redirect is the client that gets the invalidations; -1 is none.
	Redirect atomic.Int64
	// Protocol is 2 or 3.
	Protocol atomic.Int32

	createdMs int64
	activeMs  atomic.Int64
	// fd is the descriptor; 0 until, and unless, an event loop has it.
	fd atomic.Int32
	// parsedBytes and queryBytes are the request in progress as far as it is
	// understood, and what was received behind it.
	parsedBytes    atomic.Int64
	queryBytes     atomic.Int64
	queryFreeBytes atomic.Int64
	holdings       holdings
	replies        replies
	// outputBytes is what waits to be sent, pushes in the mail included.
	outputBytes atomic.Int64
	parked      atomic.Bool
	softSinceMs int64
}

// Library is the code that speaks to the server.
type Library struct{ Name, Version string }

// set switches flags on or off.
func (i *Info) set(flags uint32, on bool) {
	if on {
		i.Flags.Or(flags)
	} else if i.Flags.Load()&flags != 0 {
		i.Flags.And(^flags)
	}
}

// Set switches flags on or off; it may be called from any goroutine.
func (i *Info) Set(flags uint32, on bool) { i.set(flags, on) }

func (i *Info) class() OutputClass {
	flags := i.Flags.Load()
	switch {
	case flags&FlagReplica != 0 && flags&FlagMonitor == 0:
		return ClassReplica
	case flags&FlagPubSub != 0:
		return ClassPubSub
	}
	return ClassNormal
}

// outputMemory is what counts against the output limit: nothing that would fit
// the static buffer of a client in Redis, all of what is more. (Redis keeps the
// first 16 KB of most long replies there, and of some nothing.)
func (i *Info) outputMemory() int64 {
	if pending := i.outputBytes.Load(); pending > replyStaticBytes {
		return pending
	}
	return 0
}

// A Client is one session as CLIENT LIST, CLIENT INFO and CLIENT KILL see it.
type Client struct {
	session *session
}

// ID, RemoteAddr, LocalAddr and Info are those of the connection.
func (c Client) ID() int64          { return c.session.id }
func (c Client) RemoteAddr() string { return c.session.remote }
func (c Client) LocalAddr() string  { return c.session.local }
func (c Client) Info() *Info        { return &c.session.info }
func (c Client) Class() OutputClass { return c.session.info.class() }

// Conn is the client's connection, to push to it or to kill it.
func (c Client) Conn() Conn { return c.session }

// AppendLine appends the client's line as CLIENT LIST prints it in Redis
// 7.0.15, without a line end. nowMs is the time of the ages.
func (c Client) AppendLine(out []byte, nowMs int64) []byte {
	i := &c.session.info
	flags := i.Flags.Load()
	number := func(name string, value int64) {
		out = append(out, name...)
		out = strconv.AppendInt(out, value, 10)
	}
	text := func(name, value string) {
		out = append(append(out, name...), value...)
	}
	number("id=", c.session.id)
	text(" addr=", c.session.remote)
	text(" laddr=", c.session.local)
	number(" fd=", int64(i.fd.Load()))
	text(" name=", stringOr(i.Name.Load(), ""))
	number(" age=", max(0, nowMs-i.createdMs)/1000)
	number(" idle=", max(0, nowMs-i.activeMs.Load())/1000)
	out = appendFlags(append(out, " flags="...), flags)
	number(" db=", int64(i.Database.Load()))
	number(" sub=", int64(i.Channels.Load()))
	number(" psub=", int64(i.Patterns.Load()))
	number(" ssub=", int64(i.ShardChannels.Load()))
	number(" multi=", int64(i.MultiCommands.Load()))
	query, free := i.queryBytes.Load(), i.queryFreeBytes.Load()
	number(" qbuf=", query)
	number(" qbuf-free=", free)
	number(" argv-mem=", i.parsedBytes.Load()+i.ArgumentBytes.Load())
	number(" multi-mem=", i.MultiBytes.Load())
	number(" rbs=", int64(i.replies.bufferBytes(nowMs, &c.session.server.replyTuning)))
	number(" rbp=", min(i.replies.peak.Load(), replyStaticBytes))
	pending, listed := i.outputBytes.Load(), i.outputMemory()
	number(" obl=", max(0, pending-listed))
	number(" oll=", (listed+replyStaticBytes-1)/replyStaticBytes)
	number(" omem=", listed)
	number(" tot-mem=", i.holdings.bytes())
	text(" events=", "r")
	if pending > 0 {
		out = append(out, 'w')
	}
	text(" cmd=", stringOr(i.Command.Load(), "NULL"))
	text(" user=", stringOr(i.User.Load(), "default"))
	number(" redir=", i.Redirect.Load())
	number(" resp=", int64(i.Protocol.Load()))
	// Redis 7.2 has these for every client. Only who says them asks for them, and
	// programs that know 7.0's line alone are not surprised.
	if library := i.Library.Load(); library != nil {
		text(" lib-name=", library.Name)
		text(" lib-ver=", library.Version)
	}
	return out
}

func appendFlags(out []byte, flags uint32) []byte {
	if flags == 0 {
		return append(out, 'N')
	}
	for bit, letter := range []byte(flagLetters) {
		if flags&(1<<bit) != 0 {
			out = append(out, letter)
		}
	}
	return out
}

func stringOr(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}

// Clients is the registry of open sessions. It is safe for use from any
// goroutine; iteration sees a snapshot, in order of id.
type Clients struct {
	mu       sync.Mutex
	sessions map[int64]*session
	// snapshot is the sorted list, made again after a change.
	snapshot []Client
	lastID   int64
}

func newClients() *Clients {
	return &Clients{sessions: map[int64]*session{}}
}

// add gives the session its id, or answers false when there are most already.
func (c *Clients) add(s *session, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sessions) >= most {
		return false
	}
	c.lastID++
	s.id = c.lastID
	c.sessions[s.id] = s
	c.snapshot = nil
	return true
}

func (c *Clients) remove(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.sessions[s.id]; ok {
		delete(c.sessions, s.id)
		c.snapshot = nil
	}
}

// Count is the number of open sessions.
func (c *Clients) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions)
}

// Get returns the client with an id.
func (c *Clients) Get(id int64) (Client, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.sessions[id]
	return Client{s}, ok
}

// List returns the open clients in order of id. The slice must not be changed.
func (c *Clients) List() []Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snapshot == nil {
		c.snapshot = make([]Client, 0, len(c.sessions))
		for _, s := range c.sessions {
			c.snapshot = append(c.snapshot, Client{s})
		}
		slices.SortFunc(c.snapshot, func(a, b Client) int { return cmp.Compare(a.session.id, b.session.id) })
	}
	return c.snapshot
}

// Kill closes every client that match accepts and returns how many.
func (c *Clients) Kill(match func(Client) bool) int {
	killed := 0
	for _, client := range c.List() {
		if match(client) {
			client.session.Kill()
			killed++
		}
	}
	return killed
}
