package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns EVAL and its kin: how a command line becomes the run of a script.
// It must not know Lua, nor what a script may do.

func scriptingCommands() []*Command {
	return []*Command{
		declaring(evalCommand(), declaredByText), declaring(evalShaCommand(), declaredByDigest),
		declaring(evalRoCommand(), declaredByText), declaring(evalShaRoCommand(), declaredByDigest),
		scriptCommand(),
		declaring(fcallCommand(), declaredByFunction), declaring(fcallRoCommand(), declaredByFunction),
		functionCommand(),
	}
}

// declaring says how what a command runs says what it may do.
func declaring(c *Command, declared func(k *Core, name []byte) scriptDeclaration) *Command {
	c.declared = declared
	return c
}

// evalFlags are those of all commands that run scripts: what a script may do is
// asked of each of its calls.
const evalFlags = NoScript | Stale | SkipMonitor | NoMandatoryKeys | RunsScript

// evalComplexity is the complexity of all of them.
const evalComplexity = "Depends on the script that is executed."

type evalParams struct {
	script []byte // the text, or its digest
	keys   [][]byte
	args   [][]byte
}

// evalGrammar is the arguments of a command whose keys may be used as flags say.
// notNumber is the error of a number of keys that is none, "" for the usual one.
func evalGrammar(name string, flags grammar.KeyFlags, notes, notNumber string) *grammar.Grammar {
	keys := grammar.NumKeys("numkeys", "key", func(p *evalParams) *[][]byte { return &p.keys }, flags).Range(0, math.MaxInt64).
		Fail(grammar.OutOfRange, "Number of keys can't be negative").
		Fail(grammar.Missing, "Number of keys can't be greater than number of args").
		Notes(notes)
	if notNumber != "" {
		keys = keys.Fail(grammar.NotInteger, notNumber)
	}
	return grammar.Compile[evalParams](
		grammar.Bytes(name, func(p *evalParams) *[]byte { return &p.script }),
		keys,
		grammar.Opt(grammar.Rest("arg", func(p *evalParams) *[][]byte { return &p.args })),
	)
}

const (
	anyWrite = grammar.RW | grammar.Access | grammar.Update
	anyRead  = grammar.RO | grammar.Access

	anyWriteNotes = "We cannot tell how the keys will be used so we assume the worst, RW and UPDATE"
	anyReadNotes  = "We cannot tell how the keys will be used so we assume the worst, RO and ACCESS"
)

func evalCommand() *Command {
	return onSession(Declaration{
		Name: "eval", Family: Scripting, Since: "2.6.0", Complexity: evalComplexity,
		Summary: "Execute a Lua script server side",
		Flags:   evalFlags | MayReplicate, Lock: LockAll, Reply: reply.Any(),
	}, evalGrammar("script", anyWrite, anyWriteNotes, ""), func(s *Session, p *evalParams, w *reply.Writer) error {
		return s.evalText(p, false, w)
	})
}

func evalRoCommand() *Command {
	return onSession(Declaration{
		Name: "eval_ro", Family: Scripting, Since: "7.0.0", Complexity: evalComplexity,
		Summary: "Execute a read-only Lua script server side",
		Flags:   evalFlags | ReadOnly, Lock: LockAll, Reply: reply.Any(),
	}, evalGrammar("script", anyRead, anyReadNotes, ""), func(s *Session, p *evalParams, w *reply.Writer) error {
		return s.evalText(p, true, w)
	})
}

func evalShaCommand() *Command {
	return onSession(Declaration{
		Name: "evalsha", Family: Scripting, Since: "2.6.0", Complexity: evalComplexity,
		Summary: "Execute a Lua script server side",
		Flags:   evalFlags | MayReplicate, Lock: LockAll, Reply: reply.Any(),
	}, evalGrammar("sha1", anyWrite, "", ""), func(s *Session, p *evalParams, w *reply.Writer) error {
		return s.evalDigest(p, false, w)
	})
}

func evalShaRoCommand() *Command {
	return onSession(Declaration{
		Name: "evalsha_ro", Family: Scripting, Since: "7.0.0", Complexity: evalComplexity,
		Summary: "Execute a read-only Lua script server side",
		Flags:   evalFlags | ReadOnly, Lock: LockAll, Reply: reply.Any(),
	}, evalGrammar("sha1", anyRead, "", ""), func(s *Session, p *evalParams, w *reply.Writer) error {
		return s.evalDigest(p, true, w)
	})
}

func (s *Session) evalText(p *evalParams, readOnly bool, w *reply.Writer) error {
	s.showScript(p)
	script, err := s.Core.scripts.ofText(p.script)
	if err != nil {
		return err
	}
	return s.runScript(script, p, readOnly, w)
}

