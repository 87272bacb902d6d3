package commands

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"reminis/commands/acl"
	"reminis/engine"
)

// This file owns what all sessions share: the table, the engine, and what the
// process around them offers. It must not know sockets or files.

// Core is the command processor of one server.
type Core struct {
	Engine  *engine.Engine
	Table   *Table
	Config  Config
	Clients Clients
	Process Process
	Store   Store
	// Users are the accounts; UserFile keeps them, nil without an aclfile.
	Users    *acl.Users
	UserFile UserFile
	// DenialsMax is how long the log of denials may be (acllog-max-len).
	DenialsMax atomic.Int64

	// Records tells what the process knows of records; nil: nothing.
	Records func() RecordHost
	// WhenDurable calls wake once more of the journal is durable; nil when the
	// journal never lags.
	WhenDurable func(wake func())
	// Snapshots is the file that SAVE writes; nil: there is none.
	Snapshots Snapshots
	// Export hands all plain keys of the store, of one moment, to a target, and says
	// how many memory records it has besides; nil for a pure cache.
	Export func(into RowTarget) (records int, err error)
	// Checkpoint writes all that was committed into the store's rows; nil for a pure
	// cache.
	Checkpoint func() error
	// Dial opens a connection to another server; its error is ErrRefused when nobody
	// listens there. nil: there is no way to any.
	Dial func(host, port string, within time.Duration) (Link, error)
	// WriteTimeout is how long a write waits for a lagging disk
	// (write-timeout-ms).
	WriteTimeout func() time.Duration

	// ReplicasWanted says that writes are refused without replicas, of which there are
	// none (min-replicas-to-write).
	ReplicasWanted atomic.Bool

	loading dataLoading // read by each command, as ReplicasWanted is

	// Observation is what is recorded of commands as they run.
	Observation Observation

	rewriting rewriting
	saves     saves
	registry  registry
	scripts   scripts
	functions functions
	overdue   overdueScripts
	runners   scriptRunners
	blocked   blockedSessions
	tracker   tracker
	pause     pause
	events    eventBuffers
	workers   chan struct{}
	replies   sync.Pool // *[]byte, of replies that workers make
	runs      sync.Pool // *scriptRun
	denied    deniedEvents
	stats     Stats
}

// ErrRefused is Dial's error when the address is somebody's who does not listen.
var ErrRefused = errors.New("connection refused")

// Link is a connection to another server, of which each Read and Write takes as
// long as it was opened with at most.
type Link interface {
	io.ReadWriteCloser
}

// Config is the server's configuration by directive.
type Config interface {
	// Get is the value of one directive as CONFIG GET prints it.
	Get(name string) string
	// Match visits the directives that any of the patterns match, each once.
	// Names of directives without wildcards find hidden ones too.
	Match(patterns []string, visit func(name, value string))
	// Set changes directives (name, value, name, value …), all or none. local
	// says that the client is on this host. The error's text is what follows
	// "ERR " in the reply.
	Set(pairs []string, local bool) error
	// Sensitive says that a directive's value is a secret.
	Sensitive(name string) bool
	// Late says that a directive is not set before all data is read.
	Late(name string) bool
	// Rewrite writes the configuration into its file, all of it or what differs from
	// the defaults; errors as Set's.
	Rewrite(all bool) error
}

// Clients are the connections of the process.
type Clients interface {
	// Each visits the open clients in order of id, until visit returns false.
	Each(visit func(Client) bool)
	// KeepReplyPeaks sets for how many milliseconds the most of a client's replies
	// says how much room the next ones get: KeepDefault, or KeepForEver.
	KeepReplyPeaks(ms int64)
	// FitReplies sets whether that room follows the replies at all.
	FitReplies(on bool)
}

// Values of KeepReplyPeaks.
const (
	KeepForEver = -1
	KeepDefault = -2
)

// Client is one connection, seen from the sessions of others.
type Client interface {
	Row() ClientRow
	// AppendLine appends the client as CLIENT LIST prints it, without a line end.
	AppendLine(dst []byte) []byte
	// Kill closes the connection soon; what it has to send is dropped.
	Kill()
}

// ClientRow is what CLIENT LIST and CLIENT KILL filter by.
type ClientRow struct {
	ID         int64
	RemoteAddr string
	LocalAddr  string
	User       string
	Class      ClientClass
}

// ClientClass is what the TYPE of CLIENT LIST and CLIENT KILL distinguishes.
type ClientClass uint8

const (
	ClassNormal ClientClass = iota
	ClassMaster
	ClassReplica
	ClassPubSub
)

// Process is the server as a process.
type Process interface {
	// Figures are what INFO tells of the process.
	Figures() Figures
	// Log writes a line for the operator.
	Log(text string)
	// LogAt is Log at one of Redis's levels: 0 debug, 1 verbose, 2 notice, 3 warning.
	LogAt(level int, text string)
	// Crash ends the process as a fault of its own would.
	Crash()
	// ResetFigures starts the counters among them anew.
	ResetFigures()
	// Shutdown has the server stop soon, whatever the clients do; it returns an
	// error when it cannot.
	Shutdown(how ShutdownRequest) error
}

