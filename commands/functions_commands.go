package commands

import (
	"math"
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/dump"
	"reminis/engine/memory"
)

// This file owns FUNCTION and FCALL. It must not know Lua.

func fcallCommand() *Command {
	return onSession(Declaration{
		Name: "fcall", Family: Scripting, Since: "7.0.0", Complexity: "Depends on the function that is executed.",
		Summary: "Invoke a function",
		Flags:   evalFlags | MayReplicate, Lock: LockAll, Reply: reply.Any(),
	}, fcallGrammar(anyWrite, anyWriteNotes), func(s *Session, p *evalParams, w *reply.Writer) error {
		return s.callFunction(p, false, w)
	})
}

func fcallRoCommand() *Command {
	return onSession(Declaration{
		Name: "fcall_ro", Family: Scripting, Since: "7.0.0", Complexity: "Depends on the function that is executed.",
		Summary: "Invoke a read-only function",
		Flags:   evalFlags | ReadOnly, Lock: LockAll, Reply: reply.Any(),
	}, fcallGrammar(anyRead, anyReadNotes), func(s *Session, p *evalParams, w *reply.Writer) error {
		return s.callFunction(p, true, w)
	})
}

func fcallGrammar(flags grammar.KeyFlags, notes string) *grammar.Grammar {
	return evalGrammar("function", flags, notes, "Bad number of keys provided")
}

// declaredByFunction is what the function of FCALL says of itself.
func declaredByFunction(k *Core, name []byte) scriptDeclaration {
	f := k.functionNamed(name)
	if f == nil {
		return scriptDeclaration{none: true}
	}
	return scriptDeclaration{flags: f.flags}
}

// functionNamed is a function, or nil.
func (k *Core) functionNamed(name []byte) *function {
	return k.functionSet().functions[strings.ToLower(string(name))]
}

func (s *Session) callFunction(p *evalParams, readOnly bool, w *reply.Writer) error {
	s.showScript(p)
	f := s.Core.functionNamed(p.script)
	if f == nil {
		return errNoFunction
	}
	return s.runScript(f, p, readOnly, w)
}

func functionCommand() *Command {
	return container(Declaration{
		Name: "function", Family: Scripting, Since: "7.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for function commands",
	},
		functionLoadCommand(), functionDeleteCommand(), functionFlushCommand(), functionListCommand(), functionStatsCommand(),
		functionDumpCommand(), functionRestoreCommand(), functionKillCommand(), functionHelpCommand(),
	)
}

// onFunctions runs a change of libraries with all locks held.
func (s *Session) onFunctions(change func(now *functionSet) (*functionSet, error)) error {
	return s.within((*engine.Tx).LockAll, func(tx *engine.Tx) error {
		set, err := change(s.Core.functionSet())
		if err == nil {
			s.Core.changeFunctions(tx, set)
		}
		return err
	})
}

type functionLoadParams struct {
	replace bool
	code    []byte
}

func functionLoadCommand() *Command {
	return onSession(Declaration{
		Name: "load", Since: "7.0.0", Complexity: "O(1) (considering compilation time is redundant)",
		Summary: "Create a function with the given arguments (name, code, description)",
		Flags:   NoScript | Write | DenyOOM, Lock: LockAll, Tips: []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Reply: reply.Bulk(),
	}, grammar.Compile[functionLoadParams](
		grammar.Custom("", func(p *functionLoadParams, args [][]byte) (int, *grammar.Error) {
			last := len(args) - 1
			for _, word := range args[:last] {
				if !equalFold(word, "replace") {
					return 0, grammar.Fail(grammar.Other, "ERR Unknown option given: "+string(word))
				}
				p.replace = true
			}
			return last, nil
		}, grammar.Opt(grammar.Token("REPLACE", func(p *functionLoadParams) *bool { return &p.replace }))),
		grammar.Bytes("function-code", func(p *functionLoadParams) *[]byte { return &p.code }),
	), runFunctionLoad)
}

func runFunctionLoad(s *Session, p *functionLoadParams, w *reply.Writer) error {
	lib, err := s.Core.newLibrary(string(p.code), p.replace, s.Core.functionSet())
	if err != nil {
		return err
	}
	err = s.onFunctions(func(now *functionSet) (*functionSet, error) { return now.with(p.replace, lib) })
	if err != nil {
		return err
	}
	w.BulkString(lib.name)
	return nil
}

type functionDeleteParams struct{ name []byte }

