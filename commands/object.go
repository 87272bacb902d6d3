package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns OBJECT: how a value is stored and used.

func objectCommand() *Command {
	return container(Declaration{
		Name: "object", Family: Generic, Since: "2.2.3", Complexity: "Depends on subcommand.",
		Summary: "A container for object introspection commands",
	},
		objectSub("encoding", "2.2.3", "Inspect the internal encoding of a Redis object", reply.Nullable(reply.Bulk()), runObjectEncoding),
		objectSub("freq", "4.0.0", "Get the logarithmic access frequency counter of a Redis object", reply.Nullable(reply.Int()), runObjectFreq),
		objectSub("idletime", "2.2.3", "Get the time since a Redis object was last accessed", reply.Nullable(reply.Int()), runObjectIdleTime),
		objectSub("refcount", "2.2.3", "Get the number of references to the value of the key", reply.Nullable(reply.Int()), runObjectRefCount),
		objectHelp(),
	)
}

func objectHelp() *Command {
	c := helpCommand("object",
		"ENCODING <key>", "    Return the kind of internal representation used in order to store the value", "    associated with a <key>.",
		"FREQ <key>", "    Return the access frequency index of the <key>. The returned integer is", "    proportional to the logarithm of the recent access frequency of the key.",
		"IDLETIME <key>", "    Return the idle time of the <key>, that is the approximated number of", "    seconds elapsed since the last access to the key.",
		"REFCOUNT <key>", "    Return the number of references of the value associated with the specified", "    <key>.")
	c.Since = "6.2.0"
	return c
}

func objectSub(name, since, summary string, shape reply.Shape, run func(*engine.Tx, *keyParams, *reply.Writer) error) *Command {
	return onData(Declaration{
		Name: name, Since: since, Complexity: "O(1)", Summary: summary,
		Flags: ReadOnly, Categories: []string{"keyspace"}, Tips: []string{nondeterministicOutput}, Reply: shape,
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO)),
		func(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
			if !tx.Glance(p.key) {
				w.Null()
				return nil
			}
			return run(tx, p, w)
		})
}

func runObjectEncoding(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	w.BulkString(tx.Encoding(p.key))
	return nil
}

func runObjectFreq(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	if !tx.LFU() {
		return errNotLFU
	}
	counter, _ := tx.Frequency(p.key)
	w.Int(counter)
	return nil
}

func runObjectIdleTime(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	if tx.LFU() {
		return errIsLFU
	}
	idle, _ := tx.IdleSeconds(p.key)
	w.Int(idle)
	return nil
}

// sharedIntegers is how many small integers Redis keeps one object of
// (server.h OBJ_SHARED_INTEGERS), and sharedRefCount what it says of them.
const (
	sharedIntegers = 10000
	sharedRefCount = math.MaxInt32
)

// runObjectRefCount answers as Redis does, whose clients look whether a small
// integer is shared: not where each needs its time of access or its counter
// (object.c tryObjectEncoding). Nothing is shared here.
func runObjectRefCount(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	count := int64(1)
	if tx.Encoding(p.key) == "int" && !tx.EvictsByAccess() {
		if n, ok := grammar.ParseInt(tx.PeekString(p.key)); ok && n >= 0 && n < sharedIntegers {
			count = sharedRefCount
		}
	}
	w.Int(count)
	return nil
}

// helpCommand is the HELP of a container, in Redis's form (networking.c
// addReplyHelp).
func helpCommand(name string, lines ...string) *Command {
	return onSession(Declaration{
		Name: "help", Since: "5.0.0", Complexity: "O(1)", Summary: "Show helpful text about the different subcommands",
		Flags: Loading | Stale, Reply: reply.ArrayOf(reply.Status()),
	}, grammar.Compile[noParams](), func(_ *Session, _ *noParams, w *reply.Writer) error {
		w.Array(len(lines) + 3)
		w.Status(upper(name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
		for _, line := range lines {
			w.Status(line)
		}
		w.Status("HELP")
		w.Status("    Prints this help.")
		return nil
	})
}
