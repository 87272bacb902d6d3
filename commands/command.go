package commands

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"reminis/commands/acl"
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns what a command is: its declaration, and the generic bridge from
// a declaration's params struct to the dispatcher. It must not know any command.

// Flags are the facts about a command that are not in its grammar. COMMAND INFO
// prints them; ACL categories and admission derive from them.
type Flags uint32

const (
	Write           Flags = 1 << iota // may change data
	ReadOnly                          // reads data, never changes it
	DenyOOM                           // refused when memory is over maxmemory
	Admin                             // administers the server
	PubSub                            // publishes or subscribes
	NoScript                          // not from scripts
	Blocking                          // may wait for other clients
	Loading                           // allowed while loading
	Stale                             // allowed on a stale replica
	SkipMonitor                       // not shown by MONITOR
	SkipSlowlog                       // not in the slow log
	Fast                              // O(1) or O(log n)
	NoAuth                            // allowed before AUTH
	MayReplicate                      // may replicate without changing data
	NoMulti                           // not inside MULTI
	AllowBusy                         // allowed while a script runs too long
	NoAsyncLoading                    // refused while a replica loads in the background
	ArbitraryKeys                     // touches keys that its arguments do not name
	NoMandatoryKeys                   // may be called without any key
	Immediate                         // runs at once even inside MULTI; not shown to clients
	Executes                          // runs the queue of MULTI; not shown to clients
	Subscribed                        // allowed in RESP2 while the session is subscribed; not shown to clients
	Recalls                           // searches records: INFO tells how long; not shown to clients
	RunsScript                        // runs a script, which may do what any command does; not shown to clients
	FollowsData                       // reads keys whose names come from data (SORT); not shown to clients
	Asking                            // for a node that takes over the key's slot
	Brief                             // as short as Fast ones, though Redis does not call it fast; not shown to clients
)

// Lock says what a data command locks before its handler runs.
type Lock uint8

const (
	// LockKeys locks the shards of the keys that the grammar finds.
	LockKeys Lock = iota
	// LockAlone is LockKeys for a handler that may make a key a record, and then
	// locks an owner that nobody knew of: in a transaction or a script, where others
	// are locked, it is LockAll.
	LockAlone
	// LockAll locks every shard.
	LockAll
	// LockNone locks nothing: the handler takes one shard or owner at a time
	// through the transaction. What it reads may be refused (Tx.Yields): it goes on
	// with nothing, and runs again. Before it writes it locks, and asks gaveUp.
	LockNone
)

// Declaration is a command as its literal above the handler says it.
type Declaration struct {
	Name       string // lower case
	Family     Family
	Since      string
	Complexity string
	Summary    string
	Flags      Flags
	// Lock is for commands on data; a command on the session may say LockAll,
	// for what it needs inside EXEC.
	Lock Lock
	// Offload runs the handler on a worker while the session is parked, because
	// it may run long or read from disk. Inside EXEC it runs inline.
	Offload bool
	// Tips go into COMMAND INFO as they are.
	Tips []string
	// Categories are the ACL categories that neither the family nor the flags
	// imply; "-keyspace" takes back what the family implies.
	Categories []string
	// DocFlags are COMMAND DOCS's: syscmd, deprecated.
	DocFlags []string
	// DeprecatedSince is the version that advised against the command, and
	// ReplacedBy what it advised instead, in the words of COMMAND DOCS.
	DeprecatedSince string
	ReplacedBy      string
	// Secret says whether argument at is one that no log may show; nil: none is.
	Secret func(k *Core, args [][]byte, at int) bool
	// Channels says which arguments a user needs the right to publish or listen to.
	Channels channelArguments
	// Unavailable is what the command always answers, "" when it works.
	Unavailable Error
	// History is what changed since the command came, for COMMAND DOCS.
	History []Change
	Reply   reply.Shape
}

