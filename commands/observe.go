package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns SLOWLOG and LATENCY: what was slow. Neither is recorded yet, so
// there is only what is true of an empty record.

func slowLogCommand() *Command {
	return container(Declaration{
		Name: "slowlog", Family: Server, Since: "2.2.12", Complexity: "Depends on subcommand.",
		Summary: "A container for slow log commands",
	},
		onSession(Declaration{
			Name: "reset", Since: "2.2.12", Complexity: "O(N) where N is the number of entries in the slowlog",
			Summary: "Clear all entries from the slow log",
			Flags:   Admin | Loading | Stale, Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
			Reply: reply.OK(),
		}, grammar.Compile[noParams](), func(_ *Session, _ *noParams, w *reply.Writer) error {
			w.OK()
			return nil
		}),
	)
}

type latencyResetParams struct{ events [][]byte }

func latencyCommand() *Command {
	return container(Declaration{
		Name: "latency", Family: Server, Since: "2.8.13", Complexity: "Depends on subcommand.",
		Summary: "A container for latency diagnostics commands",
	},
		onSession(Declaration{
			Name: "reset", Since: "2.8.13", Complexity: "O(1)",
			Summary: "Reset latency data for one or more events.",
			Flags:   Admin | NoScript | Loading | Stale, Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
			Reply: reply.Int(),
		}, grammar.Compile(
			grammar.Opt(grammar.Rest("event", func(p *latencyResetParams) *[][]byte { return &p.events })),
		), func(_ *Session, _ *latencyResetParams, w *reply.Writer) error {
			w.Int(0)
			return nil
		}),
	)
}
