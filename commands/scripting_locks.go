package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/lua"
	"reminis/engine"
)

// This file owns what a script locks. It must not know Lua: package lua says which
// calls a script has.
//
// A script whose every call names its command, and keys that are elements of KEYS or
// always the same text, locks the shards of those. Any other locks all shards, which
// takes about a microsecond: a lock below one that is held must not be taken, so
// locks cannot be added while it runs. What the script then touches is compared with
// what it locked (scriptRun.Call), so that a mistake here is an error and no race.

// scriptLocks is what a script locks.
type scriptLocks struct {
	// all says that it locks everything; else it locks its keys and fixed ones.
	all   bool
	fixed [][]byte
}

// locksOf finds what a script locks.
func (t *Table) locksOf(compiled *lua.Script) scriptLocks {
	if !compiled.Known {
		return scriptLocks{all: true}
	}
	var locks scriptLocks
	for i := range compiled.Calls {
		if !t.addLocks(&locks, &compiled.Calls[i]) {
			return scriptLocks{all: true}
		}
	}
	return locks
}

// addLocks adds what one call needs, and reports whether that is known.
func (t *Table) addLocks(locks *scriptLocks, call *lua.Call) bool {
	argv := make([][]byte, len(call.Args))
	unknown := call.Open
	for i, arg := range call.Args {
		argv[i] = []byte(arg.Text)
		unknown = unknown || arg.Kind == lua.ArgUnknown
	}
	if len(argv) == 0 || call.Args[0].Kind != lua.ArgText {
		return false
	}
	c := t.find(argv)
	if c == nil || len(argv) < c.words() {
		return !call.Open && !unknown // it will not run
	}
	if c.run == nil {
		return !c.is(Admin) && c.Lock != LockAll
	}
	if c.Lock != LockKeys || c.Offload || c.slow != nil || c.Family == Memory {
		return false
	}
	args := argv[c.words():]
	if at := c.grammar.OnlyKey(); at >= 0 {
		at += c.words()
		return at < len(call.Args) && locks.add(call.Args[at])
	}
	if unknown {
		return false
	}
	var buf [16]grammar.KeyRef
	refs, ok := c.grammar.Keys(buf[:0], args)
	for _, ref := range refs {
		ok = ok && locks.add(call.Args[c.words()+ref.Index])
	}
	return ok
}

// add adds a key, and reports whether it is known.
func (x *scriptLocks) add(arg lua.Arg) bool {
	if arg.Kind == lua.ArgText {
		x.fixed = append(x.fixed, []byte(arg.Text))
	}
	return arg.Kind != lua.ArgUnknown
}

// lockScript locks what a script touches that was given keys. Where that are memory
// records it is all: others give up a shard's lock when a script holds it for long, but
// not an owner's, which commands with one key take when they have begun.
func lockScript(tx *engine.Tx, locks *scriptLocks, keys [][]byte) {
	lockScriptKeys(tx, locks, keys)
	if tx.Owns() && !tx.HoldsAll() {
		tx.Commit()
		tx.LockAll()
	}
}

func lockScriptKeys(tx *engine.Tx, locks *scriptLocks, keys [][]byte) {
	switch {
	case locks.all:
		tx.LockAll()
	case len(locks.fixed) == 0:
		tx.LockKeys(keys)
	default:
		tx.LockKeys(append(append([][]byte(nil), locks.fixed...), keys...))
	}
}

// covers says whether tx has locked what a line of c touches.
func (c *Command) covers(tx *engine.Tx, args [][]byte) bool {
	if c.run == nil || c.Lock == LockNone || tx.HoldsAll() {
		return true
	}
	if at := c.grammar.OnlyKey(); at >= 0 && at < len(args) {
		return tx.Holds(args[at])
	}
	keys, ok := keysOf(c.grammar, args)
	for _, key := range keys {
		ok = ok && tx.Holds(key)
	}
	return ok
}