// Change is what a version of Redis changed about a command.
type Change struct{ Since, Text string }

// Command is a declared command or subcommand.
type Command struct {
	Declaration
	Parent *Command
	Subs   []*Command

	grammar *grammar.Shape
	// data runs a handler on data; session one on the session. One is set,
	// neither for a container of subcommands.
	// run parses argv into params, which are of the pool, and runs the handler of a
	// command on data; nil for others.
	run     func(tx *engine.Tx, argv [][]byte, params any, w *reply.Writer) error
	params  *sync.Pool
	session func(s *Session, argv [][]byte, w *reply.Writer) error
	// slow says which lines are Offload, of a command of which only some are.
	slow func(argv [][]byte) bool
	// brief says which lines of an Offload command run at once all the same, because
	// what they read is little; nil: none.
	brief func(s *Session, argv [][]byte) bool
	// projects says which lines show records through the lens of the transaction,
	// so that they may be read by grants of members; nil: none.
	projects func(argv [][]byte) bool
	// declared says what the script or function that a line names declares of itself;
	// nil: the command runs none.
	declared func(k *Core, name []byte) scriptDeclaration
	// unscripted says what stands against a line of the command in a script, though
	// the command is for scripts; nil: nothing.
	unscripted func(word []byte, args [][]byte) error
	// named visits the keys and scopes that options of a line name.
	named func(argv [][]byte, visit func(text []byte, flags grammar.KeyFlags))
	subs  map[string]*Command
	full  string
	id    int // its position in the catalog of what users may be allowed
	stats commandStats
}

// FullName is the name as COMMAND prints it: `config|get` for a subcommand.
func (c *Command) FullName() string { return c.full }

// FullNameRef is FullName for those who keep a reference to it.
func (c *Command) FullNameRef() *string { return &c.full }

// words is how many words of a command line are the name.
func (c *Command) words() int {
	if c.Parent != nil {
		return 2
	}
	return 1
}

// arity is Redis's arity of the command, the name's words counted: positive
// exact, negative a minimum.
func (c *Command) arity() int {
	if c.grammar == nil {
		return -2
	}
	return c.grammar.Arity(c.words())
}

// onData declares a command whose handler works inside a transaction. T is the
// pointer to the params of g. Params are pooled: a handler must not keep them.
func onData[T any](d Declaration, g *grammar.Grammar, run func(tx *engine.Tx, p T, w *reply.Writer) error) *Command {
	mustBeFor[T](d, g)
	pool := &sync.Pool{New: g.NewParams}
	return &Command{Declaration: d, full: d.Name, grammar: &g.Shape, params: pool, run: func(tx *engine.Tx, argv [][]byte, p any, w *reply.Writer) error {
		if err := g.Parse(argv, p); err != nil {
			return err
		}
		return run(tx, p.(T), w)
	}}
}

// data runs a command on data with params of its own.
func (c *Command) data(tx *engine.Tx, argv [][]byte, w *reply.Writer) error {
	p := c.params.Get()
	defer c.params.Put(p)
	return c.run(tx, argv, p, w)
}

// onDataOffloading is onData for a command of which only some lines are Offload:
// those that slow says. Their handler takes its own locks, as Lock is for the
// others.
func onDataOffloading[T any](d Declaration, g *grammar.Grammar, slow func(p T) bool, run func(tx *engine.Tx, p T, w *reply.Writer) error) *Command {
	c := onData(d, g, run)
	pool := &sync.Pool{New: g.NewParams}
	least := 0
	if c.grammar.OnlyKey() >= 0 {
		least = -c.arity() - c.words()
	}
	c.slow = func(argv [][]byte) bool {
		// A key and what must follow it have no option that could make it slow.
		if len(argv) <= least {
			return false
		}
		p := pool.Get()
		defer pool.Put(p)
		return g.Parse(argv, p) == nil && slow(p.(T))
	}
	return c
}