func functionDeleteCommand() *Command {
	return onSession(Declaration{
		Name: "delete", Since: "7.0.0", Complexity: "O(1)", Summary: "Delete a function by name",
		Flags: NoScript | Write, Lock: LockAll, Tips: []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Reply: reply.OK(),
	}, grammar.Compile[functionDeleteParams](
		grammar.Bytes("library-name", func(p *functionDeleteParams) *[]byte { return &p.name }),
	), func(s *Session, p *functionDeleteParams, w *reply.Writer) error {
		err := s.onFunctions(func(now *functionSet) (*functionSet, error) {
			if now.libraries[string(p.name)] == nil {
				return nil, errNoLibrary
			}
			return now.without(string(p.name)), nil
		})
		if err == nil {
			w.OK()
		}
		return err
	})
}

func functionFlushCommand() *Command {
	return onSession(Declaration{
		Name: "flush", Since: "7.0.0", Complexity: "O(N) where N is the number of functions deleted",
		Summary: "Deleting all functions",
		Flags:   NoScript | Write, Lock: LockAll, Tips: []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Reply: reply.OK(),
	}, flushModeGrammar("ERR FUNCTION FLUSH only supports SYNC|ASYNC option", "", true),
		func(s *Session, p *flushParams, w *reply.Writer) error {
			if p.more {
				return errSubcommand
			}
			err := s.onFunctions(func(*functionSet) (*functionSet, error) { return newFunctionSet(), nil })
			if err == nil {
				w.OK()
			}
			return err
		})
}

type functionListParams struct {
	pattern  []byte
	selects  bool
	withCode bool
}

func functionListCommand() *Command {
	return onSession(Declaration{
		Name: "list", Since: "7.0.0", Complexity: "O(N) where N is the number of functions",
		Summary: "List information about all the functions",
		Flags:   NoScript, Tips: []string{nondeterministicOrder},
		Reply: reply.ArrayOf(reply.Any()),
	}, grammar.Compile[functionListParams](
		grammar.Custom("", parseFunctionList,
			grammar.Opt(grammar.Bytes("library-name-pattern", func(p *functionListParams) *[]byte { return &p.pattern }).After("LIBRARYNAME")),
			grammar.Opt(grammar.Token("WITHCODE", func(p *functionListParams) *bool { return &p.withCode })),
		),
	), runFunctionList)
}

// parseFunctionList takes each option once, in any order.
func parseFunctionList(p *functionListParams, args [][]byte) (int, *grammar.Error) {
	for i := 0; i < len(args); i++ {
		switch {
		case !p.withCode && equalFold(args[i], "withcode"):
			p.withCode = true
		case !p.selects && equalFold(args[i], "libraryname"):
			if i++; i == len(args) {
				return 0, grammar.Fail(grammar.Other, "ERR library name argument was not given")
			}
			p.pattern, p.selects = args[i], true
		default:
			return 0, grammar.Fail(grammar.Other, "ERR Unknown argument "+string(args[i]))
		}
	}
	return len(args), nil
}

func runFunctionList(s *Session, p *functionListParams, w *reply.Writer) error {
	set := s.Core.functionSet()
	d, n := w.DeferArray(len(set.libraries)), 0
	for _, name := range set.names() {
		if p.selects && !memory.Match(p.pattern, []byte(name), true) {
			continue
		}
		set.libraries[name].write(w, p.withCode)
		n++
	}
	w.Close(d, n)
	return nil
}

// write writes a library as FUNCTION LIST shows it.
func (lib *library) write(w *reply.Writer, withCode bool) {
	if withCode {
		w.Map(4)
	} else {
		w.Map(3)
	}
	w.BulkString("library_name")
	w.BulkString(lib.name)
	w.BulkString("engine")
	w.BulkString("LUA")
	w.BulkString("functions")
	w.Array(len(lib.functions))
	for _, f := range lib.functions {
		w.Map(3)
		w.BulkString("name")
		w.BulkString(f.Name)
		w.BulkString("description")
		if f.Described {
			w.BulkString(f.Description)
		} else {
			w.Null()
		}
		w.BulkString("flags")
		words := f.flags.words()
		w.Set(len(words))
		for _, word := range words {
			w.Status(word)
		}
	}
	if withCode {
		w.BulkString("library_code")
		w.BulkString(lib.code)
	}
}

