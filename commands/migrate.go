package commands

import (
	"bytes"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns MIGRATE as a command: what its line says, and the goroutine that
// works while its client waits. How keys are moved is migrate_move.go's.

type migrateParams struct {
	host, port, key []byte
	db, timeoutMs   int64
	copy, replace   bool
	authenticates   bool
	user, password  []byte // no user: AUTH with a password alone
	keys            [][]byte
}

// migrateTimeoutMs is how long each read and write takes at most where the line
// says no time.
const migrateTimeoutMs = 1000

func migrateCommand() *Command {
	const moved = grammar.RW | grammar.Access | grammar.Delete
	return onSession(Declaration{
		Name: "migrate", Family: Generic, Since: "2.6.0",
		Complexity: "This command actually executes a DUMP+DEL in the source instance, and a RESTORE in the target instance. See the pages of these commands for time complexity. Also an O(N) data transfer between the two instances is performed.",
		Summary:    "Atomically transfer a key from a Redis instance to another one.",
		Flags:      Write, Lock: LockAll, Categories: []string{"dangerous"},
		Tips:   []string{nondeterministicOutput},
		Secret: migrateSecret,
		History: []Change{
			{"3.0.0", "Added the `COPY` and `REPLACE` options."},
			{"3.0.6", "Added the `KEYS` option."},
			{"4.0.7", "Added the `AUTH` option."},
			{"6.0.0", "Added the `AUTH2` option."},
		},
		Reply: reply.Status(),
	}, grammar.Compile[migrateParams](
		grammar.Bytes("host", func(p *migrateParams) *[]byte { return &p.host }).Sample("127.0.0.1"),
		// As in Redis, nobody looks whether it is a number before connecting.
		grammar.Bytes("port", func(p *migrateParams) *[]byte { return &p.port }).Typed(grammar.TypeInteger).Sample("1"),
		grammar.Key("key", func(p *migrateParams) *[]byte { return &p.key }, moved).DocumentedAs(
			grammar.OneOf("key_or_empty_string",
				grammar.Key[*migrateParams]("key", nil, moved).InSpec(0),
				grammar.Token[*migrateParams](emptyToken, nil).Named("empty_string"))),
		grammar.Int("destination-db", func(p *migrateParams) *int64 { return &p.db }).Defer(),
		grammar.Int("timeout", func(p *migrateParams) *int64 { return &p.timeoutMs }).Defer(),
		grammar.Opt(grammar.Custom("", (*migrateParams).parse, migrateOptions(moved))),
	).WithKeys("KEYS may be a password, too", migrateKeys), runMigrate)
}

// migrateOptions documents the options.
func migrateOptions(moved grammar.KeyFlags) grammar.Node {
	word := func(name string) grammar.Node { return grammar.Bytes[*migrateParams](name, nil) }
	return grammar.Options(
		grammar.Token[*migrateParams]("COPY", nil).Since("3.0.0"),
		grammar.Token[*migrateParams]("REPLACE", nil).Since("3.0.0"),
		grammar.OneOf("authentication",
			grammar.Opt(word("password").After("AUTH").Since("4.0.7")),
			grammar.Opt(grammar.Block("username_password", word("username"), word("password")).After("AUTH2").Since("6.0.0")),
		),
		grammar.Keys[*migrateParams]("key", nil, moved|grammar.Incomplete).After("KEYS").StartFrom(-2).Since("3.0.6"),
	)
}

// parse reads the options as cluster.c migrateCommand does: each may be given again,
// and KEYS ends them.
func (p *migrateParams) parse(args [][]byte) (int, *grammar.Error) {
	for i := 0; i < len(args); i++ {
		left := len(args) - 1 - i
		switch {
		case equalFold(args[i], "copy"):
			p.copy = true
		case equalFold(args[i], "replace"):
			p.replace = true
		case equalFold(args[i], "auth") && left >= 1:
			p.authenticates, p.password = true, args[i+1]
			i++
		case equalFold(args[i], "auth2") && left >= 2:
			p.authenticates, p.user, p.password = true, args[i+1], args[i+2]
			i += 2
		case equalFold(args[i], "keys"):
			if len(p.key) > 0 {
				return 0, grammar.Fail(grammar.Other, string(errMigrateKey))
			}
			p.keys = args[i+1:]
			return len(args), nil
		default:
			return 0, grammar.Fail(grammar.Syntax, "")
		}
	}
	p.keys = [][]byte{p.key}
	return len(args), nil
}

// migrateFixed is how many arguments stand before the options, and migrateKeyAt
// where the key is among them.
const (
	migrateFixed = 5
	migrateKeyAt = 2
)

// migrateOption is where an option of a line stands whose arguments may look like
// options: it is found by stepping over those before it.
func migrateOption(args [][]byte, visit func(at int, word []byte, width int)) {
	for i := migrateFixed; i < len(args); i++ {
		width := 0
		switch {
		case equalFold(args[i], "auth"):
			width = 1
		case equalFold(args[i], "auth2"):
			width = 2
		case equalFold(args[i], "keys"):
			width = len(args) - 1 - i
		}
		visit(i, args[i], width)
		i += width
	}
}

// migrateKeys finds the keys: one, or those behind KEYS.
func migrateKeys(dst []grammar.KeyRef, args [][]byte) ([]grammar.KeyRef, bool) {
	const flags = grammar.RW | grammar.Access | grammar.Delete
	if len(args) < migrateFixed {
		return dst, false
	}
	first := len(dst)
	dst = append(dst, grammar.KeyRef{Index: migrateKeyAt, Flags: flags})
	if len(args[migrateKeyAt]) > 0 {
		return dst, true
	}
	migrateOption(args, func(at int, word []byte, width int) {
		if !equalFold(word, "keys") || width == 0 {
			return
		}
		dst = dst[:first]
		for i := range width {
			dst = append(dst, grammar.KeyRef{Index: at + 1 + i, Flags: flags})
		}
	})
	return dst, true
}

// migrateSecret: what AUTH and AUTH2 send.
func migrateSecret(_ *Core, args [][]byte, at int) (secret bool) {
	migrateOption(args, func(option int, word []byte, width int) {
		if at > option && at <= option+width && !equalFold(word, "keys") {
			secret = true
		}
	})
	return secret
}

// own makes params that outlive the command's line.
func (p *migrateParams) own() {
	for _, field := range []*[]byte{&p.host, &p.port, &p.key, &p.user, &p.password} {
		*field = bytes.Clone(*field)
	}
	p.keys = copyArgs(p.keys)
}

// runMigrate moves keys beside the session, which waits; inside EXEC and scripts
// everybody does. It takes no worker: it does little, and may wait long.
func runMigrate(s *Session, p *migrateParams, w *reply.Writer) error {
	if p.keys == nil {
		p.keys = [][]byte{p.key}
	}
	if p.timeoutMs <= 0 {
		p.timeoutMs = migrateTimeoutMs
	}
	if s.tx != nil {
		return s.Core.migrate(s.tx, p, true, w)
	}
	if err := s.ready(); err != nil {
		return err
	}
	p.own()
	s.migrateAside(p)
	return nil
}

// migrateAside parks the session until its keys have moved, or could not.
func (s *Session) migrateAside(p *migrateParams) {
	k, c, proto, tx := s.Core, s.LastCommand, s.Proto, s.begin()
	s.next = Park
	go func() {
		var w reply.Writer
		w.SetProto(proto)
		if err := k.migrate(tx, p, false, &w); err != nil {
			line := err.Error()
			k.stats.Errors.Add(1)
			k.stats.errors.count(line)
			c.stats.failed.Add(1)
			w.Truncate(0)
			w.ErrorLine(line)
		}
		gate := tx.GateSeq()
		tx.Done()
		s.Peer.Resume(func(out []byte) []byte {
			s.raise(gate)
			return append(out, w.Bytes()...)
		})
	}()
}

// migrate is MIGRATE in a transaction that holds all locks, inside EXEC or a script,
// or none.
func (k *Core) migrate(tx *engine.Tx, p *migrateParams, inside bool, w *reply.Writer) error {
	m := migration{params: p, dial: k.Dial, inside: inside}
	named := map[string]bool{}
	for _, key := range p.keys {
		if !named[string(key)] {
			named[string(key)] = true
			m.keys = append(m.keys, movedKey{key: key})
		}
	}
	defer m.close()
	if err := m.run(tx); err != nil {
		return err
	}
	if m.found {
		w.OK()
	} else {
		w.Status("NOKEY")
	}
	return nil
}

// within is how long each read and write may take.
func (p *migrateParams) within() time.Duration { return time.Duration(p.timeoutMs) * time.Millisecond }
