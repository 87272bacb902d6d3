package commands

import (
	"runtime"
	"sync/atomic"
	"time"

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

	// WhenDurable calls wake once more of the journal is durable; nil when the
	// journal never lags.
	WhenDurable func(wake func())
	// WriteTimeout is how long a write waits for a lagging disk
	// (write-timeout-ms).
	WriteTimeout func() time.Duration

	workers chan struct{}
	stats   Stats
}

// Config is the server's configuration by directive.
type Config interface {
	// Get is the value of one directive as CONFIG GET prints it.
	Get(name string) string
	// Match visits the directives that match a glob, in order of name.
	Match(pattern string, visit func(name, value string))
	// Set changes directives (name, value, name, value …), all or none.
	Set(pairs [][]byte) error
}

// Clients are the connections of the process.
type Clients interface {
	// List appends a line as CLIENT LIST prints it for every client that keep
	// accepts.
	List(dst []byte, keep func(ClientRow) bool) []byte
	// Kill closes every client that keep accepts and returns their number.
	Kill(keep func(ClientRow) bool) int
}

// ClientRow is what CLIENT LIST and CLIENT KILL filter by.
type ClientRow struct {
	ID         int64
	RemoteAddr string
	LocalAddr  string
	User       string
	Type       string // normal, master, replica, pubsub
}

// Process is the server as a process.
type Process interface {
	// Shutdown stops the server cleanly; it returns an error when it cannot.
	Shutdown(save bool) error
	// Info writes the sections of INFO that only the process knows.
	Info(section string) [][2]string
}

// Store is the durable side, nil for a pure cache.
type Store interface {
	// Reload checkpoints, empties the memory and recovers it (DEBUG RELOAD).
	Reload() error
	// Backup writes a consistent copy into a new directory.
	Backup(dir string) error
	// Info is the persistence section of INFO.
	Info() [][2]string
}

// Stats are the counters of commands.
type Stats struct {
	Commands atomic.Int64
	Rejected atomic.Int64
	Errors   atomic.Int64
}

// NewCore builds a command processor over e with the commands of t.
func NewCore(e *engine.Engine, t *Table) *Core {
	return &Core{Engine: e, Table: t, workers: make(chan struct{}, 2*runtime.GOMAXPROCS(0))}
}

// Stats are the counters of commands.
func (k *Core) Stats() *Stats { return &k.stats }
