package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns MODULE. This server loads no modules: its list is empty, and
// whoever asks to load one is told.

func moduleCommand() *Command {
	const changeFlags = NoAsyncLoading | Admin | NoScript
	word := func(name string) grammar.Node { return grammar.Bytes[*noParams](name, nil) }
	return container(Declaration{
		Name: "module", Family: Server, Since: "4.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for module commands",
	},
		moduleListCommand(),
		moduleChange(Declaration{
			Name: "load", Since: "4.0.0", Complexity: "O(1)", Summary: "Load a module", Flags: changeFlags,
		}, withoutParsing(word("path"), grammar.Opt(grammar.Rest[*noParams]("arg", nil))), errModuleLoad),
		moduleChange(Declaration{
			Name: "loadex", Since: "7.0.0", Complexity: "O(1)", Summary: "Load a module with extended parameters", Flags: changeFlags,
		}, withoutParsing(word("path"), grammar.Options(
			grammar.Block("configs", word("name"), word("value")).After("CONFIG").WordMultiple(),
			grammar.Block("args", word("arg")).After("ARGS").Multiple(),
		)), errModuleLoad),
		moduleChange(Declaration{
			Name: "unload", Since: "4.0.0", Complexity: "O(1)", Summary: "Unload a module", Flags: changeFlags,
		}, withoutParsing(word("name")), errModuleUnload),
		helpSince("5.0.0", nil, "module",
			"LIST", "    Return a list of loaded modules.",
			"LOAD <path> [<arg> ...]", "    Load a module library from <path>, passing to it any optional arguments.",
			"LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
			"    Load a module library from <path>, while passing it module configurations and optional arguments.",
			"UNLOAD <name>", "    Unload a module."),
	)
}

func moduleListCommand() *Command {
	return onSession(Declaration{
		Name: "list", Since: "4.0.0", Complexity: "O(N) where N is the number of loaded modules.",
		Summary: "List all modules loaded by the server",
		Flags:   Admin | NoScript, Tips: []string{nondeterministicOrder},
		Reply: reply.ArrayOf(reply.Any()),
	}, grammar.Compile[noParams](), func(_ *Session, _ *noParams, w *reply.Writer) error {
		w.Array(0)
		return nil
	})
}

// moduleChange declares a command that fails with reason, if it is allowed at all
// (enable-module-command).
func moduleChange(d Declaration, g *grammar.Grammar, reason Error) *Command {
	c := refused(d, g, reason)
	c.session = func(s *Session, _ [][]byte, _ *reply.Writer) error {
		if !s.permits("enable-module-command") {
			return errModulesForbidden
		}
		return reason
	}
	return c
}