// ShutdownRequest is what SHUTDOWN's arguments say.
type ShutdownRequest struct {
	// Save and NoSave ask for a snapshot or against one; Now does not wait for
	// clients to read what they are owed; Force goes on where saving fails.
	Save, NoSave, Now, Force bool
}

// UserFile is the file of accounts (aclfile).
type UserFile interface {
	// Name is the file as the configuration names it.
	Name() string
	Read() (string, error)
	// Write replaces the file; it is whole and on the disk, or as it was.
	Write(text string) error
}

// Figures are a moment of the process. Sizes are in bytes.
type Figures struct {
	ProcessID  int
	RunID      string // 40 hexadecimal digits, new with each start
	Port       int
	StartMs    int64
	Executable string
	ConfigFile string
	Supervised string
	System     string // system, release and machine, as INFO's os has them
	Polling    string // how connections are waited for
	Loops      int

	Connected, Blocked, PubSub                  int
	MaxClients                                  int
	LongestInputBytes, LongestOutputBytes       int64
	ClientBytes                                 int64
	Accepted, Refused                           int64
	InputBytes, OutputBytes                     int64
	Reads, Writes                               int64
	ProtocolErrors, QueryLimited, OutputLimited int64
	Evicted                                     int64 // clients, for maxmemory-clients
	CommandsPerSecond                           int64
	InputBytesPerSecond, OutputBytesPerSecond   float64

	ResidentBytes, HeapBytes, HeapIdleBytes, SystemBytes int64
	UserMicroseconds, SystemMicroseconds                 int64
	CollectorSeconds                                     float64 // of processors, by the garbage collector
}

// Store is the durable side, nil for a pure cache.
type Store interface {
	// Reload checkpoints, empties the memory and recovers it (DEBUG RELOAD).
	Reload() error
	// Backup writes a consistent copy into a new directory.
	Backup(dir string) error
	// Figures are what INFO tells of persistence.
	Figures() StoreFigures
}

// StoreFigures are a moment of the store.
type StoreFigures struct {
	// Durability is how plain keys are kept: always, everysec, no.
	Durability string
	// AppendedSeq, DurableSeq and CheckpointSeq number the last batch, the last
	// that is on the disk, and the last in a checkpoint.
	AppendedSeq, DurableSeq, CheckpointSeq uint64
	Checkpoints                            uint64 // since the start
	CheckpointTimeMs                       int64  // time of its last batch
	CheckpointTookMs                       int64
	PendingBytes, JournalBytes, RowBytes   int64
	Segments                               int
	Syncs                                  uint64
	// Failed says that writes are refused, LastError why.
	Failed    bool
	LastError string
}

// Stats are the counters of commands.
type Stats struct {
	Commands atomic.Int64
	Rejected atomic.Int64
	Errors   atomic.Int64

	peakBytes atomic.Int64
	errors    errorCounts
}

// notePeak is the most memory that was ever noted, used now included.
func (s *Stats) notePeak(used int64) int64 {
	for {
		peak := s.peakBytes.Load()
		if used <= peak {
			return peak
		}
		if s.peakBytes.CompareAndSwap(peak, used) {
			return used
		}
	}
}

// resetStats is CONFIG RESETSTAT.
func (k *Core) resetStats() {
	data := k.Engine.Stats()
	for _, counter := range []*atomic.Int64{
		&k.stats.Commands, &k.stats.Rejected, &k.stats.Errors, &data.Expired, &data.Evicted, &data.LazyFreed, &data.Hits, &data.Misses,
	} {
		counter.Store(0)
	}
	data.Records.Reset()
	k.rewriting.times.Store(0)
	k.rewriting.failures.Store(0)
	k.saves.resetTimes()
	k.stats.errors.reset()
	k.Table.each(func(c *Command) { c.stats.reset() })
	k.Process.ResetFigures()
}

// NewCore builds a command processor over e with the commands of t.
func NewCore(e *engine.Engine, t *Table) *Core {
	k := &Core{Engine: e, Table: t, Users: acl.NewUsers(t.catalog), workers: make(chan struct{}, 2*runtime.GOMAXPROCS(0))}
	k.saves.tookMs = -1
	k.runs.New = func() any { return new(scriptRun) }
	k.replies.New = func() any { return new([]byte) }
	k.DenialsMax.Store(denialsDefault)
	k.Observation.open()
	k.registry.open()
	k.scripts.open(t)
	e.OnEvent(k.tellEvent)
	k.tracker.open()
	e.OnChanges(k.tracker.changed)
	e.OnExpiry(func(took time.Duration) { k.noteDelay(latencyExpiry, took) })
	return k
}

// Stats are the counters of commands.
func (k *Core) Stats() *Stats { return &k.stats }