// briefly says which lines of an Offload command read so little that a worker would
// cost more than they do.
func briefly[T any](c *Command, g *grammar.Grammar, brief func(e *engine.Engine, db int, p T) bool) *Command {
	mustBeFor[T](c.Declaration, g)
	pool := &sync.Pool{New: g.NewParams}
	c.brief = func(s *Session, argv [][]byte) bool {
		p := pool.Get()
		defer pool.Put(p)
		return g.Parse(argv, p) == nil && brief(s.Core.Engine, s.DB, p.(T))
	}
	return c
}

// naming says what the options of a command name beside its keys, for the check
// of rights. They are found by parsing: behind a word that a key spec looks for
// may as well stand somebody's text. Empty texts are skipped.
func naming[T any](c *Command, g *grammar.Grammar, list func(p T, visit func(text []byte, flags grammar.KeyFlags))) *Command {
	mustBeFor[T](c.Declaration, g)
	c.named = func(argv [][]byte, visit func([]byte, grammar.KeyFlags)) {
		p := g.NewParams()
		if g.Parse(argv, p) != nil {
			return // it will not run
		}
		list(p.(T), func(text []byte, flags grammar.KeyFlags) {
			if len(text) > 0 {
				visit(text, flags)
			}
		})
	}
	return c
}

// projecting says which lines of a command show of a record only what the lens of
// the transaction lets through, by no way more: a query that finds a record by
// what is not shown tells of it.
func projecting[T any](c *Command, g *grammar.Grammar, shows func(p T) bool) *Command {
	mustBeFor[T](c.Declaration, g)
	c.projects = func(argv [][]byte) bool {
		p := g.NewParams()
		return g.Parse(argv, p) == nil && shows(p.(T))
	}
	return c
}

// mustBeFor panics unless the params of g are what T points to: a handler has
// then params of another command, which is a mistake of the programmer.
func mustBeFor[T any](d Declaration, g *grammar.Grammar) {
	if _, ok := g.NewParams().(T); !ok {
		panic("commands: the handler of " + d.Name + " does not take the params of its grammar")
	}
}

// offloads says whether a line of c runs on a worker.
func (c *Command) offloads(args [][]byte) bool {
	return c.Offload || c.slow != nil && c.slow(args)
}

// onSession declares a command whose handler works on the session or the
// process.
func onSession[T any](d Declaration, g *grammar.Grammar, run func(s *Session, p T, w *reply.Writer) error) *Command {
	mustBeFor[T](d, g)
	return &Command{Declaration: d, full: d.Name, grammar: &g.Shape, session: func(s *Session, argv [][]byte, w *reply.Writer) error {
		p := g.NewParams()
		if err := g.Parse(argv, p); err != nil {
			return err
		}
		return run(s, p.(T), w)
	}}
}

// container declares a command that is only a name for its subcommands.
func container(d Declaration, subs ...*Command) *Command {
	return (&Command{Declaration: d, full: d.Name}).with(subs...)
}

// with gives a command subcommands; a container may also run by itself
// (COMMAND).
func (c *Command) with(subs ...*Command) *Command {
	c.Subs, c.subs = subs, map[string]*Command{}
	for _, sub := range subs {
		sub.Parent = c
		sub.Family = c.Family
		sub.full = c.Name + "|" + sub.Name
		c.subs[sub.Name] = sub
	}
	return c
}

// noParams is the params of a command without arguments.
type noParams struct{}

// is says whether all of flags are set.
func (c *Command) is(flags Flags) bool { return c.Flags&flags == flags }

func upper(name string) string { return strings.ToUpper(name) }

// subcommand finds a subcommand by the word that a client sent.
func (c *Command) subcommand(word []byte) *Command {
	var buf [32]byte
	name, ok := lowered(buf[:0], word)
	if !ok {
		return nil
	}
	return c.subs[string(name)]
}