func (s *Session) evalDigest(p *evalParams, readOnly bool, w *reply.Writer) error {
	s.showScript(p)
	script := s.Core.scripts.ofDigest(p.script)
	if script == nil {
		return errNoScript
	}
	return s.runScript(script, p, readOnly, w)
}

type scriptLoadParams struct{ script []byte }

type scriptExistsParams struct{ digests [][]byte }

type scriptDebugParams struct{ mode uint8 } // which word it is, from 1

const debugNo = 3

func scriptCommand() *Command {
	return container(Declaration{
		Name: "script", Family: Scripting, Since: "2.6.0", Complexity: "Depends on subcommand.",
		Summary: "A container for Lua scripts management commands",
	},
		scriptLoadCommand(), scriptExistsCommand(), scriptFlushCommand(), scriptDebugCommand(),
		scriptKillCommand(), scriptHelpCommand(),
	)
}

func scriptLoadCommand() *Command {
	return onSession(Declaration{
		Name: "load", Since: "2.6.0", Complexity: "O(N) with N being the length in bytes of the script body.",
		Summary: "Load the specified Lua script into the script cache.",
		Flags:   NoScript | Stale, Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Reply: reply.Bulk(),
	}, grammar.Compile[scriptLoadParams](
		grammar.Bytes("script", func(p *scriptLoadParams) *[]byte { return &p.script }),
	), func(s *Session, p *scriptLoadParams, w *reply.Writer) error {
		script, err := s.Core.scripts.load(p.script)
		if err != nil {
			return err
		}
		w.BulkString(script.digest)
		return nil
	})
}

func scriptExistsCommand() *Command {
	return onSession(Declaration{
		Name: "exists", Since: "2.6.0",
		Complexity: "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation).",
		Summary:    "Check existence of scripts in the script cache.",
		Flags:      NoScript, Tips: []string{"request_policy:all_shards", "response_policy:agg_logical_and"},
		Reply: reply.ArrayOf(reply.Int()),
	}, grammar.Compile[scriptExistsParams](
		grammar.Rest("sha1", func(p *scriptExistsParams) *[][]byte { return &p.digests }),
	), func(s *Session, p *scriptExistsParams, w *reply.Writer) error {
		w.Array(len(p.digests))
		for _, digest := range p.digests {
			exists := int64(0)
			if s.Core.scripts.ofDigest(digest) != nil {
				exists = 1
			}
			w.Int(exists)
		}
		return nil
	})
}

func scriptFlushCommand() *Command {
	return onSession(Declaration{
		Name: "flush", Since: "2.6.0", Complexity: "O(N) with N being the number of scripts in cache",
		Summary: "Remove all the scripts from the script cache.",
		Flags:   NoScript, Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		History: []Change{{"6.2.0", "Added the `ASYNC` and `SYNC` flushing mode modifiers."}},
		Reply:   reply.OK(),
	}, flushModeGrammar("ERR SCRIPT FLUSH only support SYNC|ASYNC option", "6.2.0", false),
		func(s *Session, _ *flushParams, w *reply.Writer) error {
			s.Core.scripts.flush()
			w.OK()
			return nil
		})
}

// scriptDebugCommand: there is no debugger, so turning it off is all there is.
func scriptDebugCommand() *Command {
	return onSession(Declaration{
		Name: "debug", Since: "3.2.0", Complexity: "O(1)", Summary: "Set the debug mode for executed scripts.",
		Flags: NoScript, Reply: reply.OK(),
	}, grammar.Compile[scriptDebugParams](
		grammar.Enum("mode", func(p *scriptDebugParams) *uint8 { return &p.mode }, "YES", "SYNC", "NO").
			Fail(grammar.Syntax, "Use SCRIPT DEBUG YES/SYNC/NO"),
	), func(s *Session, p *scriptDebugParams, w *reply.Writer) error {
		if p.mode != debugNo {
			return errNoDebugger
		}
		w.OK()
		return nil
	})
}

func scriptHelpCommand() *Command {
	return helpCommand("script",
		"DEBUG (YES|SYNC|NO)", "    Set the debug mode for subsequent scripts executed.",
		"EXISTS <sha1> [<sha1> ...]", "    Return information about the existence of the scripts in the script cache.",
		"FLUSH [ASYNC|SYNC]", "    Flush the Lua scripts cache. Very dangerous on replicas.",
		"    When called without the optional mode argument, the behavior is determined by the",
		"    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
		"    * ASYNC: Asynchronously flush the scripts cache.", "    * SYNC: Synchronously flush the scripts cache.",
		"KILL", "    Kill the currently executing Lua script.",
		"LOAD <script>", "    Load a script into the scripts cache without executing it.",
	)
}
