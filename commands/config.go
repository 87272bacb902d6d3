package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns CONFIG. It must not know any directive.

func configCommand() *Command {
	return container(Declaration{
		Name: "config", Family: Server, Since: "2.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for server configuration commands",
	},
		configGetCommand(), configSetCommand(), configResetStatCommand(), configRewriteCommand(),
		helpCommand("config",
			"GET <pattern>", "    Return parameters matching the glob-like <pattern> and their values.",
			"SET <directive> <value>", "    Set the configuration <directive> to <value>.",
			"RESETSTAT", "    Reset statistics reported by the INFO command.",
			"REWRITE", "    Rewrite the configuration file."),
	)
}

const configFlags = Admin | NoScript | Loading | Stale

type configGetParams struct{ patterns [][]byte }

func configGetCommand() *Command {
	return onSession(Declaration{
		Name: "get", Since: "2.0.0", Complexity: "O(N) when N is the number of configuration parameters provided",
		Summary: "Get the values of configuration parameters",
		Flags:   configFlags,
		History: []Change{{"7.0.0", "Added the ability to pass multiple pattern parameters in one call"}},
		Reply:   reply.MapOf(reply.Bulk(), reply.Bulk()),
	}, grammar.Compile[configGetParams](
		grammar.Rest("parameter", func(p *configGetParams) *[][]byte { return &p.patterns }).
			DocumentedAs(grammar.Block("parameter", grammar.Bytes("parameter", func(*configGetParams) *[]byte { return new([]byte) })).Multiple()),
	), func(s *Session, p *configGetParams, w *reply.Writer) error {
		found, n := w.DeferMap(1), 0
		s.Core.Config.Match(texts(p.patterns), func(name, value string) {
			w.BulkString(name)
			w.BulkString(value)
			n++
		})
		w.Close(found, n)
		return nil
	})
}

// texts copies arguments into strings.
func texts(args [][]byte) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = string(arg)
	}
	return out
}

type configSetParams struct{ pairs [][]byte }

func configSetCommand() *Command {
	return onSession(Declaration{
		Name: "set", Since: "2.0.0", Complexity: "O(N) when N is the number of configuration parameters provided",
		Summary: "Set configuration parameters to the given values",
		Flags:   configFlags, Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Secret:  configSecret,
		History: []Change{{"7.0.0", "Added the ability to set multiple parameters in one call."}},
		Reply:   reply.OK(),
	}, grammar.Compile[configSetParams](
		grammar.Pairs("parameter_value", "parameter", "value", func(p *configSetParams) *[][]byte { return &p.pairs }).
			Multiple().FailAs(grammar.Arity, grammar.Syntax),
	), func(s *Session, p *configSetParams, w *reply.Writer) error {
		for i := 0; i < len(p.pairs) && s.Core.loading.active.Load(); i += 2 {
			if s.Core.Config.Late(string(p.pairs[i])) {
				return ErrLoading
			}
		}
		if err := s.Core.Config.Set(texts(p.pairs), s.Peer.Local()); err != nil {
			return Error("ERR " + err.Error())
		}
		w.OK()
		return nil
	})
}

// configSecret: the values of directives that are secrets.
func configSecret(k *Core, args [][]byte, at int) bool {
	return at%2 == 1 && k.Config.Sensitive(string(args[at-1]))
}

func configResetStatCommand() *Command {
	return onSession(Declaration{
		Name: "resetstat", Since: "2.0.0", Complexity: "O(1)",
		Summary: "Reset the stats returned by INFO",
		Flags:   configFlags, Reply: reply.OK(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		s.Core.resetStats()
		w.OK()
		return nil
	})
}

func configRewriteCommand() *Command {
	return onSession(Declaration{
		Name: "rewrite", Since: "2.8.0", Complexity: "O(1)",
		Summary: "Rewrite the configuration file with the in memory configuration",
		Flags:   configFlags, Reply: reply.OK(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		if err := s.Core.Config.Rewrite(false); err != nil {
			return Error("ERR " + err.Error())
		}
		w.OK()
		return nil
	})
}