// lowered appends word in lower case, unless it is longer than any name.
func lowered(dst, word []byte) ([]byte, bool) {
	if len(word) > cap(dst) {
		return nil, false
	}
	for _, c := range word {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst, true
}

// Family is a group of commands as Redis's documentation has them.
type Family string

const (
	Generic      Family = "generic"
	Strings      Family = "string"
	Bitmap       Family = "bitmap"
	Hashes       Family = "hash"
	Lists        Family = "list"
	SortedSets   Family = "sorted-set"
	Geo          Family = "geo"
	Sets         Family = "set"
	HyperLogLog  Family = "hyperloglog"
	Streams      Family = "stream"
	Connection   Family = "connection"
	Server       Family = "server"
	Cluster      Family = "cluster"
	Transactions Family = "transactions"
	Scripting    Family = "scripting"
	Messaging    Family = "pubsub"
	Memory       Family = "memory"
)

// hasElements says whether what follows a key may be something to find in a large value
// of it, whatever its encoding.
func (f Family) hasElements() bool { return f == Hashes || f == Sets || f == SortedSets || f == Geo }

// Table is all commands by name.
type Table struct {
	byName  map[string]*Command // by the name that clients say
	all     []*Command
	longest int // of the names that rename-command gave
	catalog *acl.Catalog
}

// NewTable builds the table of families. It panics on a name declared twice:
// that is a mistake of the programmer.
func NewTable(families ...[]*Command) *Table {
	t := &Table{byName: map[string]*Command{}}
	for _, family := range families {
		for _, c := range family {
			if t.byName[c.Name] != nil {
				panic("commands: " + c.Name + " is declared twice")
			}
			if c.Name != strings.ToLower(c.Name) {
				panic("commands: " + c.Name + " is not in lower case")
			}
			t.byName[c.Name] = c
			t.all = append(t.all, c)
		}
	}
	var entries []acl.Entry
	t.each(func(c *Command) {
		c.id = len(entries)
		entries = append(entries, acl.Entry{Name: c.FullName(), Categories: c.categories(), Sub: c.Parent != nil})
	})
	t.catalog = acl.NewCatalog(aclCategories(), entries)
	return t
}

// Rename has clients say another name for a command, or, where that is "", takes
// the command away from them (rename-command). Rules of users, statistics and
// errors go on naming it as it is declared. Its error is ErrRenameUnknown or
// ErrRenameTaken. Call it before the table is used.
func (t *Table) Rename(from, to string) error {
	from, to = strings.ToLower(from), strings.ToLower(to)
	c := t.byName[from]
	if c == nil {
		return ErrRenameUnknown
	}
	if to != "" && to != from && t.byName[to] != nil {
		return ErrRenameTaken
	}
	delete(t.byName, from)
	if to == "" {
		t.all = slices.DeleteFunc(t.all, func(other *Command) bool { return other == c })
		return nil
	}
	t.byName[to] = c
	t.longest = max(t.longest, len(to))
	return nil
}

// All is every command that clients may say, in the order of declaration.
func (t *Table) All() []*Command { return t.all }

// each visits every command, and each container's subcommands behind it.
func (t *Table) each(visit func(c *Command)) {
	for _, c := range t.all {
		visit(c)
		for _, sub := range c.Subs {
			visit(sub)
		}
	}
}

// find looks up the command that argv names, subcommands included. It returns
// the container when the second word names none.
func (t *Table) find(argv [][]byte) *Command {
	var buf [32]byte
	name, ok := lowered(buf[:0], argv[0])
	if !ok {
		// Only a name that rename-command gave may be so long.
		if len(argv[0]) > t.longest {
			return nil
		}
		name = bytes.ToLower(argv[0])
	}
	c := t.byName[string(name)]
	if c == nil || c.subs == nil || len(argv) < 2 {
		return c
	}
	if sub := c.subcommand(argv[1]); sub != nil {
		return sub
	}
	return c
}