func functionDumpCommand() *Command {
	return onSession(Declaration{
		Name: "dump", Since: "7.0.0", Complexity: "O(N) where N is the number of functions",
		Summary: "Dump all functions into a serialized binary payload",
		Flags:   NoScript, Reply: reply.Bulk(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		set, form := s.Core.functionSet(), s.Core.dumpForm()
		var payload []byte
		for _, name := range set.names() {
			payload = form.AppendString(append(payload, dumpLibrary), []byte(set.libraries[name].code))
		}
		w.Bulk(dump.Seal(payload))
		return nil
	})
}

// dumpLibrary is in front of each library in a dump (rdb.h RDB_OPCODE_FUNCTION2).
const dumpLibrary = 245

type functionRestoreParams struct {
	payload []byte
	policy  uint8
	more    bool // there was more behind the policy
}

const (
	restoreAppend = iota
	restoreFlush
	_ // APPEND, said
	restoreReplace
)

func functionRestoreCommand() *Command {
	return onSession(Declaration{
		Name: "restore", Since: "7.0.0", Complexity: "O(N) where N is the number of functions on the payload",
		Summary: "Restore all the functions on the given payload",
		Flags:   NoScript | Write | DenyOOM, Lock: LockAll, Tips: []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Reply: reply.OK(),
	}, grammar.Compile[functionRestoreParams](
		grammar.Bytes("serialized-value", func(p *functionRestoreParams) *[]byte { return &p.payload }),
		grammar.Opt(grammar.Custom("", parseRestorePolicy,
			grammar.Opt(grammar.Enum("policy", func(p *functionRestoreParams) *uint8 { return &p.policy }, "FLUSH", "APPEND", "REPLACE")))),
	), runFunctionRestore)
}

func parseRestorePolicy(p *functionRestoreParams, args [][]byte) (int, *grammar.Error) {
	switch {
	case len(args) > 1:
		p.more = true
		return len(args), nil
	case equalFold(args[0], "flush"):
		p.policy = restoreFlush
	case equalFold(args[0], "replace"):
		p.policy = restoreReplace
	case !equalFold(args[0], "append"):
		return 0, grammar.Fail(grammar.Other, "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")
	}
	return 1, nil
}

func runFunctionRestore(s *Session, p *functionRestoreParams, w *reply.Writer) error {
	if p.more {
		return errSubcommand
	}
	libraries, err := s.Core.readLibraries(p.payload)
	if err != nil {
		return err
	}
	err = s.onFunctions(func(now *functionSet) (*functionSet, error) {
		if p.policy == restoreFlush {
			now = newFunctionSet()
		}
		for _, lib := range libraries {
			if p.policy != restoreReplace && now.libraries[lib.name] != nil {
				return nil, errRestoreExists(lib.name)
			}
		}
		return now.with(p.policy == restoreReplace, libraries...)
	})
	if err == nil {
		w.OK()
	}
	return err
}

// readLibraries reads what FUNCTION DUMP gave.
func (k *Core) readLibraries(payload []byte) ([]*library, error) {
	if dump.Verify(payload, false) != nil {
		return nil, errDumpFooter
	}
	var libraries []*library
	read := newFunctionSet()
	rest := payload[:len(payload)-dump.FooterBytes]
	for len(rest) > 0 {
		if rest[0] != dumpLibrary {
			return nil, errDumpNoFunction
		}
		r := dump.NewReader(rest[1:], dump.Limits{StringBytes: math.MaxInt32, TotalBytes: math.MaxInt32})
		code, err := r.String()
		if err != nil {
			return nil, errDumpFunctions
		}
		rest = rest[1+r.Offset():]
		lib, err := k.newLibrary(string(code), false, read)
		if err != nil {
			return nil, err
		}
		if read, err = read.with(false, lib); err != nil {
			return nil, err
		}
		libraries = append(libraries, lib)
	}
	return libraries, nil
}

func functionHelpCommand() *Command {
	return helpSince("7.0.0", nil, "function",
		"LOAD [REPLACE] <FUNCTION CODE>", "    Create a new library with the given library name and code.",
		"DELETE <LIBRARY NAME>", "    Delete the given library.",
		"LIST [LIBRARYNAME PATTERN] [WITHCODE]", "    Return general information on all the libraries:",
		"    * Library name", "    * The engine used to run the Library", "    * Library description", "    * Functions list",
		"    * Library code (if WITHCODE is given)",
		"    It also possible to get only function that matches a pattern using LIBRARYNAME argument.",
		"STATS", "    Return information about the current function running:", "    * Function name",
		"    * Command used to run the function", "    * Duration in MS that the function is running",
		"    If no function is running, return nil", "    In addition, returns a list of available engines.",
		"KILL", "    Kill the current running function.",
		"FLUSH [ASYNC|SYNC]", "    Delete all the libraries.",
		"    When called without the optional mode argument, the behavior is determined by the",
		"    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
		"    * ASYNC: Asynchronously flush the libraries.", "    * SYNC: Synchronously flush the libraries.",
		"DUMP", "    Return a serialized payload representing the current libraries, can be restored using FUNCTION RESTORE command",
		"RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
		"    Restore the libraries represented by the given payload, it is possible to give a restore policy to",
		"    control how to handle existing libraries (default APPEND):",
		"    * FLUSH: delete all existing libraries.",
		"    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.",
		"    * REPLACE: appends the restored libraries to the existing libraries, On collision, replace the old",
		"      libraries with the new libraries (notice that even on this option there is a chance of failure",
		"      in case of functions name collision with another library).",
	)
}
